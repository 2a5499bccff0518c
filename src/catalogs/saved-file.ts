/** Reads a catalog that was saved as a file: what `catalog … --json` prints, or its entries as an array or one a line. */

import { readFile } from "node:fs/promises";
import { addAbortSignal } from "node:stream";
import type { Failure } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { faultOf } from "../json/reader.ts";
import { parsedJson, positionOf } from "../json/walk.ts";
import { catalogFileBroken, catalogFileUnreadable } from "./failures.ts";

/** Reads a file, or standard input for `-`: a catalog to be checked. @throws Failure `catalog-file-unreadable`, `catalog-file-broken`, the signal's reason */
export const readCatalogFile = async (file: string, host: Host): Promise<unknown> => {
  const text = (await bytesOf(file, host)).toString("utf8").replace(/^\ufeff/, "");
  const value = parsedJson(text)?.value ?? parseLines(text);
  if (value === undefined) throw broken(file, text);
  return Array.isArray(value) ? { data: value } : value;
};

const bytesOf = async (file: string, host: Host): Promise<Buffer> => {
  try {
    if (file !== "-") return await readFile(file, { signal: host.signal });
    const chunks: Buffer[] = [];
    for await (const chunk of addAbortSignal(host.signal, host.stdin)) chunks.push(Buffer.from(chunk));
    return Buffer.concat(chunks);
  } catch (thrown) {
    host.signal.throwIfAborted();
    throw catalogFileUnreadable({ file, code: codeOf(thrown), cause: thrown });
  }
};

/** The objects of JSON lines; undefined where a line is none. */
const parseLines = (text: string): readonly unknown[] | undefined => {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  if (lines.length < 2) return undefined;
  const values: unknown[] = [];
  for (const line of lines) {
    const value = parsedJson(line)?.value;
    if (typeof value !== "object" || value === null) return undefined;
    values.push(value);
  }
  return values;
};

const broken = (file: string, text: string): Failure => {
  const bytes = Buffer.from(text);
  const where = { file, ...positionOf(bytes, faultOf(bytes).at) };
  return catalogFileBroken({ file, wrong: "no-json" }, where);
};
