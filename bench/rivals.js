/**
 * The scripts that rollcall is compared with: `node bench/rivals.js <which> …`. `parse` is a plain script. The others
 * convert the files of other tools.
 */
import { hash } from "node:crypto";
import { createReadStream, readFileSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { gunzipSync } from "node:zlib";

const [which, ...args] = process.argv.slice(2);

const turnOf = (message) =>
  message.role === "assistant"
    ? { finish_reason: message.tool_calls?.length > 0 ? "tool_calls" : "stop", index: 0, message }
    : message;

const roles = new Set(["system", "developer", "user", "assistant", "tool"]);

const mustBe = (isSo, what) => {
  if (!isSo) throw new Error(`not as it should be: ${what}`);
};

/** Checks that the service accepts a trajectory and that a trainer can read it. */
const checkTrajectory = (trajectory) => {
  const { messages_and_choices, reward, metrics = {} } = trajectory;
  mustBe(Number.isFinite(reward), "reward");
  for (const value of Object.values(metrics))
    mustBe(typeof value === "number" || typeof value === "boolean", "metrics");
  const calls = new Set();
  for (const one of messages_and_choices) {
    const { role, content, tool_calls = [], tool_call_id } = one.message ?? one;
    mustBe(roles.has(role), "role");
    mustBe(typeof content === "string" || Array.isArray(content) || tool_calls.length > 0, "content");
    mustBe(role !== "tool" || calls.has(tool_call_id), "tool_call_id");
    for (const call of tool_calls) {
      mustBe(typeof call.function.name === "string" && typeof call.function.arguments === "string", "tool_calls");
      calls.add(call.id);
    }
  }
  return trajectory;
};

/** Groups trajectories by key, writes groups and digests, and sums rewards and metrics. */
const writeGrouped = async (file, trajectories) => {
  const groups = new Map();
  const sums = new Map();
  for await (const [key, trajectory, source] of trajectories) {
    const { reward, metrics = {} } = checkTrajectory(trajectory);
    for (const [name, value] of [["reward", reward], ...Object.entries(metrics)]) {
      sums.set(name, (sums.get(name) ?? 0) + Number(value));
    }
    const own = groups.get(key) ?? { texts: [], digests: [] };
    groups.set(key, own);
    own.texts.push(JSON.stringify(trajectory));
    own.digests.push(hash("sha256", source, "hex"));
  }
  const all = [...groups.values()];
  writeFileSync(file, all.map(({ texts }) => `{"trajectories":[${texts.join(",")}]}\n`).join(""));
  writeFileSync(`${file}.known`, all.map(({ digests }) => `${hash("sha256", digests.join())}\n`).join(""));
  console.log(Object.fromEntries(sums));
};

const rivals = {
  verifiers: async ([file, out]) => {
    const bytes = readFileSync(file);
    const rows = function* () {
      for (let at = 0, end = 0; at < bytes.length; at = end + 1) {
        end = bytes.indexOf(10, at);
        if (end < 0) end = bytes.length;
        const row = bytes.subarray(at, end);
        const { example_id, prompt, completion, reward, metrics, task } = JSON.parse(row.toString());
        const messages_and_choices = [...prompt, ...completion.map(turnOf)];
        yield [example_id, { messages_and_choices, reward, metrics, metadata: { example_id, task } }, row];
      }
    };
    await writeGrouped(out, rows());
  },
  parquet: async ([file, out]) => {
    const { asyncBufferFromFile, parquetReadObjects } = await import("hyparquet");
    const { decompress } = await import("fzstd");
    const compressors = {
      GZIP: (input) => gunzipSync(input),
      ZSTD: (input, length) => decompress(input, new Uint8Array(length)),
    };
    const rows = await parquetReadObjects({
      file: await asyncBufferFromFile(file),
      columns: ["group_index", "trajectory_json"],
      compressors,
    });
    await writeGrouped(
      out,
      rows.map(({ group_index, trajectory_json: text }) => [group_index, JSON.parse(text), text]),
    );
  },
  eval: async ([file, out]) => {
    const { openPromise } = await import("yauzl");
    const archive = await openPromise(file);
    const samples = async function* () {
      for await (const entry of archive.eachEntry()) {
        if (!entry.fileName.startsWith("samples/")) continue;
        const chunks = [];
        for await (const chunk of await archive.openReadStreamPromise(entry)) chunks.push(chunk);
        const sample = Buffer.concat(chunks);
        const { id, messages, scores } = JSON.parse(sample.toString());
        const messages_and_choices = messages.map((one) => (one.source === "generate" ? turnOf(one) : one));
        yield [id, { messages_and_choices, reward: scores.match.value }, sample];
      }
    };
    await writeGrouped(out, samples());
  },
  parse: async ([file]) => {
    for await (const line of createInterface({ input: createReadStream(file) })) JSON.parse(line);
  },
};
await rivals[which](args);
