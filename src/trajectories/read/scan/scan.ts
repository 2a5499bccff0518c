/** Takes the lines of a source, or all of it as one document: parses each once, and takes it into parts. */
import { isUtf8 } from "node:buffer";
import { faultIn, faultOf } from "../../../json/fault.ts";
import { closeBrace, closeBracket, isWhite, newline, openBrace, openBracket, skipWhite } from "../../../json/walk.ts";
import type { Block } from "../../input/lines.ts";
import { readRange, type Source } from "../../input/source.ts";
import type { Judgement } from "../../rules/judgement.ts";
import { type Path, Places, type Text } from "../../rules/places.ts";
import type { RuleData, RuleName } from "../../rules/rules.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { addBatch, addSums } from "../kernel/results.ts";
import { type Found, mergeFound, type PackedFound } from "../parts/found.ts";
import { Indexer } from "./indexer.ts";
import { reportFault } from "./json-checks.ts";

/** The most bytes that are parsed at once: V8's strings end at 2^29 − 24 units (512 MiB). */
export const longestText = 2 ** 29 - 24;

/** What a file, or a line of one, may begin with. */
export const byteOrderMark = [0xef, 0xbb, 0xbf];

/** Where the kernel left most lines of a block, as many blocks are read without it: what it looks at in vain costs a tenth. */
const blocksWithoutKernel = 15;

/** How lines are taken. */
export interface LineOptions {
  /** Position of the source among the inputs. */
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** What is added to; nothing yet where it is left out. */
  readonly found?: Found;
  /** Opens the kernel, which takes the lines with no findings, for a block of so many bytes. */
  readonly kernel?: ((bytes?: number) => Kernel | undefined) | undefined;
}

/** How a source is read. */
export interface ScanOptions extends LineOptions {
  readonly signal: AbortSignal;
}

/** A source being read. */
export class Scan {
  readonly #source: Source;
  readonly #indexer: Indexer;
  readonly #index: number;
  readonly #openKernel: (bytes: number) => Kernel | undefined;
  #kernel: Kernel | undefined;
  /** Blocks that are still to be read without the kernel. */
  #withoutKernel = 0;
  #line = 1;
  /** Whether a line that is not blank was seen. */
  #begun = false;
  /** Whether the source is one document, once its beginning was seen. */
  #isDocument: boolean | undefined;

  constructor(source: Source, { index, kernel = () => undefined, ...options }: LineOptions) {
    this.#source = source;
    this.#index = index;
    this.#openKernel = kernel;
    this.#indexer = new Indexer({ ...options, file: source.name, source: index });
  }

  /** What was found; sums and distributions are whole once it was settled. */
  get found(): Found {
    return this.#indexer.found;
  }

