/** `rollcall log`: checks, plans and sends trajectories. */
import { type Command, Option } from "commander";
import type { Context, Start } from "../../context.ts";
import { Failure, isFailure } from "../../failure.ts";
import { type Meter, type MeterForm, meterForms, printPicture, printRaw } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import type { DeliverOptions, Judgement, LogResult, OnUnknown, Reading, StopOrSkip } from "../../trajectories/index.ts";
import { examples } from "../help.ts";
import { type FollowChoice, followChoice, followOptions, type TypedFollow, tellEvent } from "./follow.ts";
import { judgementFor, judgingOptions, type TypedJudging } from "./judging.ts";
import { readNext, withNext } from "./next.ts";
import { sayWarnings, withFrames } from "./problems.ts";
import { showSending } from "./progress.ts";
import { logDocument, logFacts, printFacts } from "./report.ts";

/** What `log` was asked for. */
interface LogOptions {
  readonly modelId: string;
  readonly files: readonly string[];
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  readonly progress: MeterForm | undefined;
  /** Undefined where nothing is followed. */
  readonly follow: FollowChoice | undefined;
  readonly delivery: Pick<
    DeliverOptions,
    | "dryRun"
    | "oneRequest"
    | "onInvalid"
    | "onRefused"
    | "onUnknown"
    | "rejects"
    | "resendLogged"
    | "ledger"
    | "concurrency"
  >;
}

interface TypedLog extends TypedJudging, TypedFollow {
  readonly split?: string;
  readonly batch?: string;
  readonly groupBy?: string;
  readonly dryRun?: boolean;
  readonly maxRequestSize?: string;
  readonly oneRequest?: boolean;
  readonly onInvalid?: StopOrSkip;
  readonly onRefused?: StopOrSkip;
  readonly onUnknown?: OnUnknown;
  readonly rejects?: string;
  readonly resendLogged?: boolean;
  /** False for `--no-ledger`, true where neither was typed. */
  readonly ledger: string | boolean;
  readonly requireLedger?: boolean;
  readonly concurrency?: string;
  readonly progress?: MeterForm;
}

const stopOrSkip: readonly StopOrSkip[] = ["stop", "skip"];
const onUnknown: readonly OnUnknown[] = ["stop", "resend", "leave"];

/** Declares `log` (interface 4.1). */
export const declareLog = (parent: Command, start: Start): void => {
  const command = parent
    .command("log")
    .description("check, plan and send trajectories")
    .argument("<model-id>", "the model that the trajectories are of")
    .argument("[file...]", "files of groups or trajectories; - or none is standard input")
    .option("--split <name>", "the data split that they belong to, such as train")
    .option("--batch <name>", "tells equal groups of different steps apart")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .option("--dry-run", "check and plan; send nothing")
    .optionsGroup("requests")
    .option("--max-request-size <size>", "larger input is split between groups (32MiB)")
    .option("--one-request", "refuse rather than split")
    .option("--concurrency <n>", "requests in flight (1)")
    .addOption(new Option("--progress <form>", "bar, lines, json or none").choices(meterForms))
    .optionsGroup("rejects")
    .addOption(
      new Option("--on-invalid <stop|skip>", "skip: send the valid groups, write the rest aside").choices(stopOrSkip),
    )
    .addOption(
      new Option("--on-refused <stop|skip>", "skip: the same for groups the service refuses").choices(stopOrSkip),
    )
    .option("--rejects <file>", "where rejected lines go (<file>.rejected)")
    .optionsGroup("ledger")
    .option("--resend-logged", "send groups although they were logged")
    .option("--ledger <file>", "what was logged is kept here")
    .option("--no-ledger", "keep nothing: a rerun logs again")
    .option("--require-ledger", "refuse to start a new ledger")
    .addOption(
      new Option("--on-unknown <stop|resend|leave>", "after a request that may have been logged").choices(onUnknown),
    )
    .action(async (modelId: string, files: string[], typed: TypedLog, own: Command) => {
      const context = start(own);
      const judgement = await judgementFor(context, typed);
      const settings = await context.settings({
        split: typed.split,
        batch: typed.batch,
        max_request_size: typed.maxRequestSize,
      });
      await logTrajectories(context, settings, {
        modelId,
        files,
        groupBy: typed.groupBy,
        follow: await followChoice(context, typed, files),
        delivery: {
          dryRun: typed.dryRun === true,
          oneRequest: typed.oneRequest === true,
          onInvalid: typed.onInvalid ?? "stop",
          onRefused: typed.onRefused ?? "stop",
          onUnknown: typed.onUnknown ?? "stop",
          rejects: typed.rejects,
          resendLogged: typed.resendLogged === true,
          // A plan of what goes nowhere yet is a plan; what was logged there is not known.
          ledger: typed.dryRun === true && isNowhere(settings) ? undefined : ledgerChoice(typed, settings),
          concurrency: concurrencyOf(typed.concurrency),
        },
        judgement,
        progress: typed.progress,
      });
    });
  followOptions(command);
  judgingOptions(command.optionsGroup("checks"));
  examples(command, [
    "rollcall log my-model groups.jsonl --split train --dry-run",
    `echo '{"messages_and_choices":[],"reward":1}' |\n    rollcall log my-model --split train --local`,
  ]);
};

