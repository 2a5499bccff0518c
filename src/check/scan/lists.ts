/** Takes lists that are longer than a block, element by element: an array, or the groups of a request. */

import { isUtf8 } from "node:buffer";
import { type Found, mergeFound, nothingFound, packFound } from "../../groups/parts/found.ts";
import { unitsBefore } from "../../input/columns.ts";
import { type Elements, elementsOf, ListFrame } from "../../input/elements.ts";
import type { Range } from "../../input/lines.ts";
import { type Bytes, readRange, type Source } from "../../input/source.ts";
import { closeBrace, endOfLine, openBrace, openBracket, Walker } from "../../json/walk.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { Judgement } from "../rules/judgement.ts";
import { Locator, type Path, Places, type Text } from "../rules/places.ts";
import { Indexer } from "./indexer.ts";
import { endOfText, longestText, notJson, parsed, parsedBytes } from "./json-text.ts";
import { KernelLines } from "./kernel-lines.ts";
import type { LongText } from "./long-fault.ts";

/** How a list is taken. */
interface ListOptions {
  /** Position of its source among the inputs. */
  readonly index: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  readonly signal?: AbortSignal;
  readonly found: Found;
}

/**
 * Takes a text that is a list, or a request, element by element. Nothing of it was taken where it is neither
 * (`no-list`), or can't be read so (`broken`). @throws Shrunk; the signal's reason
 */
export const takeList = async (
  source: Source,
  text: LongText,
  { kernel, ...options }: ListOptions & { readonly kernel: Kernel | undefined },
): Promise<"taken" | "no-list" | "broken"> => {
  const list = await listIn(source.bytes, text);
  if (list === undefined) return "no-list";
  const { found: before, judgement } = options;
  // What the kernel takes for trajectories is nothing that stands in a request: without it that is told of.
  for (const used of kernel === undefined ? [undefined] : [kernel, undefined]) {
    const found = nothingFound(judgement, { enough: before.problems.enough, isMarked: before.parts.isMarked });
    const lines = new KernelLines(() => used);
    const outcome = await new ListScan(source, { ...options, list, found, lines }).take(text);
    if (outcome === "taken") {
      lines.settle(found);
      mergeFound(before, packFound(found));
      return outcome;
    }
    used?.forget();
    if (outcome === "broken") break;
  }
  return "broken";
};

/** What became of a list: it was taken, is no JSON after all, or has elements that the kernel takes for something else. */
type Outcome = "taken" | "broken" | "unlike";

/** A list that is taken element by element. */
interface List {
  /** The text up to it, its bracket included. */
  readonly head: Buffer;
  /** Its path in the text: the groups of a request, or all of it. */
  readonly path: Path;
}

/** Bytes of a text in which the list of its groups begins: other keys take less. */
const lookBytes = 2 ** 16;

const listIn = async (source: Bytes, { start, end }: Range): Promise<List | undefined> => {
  const look = await readRange(source, { start, length: Math.min(lookBytes, end - start) });
  const walker = new Walker(look);
  const list = (path: Path): List => ({ head: look.subarray(0, walker.at + 1), path });
  if (look[walker.at] === openBracket) return list([]);
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (look[walker.at] === openBracket && key === "trajectory_groups") return list([key]);
    walker.skip();
  }
  return undefined;
};

interface ListScanOptions extends ListOptions {
  readonly list: List;
  readonly lines: KernelLines;
}

/** A list being read. */
class ListScan {
  readonly #source: Source;
  readonly #options: ListScanOptions;
  readonly #indexer: Indexer;
  /** Elements that were taken. */
  #count = 0;

  constructor(source: Source, options: ListScanOptions) {
    this.#source = source;
    this.#options = options;
    this.#indexer = new Indexer({ ...options, file: source.name, source: options.index });
  }

  /** Takes all of a text. */
  async take({ start, end, line }: LongText): Promise<Outcome> {
    const { bytes } = this.#source;
    const { list, signal } = this.#options;
    const head = { bytes: list.head, start, line };
    const length = list.head.length;
    const frame = new ListFrame(new Places(head).mark(length));
    for await (const block of elementsOf(bytes, { start: start + length, end, frame })) {
      signal?.throwIfAborted();
      const outcome = isUtf8(block.bytes) ? this.#takeBlock(block) : "broken";
      if (outcome !== "taken") return outcome;
      this.#count += block.elements.length;
    }
    if (frame.end === undefined || end - frame.end > longestText) return "broken";
    return await this.#takeRest(head, { start: frame.end, end, line: frame.line });
  }

  /** Takes what stands around the elements. */
  async #takeRest(head: Text, { end, ...place }: LongText): Promise<Outcome> {
    const { bytes } = this.#source;
    const behind = await readRange(bytes, { start: place.start, length: end - place.start });
    const around = Buffer.concat([head.bytes, behind]);
    const value = isUtf8(around) ? parsed(around.toString()) : notJson;
    const locator = new Locator(around, { start: 0, end: around.length });
    const isTwice = (key: string) => locator.membersCalled(key).length > 1;
    if (value === notJson || isTwice("trajectory_groups") || isTwice("split")) return "broken";
    if (!this.#isRequest) return "taken";
    const tail = { ...place, bytes: behind, unitsBefore: () => unitsBefore(bytes, place) };
    this.#indexer.takeRest(head, { value, tail });
    // What its groups are is no shape of the input.
    this.#options.found.shapes.delete("groups");
    return "taken";
  }

  get #isRequest(): boolean {
    return this.#options.list.path.length > 0;
  }

  #takeBlock({ bytes, asLines, start, elements }: Elements): Outcome {
    const { lines, found, index } = this.#options;
    const takeOne = (at: number, end: number): boolean => this.#takeElement({ bytes, start, elements }, { at, end });
    if (!lines.takes(bytes.length)) {
      const areTaken = elements.every((element, at) => takeOne(at, endOfLine(asLines, element.start - start)));
      return areTaken ? "taken" : "broken";
    }
    let isUnlike = false;
    const passed = lines.pass(found, {
      text: { bytes, start, line: 0 },
      asLines,
      source: index,
      onBatch: (kernel) => {
        const { numbers, flags } = kernel.columns;
        isUnlike = this.#isRequest && flags.subarray(0, kernel.lines).includes(kernel.aloneFlags);
        for (let at = 0; at < kernel.lines; at++) numbers[at] = elements[numbers[at] ?? 0]?.line ?? 0;
        return !isUnlike;
      },
      onLeft: ({ end }, count) => takeOne(count - 1, end),
    });
    // A newline inside a string makes two lines of it.
    return isUnlike ? "unlike" : passed === elements.length ? "taken" : "broken";
  }

  /** Takes an element that ends before a place; false where it is no JSON. */
  #takeElement(
    { bytes, start, elements }: Omit<Elements, "asLines">,
    { at, end }: { readonly at: number; readonly end: number },
  ): boolean {
    const element = elements[at];
    if (element === undefined) return false;
    const own = bytes.subarray(element.start - start, endOfText(bytes, end));
    const value = parsedBytes(own);
    if (value === notJson) return false;
    const text = { ...element, bytes: own, unitsBefore: () => unitsBefore(this.#source.bytes, element) };
    const path = [...this.#options.list.path, this.#count + at];
    this.#indexer.takeElement(text, { value, span: { start: 0, end: own.length }, path, isGroup: this.#isRequest });
    return true;
  }
}
