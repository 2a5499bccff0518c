/** `--from` and what belongs to it: how `convert`, `check`, `log` and `ledger` read files of other tools. */
import { type Command, Option } from "commander";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { writeOut, writeWhole } from "../../files.ts";
import { type ForeignChoice, formatNames, readRewards } from "../../formats/index.ts";
import type { Reading } from "../../groups/index.ts";
import { type Fetched, modeOf } from "../../input/index.ts";
import { nearest } from "../../nearest.ts";

/** How far an input at an address is, for a person. */
export const fetchedText = ({ bytes, of }: Fetched): string =>
  of === undefined
    ? `fetching, ${Math.floor(bytes / 1e6)} MB`
    : `fetching, ${Math.floor((bytes / Math.max(1, of)) * 100)}%`;

/** The options as commander gives them. */
export interface TypedForeign {
  readonly from?: string;
  readonly rewardFrom?: string;
  readonly rewards?: string;
  readonly lossy?: boolean;
  readonly histories?: boolean;
}

/** Declares the options. */
export const foreignOptions = (command: Command): Command =>
  command
    .addOption(new Option("--from <format>", "how another tool wrote the files; rollcall is its own shape (auto)"))
    .option("--reward-from <path>", "where a record has the reward, such as scores.correct.value")
    .option("--rewards <file>", 'rewards by id: lines of {"id", "reward"}')
    .option("--lossy", "read formats that have lost tokens or turns too")
    .option("--histories", "a continued trajectory keeps its parts as histories");

/** What the options mean. @throws Failure `option-value-wrong`, `input-invalid` */
export const foreignTyped = (typed: TypedForeign, { receipt }: { readonly receipt: boolean }): ForeignChoice => {
  const { from = "auto", rewardFrom, rewards } = typed;
  const names = ["auto", "rollcall", ...formatNames];
  if (!names.includes(from)) {
    throw new Failure("option-value-wrong", {
      option: "--from",
      value: from,
      wanted: names.join(", "),
      suggestion: nearest(from, names),
    });
  }
  if (rewardFrom !== undefined && rewards !== undefined) {
    const why = "a trajectory has one reward";
    throw new Failure("options-contradict", { first: "--reward-from", second: "--rewards", why });
  }
  return {
    from,
    receipt,
    rewardFrom: rewardFrom?.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    rewards: rewards === undefined ? undefined : readRewards(rewards),
    lossy: typed.lossy === true,
    histories: typed.histories === true,
  };
};

/** Says what was recognised, what people should know of what was made of it, and which files hold no rollouts. */
export const tellConversion = (
  { screen }: Context,
  { conversion, others = [] }: Pick<Reading, "conversion" | "others">,
): void => {
  if (conversion !== undefined) {
    const { format, files, notes } = conversion;
    const { group, reward, sampled } = format.keys;
    const what = files === 1 ? "the input is" : `${files} files are`;
    screen.notice(
      `${what} read as ${format.title} (--from ${format.name}): group from ${group}, reward from ${reward}, sampled: ${sampled}`,
    );
    for (const [text, count] of notes) screen.notice(count === 1 ? text : `${text} (${count} times)`);
  }
  if (others.length === 0) return;
  const more = others.length > 3 ? ` and ${others.length - 3} more files` : "";
  screen.notice(`left out, since no rollouts are in them: ${others.slice(0, 3).join(", ")}${more}`);
};

/** Writes the counts of values, and what each record became; of the interface's own shape, which stays as it is, there is nothing to say. @throws Failure `out-unwritable` */
export const writeReceipt = (
  { screen }: Context,
  file: string,
  { conversion, sources }: Pick<Reading, "conversion" | "sources">,
): void => writeOut(file, () => writeWhole(file, receiptPieces(conversion, screen.safe.verbatimJson), modeOf(sources)));

/** A receipt as JSON, each record on a line of its own. */
function* receiptPieces(conversion: Reading["conversion"], redact: (json: string) => string): Generator<string, void> {
  if (conversion?.receipt === undefined) return yield "null\n";
  const counts = redact(JSON.stringify(conversion.receipt.data(conversion.format), null, 2));
  yield `${counts.slice(0, -"\n}".length)},\n  "records": [`;
  let between = "";
  for (const record of conversion.receipt.records()) {
    yield `${between}\n    ${redact(JSON.stringify(record))}`;
    between = ",";
  }
  yield "\n  ]\n}\n";
}
