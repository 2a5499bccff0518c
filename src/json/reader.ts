/** Opens the program that reads JSON (src/json/kernel/index.ts), and hands it bytes. */
import { Failure } from "../failure.ts";
import { keyIds, registerKey } from "./keys.ts";
import { program } from "./program.ts";
import type { JsonTable } from "./table.ts";

/** What is wrong where JSON ends to be JSON, in the order of the program's numbers. */
const faults = [
  /** The text ends before its value does. */
  "end",
  /** Another value, or anything else, after the value. */
  "more",
  /** A name where a value should be, such as `NaN`. */
  "word",
  "single-quote",
  "comment",
  /** A comma with no value after it. */
  "comma",
  /** A control character inside a string. */
  "control",
  "escape",
  "number",
  "character",
] as const;

export type Fault = (typeof faults)[number];

/** A fault, and the offset of the byte it stands at. */
export interface SyntaxFault {
  readonly at: number;
  readonly fault: Fault;
  /** Where the string, number or word that holds the fault begins; the fault's own place where none does. */
  readonly token: number;
}

/** Where the values of a text stand, in their order, and before those of objects their keys. */
export interface Table {
  /**
   * Four numbers each: where it starts and ends; which node follows behind all that is inside of it, 0 for a key; and of a
   * key its id, of a string its characters, of an array of nothing but numbers how many they are: it is one node; of an object its
   * shape: those of one shape have the same keys, and values of the same kinds, in the same order. 0 for an object without one.
   */
  readonly words: Int32Array;
  /** Where in the words the first stands; nodes are counted from there. Other texts' are around them. */
  readonly base: number;
  /** Numbers of all of them. */
  readonly length: number;
  /** The largest id that a key can have. */
  readonly maxKeyId: number;
}

/** Numbers of a node. */
export const nodeSize = 4;

/** The fault of bytes that `JSON.parse` refused. */
export const requireFault = (bytes: Uint8Array): SyntaxFault =>
  findFault(bytes) ?? { at: 0, fault: "character", token: 0 };

/** The first fault in bytes that should be one JSON value; undefined if `JSON.parse` would take them. */
export const findFault = (bytes: Uint8Array): SyntaxFault | undefined =>
  withReader((reader) => (reader.read(bytes) ? undefined : reader.fault()));

/** The table of one value with nothing but white space around it; undefined if `JSON.parse` would not take it. */
export const readTable = (bytes: Uint8Array): Table | undefined =>
  withReader((reader) => (reader.read(bytes) ? reader.copyTable() : undefined));

const withReader = <Result>(use: (reader: JsonReader) => Result): Result => {
  cachedReader ??= new JsonReader();
  const result = use(cachedReader);
  // What was taken for one large text is given back.
  if (cachedReader.size > maxCachedBytes) cachedReader = undefined;
  return result;
};

let cachedReader: JsonReader | undefined;
const maxCachedBytes = 2 ** 26;

/** Numbers that are made room for at once: for a table a text, Node takes longer than for what stands in it. */
const sharedLength = 2 ** 16;

/** The table that the next text is written into, and how much of it is taken. */
let sharedWords = new Int32Array(sharedLength);
let sharedUsed = 0;

/** The program at work. */
interface KernelExports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Where a text is written to. */
  input(): number;
  /** Where what it tells of a text stands (`told`). */
  told(): number;
  read(length: number, isSkipping: boolean): number;
  readBlock(length: number): number;
  beginElements(): void;
  readList(length: number, isLast: boolean, isTolerant: boolean): number;
  fingerprint(start: number, end: number): number;
  findRun(from: number, end: number, length: number): number;
  setKeyUse(id: number, use: number): void;
  keyRoom(): number;
  addKey(length: number): number;
}

/** What reading gives, and the words that it tells of a text (src/json/kernel/index.ts). */
const [isJson, isOutOfMemory, isIncomplete] = [1, 2, 3];
const resultFields = { table: 0, length: 1, fault: 2, faultAt: 3, token: 4, rest: 5, generation: 6 };

/** What was read of a list. */
interface ListResult {
  /** Bytes that were read: the next piece begins with what follows them. */
  readonly length: number;
  /** True if they are all up to the closing bracket. */
  readonly isEnd: boolean;
  /** Why the list cannot be read further. */
  readonly fault: SyntaxFault | undefined;
}

