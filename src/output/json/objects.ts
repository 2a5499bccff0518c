/** Prints JSON documents: the service's own objects with every spelling kept, and documents made by rollcall. */
import { type Span, textOf } from "../../json/walk.ts";
import { requireField } from "../table/fields.ts";
import type { WireObjects } from "../view.ts";
import { compactJson, openIndenter, pickedJson, wholeOf } from "./json.ts";
import { openRows, placesOf, type WirePlaces } from "./wire.ts";

/** What a JSON form is made of. */
export interface JsonView {
  readonly bytes: Uint8Array;
  /** Where the objects stand; the whole document is the only one where absent. */
  readonly member?: string;
  readonly kept?: readonly number[];
  /** Names to suggest from; the objects' own keys are allowed too. */
  readonly known?: readonly string[];
}

/** How JSON is laid out. */
export interface JsonLayout {
  readonly format: "json" | "jsonl";
  readonly fields: readonly string[] | undefined;
  /** Whether a person reads it: indented. Never for `jsonl`. */
  readonly indented: boolean;
}

/** Objects of one piece of output. */
const pieceOf = 100;

/** The document in pieces. @throws Failure `option-value-wrong` for a field that no object has */
export const jsonPieces = (view: JsonView, layout: JsonLayout): Iterable<string> => {
  const { bytes, known = [] } = view;
  const whole = wholeOf(bytes);
  const places = view.member === undefined ? undefined : placesOf({ ...view, member: view.member });
  const spans = places?.objects ?? [whole];
  const fields = layout.fields;
  for (const name of fields ?? []) requireField({ name, known, wire: openRows(bytes, spans) });
  const textOfObject = (span: Span): string =>
    fields === undefined ? compactJson(bytes, span) : pickedJson(bytes, span, fields);
  if (layout.format === "jsonl") return inPieces(spans, (span) => `${textOfObject(span)}\n`);
  const compact = places === undefined ? [textOfObject(whole)] : wrapped({ bytes, places, textOfObject });
  return layout.indented ? indentedPieces(compact) : withLineEnd(compact);
};

/** The wrapper's own members, and the objects shown in their place. */
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
      yield* inPieces(places.objects, (span, position) => `${position === 0 ? "" : ","}${textOfObject(span)}`);
      yield "]";
    }
  }
  yield "}";
}

function* inPieces(spans: readonly Span[], textAt: (span: Span, position: number) => string): Generator<string, void> {
  for (let from = 0; from < spans.length; from += pieceOf) {
    yield spans
      .slice(from, from + pieceOf)
      .map((span, at) => textAt(span, from + at))
      .join("");
  }
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

/** The objects of a list's reply, or of the list as rollcall made it. */
export const jsonOf = (wire: WireObjects | undefined, made: () => unknown): JsonView =>
  wire ?? { bytes: bytesOf(made()), member: "data" };
