/** Scans the records of a source: lines, a document, or elements of a long array. */
import { isUtf8 } from "node:buffer";
import { bomLength, newline, openBracket, type Span, skipWhite, trimmedEnd } from "../../json/json-bytes.ts";
import { cacheReader, JsonReader, JsonTable, nodeSize, type SyntaxFault } from "../../json/reader.ts";
import { emptyTable, endOf, nodeAfter, startOf } from "../../json/table.ts";
import { Breaks, bytesPerStep } from "../../system/breaks.ts";
import { limitInlining } from "../../system/v8-limits.ts";
import { type Block, emptyBlock, iterate, keyUses } from "../check/block.ts";
import { Checker, type ScanOptions } from "../check/checker.ts";
import { ScanResult } from "../index/scan-result.ts";
import * as frames from "../input/frames.ts";
import { type LineStart, readRange, ShrunkSourceError, type Source } from "../input/source.ts";
import { maxTextBytes } from "../rules/file-rules.ts";
import { PositionCounter } from "../rules/positions.ts";
import { Problems, type Reporter, reportSyntaxFault } from "../rules/problems.ts";

const withReader = cacheReader(keyUses);

interface ScannedText extends Span {
  node: number | undefined;
  fault: () => SyntaxFault;
  isLast: boolean;
}

export class Scanner {
  readonly result: ScanResult;
  readonly #source: Source;
  readonly #options: ScanOptions;
  readonly #checker: Checker;
  #line = 1;
  #isDocument = false;
  readonly #breaks: Breaks;

  constructor(source: Source, options: ScanOptions) {
    this.result = options.result;
    this.#source = source;
    this.#options = options;
    this.#checker = new Checker(source.name, options);
    this.#breaks = new Breaks(options.signal);
  }

