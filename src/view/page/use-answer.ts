/** Fetches answers from the server with the stored token, or finds answers in the data of an exported page. */
import { useEffect, useState } from "preact/hooks";
import { createAnswers, findMatch } from "../answer-queries.ts";
import type { Answers, AnswerTypes, GroupData, GroupRow, PageData } from "../answers.ts";
import { formatQuery, type Query } from "../query.ts";

const textOf = (id: string): string | undefined => document.getElementById(id)?.textContent ?? undefined;

const readGroup = (group: number): GroupData => JSON.parse(textOf(`group-${group}`) ?? "null");

const openEmbeddedAnswers = ({ state, charts, findings, rows }: PageData): Answers => {
  let lastSearch: { readonly text: string; readonly groups: ReadonlySet<number> } | undefined;
  const search = (text: string): ReadonlySet<number> => {
    const has = ({ group }: GroupRow) => findMatch(readGroup(group).trajectories, text) !== null;
    if (lastSearch?.text !== text) lastSearch = { text, groups: new Set(rows.filter(has).map(({ group }) => group)) };
    return lastSearch.groups;
  };
  return createAnswers({
    count: state.summary?.groups.read ?? 0,
    groups: rows,
    findings,
    state: () => state,
    charts: () => charts,
    search: async ({ text }) =>
      text === undefined
        ? { has: () => true, searched: null }
        : { has: (group) => search(text).has(group), searched: { share: 1 } },
    readRow: async (row) => row,
    readContent: async (group) => readGroup(group).content,
    readTrajectories: async (group) => readGroup(group).trajectories,
  });
};

const data = textOf("data");

const embeddedAnswers = data === undefined ? undefined : openEmbeddedAnswers(JSON.parse(data));

const tokenKey = "rollcall-view-token";

/** Moves the token from the URL to the local storage, so that copied URLs lack the token. True if the URL had one. */
export const storeToken = () => {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined || embeddedAnswers !== undefined) return false;
  localStorage.setItem(tokenKey, token);
  history.replaceState(null, "", "#/");
  return true;
};

type Name = keyof AnswerTypes;

const fetchAnswer = async <Of extends Name>(name: Of, query: Query, signal: AbortSignal): Promise<AnswerTypes[Of]> => {
  if (embeddedAnswers !== undefined) {
    const value = await embeddedAnswers[name](query);
    if (value === undefined) throw new Error("this page does not contain the group");
    return value;
  }
  const headers = { Authorization: `Bearer ${localStorage.getItem(tokenKey) ?? ""}` };
  const path = `api/${name}?query=${encodeURIComponent(formatQuery(query))}`;
  const response = await fetch(path, { headers, signal }).catch(() => {
    if (!signal.aborted) dispatchEvent(new Event(serverEndedEvent));
    throw new Error("");
  });
  if (!response.ok) {
    const { detail }: { detail: string } = await response.json();
    throw new Error(detail);
  }
  // The server is built with the same types.
  const value: AnswerTypes[Of] = await (name === "trajectory" ? response.text() : response.json());
  return value;
};

export const serverEndedEvent = "rollcall-server-ended";

const pollIntervalMs = 250;

/** The last answers. A view that is opened again shows them immediately, even if the server has ended. */
const lastAnswers: { readonly [Of in Name]?: KeyedAnswer<Of> } = {};
type KeyedAnswer<Of extends Name> = { readonly key: string; readonly value: AnswerTypes[Of] };

/**
 * Fetches the answer to a query until `isComplete`, and again if the query or `edition` changes. Until the new answer
 * comes, `latest` is the previous answer. If the server has ended, `error` is empty, because the page reports this.
 */
export const useAnswer = <Of extends Name>(
  name: Of,
  query: Query | undefined,
  { isComplete = () => true, edition }: { isComplete?: (value: AnswerTypes[Of]) => boolean; edition?: unknown } = {},
) => {
  const key = query === undefined ? undefined : `${formatQuery(query)} ${edition}`;
  const last: KeyedAnswer<Of> | undefined = lastAnswers[name];
  const [answer, setAnswer] = useState(last?.key === key ? last : undefined);
  const [failure, setFailure] = useState<{ key?: string; error?: string }>({});
  useEffect(() => {
    if (query === undefined || key === undefined) return undefined;
    const aborting = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const update = async (): Promise<void> => {
      try {
        const value = await fetchAnswer(name, query, aborting.signal);
        if (aborting.signal.aborted) return;
        Object.assign(lastAnswers, { [name]: { key, value } });
        setAnswer({ key, value });
        setFailure({});
        if (!isComplete(value)) timer = setTimeout(() => void update(), pollIntervalMs);
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown.message : String(thrown);
        if (!aborting.signal.aborted) setFailure({ key, error });
      }
    };
    void update();
    return () => {
      clearTimeout(timer);
      aborting.abort();
    };
  }, [key]);
  return {
    value: answer?.key === key ? answer?.value : undefined,
    latest: answer?.value,
    error: failure.key === key ? failure.error : undefined,
  };
};
