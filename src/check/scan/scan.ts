/** Takes the lines of a source, or all of it as one document: parses each once, and takes it into parts. */
import { isUtf8 } from "node:buffer";
import { type Found, mergeFound, type PackedFound } from "../../groups/parts/found.ts";
import { type Block, blockBytes, type Lines, type Range } from "../../input/lines.ts";
import { Shrunk, type Source } from "../../input/source.ts";
import { faultIn, faultOf } from "../../json/reader.ts";
import { closeBrace, closeBracket, endOfLine, markLength, openBrace, openBracket, skipWhite } from "../../json/walk.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Judgement } from "../rules/judgement.ts";
import { type Path, Places, type Text } from "../rules/places.ts";
import type { RuleData, RuleName } from "../rules/rules.ts";
import { Indexer } from "./indexer.ts";
import {
  endOfText,
  firstBadByte,
  isKey,
  longestText,
  notJson,
  parsedBytes,
  type ReportFault,
  reportFault,
} from "./json-text.ts";
import { KernelLines } from "./kernel-lines.ts";
import { takeList } from "./lists.ts";
import { faultOfLong, type LongText } from "./long-fault.ts";

/** How lines are taken. */
interface LineOptions {
  /** Position of the source among the inputs. */
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** Whether parts are marked, where nothing was found yet. */
  readonly isMarked?: boolean | undefined;
  /** What is added to; nothing yet where it is left out. */
  readonly found?: Found;
  /** Opens the kernel, which takes the lines with no findings, for a block of so many bytes. */
  readonly kernel?: ((bytes?: number) => Kernel | undefined) | undefined;
  /** What ends the reading of a long list. */
  readonly signal?: AbortSignal;
}

/** How a source is read. */
export interface ScanOptions extends LineOptions {
  readonly signal: AbortSignal;
}

const noBytes = Buffer.alloc(0);

/** A source being read. */
export class Scan {
  readonly #source: Source;
  readonly #options: LineOptions;
  readonly #indexer: Indexer;
  readonly #lines: KernelLines;
  #line = 1;
  /** Whether a line that is not blank was seen. */
  #begun = false;
  /** Whether the source is one document, once its beginning was seen. */
  #isDocument: boolean | undefined;
  /** What a long line is read into: those of a file are of nearly the same length. */
  #long = noBytes;

  constructor(source: Source, options: LineOptions) {
    this.#source = source;
    this.#options = options;
    this.#lines = new KernelLines(options.kernel);
    this.#indexer = new Indexer({ ...options, file: source.name, source: options.index });
  }

  /** What was found; sums and distributions are whole once it was settled. */
  get found(): Found {
    return this.#indexer.found;
  }

  /** Puts what the kernel summed up to what was found. */
  settle(): void {
    this.#lines.settle(this.found);
  }

  /** Lines that were taken. */
  get lines(): number {
    return this.#line - 1;
  }

  /** Whether a line that is not blank was taken. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Takes what was found in the range that follows. */
  takeRange({ found, lines }: { readonly found: PackedFound; readonly lines: number }): void {
    mergeFound(this.found, found, this.lines);
    this.#begun = true;
    this.#line += lines;
  }

