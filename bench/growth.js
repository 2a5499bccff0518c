/**
 * Measures that the time of a run grows linearly with its input: `node bench/growth.js [case]`. Each case has twice as
 * many records the second time.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeArchive } from "./archive.js";
import { groupOf } from "./input.js";
import { environment, newFolder, printMachine, processorMs, report } from "./rounds.js";

const only = process.argv[2] ?? "";
const folder = newFolder();
const env = environment(folder);

/** Each case has a number of records, and prepares them and returns a command. */
const cases = {
  "files of one line": [
    1500,
    (count) => {
      const many = join(folder, `one-line-${count}`);
      mkdirSync(many);
      for (let at = 0; at < count; at++) writeFileSync(join(many, `${at}.jsonl`), groupOf(at));
      return { words: ["check", many, "--split", "train"] };
    },
  ],
  "members of an archive": [
    10_000,
    async (count) => {
      const file = join(folder, `members-${count}.eval`);
      const header = JSON.stringify({ version: 2, status: "success", eval: { task: "bench", model: "m" } });
      const messages = ["user", "assistant"].map((role) => ({ role, content: "one", source: "generate" }));
      const sample = { epoch: 1, input: "q", target: "t", messages, scores: { match: { value: 1 } } };
      const members = Array.from({ length: count }, (_, id) => [
        `samples/${id}_epoch_1.json`,
        JSON.stringify({ id, ...sample, output: { model: "m", choices: [] } }),
      ]);
      await writeArchive(file, [["header.json", header], ...members]);
      return { words: ["check", file, "--split", "train", "--reward-from", "scores.match.value"] };
    },
  ],
  "completions of one row": [
    8000,
    (count) => {
      const file = join(folder, `row-${count}.jsonl`);
      const completions = Array.from({ length: count }, (_, at) => `answer ${at}`);
      writeFileSync(file, JSON.stringify({ prompt: "q", completions, rewards: completions.map((_, at) => at) }));
      return { words: ["check", file, "--from", "trl", "--split", "train"] };
    },
  ],
  "open calls": [
    40_000,
    async (count) => {
      const file = join(folder, `open-calls-${count}.jsonl`);
      const calls = Array.from({ length: count }, (_, at) => ({
        id: `c${at}`,
        function: { name: "f", arguments: "{}" },
      }));
      const answers = calls.toReversed().map(({ id }) => ({ role: "tool", tool_call_id: id, content: "done" }));
      const said = [{ message: { role: "assistant", content: null, tool_calls: calls } }, ...answers];
      writeFileSync(file, JSON.stringify({ trajectories: [{ messages_and_choices: said, reward: 1 }] }));
      return { words: ["stats", file, "--json"] };
    },
  ],
  "tool names": [
    40_000,
    async (count) => {
      const file = join(folder, `tool-names-${count}.jsonl`);
      const said = Array.from({ length: count }, (_, at) => ({
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "c", function: { name: `f${at}`, arguments: "" } }],
        },
      }));
      writeFileSync(file, JSON.stringify({ trajectories: [{ messages_and_choices: said, reward: 1 }] }));
      return { words: ["stats", file, "--json"] };
    },
  ],
  "metric names": [
    400,
    async (count) => {
      const file = join(folder, `metric-names-${count}.jsonl`);
      const groups = Array.from({ length: count }, (_, at) => {
        const metrics = Object.fromEntries(Array.from({ length: 100 }, (_, own) => [`m${at}-${own}`, own]));
        const said = [{ role: "user", content: `q${at}` }, { message: { role: "assistant", content: "a" } }];
        return JSON.stringify({ trajectories: [{ messages_and_choices: said, reward: at, metrics }] });
      });
      writeFileSync(file, groups.join("\n"));
      return { words: ["compare", file, file, "--json"] };
    },
  ],
  "values of --by": [
    5000,
    async (count) => {
      const file = join(folder, `values-${count}.jsonl`);
      const said = [{ message: { role: "assistant", content: "a" } }];
      const groups = Array.from({ length: count }, (_, at) =>
        JSON.stringify({ trajectories: [{ messages_and_choices: said, reward: at, metadata: { key: at } }] }),
      );
      writeFileSync(file, groups.join("\n"));
      return { words: ["stats", file, "--by", "key", "--json"] };
    },
  ],
  "records with a problem each": [
    100_000,
    (count) => {
      const file = join(folder, "problems.json");
      writeFileSync(file, `[${Array(count).fill('{"trajectories":[{"reward":"x"}]}').join(",")}]`);
      return { words: ["check", file], code: 3 };
    },
  ],
};

printMachine(1);
for (const [name, [count, prepare]] of Object.entries(cases)) {
  if (!name.includes(only)) continue;
  const times = [];
  for (const factor of [1, 2]) {
    const { words, code } = await prepare(factor * count);
    times.push(await processorMs(["bin/rollcall.js", ...words], { env, code }));
  }
  report(`${name}: ${2 * count} over ${count}`, times[1] / times[0], { max: 2.5 });
}
