/** A row of a Parquet file as a value: what its columns say is read as it is, and made JSON only where somebody wants bytes of it. */
import { nodesOf } from "../../json/nodes.ts";
import type { Span } from "../../json/walk.ts";
import type { Path } from "../rules/places.ts";
import { type JsonText, Value } from "./value.ts";

/** What columns say, by their names. */
export type Columns = Readonly<Record<string, unknown>>;

/** A row. */
export class Row extends Value {
  readonly #text: RowText;
  readonly #columns: Columns;
  #seen: Map<string, Column> | undefined;

  /** @param made the row as JSON, an object */
  constructor(columns: Columns, made: () => Buffer) {
    const text = new RowText(made);
    super(text, 0);
    this.#text = text;
    this.#columns = columns;
  }

  override get isObject(): boolean {
    return true;
  }

  override get(...path: Path): Value | undefined {
    const [name] = path;
    const data = typeof name === "string" && Object.hasOwn(this.#columns, name) ? this.#columns[name] : undefined;
    if (data === undefined || data === null) return path.length === 0 ? this : undefined;
    const column = this.#column(String(name));
    if (column === undefined) return super.get(...path);
    return path.length === 1 ? column : column.get(...path.slice(1));
  }

  /** Where a column stands in the JSON. */
  spanOf(name: string): Span {
    return super.get(name)?.span ?? this.span;
  }

  override members(): readonly (readonly [string, Value])[] {
    return super.members().map(([name, value]) => [name, this.#column(name) ?? value] as const);
  }

  /** A column's text or number; undefined of any other. */
  #column(name: string): Column | undefined {
    const data = this.#columns[name];
    if (typeof data !== "string" && typeof data !== "number" && typeof data !== "bigint") return undefined;
    this.#seen ??= new Map();
    let column = this.#seen.get(name);
    if (column === undefined) {
      column = new Column(data, { text: this.#text, row: this, name });
      this.#seen.set(name, column);
    }
    return column;
  }
}

/** A text or a number that is all of a row's column. */
class Column extends Value {
  readonly #own: string | number | bigint;
  readonly #row: Row;
  readonly #name: string;

  constructor(
    own: string | number | bigint,
    { text, row, name }: { readonly text: JsonText; readonly row: Row; readonly name: string },
  ) {
    super(text, 0, row, name);
    this.#own = own;
    this.#row = row;
    this.#name = name;
  }

  override get span(): Span {
    return this.#row.spanOf(this.#name);
  }

  override get raw(): string {
    return typeof this.#own === "bigint" ? String(this.#own) : JSON.stringify(this.#own);
  }

  override get text(): string | undefined {
    return typeof this.#own === "string" ? this.#own : undefined;
  }

  override get number(): number | undefined {
    return typeof this.#own === "string" ? undefined : Number(this.#own);
  }

  override get isNumber(): boolean {
    return typeof this.#own !== "string";
  }

  override get isText(): boolean {
    return typeof this.#own === "string";
  }

  override get isMeasured(): boolean {
    return this.isNumber;
  }

  override get isList(): boolean {
    return false;
  }

  override get isObject(): boolean {
    return false;
  }

  override get isNull(): boolean {
    return false;
  }
}

/** The row as JSON, once somebody wants it. */
class RowText implements JsonText {
  readonly values: (Value | undefined)[] = [];
  readonly document = undefined;
  readonly holder = undefined;
  readonly #make: () => Buffer;
  #made: Pick<JsonText, "bytes" | "table" | "base"> | undefined;

  constructor(make: () => Buffer) {
    this.#make = make;
  }

  get bytes(): Buffer {
    return this.#own.bytes;
  }

  get table(): Int32Array {
    return this.#own.table;
  }

  get base(): number {
    return this.#own.base;
  }

  get #own(): Pick<JsonText, "bytes" | "table" | "base"> {
    if (this.#made === undefined) {
      const bytes = this.#make();
      this.#made = { bytes, ...(nodesOf(bytes) ?? { table: new Int32Array(), base: 0 }) };
    }
    return this.#made;
  }
}
