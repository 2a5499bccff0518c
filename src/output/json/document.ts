/** Prints JSON documents: the service's own objects with every spelling kept, and documents made by rollcall. */
import { type Span, textOf, wholeOf } from "../../json/walk.ts";
import type { Screen } from "../screen/screen.ts";
import { fieldNamed, type NamedColumn } from "../table/fields.ts";
import { compactJson, openIndenter } from "./layout.ts";
import { openRows, pickedJson, placesOf, type WirePlaces } from "./objects.ts";

interface JsonView {
  readonly bytes: Uint8Array;
  /** Where the objects stand; the whole document is the only one where absent. */
  readonly member?: string | undefined;
  readonly kept?: readonly number[];
  /** What fields are called beside the objects' own keys. */
  readonly columns?: readonly NamedColumn[];
}

/**
 * Prints a JSON document made by rollcall; `member` names the array whose objects `jsonl` and `--fields` mean.
 * @throws Failure `option-value-wrong` for a field that no object has
 */
export const printDocument = async (screen: Screen, value: unknown, member?: string): Promise<void> =>
  await printRaw(screen, bytesOf(value), member);

/**
 * Prints JSON bytes of the service's own, with control and bidi characters escaped; `member` names the object, or the
 * array of objects, in it that `jsonl` and `--fields` mean. @throws Failure `option-value-wrong` for a field that no object has
 */
export const printRaw = async (screen: Screen, bytes: Uint8Array, member?: string): Promise<void> =>
  await printObjects(screen, { bytes, member });

/** Prints objects of a document, and what stands around them. @throws Failure `option-value-wrong` for a field that none has */
export const printObjects = async (screen: Screen, view: JsonView): Promise<void> =>
  await screen.print(jsonPieces(screen, view), { kind: "json" });

/** Characters of objects that are written as one piece; a longer object is one by itself, and never put together with others. */
const pieceLength = 1 << 16;

const jsonPieces = ({ format, fields, host }: Screen, view: JsonView): Iterable<string> => {
  const { bytes, columns = [] } = view;
  const whole = wholeOf(bytes);
  const places = view.member === undefined ? undefined : placesOf({ ...view, member: view.member });
  const spans = places?.objects ?? [whole];
  const wire = openRows(bytes, places?.all ?? spans);
  const picked = fields?.map((name) => fieldNamed(name, { columns, wire }));
  const textOfObject = (span: Span): string =>
    picked === undefined ? compactJson(bytes, span) : pickedJson(bytes, span, picked);
  if (format === "jsonl") return inPieces(spans, (span) => [textOfObject(span), "\n"]);
  const compact = places === undefined ? [textOfObject(whole)] : wrapped({ bytes, places, textOfObject });
  return host.terminal.stdout ? indentedPieces(compact) : withLineEnd(compact);
};

function* wrapped({
  bytes,
  places,
  textOfObject,
}: {
  readonly bytes: Uint8Array;
  readonly places: WirePlaces;
  readonly textOfObject: (span: Span) => string;
}): Generator<string, void> {
  yield "{";
  for (const [at, { keySpan, value, holds }] of places.wrapper.entries()) {
    yield `${at === 0 ? "" : ","}${textOf(bytes, keySpan)}:`;
    if (!holds) yield compactJson(bytes, value);
    else if (!places.isList) yield* places.objects.map(textOfObject);
    else {
      yield "[";
      yield* inPieces(places.objects, (span, position) => [position === 0 ? "" : ",", textOfObject(span)]);
      yield "]";
    }
  }
  yield "}";
}

function* inPieces(
  spans: readonly Span[],
  textsAt: (span: Span, position: number) => readonly string[],
): Generator<string, void> {
  let piece = "";
  for (const [position, span] of spans.entries()) {
    for (const text of textsAt(span, position)) {
      if (piece.length + text.length > pieceLength) {
        if (piece !== "") yield piece;
        piece = "";
      }
      if (text.length > pieceLength) yield text;
      else piece += text;
    }
  }
  if (piece !== "") yield piece;
}

function* withLineEnd(pieces: Iterable<string>): Generator<string, void> {
  yield* pieces;
  yield "\n";
}

function* indentedPieces(pieces: Iterable<string>): Generator<string, void> {
  const indented = openIndenter();
  for (const piece of pieces) yield indented(Buffer.from(piece));
  yield "\n";
}

/** A document made by rollcall, as bytes. */
export const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value) ?? "null");
