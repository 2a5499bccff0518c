/** Generates the input of the benches from a seed. */
import { closeSync, openSync, writeSync } from "node:fs";

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

/** Returns a group of one short trajectory that is identified by its reward. */
export const groupOf = (reward) =>
  `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"}],"reward":${reward}}]}\n`;

const times = (count, make) => Array.from({ length: count }, (_, at) => make(at));

const world = [
  ...["Ελλάδα", "tab\there", "naïve", '"quoted"', "Straße", "back\\slash", "line\nbreak", "데이터", "12.5", "<b>"],
  ...["🚀", "👩‍🚀", "résumé", "東京", "ó", "&", "ticket", "policy", "the", "result"],
];

const openTexts = (seed) => {
  const random = randomFrom(seed);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const words = times(5000, () => times(2 + Math.floor(random() * 8), () => pick(letters)).join(""));
  const prose = (size) => {
    const said = [];
    for (let length = 0; length < size; length += said.at(-1).length + 1) said.push(pick(words));
    return said.join(" ");
  };
  const [long, short] = [times(400, () => prose(3700)), times(4000, () => prose(200))];
  const scripts = times(400, (at) => times(110 + (at % 24), () => pick(world)).join(" "));
  const texts = { long, short, script: scripts, word: words };
  return { random, prose, next: (kind) => pick(texts[kind]) };
};

const user = (content) => ({ role: "user", content });
const choice = (content, { logprobs = null, reason = "stop", calls } = {}) => {
  const message = { role: "assistant", content, ...(calls && { tool_calls: calls }) };
  return { finish_reason: reason, index: 0, logprobs, message };
};
const callOf = (at, q) => [
  { id: `c${at}`, type: "function", function: { name: "search", arguments: JSON.stringify({ q }) } },
];
const toolResult = (at, content) => ({ role: "tool", tool_call_id: `c${at}`, content });

const parameters = { type: "object", properties: { q: { type: "string" } } };
const tools = [{ type: "function", function: { name: "search", description: "find", parameters } }];
const filler = "The quick answer is long enough to be like a real one, with numbers such as 12.5 and words. ".repeat(
  40,
);

const agentOf = ({ next }, group, at, body) => ({
  messages_and_choices: [
    user(`task ${group} ${body}`),
    choice(null, { reason: "tool_calls", calls: callOf(at, next("word")) }),
    toolResult(at, next("short")),
    choice(`done ${group}.${at} ${next("short")}`),
  ],
  tools,
  reward: at % 2,
  metadata: { task_id: `m-${group}` },
});

const tokenOf = ({ next, random }) => {
  const token = next("word");
  return { token, bytes: [...Buffer.from(token)], logprob: -random(), top_logprobs: [] };
};

const sampledTurn = (texts) => {
  const content = times(120, () => tokenOf(texts));
  return choice(content.map(({ token }) => token).join(""), { logprobs: { content, refusal: null } });
};

const searchTurn = ({ next }, turn) => [
  choice(next("script"), { reason: "tool_calls", calls: callOf(turn, next("script")) }),
  toolResult(turn, next("script")),
];

/** Each kind makes the trajectories of a group from its number. */
const makers = {
  /** Two messages of 3.7 kB. */
  text(texts, group) {
    const prompt = `${group} ${texts.next("long")}`;
    return times(4, (at) => ({
      messages_and_choices: [user(prompt), choice(`${group}.${at} ${texts.next("long")}`)],
      reward: texts.random(),
      metrics: { a: texts.random() },
    }));
  },
  /** 0.7 kB, with metrics and metadata. */
  small(texts, group) {
    const start = [{ role: "system", content: "You are a careful agent." }, user(`${group} ${texts.next("short")}`)];
    return times(4, (at) => ({
      messages_and_choices: [...start, choice(`${group}.${at} ${texts.next("short")}`)],
      reward: texts.random(),
      metrics: { acc: texts.random(), len: 1 + Math.floor(texts.random() * 500) },
      metadata: { step: 3 },
    }));
  },
  /** Four sampled turns with 120 log probabilities. */
  lp(texts, group) {
    const prompt = user(`${group} ${texts.next("short")}`);
    return times(4, () => {
      const turns = times(4, (turn) => [sampledTurn(texts), ...(turn < 3 ? [user("go on")] : [])]);
      return { messages_and_choices: [prompt, ...turns.flat()], reward: texts.random() };
    });
  },
  /** Equal long prompts, with keys and tools. No warning. */
  quiet: (texts, group) => times(4, (at) => agentOf(texts, group, at, filler)),
  /** Tools and short texts. */
  plain: (texts, group) => times(4, (at) => agentOf(texts, group, at, "")),
  /** Lines of 100 kB in many scripts, with escapes, and with several warnings. */
  warned: (texts, group) =>
    times(4, (at) => ({
      messages_and_choices: [
        { role: "developer", content: texts.next("script") },
        user(`${group}.${at} ${texts.next("script")}`),
        ...times(8, (turn) => searchTurn(texts, turn)).flat(),
        choice(texts.next("script"), { reason: "length" }),
      ],
      reward: texts.random(),
      initial_policy_version: group % 7,
      final_policy_version: (group % 7) + (at % 2),
      ...(at > 0 && { tools }),
    })),
};

/** Megabytes of each kind with the scale 1. */
export const kinds = { text: 400, small: 170, lp: 170, quiet: 170, plain: 170, warned: 170 };

/** Writes groups until the file has at least `bytes`. Returns its size. */
const writeLines = (path, { bytes, seed }, make) => {
  const texts = openTexts(seed);
  const file = openSync(path, "w");
  let size = 0;
  for (let group = 0; size < bytes; group++)
    size += writeSync(file, `${JSON.stringify({ trajectories: make(texts, group) })}\n`);
  closeSync(file);
  return size;
};

export const writeKind = (path, kind, scale = 1) =>
  writeLines(path, { bytes: kinds[kind] * 1e6 * scale, seed: 5 }, makers[kind]);

/** Bytes of four trajectories without the text whose length varies. */
const structureBytes = 4000;

/** Writes lines of at least 4 kB: groups of agents with metrics. */
export const writeGroups = (path, { bytes, lineBytes = 4096, seed = 1 }) =>
  writeLines(path, { bytes, seed }, (texts, group) => {
    const body = texts.prose(Math.max(1, (lineBytes - structureBytes) / 4));
    return times(4, (at) => {
      const metrics = { turns: 2, seconds: texts.random() };
      return { ...agentOf(texts, group, at, body), metrics };
    });
  });
