/** Makes the input of the benches from a seed: groups of four trajectories, one on a line, no two alike. */
import { closeSync, openSync, writeSync } from "node:fs";

/** Lines that are made word by word; the others repeat them with trajectories' numbers of their own. */
const wordedBytes = 2 ** 25;

/** Digits of a trajectory's own number, which stands behind the point of one of its metrics. */
const digits = 12;

/** Writes lines of about `lineBytes` until the file has at least `bytes`; gives its size. */
export const writeGroups = (path, { bytes, lineBytes = 4096, seed = 1 }) => {
  const random = randomFrom(seed);
  const words = Array.from({ length: 2000 }, () => wordOf(random));
  const pattern = [];
  while (pattern.length === 0 || pattern.length * lineBytes < Math.min(bytes, wordedBytes)) {
    pattern.push(groupOf(random, { words, lineBytes }));
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

/** A generator of numbers from 0 to 1 (mulberry32): the same for the same seed, everywhere. */
export const randomFrom = (seed) => {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const wordOf = (random) =>
  Array.from({ length: 2 + Math.floor(random() * 9) }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join(
    "",
  );

const groupOf = (random, { words, lineBytes }) => {
  const trajectories = Array.from({ length: 4 }, () =>
    trajectoryOf(random, { words, characters: lineBytes / 4 - 520 }),
  );
  return `${JSON.stringify({ trajectories })}\n`;
};

const trajectoryOf = (random, { words, characters }) => {
  const text = (length) => {
    const said = [];
    for (let made = 0; made < length; made += (said.at(-1)?.length ?? 0) + 1) {
      said.push(words[Math.floor(random() * words.length)]);
    }
    return said.join(random() < 0.1 ? '\n"' : " ");
  };
  const share = Math.max(characters, 80) / 4;
  return {
    messages_and_choices: [
      { role: "system", content: text(share) },
      { role: "user", content: text(share) },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content: text(share), refusal: null } },
      { role: "user", content: text(share / 2) },
      { finish_reason: "stop", index: 0, message: { role: "assistant", content: text(share / 2), refusal: null } },
    ],
    reward: Math.round(random() * 1000) / 1000,
    metrics: { turns: 2, correct: random() < 0.5, seconds: numberMark },
    metadata: { task: words[Math.floor(random() * words.length)], attempt: Math.floor(random() * 9) },
    logs: [],
  };
};
