/** `rollcall check`: the same checks and metrics as `log`, offline. */
import type { Command } from "commander";
import type { Context, Start } from "../context.ts";
import type { Judgement } from "../trajectories/index.ts";
import { examples } from "./help.ts";
import { judgementFor, judgingOptions, type TypedJudging } from "./judging.ts";
import { checkDocument, checkFacts, printFacts } from "./log-report.ts";
import { sayWarnings, withFrames } from "./problems.ts";

/** What `check` was asked for. */
interface CheckOptions {
  readonly files: readonly string[];
  readonly split: string | undefined;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
}

interface TypedCheck extends TypedJudging {
  readonly split?: string;
  readonly groupBy?: string;
}

/** Declares `check`. */
export const declareCheck = (parent: Command, start: Start): void => {
  const command = parent
    .command("check")
    .summary("check trajectories, compute metrics, offline")
    .description("check trajectories and compute their metrics, offline")
    .argument("[file...]", "files of groups or trajectories; - or none is standard input")
    .option("--split <name>", "the data split that they belong to, such as train")
    .option("--group-by <key>", "group trajectories by a key, wherever they stand")
    .action(async (files: string[], typed: TypedCheck, own: Command) => {
      const context = start(own);
      const judgement = await judgementFor(context, typed);
      const settings = await context.settings(typed.split === undefined ? {} : { split: typed.split });
      await checkTrajectories(context, { files, split: settings.get("split"), groupBy: typed.groupBy, judgement });
    });
  judgingOptions(command);
  examples(command, [
    "rollcall check *.jsonl --split train",
    `echo '{"messages_and_choices":[],"reward":1}' | rollcall check --json`,
  ]);
};

/** Reads and prints. @throws Failure `input-invalid`, once what was found was printed */
const checkTrajectories = async (context: Context, options: CheckOptions): Promise<void> => {
  const { screen, host } = context;
  const { readTrajectories, checkResult, drawnOf } = await context.trajectories();
  const progress = screen.progress("checking");
  const onProgress = ({ bytes, of }: { bytes: number; of: number }) =>
    progress.update(`checking, ${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`);
  const reading = await readTrajectories({
    ...options,
    host,
    splitNeeded: false,
    onOpened: () => undefined,
    onProgress,
  }).finally(progress.stop);
  try {
    const result = checkResult(reading);
    await sayWarnings(context, reading, result.problems);
    if (screen.format === "json" || screen.format === "jsonl") await screen.document(checkDocument(result));
    else await printFacts(screen, { facts: checkFacts(result), metrics: result.metrics, next: [] });
    await screen.picture(() => drawnOf(reading));
    if (result.failure !== undefined) throw await withFrames(context, reading, result.failure);
  } finally {
    await reading.close();
  }
};
