/** Formats of refused requests. */
import type { ValidationItem } from "../wire/contract/log-schemas.ts";

export class HttpRefusal extends Error {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly items: readonly ValidationItem[] | undefined;

  constructor(status: number, message: string, headers: HttpRefusal["headers"] = {}, items?: HttpRefusal["items"]) {
    super(message);
    this.status = status;
    this.headers = headers;
    this.items = items;
  }
}

export type ErrorFormat = (refusal: HttpRefusal) => unknown;

/** Interface 7. Assumed: without items, `detail` is a sentence. */
export const detailError: ErrorFormat = ({ message, items }) => ({
  detail: items?.map((item) => ({ ...item, loc: item.loc.map(String) })) ?? message,
});

/** Assumed: errors of the model list have OpenAI's format, because OpenAI's clients read the list. */
export const openAiError: ErrorFormat = ({ message, status }) => ({
  error: { message, type: "invalid_request_error", param: null, code: status === 401 ? "invalid_api_key" : null },
});

/** Assumed: errors about calls have this format. */
export const reasonError: ErrorFormat = ({ message }) => ({ reason: message });
