/** A record of another tool's file, value by value: what each says and where it stands, so that it goes on as it was written. */

import type { Path } from "../check/rules/places.ts";
import { nodeSize, tableOf } from "../json/reader.ts";
import {
  afterOf,
  alone,
  endOf,
  firstOf,
  nodeOfKey,
  numbersOf,
  startOf,
  type Tabled,
  tabled,
  textOf,
} from "../json/table.ts";
import { openBrace, openBracket, quote, type Span } from "../json/walk.ts";
import { withoutNonFinite } from "./spelling.ts";

/** JSON that was read, and where it is from. */
export interface JsonText {
  readonly text: Tabled;
  /** Values that were asked for, by the places of their nodes. */
  readonly values: (Value | undefined)[];
  /** What the text is called where it stands beside the record. */
  readonly document: string | undefined;
  /** The value whose text it is; undefined of a record and of a document. */
  readonly holder: Value | undefined;
}

/** First bytes of values, which say what they are. */
const firstOfNull = 0x6e;
const firstOfTrue = 0x74;

/** The last of the bytes that numbers begin with: digits, and the minus before them. */
const digitNine = 0x39;

/** A value of a record. */
export class Value {
  readonly #in: JsonText;
  readonly #node: number;
  /** What holds it, and by which key or position. */
  readonly #holder: Value | undefined;
  readonly #key: string | number;
  #data: unknown;
  #text: string | undefined;
  #inner: Value | undefined;
  #items: readonly Value[] | undefined;
  #members: readonly (readonly [string, Value])[] | undefined;

  protected constructor(text: JsonText, node: number, holder?: Value, key: string | number = "") {
    this.#in = text;
    this.#node = node;
    this.#holder = holder;
    this.#key = key;
  }

  /** A whole record, or a document beside it that has a name; undefined where the bytes are no JSON. */
  static of(bytes: Buffer, document?: string): Value | undefined {
    return Value.#within(bytes, { document, holder: undefined });
  }

  /** The same of a record whose writer puts NaN and Infinity into JSON, as Python does: each is an empty object. */
  static ofPython(bytes: Buffer): Value | undefined {
    return Value.of(bytes) ?? Value.of(withoutNonFinite(bytes));
  }