/** Says what no address can be made of before anything is read, and before a ledger would keep it. */
const checkModelId = (modelId: string): void => {
  if (modelId === "") throw new Failure("option-value-wrong", modelIdMissing);
  if (modelId === "." || modelId === "..") {
    throw new Failure("path-parameter-unusable", { parameter: "model_id", value: modelId });
  }
};

/** Whether no address is set to log to. */
const isNowhere = (settings: Settings): boolean =>
  !settings.local && settings.get("log_base_url") === undefined && settings.get("base_url") === undefined;

/** More requests in flight than this only wait for each other. */
const mostConcurrency = 64;

const concurrencyOf = (typed: string | undefined): number => {
  const value = typed ?? "1";
  const count = /^\d{1,3}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= mostConcurrency) return count;
  throw new Failure("option-value-wrong", {
    option: "--concurrency",
    value,
    wanted: `a number from 1 to ${mostConcurrency}`,
  });
};

const ledgerChoice = ({ ledger, requireLedger }: TypedLog, settings: Settings): DeliverOptions["ledger"] => {
  const require = requireLedger === true;
  if (ledger === false && require) {
    throw new Failure("options-contradict", {
      first: "--no-ledger",
      second: "--require-ledger",
      why: "it asks for one",
    });
  }
  if (ledger === false) return undefined;
  const path = typeof ledger === "string" ? ledger : settings.ledger;
  if (path === undefined) throw new Failure("ledger-placeless", {});
  return { path, require };
};

/** Reads, plans, sends and prints. @throws Failure what the run ends with, once its result was printed */
const logTrajectories = async (context: Context, settings: Settings, options: LogOptions): Promise<void> => {
  checkModelId(options.modelId);
  const { follow } = options;
  if (follow !== undefined) return await followTrajectories(context, settings, { ...options, follow });
  const reading = await readInputs(context, settings, options);
  const { deliverReading, drawnOf } = await context.trajectories();
  const meter = context.screen.meter(options.progress);
  try {
    const delivery = { ...deliveryOf(context, settings, { options, meter }), split: reading.split ?? "" };
    const result = await deliverReading(reading, delivery).finally(meter.stop);
    await sayWarnings(context, reading, result.warnings);
    await printOutcome(context, settings, result);
    if (delivery.dryRun) await printPicture(context.screen, () => drawnOf(reading));
    if (result.failure !== undefined) throw withNext(context, settings, { result, options, failure: result.failure });
  } catch (thrown) {
    throw await withFrames(context, reading, thrown);
  } finally {
    await reading.close();
  }
};

