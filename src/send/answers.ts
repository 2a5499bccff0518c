/** The service's answers to log requests: kept while they are small, counted where they are not. */
import { faultIn } from "../json/reader.ts";
import { childrenOf, firstByteOf, memberAt, rootOf, spanOf } from "../json/table.ts";
import { elements, openBracket, parsedJson, quote, spanAt, textOf } from "../json/walk.ts";

/** Bytes of answers that are kept together (promises.md, "`log --json`"). */
const mostBytes = 64 * 1024;

/** One answer; its body undefined where all of them together are too large to print. */
export interface Answer {
  readonly status: number;
  readonly bytes: number;
  readonly body: Uint8Array | undefined;
}

/** The answers of a run, in the order they came. */
export class Answers {
  #entries: Answer[] = [];
  #bytes = 0;
  #firstCall: string | undefined;
  #cut = 0;
  #notJson = 0;

  /** Adds an answer that was read, and the list of calls that it names. */
  add(
    { status, body, cut }: { readonly status: number; readonly body: Uint8Array; readonly cut: boolean },
    calls: string,
  ): void {
    this.#bytes += body.length;
    this.#entries.push({ status, bytes: body.length, body });
    if (this.#bytes > mostBytes) this.#entries = this.#entries.map((entry) => ({ ...entry, body: undefined }));
    if (status < 200 || status >= 300) return;
    if (calls !== noCalls) this.#firstCall ??= firstCallOf(body);
    if (cut) this.#cut++;
    else if (calls === noCalls && body.length > 0 && faultIn(body) !== undefined) this.#notJson++;
  }

  get entries(): readonly Answer[] {
    return this.#entries;
  }

  /** The first call that an answer named. */
  get firstCall(): string | undefined {
    return this.#firstCall;
  }

  /** Answers to what was logged that ended before they were whole, and that are no JSON. */
  get unreadable(): { readonly cut: number; readonly notJson: number } {
    return { cut: this.#cut, notJson: this.#notJson };
  }
}

/**
 * The calls that an answer names, as the JSON list that they stand in: there may be hundreds of thousands, which nobody
 * here looks at. Assumed: `call_ids`, a list of strings, as the local service has it.
 */
export const callsTextOf = (body: Uint8Array): string => {
  const root = rootOf(body);
  const list = root && memberAt(root, "call_ids");
  if (list === undefined || firstByteOf(list) !== openBracket) return noCalls;
  for (const [, call] of childrenOf(list)) if (firstByteOf(call) !== quote) return noCalls;
  return textOf(body, spanOf(list));
};

/** The list of no call. */
export const noCalls = "[]";

const firstCallOf = (body: Uint8Array): string | undefined => {
  const list = spanAt(body, ["call_ids"]);
  const first = list && elements(body, list.start).next().value;
  const id = first && parsedJson(textOf(body, first))?.value;
  return typeof id === "string" ? id : undefined;
};
