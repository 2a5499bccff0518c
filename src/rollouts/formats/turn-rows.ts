/** Joins the rows of one rollout if a writer writes a row for each turn, or refuses these rows. */
import { choice, hasCalls } from "../messages/chat.ts";
import { decideFinish } from "../messages/finish-reason.ts";
import { type Json, memberOf, rawOf } from "../messages/output-json.ts";
import { formatCanonically, readOnlyText } from "../messages/said-content.ts";
import type { Value } from "../messages/value.ts";
import type { Converter, Format, FormatRun, RecordFault, Rollout, RowTurns, SourceRecord } from "./format.ts";
import { findRolloutId } from "./row-keys.ts";

/** Rollout ids with this start belong to rows that are turns of one rollout. */
const turnsMark = "turns ";

/** Expects that all records were converted. */
export const resolveId = (id: Rollout["id"]) => (typeof id === "function" ? id() : id);

export const areTurns = (id: Rollout["id"]) => resolveId(id)?.startsWith(turnsMark) === true;

export const turnsNote = "left out a row that is a turn of a rollout, because only the last row of a rollout counts";
const unsampledNote =
  "kept earlier answers of a rollout in its prompt, because its last row does not contain these answers as sampled";

const turnFault =
  "a row of the input continues another row, so rows are turns of one rollout (add a column with the rollout's id, such as rollout_id, also if a short rollout only begins like a longer one)";
const separateNote =
  "counted a row as a rollout of its own, although another row has the same rollout id, because neither continues the other";
const lateIdFault =
  "the row has a rollout's id and earlier answers, but the first row of its file has no rollout id, so the row that sampled these answers is unknown (give each row of the file the id of its rollout)";
const outputsFault =
  "the rollout has several outputs, of which none continues the others (write all its turns to one row of openai-chat)";

type TurnRow = Omit<RecordFault, "fault"> &
  Pick<TurnDigests, "digests" | "starts"> &
  Pick<DigestedRow, "rolloutId" | "hasOutputs">;

/** The digests of all rows. A row is a turn of another one that begins with its messages and has more. */
class TurnRows {
  readonly #starts = new Set<number>();
  readonly #rows: TurnRow[] = [];
  /** The digests of whole rows that another row continues. Defined after the last row. */
  #continued: ReadonlySet<number> | undefined;

  add(record: SourceRecord, { rolloutId, hasOutputs, turns }: DigestedRow) {
    if (!turns) return;
    const { digests, starts } = turns;
    const { file, position, group = "", identity } = record;
    if (!this.#continued) {
      for (let at = 0; at < starts; at++) this.#starts.add(digests[at] ?? 0);
      this.#rows.push({ file, position, group, digests, starts, rolloutId, hasOutputs });
    }
    if (rolloutId === undefined) return;
    const findId = () => {
      const first = this.#findTurn(digests);
      if (first !== undefined) return `${turnsMark}${rolloutId} ${first}`;
      return resolveId(identity?.id) ?? `row ${position} ${file}`;
    };
    record.identity = { id: findId, changedAt: turns.size };
  }

  /** Yields undefined for a row without a fault, so that the caller can take breaks. */
  *findFaults(note: (text: string) => void): Iterable<RecordFault | undefined> {
    if (this.#findContinued().size === 0 && this.#rows.every(({ rolloutId }) => rolloutId === undefined)) return;
    const outputs = new Map<string, Set<number | undefined>>();
    for (const { rolloutId, digests } of this.#rows) {
      yield undefined;
      if (rolloutId === undefined) continue;
      const output = this.#findTurn(digests) ?? digests.at(-1);
      outputs.set(rolloutId, (outputs.get(rolloutId) ?? new Set()).add(output));
    }
    for (const row of this.#rows) {
      const { digests, rolloutId, hasOutputs } = row;
      const isTurn = this.#findTurn(digests) !== undefined;
      const hasSeveral = rolloutId !== undefined && (outputs.get(rolloutId)?.size ?? 0) > 1;
      if (hasSeveral && !hasOutputs && !isTurn) note(separateNote);
      if (rolloutId === undefined && isTurn) yield { ...row, fault: turnFault };
      else yield hasSeveral && hasOutputs ? { ...row, fault: outputsFault } : undefined;
    }
  }

  /** Returns the digest of the first row that is a turn of the same rollout. */
  #findTurn(digests: readonly number[]) {
    const continued = this.#findContinued();
    return continued.size === 0 ? undefined : digests.find((digest) => continued.has(digest));
  }

