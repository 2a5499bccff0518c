/** A record of another tool's file, value by value, so that each can be carried as it was written. */
import { findPath, type Path } from "../check/rules/positions.ts";
import { nodeSize, readTable } from "../json/reader.ts";
import {
  endOf,
  expandNumbers,
  findMemberNode,
  firstByteAt,
  type JsonTable,
  nodeAfter,
  readString,
  startOf,
} from "../json/table.ts";
import { endOfValue, openBrace, openBracket, quote, type Span } from "../json/walk.ts";

/** The table of a JSON text, and where the text is from. */
interface JsonText {
  readonly id: number;
  readonly table: JsonTable;
  /** The name of a document beside the record; undefined of the record itself. */
  readonly document: string | undefined;
  /** The value whose text this is, or whose numbers: an array of numbers is one node of its own table. */
  readonly holder: Value | undefined;
  readonly isNumbers: boolean;
  /** Texts that are empty in the table, by their nodes. */
  readonly texts: ReadonlyMap<number, Buffer> | undefined;
  /** The texts in its values, by their nodes: JSON in strings, and numbers of arrays. */
  nested?: Map<number, JsonText | undefined>;
}

/** Texts are numbered up to here: the ids of their values are exact then. */
const maxTexts = 2 ** 20;
let textCount = 0;

const newText = (own: Pick<JsonText, "table"> & Partial<JsonText>): JsonText => {
  textCount = (textCount + 1) % maxTexts;
  return { document: undefined, holder: undefined, isNumbers: false, texts: undefined, ...own, id: textCount };
};

/** First bytes of values, which tell their kinds. */
const nullByte = 0x6e;
const trueByte = 0x74;

/** The last of the bytes that numbers begin with: digits, and the minus before them. */
const digitNine = 0x39;

type Step = Path[number];

/** Members of an object, in their order. */
export type Members = readonly (readonly [key: string, value: Value])[];

export class Value {
  readonly #in: JsonText;
  readonly #node: number;

  private constructor(text: JsonText, node: number) {
    this.#in = text;
    this.#node = node;
  }

  /**
   * Reads a record, or a document beside it that has a name; undefined if the bytes are not JSON.
   * @param texts long texts of keys, which are empty in the bytes: values of these can be read, and not be written
   */
  static parse(
    bytes: Buffer,
    { document, texts }: { readonly document?: string; readonly texts?: ReadonlyMap<string, Buffer> } = {},
  ): Value | undefined {
    const table = readTable(bytes, document !== undefined);
    if (table === undefined) return undefined;
    const nodes = texts && new Map<number, Buffer>();
    for (const [key, text] of texts ?? []) nodes?.set(findMemberNode(table, 0, key) ?? 0, text);
    return new Value(newText({ table, document, texts: nodes }), 0);
  }

  /** Reads a record whose writer puts NaN and Infinity into JSON, as Python does: each becomes an empty object. */
  static parsePython(bytes: Buffer): Value | undefined {
    return Value.parse(bytes) ?? Value.parse(replaceNonFinite(bytes));
  }

  /** Equal for two values of a record if they are the same one. */
  get id(): number {
    return this.#in.id * 2 ** 32 + this.#node;
  }

  /** The bytes that its span is of: the record's, or those of the JSON in a text. */
  get bytes(): Buffer {
    return this.#in.table.bytes;
  }

  /** The name of the document beside the record that it is in; undefined if it is the record's own. */
  get document(): string | undefined {
    const { holder, document } = this.#in;
    return holder === undefined ? document : holder.document;
  }

