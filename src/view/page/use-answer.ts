/** Asks for answers: the server, with the token that the address brought, or the data of a page in a file. */
import { useEffect, useState } from "preact/hooks";
import type { AnswerTypes } from "../answers.ts";
import { formatQuery, type Query } from "../query.ts";
import { embeddedAnswers } from "./embedded-data.ts";

const tokenKey = "rollcall-view-token";

/** Moves the token from the address to where later tabs find it too. A copied address is then without it. True if there was one. */
export const storeToken = (): boolean => {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined || embeddedAnswers !== undefined) return false;
  localStorage.setItem(tokenKey, token);
  history.replaceState(null, "", "#/");
  return true;
};

type Name = keyof AnswerTypes;

const fetchAnswer = async <Of extends Name>(name: Of, query: Query, signal: AbortSignal): Promise<AnswerTypes[Of]> => {
  if (embeddedAnswers === undefined) return await fetchFromServer(name, query, signal);
  const value = await embeddedAnswers[name](query);
  if (value === undefined) throw new Error("this page does not hold that group");
  return value;
};

const fetchFromServer = async <Of extends Name>(
  name: Of,
  query: Query,
  signal: AbortSignal,
): Promise<AnswerTypes[Of]> => {
  const headers = { Authorization: `Bearer ${localStorage.getItem(tokenKey) ?? ""}` };
  const path = `api/${name}?query=${encodeURIComponent(formatQuery(query))}`;
  const response = await fetch(path, { headers, signal }).catch(() => {
    throw new Error("rollcall view has ended: start it again to go on");
  });
  if (!response.ok) {
    const { detail }: { readonly detail: string } = await response.json();
    throw new Error(detail);
  }
  // Both sides are built together, from the same types.
  const value: AnswerTypes[Of] = await (name === "trajectory" ? response.text() : response.json());
  return value;
};

/** How often the page asks again for what is not complete. */
const pollIntervalMs = 250;

interface AnswerState<Value> {
  /** Undefined until it was answered, and after a failure. */
  readonly value: Value | undefined;
  /** The answer to this query, or to the one before until this one is answered. */
  readonly latest: Value | undefined;
  readonly error: string | undefined;
}

/** Asks whenever the query or the edition changes, and again until the answer is complete. Asks nothing if there is no query. */
export const useAnswer = <Of extends Name>(
  name: Of,
  query: Query | undefined,
  { isComplete = () => true, edition }: { isComplete?: (value: AnswerTypes[Of]) => boolean; edition?: unknown } = {},
): AnswerState<AnswerTypes[Of]> => {
  const key = query === undefined ? undefined : `${formatQuery(query)} ${edition}`;
  const [answer, setAnswer] = useState<{ key?: string; value?: AnswerTypes[Of]; trouble?: string }>({});
  useEffect(() => {
    if (query === undefined || key === undefined) return undefined;
    const aborting = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const update = async (): Promise<void> => {
      try {
        const value = await fetchAnswer(name, query, aborting.signal);
        if (aborting.signal.aborted) return;
        setAnswer({ key, value });
        if (!isComplete(value)) timer = setTimeout(() => void update(), pollIntervalMs);
      } catch (thrown) {
        const trouble = thrown instanceof Error ? thrown.message : String(thrown);
        if (!aborting.signal.aborted) setAnswer({ key, trouble });
      }
    };
    void update();
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [key]);
  const own = answer.key === key ? answer : {};
  return { value: own.value, latest: answer.value, error: own.trouble };
};