  /** Whether the first block is the beginning of one document that goes over several lines. */
  isDocument(block: Block): boolean {
    if (this.#begun || block.kind === "long") return false;
    const from = skipWhite(block.bytes, 0);
    if (from === block.bytes.length) return false;
    this.#isDocument ??= beginsDocument(block.bytes, from);
    return this.#isDocument;
  }

  /** Takes the whole source, from `start` on, as one value. @throws Shrunk; the signal's reason */
  async takeDocument(start: number): Promise<void> {
    const range = { start, end: this.#source.bytes.size };
    if (await this.#takeList(range, true)) return;
    if (range.end - start > longestText) {
      this.#takeNothing(start);
      this.#fileProblem("document-too-long", { limit: longestText });
      return;
    }
    this.#takeText({ bytes: await this.#read(range), start, line: 1 }, { checked: false, last: true });
  }

  /** Takes a block. @throws Shrunk; the signal's reason */
  async take(block: Block): Promise<void> {
    if (block.kind === "lines") {
      this.takeLines(block);
      return;
    }
    const { start, end } = block;
    if (await this.#takeList(block, block.last)) {
      this.#begun = true;
      this.#line++;
    } else if (end - start > longestText) {
      this.#report("line-too-long", { limit: longestText }, { text: this.#takeNothing(start), at: 0 });
      this.#line++;
    } else {
      this.takeLines({ ...block, kind: "lines", bytes: await this.#read(block) });
    }
  }

  /** Takes the lines of a block. */
  takeLines(block: Lines): void {
    const { bytes, start } = block;
    const checked = isUtf8(bytes);
    if (checked && this.#lines.takes(bytes.length)) {
      this.#passLines(block);
      return;
    }
    for (let from = 0; from < bytes.length; ) {
      const end = endOfLine(bytes, from);
      const last = block.last && end === bytes.length;
      this.#takeText({ bytes: bytes.subarray(from, end), start: start + from, line: this.#line }, { checked, last });
      from = end + 1;
      this.#line++;
    }
  }

  /** Takes the lines of a block of UTF-8: those that the kernel leaves one by one. */
  #passLines({ bytes, start, last }: Lines): void {
    const line = this.#line;
    this.#lines.pass(this.found, {
      text: { bytes, start, line },
      source: this.#options.index,
      onBatch: ({ left, lines, linesRead }) => {
        if (left !== undefined || lines > 0) this.#begun = true;
        this.#line = line + linesRead;
        return true;
      },
      onLeft: ({ start: from, end }) => {
        const own = { bytes: bytes.subarray(from, end), start: start + from, line: this.#line - 1 };
        this.#takeText(own, { checked: true, last: last && end === bytes.length });
        return true;
      },
    });
  }

  /** Takes a range that is a long list, element by element, or can't be read as one; false where it is none. */
  async #takeList({ start, end }: Range, last: boolean): Promise<boolean> {
    if (end - start <= blockBytes) return false;
    this.settle();
    const kernel = this.#lines.opened(end - start);
    const text = { start, end, line: this.#line };
    const outcome = await takeList(this.#source, text, { ...this.#options, found: this.found, kernel });
    return outcome === "taken" || (outcome === "broken" && (await this.#takeBroken(text, last)));
  }

  /** Takes a long text that is no JSON, none of which is held; false where it is JSON after all. */
  async #takeBroken(text: LongText, last: boolean): Promise<boolean> {
    const broken =
      this.#source.origin?.isBroken(text.line) === true
        ? undefined
        : await faultOfLong(this.#source.bytes, text, this.#options.signal);
    if (broken === undefined) return false;
    const { around, at, fault } = broken;
    const report: ReportFault = (rule, data) => this.#report(rule, data, { text: around, at });
    if (fault === undefined) report("not-utf-8", undefined);
    else reportFault(around.bytes, { fault, last, isDocument: this.#isDocument === true, report });
    this.#indexer.takeLongUnreadable(broken);
    this.#begun = true;
    return true;
  }

  async #read({ start, end }: Range): Promise<Buffer> {
    const length = end - start;
    const room = this.#long.length;
    if (room < length || room > 2 * length) this.#long = Buffer.allocUnsafeSlow(length + (length >>> 4));
    const bytes = this.#long.subarray(0, length);
    if ((await this.#source.bytes.read(bytes, start)) < length) throw new Shrunk();
    return bytes;
  }

  /** Takes what can't be read at all. */
  #takeNothing(start: number): Text {
    const text = { bytes: noBytes, start, line: this.#line };
    this.#indexer.takeUnreadable(text, { start: 0, end: 0 });
    this.#begun = true;
    return text;
  }

  /** Takes one value: a line, or a document. */
  #takeText(text: Text, { checked, last }: { readonly checked: boolean; readonly last: boolean }): void {
    const { bytes } = text;
    const span = trimmed(bytes);
    if (span.start === span.end) return;
    this.#begun = true;
    if (this.#source.origin?.isBroken(text.line) === true) {
      this.#indexer.takeUnreadable(text, span);
      return;
    }
    if (!checked && !isUtf8(bytes)) {
      this.#report("not-utf-8", undefined, { text, at: firstBadByte(bytes) });
      this.#indexer.takeUnreadable(text, span);
      return;
    }
    const value = parsedBytes(bytes.subarray(span.start, span.end));
    if (value !== notJson) {
      this.#indexer.take(text, { value, span });
      return;
    }
    const own = bytes.subarray(span.start, span.end);
    const fault = faultOf(own);
    const spot = { text, at: span.start + (isKey(own, fault.at) ? 0 : fault.at) };
    const report: ReportFault = (rule, data) => this.#report(rule, data, spot);
    reportFault(own, { fault, last, isDocument: this.#isDocument === true, report });
    this.#indexer.takeUnreadable(text, span);
  }

  #report<Name extends RuleName>(
    rule: Name,
    data: RuleData<Name>,
    { text, at }: { readonly text: Text; readonly at: number },
  ): void {
    const path: Path = [];
    this.found.problems.report(rule, data, () => ({
      file: this.#source.name,
      ...new Places(text).of(at),
      path,
    }));
  }

  #fileProblem<Name extends RuleName>(rule: Name, data: RuleData<Name>): void {
    this.found.problems.report(rule, data, () => ({ file: this.#source.name }));
  }
}

/** The span without white space around it. */
const trimmed = (bytes: Buffer): { readonly start: number; readonly end: number } => {
  // Files that were put behind one another bring their marks along.
  const start = skipWhite(bytes, markLength(bytes));
  return { start, end: Math.max(start, endOfText(bytes, bytes.length)) };
};

/** Whether what stands behind the white space of a block goes on over several lines. */
const beginsDocument = (bytes: Buffer, from: number): boolean => {
  const end = endOfLine(bytes, from);
  // What ends here and begins again there is a line behind another: in a document something stands between them.
  if (isCloser(lastOf(bytes, end)) && isOpener(bytes[skipWhite(bytes, end)])) return false;
  const first = faultIn(bytes.subarray(from, end));
  if (first?.fault === "more" && isKey(bytes.subarray(from), first.at)) return isInside(bytes.subarray(from));
  if (first?.fault !== "end" || end === bytes.length) return false;
  if (onlyOpens(bytes.subarray(from, end))) return true;
  const next = skipWhite(bytes, end);
  if (next === bytes.length) return isOpener(lastOf(bytes, end));
  // A line that was cut off ends to be JSON at its end, or where the next line begins; a document goes on.
  const fault = faultIn(bytes.subarray(from));
  return fault === undefined || from + fault.at > next;
};

/** Whether a text is an object, as far as it goes, but for the brace that it begins with. */
const isInside = (bytes: Buffer): boolean => {
  const fault = faultIn(Buffer.concat([Buffer.of(openBrace), bytes]));
  return fault === undefined || fault.fault === "end";
};

/** The last byte before a place that is no white space. */
const lastOf = (bytes: Buffer, end: number): number | undefined => bytes[endOfText(bytes, end) - 1];

const isOpener = (byte: number | undefined): boolean => byte === openBrace || byte === openBracket;
const isCloser = (byte: number | undefined): boolean => byte === closeBrace || byte === closeBracket;

/** Whether a line does nothing but open objects and arrays. */
const onlyOpens = (line: Buffer): boolean =>
  /^[\s[{]*$/.test(line.subarray(0, 64).toString("latin1")) && line.length < 64;