  get span(): Span {
    return { start: startOf(this.#in.table, this.#node), end: endOf(this.#in.table, this.#node) };
  }

  /** As it was written. */
  get raw(): string {
    const { table } = this.#in;
    return table.bytes.toString("utf8", startOf(table, this.#node), endOf(table, this.#node));
  }

  /** Parsed: here, numbers above 2^53 have lost digits. */
  get data(): unknown {
    return this.text ?? JSON.parse(this.raw);
  }

  get text(): string | undefined {
    if (!this.isText) return undefined;
    return this.#in.texts?.get(this.#node)?.toString("utf8") ?? readString(this.#in.table, this.#node);
  }

  get number(): number | undefined {
    return this.isNumber ? Number(this.raw) : undefined;
  }

  /** The content of the string of a key. */
  textAt(key: string): string | undefined {
    const node = this.#nodeOf(key);
    const { table } = this.#in;
    return node !== undefined && firstByteAt(table, node) === quote ? readString(table, node) : undefined;
  }

  /** True if the value of a key is null. */
  isNullAt(key: string): boolean {
    const node = this.#nodeOf(key);
    return node !== undefined && firstByteAt(this.#in.table, node) === nullByte;
  }

  get isList(): boolean {
    return this.#first === openBracket;
  }

  get isObject(): boolean {
    return this.#first === openBrace;
  }

  get isNull(): boolean {
    return this.#first === nullByte;
  }

  get isText(): boolean {
    return this.#first === quote;
  }

  get isTrue(): boolean {
    return this.#first === trueByte;
  }

  get isNumber(): boolean {
    return this.#first <= digitNine && this.#first !== quote;
  }

  /** True of numbers and truth values: metrics can be these. */
  get canBeMetric(): boolean {
    return this.isScalar && !this.isText;
  }

  /** True of all but arrays and objects: metadata can be these. */
  get isFlat(): boolean {
    return !this.isList && !this.isObject;
  }

  get isScalar(): boolean {
    return this.isFlat && !this.isNull;
  }

  /** The value at a path; undefined if there is none, or null. Of a key that appears twice, the last counts. */
  at(path: Path): Value | undefined {
    let found: Value | undefined = this;
    for (const key of path) found = found === undefined ? undefined : found.#child(key);
    return found;
  }

  /** The same of one key or position, or of a few: a list of them would take longer than to find a value. */
  get(key: Step, second?: Step, third?: Step, fourth?: Step): Value | undefined {
    const child = this.#child(key);
    return second === undefined || child === undefined ? child : child.get(second, third, fourth);
  }

  /** The elements of an array, with null ones; none of another value. */
  items(): readonly Value[] {
    if (!this.isList) return none;
    const { table } = this.#in;
    const end = nodeAfter(table, this.#node);
    if (end === this.#node + nodeSize) return this.#numbers();
    const items: Value[] = [];
    for (let node = this.#node + nodeSize; node < end; node = nodeAfter(table, node)) {
      items.push(new Value(this.#in, node));
    }
    return items;
  }

  /** The elements of an array that is one node: it has only numbers, or nothing. */
  #numbers(): readonly Value[] {
    const text = this.#inside(() => {
      return newText({ table: expandNumbers(this.#in.table, this.#node), holder: this, isNumbers: true });
    });
    const count = (text?.table.words.length ?? 0) / nodeSize - 1;
    return text === undefined ? none : Array.from({ length: count }, (_, at) => new Value(text, (at + 1) * nodeSize));
  }

  /** The members of an object in their order, with null ones; none of another value. */
  members(): Members {
    if (!this.isObject) return [];
    const { table } = this.#in;
    const members: (readonly [string, Value])[] = [];
    const end = nodeAfter(table, this.#node);
    for (let key = this.#node + nodeSize; key < end; key = nodeAfter(table, key + nodeSize)) {
      members.push([readString(table, key), new Value(this.#in, key + nodeSize)]);
    }
    return hasDuplicateKeys(members) ? [...new Map(members)] : members;
  }

  /** The JSON that its string contains; undefined of other values. */
  get embeddedJson(): Value | undefined {
    if (!this.isText) return undefined;
    const inner = this.#inside(() => {
      const bytes = this.#in.texts?.get(this.#node) ?? Buffer.from(this.text ?? "");
      const table = readTable(bytes);
      return table && newText({ table, holder: this });
    });
    return inner && new Value(inner, 0);
  }

  /** The JSON in its string, if that was read before. */
  get cachedEmbeddedJson(): Value | undefined {
    const text = this.isText ? this.#in.nested?.get(this.#node) : undefined;
    return text && new Value(text, 0);
  }

  /** Its path from the record. The path of a value in a string's JSON continues that of the string. */
  get path(): Path {
    const { table, holder, isNumbers } = this.#in;
    const own = isNumbers ? [this.#node / nodeSize - 1] : findPath(table, { from: 0, node: this.#node });
    return [...(holder?.path ?? []), ...own];
  }

  get #first(): number {
    return firstByteAt(this.#in.table, this.#node);
  }

  #child(key: Step): Value | undefined {
    if (typeof key === "number") {
      const item = this.items()[key];
      return item?.isNull === false ? item : undefined;
    }
    const node = this.#nodeOf(key);
    return node === undefined || firstByteAt(this.#in.table, node) === nullByte ? undefined : new Value(this.#in, node);
  }

  #nodeOf(key: string): number | undefined {
    return this.isObject ? findMemberNode(this.#in.table, this.#node, key) : undefined;
  }

  #inside(read: () => JsonText | undefined): JsonText | undefined {
    this.#in.nested ??= new Map();
    const { nested: inside } = this.#in;
    if (!inside.has(this.#node)) inside.set(this.#node, read());
    return inside.get(this.#node);
  }
}

const none: readonly Value[] = [];

/** Up to as many members, comparing all keys is faster than a set. */
const maxLoopMembers = 8;

const hasDuplicateKeys = (members: Members): boolean => {
  if (members.length > maxLoopMembers) return new Set(members.map(([key]) => key)).size < members.length;
  for (let at = 1; at < members.length; at++)
    for (let before = 0; before < at; before++) if (members[at]?.[0] === members[before]?.[0]) return true;
  return false;
};

/** A record, or a part of one, is not as its format has it. */
export class ConversionError extends Error {
  readonly value: Value;
  /** The key of its group, if that is known: the group is not sent then. */
  group: string | undefined;

  constructor(reason: string, value: Value, group?: string) {
    super(reason);
    this.value = value;
    this.group = group;
  }
}

/** Returns the value of a key. @throws Unfit */
export const requireKey = (holder: Value, key: string): Value => {
  const value = holder.get(key);
  if (value === undefined) throw new ConversionError(`${key} is missing`, holder);
  return value;
};

/** Returns the elements of the array of a key. @throws Unfit */
export const requireItems = (holder: Value, key: string, wrong = `${key} is no list`): readonly Value[] => {
  const value = requireKey(holder, key);
  if (!value.isList) throw new ConversionError(wrong, value);
  return value.items();
};

/** The elements of the array of a key, or of a key of its value; none if there is none. */
export const itemsAt = (holder: Value | undefined, key: string, second?: string): readonly Value[] =>
  holder?.get(key, second)?.items() ?? none;

export const metricMembers = (value: Value | undefined): Members =>
  (value?.members() ?? []).filter(([, { canBeMetric: isMeasured }]) => isMeasured);

export const flatMembers = (value: Value | undefined): Members =>
  (value?.members() ?? []).filter(([, { isFlat }]) => isFlat);

/** NaN and Infinity as empty objects, each with as many bytes as before, so that all else keeps its position. */
const replaceNonFinite = (bytes: Buffer): Buffer => {
  const own = Buffer.from(bytes);
  const text = bytes.toString("latin1");
  const words = /"|NaN|-?Infinity/g;
  for (let word = words.exec(text); word !== null; word = words.exec(text)) {
    if (word[0] === '"') words.lastIndex = endOfValue(own, word.index);
    else own.write("{}".padEnd(word[0].length), word.index);
  }
  return own;
};
