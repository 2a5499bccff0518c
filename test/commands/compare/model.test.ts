import fc from "fast-check";
import { describe, expect } from "vitest";
import { runHere } from "../../support/here.ts";
import { filesOf } from "../../support/inputs.ts";
import { itHolds } from "../../support/property.ts";

/** A tool call has no result if `result` is missing. Rewards of 1e999 are not finite. */
const rollout = fc.record({
  reward: fc.constantFrom("0", "1", "0.5", "1e999"),
  metrics: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.integer({ min: -4, max: 4 })),
  finish: fc.constantFrom("stop", "length", "content_filter"),
  calls: fc.array(fc.tuple(fc.constantFrom("f", "g"), fc.constantFrom("ok", "Error: no", undefined)), { maxLength: 2 }),
});
type Rollout = typeof rollout extends fc.Arbitrary<infer Value> ? Value : never;

const group = fc.record({
  task: fc.constantFrom("t0", "t1", "t2", "t3"),
  rollouts: fc.array(rollout, { maxLength: 3 }),
  exceptions: fc.nat(2),
});
type Group = typeof group extends fc.Arbitrary<infer Value> ? Value : never;

const toLine = ({ task, rollouts, exceptions }: Group) => {
  const trajectories = rollouts.map(({ reward, metrics, finish, calls }) => {
    const toCall = ([name]: Rollout["calls"][number], at: number) => ({
      id: `${at}`,
      function: { name, arguments: "" },
    });
    const toChoice = (message: object) => ({ index: 0, message: { role: "assistant", content: "", ...message } });
    const choice = { finish_reason: "tool_calls", ...toChoice({ tool_calls: calls.map(toCall) }) };
    const end = { finish_reason: finish, ...toChoice({}) };
    const results = calls.flatMap(([, content], at) =>
      content ? { role: "tool", tool_call_id: `${at}`, content } : [],
    );
    const said = JSON.stringify([{ role: "user", content: task }, choice, ...results, end]);
    return `{"messages_and_choices":${said},"reward":${reward},"metrics":${JSON.stringify(metrics)}}`;
  });
  const failed = JSON.stringify(Array(exceptions).fill("killed"));
  return `{"trajectories":[${trajectories}],"exceptions":${failed},"metadata":{},"task_id":"${task}"}\n`;
};

const meanOf = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
const isKnown = (value: number) => Number.isFinite(value);
/** The share of sets of `k` tries that have only unsolved tries. */
const shareOfFailures = (tries: number, unsolved: number, k: number): number =>
  k === 0 ? 1 : (unsolved / tries) * shareOfFailures(tries - 1, unsolved - 1, k - 1);

const readTask = (groups: readonly Group[], task: string, as: number | undefined) => {
  const own = groups.filter((each) => each.task === task);
  const rollouts = own.flatMap((each) => each.rollouts);
  const exceptions = own.reduce((sum, each) => sum + each.exceptions, 0);
  const known = rollouts.map(({ reward }) => Number(reward)).filter(isKnown);
  const rewards = [...known, ...Array<number>(as === undefined ? 0 : exceptions).fill(as ?? 0)];
  const solved = rewards.filter((reward) => reward >= 1).length;
  const state = solved === 0 ? "never" : solved === rewards.length ? "always" : "sometimes";
  return { rollouts, rewards, solved, isAbsent: rollouts.length + exceptions === 0, state };
};
type Task = ReturnType<typeof readTask>;

const isTruncated = ({ finish }: Rollout) => finish === "length";
const hasError = ({ calls }: Rollout) => calls.some(([, result]) => result?.startsWith("Error"));

