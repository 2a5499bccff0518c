import { expect, it } from "vitest";
import { openSubjects } from "../../../src/rollouts/dataset/locate.ts";
import type { Dataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import { defaultStrictness } from "../../../src/rollouts/rules/rules.ts";
import { filesOf, read } from "../../support/inputs.ts";

/** A trajectory of `turns` messages, of which the last one has an unknown role. */
const rollout = (reward: number, turns: number, more: object = {}) => ({
  messages_and_choices: ["user", "tool", "ann"].slice(-turns).map((role) => ({ role, content: "a" })),
  ...{ reward, ...more },
});

/** Returns the rule, group, trajectory and message of each problem. */
const listSubjects = (dataset: Dataset) => {
  const findSubject = openSubjects(dataset);
  return dataset.scan.problems.sorted().flatMap((problem) => {
    const { group, trajectory, message } = findSubject(problem) ?? {};
    return /role|type|field|shapes/.test(problem.rule) ? `${problem.rule} ${[group, trajectory, message]}` : [];
  });
};

it("a problem belongs to a message of a trajectory, in arrays and in groups of lines", async () => {
  const array = [[rollout(1, 1), rollout(2, 3)], [rollout(3, 1)], [rollout(4, 1), rollout(6, 2)]];
  const [a, b] = [{ k: "a" }, { k: "b" }];
  const flat = [
    rollout(7, 1, a),
    rollout(8, 1, b),
    rollout(9, 2, a),
    rollout(5, 3, a),
    { ...rollout(1, 1, b), reward: "" },
  ];
  const files = filesOf(
    JSON.stringify([{}, ...array.map((trajectories) => ({ trajectories }))]),
    flat.map((one) => JSON.stringify(one)).join("\n"),
  );
  const missing = Array(2).fill("missing-field 0,0,");
  const ofArray = ["1,0,0", "1,1,2", "2,0,0", "3,0,0", "3,1,1"];
  const ofLines = ["4,0,0", "5,0,0", "4,1,1", "4,2,2"];
  const roles = [...ofArray, ...ofLines].map((subject) => `unknown-role ${subject}`);
  const dataset = await read(files, { groupBy: "k" });
  expect(listSubjects(dataset)).toEqual([...missing, ...roles, "wrong-type 5,1,", "mixed-shapes ,,"]);
});

it.each(["A", "\ufeffA", "\nA", "A\nA"])(
  "a problem in an element of an array has its line and column (row %$)",
  async (form) => {
    const one = { messages_and_choices: [{ role: "assistant", content: "a" }], reward: 1, logs: ["é😀"] };
    const text = form.replaceAll(
      "A",
      JSON.stringify([one, one, one].map((trajectory) => ({ trajectories: [trajectory] }))),
    );
    const { scan } = await read(filesOf(text), { strictness: defaultStrictness });
    const found = scan.problems.sorted().filter(({ rule }) => rule === "duplicate-trajectory");
    const starts = text
      .replace("\ufeff", "")
      .split("\n")
      .flatMap((line, at) => {
        return Array.from(line.matchAll(/\{"messages/g), ({ index }) => [at + 1, index + 1]);
      });
    expect(found.map(({ line, column }) => [line, column])).toEqual(starts.slice(1));
  },
);
