/**
 * Generates the input of the benches from a seed: a different group of four trajectories on each line. The texts are
 * cut from the samples, so they have the escapes and non-ASCII characters of real trajectories.
 */
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";

/** Bytes of lines with different texts. Further lines repeat these texts with other numbers. */
const distinctBytes = 2 ** 25;

/** Digits of the number of a trajectory. A metric has this number as its fraction. */
const digits = 12;

/** Fields that cause a problem in every trajectory, or objects that seldom have the same keys. */
const findings = {
  role: () => ({ metadata: { role: "critic" } }),
  "non-ASCII key": () => ({ metadata: { größe: 1 } }),
  "other keys": (_, random) => ({ metadata: { [`note_${Math.floor(random() * 1e9)}`]: 1 } }),
  warning: () => ({ logs: [1] }),
  error: () => ({ start_time: "yesterday" }),
  "three warnings": (at) => ({ logs: [1], metadata: { nested: {} }, initial_policy_version: at }),
};

/**
 * Writes lines of about `lineBytes` until the file has at least `bytes`. With `ascii`, the file has only ASCII. With
 * `finding`, each line has such a problem. Returns the size of the file in bytes.
 */
export const writeGroups = (path, { bytes, lineBytes = 4096, seed = 1, ascii = false, finding }) => {
  const random = randomFrom(seed);
  const said = readSampleTexts(ascii);
  const pattern = [];
  while (pattern.length === 0 || pattern.length * lineBytes < Math.min(bytes, distinctBytes)) {
    pattern.push(longGroupOf(random, { said, lineBytes, more: findings[finding] ?? (() => ({})) }));
  }
  const block = Buffer.from(pattern.join(""));
  const numbers = [];
  const mark = JSON.stringify(numberMark);
  for (let at = block.indexOf(mark); at >= 0; at = block.indexOf(mark, at + 1)) numbers.push(at);
  const file = openSync(path, "w");
  let size = 0;
  let made = 0;
  while (size < bytes) {
    for (const at of numbers) block.write(`1.${String(made++).padStart(digits, "0")}`, at, "latin1");
    const end = bytes - size < block.length ? block.indexOf("\n", bytes - size - 1) + 1 : block.length;
    writeSync(file, block, 0, end);
    size += end;
  }
  closeSync(file);
  return size;
};

const numberMark = "#".repeat(digits);

/** Returns a seeded generator of numbers from 0 to 1 (mulberry32). */
export const randomFrom = (seed) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

/** Returns the texts of the samples by role, and the tool calls of the samples. */
const readSampleTexts = (ascii) => {
  const spoken = { system: "", user: "", assistant: "", tool: "" };
  const calls = [];
  for (const name of ["airline.trajectories.jsonl", "wordle.trajectories.jsonl"]) {
    for (const line of readFileSync(new URL(name, samples), "utf8").split("\n").filter(Boolean)) {
      for (const { role, content, tool_calls } of JSON.parse(line).messages_and_choices) {
        if (typeof content === "string" && role in spoken) spoken[role] += ascii ? removeNonAscii(content) : content;
        for (const call of tool_calls ?? []) calls.push(call.function);
      }
    }
  }
  return { spoken, calls };
};

/** V8 needs only half the memory for ASCII text. */
const removeNonAscii = (text) => text.replace(/[\u0080-\uffff]/g, "");

const samples = new URL("../test/samples/", import.meta.url);

/** Returns a group of one short trajectory that is identified by its reward. */
export const groupOf = (reward) =>
  `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"}],"reward":${reward}}]}\n`;

const longGroupOf = (random, { said, lineBytes, more }) => {
  const bytes = lineBytes / 4 - structureBytes;
  const prompt = promptOf(random, { said, bytes });
  const trajectories = Array.from({ length: 4 }, (_, at) => ({
    ...trajectoryOf(random, { said, bytes, prompt }),
    ...more(at, random),
  }));
  return `${JSON.stringify({ trajectories })}\n`;
};

/** Approximate bytes of a trajectory without its texts. */
const structureBytes = 770;

/** Returns a conversation with a tool call and its result. */
const cutText = (random, { said: { spoken }, bytes }, role, share) => {
  const all = spoken[role];
  const length = Math.max(32, Math.floor((bytes * share) / 1.06));
  let from = Math.floor(random() * Math.max(1, all.length - length));
  let text = "";
  for (; text.length < length; from = 0) text += all.slice(from, from + length - text.length);
  return text.toWellFormed();
};

/** The trajectories of a group begin with the same messages. */
const promptOf = (random, texts) => [
  { role: "system", content: cutText(random, texts, "system", 0.25) },
  { role: "user", content: cutText(random, texts, "user", 0.15) },
];

const trajectoryOf = (random, { prompt, ...texts }) => {
  const text = (role, share) => cutText(random, texts, role, share);
  const { calls } = texts.said;
  const { name, arguments: given } = calls[Math.floor(random() * calls.length)];
  const id = `call_${Math.floor(random() * 1e9)}`;
  return {
    messages_and_choices: [
      ...prompt,
      {
        finish_reason: "tool_calls",
        index: 0,
        message: {
          role: "assistant",
          content: null,
          tool_calls: [{ id, type: "function", function: { name, arguments: given } }],
        },
      },
      { role: "tool", tool_call_id: id, name, content: text("tool", 0.4) },
      {
        finish_reason: "stop",
        index: 0,
        message: { role: "assistant", content: text("assistant", 0.2), refusal: null },
      },
    ],
    reward: Math.round(random() * 1000) / 1000,
    metrics: { turns: 2, correct: random() < 0.5, seconds: numberMark },
    metadata: { task: name, attempt: Math.floor(random() * 9) },
    logs: [],
  };
};
