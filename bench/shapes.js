/**
 * Compares `rollcall check` and `log` in each shape of input with a careful script that parses each line and sends the
 * bytes: `node bench/shapes.js [rounds] [megabytes] [case]`. Times are processor times on one core.
 */
import { createReadStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { writeArchive } from "./archive.js";
import { groupOf, writeGroups } from "./input.js";
import { environment, newFolder, openService, printMachine, processorMs, report, run, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 5);
const megabytes = Number(process.argv[3] ?? 170);
const only = process.argv[4];
const folder = newFolder();
const sink = await openService("sink");
const env = environment(folder, { ROLLCALL_BASE_URL: sink.address });

const linesOf = (file) => createInterface({ input: createReadStream(file, "utf8") });

const plain = join(folder, "plain.jsonl");
writeGroups(plain, { bytes: megabytes * 1e6 });

/** Writes the groups with each trajectory changed. */
const writeChanged = async (name, change) => {
  const lines = [];
  for await (const line of linesOf(plain)) {
    lines.push(JSON.stringify({ trajectories: JSON.parse(line).trajectories.map(change) }));
  }
  const file = join(folder, name);
  writeFileSync(file, `${lines.join("\n")}\n`);
  return [file];
};

const toolNames = ({ messages_and_choices: said }) => [
  ...new Set(said.flatMap(({ message }) => (message?.tool_calls ?? []).map((call) => call.function.name))),
];

const toolOf = (name) => ({
  type: "function",
  function: {
    name,
    description: "What the tool does, and when an agent should call it.",
    parameters: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  },
});

/** Writes seven groups to each file. */
const writeMany = async () => {
  mkdirSync(join(folder, "many"));
  const files = [];
  let lines = [];
  const flush = () => {
    files.push(join(folder, "many", `${String(files.length).padStart(6, "0")}.jsonl`));
    writeFileSync(files.at(-1), `${lines.join("\n")}\n`);
    lines = [];
  };
  for await (const line of linesOf(plain)) if (lines.push(line) === 7) flush();
  if (lines.length > 0) flush();
  return files;
};

/** Writes one trajectory per line, with the key of its group. */
const writeFlat = async () => {
  const lines = [];
  let group = 0;
  for await (const line of linesOf(plain)) {
    group++;
    for (const one of JSON.parse(line).trajectories) lines.push(JSON.stringify({ ...one, prompt_id: `p${group}` }));
  }
  const file = join(folder, "flat.jsonl");
  writeFileSync(file, `${lines.join("\n")}\n`);
  return [file];
};

/** Writes all groups as one document. */
const writeDocument = async (name, indent, wrap) => {
  const groups = [];
  for await (const line of linesOf(plain)) groups.push(JSON.parse(line));
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(wrap(groups), null, indent));
  return [file];
};

const nulls = { tools: null, start_time: null, additional_histories: null, initial_policy_version: null };

/** Writes one trajectory with many tool calls, in one message or in one message each. */
const writeCalls = async (count, together) => {
  const calls = Array.from({ length: count }, (_, at) => ({
    id: `call_${at}`,
    type: "function",
    function: { name: `tool_${at}`, arguments: "{}" },
  }));
  const messages = together
    ? [{ role: "assistant", content: null, tool_calls: calls }]
    : calls.map((call) => ({ role: "assistant", content: null, tool_calls: [call] }));
  const answers = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "done" }));
  const said = [...messages, ...answers, { role: "assistant", content: "a" }];
  const tools = Array.from({ length: count }, (_, at) => toolOf(`other_tool_${at}`));
  const file = join(folder, `calls-${count}.jsonl`);
  writeFileSync(file, JSON.stringify({ trajectories: [{ messages_and_choices: said, tools, reward: 1 }] }));
  return [file];
};

/**
 * `min` and `log` are the minimum of the script's time divided by the time of `rollcall check` and `log`. The script
 * has no checks, digests, metrics and ledger.
 */
const cases = {
  "groups, one a line": { make: async () => [plain], log: 1, min: 1 },
  "a small file of 1.9 MB": {
    make: async () => {
      const file = join(folder, "small.jsonl");
      writeGroups(file, { bytes: 1.9e6 });
      return [file];
    },
    min: 0.4,
  },
  "many files of 30 kB": { make: writeMany, min: 1 },
  "with tools": {
    make: async () => await writeChanged("tools.jsonl", (one) => ({ ...one, tools: toolNames(one).map(toolOf) })),
    log: 2,
    min: 2,
  },
  "with nulls": {
    make: async () => await writeChanged("nulls.jsonl", (one) => ({ ...one, ...nulls })),
    log: 2,
    min: 2,
  },
  "flat, by a key": { make: writeFlat, args: ["--group-by", "prompt_id"], log: 2, min: 2 },
  "a warning on every line": {
    make: async () => await writeChanged("warnings.jsonl", (one) => ({ ...one, start_time: "2026-01-01T10:00:00" })),
    log: 2,
    min: 2,
  },
  "a call without an answer on every line": {
    make: async () =>
      await writeChanged("calls.jsonl", (one) => ({
        ...one,
        messages_and_choices: one.messages_and_choices.filter(({ role }) => role !== "tool"),
      })),
    log: 2,
    min: 2,
  },
  "2,000 calls of tools that are not listed": { make: async () => await writeCalls(2000, false), min: 0.5 },
  "80,000 calls at once": { make: async () => await writeCalls(80_000, true), min: 0.5 },
  "one pretty-printed document": {
    make: async () => await writeDocument("pretty.json", 2, (groups) => groups),
    isDocument: true,
    min: 1,
  },
  "one request on one line": {
    make: async () =>
      await writeDocument("request.json", 0, (groups) => ({ split: "train", trajectory_groups: groups })),
    isDocument: true,
    min: 1,
  },
};

