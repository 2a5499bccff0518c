/** What `rollcall log` does: reads, plans, sends and prints. */
import { judgementOf } from "../../check/index.ts";
import { contradiction, optionName, wrongValue } from "../../cli/index.ts";
import { pathParameterUnusable } from "../../client/failures.ts";
import { isNowhere, logDestination, openClient, readyClient, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { isFailure } from "../../failure.ts";
import { optionsContradict } from "../../failures.ts";
import { requireFree } from "../../files.ts";
import { splitMissing } from "../../groups/failures.ts";
import { drawnOf, type Reading } from "../../groups/index.ts";
import { outputFailed } from "../../output/failures.ts";
import { type Meter, printPicture } from "../../output/index.ts";
import * as send from "../../send/index.ts";
import { placeMissing } from "../../settings/failures.ts";
import { parseDuration, type Settings } from "../../settings/index.ts";
import { ledgerPlaceless } from "../failures.ts";
import { sayWarnings } from "../inputs/problems.ts";
import { readInputs, sayConversion, sayGrouping, withReading, writeReceipt } from "../inputs/read.ts";
import type { TypedLog } from "./command.ts";
import { followTexts, openTeller, type PlanTarget, printResult, withNext } from "./report.ts";

/** What a run is made of. */
export interface Run {
  readonly context: Context;
  readonly settings: Settings;
  readonly typed: TypedLog;
  readonly ledger: send.DeliverOptions["ledger"];
  readonly meter: Meter;
  readonly compress: send.DeliverOptions["compress"];
}

/** Logs trajectories. @throws Failure what the run ends with, once its result was printed */
export const log = async (context: Context, typed: TypedLog): Promise<void> => {
  const { split, batch, maxRequestSize, modelId } = typed;
  const own = { split, batch, max_request_size: maxRequestSize, compress: typed.compress };
  const settings = await settingsInForce(context, own);
  const follow = followMeant(typed);
  const ledger = ledgerMeant(typed, settings);
  // Before anything is read, and a ledger keeps it.
  if (modelId === "") throw wrongValue("<model-id>", "", "the id of a model");
  if (modelId === "." || modelId === "..") throw pathParameterUnusable("model_id", modelId);
  const form = settings.require("compress");
  const compress = form === "none" ? undefined : form;
  const run = { context, settings, typed, ledger, meter: context.screen.meter(typed.progress), compress };
  await (follow === undefined ? logFiles(run) : logGrowing(run, follow));
};

/** Logs what files hold. */
const logFiles = async (run: Run): Promise<void> => {
  const { context, typed, meter } = run;
  const { screen, host } = context;
  const { receipt, groupBy, body: number } = typed;
  if (receipt !== undefined) requireFree(receipt);
  const reading = await readFiles(run);
  await withReading(context, reading, async () => {
    sayConversion(context, reading);
    sayGrouping(context, reading, groupBy);
    if (receipt !== undefined) writeReceipt(context, receipt, reading);
    if (number !== undefined && host.terminal.stdout)
      throw contradiction("--body", "a terminal", "its bytes are for a file or a program: give it one with > or |");
    const body = number === undefined ? undefined : { number, write: screen.bytes };
    const result = await send
      .deliverReading(reading, { ...deliveryOf(run), split: reading.split ?? "", body })
      .finally(meter.stop)
      .catch(async (thrown: unknown) => {
        const names = reading.sources.map(({ name }) => name);
        if (isFailure(thrown, "input-invalid")) await sayWarnings(context, reading, reading.problems.sorted(names));
        throw thrown;
      });
    await end(run, reading, result);
  });
};

/** Logs what is written to a file, as it comes. */
const logGrowing = async (run: Run, follow: FollowMeant): Promise<void> => {
  const { context, settings, typed, meter, compress } = run;
  const { groupBy, strict, allow, progress: form } = typed;
  const split = settings.get("split");
  // Nobody knows yet what all of the file will say.
  if (split === undefined) throw splitMissing([]);
  if (!settings.local) settings.address("log");
  await send.checkCompression(compress);
  const delivery = deliveryOf(run);
  const state = { phase: "following", bytes: 0, ofBytes: undefined, groups: 0 };
  const { reading, result } = await send
    .followFile({
      ...{ ...delivery, ...follow, split, groupBy },
      judgement: judgementOf({ strict, allow }),
      onEvent: (event) => {
        const { file } = follow;
        const text = followTexts[event](file);
        if (form === "lines" || form === "json") meter.tell({ event: `file_${event}`, text, facts: { file } });
        else context.screen.notice(text);
      },
      onRead: (bytes) => {
        state.bytes = bytes;
        meter.show(state);
      },
      onProgress: (progress) => {
        state.groups = progress.groups;
        meter.show(state);
        delivery.onProgress(progress);
      },
    })
    .finally(meter.stop);
  await withReading(context, reading, async () => await end(run, reading, result));
};

/** Prints a result, and throws what the run ends with. */
const end = async (run: Run, reading: Reading, result: send.LogResult): Promise<void> => {
  const { context, typed } = run;
  await sayWarnings(context, reading, result.warnings);
  if (typed.body === undefined) {
    await printEnd(run, result).catch((thrown: unknown) => {
      // What became of the groups goes before that it can't be printed.
      if (!isFailure(thrown, "output-failed")) throw thrown;
      if (result.failure === undefined) throw outputFailed(thrown.about.systemCode ?? "", result.groups);
    });
    if (typed.dryRun) await printPicture(context.screen, () => drawnOf(reading));
  }
  const failure = withNext(run, result);
  if (failure !== undefined) throw failure;
};

/** Codes at which there is a result next to the failure (output.md). */
const withResult: ReadonlySet<string> = new Set(["partial", "unknown_outcome", "interrupted"]);

const printEnd = async (run: Run, result: send.LogResult): Promise<void> => {
  if (result.failure !== undefined && !withResult.has(result.failure.code)) return;
  run.context.screen.lastWords();
  await printResult(run, result, result.status === "planned" ? await targetOf(run) : undefined);
};

/** Where the requests of a plan would go; undefined if no address is set. */
const targetOf = async ({ context, settings, typed, compress }: Run): Promise<PlanTarget | undefined> => {
  if (isNowhere(settings)) return undefined;
  const { logTrajectories } = await import("../../contract/log.ts");
  const client = await openClient(context, settings);
  const headers = compress === undefined ? {} : { "Content-Encoding": compress };
  const target = client.target(logTrajectories, { parameters: { model_id: typed.modelId }, headers });
  const hasKeys = settings.require("idempotency") === "auto";
  // The service inside this program has another address in every run.
  return { ...target, ...(settings.local ? { url: "the local service" } : {}), hasKeys };
};

const readFiles = async (run: Run): Promise<Reading> => {
  const { context, settings, typed, ledger, compress } = run;
  const { modelId, dryRun, strict, allow } = typed;
  const split = settings.get("split");
  const meter = context.screen.meter(typed.progress);
  await send.checkCompression(compress);
  try {
    return await readInputs(context, {
      ...{ settings, typed, split, splitNeeded: true, receipt: typed.receipt !== undefined },
      judgement: { ...judgementOf({ strict, allow }), setsAside: typed.onInvalid === "skip" },
      onProgress: ({ bytes, of }) => meter.show({ phase: "checking", bytes, ofBytes: of, groups: undefined }),
      onFetched: ({ bytes, of }) => meter.show({ phase: "fetching", bytes, ofBytes: of, groups: undefined }),
      // What a large input would be checked for in vain is asked before.
      onOpened: () => void (dryRun || settings.local || settings.address("log")),
      meanwhile: async () => void (await Promise.all([send.loadDelivery(ledger?.path), readyClient()])),
    });
  } catch (thrown) {
    meter.stop();
    if (!isFailure(thrown, "interrupted")) throw thrown;
    const failure = thrown.also({ unsent: true });
    await printEnd(run, send.unreadResult({ modelId, split, batch: settings.get("batch"), failure }));
    throw failure;
  } finally {
    meter.stop();
  }
};

/** How a run delivers, but for what is read. */
const deliveryOf = (run: Run): Omit<send.DeliverOptions, "split"> => {
  const { context, settings, typed, ledger, meter, compress } = run;
  const { host, screen } = context;
  const maxWaitMs = settings.require("max_wait");
  const { onInvalid = "stop", onRefused = "stop", onUnknown = "stop", concurrency = 1, progress: form } = typed;
  const { dryRun, oneRequest, rejects, resendLogged, modelId, follow } = typed;
  const tell = openTeller(screen, meter, { isEvent: form === "lines" || form === "json", maxWaitMs });
  return {
    ...{ dryRun, oneRequest, onInvalid, onRefused, onUnknown, rejects, resendLogged, ledger, concurrency, modelId },
    ...{ host, maxWaitMs, compress, redact: screen.safe.verbatimJson },
    batch: settings.get("batch"),
    account: settings.require("account"),
    destination: async () => (dryRun && isNowhere(settings) ? "" : await logDestination(context, settings, modelId)),
    client: () => openClient(context, settings),
    maxRequestBytes: settings.require("max_request_size"),
    idempotency: settings.require("idempotency") === "auto",
    onSlow: (ms, left) => {
      const first = `the first request took ${Math.round(ms / 100) / 10} s`;
      const more = `${left} more ${left === 1 ? "is" : "are"} to come`;
      screen.notice(`${first}, and ${more}: --concurrency 4 sends some at once`);
    },
    onSettling: (requests) => {
      const [which, them] =
        requests === 1
          ? ["a request of an earlier run, whose outcome is unknown, goes", "it by its key"]
          : [`${requests} requests of earlier runs, whose outcomes are unknown, go`, "them by their keys"];
      screen.notice(`${which} out again: the service knows ${them}, and logs nothing twice`);
    },
    onAway: (code) => {
      const away = `the ledger's database is away (${code})`;
      screen.notice(`${away}: nothing is sent until it is back, or --max-wait is over`);
    },
    onWait: () => screen.notice("another run logs the same model and split: waiting for it"),
    onProgress: (progress) => {
      const { bytes, ofBytes, groups } = progress;
      if (!follow) meter.show({ phase: "sending", bytes, ofBytes, groups });
      tell(progress);
    },
  };
};

/** The location of the ledger; undefined for none. @throws Failure `options-contradict`, `place-missing`, `ledger-placeless` */
const ledgerMeant = (typed: TypedLog, settings: Settings): send.DeliverOptions["ledger"] => {
  const { ledger, noLedger, requireLedger: require } = typed;
  // A plan of what goes nowhere yet is a plan: what was logged there is not known.
  if (typed.dryRun && isNowhere(settings)) return undefined;
  if (noLedger && require) throw contradiction("--no-ledger", "--require-ledger", "it asks for one");
  if (noLedger) return undefined;
  const place = settings.ledgerPlace(ledger);
  if (place !== undefined) return { ...place, require };
  // The local service needs the folder too: a location for the ledger alone would not help.
  throw settings.local ? placeMissing("data") : ledgerPlaceless(false);
};

/** What to follow, and when what was read is sent. */
type FollowMeant = Pick<send.FollowOptions, "file" | "everyMs" | "groupSize" | "groupIdleMs">;

/** Options that need a file that is whole. */
const forWholeFiles = [
  "where",
  "best",
  "sample",
  "shard",
  "receipt",
  "rewardFrom",
  "rewards",
  "lossy",
  "histories",
] as const;

/** Undefined without `--follow`. @throws Failure `options-contradict`, `option-value-wrong` */
const followMeant = (typed: TypedLog): FollowMeant | undefined => {
  if (!typed.follow) return undefined;
  const contradicts = (second: string, why: string) => contradiction("--follow", second, why);
  if (typed.dryRun) throw contradicts("--dry-run", "what is not sent can't be gone on with");
  if (typed.oneRequest) throw contradicts("--one-request", "a file that is still written takes many requests");
  const other = forWholeFiles.find((key) => typed[key] !== undefined && typed[key] !== false);
  if (other !== undefined) throw contradicts(optionName(other), "it needs a file that is whole");
  const { from = "auto", every = "30s", groupIdle = "5m", groupSize } = typed;
  if (from !== "auto" && from !== "rollcall") {
    const why = "a file that grows is read in rollcall's own shape";
    const once = "once the file is whole, leave --follow out, or have rollcall convert make groups of it";
    const way = `${once}; a run that writes groups itself can be followed`;
    throw optionsContradict({ first: "--follow", second: `--from ${from}`, why, way });
  }
  const [file, ...others] = typed.file;
  if (file === undefined || file === "-" || others.length > 0) {
    const found = others.length > 0 ? "several files" : "standard input";
    throw contradicts(found, "it goes on with one file, which it can read again");
  }
  const [everyMs, groupIdleMs] = [durationIn("--every", every), durationIn("--group-idle", groupIdle)];
  return { file, everyMs, groupSize, groupIdleMs };
};

const durationIn = (option: string, value: string): number => {
  const parsed = parseDuration(value);
  if (parsed.ok) return parsed.value;
  throw wrongValue(option, value, parsed.wanted, parsed.suggestion);
};
