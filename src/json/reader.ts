/** Reads JSON with the WebAssembly kernel (src/json/kernel/index.ts). */
import { Failure } from "../failure.ts";
import type { Breaks } from "../system/breaks.ts";
import { withTieringBudget } from "../system/v8-limits.ts";
import { toBuffer } from "./json-bytes.ts";
import { kernelProgram } from "./kernel-code.ts";

/** The order follows the numbers in src/json/kernel/faults.ts. */
const faults = [
  "end",
  "more",
  "word",
  "single-quote",
  "comment",
  "comma",
  "control",
  "escape",
  "number",
  "character",
] as const;

export type Fault = (typeof faults)[number];

/** `at` is a byte offset. */
export type SyntaxFault = Readonly<{ at: number; fault: Fault }>;

/** The number of 32-bit words per node. */
export const nodeSize = 4;

/** Ids of keys, from 1. */
export const keyIds = new Map<string, number>();

/** `maxRegistered` of src/json/kernel/keys.ts. */
export const maxKeys = 256;

/** Returns an id that is valid in all later tables. */
export const registerKey = (key: string) => {
  const id = keyIds.get(key) ?? keyIds.size + 1;
  if (id > maxKeys) throw new RangeError(`${key} is more than the ${maxKeys} keys that the kernel accepts`);
  keyIds.set(key, id);
  return id;
};

/** Finds the fault in bytes that `JSON.parse` refused. */
export const requireFault = (bytes: Uint8Array) => findFault(bytes) ?? { at: 0, fault: "character" };

/** Returns undefined for valid JSON. */
export const findFault = (bytes: Uint8Array) =>
  withReader((reader) => (reader.read(bytes) ? undefined : reader.fault()));

export const readTable = (bytes: Uint8Array) =>
  withReader((reader) => (reader.read(bytes) ? reader.copyTable(bytes) : undefined));

export const cacheReader = (uses?: KeyUses) => {
  let cached: JsonReader | undefined;
  return <Result>(work: (reader: JsonReader) => Result) => {
    cached ??= new JsonReader(uses);
    const result = work(cached);
    // WebAssembly memory never shrinks.
    if (cached.size > maxCachedBytes) cached = undefined;
    return result;
  };
};

const maxCachedBytes = 2 ** 26;

const withReader = cacheReader();

type ResultName = "table" | "tableEnd" | "rest" | "faultAt" | "fault" | "generation";

interface KernelExports extends Readonly<Record<ResultName, { readonly value: number }>> {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  input(): number;
  readText(length: number, isSkipping: boolean, isPausing: boolean): number;
  continueText(length: number): number;
  readLines(length: number): number;
  beginElements(): void;
  readElements(length: number, isLast: boolean, isTolerant: boolean): number;
  fingerprint(start: number, end: number): number;
  sampledDigest(node: number): number;
  countEqual(a: number, b: number, length: number): number;
  findEnding(from: number, end: number): number;
  addEnding(bytes: number): void;
  setKeyUse(id: number, use: number): void;
  limitTable(bytes: number): void;
  keyAddress(): number;
  addKey(length: number): void;
}

const [jsonResult, outOfMemoryResult, incompleteResult, pausedResult] = [1, 2, 3, 4];

/** Node's types do not declare WebAssembly. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: KernelExports };
};

let compiled: object | undefined;

/** V8 optimizes the kernel after about 1 MB of input. With its default budget, it does after 40 kB. */
const kernelBudget = 40_000_000;

const pageBytes = 2 ** 16;
const wordBytes = 4;
/** Space after a text for wide reads and for the alignment of the table. */
const readAheadBytes = 128;

export interface KeyUses {
  /** Keys whose values become single nodes. Without `skipsLeaves`, `read` ignores these keys. */
  readonly leafKeys?: readonly string[];
  /** Keys of lists in leaves. The detail of a leaf is minus the number of their elements (`json.countListed`). */
  readonly countedKeys?: readonly string[];
  /** The texts that become part of a shape, by key. A text without an id at such a key prevents a shape. */
  readonly shapeTexts?: Readonly<Record<string, Iterable<string>>>;
  /** The texts of three bytes that `findEnding` finds. Each contains one of the bytes that endings.ts lists. */
  readonly endings?: readonly string[];
  /** Keys of the members of an object that `sampledDigest` digests. */
  readonly sampledKeys?: readonly string[];
  /** Keys of members in sampled members that `sampledDigest` ignores, as it ignores leaves. */
  readonly unsampledKeys?: readonly string[];
  /** The maximum number of nodes. Default: as many as memory has space for. */
  readonly maxNodes?: number | undefined;
}

