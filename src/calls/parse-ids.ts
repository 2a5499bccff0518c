/** Parses call ids from lines. */
import { Failure } from "../failure.ts";
import { isObject, parseJson } from "../json/json-bytes.ts";

/** Limits in UTF-16 units. A line can contain a whole call. */
const maxIdLength = 1024;
const maxLineLength = 256 * 1024 * 1024;

/** `project` is undefined for the project of the settings. */
export type CallReference = Readonly<{ id: string; project?: string | undefined }>;

/** Reads an id, a URL or a reference such as `weave:///team/project/call/<id>`. Undefined for another URL. */
export const parseReference = (text: string): CallReference | undefined => {
  const [, path, search = ""] = /^[a-z][a-z\d+.-]*:\/\/([^?#]*)(?:\?([^#]*))?/i.exec(text) ?? [];
  if (path === undefined) return { id: text };
  // A page of a trace shows one of its calls, which the query names.
  const shown = new URLSearchParams(search).get("peekPath") ?? "";
  const queries = [search, shown.replace(/^[^?]*\??/, "")].map((query) => new URLSearchParams(query));
  const [child] = queries.flatMap((query) => query.get("descendentCallId") || []);
  const [parent] = [shown, path].flatMap((part) => /\/calls?\/([^/?#\s]+)\/?(?:\?|$)/.exec(part)?.[1] ?? []);
  const id = child ?? parent;
  // A URL with a host can have another path.
  return id === undefined ? undefined : { id, project: /^\/([^/]+\/[^/]+)\/call\//.exec(path)?.[1] };
};

/** @throws Failure `call-ids-missing`, `invalid-call-id` */
export async function* parseCallIds(chunks: AsyncIterable<Uint8Array>): AsyncIterable<CallReference> {
  let isEmpty = true;
  for await (const { text, line } of splitLines(chunks)) {
    for (const reference of parseLine(text, line)) {
      isEmpty = false;
      yield reference;
    }
  }
  if (isEmpty) {
    const hint = "write one id on each line, or the ids as arguments";
    throw new Failure("invalid_input", "call-ids-missing", "no call ids on standard input", { hint });
  }
}

const invalidCallId = (line: number, why: string) =>
  new Failure("invalid_input", "invalid-call-id", `line ${line} of standard input is not a call id: it is ${why}`, {
    hint: "write on each line ids, an id and a tab, or a JSON object with the key `id`, `call` or `calls`",
  });

async function* splitLines(chunks: AsyncIterable<Uint8Array>) {
  const decoder = new TextDecoder();
  let line = 1;
  let rest = "";
  for await (const chunk of chunks) {
    const [first = "", ...lines] = decoder.decode(chunk, { stream: true }).split("\n");
    rest += first;
    for (const next of lines) {
      yield { text: rest.trim(), line: line++ };
      rest = next;
    }
    if (rest.length > maxLineLength) throw invalidCallId(line, "too long");
  }
  yield { text: rest.trim(), line };
}

const parseLine = (text: string, line: number) => {
  const references = text.startsWith("{") ? parseObjectIds(text, line) : listFields(text).map(parseReference);
  return references.map((reference) => {
    if (!reference) throw invalidCallId(line, "a URL that does not end with /call/<id>");
    if (reference.id.length > maxIdLength) throw invalidCallId(line, "too long");
    if (reference.id.includes("\ufffd")) throw invalidCallId(line, "not UTF-8");
    return reference;
  });
};

/** Of the fields between tabs, the first has the ids: `a`, `"a"`, `a,b` or a line of `["a","b"]`. */
const listFields = (text: string) => {
  const [field = ""] = text.split("\t", 1);
  const ids = field.trim().replace(/^\[/, "").replace(/\]$/, "").split(",");
  return ids
    .map((id) =>
      id
        .trim()
        .replace(/^"(.*)"$/, "$1")
        .trim(),
    )
    .filter((id) => id !== "");
};

const parseObjectIds = (text: string, line: number): readonly CallReference[] => {
  const value = parseJson(text)?.value;
  if (value === undefined) throw invalidCallId(line, "broken JSON");
  const { id, call, calls }: { readonly [key: string]: unknown } = isObject(value) ? value : {};
  const holders: readonly unknown[] = id !== undefined ? [value] : Array.isArray(calls) ? calls : [call];
  const ids = holders.map((holder) => (isObject(holder) && typeof holder.id === "string" ? holder.id.trim() : ""));
  if (ids.includes("")) throw invalidCallId(line, "an object without an id");
  return ids.map((own) => ({ id: own }));
};
