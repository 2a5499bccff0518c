/** Reads the rollouts of a command, and prints notes about them. */

import * as rollouts from "../rollouts/dataset/read-dataset.ts";
import { readRewardsFile } from "../rollouts/formats/convert-opened.ts";
import { Sum } from "../rollouts/index/sums.ts";
import { shortenName } from "../rollouts/rules/positions.ts";
import { parseStrictness } from "../rollouts/rules/rules.ts";
import type { Settings } from "../settings/read.ts";
import { conflictingOptions, invalidOptionValue } from "../system/failures.ts";
import type { Host } from "../system/host.ts";
import { findNearest } from "../text/nearest.ts";
import { formatList, pluralize } from "../text/sentences.ts";
import { formatForDisplay, formatPercent } from "../text/units.ts";
import { readEffectiveSettings } from "./connect.ts";
import type { Context } from "./context.ts";
import type { InputOptions } from "./options.ts";
import { explainWithExcerpts } from "./print-problems.ts";

/** What a command needs of its rollouts, in addition to what its options say. */
type ReadNeeds = Partial<
  Pick<
    rollouts.ReadOptions,
    "split" | "isSplitRequired" | "skipsDigests" | "measures" | "continuesAfterErrors" | "onOpened" | "onProgress"
  >
> &
  Readonly<{
    settings?: Settings;
    /** The text of the progress. Default: the caller shows the progress. */
    label?: string;
  }>;

/** Reads rollouts, closes them at the end of the run, and prints notes about them. */
export const readRollouts = async (context: Context, typed: InputOptions, needs: ReadNeeds) => {
  const dataset = await openRollouts(context, typed, needs);
  attachDataset(context, dataset);
  printInputNotes(context, dataset, typed);
  return dataset;
};

/** The caller closes the dataset. */
export const openRollouts = async (
  context: Context,
  typed: InputOptions,
  { settings: given, label, ...needs }: ReadNeeds,
) => {
  const { host, screen } = context;
  const settings = given ?? (await readEffectiveSettings(context));
  const progress = label === undefined ? undefined : screen.startProgress(label);
  const read = async () => {
    const maxUnpackedBytes = settings.require("max_unpacked_size");
    const options: rollouts.ReadOptions = {
      ...(await parseFormatOptions(typed, host)),
      files: typed.file,
      strictness: readStrictness(typed),
      maxUnpackedBytes,
      onProgress: ({ bytes, of }) => progress?.update(`${label}, ${formatPercent(bytes, of)}`),
      ...needs,
      host,
    };
    const dataset = await rollouts.readDataset(options);
    const { repeatedFiles: repeated = [] } = dataset;
    const files = pluralize(repeated.length, "repeated file");
    if (repeated.length > 0) screen.notice(`read ${files} only once: ${formatList(repeated, maxNames)}`);
    return dataset;
  };
  return await read().finally(progress?.stop);
};

export const readStrictness = ({ strict = false, allow = [], onInvalid }: InputOptions) => {
  return { ...parseStrictness({ strict, allow }), writesRejects: onInvalid === "skip" };
};

/** Closes the dataset at the end of the run, and adds its excerpts to a failure of the run. */
export const attachDataset = (context: Context, dataset: rollouts.Dataset) => {
  context.closeAtEnd(dataset);
  explainWithExcerpts(context, dataset);
};

const parseDottedPath = (path: string) =>
  path.split(".").map((step) => (/^(?:0|[1-9]\d*)$/.test(step) ? Number(step) : step));

const parseFormatOptions = async (typed: InputOptions, host: Host) => {
  const { from = "auto", rewardFrom, rewards } = typed;
  const { formatNames } = from === "auto" ? { formatNames: [] } : await import("../rollouts/formats/recognize.ts");
  const names = ["auto", "rollcall", ...formatNames];
  if (!names.includes(from)) throw invalidOptionValue("--from", from, names.join(", "), findNearest(from, names));
  if (rewardFrom !== undefined && rewards !== undefined)
    throw conflictingOptions("--reward-from", "--rewards", "a trajectory has one reward");
  return {
    from,
    rewardFrom: rewardFrom === undefined ? undefined : parseDottedPath(rewardFrom),
    groupBy: typed.groupBy,
    rewards: rewards === undefined ? undefined : await readRewardsFile(rewards, host),
  };
};

