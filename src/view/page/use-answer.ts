/** Gets answers from the server, or from the data of an exported page. */
import { useEffect, useState } from "preact/hooks";
import { Failure } from "../../failure.ts";
import { isObject } from "../../json/object.ts";
import { listSpellings } from "../../json/raw-json.ts";
import {
  listEvaluated,
  openGroupFilter,
  openValueParser,
  parseFilter,
  readFinish,
} from "../../rollouts/index/expression.ts";
import { openAnswers } from "../answer-queries.ts";
import * as answers from "../answers.ts";
import { openCharts } from "../charts.ts";

const parseElement = (id: string) => JSON.parse(document.getElementById(id)?.textContent ?? "null");

const readGroup = (group: number): answers.GroupData => parseElement(`group-${group}`);

const openEmbeddedAnswers = ({ count, state, charts, rows }: answers.PageData) => {
  const neverDue = { isDue: () => false, take: async () => undefined };
  // A part of the groups cannot change the numbers and plots of all.
  const isWhole = state.summary?.groups.read === rows.length;
  const openedCharts = state.summary && isWhole ? openCharts(rows, state.summary.scale, neverDue) : undefined;
  const { stepName = "step", pass = 1 } = state.summary ?? {};
  let last: { key: string; found: Promise<ReadonlySet<number>> } | undefined;
  return openAnswers({
    count,
    groups: rows,
    state: () => state,
    charts: async (selected) => (selected && (await (await openedCharts)?.(selected))) ?? charts,
    async search({ text, where }) {
      const key = JSON.stringify([text, where]);
      if (last?.key !== key) last = { key, found: searchRows(rows, { text, where, stepName, pass }) };
      return { found: await last.found, share: 1 };
    },
    readRow: async (row) => row,
    readGroup: async (group) => readGroup(group),
  });
};

const maxUnitsAtOnce = 2 ** 20;

/** The page responds between groups. Nothing limits the time that an expression takes for a group. */
const searchRows = async (
  rows: readonly answers.GroupRow[],
  { text, where, stepName, pass }: Pick<answers.Query, "text" | "where"> & Pick<answers.Summary, "stepName" | "pass">,
) => {
  const found = new Set<number>();
  const isTrue = where === undefined ? undefined : parseFilter(where);
  const parse = openValueParser(where ?? "");
  const spellings = text === undefined ? undefined : listSpellings(text);
  let units = 0;
  for (const row of rows) {
    const { group, untrainable } = row;
    const { trajectories: texts, content, rest } = readGroup(group);
    units += texts.reduce((sum, { length }) => sum + length, 0);
    if (units > maxUnitsAtOnce) {
      units = 0;
      await new Promise((resolve) => setTimeout(resolve));
    }
    const isSpelled = (json: string) => spellings?.some((spelled) => json.includes(spelled)) !== false;
    if (![rest, ...texts].some(isSpelled)) continue;
    if (isTrue === undefined) found.add(group);
    else if (untrainable !== "invalid") {
      const { position, exceptions, members, allRewards } = content;
      const parsed = texts.map((json) => parseObject(json, parse));
      // A text that contains a credential is omitted.
      const trajectories = members.map(({ reward, metrics }, at) => parsed[at] ?? { reward, metrics });
      const locate = () => `${position.file}:${position.line}`;
      const facts = members.map(({ facts: known }, at) => {
        // JSON has no infinite reward.
        const { reward: _, finish_reason = null, ...others } = known ?? {};
        const trajectory = parsed[at] ?? { messages_and_choices: [{ message: {}, finish_reason }] };
        return { ...others, ...readFinish(trajectory, finish_reason === null) };
      });
      const isWanted = openGroupFilter(isTrue, {
        group,
        holder: { [stepName]: findStep([...members, row], parse) ?? null },
        trajectories,
        allRewards,
        facts,
        exceptions: exceptions.length,
        pass,
        locate,
      });
      if (listEvaluated(trajectories).filter((one, at) => isWanted(one, at) === true).length > 0) found.add(group);
    }
  }
  return found;
};

const parseObject = (json: string, parse: (json: string) => unknown) => {
  try {
    const value = parse(json);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
};

/** A trajectory can have the step of its group, whose members are not in the page. */
const findStep = (members: readonly Pick<answers.TrajectorySummary, "step">[], parse: (json: string) => unknown) => {
  const [step] = members.flatMap((member) => member.step ?? []);
  return step !== undefined && /^-?(?:0|[1-9]\d*)$/.test(step) ? parse(step) : step;
};

const data: answers.PageData | null = parseElement("data");
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

/** The number of the read whose state the page shows. */
let shownRead: string | null = null;

const fetchAnswer = async <Of extends answers.AnswerName>(name: Of, query: answers.Query, signal: AbortSignal) => {
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
  return value;
};

export const serverEndedEvent = "rollcall-server-ended";

const pollIntervalMs = 250;

type PageAnswer<Of extends answers.AnswerName> = { key: string; value: answers.AnswerTypes[Of] };

/** A component starts with its last answer, which remains visible if the server has ended. */
const lastAnswers: { [Of in answers.AnswerName]?: PageAnswer<Of> } = {};

/**
 * `latest` can be the answer to the previous query. If the server has ended, `error` is empty, because the
 * page reports the end.
 */
export const useAnswer = <Of extends answers.AnswerName>(
  name: Of,
  query: answers.Query | undefined,
  { isComplete = () => true }: { isComplete?: (value: answers.AnswerTypes[Of]) => boolean } = {},
) => {
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
        setAnswer({ key, value });
        setFailure(undefined);
        if (!isComplete(value)) timer = setTimeout(update, pollIntervalMs);
      } catch (thrown) {
        const error = thrown instanceof Failure ? answers.formatRefusedFilter(thrown) : String(Object(thrown).message);
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
