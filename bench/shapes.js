/**
 * How fast `rollcall check` is, in which shape trajectories come, beside a careful script that reads the bytes, parses each
 * line and keeps what it would send: `node bench/shapes.js [rounds] [megabytes] [case]`. Times are the processor's, on one core.
 */
import { createReadStream, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { writeGroups } from "./input.js";
import { environment, holdTo, newFolder, printMachine, processorMs, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 5);
const megabytes = Number(process.argv[3] ?? 50);
const only = process.argv[4];
const folder = newFolder();
const env = environment({ HOME: folder, XDG_CONFIG_HOME: folder, XDG_DATA_HOME: folder });

const linesOf = (file) => createInterface({ input: createReadStream(file, "utf8") });

const plain = join(folder, "plain.jsonl");
writeGroups(plain, { bytes: megabytes * 1e6 });

/** Writes the groups with each trajectory changed. */
const changed = async (name, change) => {
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

/** Writes the groups by the file, seven to each. */
const many = async () => {
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

/** Writes all trajectories flat, each with the key of its group. */
const flat = async () => {
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
const document = async (name, indent, wrap) => {
  const groups = [];
  for await (const line of linesOf(plain)) groups.push(JSON.parse(line));
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(wrap(groups), null, indent));
  return [file];
};

const nulls = { tools: null, start_time: null, additional_histories: null, initial_policy_version: null };

/** What is measured: how its files are made, what `check` is told, and how many times as long the script has to take. */
const cases = {
  "groups, one a line": { make: async () => [plain], least: 1 },
  "a small file of 1.9 MB": {
    make: async () => {
      const file = join(folder, "small.jsonl");
      writeGroups(file, { bytes: 1.9e6 });
      return [file];
    },
    least: 0.4,
  },
  "many files of 30 kB": { make: many, least: 1 },
  "with tools": {
    make: async () => await changed("tools.jsonl", (one) => ({ ...one, tools: toolNames(one).map(toolOf) })),
    least: 2,
  },
  "with nulls": { make: async () => await changed("nulls.jsonl", (one) => ({ ...one, ...nulls })), least: 2 },
  "flat, by a key": { make: flat, args: ["--group-by", "prompt_id"], least: 2 },
  "a finding on every line": {
    make: async () => await changed("findings.jsonl", (one) => ({ ...one, start_time: "2026-01-01T10:00:00" })),
    least: 2,
  },
  "one pretty-printed document": {
    make: async () => await document("pretty.json", 2, (groups) => groups),
    isDocument: true,
    least: 1,
  },
  "one request on one line": {
    make: async () => await document("request.json", 0, (groups) => ({ split: "train", trajectory_groups: groups })),
    isDocument: true,
    least: 1,
  },
};

const rival = join(folder, "rival.mjs");
writeFileSync(
  rival,
  `import { readFileSync } from "node:fs";
const [whole, ...files] = process.argv.slice(2);
let bytes = 0;
for (const file of files) {
  const text = readFileSync(file);
  if (whole === "document") JSON.parse(text.toString());
  else for (let at = 0; at < text.length; ) {
    const newline = text.indexOf(10, at);
    const end = newline < 0 ? text.length : newline;
    if (end > at) JSON.parse(text.toString("utf8", at, end));
    at = end + 1;
  }
  bytes += text.length;
}
console.log(bytes);
`,
);

printMachine(rounds);
for (const [name, { make, args = [], isDocument = false, least }] of Object.entries(cases)) {
  if (only !== undefined && !name.includes(only)) continue;
  const files = await make();
  const measured = (words) => processorMs(words, { env });
  const { ms, ratio } = await takeTurns(
    {
      check: () => measured(["bin/rollcall.js", "check", "--split", "train", ...args, ...files]),
      script: () => measured([rival, isDocument ? "document" : "lines", ...files]),
    },
    rounds,
  );
  console.log(`${name}: rollcall check ${ms("check").toFixed(0)} ms, script ${ms("script").toFixed(0)} ms`);
  holdTo(`${name}: the script over rollcall check`, ratio("script", "check"), { least });
}
