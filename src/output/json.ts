/** Prints JSON documents: the service's own objects with every spelling kept, and documents made by rollcall. */
import { endOfString, type Spelled } from "../json/spelled.ts";
import { textOf, wholeOf } from "../json/walk.ts";
import type { Screen } from "./screen.ts";
import type { WireObjects } from "./view.ts";
import { compact, fieldNamed, type NamedColumn, openRows, openWire, pickedJson, type WireRows } from "./wire.ts";

/** A document; without a `member` it is one object itself. */
type JsonView = Pick<WireObjects, "bytes" | "kept"> & { readonly member?: string | undefined };

/**
 * Prints a JSON document made by rollcall; `member` names the array whose objects `jsonl` and `--fields` mean.
 * @throws Failure `option-value-wrong` for a field that no object has
 */
export const printDocument = async (screen: Screen, value: unknown, member?: string): Promise<void> =>
  await printRaw(screen, Buffer.from(JSON.stringify(value) ?? "null"), member);

/** The same for JSON bytes; `member` may also name one object. @throws Failure `option-value-wrong` */
export const printRaw = async (screen: Screen, bytes: Uint8Array, member?: string): Promise<void> =>
  await printObjects(screen, { bytes, member });

/** Prints the objects of a document, and the document around them. @throws Failure `option-value-wrong` */
export const printObjects = async (
  screen: Screen,
  view: JsonView,
  columns: readonly NamedColumn[] = [],
): Promise<void> => await screen.print(jsonPieces(screen, view, columns), { kind: "json" });

function* jsonPieces(screen: Screen, view: JsonView, columns: readonly NamedColumn[]): Generator<string, void> {
  const { bytes, member, kept } = view;
  const { format, fields, host } = screen;
  const wire = member === undefined ? undefined : openWire({ bytes, member, ...(kept && { kept }) });
  const rows = wire?.shown ?? openRows(bytes, [wholeOf(bytes)]);
  const picked = fields?.map((name) => fieldNamed(name, columns, wire?.all ?? rows));
  const textOfObject = (object: Spelled): string =>
    picked === undefined ? compact(object.json) : (pickedJson(object, picked) ?? "{}");
  if (format === "jsonl") return yield* joined(rows, textOfObject, { between: "\n", end: "\n" });
  const layOut = host.terminal.stdout ? openIndenter() : (piece: string) => piece;
  const pieces = wire === undefined ? joined(rows, textOfObject) : documentPieces(bytes, wire, textOfObject);
  for (const piece of pieces) yield layOut(piece);
  yield "\n";
}

function* documentPieces(
  bytes: Uint8Array,
  { around, holder, isList, shown }: ReturnType<typeof openWire>,
  textOfObject: (object: Spelled) => string,
): Generator<string, void> {
  yield "{";
  for (const [at, one] of around.entries()) {
    yield `${at === 0 ? "" : ","}${textOf(bytes, one.keySpan)}:`;
    if (one !== holder) yield compact(textOf(bytes, one.value));
    else if (!isList) yield* joined(shown, textOfObject);
    else {
      yield "[";
      yield* joined(shown, textOfObject, { between: "," });
      yield "]";
    }
  }
  yield "}";
}

/** Characters of objects that are one piece; a longer object is a piece of its own, and never put together with others. */
const pieceLength = 1 << 16;

function* joined(
  rows: WireRows,
  textOfObject: (object: Spelled) => string,
  { between = "", end = "" }: { readonly between?: string; readonly end?: string } = {},
): Generator<string, void> {
  let piece = "";
  for (let position = 0; position < rows.count; position++) {
    const text = textOfObject(rows.at(position));
    const before = position === 0 ? "" : between;
    if (piece.length + text.length > pieceLength) {
      yield piece + before;
      yield text;
      piece = "";
    } else piece += before + text;
  }
  if (rows.count > 0) yield piece + end;
}

/** Levels that are indented: a reply may nest a hundred thousand deep. */
const maxIndent = 40;

const token = /[[\]{},:"]|[^\s[\]{},:"]+/g;

/** Indents a document by two spaces a level, piece after piece. No piece ends inside a string, a number or a word. */
const openIndenter = (): ((piece: string) => string) => {
  let depth = 0;
  /** True if a bracket was opened last: its first value begins a line, but its own end does not. */
  let isOpen = false;
  return (piece) => {
    const parts: string[] = [];
    const line = () => parts.push("\n", "  ".repeat(Math.min(depth, maxIndent)));
    token.lastIndex = 0;
    for (let found = token.exec(piece); found !== null; found = token.exec(piece)) {
      const [first] = found;
      if (first === ",") {
        parts.push(first);
        line();
      } else if (first === ":") parts.push(": ");
      else if (first === "]" || first === "}") {
        depth--;
        if (!isOpen) line();
        isOpen = false;
        parts.push(first);
      } else {
        if (isOpen) line();
        isOpen = first === "{" || first === "[";
        if (isOpen) depth++;
        if (first === '"') token.lastIndex = endOfString(piece, token.lastIndex);
        parts.push(piece.slice(found.index, token.lastIndex));
      }
    }
    return parts.join("");
  };
};
