/** Reads the records of a source, each once, and checks them. */
import { isUtf8 } from "node:buffer";
import { type Found, mergeFound, nothingFound, type PackedFound } from "../groups/parts/found.ts";
import {
  blockBytes,
  type Frame,
  type Lines,
  type LongText,
  type Position,
  type Range,
  Shrunk,
  type Source,
} from "../input/index.ts";
import { JsonReader, nodeSize, type SyntaxFault } from "../json/reader.ts";
import { afterOf, endOf, startOf, type Tabled } from "../json/table.ts";
import { endOfText, isKey, markLength, newline, skipWhite } from "../json/walk.ts";
import { type Block as CheckedBlock, Checker, keyUses } from "./checker.ts";
import { firstBadByte, maxTextBytes, type ReportFault, reportFault } from "./faults.ts";
import { type BrokenList, takeList } from "./lists.ts";
import { Places, type Text } from "./rules/places.ts";
import type { Judgement, RuleData, RuleName } from "./rules/rules.ts";

/** How lines are taken. */
interface LineOptions {
  /** Position of the source among the inputs. */
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** True if parts get digests and checksums, if `found` is absent. */
  readonly isMarked?: boolean | undefined;
  /** What findings are added to. Default: nothing was found yet. */
  readonly found?: Found;
  /** Ends the reading of a long list. */
  readonly signal?: AbortSignal;
}

/** How a source is read. */
export interface ScanOptions extends LineOptions {
  readonly signal: AbortSignal;
}

const noBytes = Buffer.alloc(0);

/** The reader of blocks that are in memory. It is replaced if its memory grows above this number of bytes. */
let shared: JsonReader | undefined;
const maxSharedBytes = 2 ** 26;

const openShared = (): JsonReader => {
  if (shared === undefined || shared.size > maxSharedBytes) shared = new JsonReader(keyUses);
  return shared;
};

/** A source being read. */
export class Scan {
  readonly #source: Source;
  readonly #options: LineOptions;
  readonly #checker: Checker;
  /** The reader that wrote the last table. */
  #reader: JsonReader | undefined;
  #line = 1;
  /** True if the source is one document. */
  #isDocument = false;

  constructor(source: Source, options: LineOptions) {
    this.#source = source;
    this.#options = options;
    const found = options.found ?? nothingFound(options.judgement, { isMarked: options.isMarked });
    const { index, groupBy } = options;
    const reader = () => this.#reader ?? openShared();
    // Not spread: V8 gives each copy of an object a class of its own, and compiles what uses it again.
    this.#checker = new Checker({ found, file: source.name, index, groupBy, reader });
  }

  /** What was found. */
  get found(): Found {
    return this.#checker.found;
  }

  /** Lines that were taken. */
  get lines(): number {
    return this.#line - 1;
  }

  /** Takes what was found in the next range. */
  takeRange({ found, lines }: { readonly found: PackedFound; readonly lines: number }): void {
    mergeFound(this.found, found, this.lines);
    this.#line += lines;
  }

  /** Takes records. @throws Shrunk; the signal's reason */
  async take(frame: Frame): Promise<void> {
    if (frame.kind === "lines") return this.takeLines(frame);
    this.#isDocument = frame.kind === "document";
    await this.#takeText(frame);
    this.#line++;
  }

