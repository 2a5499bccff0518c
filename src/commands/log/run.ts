/** What `rollcall log` does: reads, plans, sends and prints. */

import { judgementOf } from "../../check/index.ts";
import { contradiction } from "../../cli/index.ts";
import { logDestination, openClient, readyClient, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { isFailure } from "../../failure.ts";
import { requireFree } from "../../files.ts";
import { splitMissing } from "../../groups/failures.ts";
import { drawnOf, type Reading } from "../../groups/index.ts";
import { outputFailed } from "../../output/failures.ts";
import { type Meter, printPicture, printRaw } from "../../output/index.ts";
import {
  checkCompression,
  type DeliverOptions,
  deliverReading,
  followFile,
  type LogResult,
  loadDelivery,
  unreadResult,
} from "../../send/index.ts";
import type { Settings } from "../../settings/index.ts";
import { printFacts, sayGrouping, sayWarnings, withFrames } from "../inputs/findings.ts";
import { readInputs, sayConversion, writeReceipt } from "../inputs/read.ts";
import type { TypedLog } from "./command.ts";
import { checkModelId, type FollowChoice, followMeant, isNowhere, ledgerMeant } from "./options.ts";
import {
  againNotice,
  logDocument,
  logFacts,
  measuredText,
  type PlanTarget,
  planFacts,
  readNext,
  tellEvent,
  tellSending,
  withNext,
} from "./report.ts";

/** What a run is made of. */
export interface Run {
  readonly context: Context;
  readonly settings: Settings;
  readonly typed: TypedLog;
  readonly ledger: DeliverOptions["ledger"];
  readonly meter: Meter;
}

/** Logs trajectories. @throws Failure what the run ends with, once its result was printed */
export const log = async (context: Context, typed: TypedLog): Promise<void> => {
  const { split, batch, maxRequestSize, compress } = typed;
  const settings = await settingsInForce(context, { split, batch, max_request_size: maxRequestSize, compress });
  const follow = followMeant(typed);
  const ledger = ledgerMeant(typed, settings);
  checkModelId(typed.modelId);
  const run = { context, settings, typed, ledger, meter: context.screen.meter(typed.progress) };
  await (follow === undefined ? logFiles(run) : logGrowing(run, follow));
};

/** Logs what files hold. */
const logFiles = async (run: Run): Promise<void> => {
  const { receipt, groupBy } = run.typed;
  if (receipt !== undefined) requireFree(receipt);
  const reading = await readRun(run);
  await ending(run, reading, async () => {
    sayConversion(run.context, reading);
    sayGrouping(run.context, reading, groupBy);
    if (receipt !== undefined) writeReceipt(run.context, receipt, reading);
    const delivery = { ...deliveryOf(run), split: reading.split ?? "" };
    const body = bodyTo(run);
    const result = await deliverReading(reading, { ...delivery, body })
      .finally(run.meter.stop)
      .catch(async (thrown: unknown) => {
        const { problems, sources } = reading;
        const names = sources.map(({ name }) => name);
        if (isFailure(thrown, "input-invalid")) await sayWarnings(run.context, reading, problems.sorted(names));
        throw thrown;
      });
    if (body !== undefined) {
      await sayWarnings(run.context, reading, result.warnings);
      return result;
    }
    await printOutcome(run, reading, result);
    if (delivery.dryRun) await printPicture(run.context.screen, () => drawnOf(reading));
    return result;
  });
};

/** Logs what is written to a file, as it comes. */
const logGrowing = async (run: Run, follow: FollowChoice): Promise<void> => {
  const { settings, typed, meter } = run;
  const split = settings.get("split");
  // Nobody knows yet what all of the file will say.
  if (split === undefined) throw splitMissing([]);
  if (!settings.local) settings.address("log");
  await checkCompression(compressionIn(settings));
  const delivery = deliveryOf(run);
  const state = { phase: "following", bytes: 0, ofBytes: undefined, groups: 0 };
  const { reading, result } = await followFile({
    ...delivery,
    ...follow,
    split,
    groupBy: typed.groupBy,
    judgement: judgementOf({ strict: typed.strict, allow: typed.allow }),
    onEvent: (event) => tellEvent(run, event, follow.file),
    onRead: (bytes) => {
      state.bytes = bytes;
      meter.show(state);
    },
    onProgress: (progress) => {
      state.groups = progress.groups;
      meter.show(state);
      delivery.onProgress(progress);
    },
  }).finally(meter.stop);
  await ending(run, reading, async () => {
    await printOutcome(run, reading, result);
    return result;
  });
};

/** Ends a run with what its result says, and closes what was read. */
const ending = async (run: Run, reading: Reading, work: () => Promise<LogResult>): Promise<void> => {
  try {
    const result = await work();
    if (result.failure !== undefined) throw withNext(run, result, result.failure);
  } catch (thrown) {
    throw await withFrames(run.context, reading, thrown);
  } finally {
    await reading.close();
  }
};

/** Where the body goes that was asked for: standard output, byte for byte. */
const bodyTo = ({ context: { screen, host }, typed: { body: number } }: Run): DeliverOptions["body"] => {
  if (number === undefined) return undefined;
  if (host.terminal.stdout) {
    throw contradiction("--body", "a terminal", "its bytes are for a file or a program: give it one with > or |");
  }
  return { number, write: screen.bytes };
};

/** How a run delivers, but for what is read. */
const deliveryOf = ({ context, settings, typed, ledger, meter }: Run): Omit<DeliverOptions, "split"> => {
  const maxWaitMs = settings.require("max_wait");
  const onAgain = againNotice(context.screen, { progress: typed.progress, maxWaitMs });
  const { onInvalid = "stop", onRefused = "stop", onUnknown = "stop", concurrency = 1 } = typed;
  const { dryRun, oneRequest, rejects, resendLogged, modelId } = typed;
  return {
    ...{ dryRun, oneRequest, onInvalid, onRefused, onUnknown, rejects, resendLogged, ledger, concurrency, modelId },
    host: context.host,
    redact: context.screen.safe.verbatimJson,
    batch: settings.get("batch"),
    account: settings.require("account"),
    destination: async () => (dryRun && isNowhere(settings) ? "" : await logDestination(context, settings, modelId)),
    client: () => openClient(context, settings),
    maxRequestBytes: settings.require("max_request_size"),
    idempotency: settings.require("idempotency") === "auto",
    maxWaitMs,
    compress: compressionIn(settings),
    onSlow: (ms, left) => {
      const first = `the first request took ${Math.round(ms / 100) / 10} s`;
      const more = `${left} more ${left === 1 ? "is" : "are"} to come`;
      context.screen.notice(`${first}, and ${more}: --concurrency 4 sends some at once`);
    },
    onSettling: (requests) => {
      const them = requests === 1 ? "it by its key" : "them by their keys";
      const which =
        requests === 1
          ? "a request of an earlier run, whose outcome is unknown, goes"
          : `${requests} requests of earlier runs, whose outcomes are unknown, go`;
      context.screen.notice(`${which} out again: the service knows ${them}, and logs nothing twice`);
    },
    onAway: (code) => {
      const away = `the ledger's database is away (${code})`;
      context.screen.notice(`${away}: nothing is sent until it is back, or --max-wait is over`);
    },
    onWait: () => context.screen.notice("another run logs the same model and split: waiting for it"),
    onProgress: (progress) => {
      const { bytes, ofBytes, groups } = progress;
      if (!typed.follow) meter.show({ phase: "sending", bytes, ofBytes, groups });
      tellSending(meter, progress, onAgain);
    },
  };
};

const compressionIn = (settings: Settings): DeliverOptions["compress"] => {
  const form = settings.require("compress");
  return form === "none" ? undefined : form;
};

const readRun = async ({ context, settings, typed, ledger }: Run): Promise<Reading> => {
  const { modelId, file: files, groupBy, dryRun, strict, allow } = typed;
  const meter = context.screen.meter(typed.progress);
  await checkCompression(compressionIn(settings));
  try {
    return await readInputs(context, {
      settings,
      typed,
      files,
      receipt: typed.receipt !== undefined,
      split: settings.get("split"),
      splitNeeded: true,
      groupBy,
      judgement: { ...judgementOf({ strict, allow }), setsAside: typed.onInvalid === "skip" },
      onProgress: ({ bytes, of }) => meter.show({ phase: "checking", bytes, ofBytes: of, groups: undefined }),
      onFetched: ({ bytes, of }) => meter.show({ phase: "fetching", bytes, ofBytes: of, groups: undefined }),
      // What a large input would be checked for in vain is asked before.
      onOpened: () => void (dryRun || settings.local || settings.address("log")),
      meanwhile: async () => void (await Promise.all([loadDelivery(ledger?.path), readyClient()])),
    });
  } catch (thrown) {
    meter.stop();
    if (!isFailure(thrown, "interrupted")) throw thrown;
    const failure = thrown.also({ unsent: true });
    const batch = settings.get("batch");
    await printResult(context, settings, unreadResult({ modelId, split: settings.get("split"), batch, failure }));
    throw failure;
  } finally {
    meter.stop();
  }
};

/** Prints the result; where it can't be printed, what became of the groups is said beside that, and goes before it. */
const printOutcome = async ({ context, settings }: Run, reading: Reading, result: LogResult): Promise<void> => {
  await sayWarnings(context, reading, result.warnings);
  try {
    await printResult(context, settings, result);
  } catch (thrown) {
    if (!isFailure(thrown, "output-failed")) throw thrown;
    if (result.failure === undefined) throw outputFailed(thrown.about.systemCode ?? "", result.groups);
  }
};

/** Codes at which there is a result beside the failure (promises.md, "`log --json`"). */
const withResult: ReadonlySet<string> = new Set(["partial", "unknown_outcome", "interrupted"]);

/** Where the requests of a plan would go; undefined where no address is set. */
const targetOf = async (
  context: Context,
  settings: Settings,
  { modelId }: LogResult,
): Promise<PlanTarget | undefined> => {
  if (isNowhere(settings)) return undefined;
  const compress = compressionIn(settings);
  const headers = compress === undefined ? {} : { "Content-Encoding": compress };
  const { logTrajectories } = await import("../../contract/log.ts");
  const client = await openClient(context, settings);
  const target = client.target(logTrajectories, { parameters: { model_id: modelId }, headers });
  const hasKeys = settings.require("idempotency") === "auto";
  // The service inside this program has another address in every run.
  return { ...target, ...(settings.local ? { url: "the local service" } : {}), hasKeys };
};

const printResult = async (context: Context, settings: Settings, result: LogResult): Promise<void> => {
  const { screen } = context;
  if (result.failure !== undefined && !withResult.has(result.failure.code)) return;
  screen.lastWords();
  const planOf = async () => (result.status === "planned" ? await targetOf(context, settings, result) : undefined);
  if (screen.isForProgram) {
    await printRaw(screen, logDocument(result, await planOf()));
    return;
  }
  const command = readNext(context, settings, result);
  const next = command === undefined ? [] : [{ name: "next", value: command }];
  const plan = result.planned.length === 0 ? [] : planFacts(result, await planOf());
  const facts = [...(await logFacts(result)), ...plan];
  await printFacts(screen, { facts, metrics: result.metrics, measured: measuredText(result), next });
};