/** Node has it, and its types don't. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: KernelExports };
};

let compiled: object | undefined;

const pageBytes = 2 ** 16;
const wordBytes = 4;

/** Bytes behind a text that may be looked at, in vain. */
const readAheadBytes = 128;

/** How values of keys are read in tables of lines and elements. */
export interface KeyUses {
  /** Keys whose values are one node each, whatever is inside of them. */
  readonly leafKeys?: readonly string[];
  /** Keys whose texts are a part of the shape of their objects, and those texts; with another text an object has no shape. */
  readonly choices?: Readonly<Record<string, Iterable<string>>>;
}

/** The same for the program. */
const keyUses = { leaf: 1, choice: 2 };

/** Reads texts, one after the other. */
export class JsonReader {
  readonly #exports: KernelExports;
  readonly #input: number;
  readonly #resultStart: number;
  #bytes: Buffer;
  #words: Int32Array;
  /** Keys that the program knows. */
  #keys = 0;
  /** Bytes of the text that was read last. */
  #length = 0;
  /** Stands for the shapes as long as their numbers mean the same. */
  #shapes = {};
  #generation = 0;

  /** @throws Failure where a limit on memory keeps it from starting */
  constructor({ leafKeys = [], choices = {} }: KeyUses = {}) {
    compiled ??= new WebAssembly.Module(Buffer.from(program, "base64"));
    try {
      // V8 reserves some gigabytes of addresses for its memory.
      this.#exports = new WebAssembly.Instance(compiled, {}).exports;
    } catch (thrown) {
      throw thrown instanceof RangeError ? memoryUnavailable(thrown.message) : thrown;
    }
    this.#input = this.#exports.input();
    this.#resultStart = this.#exports.told() / wordBytes;
    this.#bytes = Buffer.from(this.#exports.memory.buffer);
    this.#words = new Int32Array(this.#exports.memory.buffer);
    for (const key of leafKeys) this.#exports.setKeyUse(registerKey(key), keyUses.leaf);
    for (const [key, texts] of Object.entries(choices)) {
      this.#exports.setKeyUse(registerKey(key), keyUses.choice);
      for (const text of texts) registerKey(text);
    }
  }

  /** Bytes of the memory that it has. */
  get size(): number {
    return this.#bytes.length;
  }

  /** Reads a text; false if it is not JSON. */
  read(bytes: Uint8Array): boolean {
    this.#load(bytes);
    return this.#checkResult(this.#exports.read(bytes.length, false)) === isJson;
  }

  /** The same, with a table in which the values of leaf keys are leaves. */
  readDocument(bytes: Uint8Array): boolean {
    this.#load(bytes);
    return this.#checkResult(this.#exports.read(bytes.length, true)) === isJson;
  }

  /** Reads the lines of a block: in its table the root of each line that is not blank follows that of the one before. */
  readLines(bytes: Uint8Array): void {
    this.#load(bytes);
    this.#checkResult(this.#exports.readBlock(bytes.length));
  }

  /** Begins to read the elements of a list, which come in pieces. */
  beginElements(): void {
    this.#exports.beginElements();
  }

