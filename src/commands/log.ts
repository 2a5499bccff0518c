/** `rollcall log`: checks, plans and sends trajectories. */
import type { Command } from "commander";
import type { Context, Start } from "../context.ts";
import { Failure, isFailure } from "../failure.ts";
import type { Settings } from "../settings/index.ts";
import type { Judgement, LogResult, Reading } from "../trajectories/index.ts";
import { examples } from "./help.ts";
import { judgementFor, judgingOptions, type TypedJudging } from "./judging.ts";
import { callToRead, logDocument, logFacts, printFacts, sayWarnings } from "./log-report.ts";

/** What `log` was asked for. */
interface LogOptions {
  readonly modelId: string;
  readonly files: readonly string[];
  readonly groupBy: string | undefined;
  readonly dryRun: boolean;
  readonly oneRequest: boolean;
  readonly judgement: Judgement;
}

interface TypedLog extends TypedJudging {
  readonly split?: string;
  readonly groupBy?: string;
  readonly dryRun?: boolean;
  readonly maxRequestSize?: string;
  readonly oneRequest?: boolean;
}

/** Declares `log` (service-interface 4.1). */
export const declareLog = (parent: Command, start: Start): void => {
  const command = parent
    .command("log")
    .description("check, plan and send trajectories")
    .argument("<model-id>", "the model that the trajectories are of")
    .argument("[file...]", "files of groups or trajectories; - or none is standard input")
    .option("--split <name>", "the data split that they belong to, such as train")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .option("--dry-run", "check and plan; send nothing")
    .option("--max-request-size <size>", "larger input is split between groups (32MiB)")
    .option("--one-request", "refuse rather than split")
    .action(async (modelId: string, files: string[], typed: TypedLog, own: Command) => {
      const context = start(own);
      const judgement = await judgementFor(context, typed);
      const settings = await context.settings({
        ...(typed.split === undefined ? {} : { split: typed.split }),
        ...(typed.maxRequestSize === undefined ? {} : { max_request_size: typed.maxRequestSize }),
      });
      await logTrajectories(context, settings, {
        modelId,
        files,
        groupBy: typed.groupBy,
        dryRun: typed.dryRun === true,
        oneRequest: typed.oneRequest === true,
        judgement,
      });
    });
  judgingOptions(command);
  examples(command, [
    "rollcall log my-model groups.jsonl --split train --local",
    "zcat steps.jsonl.gz | rollcall log my-model --split train --group-by prompt_id --dry-run",
  ]);
};

/** Reads, plans, sends and prints. @throws Failure what the run ends with, once its result was printed */
const logTrajectories = async (context: Context, settings: Settings, options: LogOptions): Promise<void> => {
  if (options.modelId === "") throw new Failure("option-value-wrong", modelIdMissing);
  const reading = await readInputs(context, settings, options);
  try {
    const result = await sendReading(context, settings, { ...options, reading });
    await printResult(context, result);
    if (result.failure !== undefined) throw result.failure;
  } finally {
    await reading.close();
  }
};

const modelIdMissing = { option: "<model-id>", value: "", wanted: "the id of a model" };

const readInputs = async (
  context: Context,
  settings: Settings,
  { modelId, files, groupBy, dryRun, judgement }: LogOptions,
): Promise<Reading> => {
  const { readTrajectories, unreadResult } = await context.trajectories();
  const progress = context.screen.progress("checking");
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
      onProgress: ({ bytes, of }) => progress.update(`checking, ${percent(bytes, of)}`),
    });
  } catch (thrown) {
    progress.stop();
    if (isFailure(thrown, "interrupted")) await printResult(context, unreadResult({ modelId, split, failure: thrown }));
    throw thrown;
  } finally {
    progress.stop();
  }
};

const sendReading = async (
  context: Context,
  settings: Settings,
  { reading, modelId, dryRun, oneRequest }: LogOptions & { readonly reading: Reading },
): Promise<LogResult> => {
  const { invalidInput, planRequests, sendPlan, logResult } = await context.trajectories();
  const { problems, sources, split = "" } = reading;
  const refuseErrors = () => {
    const names = sources.map(({ name }) => name);
    if (problems.errors > 0) throw invalidInput(problems, names);
  };
  refuseErrors();
  const plan = planRequests(reading, { split, limit: settings.require("max_request_size"), oneRequest });
  // A plan has warnings of its own, which `--strict` makes errors.
  refuseErrors();
  if (dryRun) return await logResult(reading, { plan, sending: undefined, modelId, split });
  const client = await context.client(settings);
  const progress = context.screen.progress("sending");
  const sending = await sendPlan(reading, plan, {
    host: context.host,
    client,
    modelId,
    onProgress: ({ requests, of }) => progress.update(`sending request ${requests + 1} of ${of}`),
  }).finally(progress.stop);
  return await logResult(reading, { plan, sending, modelId, split });
};

/** Codes at which there is a result beside the failure (cli.md, "`log --json`"). */
const withResult: ReadonlySet<string> = new Set(["partial", "unknown_outcome", "interrupted"]);

const printResult = async ({ screen, flags }: Context, result: LogResult): Promise<void> => {
  sayWarnings(screen, result.warnings);
  if (result.failure !== undefined && !withResult.has(result.failure.code)) return;
  if (screen.format === "json" || screen.format === "jsonl") {
    await screen.raw(logDocument(result));
    return;
  }
  const call = callToRead(result);
  const profile = flags.local ? " --local" : flags.profile === undefined ? "" : ` --profile ${flags.profile}`;
  const next = call === undefined ? [] : [{ name: "next", value: `rollcall call read ${call}${profile}` }];
  await printFacts(screen, { facts: logFacts(result), metrics: result.metrics, next });
};

const percent = (bytes: number, of: number): string => `${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`;
