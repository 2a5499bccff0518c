/** Reads a group, or the trajectories of a prompt in two runs, and formats the command that logs a group. */

import { isObject, sliceText } from "../json/json-bytes.ts";
import { formatIndented, parseRawJson } from "../json/raw-json.ts";
import * as table from "../json/table.ts";
import { readGroupStart, readGroupTrajectories, type SourceTrajectory } from "../rollouts/dataset/group-bytes.ts";
import { locateTrajectory } from "../rollouts/dataset/locate.ts";
import { readPairPromptAndKey } from "../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { readFacts } from "../rollouts/facts/facts.ts";
import { formatKeyText } from "../rollouts/index/group-key.ts";
import { toFilePath } from "../rollouts/rules/positions.ts";
import { type Comparison, compareDatasets } from "../rollouts/stats/compare.ts";
import { getFacts, readGroupFacts } from "../rollouts/stats/read-facts.ts";
import { Breaks, sortWithBreaks } from "../system/breaks.ts";
import { formatOwnCommand } from "../system/program.ts";
import type {
  ComparisonTexts,
  GroupContent,
  GroupData,
  GroupFacts,
  GroupReader,
  TrajectorySummary,
} from "./answers.ts";

export type ViewInput = Readonly<{
  dataset: Dataset;
  notes: readonly string[];
  /** The reward from which a trajectory is solved. */
  pass: number;
  /** The arguments of the `log` command that the page shows. */
  inputOptions: Readonly<{
    files: readonly string[];
    options: readonly string[];
    where?: string | undefined;
    groupBy?: readonly string[] | undefined;
  }>;
  /** Two inputs that can be compared. */
  runs?: ComparableRuns | undefined;
  hasChanged: () => boolean;
}>;

type ComparedDatasets = Readonly<Record<"a" | "b", Dataset>>;

type ComparableRuns = Readonly<{
  names: readonly string[];
  read: () => Promise<ComparedDatasets>;
  explain: (comparison: Comparison, datasets: ComparedDatasets) => Promise<ComparisonTexts>;
}>;

export type ReadInput = () => Promise<ViewInput>;

/** A trajectory of a group. `messages` are JSON. */
type ReadTrajectory = Readonly<{ json: string; messages: readonly string[]; member: TrajectorySummary }>;

/** @throws Failure `input-changed` */
const readTrajectories = async (dataset: Dataset, group: number) => {
  const breaks = new Breaks();
  const facts = readGroupFacts(dataset, group);
  const trajectories: ReadTrajectory[] = [];
  for (const [at, trajectory] of (await readGroupTrajectories(dataset, group)).entries()) {
    if (breaks.isDue(trajectory.bytes.length)) await breaks.take();
    trajectories.push(parseTrajectory(trajectory, at, facts[at]));
  }
  return trajectories;
};

/** @throws Failure `input-changed` */
export const readGroup = async (input: ViewInput, group: number, findings: GroupContent["findings"]) => {
  const { dataset } = input;
  return composeGroup(await readTrajectories(dataset, group), {
    position: await locateContent(dataset, group),
    isReadable: dataset.scan.parts.kindOf(dataset.groups.firstOf(group)) !== "unreadable",
    exceptions: readExceptions(dataset, group),
    findings,
    command: formatCommand(input, group),
  });
};

const composeGroup = (
  trajectories: readonly ReadTrajectory[],
  content: Omit<GroupContent, "members" | "common">,
): GroupData => ({
  content: {
    ...content,
    members: trajectories.map(({ member }) => member),
    common: countCommonMessages(trajectories),
  },
  trajectories: trajectories.map(({ json }) => json),
});

type Fact = ReturnType<typeof readGroupFacts>[number];

/** The page knows no `--pass`. */
const toPageFacts = (fact: Fact) => {
  const { solved: _, ...others } = readFacts(fact);
  return others;
};

/** A document is one line, so its path says more. */
const locateContent = async (dataset: Dataset, group: number) => {
  const { file, line, path } = await locateTrajectory(dataset, dataset.groups.firstOf(group), 0);
  return { file: toFilePath(file, path), line };
};

const readExceptions = (dataset: Dataset, group: number) => {
  const { groups, scan } = dataset;
  if (scan.parts.kindOf(groups.firstOf(group)) !== "group") return [];
  const bytes = readGroupStart(dataset, group, groups.bytesOf(group));
  return table.elementsOf(table.memberAt(table.readRoot(bytes), "exceptions")).map((exception) => {
    const value = parseRawJson(sliceText(bytes, table.spanOf(exception)));
    if (value.kind !== "object") return formatIndented(value);
    return value.members.map(({ key, value: member }) => `${key}: ${formatIndented(member)}`).join("\n");
  });
};

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const parseTrajectory = ({ bytes, position }: SourceTrajectory, at: number, fact?: Fact): ReadTrajectory => {
  const root = table.readRoot(bytes);
  const [reward, metrics] = ["reward", "metrics"].map((key) => {
    const value = table.memberAt(root, key);
    return value && table.parseValue(value);
  });
  const measures = Object.entries(isObject(metrics) ? metrics : {}).flatMap(([name, value]) =>
    isNumber(value) || typeof value === "boolean" ? [[name, value] as const] : [],
  );
  const messages = table.elementsOf(table.memberAt(root, "messages_and_choices"));
  return {
    json: bytes.toString("utf8"),
    messages: messages.map((message) => sliceText(bytes, table.spanOf(message))),
    member: {
      name: `trajectory ${at + 1}`,
      position,
      bytes: bytes.length,
      reward: isNumber(reward) ? reward : null,
      metrics: Object.fromEntries(measures),
      messages: messages.length,
      step: formatKeyText(fact?.by),
      facts: fact ? toPageFacts(fact) : null,
    },
  };
};