  /** Expects that all rows were added. Records that are converted again then add no rows. */
  #findContinued() {
    const listContinued = ({ digests, starts }: TurnRow) =>
      digests.slice(starts).filter((end) => this.#starts.has(end));
    this.#continued ??= new Set(this.#starts.size === 0 ? [] : this.#rows.flatMap(listContinued));
    return this.#continued;
  }
}

type DigestedRow = ReturnType<typeof digestRow>;

const digestRow = (record: SourceRecord, format: Format) => {
  const outputs = format.findOutputs?.(record);
  const rolloutId = outputs ?? findRolloutId(record.value);
  const turns = format.listTurns?.(record.value);
  return {
    rolloutId,
    hasOutputs: outputs !== undefined,
    turns: turns && digestTurns(turns, rolloutId),
  };
};

/** Joins rows that are turns of one rollout by its id. Without ids, such rows are faults. */
export const joinTurns = (converter: Converter, format: Format, note: (text: string) => void): Converter => {
  if (!format.listTurns) return converter;
  const rows = new TurnRows();
  const sampled = new Map<number, boolean>();
  const filesWithoutIds = new Set<string>();
  return {
    ...converter,
    ...(format.hasPrompts && {
      preview: (record) => {
        const isDone = converter.preview?.(record) === false;
        const { rolloutId, turns } = digestRow(record, format);
        if (turns && rolloutId !== undefined) {
          const { digests, starts, answers, earlier, isExact } = turns;
          for (const digest of digests.slice(starts)) sampled.set(digest, false);
          for (const digest of answers.slice(earlier)) sampled.set(digest, isExact);
        }
        if (rolloutId === undefined && record.position === 0) filesWithoutIds.add(record.file);
        return !isDone || !filesWithoutIds.has(record.file);
      },
    }),
    convert: (record) => {
      const row = digestRow(record, format);
      if (row.rolloutId !== undefined && filesWithoutIds.has(record.file) && row.turns?.hasAnswers)
        throw record.value.error(lateIdFault);
      if (sampled.size > 0)
        record.sampled = row.turns?.answers.slice(0, row.turns.earlier).map((digest) => sampled.get(digest));
      try {
        return converter.convert(record);
      } finally {
        rows.add(record, row);
      }
    },
    *findFaults() {
      yield* converter.findFaults?.() ?? [];
      yield* rows.findFaults(note);
    },
  };
};

/** Makes choices of the earlier answers that other rows of the rollout sampled. */
export const sampleEarlier = (run: FormatRun, turns: readonly Json[], { sampled = [] }: SourceRecord) => {
  if (sampled.every((isExact) => isExact === undefined)) return turns;
  let answers = 0;
  const complete = turns.map((turn) => {
    if (rawOf(memberOf(turn, "role") ?? null) !== '"assistant"' || sampled[answers++] !== true) return turn;
    return choice(turn, decideFinish(run, { callsTools: hasCalls(turn) }));
  });
  if (sampled.includes(false) || answers < sampled.length) run.note(unsampledNote);
  return complete;
};

interface TurnDigests {
  /** The digests of starts that can be another whole row, then those of the whole row. */
  readonly digests: readonly number[];
  /** The number of digests of starts. */
  readonly starts: number;
  /** The digests of the answers (or of lines without marks) in the prompt, then of the sampled answers. */
  readonly answers: readonly number[];
  /** The number of answers in the prompt. */
  readonly earlier: number;
  readonly hasAnswers: boolean;
  /** True if another row that has the digest of a sampled answer has the answer's text. */
  readonly isExact: boolean;
  /** Larger for a row with more turns. */
  readonly size: number;
}

/** Many templates omit the reasoning of earlier answers. */
const removeReasoning = (text: string) => (text.includes("</think>") ? text.replace(/^[\s\S]*<\/think>/, "") : text);

