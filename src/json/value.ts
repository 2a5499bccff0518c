/** Represents values as ranges of bytes. */
import { isBlank } from "../text/sentences.ts";
import { openBrace, openBracket, quote, replaceNonFinite } from "./json-bytes.ts";
import { nodeSize } from "./reader.ts";
import { Kind, Shape, type SharedMembers } from "./shape.ts";
import * as json from "./table.ts";

interface JsonText {
  /** The id of the root. The ids of its values follow. */
  id: number;
  table: json.JsonTable;
  /** The name of a document. Undefined for other texts. */
  document: string | undefined;
  /** The value that contains this text: a string with JSON, or an array of numbers. */
  holder: Value | undefined;
  /** Maps nodes of empty strings to texts that are not in the bytes. */
  longTexts: Map<number, Buffer> | undefined;
  /** Maps nodes to parsed strings of JSON and expanded arrays of numbers. */
  nested: Map<number, Value | undefined> | undefined;
  /** The members of the root, once they were listed. */
  members: Members | undefined;
  /** The list whose elements were read last, because a conversion reads the messages of a row several times. */
  lastList: Readonly<{ node: number; items: readonly Value[] }> | undefined;
}

/** Small integers are fast keys of maps. */
let nextId = 0;

/** Tables have shapes only if their reader skips leaves. */
const readShaped = json.openRootReader([]);

const createText = (table: json.JsonTable, document?: string, holder?: Value): JsonText => {
  const id = nextId;
  nextId += table.words.length;
  const unread = { longTexts: undefined, nested: undefined, members: undefined, lastList: undefined };
  return { id, table, document, holder, ...unread };
};

const nullByte = 0x6e;
const trueByte = 0x74;
/** The largest first byte of a number. Other values, except strings, begin with a larger byte. */
const digitNine = 0x39;

export type Members = readonly (readonly [key: string, value: Value])[];

/** The keys of an object in their order, with repetitions. */
const keysShape = new Shape([], ({ list }) => {
  const keys = list().map(({ key }) => key);
  return { keys, isUnique: new Set(keys).size === keys.length };
});

/** Maps each key to the kind of its last value. */
const kindsOf = ({ list }: SharedMembers<never>) => new Map(list().map(({ key, kind }) => [key, kind]));

type KeyFacts<Facts> = Readonly<{ shape: Shape<never, Facts>; ofOthers: Facts }>;

/** Derives facts from the keys of an object without nulls, once for all objects with these keys. */
export const openKeyFacts = <Facts>(derive: (keys: readonly string[]) => Facts): KeyFacts<Facts> => {
  const shape = new Shape([], (members) =>
    derive([...kindsOf(members)].flatMap(([key, kind]) => (kind === Kind.null ? [] : key))),
  );
  return { shape, ofOthers: derive([]) };
};

export class Value implements json.JsonValue {
  readonly #in: JsonText;
  readonly node: number;

  private constructor(text: JsonText, node: number) {
    this.#in = text;
    this.node = node;
  }

  /** @param longTexts maps keys of empty members to texts that never become output */
  static parse(bytes: Buffer, document?: string, longTexts?: ReadonlyMap<string, Buffer>): Value | undefined {
    const root = readShaped(bytes);
    if (!root) return undefined;
    const { table } = root;
    const jsonText = createText(table, document);
    const nodeOf = (key: string) => json.findMemberNode(table, 0, key) ?? 0;
    jsonText.longTexts = longTexts && new Map(Array.from(longTexts, ([key, text]) => [nodeOf(key), text]));
    return new Value(jsonText, 0);
  }

  /** NaN and Infinity become empty objects. */
  static parsePython(bytes: Buffer, document?: string): Value | undefined {
    // The length stays the same, so that all positions stay valid.
    const replaced = () => replaceNonFinite(bytes, (word) => "{}".padEnd(word.length));
    return Value.parse(bytes, document) ?? Value.parse(replaced(), document);
  }

  /** No other recorded value has the id. */
  get id() {
    return this.#in.id + this.node;
  }

  get table() {
    return this.#in.table;
  }

  get bytes() {
    return this.table.bytes;
  }

  get document(): string | undefined {
    const { holder, document } = this.#in;
    return holder ? holder.document : document;
  }