  /** Puts what the kernel summed up to what was found. */
  settle(): void {
    if (this.#kernel !== undefined) addSums(this.found, this.#kernel);
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
    if (this.#begun || block.kind === "too-long") return false;
    const from = skipWhite(block.bytes, 0);
    if (from === block.bytes.length) return false;
    this.#isDocument ??= beginsDocument(block.bytes, from);
    return this.#isDocument;
  }

  /** Takes the whole source, from `start` on, as one value. */
  async takeDocument(start: number): Promise<void> {
    const length = this.#source.bytes.size - start;
    if (length > longestText) {
      this.#indexer.takeUnreadable({ bytes: Buffer.alloc(0), start, line: this.#line }, { start: 0, end: 0 });
      this.#fileProblem("document-too-long", { limit: longestText });
      return;
    }
    const bytes = await readRange(this.#source.bytes, { start, length });
    this.#takeText({ bytes, start, line: 1 }, { checked: false, last: true });
  }

  /** Takes the lines of a block. */
  takeBlock(block: Block): void {
    if (block.kind === "too-long") {
      const text = { bytes: Buffer.alloc(0), start: block.start, line: this.#line };
      this.#indexer.takeUnreadable(text, { start: 0, end: 0 });
      this.#report("line-too-long", { limit: longestText }, { text, at: 0 });
      this.#line++;
      this.#begun = true;
      return;
    }
    const { bytes, start } = block;
    const checked = isUtf8(bytes);
    this.#kernel ??= this.#openKernel(bytes.length);
    if (checked && this.#kernel !== undefined && this.#withoutKernel-- <= 0) {
      this.#takeLines(this.#kernel, block);
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
  #takeLines(kernel: Kernel, { bytes, start, last }: Block & { readonly kind: "lines" }): void {
    const line = this.#line;
    const { problems } = this.found;
    kernel.begin({ bytes, start, line });
    let [taken, findings] = [0, 0];
    for (;;) {
      const [fields, calls] = [problems.isOnlyCounted("null-field"), problems.isOnlyCounted("tool-calls-null")];
      kernel.countNulls({ fields, calls });
      if (!kernel.next()) break;
      const { left } = kernel;
      if (left !== undefined || kernel.lines > 0) this.#begun = true;
      addBatch(this.found, { kernel, text: { bytes, start, line }, source: this.#index });
      this.#line = line + kernel.linesRead;
      taken += kernel.lines;
      if (left === undefined) continue;
      findings++;
      const own = { bytes: bytes.subarray(left.start, left.end), start: start + left.start, line: this.#line - 1 };
      this.#takeText(own, { checked: true, last: last && left.end === bytes.length });
    }
    this.#withoutKernel = findings > taken ? blocksWithoutKernel : 0;
  }

  /** Takes one value: a line, or a document. */
  #takeText(text: Text, { checked, last }: { readonly checked: boolean; readonly last: boolean }): void {
    const { bytes } = text;
    const span = trimmed(bytes);
    if (span.start === span.end) return;
    this.#begun = true;
    if (!checked && !isUtf8(bytes)) {
      this.#report("not-utf-8", undefined, { text, at: firstBadByte(bytes) });
      this.#indexer.takeUnreadable(text, span);
      return;
    }
    const value = parsed(bytes.toString("utf8", span.start, span.end));
    if (value !== notJson) {
      this.#indexer.take(text, { value, span });
      return;
    }
    const own = bytes.subarray(span.start, span.end);
    const fault = faultOf(own);
    const spot = { text, at: span.start + fault.at };
    reportFault(own, { fault, last, report: (rule, data) => this.#report(rule, data, spot) });
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
      offset: text.start + at,
    }));
  }

  #fileProblem<Name extends RuleName>(rule: Name, data: RuleData<Name>): void {
    this.found.problems.report(rule, data, () => ({ file: this.#source.name }));
  }
}

/** Whether what stands behind the white space of a block goes on over several lines. */
const beginsDocument = (bytes: Buffer, from: number): boolean => {
  const end = endOfLine(bytes, from);
  // What ends here and begins again there is a line behind another: in a document something stands between them.
  if (isCloser(lastOf(bytes, end)) && isOpener(bytes[skipWhite(bytes, end)])) return false;
  const first = faultIn(bytes.subarray(from, end));
  if (first?.fault !== "end" || end === bytes.length) return false;
  if (onlyOpens(bytes.subarray(from, end))) return true;
  // A line that was cut off ends to be JSON at its end, or where the next line begins; a document goes on.
  const fault = faultIn(bytes.subarray(from));
  return fault === undefined || from + fault.at > skipWhite(bytes, end);
};

/** The last byte before a place that is no white space. */
const lastOf = (bytes: Buffer, end: number): number | undefined => {
  let at = end - 1;
  while (at > 0 && isWhite(bytes[at])) at--;
  return bytes[at];
};

const isOpener = (byte: number | undefined): boolean => byte === openBrace || byte === openBracket;
const isCloser = (byte: number | undefined): boolean => byte === closeBrace || byte === closeBracket;

/** Whether a line does nothing but open objects and arrays. */
const onlyOpens = (line: Buffer): boolean =>
  /^[\s[{]*$/.test(line.subarray(0, 64).toString("latin1")) && line.length < 64;

const endOfLine = (bytes: Buffer, from: number): number => {
  const end = bytes.indexOf(newline, from);
  return end < 0 ? bytes.length : end;
};

/** The span without white space around it. */
const trimmed = (bytes: Buffer): { readonly start: number; readonly end: number } => {
  // Files that were put behind one another bring their marks along.
  const start = skipWhite(bytes, byteOrderMark.every((byte, at) => bytes[at] === byte) ? byteOrderMark.length : 0);
  let end = bytes.length;
  while (end > start && isWhite(bytes[end - 1])) end--;
  return { start, end };
};

const notJson = Symbol("not JSON");

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return notJson;
  }
};

/** Offset of the first byte that is not UTF-8. */
const firstBadByte = (bytes: Buffer): number => {
  let low = 0;
  let high = bytes.length;
  // A prefix may end inside a character: it is whole where up to three bytes more or fewer make it so.
  const whole = (end: number) => [0, 1, 2, 3].some((back) => end >= back && isUtf8(bytes.subarray(0, end - back)));
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (whole(middle)) low = middle;
    else high = middle - 1;
  }
  while (low > 0 && !isUtf8(bytes.subarray(0, low))) low--;
  return low;
};