describe("a comparison by a key", () => {
  itHolds(
    "has the numbers that a plain model computes",
    fc.asyncProperty(
      fc.tuple(fc.array(group, { minLength: 1, maxLength: 6 }), fc.array(group, { minLength: 1, maxLength: 6 })),
      fc.constantFrom(undefined, 0, 1),
      async (sides, as) => {
        const options = as === undefined ? [] : ["--exceptions-as", String(as)];
        const files = filesOf(...sides.map((side) => side.map(toLine).join("")));
        const { stdout } = await runHere([
          "compare",
          ...files,
          "--pair-by",
          "task_id",
          "--k",
          "1,2",
          "--json",
          ...options,
        ]);
        const document = JSON.parse(stdout);
        const tasks = ["t0", "t1", "t2", "t3"].map((task) => sides.map((side) => readTask(side, task, as)));
        const hasFailed = ({ isAbsent, rollouts }: Task) => !isAbsent && rollouts.length === 0;
        const only = (at: 0 | 1) => tasks.filter((task) => task[at]?.rollouts.length && task[1 - at]?.isAbsent).length;
        const failed = (at: 0 | 1) => tasks.filter((task) => task[at] && hasFailed(task[at])).length;
        const common = tasks.filter((task) => task.every(({ isAbsent }) => !isAbsent));
        const pairs = common.filter((task) => as !== undefined || !task.some(hasFailed));
        const compare = (read: (task: Task) => number, of = pairs) => {
          const known = of.map((task) => task.map(read)).filter((values) => values.every(isKnown));
          const [a = 0, b = 0] = [0, 1].map((at) => meanOf(known.map((values) => values[at] ?? 0)));
          return known.length === 0
            ? undefined
            : { a: expect.closeTo(a, 9), b: expect.closeTo(b, 9), pairs: known.length };
        };
        const { a, b, paired, only_a, only_b, failed_a, failed_b } = document;
        const counts = sides.map((side) => ({
          groups: side.length,
          trajectories: side.flatMap(({ rollouts }) => rollouts).length,
          exceptions: side.reduce((sum, { exceptions }) => sum + exceptions, 0),
        }));
        expect([a, b, paired, only_a, only_b, failed_a, failed_b]).toEqual([
          ...counts,
          pairs.length,
          only(0),
          only(1),
          failed(0),
          failed(1),
        ]);
        const reward = compare(({ rewards }) => meanOf(rewards));
        expect(document.reward).toEqual(reward ? expect.objectContaining(reward) : null);
        expect(
          document.pass.map(({ a, b, pairs }: { a: number | null; b: number | null; pairs: number }) => ({
            a,
            b,
            pairs,
          })),
        ).toEqual(
          [1, 2].map((k) => {
            const share = ({ rewards, solved }: Task) =>
              rewards.length < k ? Number.NaN : 1 - shareOfFailures(rewards.length, rewards.length - solved, k);
            return compare(share) ?? { a: null, b: null, pairs: 0 };
          }),
        );
        const metrics = ["a", "b", "c"].flatMap((name) => {
          const mean = compare(({ rollouts }) => meanOf(rollouts.flatMap((each) => each.metrics[name] ?? [])));
          return mean ? [expect.objectContaining({ name, ...mean })] : [];
        });
        expect(document.metrics ?? []).toEqual(metrics);
        const stateOf = (task: Task) => (task.rewards.length > 0 ? task.state : hasFailed(task) ? "failed" : "");
        const changes = common.map((task) => task.map(stateOf)).filter((states) => !states.includes(""));
        for (const { from, to, prompts } of document.transitions)
          expect(changes.filter((states) => states.join() === `${from},${to}`)).toHaveLength(prompts);
        const sum = document.transitions.reduce((all: number, { prompts }: { prompts: number }) => all + prompts, 0);
        expect(sum).toBe(changes.length);
        const sampled = pairs.filter((task) => task.every(({ rollouts }) => rollouts.length > 0));
        for (const { name, a, b } of document.finish_reasons ?? []) {
          const share = ({ rollouts }: Task) =>
            rollouts.filter(({ finish }) => finish === name).length / rollouts.length;
          expect({ a, b, pairs: sampled.length }).toEqual(compare(share, sampled));
        }
        for (const tool of document.tools ?? []) {
          const callsOf = ({ rollouts }: Task) =>
            rollouts.flatMap(({ calls }) => calls.filter(([name]) => name === tool.name));
          const calls = compare((task) => callsOf(task).length / task.rollouts.length, sampled);
          expect([tool.a.calls, tool.b.calls]).toEqual([calls?.a, calls?.b]);
          for (const [at, side] of ["a", "b"].entries()) {
            const shares = sampled.flatMap((task) => {
              const results = callsOf(task[at] ?? fail()).flatMap(([, result]) => result ?? []);
              return results.length === 0 ? [] : results.filter((result) => result !== "ok").length / results.length;
            });
            expect(tool[side].errors).toEqual(shares.length === 0 ? null : expect.closeTo(meanOf(shares), 9));
          }
        }
        const rewarded = pairs.filter((task) => task.every(({ rewards }) => rewards.length > 0));
        for (const cause of document.causes ?? []) {
          const isOfCause = (each: Rollout) =>
            ({ truncated: isTruncated(each), tool_errors: !isTruncated(each) && hasError(each) })[String(cause.name)];
          const share = ({ rollouts, rewards }: Task) =>
            rollouts.filter((each) => isKnown(Number(each.reward)) && isOfCause(each)).length / rewards.length;
          const shares = cause.name === "other" ? undefined : compare(share, rewarded);
          if (shares) expect([cause.a.share, cause.b.share]).toEqual([shares.a, shares.b]);
        }
      },
    ),
    { quick: 5, slow: 80 },
  );
});

const fail = () => {
  throw new Error("a pair has two sides");
};