  /** @throws ShrunkSourceError, or the reason of an aborted signal */
  async scanFrame(frame: frames.Frame): Promise<void> {
    if (frame.kind === "lines") {
      for (const work of this.#scanPieces(frame)) if (this.#breaks.isDue(work)) await this.#breaks.take();
      return;
    }
    this.#isDocument = frame.kind === "document";
    await this.#scanLong(frame);
    this.#line++;
  }

  scanLines(lines: frames.Lines): void {
    iterate(this.#scanPieces(lines));
  }

  /**
   * Scans pieces that fit in the processor's cache, and yields the work of each (`Breaks`). Frames are larger, so
   * that V8 does not optimize their loops.
   */
  *#scanPieces({ bytes, start, isLast }: frames.Lines) {
    for (let from = 0; from < bytes.length; ) {
      const cut = from + frames.cachedBytes < bytes.length ? bytes.indexOf(newline, from + frames.cachedBytes) + 1 : 0;
      const end = cut > 0 ? cut : bytes.length;
      const piece = { bytes: bytes.subarray(from, end), start: start + from, isLast: isLast && end === bytes.length };
      const checked = withReader((reader) => this.#checkLines(piece, reader));
      from += checked.bytes;
      yield checked.bytes + checked.lines * bytesPerStep;
    }
  }

  #checkLines({ bytes, start, isLast }: Omit<frames.Lines, "kind">, reader: JsonReader) {
    const isClean = isUtf8(bytes);
    const after = reader.readLines(bytes.includes(byteOrderMark) ? blankOutByteOrderMarks(bytes) : bytes);
    const table = reader.viewTable();
    const positions = new PositionCounter({ bytes, start, line: this.#line });
    const block = { table, start, positions, reader };
    const { length } = table.words;
    let lines = 0;
    for (let root = 0; root < length; root = nodeAfter(table, root)) {
      lines++;
      const isJson = endOf(table, root) > 0;
      if (isJson && isClean && !this.#source.originals) {
        iterate(this.#checker.check(block, root));
        positions.skip(startOf(table, root), endOf(table, root));
        continue;
      }
      const lineEnd = isJson ? endOf(table, root) : endOf(table, root + nodeSize);
      const text = {
        node: isJson ? root : undefined,
        start: startOf(table, root),
        end: trimmedEnd(table.bytes, lineEnd),
        fault: () => reader.faultOf(table, root),
        isLast: isLast && lineEnd === bytes.length,
      };
      iterate(this.#checkText(block, text));
    }
    this.#line = positions.mark(after);
    return { bytes: after, lines };
  }

  #checkText(block: Block, { node, start, end, fault, isLast }: ScannedText): Iterable<number> {
    const line = block.positions.mark(start);
    const bytes = block.table.bytes.subarray(start, end);
    const isBroken = this.#source.originals?.isBroken(line) === true;
    const isUnclean = !isUtf8(bytes);
    if (node !== undefined && !isBroken && !isUnclean) return this.#checker.check(block, node);
    let faultAt = 0;
    if (!isBroken && isUnclean) {
      faultAt = findInvalidByte(bytes);
      this.#reporterAt(block, start + faultAt)("not-utf-8", undefined);
    } else if (!isBroken) {
      const syntaxFault = fault();
      faultAt = syntaxFault.at - start;
      const report = this.#reporterAt(block, syntaxFault.at);
      const inText = { ...syntaxFault, at: faultAt };
      reportSyntaxFault({ bytes, fault: inText, isLast, isDocument: this.#isDocument }, report);
    }
    this.#checker.addUnreadable(block, { start, end }, faultAt);
    return [];
  }

  async #scanLong(frame: frames.LongText) {
    const { start, end } = frame;
    const text = { start, end, line: this.#line };
    if (end - start > frames.blockBytes && (await scanArray(this.#source, text, this.#options))) return;
    if (end - start <= maxTextBytes) return await this.#scanWhole(frame);
    const block = { ...emptyBlock, start, positions: new PositionCounter({ ...text, bytes: emptyTable.bytes }) };
    const isDocument = this.#isDocument;
    if (!isDocument) this.#reporterAt(block, 0)("text-too-long", { isDocument });
    else this.result.problems.report("text-too-long", { isDocument }, { file: this.#source.name });
    this.#checker.addUnreadable(block, { start: 0, end: 0 });
  }

  async #scanWhole({ start, end, isLast }: frames.LongText) {
    const reader = new JsonReader(keyUses);
    const buffer = reader.reserve(end - start);
    for (let at = 0; at < buffer.length; at += frames.blockBytes) {
      const piece = buffer.subarray(at, at + frames.blockBytes);
      if (this.#source.bytes.read(piece, start + at) < piece.length) throw new ShrunkSourceError();
      if (this.#breaks.isDue(4 * piece.length)) await this.#breaks.take();
    }
    const bom = bomLength(buffer);
    const content = buffer.subarray(bom, trimmedEnd(buffer, buffer.length));
    const span = { start: skipWhite(content, 0), end: content.length };
    if (span.start >= span.end) return;
    const isClean = isUtf8(content);
    await this.#breaks.take();
    const isJson = isClean && (await reader.readLong(content, this.#breaks));
    await this.#breaks.take();
    // After `reader.read`, the text can be in new memory, so `content` may point to old memory.
    const table = isJson
      ? reader.viewTable()
      : new JsonTable(isClean ? reader.reserve(span.end) : content, emptyTable.words);
    const origin = { start: start + bom, line: this.#line, unitsBefore: () => Math.min(1, bom) };
    const positions = new PositionCounter({ ...origin, bytes: table.bytes });
    const block = { table, reader, start: origin.start, positions };
    const text = { ...span, node: isJson ? 0 : undefined, fault: () => reader.fault(), isLast };
    for (const work of this.#checkText(block, text)) if (this.#breaks.isDue(work)) await this.#breaks.take();
  }

  #reporterAt(block: Block, at: number): Reporter {
    const { name: file } = this.#source;
    const { problems } = this.result;
    return (rule, data) => problems.report(rule, data, () => ({ file, ...block.positions.locate(at), path: [] }));
  }
}

/** The scan of a smaller source ends before V8 has optimized much. */
const minOptimizedBytes = 2 ** 20;

/** @throws ShrunkSourceError, or the reason of an aborted signal */
export const scanSource = async (
  source: Source,
  options: ScanOptions & { signal: AbortSignal },
  onRead: (bytes: number) => void,
): Promise<void> => {
  const { bytes } = source;
  const { signal } = options;
  const scanner = new Scanner(source, options);
  if (bytes.size >= minOptimizedBytes) limitInlining();
  for await (const frame of frames.readFrames(bytes, { start: frames.findTextStart(bytes), signal })) {
    await scanner.scanFrame(frame);
    onRead(frame.kind === "lines" ? frame.start + frame.bytes.length : frame.end);
  }
  onRead(bytes.size);
};

/** In concatenated files, any line can begin with a byte order mark. */
const byteOrderMark = Buffer.from("\ufeff");

const blankOutByteOrderMarks = (original: Buffer): Buffer => {
  const bytes = Buffer.from(original);
  for (let at = bytes.indexOf(byteOrderMark); at >= 0; at = bytes.indexOf(byteOrderMark, at + 1)) {
    if (at === 0 || bytes[at - 1] === newline) bytes.fill(" ", at, at + byteOrderMark.length);
  }
  return bytes;
};

const findInvalidByte = (bytes: Buffer) => {
  const decoded = Buffer.from(bytes.toString("utf8"));
  let end = 0;
  while (bytes[end] === decoded[end]) end++;
  // The first difference can be inside a character.
  while (!isUtf8(bytes.subarray(0, end))) end--;
  return end;
};

/** The maximum white space before and after a long array. */
const maxAroundBytes = 2 ** 16;

/** If the text is not a valid array, returns false and adds nothing to `result`. */
const scanArray = async (source: Source, text: Span & LineStart, options: ScanOptions) => {
  const { problems, parts } = options.result;
  const result = new ScanResult(new Problems(problems.strictness), parts);
  const removeParts = parts.mark();
  let isArray = false;
  try {
    isArray = await scanElements(source, text, { ...options, result });
  } finally {
    if (!isArray) removeParts();
  }
  if (isArray) options.result.merge(result);
  return isArray;
};

/** Returns false if the text is not a valid array. Elements before a fault are then in `result`. */
const scanElements = async ({ bytes, name }: Source, { start, end, line }: Span & LineStart, options: ScanOptions) => {
  const head = await readRange(bytes, { start, length: Math.min(maxAroundBytes, end - start) });
  const bracket = skipWhite(head, 0);
  if (head[bracket] !== openBracket) return false;
  const checker = new Checker(name, options);
  const reader = new JsonReader(keyUses);
  const firstLine = new PositionCounter({ bytes: head, start, line }).mark(bracket);
  const range = { start: start + bracket + 1, end, line: firstLine };
  const breaks = new Breaks();
  let count = 0;
  for await (const part of frames.readElements(bytes, range, { reader, isTolerant: false, signal: options.signal })) {
    const { table, restAt, fault, isEnd, positions } = part;
    if (fault || !isUtf8(table.bytes.subarray(0, restAt))) return false;
    const block = { table, reader, start: part.start, positions };
    for (let node = 0; node < table.words.length; node = nodeAfter(table, node))
      for (const work of checker.check(block, node, count++)) if (breaks.isDue(work)) await breaks.take();
    if (!isEnd) continue;
    const after = part.start + restAt + 1;
    if (end - after > maxAroundBytes) return false;
    const rest = await readRange(bytes, { start: after, length: end - after });
    return skipWhite(rest, 0) === rest.length;
  }
  return false;
};
