/** Selects groups and trajectories, and makes a view of a dataset that has only these. */
import { createHash } from "node:crypto";
import { toBuffer } from "../../../json/json-bytes.ts";
import { Breaks } from "../../../system/breaks.ts";
import { digestBytes } from "../../index/digests.ts";
import type { FactColumns } from "../../index/fact-columns.ts";
import { Groups } from "../../index/groups.ts";
import { fileOf, type Source } from "../../input/source.ts";
import { inputRules } from "../../rules/input-rules.ts";
import type { RuleCount } from "../../rules/problems.ts";
import { reportCopies } from "../dataset-problems.ts";
import { ReadWindow, recheckBytes } from "../group-bytes.ts";
import { rewardsOf } from "../group-metrics.ts";
import {
  type GroupPart,
  getPart,
  type IndexedGroups,
  locateGroup,
  mapProblemsToRecords,
  openPartLocator,
} from "../locate.ts";
import {
  createScanResult,
  type Dataset,
  type FilteredOut,
  finishCheck,
  type Selection,
  type SourceOptions,
} from "../read-dataset.ts";
import { listAnswered } from "../training-rows.ts";

/** True for a problem that the check of the kept groups does not find again. */
const isOfInput = ({ rule, severity }: Pick<RuleCount, "rule" | "severity">) =>
  severity === "error" || rule in inputRules || rule === "duplicate-rollout";

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
export const selectDataset = async (
  dataset: Dataset,
  selection: Selection,
  options: SourceOptions,
): Promise<Dataset> => {
  const { signal } = options.host;
  const selected = await selectGroups(dataset, selection, signal);
  const { kept, subsets, ...counts } = selected;
  const isWhole = kept.length === dataset.groups.count && subsets.size === 0;
  const view = isWhole ? dataset : await viewGroups(dataset, selected, options);
  const { problems } = view.scan;
  const note = await finishCheck(view, new Breaks(signal), false);
  if (!isWhole) {
    await reportCopies(dataset, new Breaks(signal));
    problems.merge(dataset.scan.problems, isOfInput);
  }
  await mapProblemsToRecords(dataset.sources, problems);
  const [firstReduced = 0] = subsets.keys();
  if (subsets.size > 0)
    problems.report("baseline-changed", { groups: subsets.size }, () => locateGroup(dataset, firstReduced));
  // A shard of a small file can be empty.
  if (kept.length === 0 && dataset.groups.count > 0 && !selection.shard) {
    const [only, ...rest] = dataset.sources;
    const by = Object.entries(counts.filteredOut).flatMap(([option, count]) =>
      count.groups > 0 ? [nameOption(selection, option)] : [],
    );
    const location = !only || rest.length > 0 ? {} : { file: fileOf(only) };
    problems.report("empty-selection", { by, groups: dataset.groups.count }, location);
  }
  const originalOf = (at: number) => {
    const group = kept[at] ?? at;
    return { group, selected: subsets.get(group) };
  };
  return { ...dataset, ...view, note, ...counts, unselected: dataset, originalOf };
};

export const nameOption = ({ whereOption = "--where" }: Selection, option: string) =>
  option === "where" ? whereOption : `--${option}`;

interface KeptGroups {
  readonly kept: readonly number[];
  /** For each group that loses trajectories, the indexes of those that stay. */
  readonly subsets: ReadonlyMap<number, readonly number[]>;
}