/** Reads a file as it is written, sends, and prints. @throws Failure what the run ends with, once its result was printed */
const followTrajectories = async (
  context: Context,
  settings: Settings,
  options: LogOptions & { readonly follow: FollowChoice },
): Promise<void> => {
  const { screen, trajectories } = context;
  const split = settings.get("split");
  // Nobody knows yet what all of the file will say.
  if (split === undefined) throw new Failure("split-missing", { found: [] });
  if (!settings.local) settings.address("log");
  const { followFile } = await trajectories();
  const meter = screen.meter(options.progress);
  const { reading, result } = await followFile({
    ...deliveryOf(context, settings, { options, meter }),
    ...options.follow,
    split,
    groupBy: options.groupBy,
    judgement: options.judgement,
    onEvent: (event) => tellEvent(screen, meter, { event, file: options.follow.file, progress: options.progress }),
    onRead: (bytes) => meter.show({ phase: "following", bytes, ofBytes: undefined, groups: undefined }),
  }).finally(meter.stop);
  try {
    await sayWarnings(context, reading, result.warnings);
    await printOutcome(context, settings, result);
    if (result.failure !== undefined) throw withNext(context, settings, { result, options, failure: result.failure });
  } catch (thrown) {
    throw await withFrames(context, reading, thrown);
  } finally {
    await reading.close();
  }
};

/** How a run delivers, but for what is read. */
const deliveryOf = (
  context: Context,
  settings: Settings,
  { options: { modelId, delivery }, meter }: { readonly options: LogOptions; readonly meter: Meter },
): Omit<DeliverOptions, "split"> => ({
  ...delivery,
  host: context.host,
  modelId,
  batch: settings.get("batch"),
  account: settings.require("account"),
  destination: async () =>
    delivery.dryRun && isNowhere(settings) ? "" : await context.logDestination(settings, modelId),
  client: () => context.client(settings),
  maxRequestBytes: settings.require("max_request_size"),
  idempotency: settings.require("idempotency") === "auto",
  maxWaitMs: settings.require("max_wait"),
  onWait: () => context.screen.notice("another run logs the same model and split: waiting for it"),
  onProgress: (progress) => showSending(meter, progress),
});

const modelIdMissing = { option: "<model-id>", value: "", wanted: "the id of a model" };

const readInputs = async (
  context: Context,
  settings: Settings,
  { modelId, files, groupBy, delivery: { dryRun }, judgement, progress }: LogOptions,
): Promise<Reading> => {
  const { readTrajectories, readyDelivery, unreadResult } = await context.trajectories();
  const meter = context.screen.meter(progress);
  const split = settings.get("split");
  try {
    return await readTrajectories({
      host: context.host,
      files,
      split,
      splitNeeded: true,
      groupBy,
      judgement,
      // What a large input would be checked for in vain is asked before.
      onOpened: () => void (dryRun || settings.local || settings.address("log")),
      meanwhile: async () => void (await Promise.all([readyDelivery(), context.clientRoom()])),
      onProgress: ({ bytes, of }) => meter.show({ phase: "checking", bytes, ofBytes: of, groups: undefined }),
    });
  } catch (thrown) {
    meter.stop();
    if (isFailure(thrown, "interrupted")) {
      const batch = settings.get("batch");
      await printResult(context, settings, unreadResult({ modelId, split, batch, failure: thrown }));
    }
    throw thrown;
  } finally {
    meter.stop();
  }
};

/** Codes at which there is a result beside the failure (promises.md, "`log --json`"). */
const withResult: ReadonlySet<string> = new Set(["partial", "unknown_outcome", "interrupted"]);

/** Prints the result; where it can't be printed, what became of the groups is said beside that, and goes before it. */
const printOutcome = async (context: Context, settings: Settings, result: LogResult): Promise<void> => {
  try {
    await printResult(context, settings, result);
  } catch (thrown) {
    if (!isFailure(thrown, "output-failed")) throw thrown;
    if (result.failure === undefined) throw new Failure("output-failed", { ...thrown.data, groups: result.groups });
  }
};

const printResult = async (context: Context, settings: Settings, result: LogResult): Promise<void> => {
  const { screen } = context;
  if (result.failure !== undefined && !withResult.has(result.failure.code)) return;
  screen.lastWords();
  if (screen.format === "json" || screen.format === "jsonl") {
    await printRaw(screen, logDocument(result));
    return;
  }
  const command = readNext(context, settings, result);
  const next = command === undefined ? [] : [{ name: "next", value: command }];
  await printFacts(screen, { facts: logFacts(result), metrics: result.metrics, next });
};
