/** Compares two inputs, and reads the trajectories of a prompt in both. */

import { readGroupTrajectories, type SourceTrajectory } from "../rollouts/dataset/group-bytes.ts";
import { readPairPromptAndKey } from "../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { formatKeyText } from "../rollouts/index/group-key.ts";
import { compareDatasets } from "../rollouts/stats/compare.ts";
import { getFacts } from "../rollouts/stats/read-facts.ts";
import { Breaks, sortWithBreaks } from "../system/breaks.ts";
import type { GroupContent, GroupFacts, GroupReader } from "./answers.ts";
import { type ComparableRuns, countCommonMessages, readGroupContent, type ViewInput } from "./group-content.ts";

type Pool = Awaited<ReturnType<typeof compareDatasets>>["changes"][number]["pair"]["a"];

/** Returns a reader whose groups are the pairs. @throws errors of reading, `input-changed`; the signal's reason */
export const openRuns = async (
  input: ViewInput,
  { store, runs: { read, explain } }: { store: Store; runs: ComparableRuns },
  signal: AbortSignal,
): Promise<Store> => {
  const datasets = await read();
  const { a, b } = datasets;
  const { groupBy } = input.inputOptions;
  const options = { pairBy: undefined, pass: input.pass, tries: [], signal };
  const comparison = await compareDatasets(a, b, options);
  const { changes, pairing, reward, only_a, only_b, transitions } = comparison;
  const size = ({ means }: (typeof changes)[number]) => Math.abs(means?.difference ?? -1);
  const sorted = await sortWithBreaks(changes, (one, other) => size(other) - size(one), new Breaks(signal));
  const readPair = async (group: number) => {
    const pair = sorted[group]?.pair;
    const sides = { a: await readPool(input, a, pair?.a), b: await readPool(input, b, pair?.b) };
    const members = (["a", "b"] as const).flatMap((run) =>
      sides[run].members.map((member, at) => ({ ...member, run, name: `${run}, trajectory ${at + 1}` })),
    );
    const exceptions = [...sides.a.exceptions, ...sides.b.exceptions];
    return { members, exceptions, trajectories: [...sides.a.trajectories, ...sides.b.trajectories] };
  };
  return {
    ...store,
    comparison: { reward, only_a, only_b, transitions, ...(await explain(comparison, datasets)) },
    count: sorted.length,
    groups: sorted.map(({ from, to, means, pair }, group) => {
      const { a: inA = null, b: inB = null, difference = null } = means ?? {};
      const size = pair.a.rows.length + pair.b.rows.length;
      const rewards = [
        ...getFacts(a).columns.reward.pick(pair.a.rows),
        ...getFacts(b).columns.reward.pick(pair.b.rows),
      ];
      return { ...unknownFacts, group, size, rewards, pair: { from, to, a: inA, b: inB, difference } };
    }),
    async readRow(facts) {
      const { pair } = sorted[facts.group] ?? {};
      const { prompt, key } = pair ? readPairPromptAndKey([a, b], pair, groupBy) : { prompt: "", key: null };
      return { ...facts, prompt, key: pairing.name === undefined ? key : formatKeyText(pair?.name) };
    },
    async readContent(group) {
      const { members, exceptions, trajectories } = await readPair(group);
      const position = members[0]?.position ?? { file: "", line: 1 };
      const common = countCommonMessages(trajectories);
      return { position, isReadable: true, members, exceptions, common, findings: [], command: null };
    },
    readTrajectories: async (group) => (await readPair(group)).trajectories.map(({ bytes }) => bytes.toString("utf8")),
  };
};

type Store = GroupReader<GroupFacts>;

const unknownFacts = {
  ...{ file: "", untrainable: null, rules: [], mean: null, spread: null, failures: 0, truncated: 0 },
  ...{ step: null, parts: null, finish: null, toolErrors: null },
};

/** The trajectories of a prompt can be in several groups. */
const readPool = async (input: ViewInput, dataset: Dataset, pool: Pool | undefined) => {
  const rows = new Set(pool?.rows);
  const members: GroupContent["members"][number][] = [];
  const trajectories: SourceTrajectory[] = [];
  const exceptions: string[] = [];
  const failed = pool && rows.size === 0 ? dataset.groups.groupOf(pool.first.part) : -1;
  for (let group = 0; group < dataset.groups.count && (rows.size > members.length || group <= failed); group++) {
    const own = dataset.groups.isValid(group) ? dataset.groups.rowsOf(group) : [];
    if (group !== failed && !own.some((row) => rows.has(row))) continue;
    const content = await readGroupContent({ ...input, dataset }, group);
    const texts = await readGroupTrajectories(dataset, group);
    exceptions.push(...content.exceptions);
    for (const [at, row] of own.entries()) {
      const [member, trajectory] = [content.members[at], texts[at]];
      if (!rows.has(row) || !member || !trajectory) continue;
      members.push(member);
      trajectories.push(trajectory);
    }
  }
  return { members, trajectories, exceptions };
};
