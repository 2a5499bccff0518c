/** Compares two inputs, and reads the trajectories of a prompt in both. */

import { locatePart } from "../rollouts/dataset/locate.ts";
import { readPairPromptAndKey } from "../rollouts/dataset/prompt-text.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { formatKeyText } from "../rollouts/index/group-key.ts";
import { type Comparison, compareDatasets } from "../rollouts/stats/compare.ts";
import { getFacts } from "../rollouts/stats/read-facts.ts";
import { Breaks, sortWithBreaks } from "../system/breaks.ts";
import type { GroupFacts, GroupReader } from "./answers.ts";
import * as content from "./group-content.ts";

type Pool = ReturnType<Comparison["readPair"]>["a"];

/** Returns a reader whose groups are the pairs. @throws errors of reading, `input-changed`; the signal's reason */
export const openRuns = async (
  { pass, inputOptions: { groupBy } }: content.ViewInput,
  { store, runs: { read, explain } }: { store: Store; runs: content.ComparableRuns },
  signal: AbortSignal,
): Promise<Store> => {
  const datasets = await read();
  const { a, b } = datasets;
  const comparison = await compareDatasets(a, b, { pairBy: undefined, pass, tries: [], signal });
  const { changes, readPair, readKey, pairing, reward, only_a, only_b, transitions } = comparison;
  const size = ({ means }: (typeof changes)[number]) => (means ? Math.abs(means.difference) : -1);
  const sorted = await sortWithBreaks(changes, (one, other) => size(other) - size(one), new Breaks(signal));
  return {
    ...store,
    comparison: { reward, only_a, only_b, transitions, ...(await explain(comparison, datasets)) },
    count: sorted.length,
    groups: sorted.map(({ from, to, means, pair }, group) => {
      const pools = readPair(pair);
      const [rowsOfA, rowsOfB] = [pools.a.rows, pools.b.rows];
      const rewards = [...getFacts(a).reward.pick(rowsOfA), ...getFacts(b).reward.pick(rowsOfB)];
      const { a: inA = null, b: inB = null, difference = null } = means ?? {};
      const size = rowsOfA.length + rowsOfB.length;
      return { ...unknownFacts, group, size, rewards, pair: { from, to, a: inA, b: inB, difference } };
    }),
    async readRow(facts) {
      const change = sorted[facts.group];
      const pair = change && readPair(change.pair);
      const { prompt, key } = pair ? readPairPromptAndKey([a, b], pair, groupBy) : { prompt: "", key: null };
      const shownKey = pairing.name === undefined ? key : formatKeyText(change && readKey(change.pair));
      return { ...facts, ...content.sanitizePrompt({ prompt, key: shownKey }) };
    },
    async readGroup(group) {
      const pair = sorted[group] && readPair(sorted[group].pair);
      const sides = pair ? [await readPool(a, pair.a, "a"), await readPool(b, pair.b, "b")] : [];
      const trajectories = sides
        .flatMap((side) => side.trajectories)
        .map(({ member, ...read }, at) => ({ ...read, member: { ...member, at } }));
      return await content.composeGroup(trajectories, "", {
        position: trajectories[0]?.member.position ?? locatePart(a, pair?.a.first.part ?? 0),
        allRewards: null,
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
  const found: content.ReadTrajectory[] = [];
  const exceptions: string[] = [];
  const failed = rows.length === 0 ? groups.groupOf(first.part) : -1;
  for (let group = 0; group < groups.count && (wanted.size > found.length || group <= failed); group++) {
    const own = groups.isValid(group) ? groups.rowsOf(group) : [];
    if (group !== failed && !own.some((row) => wanted.has(row))) continue;
    const trajectories = await content.readTrajectories(dataset, group);
    found.push(...trajectories.filter((_, at) => wanted.has(own[at] ?? -1)));
    exceptions.push(...content.readRest(dataset, group).exceptions);
  }
  const trajectories = found.map(({ member, ...read }, at) => {
    return { ...read, member: { ...member, run, name: `${run}, trajectory ${at + 1}` } };
  });
  return { trajectories, exceptions };
};
