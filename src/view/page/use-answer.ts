/** Gets answers from the server, or from the data of an exported page. */
import { useEffect, useState } from "preact/hooks";
import { createAnswers, findMatch } from "../answer-queries.ts";
import { type AnswerTypes, formatQuery, type GroupData, type PageData, type Query } from "../answers.ts";

const parseElement = (id: string) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

const readGroup = (group: number): GroupData => parseElement(`group-${group}`);

const openEmbeddedAnswers = ({ state, charts, findings, rows }: PageData) => {
  const findGroups = (text: string) =>
    new Set(rows.flatMap(({ group }) => (findMatch(readGroup(group).trajectories, text) === null ? [] : group)));
  const all = new Set(rows.map(({ group }) => group));
  let last = { text: "", found: all };
  return createAnswers({
    count: state.summary?.groups.read ?? 0,
    groups: rows,
    findings,
    state: () => state,
    charts: () => charts,
    async search({ text = "" }) {
      if (text !== last.text) last = { text, found: text === "" ? all : findGroups(text) };
      return { found: last.found, share: 1 };
    },
    readRow: async (row) => row,
    readContent: async (group) => readGroup(group).content,
    readTrajectories: async (group) => readGroup(group).trajectories,
  });
};

const data: PageData | null = parseElement("data");
const embeddedAnswers = data && openEmbeddedAnswers(data);

const tokenKey = "rollcall-view-token";

/** Removes the token from the URL, because the reader may share the URL. Returns true if the URL had a token. */
export const storeToken = () => {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined || embeddedAnswers) return false;
  localStorage.setItem(tokenKey, token);
  history.replaceState(null, "", "#/");
  return true;
};

type AnswerName = keyof AnswerTypes;

const fetchAnswer = async <Of extends AnswerName>(name: Of, query: Query, signal: AbortSignal) => {
  if (embeddedAnswers) {
    const value = await embeddedAnswers[name](query);
    if (value === undefined) throw new Error("this page does not contain the group");
    return value;
  }
  const headers = { Authorization: `Bearer ${localStorage.getItem(tokenKey)}` };
  const path = `api/${name}?query=${encodeURIComponent(formatQuery(query))}`;
  const response = await fetch(path, { headers, signal }).catch(() => {
    if (!signal.aborted) dispatchEvent(new Event(serverEndedEvent));
    throw new Error("");
  });
  if (!response.ok) {
    const { detail }: { detail: string } = await response.json();
    throw new Error(detail);
  }
  // The value needs no check, because the server is built with the same types.
  const value: AnswerTypes[Of] = await (name === "trajectory" ? response.text() : response.json());
  return value;
};

export const serverEndedEvent = "rollcall-server-ended";

const pollIntervalMs = 250;

type PageAnswer<Of extends AnswerName> = { key: string; value: AnswerTypes[Of] };

/** A component starts with its last answer, which remains visible if the server has ended. */
const lastAnswers: { [Of in AnswerName]?: PageAnswer<Of> } = {};

/**
 * `latest` can be the answer to the previous query or edition. If the server has ended, `error` is empty, because the
 * page reports the end.
 */
export const useAnswer = <Of extends AnswerName>(
  name: Of,
  query: Query | undefined,
  { isComplete = () => true, edition }: { isComplete?: (value: AnswerTypes[Of]) => boolean; edition?: number } = {},
) => {
  const key = query && `${formatQuery(query)} ${edition}`;
  const last: PageAnswer<Of> | undefined = lastAnswers[name];
  const [answer, setAnswer] = useState(last?.key === key ? last : undefined);
  const [failure, setFailure] = useState<{ key: string; error: string }>();
  useEffect(() => {
    if (!query || key === undefined) return undefined;
    const abortController = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    const update = async () => {
      try {
        const value = await fetchAnswer(name, query, abortController.signal);
        if (abortController.signal.aborted) return;
        Object.assign(lastAnswers, { [name]: { key, value } });
        setAnswer({ key, value });
        setFailure(undefined);
        if (!isComplete(value)) timer = setTimeout(update, pollIntervalMs);
      } catch (thrown) {
        const error = thrown instanceof Error ? thrown.message : String(thrown);
        if (!abortController.signal.aborted) setFailure({ key, error });
      }
    };
    void update();
    return () => {
      clearTimeout(timer);
      abortController.abort();
    };
  }, [key]);
  return {
    value: answer?.key === key ? answer?.value : undefined,
    latest: answer?.value,
    error: failure?.key === key ? failure?.error : undefined,
  };
};
