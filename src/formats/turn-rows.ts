/** Joins the rows of one rollout if a writer writes a row for each turn, or refuses these rows. */
import { hash } from "node:crypto";
import { removeTurnEnd, splitTemplate } from "../chat-marks.ts";
import { stepHolders } from "../index/step-columns.ts";
import type { Value } from "../messages/value.ts";
import type { Converter, Format, RecordFault, RowTurns, SourceRecord } from "./format.ts";

/** The columns that name a rollout. AReaL's `sample_idx` counts turns, and a `run_id` names many rollouts. */
const rolloutColumns =
  "trial_name rollout_id trajectory_id traj_id traj_uid episode_id session_id rollout_idx rollout_index".split(" ");

const findRolloutId = (row: Value) => {
  for (const holder of [[], ...stepHolders.map((name) => [name])])
    for (const column of rolloutColumns) {
      const value = row.get(...holder, column);
      if (value?.isScalar) return `${column} ${value.raw}`;
    }
  return undefined;
};

/** Rollout ids with this start belong to rows that are turns of one rollout. */
const turnsMark = "turns ";

export const areTurns = (id: string | (() => string) | undefined) =>
  (typeof id === "function" ? id() : id)?.startsWith(turnsMark) === true;

export const turnsNote = "left out a row that is a turn of a rollout, because a later row contains its messages";

const turnFault =
  "a row of the input continues another row, so rows are turns of one rollout (add a column with the rollout's id, such as rollout_id, also if a short rollout only begins like a longer one)";

const noTurns: TurnDigests = { digests: [], size: 0 };

interface Row extends Omit<RecordFault, "fault"> {
  readonly prefixes: readonly number[];
}

/** A row is a turn of another row if the other row begins with all of its messages and has more. */
export const joinTurns = (converter: Converter, { listTurns }: Pick<Format, "listTurns">): Converter => {
  if (!listTurns) return converter;
  const ends = new Set<number>();
  const prefixes = new Set<number>();
  const rows: Row[] = [];
  let isComplete = false;
  const isContinued = (digest: number | undefined) => digest !== undefined && ends.has(digest) && prefixes.has(digest);
  const addRow = (record: SourceRecord) => {
    const rolloutId = findRolloutId(record.value);
    const turns = listTurns(record.value);
    const { digests, size } = turns ? digestTurns(turns, rolloutId) : noTurns;
    const end = digests.at(-1);
    if (end === undefined) return;
    if (!isComplete) {
      ends.add(end);
      for (const digest of digests.slice(0, -1)) prefixes.add(digest);
    }
    const { file, position, group = "", identity } = record;
    if (rolloutId === undefined) {
      if (!isComplete) rows.push({ file, position, group, prefixes: digests });
      return;
    }
    const id = () => {
      isComplete = true;
      const first = digests.find((digest) => ends.has(digest));
      if (isContinued(first)) return `${turnsMark}${rolloutId} ${first}`;
      return (typeof identity?.id === "function" ? identity.id() : identity?.id) ?? `row ${position} ${file}`;
    };
    record.identity = { id, changedAt: size };
  };
  return {
    ...converter,
    convert: (record) => {
      try {
        return converter.convert(record);
      } finally {
        addRow(record);
      }
    },
    findFaults: () => {
      isComplete = true;
      const turns = rows.filter((row) => row.prefixes.some(isContinued));
      return [...(converter.findFaults?.() ?? []), ...turns.map((row) => ({ ...row, fault: turnFault }))];
    },
  };
};

interface TurnDigests {
  /** The digests of the starts of the row that another row can have as a whole, and of the whole row. */
  readonly digests: readonly number[];
  /** Larger for a row with more turns. */
  readonly size: number;
}

const digestTurns = ({ messages, prompt, answer }: RowTurns, seed = ""): TurnDigests => {
  const user = { role: "user", text: prompt ?? "" };
  const before = prompt === undefined ? [] : (splitTemplate(prompt) ?? (messages.length > 0 ? [user] : undefined));
  if (!before) return digestTexts({ prompt, answer }, seed);
  const turns = [
    ...before,
    ...messages.map(toTurn),
    ...(answer === undefined ? [] : [{ role: "assistant", text: answer }]),
  ];
  const digests: number[] = [];
  let digest = computeDigest(seed);
  for (const [at, { role, text }] of turns.entries()) {
    const isAnswer = answerRoles.test(role);
    digest = computeDigest(`${digest} ${isAnswer} ${removeTurnEnd(text).trim()}`);
    // Results of tools can follow the last answer.
    if (isAnswer || at === turns.length - 1) digests.push(digest);
  }
  return { digests, size: turns.length };
};

const digestBytes = 6;

const computeDigest = (text: string) => hash("sha256", text, "buffer").readUIntBE(0, digestBytes);

const answerRoles = /^(?:assistant|gpt|model|function_call|tool_call|agent)$/;

/** Ids and the order of keys do not count. */
const toTurn = (message: Value) => {
  const role = message.textAt("role") ?? message.textAt("from") ?? "";
  const content = message.get("content") ?? message.get("value");
  const calls = message.items("tool_calls").map((call) => call.get("function")?.data ?? call.data);
  const text = content?.isText ? content.text : JSON.stringify(content?.data);
  return { role, text: `${text}${calls.length > 0 ? JSON.stringify(calls) : ""}` };
};

const [fnvOffset, fnvPrime] = [0x811c9dc5, 0x01000193];
const maxLengthBits = 2 ** 20;
const maxStarts = 256;

/** Without marks, a turn ends before a line end. */
const digestTexts = ({ prompt = "", answer = "" }: Pick<RowTurns, "prompt" | "answer">, seed: string): TurnDigests => {
  if (answer.trim() === "") return { digests: [], size: 0 };
  const text = `${seed}${prompt}${answer}`;
  const promptEnd = seed.length + prompt.length;
  const digests: number[] = [];
  let [hashed, atLastWord, lengthOfWords] = [fnvOffset, fnvOffset, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === newline && at > seed.length && at < promptEnd) digests.push(toNumber(atLastWord, lengthOfWords));
    hashed = Math.imul(hashed ^ code, fnvPrime);
    if (code > space) [atLastWord, lengthOfWords] = [hashed, at];
  }
  return { digests: [...digests.slice(-maxStarts), toNumber(atLastWord, lengthOfWords)], size: text.length };
};

const [newline, space] = [0x0a, 0x20];

const toNumber = (digest: number, length: number) => (length % maxLengthBits) * 2 ** 32 + (digest >>> 0);
