/** Reads the ids of calls from lines, and a few calls at a time, in the order they were asked for. */
import type { Host } from "../host.ts";
import { isObject, newline, openBrace, parseJson } from "../json/walk.ts";
import { callIdsMissing, invalidCallId } from "./failures.ts";

/** Longest text that can be an id: what is longer is another file. */
const maxIdLength = 1024;

/** Longest line: a whole call, as `call read -o jsonl` prints it, is one. */
const maxLineLength = 256 * 1024 * 1024;

/**
 * Reads the ids of lines: plain, the first field of a row, or the `id` of a JSON object. Blank lines are skipped.
 * @throws Failure `invalid-call-id`, and `call-ids-missing` unless there may be none
 */
export async function* parseCallIds(
  chunks: AsyncIterable<Uint8Array>,
  { mayBeEmpty: canBeEmpty = false }: { readonly mayBeEmpty?: boolean } = {},
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
  const start = bytes.findIndex((byte) => byte > 0x20 && byte !== 0xef && byte !== 0xbb && byte !== 0xbf);
  if (start < 0) return [];
  if (bytes[start] === openBrace) return parseObjectIds(textOf(bytes.subarray(start), line), line);
  const end = bytes.indexOf(tab, start);
  const field = bytes.subarray(start, end < 0 ? bytes.length : end);
  if (field.length > maxIdLength) throw invalidCallId({ line, why: "too long" });
  const text = textOf(field, line).trim();
  // `jq '.id'` prints a text of JSON.
  const value = /^".+"$/.test(text) ? parseJson(text)?.value : undefined;
  return [typeof value === "string" && value.trim() !== "" ? value.trim() : text];
};

/** The id of an object, or those in the `call` or `calls` of rollcall's own documents. */
const parseObjectIds = (text: string, line: number): readonly string[] => {
  const value = parseJson(text)?.value;
  if (value === undefined) throw invalidCallId({ line, why: "broken JSON" });
  const { id, call, calls }: { readonly [key: string]: unknown } = isObject(value) ? value : {};
  const holders: readonly unknown[] = id !== undefined ? [value] : Array.isArray(calls) ? calls : [call];
  const ids = holders.map((holder) => (isObject(holder) && typeof holder.id === "string" ? holder.id.trim() : ""));
  if (ids.includes("")) throw invalidCallId({ line, why: "an object without an id" });
  return ids;
};

const textOf = (bytes: Uint8Array, line: number): string => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw invalidCallId({ line, why: "not UTF-8" });
  }
};

/** Lines without their line feed. A line that is too long is given as soon as that is known. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, end)]);
      [begun, length, from] = [[], 0, end + 1];
    }
    if (from === chunk.length) continue;
    begun.push(chunk.subarray(from));
    length += chunk.length - from;
    const [first = chunk] = begun;
    const mayBeLong = first.includes(openBrace) || first.subarray(0, maxIdLength).includes(tab);
    if (length > (mayBeLong ? maxLineLength : maxIdLength)) yield Buffer.concat(begun);
  }
  if (length > 0) yield Buffer.concat(begun);
}

interface OrderedRun<Input, Output> {
  readonly run: (input: Input) => Promise<Output>;
  /** How many run, or wait for their turn, at any time. */
  readonly atOnce: number;
  /** True if nothing is to be started after an output; what runs by then is given still. */
  readonly endsAll: (output: Output) => boolean;
}

/** The outputs in the order of the inputs, each as soon as its turn comes. An input that is slow to come keeps nothing back. */
export async function* runInOrder<Input, Output>(
  inputs: AsyncIterable<Input>,
  { run, atOnce, endsAll }: OrderedRun<Input, Output>,
): AsyncGenerator<Output, void> {
  const source = inputs[Symbol.asyncIterator]();
  const running: Promise<Output>[] = [];
  let next: Promise<IteratorResult<Input>> | undefined;
  let end: { readonly fault?: unknown } | undefined;
  let isOver = false;
  const start = async (input: Input): Promise<Output> => {
    const output = await run(input);
    isOver ||= endsAll(output);
    return output;
  };
  try {
    for (;;) {
      const [first] = running;
      const mayStart = !isOver && end === undefined && running.length < atOnce;
      if (first === undefined && !mayStart) break;
      if (mayStart) next ??= deferRejection(source.next());
      // What can be started is, before an output is given: the service is not to wait for whoever prints.
      if (first !== undefined && (!mayStart || next === undefined || (await settlesFirst(first, next)))) {
        running.shift();
        yield await first.catch((thrown: unknown) => {
          // What was wrong with the input came first.
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
    // What still waits for its next input must not keep the run alive.
    if (end === undefined) void deferRejection(Promise.resolve(source.return?.()));
  }
}

/** A promise whose failure is noticed when its turn comes; another may end the run before. */
export const deferRejection = <Value>(promise: Promise<Value>): Promise<Value> => {
  promise.catch(() => undefined);
  return promise;
};

/** True if `one` is settled while `other` is not. */
const settlesFirst = async (one: Promise<unknown>, other: Promise<unknown>): Promise<boolean> => {
  const settled = async (promise: Promise<unknown>, isOne: boolean) =>
    await promise.then(
      () => isOne,
      () => isOne,
    );
  return await Promise.race([settled(other, false), settled(one, true)]);
};

/** The first wait between two reads of a running call; each further one is half as long again, up to the longest. */
const firstWaitMs = 1000;
const waitGrowth = 1.5;
const maxWaitMs = 15_000;

/** So much of a wait is left to chance, so that many calls are not asked for at the same moment. */
const waitJitter = 0.25;

/** Reads again and again until `isGoingOn` says no, or the bound is reached; gives what was read last. */
type PollCall = <Read>(read: () => Promise<Read>, isGoingOn: (one: Read) => boolean) => Promise<Read>;

/** Opens a bound that begins now: it is one for all that wait. */
export const openPolling = (host: Host, totalMs: number): PollCall => {
  const endMs = host.elapsed() + totalMs;
  return async (read, isGoingOn) => {
    for (let waitMs = firstWaitMs; ; waitMs = Math.min(maxWaitMs, waitMs * waitGrowth)) {
      const one = await read();
      const leftMs = endMs - host.elapsed();
      if (leftMs <= 0 || !isGoingOn(one)) return one;
      // The last look is at the bound itself.
      await host.sleep(Math.min(leftMs, waitMs * (1 - waitJitter * host.random())), host.signal);
    }
  };
};