/** Copies the index of the kept groups. Checks only parts with warnings again. */
const viewGroups = async (dataset: Dataset, { kept, subsets }: KeptGroups, options: SourceOptions) => {
  const { groups, scan } = dataset;
  const breaks = new Breaks(options.host.signal);
  const sources = dataset.sources.map(withoutCopies);
  const copy = createScanResult(sources, options);
  copy.addRequests(scan);
  const { parts } = copy;
  const view: IndexedGroups = { sources, scan: copy, groups: new Groups(parts) };
  const window = new ReadWindow();
  for (const group of kept) {
    if (breaks.isDue(1000 * groups.trajectoriesOf(group))) await breaks.take();
    const [selected, isValid, isBare] = [subsets.get(group), groups.isValid(group), groups.isBare(group)];
    const all = groups.partsOf(group);
    let last: number | undefined;
    for (const part of isBare && selected ? selected.map((at) => all[at] ?? 0) : all) {
      const added = parts.count;
      copy.copyPart(scan, part, { isValid, selected: isBare ? undefined : selected });
      if (last === undefined) view.groups.startGroup(added, { isKeyed: groups.isKeyed(group) });
      else view.groups.addPart(last, added);
      last = added;
      if (isValid && parts.columns.warned.at(added) === 1) await recheckPart(view, added, window);
      if (selected && !isBare && parts.options.hasDigests)
        parts.digests.set(added, await digestSubset(getPart(view, added), selected, window));
    }
  }
  if (options.measures?.hasTasks && parts.facts.walked) await readSharedSettings(view, parts.facts.walked, breaks);
  return view;
};

/** The kept trajectories can share metadata that others lack. Reads until they share nothing. */
const readSharedSettings = async (view: IndexedGroups, into: FactColumns, breaks: Breaks) => {
  const { keepSettings } = await import("../../check/measure.ts");
  const { parts } = view.scan;
  const window = new ReadWindow();
  into.settings.clear();
  let row = 0;
  for (let part = 0; part < parts.count && (row === 0 || into.settings.size > 0); part++) {
    if (breaks.isDue(16 * parts.columns.length.at(part))) await breaks.take();
    const trajectories = parts.isValid(part) ? await window.readUnchangedTrajectories(getPart(view, part)) : [];
    for (const trajectory of trajectories) keepSettings(trajectory, into, row++);
  }
};

/** The copies of rollouts are in the problems of the whole dataset. */
const withoutCopies = ({ originals, ...source }: Source): Source =>
  originals ? { ...source, originals: { ...originals, copies: [] } } : source;

/** Adds the problems of a part with warnings, because the index has no problems. */
const recheckPart = async (view: IndexedGroups, at: number, window: ReadWindow) => {
  const { problems, parts } = view.scan;
  const groupPart = getPart(view, at);
  problems.input = groupPart.source.name;
  const found = recheckBytes(await window.readPart(groupPart), problems, openPartLocator(groupPart));
  parts.columns.warned.set(at, found.parts.columns.warned.at(0));
};

/** Returns the digest of a part that lost trajectories: of the kept records, or of the bytes that are sent. */
const digestSubset = async (groupPart: GroupPart, selected: readonly number[], window: ReadWindow) => {
  const { source, part } = groupPart;
  const digest =
    source.originals?.digestOf(part.line, selected) ??
    createHash("sha256")
      .update(await window.readPart(groupPart))
      .digest();
  return digest.subarray(0, digestBytes);
};

/** Evaluating an expression costs as much as reading this many bytes, and 16 times those of the group. */
const bytesPerFilter = 2 ** 15;

