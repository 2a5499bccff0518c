import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runHere } from "../support/here.ts";
import { openAgent } from "./agent.ts";

const canary = "CANARY 7f3a";

interface Rollout {
  readonly prompt?: string;
  readonly reward?: number | string;
  readonly step?: number | string;
}

/** Makes a line whose texts all have the canary. */
const lineOf = ({ prompt = "", reward = 1, step = 1 }: Rollout) => {
  const call = { id: "1", type: "function", function: { name: canary, arguments: `"${canary}"` } };
  const messages = [
    { role: "user", content: `${canary} ${prompt}` },
    { finish_reason: "stop", index: 0, message: { role: "assistant", content: canary, tool_calls: [call] } },
    { role: "tool", tool_call_id: "1", content: `Error: ${canary}` },
    { finish_reason: canary, index: 0, message: { role: "assistant", content: canary } },
  ];
  const trajectory = { messages_and_choices: messages, reward, group_id: `${canary} ${prompt}`, metadata: { step } };
  return `${JSON.stringify(trajectory)}\n`;
};

const rootWith = (files: Readonly<Record<string, readonly Rollout[]>>) => {
  const root = mkdtempSync(join(tmpdir(), "root-"));
  for (const [name, lines] of Object.entries(files)) writeFileSync(join(root, name), lines.map(lineOf).join(""));
  return root;
};

const runs = {
  "a.jsonl": [{ prompt: "x" }, { prompt: "y", reward: 0.5, step: 2 }, { prompt: "z", step: canary }],
  "b.jsonl": [
    { prompt: "y", reward: 0 },
    { prompt: "x", reward: 0.25 },
    { prompt: "z", reward: canary },
  ],
};

const callIn = async (root: string, name: string, sent: Readonly<Record<string, unknown>>) => {
  const { call } = await openAgent({ args: ["--root", root] });
  const { value, text, isError } = await call(name, sent);
  expect(text).not.toContain(canary);
  expect(text).not.toMatch(/\/proc|root-/);
  return { value, isError };
};

describe("the tool stats", () => {
  it("gives the numbers of the command, without the texts of rollouts", async () => {
    const root = rootWith(runs);
    const { value } = await callIn(root, "stats", { file: ["a.jsonl"], by: "step", k: ["1"] });
    const { stdout } = await runHere(["stats", join(root, "a.jsonl"), "--k", "1", "--json"]);
    const { reward, solved, turns } = JSON.parse(stdout);
    expect(value).toMatchObject({ groups: 3, reward, solved, turns });
    expect(value).not.toHaveProperty("notes");
    expect(value).toMatchObject({
      finish_reasons: [{ name: "[text omitted]", trajectories: 3 }, { name: null }],
      tools: [{ name: "[text omitted]", calls: 3 }],
      by: [{ value: 1 }, { value: 2 }, { value: "[text omitted]" }],
      total: 3,
    });
  });

  it("names the files of --by file, and the errors of invalid groups", async () => {
    const root = rootWith(runs);
    const { value, isError } = await callIn(root, "stats", { file: ["a.jsonl", "b.jsonl"], by: "file" });
    expect({ value, isError }).toMatchObject({
      value: {
        groups: 5,
        by: [{ value: "a.jsonl" }, { value: "b.jsonl" }],
        problems: [{ file: "b.jsonl", line: 3, rule: "wrong-type" }],
      },
      isError: false,
    });
  });

  it("omits the ways of a hint that need an option which the tool lacks", async () => {
    const lines = Array.from({ length: 10_001 }, (_, step) => ({ prompt: `${step}`, step }));
    const { value } = await callIn(rootWith({ "many.jsonl": lines }), "stats", { file: ["many.jsonl"], by: "step" });
    expect(value).toMatchObject({ error: { code: "usage", hint: "choose a key with fewer values" } });
  });

  it.each([{ where: "reward > 0.5" }, { each: "trajectory" }, { sort: ["reward"] }, { reward_from: "x" }])(
    "has no parameter that shows a value (row %$)",
    async (option) => {
      const { isError } = await callIn(rootWith(runs), "stats", { file: ["a.jsonl"], ...option });
      expect(isError).toBe(true);
    },
  );
});

describe("the tool compare", () => {
  it("gives the differences of the command, and the positions of the changed prompts", async () => {
    const root = rootWith(runs);
    const { value } = await callIn(root, "compare", { a: "a.jsonl", b: "b.jsonl" });
    const { stdout } = await runHere(["compare", join(root, "a.jsonl"), join(root, "b.jsonl"), "--json"]);
    const { reward, pass } = JSON.parse(stdout);
    for (const name of ["key", "prompt"]) expect(value).not.toHaveProperty(["changed", 0, name]);
    expect(value).toMatchObject({
      paired: 2,
      reward,
      pass,
      changed: [
        { difference: -0.75, at_a: "a.jsonl:1", at_b: "b.jsonl:2" },
        { difference: -0.5, at_a: "a.jsonl:2", at_b: "b.jsonl:1" },
      ],
      problems: [{ file: "b.jsonl", line: 3 }],
      total: 2,
    });
  });

  it("gives the pages of all changed prompts", async () => {
    const prompts = Array.from({ length: 25 }, (_, at) => String(at));
    const files = {
      "a.jsonl": prompts.map((prompt) => ({ prompt })),
      "b.jsonl": prompts.map((prompt) => ({ prompt, reward: 0 })),
    };
    const { value } = await callIn(rootWith(files), "compare", { a: "a.jsonl", b: "b.jsonl", limit: 10, offset: 20 });
    expect(value).toMatchObject({ changed: { length: 5 }, total: 25, next_offset: null });
  });
});