const maxNames = 3;
const maxUnreadPaths = 20;
/** A person reads about two lines of a terminal. */
const maxUnreadLength = 110;

const formatCounted = ([text, count]: readonly [string, number]) => (count === 1 ? text : `${text} (${count} times)`);

const formatUnreadKeys = (unread: readonly { path: string; count: number }[], isJson: boolean) => {
  if (unread.length === 0) return [];
  const paths = unread.map(({ path }) => shortenName(path));
  let shown = 1;
  while (shown < paths.length && paths.slice(0, shown + 1).join(", ").length <= maxUnreadLength) shown++;
  const total = unread.reduce((sum, { count }) => sum + count, 0);
  const listed = formatList(paths, isJson ? maxUnreadPaths : shown);
  return `${pluralize(total, "value was", "values were")} not converted: ${listed}`;
};

/** A parser of reasoning can take whole answers, and their rewards are then not those of the answers. */
const describeSilent = ({ silent, reward }: rollouts.Dataset["scan"]["tally"]) => {
  if (silent.count === 0) return undefined;
  const others = new Sum();
  others.merge(reward);
  others.merge(silent, -1);
  const ofOthers = others.count === 0 ? "" : `, of the others ${formatForDisplay(others.mean)}`;
  const count = `${silent.count} of ${pluralize(reward.count, "trajectory ends", "trajectories end")}`;
  return `${count} with an empty answer (mean reward ${formatForDisplay(silent.mean)}${ofOthers})`;
};

export const printInputNotes = ({ screen }: Context, dataset: rollouts.Dataset, typed: InputOptions) => {
  const { facts, others } = listInputNotes(dataset, typed, screen.isJson);
  const notes = [...facts, ...others];
  // A person sees in one line how the input was read.
  const lines = screen.isJson ? notes : [facts.join("; "), ...others].filter(Boolean);
  lines.forEach(screen.notice);
  return notes;
};

const listInputNotes = (dataset: rollouts.Dataset, typed: InputOptions, isJson: boolean) => {
  const { conversion, scan, sources, joinedGroups = 0, note: lacks = [] } = dataset;
  const { groupBy, rewardFrom, rewards } = typed;
  const readings = (conversion?.formats ?? []).map(({ format, files, groups }) => {
    const isInput = sources.length === 1 && files.length === 1;
    const subject = isInput ? "the input was" : pluralize(files.length, "file was", "files were");
    return `${subject} read as ${format.title} (--from ${format.name}), ${groups}`;
  });
  // If no group is valid, the errors matter, and the notes would hide them.
  if (conversion && dataset.groups.count > 0 && dataset.groups.valid().next().done === true)
    return { facts: readings, others: [] };
  const { notes = [], unread = [] } = conversion ?? {};
  const facts = [...readings, lacks, Array.from(notes, formatCounted), formatUnreadKeys(unread, isJson)].flat();
  const others: string[] = [];
  const rewardOption = rewardFrom === undefined ? "--rewards" : "--reward-from";
  if (!conversion && scan.problems.errors === 0 && (rewardFrom ?? rewards) !== undefined)
    others.push(`${rewardOption} has no effect: the input is in rollcall's format`);
  const silent = describeSilent(scan.tally);
  if (silent !== undefined) others.push(silent);
  const joined = pluralize(joinedGroups, "group consists", "groups consist");
  if (joinedGroups > 0) others.push(`with --group-by, ${joined} of trajectories from several files`);
  const isGroupedByKey = conversion?.formats.some(({ format }) => format.isGrouped !== true) ?? false;
  if (groupBy !== undefined && !isGroupedByKey && scan.shapes.size > 0 && !scan.shapes.has("trajectories"))
    others.push(`--group-by ${groupBy.join() || "''"} has no effect: the input is already grouped`);
  return { facts, others };
};