/** @throws Failure `invalid-filter`, `input-changed`; the signal's reason */
const selectGroups = async (dataset: Dataset, selection: Selection, signal: AbortSignal) => {
  const { groups } = dataset;
  const { where, pass, best } = selection;
  const { filteredOut, countOut } = openCounts(selection);
  const prefersAnswered = selection.needsAnswer === true && best !== undefined;
  const breaks = new Breaks(signal);
  const isSampled = await drawSample(dataset, selection, breaks);
  // Loading the code of expressions takes as long as checking several MB.
  const filter =
    where === undefined ? undefined : (await import("./filter-groups.ts")).openFilter(dataset, { where, pass, signal });
  const kept: number[] = [];
  const lacking = { trajectories: 0, groups: 0 };
  let keptExceptions = 0;
  /** For each group that loses trajectories, the indexes of its selected trajectories. */
  const subsets = new Map<number, readonly number[]>();
  for (let group = 0; group < groups.count; group++) {
    if (breaks.isDue(where === undefined ? 0 : bytesPerFilter + 16 * groups.bytesOf(group))) await breaks.take();
    const count = groups.trajectoriesOf(group);
    if (!groups.isValid(group)) kept.push(group);
    else if (!isSampled(group)) countOut("sample", count, 1);
    else if (!isInShard(dataset, selection, group)) countOut("shard", count, 1);
    else if (where === undefined && best === undefined) kept.push(group);
    else {
      const whole = { isMatch: true, wanted: Array.from(Array(count).keys()), absent: 0 };
      const { isMatch, wanted, absent } = (await filter?.(group)) ?? whole;
      lacking[count > 0 ? "trajectories" : "groups"] += absent;
      countOut("where", count - wanted.length, isMatch ? 0 : 1);
      if (wanted.length > 0 && wanted.length < count) keptExceptions += groups.exceptionsOf(group);
      const preferred = prefersAnswered ? await findAnswered(dataset, group, wanted) : wanted;
      const positions = findBest(preferred, rewardsOf(dataset, group), best);
      countOut("best", wanted.length - positions.length, 0);
      if (positions.length > 0 || (count === 0 && isMatch)) kept.push(group);
      if (positions.length > 0 && positions.length < count) subsets.set(group, positions);
    }
  }
  return { kept, subsets, filteredOut, lacking, keptExceptions };
};

const openCounts = (selection: Selection) => {
  const options = (["where", "best", "sample", "shard"] as const).filter((option) => selection[option] !== undefined);
  const filteredOut: FilteredOut = Object.fromEntries(
    options.map((option) => [option, { trajectories: 0, groups: 0 }]),
  );
  const countOut = (by: keyof FilteredOut, trajectories: number, wholeGroups: number) => {
    const counts = filteredOut[by];
    if (!counts) return;
    counts.trajectories += trajectories;
    counts.groups += wholeGroups;
  };
  return { filteredOut, countOut };
};

const isInShard = ({ groups }: Dataset, { shard }: Selection, group: number) =>
  shard === undefined || toHash(groups.digestOf(group)) % shard.of === shard.part - 1;

const toHash = (digest: Uint8Array) => toBuffer(digest).readUIntBE(0, 6);

const findAnswered = async (dataset: Dataset, group: number, wanted: readonly number[]) => {
  const answered = await listAnswered(dataset, group);
  const kept = wanted.filter((at) => answered[at]);
  return kept.length > 0 ? kept : wanted;
};

/** Returns the positions of the highest rewards, in ascending order. */
const findBest = (wanted: readonly number[], rewards: ArrayLike<number>, max: number | undefined) => {
  if (max === undefined) return wanted;
  const byReward = wanted.toSorted((a, b) => (rewards[b] ?? 0) - (rewards[a] ?? 0) || a - b);
  return byReward.slice(0, max).sort((a, b) => a - b);
};

/** Ranks groups by hashes of seed and digest, so that the order of the input does not matter. */
const drawSample = async ({ groups }: Dataset, { sample, seed }: Selection, breaks: Breaks) => {
  if (sample === undefined) return () => true;
  const ranks = new Float64Array(groups.count).fill(Number.NaN);
  for (const group of groups.valid()) {
    if (breaks.isDue()) await breaks.take();
    const digest = createHash("sha256").update(`${seed} `).update(groups.digestOf(group)).digest();
    ranks[group] = toHash(digest);
  }
  // NaN is last.
  const chosen = ranks.toSorted().subarray(0, sample);
  const limit = chosen.findLast((rank) => !Number.isNaN(rank)) ?? -1;
  // Equal groups have equal ranks.
  let equal = chosen.length - chosen.indexOf(limit);
  /** Expects valid groups in ascending order. */
  return (group: number) => {
    const rank = ranks[group] ?? 0;
    return rank === limit ? equal-- > 0 : rank < limit;
  };
};
