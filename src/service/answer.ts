/** What the service answers with, and the interface's ways of saying that something is wrong. */
import type { ValidationItem } from "../contract/errors.ts";

/** A reply before it is written: JSON text. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Bytes of the request that were stored, and were not before. */
  readonly stored?: number;
}

/** Something that ends a request before its operation has an answer; how it is said is the operation's. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** What is wrong with the request, item by item: interface 7. */
  readonly items: readonly ValidationItem[] | undefined;

  constructor(
    status: number,
    message: string,
    more: {
      readonly headers?: Readonly<Record<string, string>>;
      readonly items?: readonly ValidationItem[];
    } = {},
  ) {
    super(message);
    this.status = status;
    this.headers = more.headers ?? {};
    this.items = more.items;
  }
}

/** Faults that a sentence names; `detail` has them all. */
const namedFaults = 5;

/** A request that does not hold what the interface asks for: 422, with an item for each fault. */
export const invalid = (items: readonly ValidationItem[]): Refusal => {
  const faults = items.slice(0, namedFaults).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
  return new Refusal(422, faults.join("; "), { items });
};

/** How an operation words what is wrong. */
export type Wording = (refusal: Refusal) => unknown;

/** Service-interface 7: `detail`, items where there are any, each `loc` all text. Assumed: a plain sentence where there are none. */
export const detailWording: Wording = ({ message, items }) => ({
  detail: items?.map((item) => ({ ...item, loc: item.loc.map(String) })) ?? message,
});

/** Assumed: the model list is wrong in the words of an OpenAI-style service, since its clients read those. */
export const errorWording: Wording = ({ message, status }) => ({
  error: { message, type: "invalid_request_error", param: null, code: status === 401 ? "invalid_api_key" : null },
});

/** Assumed: a call read gives its reason. */
export const reasonWording: Wording = ({ message }) => ({ reason: message });

/** A refusal as an answer. */
export const refused = (refusal: Refusal, wording: Wording): Answer => ({
  status: refusal.status,
  headers: refusal.headers,
  body: textOf(refusal, wording),
});

/** Text of a refusal; without what was given where that is nested deeper than can be written. */
const textOf = (refusal: Refusal, wording: Wording): string => {
  try {
    return JSON.stringify(wording(refusal));
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    const items = refusal.items?.map((item) => ({ ...item, input: null }));
    return JSON.stringify(wording(new Refusal(refusal.status, refusal.message, items === undefined ? {} : { items })));
  }
};
