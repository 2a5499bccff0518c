/** Reading of inputs for `log`, `check`, `convert`, `view` and `ledger`, and the notices about it. */
import { parseStrictness } from "../../check/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import { toRequestOptions } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { roundForDisplay } from "../../decimal.ts";
import { formatNames, readRewards } from "../../formats/index.ts";
import { checkFilter, type Dataset, type ReadOptions, readDataset, selectDataset } from "../../groups/index.ts";
import type { FetchProgress } from "../../input/index.ts";
import { findNearest } from "../../nearest.ts";
import { type Column, printList, printPage, type Screen, textColumn } from "../../output/index.ts";
import { pluralize } from "../../sentences.ts";
import type { Settings } from "../../settings/index.ts";
import type { InputOptions } from "./options.ts";
import { withExcerpts } from "./problems.ts";

interface InputsRequest extends Partial<Omit<ReadOptions, "host" | "foreign" | "remote" | "maxUnpackedBytes">> {
  readonly settings: Settings;
  readonly typed: InputOptions;
  /** True if the conversion of every value is counted. */
  readonly receipt?: boolean;
  /** Called during the download of an input. */
  readonly onFetched?: (fetched: FetchProgress) => void;
}

/**
 * Validates the options of inputs before anything is read. Returns the function that reads the inputs.
 * @throws Failure `invalid-option-value`, `conflicting-options`, `invalid-filter`, `invalid-input`
 */
export const prepareInputs = async (
  context: Context,
  { settings, typed, receipt = false, onFetched = () => undefined, ...asked }: InputsRequest,
): Promise<() => Promise<Dataset>> => {
  const { host, screen } = context;
  const { where, best, sample, seed = "0", shard, strict = false, allow = [] } = typed;
  if (where !== undefined) await checkFilter(where);
  const isFiltered = [where, best, sample, shard].some((value) => value !== undefined);
  const options: ReadOptions = {
    files: typed.file,
    groupBy: typed.groupBy,
    split: undefined,
    splitNeeded: false,
    strictness: parseStrictness({ strict, allow }),
    onOpened: () => undefined,
    onProgress: () => undefined,
    ...asked,
    host,
    foreign: parseFormatOptions(typed, receipt),
    skipsDigests: !isFiltered && asked.skipsDigests === true,
    maxUnpackedBytes: settings.require("max_unpacked_size"),
    remote: { ...toRequestOptions(context, settings), hide: screen.hideSecret, onFetched },
  };
  return async () => {
    const reading = await readDataset(options);
    const { repeatedFiles: repeated = [] } = reading;
    if (repeated.length > 0) {
      const files = pluralize(repeated.length, "repeated file");
      screen.notice(`read ${files} only once: ${formatNameList(repeated, "")}`);
    }
    if (!isFiltered) return reading;
    try {
      const filtered = await selectDataset(reading, { ...options, choosing: { where, best, sample, seed, shard } });
      for (const [by, { trajectories, groups }] of Object.entries(filtered.filteredOut ?? {})) {
        if (trajectories + groups === 0) continue;
        const whole = groups === 0 ? "" : `, including ${pluralize(groups, "whole group")}`;
        screen.notice(`--${by} filtered out ${pluralize(trajectories, "trajectory", "trajectories")}${whole}`);
      }
      return filtered;
    } catch (thrown) {
      await reading.close();
      throw thrown;
    }
  };
};

/** Reads inputs, with progress if there is a label. @throws Failure as `prepareInputs`, and of reading */
export const readInputs = async (
  context: Context,
  { label, ...asked }: InputsRequest & { readonly label?: string },
): Promise<Dataset> => {
  if (label === undefined) return await (await prepareInputs(context, asked))();
  const progress = context.screen.startProgress(label);
  const callbacks = {
    onProgress: (done: { bytes: number; of: number }) => progress.update(formatPercent(label, done)),
    onFetched: ({ bytes, of }: FetchProgress) =>
      progress.update(
        of === undefined
          ? `fetching, ${Math.floor(bytes / 1e6)} MB`
          : formatPercent("fetching", { bytes, of: Math.max(1, of) }),
      ),
  };
  return await prepareInputs(context, { ...callbacks, ...asked })
    .then(async (read) => await read())
    .finally(progress.stop);
};

export const formatPercent = (label: string, { bytes, of }: { readonly bytes: number; readonly of: number }): string =>
  `${label}, ${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`;

