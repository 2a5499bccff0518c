import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";

const turns = [
  { role: "user", content: "q" },
  { role: "assistant", content: "a" },
];
const rollout = (columns: object, group_id: unknown = null) => ({
  ...{ messages_and_choices: turns, reward: 1, group_id },
  ...columns,
});

/** Returns the lines of the groups with different steps, and the messages. */
const check = async (lines: readonly object[]) => await checkText(lines.map((line) => JSON.stringify(line)).join("\n"));

const checkText = async (stdin: string) => {
  const { stdout } = await runHere(["check", "--json", "--fields", "problems"], { stdin });
  const problems: { rule: string; line: number; message: string }[] = JSON.parse(stdout).problems;
  return problems.flatMap(({ rule, line, message }) => (rule === "mixed-steps" ? [{ line, message }] : []));
};

const inGroups = (groups: readonly (readonly object[])[]) =>
  groups.map((all) => ({ trajectories: all.map((one) => rollout(one)) }));
const inLines = (groups: readonly (readonly object[])[]) =>
  groups.flatMap((all, at) => all.map((one) => rollout(one, `${at}`)));
const forms = [
  ["of one line", inGroups],
  ["of several lines", inLines],
] as const;

const names =
  "step global_step iteration train_step training_step _step rollout_step gen_step policy_version model model_name model_id weight_version model_version tail_version checkpoint globalStep trainStep trainingStep rolloutStep genStep policyVersion weightVersion modelVersion tailVersion train/global_step trainer.step a.b/c.step a/b.c/step";
const otherNames =
  "agent.model a/model_name modelName epoch train/epoch steps my_step Step step_ step/x checkpoint.path version run";

describe.each(forms)("a group %s", (_, toLines) => {
  it.each<[holder: string, toRow: (columns: object) => object]>([
    ["the trajectory", (columns) => columns],
    ...["metadata", "info", "extra_info"].map((key): [string, (columns: object) => object] => [
      key,
      (columns) => ({ [key]: columns }),
    ]),
  ])("has mixed steps if a column of %s with the name of a step differs", async (_holder, toRow) => {
    const differing = (name: string) => [1, 2].map((value) => toRow({ [name]: value }));
    const problems = await check(toLines(names.split(" ").map(differing)));
    const found = problems.map(({ message }) => message.match(/`(.*?)`/)?.[1]);
    expect(found).toEqual(names.split(" "));
    expect(await check(toLines(otherNames.split(" ").map(differing)))).toEqual([]);
  });

  it.each<[columns: string, mixed: number]>([
    ['{"step":"a"} {"step":"b"}', 1],
    ['{"step":true} {"step":false}', 1],
    ['{"step":1} {"step":"1"}', 1],
    ['{"step":12} {"step":21}', 1],
    ['{"step":1} {} {"step":2}', 1],
    ['{"step":1,"global_step":2} {"step":2,"global_step":1}', 1],
    ['{"step":1,"global_step":2} {"step":3,"global_step":2}', 1],
    ['{"step":1} {"metadata":{"step":2}}', 1],
    ['{"step":1,"metadata":{},"info":{"k":1}} {"step":2,"metadata":{},"info":{"k":1}}', 1],
    ['{"step":1} {"metadata":{"step":1}} {}', 0],
    ['{"step":1,"global_step":2} {"global_step":2,"step":1}', 0],
    ['{"step":1} {"global_step":2}', 0],
    ['{"epoch":1} {"epoch":2} {"epoch":2}', 1],
    ['{"train/epoch":1} {"train/epoch":2} {"train/epoch":3}', 0],
    ['{"initial_policy_version":1} {"initial_policy_version":2}', 1],
    ['{"initial_policy_version":1,"step":3} {"initial_policy_version":2,"step":3}', 0],
    ['{"step":1} {"step":null} {"step":{"of":2}} {"step":[3]}', 0],
  ])("has mixed steps if two trajectories differ in a scalar of the same name: %s", async (columns, mixed) => {
    expect(await check(toLines([columns.split(" ").map((one) => JSON.parse(one))]))).toHaveLength(mixed);
  });

  it.each<[values: string, mixed: string | undefined]>([
    ["1 1.0 1e0", undefined],
    [String.raw`"a/é" "a\/é" "\u0061/\u00e9"`, undefined],
    ["1 1.0 2.50", "1, 2.5"],
    ["9007199254740992 9007199254740993", "9007199254740992, 9007199254740993"],
  ])("compares steps as values: %s", async (values, mixed) => {
    const all = values.split(" ");
    const written = toLines([all.map((_value, at) => ({ step: `step ${at}` }))]).map((line) => JSON.stringify(line));
    const text = written.join("\n").replaceAll(/"step (\d)"/g, (_match, at) => all[Number(at)] ?? "");
    const messages = (await checkText(text)).map(({ message }) => message.split("`step`: ")[1]);
    expect(messages).toEqual(mixed === undefined ? [] : [mixed]);
  });
});
