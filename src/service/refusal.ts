/** Answers of the service, and refusals in the words of each operation. */
import type { ValidationItem } from "../contract/errors.ts";

/** An answer before it is written: JSON text. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
  /** Bytes of the request that were stored, and were not before. */
  readonly stored?: number;
}

/** Ends a request before its operation has an answer. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The faults of the request: interface 7. */
  readonly items: readonly ValidationItem[] | undefined;

  constructor(
    status: number,
    message: string,
    { headers = {}, items }: { headers?: Readonly<Record<string, string>>; items?: readonly ValidationItem[] } = {},
  ) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.items = items;
  }
}

/** Faults that a sentence names; `detail` has all. */
const maxNamed = 5;

/** The refusal of a request that does not match the interface: 422, with an item for each fault. */
export const invalid = (items: readonly ValidationItem[]): Refusal => {
  const faults = items.slice(0, maxNamed).map(({ loc, msg }) => `${loc.join(".")}: ${msg}`);
  return new Refusal(422, faults.join("; "), { items });
};

/** The error body of an operation. */
export type Wording = (refusal: Pick<Refusal, "status" | "message" | "items">) => unknown;

/** Service-interface 7: `detail`, with items if there are any, each `loc` all text. Assumed: a sentence if there are none. */
export const detailWording: Wording = ({ message, items }) => ({
  detail: items?.map((item) => ({ ...item, loc: item.loc.map(String) })) ?? message,
});

/** Assumed: errors of the model list are those of an OpenAI-style service, because its clients read them. */
export const errorWording: Wording = ({ message, status }) => ({
  error: { message, type: "invalid_request_error", param: null, code: status === 401 ? "invalid_api_key" : null },
});

/** Assumed: a call read gives its reason. */
export const reasonWording: Wording = ({ message }) => ({ reason: message });

/** Returns a refusal as an answer, without the input if that is nested too deeply to be written. */
export const refused = ({ status, headers, message, items }: Refusal, wording: Wording): Answer => {
  const write = (shown: Refusal["items"]) => JSON.stringify(wording({ status, message, items: shown }));
  try {
    return { status, headers, body: write(items) };
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown;
    return { status, headers, body: write(items?.map((item) => ({ ...item, input: null }))) };
  }
};
