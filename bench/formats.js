/**
 * Compares reading other tools' files with a plain script that uses the same libraries. The script parses and checks
 * each record (roles, contents, calls and results, rewards, metrics), sums the metrics, and writes groups with digests.
 * The script loses the spelling of numbers and the positions of problems. Times are processor times on one core.
 * `node bench/formats.js [rounds] [megabytes] [part of the name of a case]`
 */

import { once } from "node:events";
import { createReadStream, createWriteStream, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parquetWriteFile } from "hyparquet-writer";
import { writeArchive } from "./archive.js";
import { writeGroups } from "./input.js";
import { environment, newFolder, peakMb, printMachine, processorMs, report, takeTurns } from "./rounds.js";

const rounds = Number(process.argv[2] ?? 3);
const megabytes = Number(process.argv[3] ?? 170);
const chosen = process.argv[4] ?? "";
const folder = newFolder();
const env = environment(folder);
const out = join(folder, "out.jsonl");

const groups = join(folder, "groups.jsonl");
writeGroups(groups, { bytes: megabytes * 1e6 });

const linesOf = (file) => createInterface({ input: createReadStream(file, "utf8") });

/** Writes the text that `make` returns for each group. */
const writeRecords = async (file, make) => {
  const stream = createWriteStream(file);
  let at = 0;
  for await (const line of linesOf(groups))
    if (!stream.write(make(JSON.parse(line), at++))) await once(stream, "drain");
  stream.end();
  await once(stream, "finish");
  return file;
};

const messageOf = (said) => said.message ?? said;

/** Splits a trajectory's messages before the first turn of the model. */
const splitMessages = ({ messages_and_choices: said }) => {
  const messages = said.map(messageOf);
  const first = messages.findIndex(({ role }) => role === "assistant");
  return [messages.slice(0, first), messages.slice(first)];
};

const rowsOf = async () =>
  await writeRecords(join(folder, "results.jsonl"), ({ trajectories }, group) =>
    trajectories
      .map((one) => {
        const [prompt, completion] = splitMessages(one);
        const { reward, metrics } = one;
        return `${JSON.stringify({ example_id: group, prompt, completion, task: "bench", reward, metrics })}\n`;
      })
      .join(""),
  );

/** Rows of a row group. Readers load a whole row group. */
const rowsAtOnce = 1000;

const parquetOf = async () => {
  const rows = [];
  let group = 0n;
  for await (const line of linesOf(groups)) {
    for (const [at, one] of JSON.parse(line).trajectories.entries())
      rows.push({ group, at: BigInt(at), json: JSON.stringify(one) });
    group++;
  }
  const file = join(folder, "groups.parquet");
  parquetWriteFile({
    filename: file,
    columnData: [
      { name: "format_version", type: "INT32", data: rows.map(() => 2) },
      { name: "group_index", type: "INT64", data: rows.map(({ group }) => group) },
      { name: "trajectory_index", type: "INT64", data: rows.map(({ at }) => at) },
      { name: "group_json", type: "STRING", data: rows.map(() => "{}") },
      { name: "trajectory_json", type: "STRING", data: rows.map(({ json }) => json) },
    ],
    rowGroupSize: rowsAtOnce,
    kvMetadata: [{ key: "art.trajectory_parquet.version", value: "2" }],
  });
  return file;
};

/** An archive can have at most 100,000 members. */
const maxSamples = 90_000;

async function* samples() {
  yield ["header.json", JSON.stringify({ version: 2, status: "success", eval: { task: "bench", model: "m" } })];
  let [sample, count] = [0, 0];
  for await (const line of linesOf(groups)) {
    sample++;
    for (const [at, one] of JSON.parse(line).trajectories.entries()) {
      if (count++ === maxSamples) return;
      const messages = one.messages_and_choices.map(messageOf).map((message, position) => ({
        id: `${sample}-${at}-${position}`,
        ...message,
        source: message.role === "assistant" ? "generate" : "input",
      }));
      const scores = { match: { value: one.reward } };
      const record = {
        id: sample,
        epoch: at + 1,
        input: "q",
        target: "t",
        messages,
        scores,
        output: { model: "m", choices: [] },
      };
      yield [`samples/${sample}_epoch_${at + 1}.json`, JSON.stringify(record)];
    }
  }
}

const evalOf = async () => {
  const file = join(folder, "run.eval");
  await writeArchive(file, samples());
  return file;
};

/** `min` is the minimum of the script's time divided by rollcall's time. */
const cases = {
  "verifiers v0": { make: rowsOf, rival: "verifiers", min: 1 },
  "ART's Parquet": { make: parquetOf, rival: "parquet", min: 1.3 },
  "Inspect's .eval": { make: evalOf, rival: "eval", args: ["--reward-from", "scores.match.value"], min: 1 },
};

/** Writes a tau2 document with two simulations of each task. */
const documentOf = (name, role) => {
  const simulations = Array.from({ length: problemRecords }, (_, at) => ({
    id: `simulation-${at}`,
    task_id: String(at >> 1),
    trial: at % 2,
    termination_reason: "user_stop",
    reward_info: { reward: at % 2 },
    messages: [
      { role: "user", content: `question ${at >> 1}` },
      { role: "assistant", content: "answer ".repeat(100) },
      { role, content: "thanks" },
    ],
  }));
  const info = { agent_info: { llm: "m" }, environment_info: { domain_name: "bench" } };
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify({ info, tasks: [], simulations }));
  return file;
};

const problemRecords = 2000;

const compareProblems = async () => {
  const [valid, faulty] = [documentOf("valid.json", "user"), documentOf("faulty.json", "guest")];
  const check = (file) => processorMs(["bin/rollcall.js", "check", file], { env });
  const { ratio } = await takeTurns({ faulty: () => check(faulty), valid: () => check(valid) }, rounds);
  const what = `a problem in each of ${problemRecords} records of one document over none`;
  report(what, ratio("faulty", "valid"), { max: 1.5 });
};

printMachine(rounds);
if ("problems".includes(chosen)) await compareProblems();
for (const [name, { make, rival, args = [], min }] of Object.entries(cases)) {
  if (!name.includes(chosen)) continue;
  const file = await make();
  const rollcall = ["bin/rollcall.js", "check", ...args, file];
  const { ms, ratio } = await takeTurns(
    {
      check: () => processorMs(rollcall, { env }),
      script: () => processorMs(["bench/rivals.js", rival, file, out], { env }),
    },
    rounds,
  );
  const peak = await peakMb(rollcall, { env });
  console.log(
    `${name}: check ${ms("check").toFixed(0)} ms, script ${ms("script").toFixed(0)} ms, at most ${peak.toFixed(0)} MB`,
  );
  report(`${name}: the script over rollcall check`, ratio("script", "check"), { min });
  report(`${name}: memory of rollcall check in MB`, peak, { max: 400 });
  rmSync(file);
}
