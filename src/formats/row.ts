/** A row of a Parquet file as a value: what its columns say is read as it is, and made JSON only where somebody wants bytes of it. */

import type { Path } from "../check/rules/places.ts";
import { type Columns, TextBytes } from "../input/column-json.ts";
import { rootOf, type Tabled } from "../json/table.ts";
import type { Span } from "../json/walk.ts";
import { type JsonText, Value } from "./value.ts";

/** What a text or a number is all of a column. */
type Scalar = string | TextBytes | number | bigint;

const isScalar = (data: unknown): data is Scalar =>
  typeof data === "string" || typeof data === "number" || typeof data === "bigint" || data instanceof TextBytes;

/** A row. */
export class Row extends Value {
  readonly #text: JsonText;
  readonly #columns: Columns;
  #seen: Map<string, Column> | undefined;

  /** @param made the row as JSON, an object */
  constructor(columns: Columns, made: () => Buffer) {
    const text = rowText(made);
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

  override textAt(name: string): string | undefined {
    const data = this.#columns[name];
    return typeof data === "string" ? data : this.get(name)?.text;
  }

  override numberAt(name: string): number | undefined {
    const data = this.#columns[name];
    return typeof data === "number" || typeof data === "bigint" ? Number(data) : this.get(name)?.number;
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
    if (!isScalar(data)) return undefined;
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
  readonly #own: Scalar;
  readonly #row: Row;
  readonly #name: string;

  constructor(own: Scalar, { text, row, name }: { readonly text: JsonText; readonly row: Row; readonly name: string }) {
    super(text, 0, row, name);
    this.#own = own;
    this.#row = row;
    this.#name = name;
  }

  override get span(): Span {
    return this.#row.spanOf(this.#name);
  }

  override get raw(): string {
    return typeof this.#own === "bigint" ? String(this.#own) : JSON.stringify(this.text ?? this.#own);
  }

  override get text(): string | undefined {
    if (this.#own instanceof TextBytes) return this.#own.text;
    return typeof this.#own === "string" ? this.#own : undefined;
  }

  override get number(): number | undefined {
    return this.isNumber ? Number(this.#own) : undefined;
  }

  override get isNumber(): boolean {
    return typeof this.#own === "number" || typeof this.#own === "bigint";
  }

  override get isText(): boolean {
    return !this.isNumber;
  }

  protected override get said(): Buffer {
    return this.#own instanceof TextBytes ? this.#own.bytes : super.said;
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
const rowText = (make: () => Buffer): JsonText => {
  let made: Tabled | undefined;
  return {
    get text() {
      made ??= rootOf(make())?.text ?? nothing;
      return made;
    },
    values: [],
    document: undefined,
    holder: undefined,
  };
};

const nothing: Tabled = { bytes: Buffer.alloc(0), words: new Int32Array(), base: 0, keys: 0 };
