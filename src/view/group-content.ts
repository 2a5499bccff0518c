/** Reads a group, and formats the command that logs the group. */

import { isObject, sliceText } from "../json/json-bytes.ts";
import { formatIndented, parseRawJson } from "../json/raw-json.ts";
import * as table from "../json/table.ts";
import { readGroupStart, readGroupTrajectories, type SourceTrajectory } from "../rollouts/dataset/group-bytes.ts";
import { locateTrajectory } from "../rollouts/dataset/locate.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { type FactRow, readFacts } from "../rollouts/facts/facts.ts";
import { formatKeyText } from "../rollouts/index/group-key.ts";
import { toFilePath } from "../rollouts/rules/positions.ts";
import type { Comparison } from "../rollouts/stats/compare.ts";
import { readGroupFacts } from "../rollouts/stats/read-facts.ts";
import { Breaks } from "../system/breaks.ts";
import { formatOwnCommand } from "../system/program.ts";
import type { ComparisonTexts, GroupContent } from "./answers.ts";

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

export type ComparableRuns = Readonly<{
  names: readonly string[];
  read: () => Promise<ComparedDatasets>;
  explain: (comparison: Comparison, datasets: ComparedDatasets) => Promise<ComparisonTexts>;
}>;

export type ReadInput = () => Promise<ViewInput>;

/** @throws Failure `input-changed` */
export const readGroupContent = async (input: ViewInput, group: number): Promise<Omit<GroupContent, "findings">> => {
  const { dataset } = input;
  const { groups, scan } = dataset;
  const breaks = new Breaks();
  const trajectories: ReturnType<typeof parseTrajectory>[] = [];
  for (const trajectory of await readGroupTrajectories(dataset, group)) {
    if (breaks.isDue(trajectory.bytes.length)) await breaks.take();
    trajectories.push(parseTrajectory(trajectory));
  }
  const kind = scan.parts.kindOf(groups.firstOf(group));
  const facts = readGroupFacts(dataset, group);
  const bytes = kind === "group" ? readGroupStart(dataset, group, groups.bytesOf(group)) : undefined;
  return {
    position: await locateContent(dataset, group),
    isReadable: kind !== "unreadable",
    members: trajectories.map(({ messages, ...member }, at) => {
      const fact = facts[at];
      return {
        ...member,
        name: `trajectory ${at + 1}`,
        messages: messages.length,
        step: formatKeyText(fact?.by),
        facts: fact ? toPageFacts(fact) : null,
      };
    }),
    exceptions: bytes ? readExceptions(bytes) : [],
    common: countSharedMessages(trajectories.map(({ messages }) => messages)),
    command: formatCommand(input, group),
  };
};

/** The page knows no `--pass`. */
const toPageFacts = (fact: FactRow) => {
  const { solved: _, ...others } = readFacts(fact);
  return others;
};

/** A document is one line, so its path says more. */
const locateContent = async (dataset: ViewInput["dataset"], group: number) => {
  const { file, line, path } = await locateTrajectory(dataset, dataset.groups.firstOf(group), 0);
  return { file: toFilePath(file, path), line };
};

const readExceptions = (bytes: Buffer) =>
  table.elementsOf(table.memberAt(table.readRoot(bytes), "exceptions")).map((exception) => {
    const value = parseRawJson(sliceText(bytes, table.spanOf(exception)));
    if (value.kind !== "object") return formatIndented(value);
    return value.members.map(({ key, value: member }) => `${key}: ${formatIndented(member)}`).join("\n");
  });

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const parseTrajectory = ({ bytes, position }: SourceTrajectory) => {
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
    position,
    bytes: bytes.length,
    reward: isNumber(reward) ? reward : null,
    metrics: Object.fromEntries(measures),
    messages: messages.map((message) => sliceText(bytes, table.spanOf(message))),
  };
};

/** Returns the number of equal messages at the start of all trajectories. */
export const countCommonMessages = (trajectories: readonly SourceTrajectory[]) =>
  countSharedMessages(trajectories.map((trajectory) => parseTrajectory(trajectory).messages));

const countSharedMessages = ([first = [], ...others]: readonly (readonly string[])[]) => {
  if (others.length === 0) return 0;
  const end = first.findIndex((message, at) => others.some((other) => other[at] !== message));
  return end < 0 ? first.length : end;
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