/** Works with an open dataset and closes it. Adds excerpts to the problems of a failure. */
export const useReading = async <Result>(
  context: Context,
  reading: Dataset,
  work: () => Promise<Result>,
): Promise<Result> => {
  try {
    return await work();
  } catch (thrown) {
    throw await withExcerpts(context, reading.sources, thrown);
  } finally {
    await reading.close();
  }
};

const parseFormatOptions = (typed: InputOptions, receipt: boolean): ReadOptions["foreign"] => {
  const { from = "auto", rewardFrom, rewards, lossy, histories } = typed;
  const names = ["auto", "rollcall", ...formatNames];
  if (!names.includes(from)) throw wrongValue("--from", from, names.join(", "), findNearest(from, names));
  if (rewardFrom !== undefined && rewards !== undefined)
    throw contradiction("--reward-from", "--rewards", "a trajectory has one reward");
  return {
    ...{ from, hasReceipt: receipt, allowsLossy: lossy, keepsHistories: histories },
    rewardFrom: rewardFrom?.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    rewards: rewards === undefined ? undefined : readRewards(rewards),
  };
};

/** Maximum number of names in a notice. */
const maxNames = 3;

const formatNameList = (names: readonly string[], more: string): string =>
  `${names.slice(0, maxNames).join(", ")}${names.length > maxNames ? ` and ${names.length - maxNames} more${more}` : ""}`;

/** Prints the recognized format, the notes of its conversion, and skipped files. */
export const printConversion = ({ screen }: Context, { conversion, skippedFiles: others = [] }: Dataset): void => {
  if (conversion !== undefined) {
    const { formats, rewardFrom, notes } = conversion;
    for (const { format, files } of formats) {
      const { group, reward, sampled } = format.keys;
      const what = files === 1 ? (formats.length === 1 ? "the input" : "1 file") : `${files} files`;
      const keys = `group from ${group}, reward from ${rewardFrom ?? reward}, choices from ${sampled}`;
      screen.notice(`read ${what} as ${format.title} (--from ${format.name}): ${keys}`);
    }
    for (const [text, count] of notes) screen.notice(count === 1 ? text : `${text} (${count} times)`);
  }
  if (others.length > 0) screen.notice(`skipped files without rollouts: ${formatNameList(others, " files")}`);
};

/** Prints that `--group-by` has no effect on input that is already grouped. */
export const printGrouping = (
  { screen }: Context,
  { found: { shapes } }: Dataset,
  groupBy: string | undefined,
): void => {
  if (groupBy === undefined || shapes.size === 0 || shapes.has("trajectories")) return;
  screen.notice(`--group-by ${groupBy} has no effect: the input is already grouped`);
};

export interface Fact {
  readonly name: string;
  readonly value: string | number;
}

/** Facts by their names, without missing values. */
export const toFacts = (values: Readonly<Record<string, Fact["value"] | null | undefined>>): readonly Fact[] =>
  Object.entries(values).flatMap(([name, value]) => (value === undefined || value === null ? [] : [{ name, value }]));

/** The number of unreadable lines, which count as rejected groups. */
export const formatUnreadable = (lines: number): string => {
  return lines === 0 ? "" : ` (${pluralize(lines, "unreadable line")})`;
};

interface ResultPage {
  readonly facts: readonly Fact[];
  readonly metrics?: Readonly<Record<string, number>>;
  /** The groups of the metrics, if not all of the input. */
  readonly metricsScope?: string | undefined;
  readonly next?: readonly Fact[];
}

export const printFacts = async (
  screen: Screen,
  { facts, metrics = {}, metricsScope: measured, next = [] }: ResultPage,
): Promise<void> => {
  const figures = Object.entries(metrics).map(([name, value]) => ({ name, value }));
  if (screen.format !== "table") {
    const about = measured === undefined ? [] : [{ name: "metrics of", value: measured }];
    await printList(screen, { columns: factColumns, rows: [...facts, ...about, ...figures, ...next] });
    return;
  }
  const lines = (own: readonly Fact[]) => own.map(({ name, value }) => ({ label: name, text: String(value) }));
  const rounded = figures.map(({ name, value }) => ({ name, value: roundForDisplay(value) }));
  const title = measured === undefined ? "Metrics" : `Metrics of ${measured}`;
  const sections = [{ lines: lines(facts) }, { title, lines: lines(rounded) }, { lines: lines(next) }];
  await printPage(screen, { sections: sections.filter((section) => section.lines.length > 0) });
};

const factColumns: readonly Column<Fact>[] = [
  textColumn("name", { rank: 0, text: ({ name }) => name }),
  textColumn("value", { rank: 0, text: ({ value }) => String(value), value: ({ value }) => value }),
];
