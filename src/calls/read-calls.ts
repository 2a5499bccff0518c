/** Parses the ids of calls from lines, and reads several calls at a time in the given order. */
import type { Host } from "../host.ts";
import { isObject, newline, openBrace, parseJson } from "../json/walk.ts";
import { callIdsMissing, invalidCallId } from "./failures.ts";

/** Maximum length of an id. A longer text is not an id. */
const maxIdLength = 1024;

/** Maximum bytes of a line, which can be a whole call from `call read -o jsonl`. */
const maxLineLength = 256 * 1024 * 1024;

/**
 * Yields the ids in lines: plain, the first field of a row, or the `id` of a JSON object. Skips blank lines.
 * @throws Failure `invalid-call-id`, and `call-ids-missing` unless `canBeEmpty`
 */
export async function* parseCallIds(
  chunks: AsyncIterable<Uint8Array>,
  { canBeEmpty = false }: { readonly canBeEmpty?: boolean } = {},
): AsyncGenerator<string, void> {
  let line = 0;
  let isEmpty = true;
  for await (const bytes of splitLines(chunks)) {
    line++;
    for (const id of parseLine(bytes, line)) {
      isEmpty = false;
      yield id;
    }
  }
  if (isEmpty && !canBeEmpty) throw callIdsMissing();
}

const tab = 0x09;

const parseLine = (bytes: Uint8Array, line: number): readonly string[] => {
  // White space and the bytes of a byte order mark.
  const start = bytes.findIndex((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
  if (start < 0) return [];
  if (bytes[start] === openBrace) return parseObjectIds(decodeText(bytes.subarray(start), line), line);
  const end = bytes.indexOf(tab, start);
  const field = bytes.subarray(start, end < 0 ? bytes.length : end);
  if (field.length > maxIdLength) throw invalidCallId({ line, why: "too long" });
  const text = decodeText(field, line).trim();
  // `jq '.id'` prints a JSON string.
  const value = /^".+"$/.test(text) ? parseJson(text)?.value : undefined;
  return [typeof value === "string" && value.trim() !== "" ? value.trim() : text];
};

/** Returns the id of an object, or the ids in the `call` or `calls` of rollcall's documents. */
const parseObjectIds = (text: string, line: number): readonly string[] => {
  const value = parseJson(text)?.value;
  if (value === undefined) throw invalidCallId({ line, why: "broken JSON" });
  const { id, call, calls }: { readonly [key: string]: unknown } = isObject(value) ? value : {};
  const holders: readonly unknown[] = id !== undefined ? [value] : Array.isArray(calls) ? calls : [call];
  const ids = holders.map((holder) => (isObject(holder) && typeof holder.id === "string" ? holder.id.trim() : ""));
  if (ids.includes("")) throw invalidCallId({ line, why: "an object without an id" });
  return ids;
};

const decodeText = (bytes: Uint8Array, line: number): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidCallId({ line, why: "not UTF-8" });
  }
};

/** Yields lines without their line feed. A line that is too long is yielded before its end. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let pieces: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      yield Buffer.concat([...pieces, chunk.subarray(from, end)]);
      [pieces, length, from] = [[], 0, end + 1];
    }
    if (from === chunk.length) continue;
    pieces.push(chunk.subarray(from));
    length += chunk.length - from;
    const [first = chunk] = pieces;
    const canBeLong = first.includes(openBrace) || first.subarray(0, maxIdLength).includes(tab);
    if (length > (canBeLong ? maxLineLength : maxIdLength)) yield Buffer.concat(pieces);
  }
  if (length > 0) yield Buffer.concat(pieces);
}

interface OrderedRun<Input, Output> {
  readonly run: (input: Input) => Promise<Output>;
  /** Maximum number of inputs that are running, or whose outputs wait for their turn. */
  readonly concurrency: number;
  /** True if nothing else should start after an output. Running inputs still yield their outputs. */
  readonly shouldStop: (output: Output) => boolean;
}

/** Yields the outputs in the order of the inputs, as early as possible, also while the next input is awaited. */
export async function* runInOrder<Input, Output>(
  inputs: AsyncIterable<Input>,
  { run, concurrency, shouldStop }: OrderedRun<Input, Output>,
): AsyncGenerator<Output, void> {
  const source = inputs[Symbol.asyncIterator]();
  const running: Promise<Output>[] = [];
  let next: Promise<IteratorResult<Input>> | undefined;
  let end: { readonly fault?: unknown } | undefined;
  let isStopped = false;
  const start = async (input: Input): Promise<Output> => {
    const output = await run(input);
    isStopped ||= shouldStop(output);
    return output;
  };
  try {
    for (;;) {
      const [first] = running;
      const canStart = !isStopped && end === undefined && running.length < concurrency;
      if (first === undefined && !canStart) break;
      if (canStart) next ??= deferRejection(source.next());
      // Start before an output is printed, so that the service does not wait for the printer.
      if (first !== undefined && (!canStart || next === undefined || (await settlesFirst(first, next)))) {
        running.shift();
        yield await first.catch((thrown: unknown) => {
          // The fault of the input came first.
          throw end !== undefined && "fault" in end ? end.fault : thrown;
        });
        continue;
      }
      try {
        const result = await next;
        next = undefined;
        if (result === undefined || result.done === true) end = {};
        else running.push(deferRejection(start(result.value)));
      } catch (fault) {
        end = { fault };
      }
    }
    if (end !== undefined && "fault" in end) throw end.fault;
  } finally {
    // A pending input must not keep the process alive.
    if (end === undefined) void deferRejection(Promise.resolve(source.return?.()));
  }
}

/** Marks a rejection as handled until the promise is awaited. */
export const deferRejection = <Value>(promise: Promise<Value>): Promise<Value> => {
  promise.catch(() => undefined);
  return promise;
};

/** True if `one` is settled and `other` is not. */
const settlesFirst = async (one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> => {
  const settle = (promise: Promise<unknown>, isOne: boolean) =>
    promise.then(
      () => isOne,
      () => isOne,
    );
  return await Promise.race([settle(other, false), settle(one, true)]);
};

/** The waits between two reads of a running call grow up to a maximum. */
const firstWaitMs = 1000;
const waitGrowth = 1.5;
const maxWaitMs = 15_000;

/** The random part of a wait, so that many calls are not read at the same time. */
const waitJitter = 0.25;

/** Repeats a read while `isPending`, or until the total time is over, and returns the last result. */
type PollCall = <Result>(read: () => Promise<Result>, isPending: (result: Result) => boolean) => Promise<Result>;

/** Starts the total time for all polled calls together. */
export const openPolling = (host: Host, totalMs: number): PollCall => {
  const endMs = host.elapsed() + totalMs;
  return async (read, isPending) => {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, waitMs * waitGrowth)) {
      const result = await read();
      const leftMs = endMs - host.elapsed();
      if (leftMs <= 0 || !isPending(result)) return result;
      // The last read is at the end of the total time.
      await host.sleep(Math.min(leftMs, waitMs * (1 - waitJitter * host.random())), host.signal);
    }
  };
};