const digestTurns = ({ prompt = [], sampled }: RowTurns, rolloutId = ""): TurnDigests | undefined => {
  const seed = extendDigest(0, rolloutId);
  if (typeof prompt === "string" && typeof sampled === "string") return digestLines(prompt, sampled, seed);
  const before = typeof prompt === "string" ? [{ role: "user", text: prompt }] : prompt.map(toTurn);
  const own = typeof sampled === "string" ? [{ role: "assistant", text: sampled }] : sampled.map(toTurn);
  const turns = [...before, ...own];
  const last = turns.at(-1);
  if (!last) return undefined;
  let earlier = 0;
  for (const turn of before) if (isAnswer(turn)) earlier++;
  const answers: number[] = [];
  const digests: number[] = [];
  let [digest, start] = [seed, seed];
  for (const turn of turns) {
    if (answers.length > 0) digests.push(digest);
    start = digest;
    digest = extendByTurn(digest, turn);
    if (isAnswer(turn)) answers.push(digest);
  }
  const starts = digests.length;
  const brief = isAnswer(last) ? removeReasoning(last.text) : last.text;
  if (brief !== last.text) digests.push(extendByTurn(start, { ...last, text: brief }));
  digests.push(digest);
  return { digests, starts, answers, earlier, hasAnswers: earlier > 0, isExact: true, size: turns.length };
};

const maxStarts = 256;

/** Without marks, a turn ends before a line end. White space at its end does not count. */
const digestLines = (prompt: string, answer: string, seed: number): TurnDigests | undefined => {
  if (answer.trim() === "") return undefined;
  const promptLines = prompt.split("\n").length - 1;
  const earlier: number[] = [];
  let [digest, space] = [seed, ""];
  for (const [at, line] of `${prompt}${answer}`.split("\n").entries()) {
    const said = line.trimEnd();
    if (said !== "") digest = extendDigest(digest, `${space}${said}`);
    if (said !== "" && at < promptLines) earlier.push(digest);
    space = `${said === "" ? space : ""}${line.slice(said.length)}\n`;
  }
  const starts = earlier.slice(-maxStarts);
  // Another row can have the same turns as a list.
  const whole = extendByTurn(extendByTurn(seed, { role: "user", text: prompt }), { role: "assistant", text: answer });
  return {
    digests: [...starts, digest, whole],
    starts: starts.length,
    answers: [...starts, whole],
    earlier: starts.length,
    hasAnswers: false,
    isExact: true,
    size: 2 + (prompt.length + answer.length) / 2 ** 40,
  };
};

interface Turn {
  readonly role: string;
  readonly text: string;
}

const answerRoles: ReadonlySet<string> = new Set("assistant gpt model function_call tool_call agent".split(" "));

const isAnswer = (turn: Turn | undefined) => answerRoles.has(turn?.role ?? "");

/** The role changes the digest. */
const extendByTurn = (digest: number, turn: Turn) => extendDigest(digest + (isAnswer(turn) ? 2 : 1), turn.text.trim());

/** Ids and the order of keys do not count. */
const toTurn = (message: Value): Turn => {
  const role = message.textAt("role") ?? message.textAt("from") ?? "";
  const content = message.get("content") ?? message.get("value");
  const calls = message.items("tool_calls").map((call) => formatCanonically(call.get("function") ?? call));
  const text = content ? (content.text ?? readOnlyText(content.data) ?? formatCanonically(content)) : "";
  return { role, text: calls.length > 0 ? `${text}[${calls.join()}]` : text };
};

const [oddNumber, otherOddNumber] = [0x01000193, 0x9e3779b1];

/** Extends the digest of a text by more text. Millions of texts need more than 32 bits. */
export const extendDigest = (digest: number, text: string) => {
  let [low, high] = [digest | 0, Math.floor(digest / 2 ** 32) << 12];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    low = Math.imul(low ^ code, oddNumber);
    high = Math.imul(high + code, otherOddNumber);
  }
  // A digest begins with the end of another one, so the last characters must change all of its bits.
  low = Math.imul(low ^ (low >>> 15), otherOddNumber);
  return (high >>> 12) * 2 ** 32 + ((low ^ (low >>> 13)) >>> 0);
};
