import { describe, expect, it } from "vitest";
import { filesOf } from "../../support/inputs.ts";
import { document, line } from "./document.ts";

describe("rollcall check", () => {
  const one = line(1);
  it("suggests how to fix wrong nesting", async () => {
    const cases = [
      [`{"split":"a","trajectory_groups":[${one}]}`, "wrap the trajectory in a group"],
      [`{"trajectories":${one}}`, '"trajectories": [{…}'],
      [`{"split":"a","trajectory_groups":{"trajectories":[${one}]}}`, '"trajectory_groups": [{…}'],
      [`{"split":"a","trajectory_groups":[[{"trajectories":[${one}]}]]}`, "remove one pair of brackets"],
      [`[[{"trajectories":[${one}]}]]`, "remove one pair of brackets"],
      ['{"trajectories":[[]]}', "remove one pair of brackets"],
      ['{"trajectories":[["a","b"]]}', "remove one pair of brackets"],
    ] as const;
    const files = filesOf(...cases.map(([text]) => text));
    const problems = (await document(files)).document.problems as readonly {
      file: string;
      message: string;
      advice: string;
    }[];
    for (const [at, [text, advice]] of cases.entries()) {
      const first = problems.find(({ file }) => file === files[at]);
      expect({ text, ...first }).toMatchObject({ text, advice: expect.stringContaining(advice) });
      expect(first?.message).not.toMatch(/^ /);
    }
  });
  it("reports a missing brace at the start of a document once, and in every line", async () => {
    const cases = [
      [JSON.stringify({ trajectories: [JSON.parse(one)] }, null, 2).slice(2), 1],
      // rollcall reads this document in two blocks.
      [JSON.stringify({ trajectories: Array(9000).fill(JSON.parse(one)) }, null, 2).slice(2), 1],
      ['  "split": "a",\n  "trajectory_groups": [\n    {\n', 1],
      [`${one.slice(1)}\n${one.slice(1)}\n`, 2],
    ] as const;
    const files = filesOf(...cases.map(([text]) => text));
    const problems = (await document(files)).document.problems as readonly Readonly<Record<string, unknown>>[];
    for (const [at, [, count]] of cases.entries()) {
      expect(problems.filter(({ file }) => file === files[at])).toEqual(
        Array.from({ length: count }, (_, before) =>
          expect.objectContaining({ line: before + 1, rule: "json-syntax" }),
        ),
      );
    }
  });

  it.each([
    [1e-12, ["zero-variance-group"]],
    [2e-12, []],
  ])("decides if rewards with a difference of %d train, in a group on one or two lines", async (apart, expected) => {
    const turn = '{"role":"assistant","content":"a"}';
    const pair = [0, apart].map(
      (reward) => `{"messages_and_choices":[${turn}],"reward":${reward},"group_id":"a","logs":["${reward}"]}`,
    );
    for (const text of [pair.join("\n"), `{"trajectories":[${pair.join(",")}]}`]) {
      const problems = (await document(filesOf(text))).document.problems as readonly { rule: string }[];
      expect(problems.map(({ rule }) => rule).filter((rule) => rule === "zero-variance-group")).toEqual(expected);
    }
  });

  it.each([0, 61, 62, 63, 64, 200])("suggests a key whose values differ only after %i characters", async (length) => {
    const answer = { finish_reason: "stop", index: 0, message: { role: "assistant", content: "a" } };
    const lines = [0, 1, 0].map((id, reward) => {
      const messages_and_choices = [{ role: "user", content: `q${id}` }, answer];
      return JSON.stringify({ messages_and_choices, reward, prompt_id: `${"x".repeat(length)}${id}` });
    });
    const problems = (await document(filesOf(lines.join("\n")))).document.problems as readonly { advice: string }[];
    expect(problems.filter(({ advice }) => advice.includes("--group-by prompt_id"))).not.toEqual([]);
  });

  it("does not suggest --group-by, which has no effect, for groups", async () => {
    const groups = [1, 2, 1].map((id) => `{"trajectories":[${line(id, `,"prompt_id":${id}`)}]}`).join("\n");
    const { problems, notes } = (await document(filesOf(groups))).document as Readonly<Record<string, unknown>>;
    expect(JSON.stringify(notes)).toMatch(/each group|one trajectory/);
    expect(JSON.stringify([problems, notes])).not.toContain("--group-by");
  });

  it("compares the final policy versions of a group, if trajectories also have initial ones", async () => {
    const group = (versions: readonly (readonly [initial: number, final: number])[]) =>
      `{"trajectories":[${versions
        .map(([initial, final], at) => line(at, `,"initial_policy_version":${initial},"final_policy_version":${final}`))
        .join(",")}]}`;
    for (const [first, second, isMixed] of [
      [[1, 3], [2, 3], false],
      [[1, 2], [1, 3], true],
    ] as const) {
      const { problems } = (await document(filesOf(group([first, second])))).document;
      const rules = (problems as readonly { rule: string }[]).map(({ rule }) => rule);
      expect([first, second, rules.includes("mixed-steps")]).toEqual([first, second, isMixed]);
    }
  });

  const calling = (...ids: readonly string[]) =>
    `{"role":"assistant","tool_calls":[${ids.map((id) => `{"id":"${id}","function":{"name":"find","arguments":"{}"}}`)}]}`;
  const nameless = '{"role":"tool","content":"x"}';
  const last = '{"role":"assistant","content":"done"}';
  it.each<[what: string, messages: readonly string[], unanswered: readonly string[]]>([
    ["each without its id", [calling("a", "b"), nameless, nameless, last], []],
    ["one of them missing", [calling("a", "b"), nameless, last], ["messages_and_choices.0.tool_calls.1"]],
    ["one with null", [calling("a"), '{"role":"tool","tool_call_id":null,"content":"x"}', last], []],
    ["one with an empty id", [calling("a"), '{"role":"tool","tool_call_id":"","content":"x"}', last], []],
    [
      "one without its id after another",
      [calling("a", "b"), '{"role":"tool","tool_call_id":"a","content":"x"}', nameless, last],
      [],
    ],
    ["no call of a tool", [nameless, calling("a"), calling("b")], ["messages_and_choices.1.tool_calls.0"]],
    ["a call without an id", [calling("a", ""), nameless, last], []],
    ["two calls of one id", [calling("a", "a"), nameless, last], ["messages_and_choices.0.tool_calls.1"]],
  ])("assigns results without ids to the oldest open calls, and reports that once: %s", async (_, messages, calls) => {
    const [file = ""] = filesOf(`{"messages_and_choices":[${messages}],"reward":1}`);
    const problems = (await document([file])).document.problems as readonly {
      rule: string;
      path: readonly string[];
    }[];
    expect(problems.filter(({ rule }) => rule === "missing-tool-result").map(({ path }) => path.join("."))).toEqual(
      calls,
    );
    expect(problems.map(({ rule }) => rule)).toContain("missing-tool-call-id");
  });
});