/** Tables of one source have comparable shapes, which the texts of `textKeys` divide. */
export type ShapeSource = Readonly<{ textKeys: ReadonlySet<string> }>;

/**
 * A JSON text with its nodes. The node of a key is before the node of its value.
 *
 * A class keeps the types of its fields. V8 forgets the types of an object literal when it runs a second time.
 */
export class JsonTable {
  readonly bytes: Buffer;
  /**
   * A node has four words: the start, the end (exclusive), the node after the content (0 for a key), and a detail.
   * Start and end are byte offsets. The number of a node is the index of its first word.
   *
   * The detail of a key is its id. The detail of a string is its number of code points. The detail of an object is its
   * shape, or 0; that of a leaf is described at `KeyUses.countedKeys`. An array of only numbers is a single node, whose
   * detail is the count of the numbers.
   */
  readonly words: Int32Array;
  /** Shapes are comparable between tables with the same object here. */
  readonly shapes: ShapeSource | undefined;

  constructor(bytes: Buffer, words: Int32Array, shapes?: ShapeSource) {
    this.bytes = bytes;
    this.words = words;
    this.shapes = shapes;
  }
}

const useNumbers = { leaf: 1, shapeText: 2, sampled: 4, unsampled: 8, counted: 16 };

export class JsonReader {
  readonly #exports: KernelExports;
  readonly #input: number;
  #bytes = Buffer.alloc(0);
  #words = new Int32Array();
  #keyCount = 0;
  #length = 0;
  #shapes: ShapeSource;
  #generation = 0;

  /** @throws Failure `memory-unavailable` */
  constructor(uses: KeyUses = {}) {
    const { leafKeys = [], countedKeys = [], sampledKeys = [], unsampledKeys = [] } = uses;
    const { shapeTexts = {}, endings = [], maxNodes } = uses;
    const compile = () => new WebAssembly.Module(Buffer.from(kernelProgram, "base64"));
    compiled ??= withTieringBudget(kernelBudget, compile);
    try {
      // V8 reserves gigabytes of addresses, so a limit on virtual memory causes a RangeError.
      this.#exports = new WebAssembly.Instance(compiled, {}).exports;
    } catch (thrown) {
      throw thrown instanceof RangeError ? memoryUnavailable(thrown.message) : thrown;
    }
    this.#input = this.#exports.input();
    this.#shapes = { textKeys: new Set(Object.keys(shapeTexts)) };
    if (maxNodes !== undefined) this.#exports.limitTable(maxNodes * nodeSize * wordBytes);
    for (const text of endings) this.#exports.addEnding(Buffer.from(text).readUIntLE(0, text.length));
    for (const key of leafKeys) this.#exports.setKeyUse(registerKey(key), useNumbers.leaf);
    for (const key of countedKeys) this.#exports.setKeyUse(registerKey(key), useNumbers.counted);
    for (const key of sampledKeys) this.#exports.setKeyUse(registerKey(key), useNumbers.sampled);
    for (const key of unsampledKeys) this.#exports.setKeyUse(registerKey(key), useNumbers.unsampled);
    for (const [key, texts] of Object.entries(shapeTexts)) {
      this.#exports.setKeyUse(registerKey(key), useNumbers.shapeText);
      for (const text of texts) registerKey(text);
    }
  }

  get size() {
    return this.#bytes.length;
  }

  read(bytes: Uint8Array, { skipsLeaves = false } = {}) {
    this.#load(bytes);
    return this.#checkResult(this.#exports.readText(bytes.length, skipsLeaves, false)) === jsonResult;
  }

