/** Finds rows that are parts of one rollout, and records of one rollout that repeat each other. */
import { formatCanonically, readOnlyText } from "../../conversation/prompt.ts";
import type { Value } from "../../json/value.ts";
import { appendTo, listByKey } from "../../text/lists.ts";
import type { Format, SourceRecord } from "./format.ts";
import type { ConvertedGroup, WrittenRollout } from "./group-lines.ts";
import { findTurnNumber } from "./row-keys.ts";

interface RolloutRow {
  readonly rollout: WrittenRollout;
  /** The id in the row, which names a rollout only within its group, file and step. */
  readonly id: string | undefined;
  readonly scope: string;
  readonly turn: string | undefined;
  /** True if the messages of the row begin with those of the row before. */
  readonly continues: boolean;
  /** True if AReaL wrote the row, which numbers turns or samples in this column. */
  readonly hasSampleIndex: boolean;
}

interface Conversation {
  /** The digests of the messages up to each one. */
  readonly digests: readonly number[];
  /** The prompt and the answer if both are text. */
  readonly text: string | undefined;
}

type LastRow = Readonly<{
  scope: string;
  digest: number | undefined;
  text: Readonly<{ length: number; digest: number }>;
}>;

interface FaultyRollout {
  readonly group: ConvertedGroup;
  readonly rollout: WrittenRollout;
}

export type RolloutFault =
  | (FaultyRollout & { kind: "part" | "possible-part" })
  | (FaultyRollout & { kind: "copy"; other: WrittenRollout });

export class RolloutParts {
  readonly #rows = new Map<ConvertedGroup, RolloutRow[]>();
  /** The last row of each recorded group, and of each step of a file without one. */
  readonly #last = new Map<ConvertedGroup | string, LastRow>();
  readonly #groupsById = new Map<string, Set<ConvertedGroup>>();

  add(
    format: Format,
    { value, file, group: recorded, steps = "" }: SourceRecord,
    { group, rollout }: { group: ConvertedGroup; rollout: WrittenRollout },
  ) {
    const turns = format.listTurns?.(value);
    if (!turns) return;
    const { prompt = [], sampled, id } = turns;
    const said = [prompt, sampled].flatMap((part) => (typeof part === "string" ? part : part.map(formatTurn)));
    if (said.length === 0) return;
    const text = typeof prompt === "string" && typeof sampled === "string" ? `${prompt}${sampled}` : undefined;
    const digests: number[] = [];
    for (const turn of said) digests.push(extendDigest(digests.at(-1) ?? 0, turn.trim()));
    const scope = `${steps} ${file}`;
    // A prompt that has the turns before it differs from their prompts.
    const place = recorded?.isDerived === true ? scope : group;
    const last = this.#last.get(place);
    const continues = last?.scope === scope && isContinued(last, { digests, text });
    const whole = text?.trimEnd() ?? "";
    this.#last.set(place, {
      scope,
      digest: said.at(-1)?.trim() ? digests.at(-1) : undefined,
      text: { length: whole.length, digest: extendDigest(0, whole) },
    });
    appendTo(this.#rows, group, {
      rollout,
      id,
      scope,
      turn: findTurnNumber(value),
      continues,
      hasSampleIndex: value.has("sample_idx"),
    });
    if (id !== undefined) this.#groupsById.set(id, (this.#groupsById.get(id) ?? new Set()).add(group));
  }

  /** Expects that all records were added. */
  *findParts(): Iterable<RolloutFault> {
    for (const [group, rows] of this.#rows) {
      const ids = new Set(rows.flatMap(({ id }) => id ?? []));
      const areTurns = new Set(rows.flatMap(({ turn }) => turn ?? [])).size > 1;
      // An id that several groups share, such as that of a session or a number, names no rollout.
      const names = (id: string | undefined) => id !== undefined && this.#groupsById.get(id)?.size === 1;
      const keyOf = ({ id, scope, rollout }: RolloutRow) =>
        id !== undefined && (ids.size > 1 || names(id)) ? `${id} ${scope}` : rollout;
      for (const alike of listByKey(rows, keyOf).values())
        for (const [at, { rollout, id, turn, continues, hasSampleIndex }] of alike.entries()) {
          const isPart = alike.length > 1 && names(id);
          if (isPart || (areTurns && turn !== undefined) || (continues && hasSampleIndex))
            yield { group, rollout, kind: "part" };
          else if (at > 0 || (continues && (id === undefined || ids.size === 1)))
            yield { group, rollout, kind: "possible-part" };
        }
    }
  }
}

/** Finds the later records of each rollout whose id no other rollout has. */
export function* findCopies(groups: readonly ConvertedGroup[]): Iterable<RolloutFault> {
  const first = new Map<string, WrittenRollout>();
  for (const group of groups)
    for (const rollout of group.rollouts) {
      if (rollout.id === undefined || rollout.isBroken) continue;
      const other = first.get(rollout.id);
      if (other) yield { group, rollout, kind: "copy", other };
      else first.set(rollout.id, rollout);
    }
}

const isContinued = (last: LastRow, { digests, text }: Conversation) =>
  (last.digest !== undefined && digests.slice(0, -1).includes(last.digest)) ||
  (text !== undefined &&
    last.text.length > 0 &&
    text.length > last.text.length &&
    extendDigest(0, text.slice(0, last.text.length)) === last.text.digest);

/** Ids and the order of keys do not count. */
const formatTurn = (message: Value) => {
  const content = message.get("content");
  const calls = message.items("tool_calls").map((call) => formatCanonically(call.get("function") ?? call));
  const text = content ? (content.text ?? readOnlyText(content.data) ?? formatCanonically(content)) : "";
  return calls.length > 0 ? `${text}[${calls.join()}]` : text;
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
