import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../../support/run.ts";
import { listening } from "../../support/server.ts";

const called = [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"a": 1}' } }];
const flatCall = [{ id: "call_1", name: "look", arguments: "{}" }];
const prompt = [
  { role: "system", content: 'Be "brief".' },
  { role: "user", content: "What is there?" },
];
const completion = [
  { role: "assistant", content: null, tool_calls: called },
  { role: "tool", tool_call_id: "call_1", content: "nothing" },
  { role: "assistant", content: "Nothing. ☃", refusal: null },
];
const said = { reward: 0.5, metrics: { turns: 2, correct: true }, task: "t", metadata: { step_s: 1 } };

/** Rows of formats that say of each by itself what becomes of it. */
const formats: Readonly<Record<string, readonly object[]>> = {
  "verifiers-v0": [
    { example_id: 1, prompt, completion, ...said, turns: 2, is_truncated: false },
    { example_id: "a", prompt, completion: [{ role: "assistant", content: "x", tool_calls: flatCall }], ...said },
    { example_id: 2, prompt: "q", completion: "a", answer: "4", reward: 1, graded: 0, error: null },
  ],
  trl: [
    { prompt, completion, reward: 1, group_id: 7, step: 3 },
    { prompt: "q", completion: "a", reward: 0, note: "n" },
    { prompt: "q", completions: ["a", "b"], rewards: [0, 1], kept: [1, 2] },
  ],
  "openai-chat": [
    { messages: [...prompt, ...completion], reward: 1, id: "r", tools: [] },
    { messages: [...prompt, { role: "assistant", content: "a" }], reward: 2, prompt_id: "p", metrics: { a: 1 } },
  ],
  sharegpt: [
    {
      conversations: [
        { from: "human", value: "q" },
        { from: "function_call", value: '{"name": "f", "arguments": {}}' },
        { from: "observation", value: "o" },
        { from: "gpt", value: "a" },
      ],
      reward: 1,
    },
  ],
  openrlhf: [{ input: "q", output: "a", reward: 0.25, kept: "k" }],
  skyrl: [{ input_prompt: "q", output_response: "a", score: [0, 1], stop_reason: "stop" }],
  "nemo-rl": [{ content: ["q", "a", "b", "c"], rewards: 1, input_lengths: 3, idx: 4 }],
};

/** What stands in place of a value: the usual of its kind, and what is read in another way. */
const texts = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 12 }),
  fc.constantFrom("user", "assistant", "tool", "gpt", "length", "call_1", '{"name": "f"}', "{}", '4\n\\"'),
);
const numbers = fc.constantFrom(
  "0",
  "-0",
  "1.0",
  "1e2",
  "9007199254740993",
  "0.1000000000000000055511151231257827",
  "2",
);
const others = fc.constantFrom(
  "null",
  "true",
  "false",
  "[]",
  "{}",
  '"text"',
  "3",
  '[{"role": "user", "content": "x"}]',
);

/** What is drawn for rows: numbers from 0 to 1, and what stands in place of values. */
interface Draws {
  readonly number: () => number;
  readonly of: (texts: fc.Arbitrary<string>) => string;
  /** How often a value becomes of another kind, or is gone. */
  readonly damage: number;
}

/** A row as text: of some values something else is said. */
const spelled = (value: unknown, draw: Draws): string => {
  const chance = draw.number();
  if (chance < draw.damage) return draw.of(others);
  if (typeof value === "string") return JSON.stringify(chance < 0.3 ? draw.of(texts) : value);
  if (typeof value === "number") return chance < 0.5 ? draw.of(numbers) : String(value);
  if (typeof value === "boolean") return String(chance < 0.5 ? value : !value);
  if (Array.isArray(value)) {
    return `[${value.map((one) => spelled(one, draw)).join(draw.number() < 0.1 ? " , " : ",")}]`;
  }
  if (value === null || typeof value !== "object") return "null";
  const members = Object.entries(value).filter(() => draw.number() >= draw.damage);
  return `{${members.map(([key, one]) => `${JSON.stringify(key)}:${spelled(one, draw)}`).join(",")}}`;
};