  get span() {
    return json.spanOf(this);
  }

  get raw() {
    return json.textOf(this);
  }

  /** Numbers above 2^53 lose digits. */
  get data(): unknown {
    return this.text ?? JSON.parse(this.raw);
  }

  get text() {
    if (!this.isText) return undefined;
    return this.#in.longTexts?.get(this.node)?.toString("utf8") ?? json.readString(this.table, this.node);
  }

  /** The text without quotes and escapes, or the JSON of another value. */
  get plain() {
    return this.text ?? this.raw;
  }

  get number() {
    return this.isNumber ? json.readNumber(this.table, this.node) : undefined;
  }

  error(reason: string) {
    return new ConversionError(reason, this);
  }

  textAt(key: string) {
    return this.get(key)?.text;
  }

  /** Some services write empty ids, and some scripts write numbers. */
  idAt(key: string) {
    return this.get(key)?.plain || undefined;
  }

  isNullAt(key: string) {
    return this.#member(key)?.isNull ?? false;
  }

  get isList() {
    return json.firstByteOf(this) === openBracket;
  }
  get isObject() {
    return json.firstByteOf(this) === openBrace;
  }
  get isNull() {
    return json.firstByteOf(this) === nullByte;
  }
  get isText() {
    return json.firstByteOf(this) === quote;
  }
  get isTrue() {
    return json.firstByteOf(this) === trueByte;
  }
  get isNumber() {
    return json.firstByteOf(this) <= digitNine && json.firstByteOf(this) !== quote;
  }

  get canBeMetric() {
    return this.isScalar && !this.isText;
  }
  get isFlat() {
    return !this.isList && !this.isObject;
  }
  get isScalar() {
    return this.isFlat && !this.isNull;
  }
  /** True for spellings of nothing or no. Tables spell a missing object as an object of nulls. */
  get isBlank() {
    return isBlank(this.data);
  }

  /** Returns undefined for a missing or null value. If a key is repeated, returns the last value. */
  get(...path: json.Path): Value | undefined {
    let value: Value | undefined = this;
    for (const step of path) if (value) value = value.#child(step);
    return value;
  }

  has(...path: json.Path) {
    return this.get(...path) !== undefined;
  }

  hasAny(...keys: readonly string[]) {
    return keys.some((key) => this.has(key));
  }

  /** @throws ConversionError for a missing or null value */
  require(key: string) {
    const value = this.get(key);
    if (!value) throw this.error(`\`${key}\` is missing`);
    return value;
  }

  /** Accepts a list, or a string with a JSON list. @throws ConversionError */
  requireItems(key: string) {
    const value = this.require(key);
    const list = value.embeddedJson ?? value;
    if (!list.isList) throw list.error(`\`${key}\` is not a list`);
    return list.items();
  }

  /** Visits texts of at least this length. Includes keys. */
  visitTexts(minBytes: number, visit: (start: number, end: number) => void) {
    const { table } = this.#in;
    const after = json.nodeAfter(table, this.node);
    for (let node = this.node; node < after; node += nodeSize) {
      const [start, end] = [json.startOf(table, node), json.endOf(table, node)];
      if (end - start >= minBytes && table.bytes[start] === quote) visit(start, end);
    }
  }