  /**
   * Reads the elements of a list that end in a piece, from after its bracket on. Their roots are one after the other.
   * @param isTolerant true if an element that is not JSON is in the table as such a line is, instead of ending the list
   */
  readElements(
    bytes: Uint8Array,
    { isLast, isTolerant }: { readonly isLast: boolean; readonly isTolerant: boolean },
  ): ListResult {
    this.#load(bytes);
    const found = this.#checkResult(this.#exports.readList(bytes.length, isLast, isTolerant));
    const fault = found === isJson || found === isIncomplete ? undefined : this.fault();
    return { length: this.#resultOf(resultFields.rest), isEnd: found === isJson, fault };
  }

  /** Room for a text of so many bytes, which can then be read where it is. What stands there already is kept. */
  reserve(length: number): Buffer {
    if (this.#bytes.length === 0) this.#refreshViews();
    const more = this.#input + length + readAheadBytes - this.#bytes.length;
    if (more > 0) {
      this.#exports.memory.grow(Math.ceil(more / pageBytes));
      this.#refreshViews();
    }
    return this.#bytes.subarray(this.#input, this.#input + length);
  }

  /** The text that was read last, and its table where it stands; valid until something else is read, or asks for room. */
  viewTable(): JsonTable {
    const table = this.#resultOf(resultFields.table) / wordBytes;
    const words = this.#words.subarray(table, table + this.#resultOf(resultFields.length) / wordBytes);
    const bytes = this.#bytes.subarray(this.#input, this.#input + this.#length);
    return { bytes, words, base: 0, maxKeyId: this.#keys, shapes: this.#shapes };
  }

  /**
   * Where the first run of at least so many letters, digits, `_`, `-` and `.` begins in bytes of the text that was read last, 16 or
   * more; the end if there is none.
   */
  findRun(from: number, end: number, length: number): number {
    return this.#exports.findRun(this.#input + from, this.#input + end, length) - this.#input;
  }

  /** A hash of bytes of the text that was read last: 32 bits, never 0. */
  fingerprintOf(start: number, end: number): number {
    return this.#exports.fingerprint(this.#input + start, this.#input + end) >>> 0;
  }

  /** The table of the text that was read last. */
  copyTable(): Table {
    const table = this.#resultOf(resultFields.table) / wordBytes;
    const own = this.#words.subarray(table, table + this.#resultOf(resultFields.length) / wordBytes);
    if (own.length > sharedLength) return { words: own.slice(), base: 0, length: own.length, maxKeyId: this.#keys };
    if (sharedUsed + own.length > sharedLength) {
      sharedWords = new Int32Array(sharedLength);
      sharedUsed = 0;
    }
    const base = sharedUsed;
    sharedWords.set(own, base);
    sharedUsed += own.length;
    return { words: sharedWords, base, length: own.length, maxKeyId: this.#keys };
  }

  /** The fault of a text that was found not to be JSON. */
  fault(): SyntaxFault {
    return toFault(
      this.#resultOf(resultFields.fault),
      this.#resultOf(resultFields.faultAt),
      this.#resultOf(resultFields.token),
    );
  }

  /** The fault of a line or an element that has no end in the table. */
  faultAt({ words, base }: Pick<Table, "words" | "base">, root: number): SyntaxFault {
    const [number = 0, at = 0, token = 0] = words.subarray(base + root + nodeSize - 1);
    return toFault(number, at, token);
  }

  #resultOf(fact: number): number {
    return (this.#words[this.#resultStart + fact] ?? 0) >>> 0;
  }

  /** Writes a text to where the program reads it, which knows all keys then. */
  #load(bytes: Uint8Array): void {
    const room = this.reserve(bytes.length);
    this.#length = bytes.length;
    if (bytes.buffer !== room.buffer || bytes.byteOffset !== room.byteOffset) room.set(bytes);
    if (this.#keys < keyIds.size) {
      for (const key of [...keyIds.keys()].slice(this.#keys)) {
        this.#exports.addKey(this.#bytes.write(key, this.#exports.keyRoom(), "latin1"));
      }
      this.#keys = keyIds.size;
    }
  }

  /** What the program found. @throws RangeError where it needs more memory than WebAssembly can have */
  #checkResult(found: number): number {
    if (found === isOutOfMemory) throw new RangeError("the JSON has too many values");
    // Where memory grew, what was known of it is gone.
    if (this.#bytes.length === 0) this.#refreshViews();
    if (this.#resultOf(resultFields.generation) !== this.#generation) {
      this.#generation = this.#resultOf(resultFields.generation);
      this.#shapes = {};
    }
    return found;
  }

  /** Looks at the memory anew where it grew. */
  #refreshViews(): void {
    const { buffer } = this.#exports.memory;
    this.#bytes = Buffer.from(buffer);
    this.#words = new Int32Array(buffer);
  }
}

/** A fault by its number. */
const toFault = (number: number, at: number, token: number): SyntaxFault => ({
  at,
  fault: faults[number - 1] ?? "character",
  token,
});

/** A limit on memory leaves no room for the program that reads JSON. */
const memoryUnavailable = (text: string): Failure => {
  const message = `reading JSON needs more virtual memory than this process may have: ${text}`;
  return new Failure("internal", "memory-unavailable", message, {
    hint: "raise the limit on virtual memory: ulimit -v unlimited",
  });
};