/** Numbers from 0 to 1, the same for the same seed. */
const randomFrom = (seed: number) => {
  let state = seed;
  return (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
};

/** Rows of a format, of which few are built like no other. */
const rowsOf = (rows: readonly object[], { seed, damage }: { seed: number; damage: number }): readonly string[] => {
  const random = randomFrom(seed);
  const picks = new Map<fc.Arbitrary<string>, readonly string[]>();
  const of = (texts: fc.Arbitrary<string>): string => {
    const all = picks.get(texts) ?? fc.sample(texts, { numRuns: 500, seed });
    picks.set(texts, all);
    return all[Math.floor(random() * all.length)] ?? "";
  };
  const draw = { number: random, of, damage };
  return Array.from({ length: 200 }, (_, row) => spelled({ ...rows[row % rows.length] }, draw));
};

const folderWith = (rows: readonly string[]): string => {
  const folder = mkdtempSync(join(tmpdir(), "alike-"));
  writeFileSync(join(folder, "rows.jsonl"), rows.join("\n"));
  return folder;
};

/** What is sent of rows, to a service that takes nothing: where a receipt is asked for, each is looked at by itself. */
const sent = async (rows: readonly string[], { from, receipt }: { from: string; receipt: boolean }) => {
  const folder = folderWith(rows);
  const bodies: string[] = [];
  const server = createServer(async (request, response) => {
    bodies.push(Buffer.concat(await request.toArray()).toString());
    response.writeHead(400).end("{}");
  });
  const { url } = await listening(server);
  const skip = ["--on-invalid", "skip", "--rejects", "rejects.jsonl"];
  const words = ["log", "m", "rows.jsonl", "--split", "train", "--from", from, "--lossy", ...skip];
  const { code, stderr } = await runRollcall([...words, ...(receipt ? ["--receipt", "receipt.json"] : [])], {
    cwd: folder,
    env: { ...newHome(), ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key" },
  });
  const rejects = join(folder, "rejects.jsonl");
  const told = stderr.replaceAll(url, "").split("\n");
  const isSame = (line: string) => !/have no place|^\s*run: /.test(line);
  return { code, told: told.filter(isSame), bodies, rejects: existsSync(rejects) ? readFileSync(rejects, "utf8") : "" };
};

describe("rows that are built alike", () => {
  it.each(Object.keys(formats))(
    "of %s become what each becomes by itself, and so do those that are not",
    async (from) => {
      for (const [seed, damage] of [
        [1, 0],
        [2, 0.003],
        [3, 0.03],
        [Math.floor(Math.random() * 1e9), 0],
      ] as const) {
        const rows = rowsOf(formats[from] ?? [], { seed, damage });
        const byThemselves = await sent(rows, { from, receipt: true });
        expect({ seed, ...(await sent(rows, { from, receipt: false })) }).toEqual({ seed, ...byThemselves });
        if (damage === 0)
          expect(byThemselves).toMatchObject({ bodies: [expect.stringMatching(/"messages_and_choices"/)] });
      }
    },
  );

  it("are known by the ledger as each is by itself", async () => {
    const rows = Array.from({ length: 20 }, (_, at) =>
      JSON.stringify({ example_id: `e${at}`, prompt, completion, ...said, reward: at }),
    );
    const folder = folderWith(rows);
    mkdirSync(join(folder, "single"));
    for (const [at, row] of rows.entries()) writeFileSync(join(folder, "single", `${at}.jsonl`), row);
    const env = newHome();
    const logged = async (input: string) => {
      const words = ["log", "m", input, "--from", "verifiers-v0", "--split", "train", "--local", "--json", "-q"];
      const { stdout } = await runRollcall(words, { env, cwd: folder });
      return JSON.parse(stdout).groups;
    };
    expect(await logged("rows.jsonl")).toMatchObject({ logged: 20, already_logged: 0 });
    expect(await logged("single")).toMatchObject({ logged: 0, already_logged: 20 });
  });
});