const ledger = join(folder, "ledger.db");

/** Removes the ledger, because logged groups are not sent again, and measures `log`. */
const measureLog = async (words) => {
  for (const end of ["", "-journal"]) rmSync(`${ledger}${end}`, { force: true });
  return await processorMs(["bin/rollcall.js", "log", "m", "--split", "train", "--ledger", ledger, ...words], { env });
};

printMachine(rounds);
for (const [name, { make, args = [], isDocument = false, log, min }] of Object.entries(cases)) {
  if (only !== undefined && !name.includes(only)) continue;
  const files = await make();
  const measured = (...words) => processorMs(words, { env });
  const script = (...words) => measured("bench/rivals.js", ...words);
  const programs = {
    check: () => measured("bin/rollcall.js", "check", "--split", "train", ...args, ...files),
    script: () => script(isDocument ? "document" : "lines", ...files),
    ...(log === undefined
      ? {}
      : {
          log: () => measureLog([...args, ...files]),
          sender: () => script("send", `${sink.address}/v1/preview/models/m/log`, ...files),
        }),
  };
  const { ms, ratio } = await takeTurns(programs, rounds);
  const told = Object.keys(programs).map((program) => `${program} ${ms(program).toFixed(0)} ms`);
  console.log(`${name}: ${told.join(", ")}`);
  report(`${name}: the script over rollcall check`, ratio("script", "check"), { min });
  if (log !== undefined) report(`${name}: the sender over rollcall log`, ratio("sender", "log"), { min: log });
  for (const file of files) if (file !== plain) rmSync(file);
}
sink.close();

/** Writes a catalog whose models all have other facts. `version` changes each price. */
const writeCatalog = (name, count, version) => {
  const data = Array.from({ length: count }, (_, at) => ({
    id: `maker/model-${at}`,
    pricing: { prompt: `0.00000${version}`, completion: "0.00001" },
    supported_sampling_parameters: ["seed", `parameter_${at}`],
  }));
  writeFileSync(join(folder, name), JSON.stringify({ data }));
  return join(folder, name);
};

/** Accepts groups of `rollcall log`. */
const catalogService = createServer((request, response) => {
  request.resume().on("end", () => response.end("{}"));
});
await new Promise((resolve) => catalogService.listen(0, "127.0.0.1", resolve));
const address = `http://127.0.0.1:${catalogService.address().port}`;
const ownEnv = environment(folder, { ROLLCALL_BASE_URL: address, ROLLCALL_ROUTER_PROVIDER: "bench" });
const rollcall = async (...words) => await run([process.execPath, "bin/rollcall.js", ...words], { env: ownEnv });

/** These inputs have no comparable script. Each case prepares `count` records and returns a command. */
const growing = {
  "differences of saved catalogs": [
    15_000,
    (count) => {
      const [older, newer] = [1, 2].map((version) => writeCatalog(`catalog-${count}-${version}.json`, count, version));
      return { words: ["catalog", "diff", older, "--with", newer, "--exit-code"], code: 10 };
    },
  ],
  "requests that the ledger forgets": [
    4000,
    async (count) => {
      const [file, own] = [join(folder, "requests.jsonl"), join(folder, `ledger-${count}.db`)];
      writeFileSync(file, Array.from({ length: count }, (_, at) => groupOf(at)).join(""));
      const words = ["--split", "train", "--ledger", own, "--max-request-size", "1KiB", "--allow", "split-requests"];
      await rollcall("log", "m", file, ...words);
      return { words: ["ledger", "forget", "--ledger", own, "--model", "m", "--yes"] };
    },
  ],
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
  "diff of catalogs": [
    15_000,
    (count) => ({
      words: ["catalog", "diff", ...[1, 2].map((version) => writeCatalog(`models-${version}.json`, count, version))],
    }),
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

for (const [name, [count, prepare]] of Object.entries(growing)) {
  if (only !== undefined && !name.includes(only)) continue;
  const times = [];
  for (const factor of [1, 2]) {
    const { words, code } = await prepare(factor * count);
    times.push(await processorMs(["bin/rollcall.js", ...words], { env: ownEnv, code }));
  }
  report(`${name}: ${2 * count} over ${count}`, times[1] / times[0], { max: 2.5 });
}
catalogService.close();
