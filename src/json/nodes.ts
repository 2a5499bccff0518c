/** Goes over JSON once: says whether it is JSON, and where all of its values stand, so that any is found without another look at the others. */
import { faultIn } from "./fault.ts";
import { program } from "./nodes-program.ts";
import {
  backslash,
  closeBrace,
  closeBracket,
  colon,
  comma,
  endOfValue,
  openBrace,
  openBracket,
  type Span,
  skipWhite,
} from "./walk.ts";

/** Where the values of a text stand, in their order, and before those of objects their keys. */
export interface Nodes {
  /**
   * Three numbers each: where it starts and ends, and which node follows behind all that is inside of it; of a key, whether
   * its bytes are its characters.
   */
  readonly table: Int32Array;
  /** Where in the table the first stands; nodes are counted from there. Other texts' are around them. */
  readonly base: number;
  /** Numbers of all of them. */
  readonly length: number;
}

/** Numbers of a node. */
export const nodeSize = 3;

/** The nodes of one value with nothing but white space around it; undefined where `JSON.parse` would not take it. */
export const nodesOf = (bytes: Uint8Array): Nodes | undefined => {
  opened ??= { reader: NodeReader.open() };
  const { reader } = opened;
  const nodes = reader === undefined ? walkedNodes(bytes) : reader.read(bytes) ? reader.nodes() : undefined;
  // What was taken for one large text is given back.
  if (reader !== undefined && reader.size > largestKept) opened = undefined;
  return nodes;
};

let opened: { readonly reader: NodeReader | undefined } | undefined;
const largestKept = 2 ** 26;

/** The same in a table of their own: for a text that is kept when those around it are gone. */
export const alone = ({ table, base, length }: Nodes): Nodes => ({
  table: table.slice(base, base + length),
  base: 0,
  length,
});

/** Numbers that are made room for at once: for a table a text, Node takes longer than for what stands in it. */
const roomLength = 2 ** 16;

/** The table that the next text is written into, and how much of it is taken. */
let room = new Int32Array(roomLength);
let taken = 0;

/** A program at work that goes over texts (kernel/texts.ts). */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Where a text is written to. */
  input(): number;
  /** Where what it tells of a text stands (`told`). */
  told(): number;
  read(length: number): number;
}

/** What `read` gives, and the words that it tells of a text (kernel/texts.ts). */
const [noJson, isTooMuch] = [0, 2];
const told = { table: 0, length: 1 };

/** Node has it, and its types don't. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: Exports };
};

const pageBytes = 2 ** 16;
const wordBytes = 4;

/** Bytes behind a text that may be looked at, in vain. */
const spareBytes = 64;

/** Goes over texts, one after the other. */
class NodeReader {
  readonly #exports: Exports;
  readonly #input: number;
  readonly #told: number;
  #bytes: Buffer;
  #words: Int32Array;
  /** The text that was gone over last, where it was too large for the program. */
  #walked: Nodes | undefined;

  private constructor(module: object) {
    this.#exports = new WebAssembly.Instance(module, {}).exports;
    this.#input = this.#exports.input();
    this.#told = this.#exports.told() / wordBytes;
    this.#bytes = Buffer.from(this.#exports.memory.buffer);
    this.#words = new Int32Array(this.#exports.memory.buffer);
  }

  /** Undefined where there is no WebAssembly, or no room for it: texts are gone over without it then. */
  static open(): NodeReader | undefined {
    try {
      return program === "" ? undefined : new NodeReader(new WebAssembly.Module(Buffer.from(program, "base64")));
    } catch {
      return undefined;
    }
  }

  /** Bytes of the memory that it has. */
  get size(): number {
    return this.#bytes.length;
  }

  /** Goes over a text; false where it is no JSON. */
  read(bytes: Uint8Array): boolean {
    this.#walked = undefined;
    if (!this.#hasRoom(this.#input + bytes.length + spareBytes)) return this.#walk(bytes);
    this.#bytes.set(bytes, this.#input);
    const found = this.#exports.read(bytes.length);
    // Where memory grew, what was known of it is gone.
    if (this.#bytes.length === 0) this.#look();
    return found === isTooMuch ? this.#walk(bytes) : found !== noJson;
  }

  nodes(): Nodes {
    if (this.#walked !== undefined) return this.#walked;
    const table = this.#factOf(told.table) / wordBytes;
    const own = this.#words.subarray(table, table + this.#factOf(told.length) / wordBytes);
    if (taken + own.length > room.length) {
      room = new Int32Array(Math.max(roomLength, own.length));
      taken = 0;
    }
    const base = taken;
    room.set(own, base);
    taken += own.length;
    return { table: room, base, length: own.length };
  }

  #factOf(fact: number): number {
    return this.#words[this.#told + fact] ?? 0;
  }

  #walk(bytes: Uint8Array): boolean {
    this.#walked = walkedNodes(bytes);
    return this.#walked !== undefined;
  }

  /** Has memory up to there; false where there is none. */
  #hasRoom(end: number): boolean {
    const more = end - this.#bytes.length;
    if (more <= 0) return true;
    try {
      this.#exports.memory.grow(Math.ceil(more / pageBytes));
    } catch {
      return false;
    }
    this.#look();
    return true;
  }

  /** Looks at the memory anew where it grew. */
  #look(): void {
    const { buffer } = this.#exports.memory;
    this.#bytes = Buffer.from(buffer);
    this.#words = new Int32Array(buffer);
  }
}

/** The same without the program. */
const walkedNodes = (bytes: Uint8Array): Nodes | undefined => {
  if (faultIn(bytes) !== undefined) return undefined;
  const table: number[] = [];
  const open: number[] = [];
  let isKey = false;
  for (let at = skipWhite(bytes, 0); at < bytes.length; at = skipWhite(bytes, at)) {
    const byte = bytes[at];
    if (byte === openBrace || byte === openBracket) {
      open.push(table.length);
      table.push(at++, 0, 0);
      isKey = byte === openBrace;
    } else if (byte === closeBrace || byte === closeBracket) {
      const node = open.pop() ?? 0;
      [table[node + 1], table[node + 2]] = [++at, table.length];
    } else if (byte === comma || byte === colon) {
      isKey = byte === comma && bytes[table[open.at(-1) ?? 0] ?? 0] === openBrace;
      at++;
    } else {
      const end = endOfValue(bytes, at);
      table.push(at, end, isKey ? Number(isPlain(bytes, { start: at, end })) : table.length + nodeSize);
      at = end;
    }
  }
  return { table: Int32Array.from(table), base: 0, length: table.length };
};

/** Whether the bytes of a string are its characters: it has no escapes, and nothing beyond ASCII. */
const isPlain = (bytes: Uint8Array, { start, end }: Span): boolean =>
  bytes.subarray(start, end).every((byte) => byte < 0x80 && byte !== backslash);
