/** What `rollcall log` does: reads, plans, sends and prints. */
import { parseStrictness } from "../../check/index.ts";
import { contradiction, toOptionName, wrongValue } from "../../cli/index.ts";
import { invalidPathParameter } from "../../client/failures.ts";
import { effectiveSettings, hasNoLogUrl, openClient, preloadClient, resolveLogDestination } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { isFailure } from "../../failure.ts";
import { conflictingOptions } from "../../failures.ts";
import { requireUnusedFile } from "../../files.ts";
import { missingSplit } from "../../groups/failures.ts";
import { collectDistributions, type Dataset } from "../../groups/index.ts";
import { outputFailed } from "../../output/failures.ts";
import { type Meter, printDistributions } from "../../output/index.ts";
import * as send from "../../send/index.ts";
import { folderUnknown } from "../../settings/failures.ts";
import { parseDuration, type Settings } from "../../settings/index.ts";
import { ledgerLocationMissing } from "../failures.ts";
import { printWarnings } from "../inputs/problems.ts";
import { printConversion, printGrouping, readInputs, useReading, writeReceipt } from "../inputs/read.ts";
import type { LogOptions } from "./command.ts";
import { followNotices, openReporter, type PlanTarget, printResult, withNextCommand } from "./report.ts";

/** What a run is made of. */
export interface LogRun {
  readonly context: Context;
  readonly settings: Settings;
  readonly typed: LogOptions;
  readonly ledger: send.DeliverOptions["ledger"];
  readonly meter: Meter;
  readonly compress: send.DeliverOptions["compression"];
}

/** Logs trajectories. @throws Failure what the run ends with, once its result was printed */
export const log = async (context: Context, typed: LogOptions): Promise<void> => {
  const { split, batch, maxRequestSize, modelId } = typed;
  const own = { split, batch, max_request_size: maxRequestSize, compress: typed.compress };
  const settings = await effectiveSettings(context, own);
  const follow = parseFollowOptions(typed);
  const ledger = selectLedger(typed, settings);
  // Before anything is read, and a ledger keeps it.
  if (modelId === "") throw wrongValue("<model-id>", "", "the id of a model");
  if (modelId === "." || modelId === "..") throw invalidPathParameter("model_id", modelId);
  const form = settings.require("compress");
  const compress = form === "none" ? undefined : form;
  const run = { context, settings, typed, ledger, meter: context.screen.startMeter(typed.progress), compress };
  await (follow === undefined ? logFiles(run) : logFollowed(run, follow));
};

/** Logs what files hold. */
const logFiles = async (run: LogRun): Promise<void> => {
  const { context, typed, meter } = run;
  const { screen, host } = context;
  const { receipt, groupBy, body: number } = typed;
  if (receipt !== undefined) requireUnusedFile(receipt);
  const reading = await readFiles(run);
  await useReading(context, reading, async () => {
    printConversion(context, reading);
    printGrouping(context, reading, groupBy);
    if (receipt !== undefined) writeReceipt(context, receipt, reading);
    if (number !== undefined && host.terminal.stdout)
      throw contradiction("--body", "a terminal", "its bytes are for a file or a program: give it one with > or |");
    const body = number === undefined ? undefined : { number, write: screen.printBytes };
    const result = await send
      .deliverReading(reading, { ...deliveryOptions(run), split: reading.split ?? "", body })
      .finally(meter.stop)
      .catch(async (thrown: unknown) => {
        const names = reading.sources.map(({ name }) => name);
        if (isFailure(thrown, "invalid-input")) await printWarnings(context, reading, reading.problems.sorted(names));
        throw thrown;
      });
    await finishRun(run, reading, result);
  });
};