  /** Takes the lines of a block. */
  takeLines({ bytes, start, last }: Lines): void {
    const reader = openShared();
    this.#reader = reader;
    const isClean = isUtf8(bytes);
    reader.readLines(bytes.length > 0 && bytes.includes(byteOrderMark) ? withoutMarks(bytes) : bytes);
    const text = reader.tabled();
    const places = new Places({ bytes, start, line: this.#line });
    const block = { text, start, places };
    const { length } = text.words;
    for (let root = 0; root < length; root = afterOf(text, root)) {
      this.#takeLine(block, root, { isClean, last });
    }
    this.#line = places.mark(bytes.length) + (bytes.length > 0 && bytes.at(-1) !== newline ? 1 : 0);
    this.#reader = undefined;
  }

  #takeLine(
    block: CheckedBlock,
    root: number,
    { isClean, last }: { readonly isClean: boolean; readonly last: boolean },
  ): void {
    const { text } = block;
    const start = startOf(text, root);
    const isJson = endOf(text, root) > 0;
    const lineEnd = isJson ? endOf(text, root) : afterOf(text, root + nodeSize);
    const end = isJson ? lineEnd : endOfText(text.bytes, lineEnd);
    const line = block.places.mark(start);
    const isBroken = this.#source.origin?.isBroken(line) === true;
    const own = text.bytes.subarray(start, end);
    const isUnclean = !isClean && !isUtf8(own);
    if (isJson && !isBroken && !isUnclean) {
      this.#checker.take(block, root);
      return;
    }
    // The origin has reported what it could not convert.
    if (!isBroken && isUnclean) this.#reportUnclean(block, start, own);
    else if (!isBroken && this.#reader !== undefined) {
      const isLast = last && lineEnd === text.bytes.length;
      this.#reportFault(block, { own, start, fault: this.#reader.faultOf(text, root), last: isLast });
    }
    this.#checker.takeUnreadable(block, { start, end });
  }

  /** Takes a text that is one value: a document, or a line that is longer than a block. */
  async #takeText({ start, end, last }: LongText): Promise<void> {
    const text = { start, end, line: this.#line };
    const isLong = end - start > blockBytes;
    const list = isLong ? await takeList(this.#source, text, { ...this.#options, found: this.found }) : "no-list";
    if (typeof list !== "string") this.#reportBroken(list, last);
    else if (list === "no-list" && end - start <= maxTextBytes) await this.#takeWhole(text, last);
    else if (list === "no-list") this.#takeTooLong(text);
  }

  async #takeWhole({ start, end, line }: Range & Position, last: boolean): Promise<void> {
    const reader = new JsonReader(keyUses);
    const all = reader.room(end - start);
    if ((await this.#source.bytes.read(all, start)) < all.length) throw new Shrunk();
    const mark = markLength(all);
    const bytes = all.subarray(mark, endOfText(all, all.length));
    const span = { start: skipWhite(bytes, 0), end: bytes.length };
    if (span.start >= span.end) return;
    this.#reader = reader;
    const isClean = isUtf8(bytes);
    const isBroken = this.#source.origin?.isBroken(line) === true;
    const isRead = isClean && !isBroken;
    const isJson = isRead && reader.readDocument(bytes);
    // The reader has moved the text to the start of its memory, which may have grown.
    const text = isJson ? reader.tabled() : { ...noTable, bytes: isRead ? reader.room(span.end) : bytes };
    const place = { start: start + mark, line, unitsBefore: () => Math.min(1, mark) };
    const block = { text, start: place.start, places: new Places({ ...place, bytes: text.bytes }) };
    if (isJson) this.#checker.take(block, 0);
    else {
      const own = text.bytes.subarray(span.start);
      block.places.mark(span.start);
      if (!isClean) this.#reportUnclean(block, span.start, own);
      else if (!isBroken) this.#reportFault(block, { own, start: span.start, fault: reader.fault(), last });
      this.#checker.takeUnreadable(block, span);
    }
    this.#reader = undefined;
  }

  /** Reports the first fault of a list that is broken, which counts as a group that cannot be read. */
  #reportBroken({ part, wrong, around, at }: BrokenList, last: boolean): void {
    const { start: offset, line, column, fault } = wrong;
    const { problems } = this.found;
    const spot = () => ({ file: this.#source.name, line, column, offset, path: [] });
    const report: ReportFault = (rule, data) => problems.report(rule, data, spot);
    if (fault === undefined) report("not-utf-8", undefined);
    else reportFault(around, { fault: { fault, at, token: at }, last, isDocument: this.#isDocument, report });
    this.#checker.takeLongUnreadable(part);
  }

  #takeTooLong({ start, line }: Position): void {
    const block = blockOf({ bytes: noBytes, start, line });
    const data = { limit: maxTextBytes };
    if (!this.#isDocument) this.#report("line-too-long", data, { block, at: 0 });
    else this.found.problems.report("document-too-long", data, () => ({ file: this.#source.name }));
    this.#checker.takeUnreadable(block, { start: 0, end: 0 });
  }

  #reportUnclean(block: CheckedBlock, start: number, own: Buffer): void {
    this.#report("not-utf-8", undefined, { block, at: start + firstBadByte(own) });
  }

  /** Reports the fault of bytes that begin somewhere in a block, where the fault is too. */
  #reportFault(
    block: CheckedBlock,
    own: { readonly own: Buffer; readonly start: number; readonly fault: SyntaxFault; readonly last: boolean },
  ): void {
    const { own: bytes, start, last } = own;
    const fault = { ...own.fault, at: own.fault.at - start };
    const at = start + (isKey(bytes, fault.at) ? 0 : fault.at);
    const report: ReportFault = (rule, data) => this.#report(rule, data, { block, at });
    reportFault(bytes, { fault, last, isDocument: this.#isDocument, report });
  }

  #report<Name extends RuleName>(
    rule: Name,
    data: RuleData<Name>,
    { block, at }: { readonly block: CheckedBlock; readonly at: number },
  ): void {
    this.found.problems.report(rule, data, () => ({ file: this.#source.name, ...block.places.of(at), path: [] }));
  }
}

const noTable: Omit<Tabled, "bytes"> = { words: new Int32Array(), base: 0, keys: 0 };

const blockOf = (text: Text): CheckedBlock => ({
  text: { ...noTable, bytes: text.bytes },
  start: text.start,
  places: new Places(text),
});

/** Concatenated files have their marks before lines. */
const byteOrderMark = Buffer.from("\ufeff");

/** Copies bytes with blanks instead of the marks that lines begin with. Rejected lines are copied from the bytes as they are. */
const withoutMarks = (own: Buffer): Buffer => {
  const bytes = Buffer.from(own);
  for (let at = bytes.indexOf(byteOrderMark); at >= 0; at = bytes.indexOf(byteOrderMark, at + 1)) {
    if (at === 0 || bytes[at - 1] === newline) bytes.fill(" ", at, at + byteOrderMark.length);
  }
  return bytes;
};