  static #within(bytes: Buffer, from: Pick<JsonText, "document" | "holder">): Value | undefined {
    const table = tableOf(bytes);
    if (table === undefined) return undefined;
    const own = from.document === undefined ? table : alone(table);
    return new Value({ text: tabled(own, bytes), values: [], document: from.document, holder: from.holder }, 0);
  }

  /** The bytes that its span is of: the record's, or those of the JSON in a text. */
  get bytes(): Buffer {
    return this.#in.text.bytes;
  }

  /** The document beside the record that it is in; undefined where it is the record's own. */
  get document(): string | undefined {
    return this.#in.holder === undefined ? this.#in.document : this.#in.holder.document;
  }

  /** Parsed: numbers above 2^53 have lost digits here, and none in the bytes. */
  get data(): unknown {
    if (this.#data === undefined && !this.isNull) this.#data = this.text ?? JSON.parse(this.raw);
    return this.#data ?? null;
  }

  /** Where it stands in its bytes. */
  get span(): Span {
    return { start: startOf(this.#in.text, this.#node), end: endOf(this.#in.text, this.#node) };
  }

  /** As it was written. */
  get raw(): string {
    return this.#in.text.bytes.toString("utf8", startOf(this.#in.text, this.#node), endOf(this.#in.text, this.#node));
  }

  /** What it says, where it is a text. */
  get text(): string | undefined {
    if (!this.isText) return undefined;
    this.#text ??= textOf(this.#in.text, this.#node);
    return this.#text;
  }

  /** What it says, where it is a number. */
  get number(): number | undefined {
    return this.isNumber ? Number(this.raw) : undefined;
  }

  /** What the value of a key says, where it is a text. */
  textAt(key: string): string | undefined {
    return this.#child(key)?.text;
  }

  /** What the value of a key says, where it is a number. */
  numberAt(key: string): number | undefined {
    return this.#child(key)?.number;
  }

  /** Whether the value of a key is null. */
  isNullAt(key: string): boolean {
    const node = this.#nodeOf(key);
    return node !== undefined && firstOf(this.#in.text, node) === firstOfNull;
  }

  get isList(): boolean {
    return this.#first === openBracket;
  }

  get isObject(): boolean {
    return this.#first === openBrace;
  }

  /** Whether it is null. */
  get isNull(): boolean {
    return this.#first === firstOfNull;
  }

  get isText(): boolean {
    return this.#first === quote;
  }

  get isTrue(): boolean {
    return this.#first === firstOfTrue;
  }

  get isNumber(): boolean {
    return this.#first <= digitNine && this.#first !== quote;
  }

  /** Whether it is a number or a truth value: what metrics are. */
  get isMeasured(): boolean {
    return this.isFlat && !this.isNull && this.#first !== quote;
  }

  /** Whether it is neither a list nor an object. */
  get isFlat(): boolean {
    return !this.isList && !this.isObject;
  }

  /** Whether it is a text, a number or a truth value. */
  get isScalar(): boolean {
    return this.isFlat && !this.isNull;
  }

  /** The value of a key, the last of one that stands twice, or of a position; undefined where there is none or null. */
  get(...path: Path): Value | undefined {
    const [only] = path;
    if (path.length === 1 && only !== undefined) return this.#child(only);
    let found: Value | undefined = this;
    for (const key of path) found = found === undefined ? undefined : found.#child(key);
    return found;
  }

  /** The elements of a list, null ones too; none of anything else. */
  items(): readonly Value[] {
    if (!this.isList) return none;
    if (this.#items !== undefined) return this.#items;
    const end = afterOf(this.#in.text, this.#node);
    const items = end === this.#node + nodeSize ? this.#numbers() : [];
    for (let node = this.#node + nodeSize; node < end; node = afterOf(this.#in.text, node)) {
      items.push(this.#childAt(node, items.length));
    }
    this.#items = items;
    return items;
  }

  /** The elements of a list that is one node: of numbers, or of nothing. */
  #numbers(): Value[] {
    const own = { ...this.#in, text: numbersOf(this.#in.text, this.#node), values: [] };
    const count = own.text.words.length / nodeSize - 1;
    return Array.from({ length: count }, (_, at) => new Value(own, (at + 1) * nodeSize, this, at));
  }

  /** The keys and values of an object in their order, null ones too; none of anything else. */
  members(): readonly (readonly [string, Value])[] {
    if (!this.isObject) return [];
    if (this.#members !== undefined) return this.#members;
    const members: (readonly [string, Value])[] = [];
    const end = afterOf(this.#in.text, this.#node);
    for (let key = this.#node + nodeSize; key < end; key = afterOf(this.#in.text, key + nodeSize)) {
      const name = textOf(this.#in.text, key);
      members.push([name, this.#childAt(key + nodeSize, name)]);
    }
    const last = members.length > fewMembers || hasTwice(members) ? new Map(members) : undefined;
    this.#members = last === undefined || last.size === members.length ? members : [...last];
    return this.#members;
  }

  /** The JSON that its text holds; undefined where it is no text or holds none. */
  get inner(): Value | undefined {
    if (this.#inner === undefined && this.isText) {
      this.#inner = Value.#within(this.said, { document: undefined, holder: this });
    }
    return this.#inner;
  }

  /** The bytes of what its text says. */
  protected get said(): Buffer {
    return Buffer.from(this.text ?? "");
  }

  /** The JSON in its text that was looked at. */
  get innerSeen(): Value | undefined {
    return this.#inner;
  }

  /** Its way from the record; into the JSON of a text it goes on without a step. */
  get path(): Path {
    if (this.#holder !== undefined) return [...this.#holder.path, this.#key];
    return this.#in.holder?.path ?? [];
  }

  /** Its first byte, which says what it is. */
  get #first(): number {
    return firstOf(this.#in.text, this.#node);
  }

  #child(key: string | number): Value | undefined {
    if (typeof key === "number") {
      const item = this.items()[key];
      return item === undefined || item.isNull ? undefined : item;
    }
    const node = this.#nodeOf(key);
    return node === undefined || firstOf(this.#in.text, node) === firstOfNull ? undefined : this.#childAt(node, key);
  }

  #nodeOf(key: string): number | undefined {
    return this.isObject ? nodeOfKey(this.#in.text, this.#node, key) : undefined;
  }

  #childAt(node: number, key: string | number): Value {
    const { values } = this.#in;
    const place = node / nodeSize;
    let child = values[place];
    if (child === undefined) {
      child = new Value(this.#in, node, this, key);
      values[place] = child;
    }
    return child;
  }
}

const none: readonly Value[] = [];

/** Members that are faster compared one by one than put into a map. */
const fewMembers = 8;

const hasTwice = (members: readonly (readonly [string, Value])[]): boolean => {
  for (let at = 1; at < members.length; at++)
    for (let before = 0; before < at; before++) if (members[at]?.[0] === members[before]?.[0]) return true;
  return false;
};