  /** Reads a long text without the content of leaves. Other tasks run. */
  async readLong(bytes: Uint8Array, breaks: Breaks) {
    this.#load(bytes);
    let result = this.#exports.readText(this.#length, true, true);
    for (; result === pausedResult; result = this.#exports.continueText(this.#length)) await breaks.take();
    return this.#checkResult(result) === jsonResult;
  }

  /** Reads the first lines. Returns the byte after them. */
  readLines(bytes: Uint8Array) {
    this.#load(bytes);
    this.#checkResult(this.#exports.readLines(bytes.length));
    return this.#result("rest") - this.#input;
  }

  beginElements() {
    this.#exports.beginElements();
  }

  /**
   * Reads the complete elements in a piece of a list. The first piece begins after the opening bracket. The next piece
   * begins at `restAt`. With `isTolerant`, an element that is not JSON becomes two nodes for `faultOf`.
   */
  readElements(bytes: Uint8Array, { isLast, isTolerant }: { readonly isLast: boolean; readonly isTolerant: boolean }) {
    this.#load(bytes);
    const result = this.#checkResult(this.#exports.readElements(bytes.length, isLast, isTolerant));
    const fault = result === jsonResult || result === incompleteResult ? undefined : this.fault();
    return { restAt: this.#result("rest") - this.#input, isEnd: result === jsonResult, fault };
  }

  /** Returns memory for a text that is read in place. The memory is not cleared. */
  reserve(length: number): Buffer {
    this.#grow(length);
    return this.#bytes.subarray(this.#input, this.#input + length);
  }

  #grow(length: number) {
    this.#refreshViews();
    const missing = this.#input + length + readAheadBytes - this.#bytes.length;
    if (missing > 0) {
      this.#exports.memory.grow(Math.ceil(missing / pageBytes));
      this.#refreshViews();
    }
  }

  /** Returns a table that is valid until the next read or reservation. */
  viewTable(): JsonTable {
    const words = this.#words.subarray(this.#result("table") / wordBytes, this.#result("tableEnd") / wordBytes);
    const bytes = this.#bytes.subarray(this.#input, this.#input + this.#length);
    return new JsonTable(bytes, words, this.#shapes);
  }

  /** Returns the rare byte of the first text of `endings`, or `end`. Rarely, it is a byte of another text. */
  findEnding(from: number, end: number) {
    return this.#exports.findEnding(this.#input + from, this.#input + end) - this.#input;
  }

  fingerprintOf(start: number, end: number) {
    return this.#exports.fingerprint(this.#input + start, this.#input + end) >>> 0;
  }

  /** Digests the sampled members of an object in the last table. Returns a whole number below 2^51. */
  sampledDigest(object: number) {
    return this.#exports.sampledDigest(object);
  }

  /** Counts the bytes before the first difference. */
  countEqual(a: number, b: number, length: number) {
    return this.#exports.countEqual(this.#input + a, this.#input + b, length);
  }

  /** @param bytes the text, which the caller must not overwrite */
  copyTable(bytes: Uint8Array): JsonTable {
    const start = this.#result("table");
    // `allocUnsafe` is fast, because small buffers share memory.
    const copy = Buffer.allocUnsafe(this.#result("tableEnd") - start);
    this.#bytes.copy(copy, 0, start, start + copy.length);
    const words = new Int32Array(copy.buffer, copy.byteOffset, copy.length / wordBytes);
    return new JsonTable(toBuffer(bytes), words, this.#shapes);
  }

  fault(): SyntaxFault {
    return toFault(this.#result("fault"), this.#result("faultAt") - this.#input);
  }

  /** Expects the root of a line or element that is not JSON. Such a root has the end 0. */
  faultOf({ words }: Pick<JsonTable, "words">, root: number): SyntaxFault {
    return toFault(words[root + nodeSize - 1] ?? 0, words[root + nodeSize] ?? 0);
  }

  #result(name: ResultName) {
    return this.#exports[name].value >>> 0;
  }

  #load(bytes: Uint8Array) {
    this.#grow(bytes.length);
    this.#length = bytes.length;
    if (bytes.buffer !== this.#bytes.buffer || bytes.byteOffset !== this.#input) this.#bytes.set(bytes, this.#input);
    if (this.#keyCount < keyIds.size) {
      for (const key of [...keyIds.keys()].slice(this.#keyCount)) {
        this.#exports.addKey(this.#bytes.write(key, this.#exports.keyAddress(), "latin1"));
      }
      this.#keyCount = keyIds.size;
    }
  }

  /** @throws RangeError if memory is full, or for more than `maxNodes` */
  #checkResult(result: number) {
    if (result === outOfMemoryResult) throw new RangeError("the JSON has too many values");
    this.#refreshViews();
    if (this.#result("generation") !== this.#generation) {
      this.#generation = this.#result("generation");
      this.#shapes = { ...this.#shapes };
    }
    return result;
  }

  /** When memory grows, old views become empty. */
  #refreshViews() {
    if (this.#bytes.length > 0) return;
    const { buffer } = this.#exports.memory;
    this.#bytes = Buffer.from(buffer);
    this.#words = new Int32Array(buffer);
  }
}

const toFault = (kind: number, at: number) => ({ at, fault: faults[kind - 1] ?? "character" });

const memoryUnavailable = (reason: string) =>
  new Failure("internal", "memory-unavailable", `cannot reserve virtual memory to read JSON: ${reason}`, {
    hint: "raise the limit on virtual memory: ulimit -v unlimited",
  });
