/** Gets answers from the server, or from the data of an exported page. */
import { useEffect, useState } from "preact/hooks";
import { compileJsonPattern } from "../../json/raw-json.ts";
import { openAnswers, parsePosition } from "../answer-queries.ts";
import * as answers from "../answers.ts";
import { openCharts } from "../charts.ts";

const parseElement = (id: string) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

const readGroup = (group: number): answers.GroupData => parseElement(`group-${group}`);

const openEmbeddedAnswers = ({ count, state, charts, rows }: answers.PageData) => {
  const neverDue = { isDue: () => false, take: async () => undefined };
  // A part of the groups cannot change the numbers and plots of all.
  const isWhole = state.summary?.groups.read === rows.length;
  const openedCharts = state.summary && isWhole ? openCharts(rows, state.summary, neverDue) : undefined;
  let last: { text: string; found: Promise<ReadonlySet<number>> } | undefined;
  return openAnswers({
    count,
    groups: rows,
    state: () => state,
    charts: async (selected) => (selected && (await (await openedCharts)?.(selected))) ?? charts,
    async search(text) {
      if (last?.text !== text) last = { text, found: searchRows(rows, text) };
      return { found: await last.found, share: 1 };
    },
    readRow: async (row) => row,
    readGroup: async (group) => readGroup(group),
  });
};

const maxUnitsAtOnce = 2 ** 20;

/** The page responds between groups. */
const searchRows = async (rows: readonly answers.GroupRow[], text: string) => {
  const found = new Set<number>();
  const isThere = parsePosition(text);
  for (const { group } of isThere ? rows : []) {
    if (readGroup(group).content.members.some(({ position }) => isThere?.(position))) found.add(group);
  }
  if (found.size > 0) return found;
  const pattern = compileJsonPattern(text);
  let units = 0;
  for (const { group } of rows) {
    const { trajectories, rest } = readGroup(group);
    units += trajectories.reduce((sum, { length }) => sum + length, 0);
    if (units > maxUnitsAtOnce) {
      units = 0;
      await new Promise((resolve) => setTimeout(resolve));
    }
    if ([rest, ...trajectories].some((json) => pattern.test(json))) found.add(group);
  }
  return found;
};

const data: answers.PageData | null = parseElement("data");
const embeddedAnswers = data && openEmbeddedAnswers(data);

const tokenKey = "rollcall-view-token";

const foldsKey = "rollcall-view-folds";

/** Returns true for open folds. Browsers can refuse to store anything for a page in a file. */
export const storeFolds = (folds?: "open" | "closed") => {
  try {
    if (folds) localStorage.setItem(foldsKey, folds);
    return localStorage.getItem(foldsKey) === "open";
  } catch {
    return folds === "open";
  }
};

/** Removes the token from the URL, because the reader may share the URL. Returns true if the URL had a token. */
export const storeToken = () => {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined || embeddedAnswers) return false;
  localStorage.setItem(tokenKey, token);
  history.replaceState(null, "", "#/");
  return true;
};

/** The number of the read whose state the page shows. */
let shownRead: string | null = null;
let isRead = data !== null;

/** More is read or searched. */
const isPartial = (name: answers.AnswerName, value: unknown) =>
  Object(value).searched < 1 || (!isRead && (name === "state" || name === "rows"));

export const fetchAnswer = async <Of extends answers.AnswerName>(
  name: Of,
  query: answers.Query,
  signal = new AbortController().signal,
) => {
  if (embeddedAnswers) {
    const value = await embeddedAnswers(name, query);
    if (value === undefined) throw new Error("this page does not contain the group");
    return value;
  }
  const headers = { Authorization: `Bearer ${localStorage.getItem(tokenKey)}` };
  const path = `api/${name}?query=${encodeURIComponent(answers.formatQuery(query))}`;
  const response = await fetch(path, { headers, signal }).catch(() => {
    if (!signal.aborted) dispatchEvent(new Event(serverEndedEvent));
    throw new Error("");
  });
  if (!response.ok) {
    const { detail }: { detail: string } = await response.json();
    throw new Error(detail);
  }
  const read = response.headers.get(answers.readHeader);
  if (name === "state") shownRead = read;
  if (read !== shownRead) throw new Error("the input has changed and was read again. Reload the page");
  // The value needs no check, because the server is built with the same types.
  const value: answers.AnswerTypes[Of] = await (name === "trajectory" ? response.text() : response.json());
  if (name === "state") isRead = Object(value).progress.phase === "read";
  return value;
};

export const serverEndedEvent = "rollcall-server-ended";

const pollIntervalMs = 250;
/** After the input is read, the page asks whether it has changed. */
const restMs = 5000;

type PageAnswer<Of extends answers.AnswerName> = { key: string; value: answers.AnswerTypes[Of] };

/** A component starts with its last answer, which remains visible if the server has ended. */
const lastAnswers: { [Of in answers.AnswerName]?: PageAnswer<Of> } = {};

/**
 * `latest` can be the answer to the previous query. If the server has ended, `error` is empty, because the
 * page reports the end.
 */
export const useAnswer = <Of extends answers.AnswerName>(name: Of, query: answers.Query | undefined) => {
  const key = query && answers.formatQuery(query);
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
        const next = { key, value };
        setAnswer((before) => (JSON.stringify(before) === JSON.stringify(next) ? before : next));
        setFailure(undefined);
        if (isPartial(name, value)) timer = setTimeout(update, pollIntervalMs);
        else if (name === "state" && !data) timer = setTimeout(update, restMs);
      } catch (thrown) {
        if (!abortController.signal.aborted) setFailure({ key, error: String(Object(thrown).message) });
      }
    };
    void update();
    return () => {
      clearTimeout(timer);
      abortController.abort();
    };
    // Answers are asked again if the input was read to its end, or again.
  }, [key, name === "state" || `${shownRead} ${isRead}`]);
  return {
    value: answer?.key === key ? answer?.value : undefined,
    latest: answer?.value,
    error: failure?.key === key ? failure?.error : undefined,
  };
};
