/** What the service needs of a log request beside its bytes, read group by group: its values are never all in memory. */
import { isUtf8 } from "node:buffer";
import { type LogRequest, TrajectoryGroup } from "../contract/log.ts";
import {
  closeBrace,
  closeBracket,
  colon,
  comma,
  endOfValue,
  openBrace,
  openBracket,
  quote,
  type Span,
  skipWhite,
  textOf,
} from "../json.ts";
import { Tally } from "../trajectories/metrics.ts";

/** A log request without its messages. */
export interface Summary {
  readonly split: string;
  readonly metrics: Readonly<Record<string, number>>;
  /** When each trajectory of each group started, as it says itself. */
  readonly starts: readonly (readonly (string | null | undefined)[])[];
}

/** The summary of a checked request. */
export const summaryOf = ({ split, trajectory_groups }: LogRequest): Summary => {
  const summing = new Summing();
  for (const group of trajectory_groups) summing.add(group);
  return summing.summary(split);
};

/** Bytes after which others have their turn: a call is read while a large request is. */
const turnBytes = 2 ** 20;

/** The summary of a request in bytes; undefined where anything is unusual or wrong with it, which is for a closer look. */
export const readSummary = async (bytes: Uint8Array): Promise<Summary | undefined> => {
  if (!isUtf8(bytes)) return undefined;
  const summing = new Summing();
  const walk = walkRequest(bytes);
  let turn = turnBytes;
  for (let step = walk.next(); ; step = walk.next()) {
    if (step.done === true) return step.value === undefined ? undefined : summing.summary(step.value);
    const group = parsed(bytes, step.value);
    if (group === undefined || !isGroup(group.value)) return undefined;
    summing.add(group.value);
    if (step.value.end < turn) continue;
    turn = step.value.end + turnBytes;
    await new Promise((resolve) => setImmediate(resolve));
  }
};

class Summing {
  readonly #tally = new Tally();
  readonly #starts: (string | null | undefined)[][] = [];

  add(group: TrajectoryGroup): void {
    this.#tally.add(group);
    this.#starts.push(group.trajectories.map(({ start_time }) => start_time));
  }

  summary(split: string): Summary {
    return { split, metrics: this.#tally.metrics(split), starts: this.#starts };
  }
}

// The value is kept as it was parsed: the schema's copy is larger.
const isGroup = (value: unknown): value is TrajectoryGroup => TrajectoryGroup.safeParse(value).success;

const parsed = (bytes: Uint8Array, span: Span): { readonly value: unknown } | undefined => {
  try {
    return { value: JSON.parse(textOf(bytes, span)) };
  } catch {
    return undefined;
  }
};

/**
 * Walks a request and gives the place of each group, which nobody has looked into; in the end its split. Undefined
 * where what stands around the groups is not JSON, or not a request that has its keys once.
 */
function* walkRequest(bytes: Uint8Array): Generator<Span, string | undefined> {
  const own = new Map<string, unknown>();
  let at = skipWhite(bytes, 0);
  if (bytes[at] !== openBrace) return undefined;
  do {
    at = skipWhite(bytes, at + 1);
    if (bytes[at] !== quote) return undefined;
    const keyEnd = endOfValue(bytes, at);
    const key = parsed(bytes, { start: at, end: keyEnd });
    at = skipWhite(bytes, keyEnd);
    if (typeof key?.value !== "string" || own.has(key.value) || bytes[at] !== colon) return undefined;
    const start = skipWhite(bytes, at + 1);
    let end: number | undefined;
    if (key.value === "trajectory_groups") {
      own.set(key.value, undefined);
      end = yield* walkArray(bytes, start);
    } else {
      end = endOfValue(bytes, start);
      const member = parsed(bytes, { start, end });
      if (member === undefined) return undefined;
      own.set(key.value, member.value);
    }
    if (end === undefined) return undefined;
    at = skipWhite(bytes, end);
  } while (bytes[at] === comma);
  const split = own.get("split");
  const whole = bytes[at] === closeBrace && skipWhite(bytes, at + 1) === bytes.length;
  return whole && own.has("trajectory_groups") && typeof split === "string" ? split : undefined;
}

/** Gives the place of each element; in the end the offset behind the array, undefined where it is not JSON. */
function* walkArray(bytes: Uint8Array, start: number): Generator<Span, number | undefined> {
  if (bytes[start] !== openBracket) return undefined;
  let at = skipWhite(bytes, start + 1);
  if (bytes[at] === closeBracket) return at + 1;
  for (;;) {
    const end = endOfValue(bytes, at);
    yield { start: at, end };
    at = skipWhite(bytes, end);
    if (bytes[at] === closeBracket) return at + 1;
    if (bytes[at] !== comma) return undefined;
    at = skipWhite(bytes, at + 1);
  }
}