/** Returns the number of equal messages at the start of all trajectories. */
const countCommonMessages = ([first, ...others]: readonly ReadTrajectory[]) => {
  if (!first || others.length === 0) return 0;
  const end = first.messages.findIndex((message, at) => others.some(({ messages }) => messages[at] !== message));
  return end < 0 ? first.messages.length : end;
};

const formatCommand = ({ dataset, inputOptions }: ViewInput, group: number) => {
  const { files, options, where } = inputOptions;
  if (files.includes("-") || !dataset.groups.isValid(group)) return null;
  const groupFilter = `group.number == ${(dataset.originalOf?.(group).group ?? group) + 1}`;
  const filter = where === undefined ? groupFilter : `${groupFilter} && (${where})`;
  const log = ["log", "my-model", "--split", dataset.split ?? "train", ...options, "--where", filter];
  // Without `--on-invalid skip`, invalid groups would stop the command.
  return formatOwnCommand([...log, ...(dataset.problems.errors > 0 ? ["--on-invalid", "skip"] : []), ...files]);
};

type Pool = Comparison["changes"][number]["pair"]["a"];

/** Returns a reader whose groups are the pairs. @throws errors of reading, `input-changed`; the signal's reason */
export const openRuns = async (
  { pass, inputOptions: { groupBy } }: ViewInput,
  { store, runs: { read, explain } }: { store: Store; runs: ComparableRuns },
  signal: AbortSignal,
): Promise<Store> => {
  const datasets = await read();
  const { a, b } = datasets;
  const comparison = await compareDatasets(a, b, { pairBy: undefined, pass, tries: [], signal });
  const { changes, pairing, reward, only_a, only_b, transitions } = comparison;
  const size = ({ means }: (typeof changes)[number]) => Math.abs(means?.difference ?? -1);
  const sorted = await sortWithBreaks(changes, (one, other) => size(other) - size(one), new Breaks(signal));
  return {
    ...store,
    comparison: { reward, only_a, only_b, transitions, ...(await explain(comparison, datasets)) },
    count: sorted.length,
    groups: sorted.map(({ from, to, means, pair }, group) => {
      const [rowsOfA, rowsOfB] = [pair.a.rows, pair.b.rows];
      const rewards = [...getFacts(a).columns.reward.pick(rowsOfA), ...getFacts(b).columns.reward.pick(rowsOfB)];
      const { a: inA = null, b: inB = null, difference = null } = means ?? {};
      const size = rowsOfA.length + rowsOfB.length;
      return { ...unknownFacts, group, size, rewards, pair: { from, to, a: inA, b: inB, difference } };
    }),
    async readRow(facts) {
      const { pair } = sorted[facts.group] ?? {};
      const { prompt, key } = pair ? readPairPromptAndKey([a, b], pair, groupBy) : { prompt: "", key: null };
      return { ...facts, prompt, key: pairing.name === undefined ? key : formatKeyText(pair?.name) };
    },
    async readGroup(group) {
      const { pair } = sorted[group] ?? {};
      const sides = pair ? [await readPool(a, pair.a, "a"), await readPool(b, pair.b, "b")] : [];
      const trajectories = sides.flatMap((side) => side.trajectories);
      return composeGroup(trajectories, {
        position: trajectories[0]?.member.position ?? { file: "", line: 1 },
        isReadable: true,
        exceptions: sides.flatMap(({ exceptions }) => exceptions),
        findings: [],
        command: null,
      });
    },
  };
};

type Store = GroupReader<GroupFacts>;

const unknownFacts = {
  ...{ file: "", untrainable: null, rules: [], mean: null, spread: null, failures: 0, truncated: 0 },
  ...{ step: null, parts: null, finish: null, toolErrors: null },
};

/** The trajectories of a prompt can be in several groups. */
const readPool = async (dataset: Dataset, { rows, first }: Pool, run: "a" | "b") => {
  const { groups } = dataset;
  const wanted = new Set(rows);
  const found: ReadTrajectory[] = [];
  const exceptions: string[] = [];
  const failed = rows.length === 0 ? groups.groupOf(first.part) : -1;
  for (let group = 0; group < groups.count && (wanted.size > found.length || group <= failed); group++) {
    const own = groups.isValid(group) ? groups.rowsOf(group) : [];
    if (group !== failed && !own.some((row) => wanted.has(row))) continue;
    const trajectories = await readTrajectories(dataset, group);
    found.push(...trajectories.filter((_, at) => wanted.has(own[at] ?? -1)));
    exceptions.push(...readExceptions(dataset, group));
  }
  const trajectories = found.map(({ member, ...read }, at) => {
    return { ...read, member: { ...member, run, name: `${run}, trajectory ${at + 1}` } };
  });
  return { trajectories, exceptions };
};