/** Logs what is written to a file, as it comes. */
const logFollowed = async (run: LogRun, follow: FollowSettings): Promise<void> => {
  const { context, settings, typed, meter, compress } = run;
  const { groupBy, strict, allow, progress: form } = typed;
  const split = settings.get("split");
  // Nobody knows yet what all of the file will say.
  if (split === undefined) throw missingSplit([]);
  if (!settings.local) settings.address("log");
  await send.checkCompression(compress);
  const delivery = deliveryOptions(run);
  const state = { phase: "following", bytes: 0, ofBytes: undefined, groups: 0 };
  const { reading, result } = await send
    .followFile({
      ...{ ...delivery, ...follow, split, groupBy },
      judgement: parseStrictness({ strict, allow }),
      onEvent: (event) => {
        const { file } = follow;
        const text = followNotices[event](file);
        if (form === "lines" || form === "json") meter.report({ event: `file_${event}`, text, facts: { file } });
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
  await useReading(context, reading, async () => await finishRun(run, reading, result));
};

/** Prints a result, and throws what the run ends with. */
const finishRun = async (run: LogRun, reading: Dataset, result: send.LogResult): Promise<void> => {
  const { context, typed } = run;
  await printWarnings(context, reading, result.warnings);
  if (typed.body === undefined) {
    await printOutcome(run, result).catch((thrown: unknown) => {
      // What became of the groups goes before that it can't be printed.
      if (!isFailure(thrown, "output-failed")) throw thrown;
      if (result.failure === undefined) throw outputFailed(thrown.details.systemCode ?? "", result.groups);
    });
    if (typed.dryRun) await printDistributions(context.screen, () => collectDistributions(reading));
  }
  const failure = withNextCommand(run, result);
  if (failure !== undefined) throw failure;
};

/** Codes at which there is a result next to the failure (output.md). */
const codesWithResult: ReadonlySet<string> = new Set(["partial", "unknown_outcome", "interrupted"]);

const printOutcome = async (run: LogRun, result: send.LogResult): Promise<void> => {
  if (result.failure !== undefined && !codesWithResult.has(result.failure.code)) return;
  run.context.screen.ignoreSignal();
  await printResult(run, result, result.status === "planned" ? await findPlanTarget(run) : undefined);
};

/** Where the requests of a plan would go; undefined if no address is set. */
const findPlanTarget = async ({ context, settings, typed, compress }: LogRun): Promise<PlanTarget | undefined> => {
  if (hasNoLogUrl(settings)) return undefined;
  const { logTrajectories } = await import("../../contract/log.ts");
  const client = await openClient(context, settings);
  const headers = compress === undefined ? {} : { "Content-Encoding": compress };
  const target = client.target(logTrajectories, { parameters: { model_id: typed.modelId }, headers });
  const hasKeys = settings.require("idempotency") === "auto";
  // The service inside this program has another address in every run.
  return { ...target, ...(settings.local ? { url: "the local service" } : {}), hasKeys };
};

const readFiles = async (run: LogRun): Promise<Dataset> => {
  const { context, settings, typed, ledger, compress } = run;
  const { modelId, dryRun, strict, allow } = typed;
  const split = settings.get("split");
  const meter = context.screen.startMeter(typed.progress);
  await send.checkCompression(compress);
  try {
    return await readInputs(context, {
      ...{ settings, typed, split, splitNeeded: true, receipt: typed.receipt !== undefined },
      judgement: { ...parseStrictness({ strict, allow }), writesRejects: typed.onInvalid === "skip" },
      onProgress: ({ bytes, of }) => meter.show({ phase: "checking", bytes, ofBytes: of, groups: undefined }),
      onFetched: ({ bytes, of }) => meter.show({ phase: "fetching", bytes, ofBytes: of, groups: undefined }),
      // What a large input would be checked for in vain is asked before.
      onOpened: () => void (dryRun || settings.local || settings.address("log")),
      meanwhile: async () => void (await Promise.all([send.loadDelivery(ledger?.path), preloadClient()])),
    });
  } catch (thrown) {
    meter.stop();
    if (!isFailure(thrown, "interrupted")) throw thrown;
    const failure = thrown.withDetails({ unsent: true });
    await printOutcome(run, send.emptyResult({ modelId, split, batch: settings.get("batch"), failure }));
    throw failure;
  } finally {
    meter.stop();
  }
};

/** How a run delivers, but for what is read. */
const deliveryOptions = (run: LogRun): Omit<send.DeliverOptions, "split"> => {
  const { context, settings, typed, ledger, meter, compress } = run;
  const { host, screen } = context;
  const maxWaitMs = settings.require("max_wait");
  const { onInvalid = "stop", onRefused = "stop", onUnknown = "stop", concurrency = 1, progress: form } = typed;
  const { dryRun, oneRequest, rejects, resendLogged, modelId, follow } = typed;
  const tell = openReporter(screen, meter, { isEvent: form === "lines" || form === "json", maxWaitMs });
  return {
    ...{ dryRun, oneRequest, onInvalid, onRefused, onUnknown, rejects, resendLogged, ledger, concurrency, modelId },
    ...{ host, maxWaitMs, compression: compress, redact: screen.safe.verbatimJson },
    batch: settings.get("batch"),
    account: settings.require("account"),
    destination: async () =>
      dryRun && hasNoLogUrl(settings) ? "" : await resolveLogDestination(context, settings, modelId),
    client: () => openClient(context, settings),
    maxRequestBytes: settings.require("max_request_size"),
    idempotency: settings.require("idempotency") === "auto",
    onSlow: (ms, left) => {
      const first = `the first request took ${Math.round(ms / 100) / 10} s`;
      const more = `${left} more ${left === 1 ? "is" : "are"} to come`;
      screen.notice(`${first}, and ${more}: --concurrency 4 sends some at once`);
    },
    onResend: (requests) => {
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

/** The location of the ledger; undefined for none. @throws Failure `conflicting-options`, `folder-unknown`, `ledger-location-missing` */
const selectLedger = (typed: LogOptions, settings: Settings): send.DeliverOptions["ledger"] => {
  const { ledger, noLedger, requireLedger: require } = typed;
  // A plan of what goes nowhere yet is a plan: what was logged there is not known.
  if (typed.dryRun && hasNoLogUrl(settings)) return undefined;
  if (noLedger && require) throw contradiction("--no-ledger", "--require-ledger", "it asks for one");
  if (noLedger) return undefined;
  const place = settings.ledgerPlace(ledger);
  if (place !== undefined) return { ...place, require };
  // The local service needs the folder too: a location for the ledger alone would not help.
  throw settings.local ? folderUnknown("data") : ledgerLocationMissing(false);
};

/** What to follow, and when what was read is sent. */
type FollowSettings = Pick<send.FollowOptions, "file" | "everyMs" | "groupSize" | "groupIdleMs">;

/** Options that need a file that is whole. */
const wholeFileOptions = [
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

/** Undefined without `--follow`. @throws Failure `conflicting-options`, `invalid-option-value` */
const parseFollowOptions = (typed: LogOptions): FollowSettings | undefined => {
  if (!typed.follow) return undefined;
  const contradicts = (second: string, why: string) => contradiction("--follow", second, why);
  if (typed.dryRun) throw contradicts("--dry-run", "what is not sent can't be gone on with");
  if (typed.oneRequest) throw contradicts("--one-request", "a file that is still written takes many requests");
  const other = wholeFileOptions.find((key) => typed[key] !== undefined && typed[key] !== false);
  if (other !== undefined) throw contradicts(toOptionName(other), "it needs a file that is whole");
  const { from = "auto", every = "30s", groupIdle = "5m", groupSize } = typed;
  if (from !== "auto" && from !== "rollcall") {
    const why = "a file that grows is read in rollcall's own shape";
    const once = "once the file is whole, leave --follow out, or have rollcall convert make groups of it";
    const way = `${once}; a run that writes groups itself can be followed`;
    throw conflictingOptions({ first: "--follow", second: `--from ${from}`, why, way });
  }
  const [file, ...others] = typed.file;
  if (file === undefined || file === "-" || others.length > 0) {
    const found = others.length > 0 ? "several files" : "standard input";
    throw contradicts(found, "it goes on with one file, which it can read again");
  }
  const [everyMs, groupIdleMs] = [
    parseDurationOption("--every", every),
    parseDurationOption("--group-idle", groupIdle),
  ];
  return { file, everyMs, groupSize, groupIdleMs };
};

const parseDurationOption = (option: string, value: string): number => {
  const parsed = parseDuration(value);
  if (parsed.ok) return parsed.value;
  throw wrongValue(option, value, parsed.wanted, parsed.suggestion);
};