  /** Includes null elements. */
  items(...path: json.Path): readonly Value[] {
    if (path.length > 0) return this.get(...path)?.items() ?? [];
    if (!this.isList) return [];
    const { table } = this.#in;
    const end = json.nodeAfter(table, this.node);
    if (end === this.node + nodeSize) return this.#numbers();
    if (this.#in.lastList?.node === this.node) return this.#in.lastList.items;
    const items: Value[] = [];
    for (let node = this.node + nodeSize; node < end; node = json.nodeAfter(table, node))
      items.push(new Value(this.#in, node));
    this.#in.lastList = { node: this.node, items };
    return items;
  }

  /** An empty array or one of numbers is a single node. Returns the array with a node for each number. */
  #expandNumbers() {
    return this.#nested(() => createText(json.expandNumbers(this.table, this.node), undefined, this));
  }

  /** The length of an array of only numbers, unless its elements were read. */
  get numberCount() {
    const { table, nested } = this.#in;
    const isSingleNode = this.isList && json.nodeAfter(table, this.node) === this.node + nodeSize;
    return isSingleNode && !nested?.has(this.node) ? json.countNumbers(table, this.node) : undefined;
  }

  #numbers(): readonly Value[] {
    const array = this.#expandNumbers();
    if (!array) return [];
    const count = array.table.words.length / nodeSize - 1;
    return Array.from({ length: count }, (_, at) => new Value(array.#in, (at + 1) * nodeSize));
  }

  /** Does not make a value of each element, because a list can have millions. */
  #item(index: number): Value | undefined {
    if (index < 0 || !this.isList) return undefined;
    const array = json.countNumbers(this.table, this.node) > index ? this.#expandNumbers() : undefined;
    if (array) return new Value(array.#in, (index + 1) * nodeSize);
    const item = json.findChild(this, index);
    return item && new Value(this.#in, item.node);
  }

  metricMembers(...path: json.Path) {
    return this.members(...path).filter(([, { canBeMetric }]) => canBeMetric);
  }

  flatMembers(...path: json.Path) {
    return this.members(...path).filter(([, { isFlat }]) => isFlat);
  }

  /** Includes null members. */
  members(...path: json.Path): Members {
    if (path.length > 0) return this.get(...path)?.members() ?? [];
    if (this.node === 0 && this.#in.members) return this.#in.members;
    if (!this.isObject) return [];
    const { table } = this.#in;
    const { keys, isUnique } = keysShape.read(table, this.node);
    let node = this.node + nodeSize;
    const members = keys.map((key): Members[number] => {
      const value = new Value(this.#in, node + nodeSize);
      node = json.nodeAfter(table, node + nodeSize);
      return [key, value];
    });
    const unique = isUnique ? members : [...new Map(members)];
    if (this.node === 0) this.#in.members = unique;
    return unique;
  }

  /** Other values than objects have no keys. */
  facts<Facts>({ shape, ofOthers }: KeyFacts<Facts>): Facts {
    return this.isObject ? shape.read(this.table, this.node) : ofOthers;
  }

  get embeddedJson(): Value | undefined {
    if (!this.isText) return undefined;
    return this.#nested(() => {
      const root = readShaped(this.#in.longTexts?.get(this.node) ?? Buffer.from(this.text ?? ""));
      return root && createText(root.table, undefined, this);
    });
  }

  /** True if the value contains null, except in members with the key. */
  hasNulls(exceptAt?: string) {
    const { table } = this.#in;
    const after = json.nodeAfter(table, this.node);
    for (let node = this.node + nodeSize; node < after; node += nodeSize) {
      if (json.firstByteAt(table, node) !== nullByte) continue;
      if (exceptAt === undefined || !json.hasKey(table, node - nodeSize, exceptAt)) return true;
    }
    return false;
  }

  get cachedEmbeddedJson(): Value | undefined {
    return this.isText ? this.#in.nested?.get(this.node) : undefined;
  }

  /** The path from the record to the value, through strings that contain JSON. */
  get path(): json.Path {
    const { table, holder } = this.#in;
    const innerPath = holder?.isList
      ? [this.node / nodeSize - 1]
      : json.findInnermost(table, { from: 0, byte: json.startOf(table, this.node) }).path;
    return [...(holder?.path ?? []), ...innerPath];
  }

  #child(key: json.Path[number]): Value | undefined {
    const child = typeof key === "number" ? this.#item(key) : this.#member(key);
    return child?.isNull === false ? child : undefined;
  }

  #member(key: string): Value | undefined {
    if (this.node === 0 && this.#in.members) return this.#in.members.find(([name]) => name === key)?.[1];
    const node = this.isObject ? json.findMemberNode(this.table, this.node, key) : undefined;
    return node === undefined ? undefined : new Value(this.#in, node);
  }

  #nested(read: () => JsonText | undefined) {
    const { nested = new Map<number, Value | undefined>() } = this.#in;
    this.#in.nested = nested;
    if (!nested.has(this.node)) {
      const text = read();
      nested.set(this.node, text && new Value(text, 0));
    }
    return nested.get(this.node);
  }
}

export class ConversionError extends Error {
  readonly value: Value;

  constructor(reason: string, value: Value) {
    super(reason);
    this.value = value;
  }
}
