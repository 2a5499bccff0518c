/** Reads the first records of an input. */

import { closeTruncated } from "../../json/table.ts";
import { Value } from "../../json/value.ts";
import { openRecords, type RecordKinds } from "../input/records.ts";
import { sniffedBytes } from "../input/sniff.ts";
import * as sources from "../input/source.ts";
import { isAtEnd } from "./source-records.ts";

export type FirstRecord = sources.RawRecord & Readonly<{ kind?: "lines" | "document"; value?: Value }>;

export const maxFirstLines = 20;

/** Deep enough for the messages of a trajectory in a request. */
const maxHeadDepth = 8;

/** Parses an object at the start, also in an array. A truncated object ends after its last complete value. */
export const parseStart = (bytes: Buffer) => {
  const start = bytes.toString("latin1").search(/[^\s[\xef\xbb\xbf]/);
  const closed = start < 0 ? undefined : closeTruncated(bytes.subarray(start), maxHeadDepth);
  return closed && Value.parsePython(closed);
};

/**
 * Yields objects and invalid JSON from the first lines, then the whole file if it can be a document.
 * @param isDone true if the caller needs no document
 */
export async function* readFirstRecords(
  source: sources.Source,
  limits: sources.ReadLimits,
  isDone: () => boolean,
): AsyncGenerator<FirstRecord, void> {
  const { bytes } = source;
  const isList = /^[\s\ufeff]*\[/.test(sources.readHead(bytes, sniffedBytes).toString("utf8"));
  let count = 0;
  let hasLines = false;
  for await (const raw of readRawRecords(source, { text: "lines" }, limits)) {
    const value = Value.parsePython(Buffer.from(raw.bytes));
    const isWhole = raw.isDocument || (count === 0 && isAtEnd(raw));
    if (value?.isObject || (value && isWhole)) {
      yield isWhole ? { ...raw, value } : { ...raw, value, kind: "lines" };
      // A file that starts with `[` can still be a document.
      hasLines ||= count === 0 && !isList;
    } else if (!value) yield raw;
    if (isWhole || ++count === maxFirstLines) break;
  }
  if (hasLines || isDone() || bytes.size > sources.maxDocumentBytes) return;
  for await (const raw of readRawRecords(source, { text: "document" }, limits)) {
    const value = Value.parsePython(raw.bytes);
    if (value) yield { ...raw, value, kind: "document" };
  }
}

export async function* readRawRecords(source: sources.Source, records: RecordKinds, limits: sources.ReadLimits) {
  const opened = await openRecords(source, { records }, limits);
  const first = await opened.readFirst?.();
  if (first) yield first;
  if (!opened.readFirst) for await (const batch of opened.batches()) yield* batch;
}
