/** Answers the page's queries from a `GroupReader`. */
import { compileJsonPattern } from "../json/raw-json.ts";
import { sanitizeText } from "../text/sanitize.ts";
import * as answers from "./answers.ts";

/** Returns a function that selects and sorts groups. */
const openSelection =
  <Facts extends answers.GroupFacts>({ groups, search: searchGroups }: answers.GroupReader<Facts>) =>
  async (query: answers.Query) => {
    const search = query.text === undefined ? undefined : await searchGroups(query.text);
    const selected = groups.filter((facts) => search?.found.has(facts.group) !== false && isSelected(facts, query));
    const { sort } = query;
    const steps = sort === "step" ? rankSteps(groups) : undefined;
    const value = (facts: Facts) => (sort === "step" ? (steps?.get(facts.step) ?? Number.NaN) : sortValue(facts, sort));
    selected.sort((a, b) => compareNumbers(value(a), value(b), query.descending));
    return { searched: search?.share ?? 1, selected };
  };

const openRowReader = <Facts extends answers.GroupFacts>(store: answers.GroupReader<Facts>) => {
  const matches = new Map<string, answers.SearchMatch | null>();
  return async (facts: Facts, { text }: answers.Query) => {
    const row = await store.readRow(facts);
    if (text === undefined) return row;
    const key = `${facts.group} ${text}`;
    const match = matches.get(key) ?? findMatch(await store.readGroup(facts.group), text);
    matches.set(key, match);
    return { ...row, match };
  };
};

export const openAnswers = <Facts extends answers.GroupFacts>(store: answers.GroupReader<Facts>): answers.Answerer => {
  const { groups } = store;
  const select = openSelection(store);
  const readRow = openRowReader(store);
  const findFacts = (query: answers.Query) => groups.find(({ group }) => group + 1 === query.group);
  const own: Answers = {
    state: async () => store.state(),
    async charts(query) {
      const isFiltered = answers.formatQuery(answers.filtersOf(query)) !== "{}";
      // The list of groups reports a changed input.
      const found = isFiltered ? await select(query).catch(() => undefined) : undefined;
      const { searched = 1, selected } = found ?? {};
      // While a search runs, the plots would change with each answer.
      return { ...(await store.charts(searched < 1 ? undefined : selected)), searched };
    },
    async rows(query) {
      const { searched, selected } = await select(query);
      const rows: answers.GroupRow[] = [];
      const from = (query.page - 1) * answers.rowsPerPage;
      for (const facts of selected.slice(from, from + answers.rowsPerPage)) rows.push(await readRow(facts, query));
      return { selected: selected.length, of: groups.length, rows, searched };
    },
    async group(query) {
      const facts = findFacts(query);
      if (facts === undefined) return undefined;
      const { selected } = await select(query).catch(() => select(answers.allGroups));
      const [row, { content }] = [await readRow(facts, query), await store.readGroup(facts.group)];
      const list = selected.includes(facts) ? selected : groups;
      const at = list.indexOf(facts);
      const [before = null, after = null] = [list[at - 1]?.group, list[at + 1]?.group];
      return { ...row, ...content, of: store.count, at: list === selected ? at : null, before, after };
    },
    async trajectory(query) {
      const facts = findFacts(query);
      const data = facts && (await store.readGroup(facts.group));
      return data?.trajectories[(query.trajectory ?? 0) - 1];
    },
  };
  return async (name, query) => await own[name](query);
};

/** The groups can grow. */
const rankSteps = (groups: readonly answers.GroupFacts[]) => {
  const names = [...new Set(groups.flatMap(({ step }) => step ?? []))].sort(compareNaturally);
  return new Map<string | null, number>(names.map((step, at) => [step, at]));
};

type Answers = {
  readonly [Name in answers.AnswerName]: (query: answers.Query) => Promise<answers.AnswerTypes[Name] | undefined>;
};

const sortValue = (facts: answers.GroupFacts, key: Exclude<answers.SortKey, "step">) => {
  if (key === "problems") return facts.rules.length;
  if (key === "failed") return facts.failures;
  if (key === "trainable") return facts.untrainable === null ? 1 : 0;
  if (key === "tool errors") return facts.toolErrors ?? Number.NaN;
  return facts[key] ?? Number.NaN;
};

const natural = new Intl.Collator("en", { numeric: true });

/** Sorts 0.25 before 0.5, `step-9` before `step-10`, and numbers (of lists, the first) before texts. */
export const compareNaturally = (a: string, b: string) =>
  compareNumbers(firstNumber(a), firstNumber(b), false) || natural.compare(a, b);

/** Sorts the missing step last. */
export const compareSteps = (a: string | null, b: string | null) =>
  Number(a === null) - Number(b === null) || compareNaturally(a ?? "", b ?? "");

const firstNumber = (text: string) => Number(text.split(", ")[0] || Number.NaN);

/** Sorts NaN last in both directions. */
export const compareNumbers = (a: number, b: number, isDescending: boolean) => {
  if (Number.isNaN(a) || Number.isNaN(b)) return Number(Number.isNaN(a)) - Number(Number.isNaN(b));
  return isDescending ? b - a : a - b;
};

const isSelected = (
  facts: answers.GroupFacts,
  { reward, trainable, truncated, failed, toolErrors, rule, file, step }: answers.Query,
) =>
  (reward === undefined || facts.rewards.some((each) => isWithin(each, reward))) &&
  (trainable === undefined || (facts.untrainable === null) === trainable) &&
  (truncated === undefined || facts.truncated > 0) &&
  (failed === undefined || facts.failures > 0) &&
  (toolErrors === undefined || (facts.toolErrors ?? 0) > 0) &&
  (rule === undefined || facts.rules.some((each) => rule === "any" || each === rule)) &&
  (file === undefined || facts.file === file) &&
  (step === undefined || listSteps(facts).includes(step));

export const listSteps = (facts: answers.GroupFacts) => (facts.parts ?? [facts]).map(({ step }) => step);

/** Returns a test of positions for a text such as `step-6.jsonl:4`, or undefined for another text. */
export const parsePosition = (text: string) => {
  const [, file = "", line] = /^(.+):(\d+)$/.exec(text.trim()) ?? [];
  if (line === undefined) return undefined;
  return (own: { file?: string | undefined; line?: number | undefined }) =>
    own.line === Number(line) && `/${own.file}`.endsWith(`/${file}`);
};

const isWithin = (value: number, [from, to, below]: answers.Range) =>
  value >= from && (below === undefined ? value <= to : value < to);

export const relativePosition = (value: number, from: number, to: number) => {
  // The difference of two large numbers can overflow a double.
  const share = from === to ? 0.5 : (value / 2 - from / 2) / (to / 2 - from / 2);
  return Math.min(1, Math.max(0, share));
};

const maxContext = { before: 40, after: 120 };

export const findMatch = ({ trajectories }: answers.GroupData, text: string): answers.SearchMatch | null => {
  const pattern = compileJsonPattern(text);
  for (const [trajectory, json] of trajectories.entries()) {
    const found = pattern.exec(json);
    if (!found) continue;
    const { 0: spelled, index: at } = found;
    const [before = ""] = /(?:\\.|[^"\\])*$/s.exec(json.slice(Math.max(0, at - maxContext.before), at)) ?? [];
    const [after = ""] = /^(?:\\.|[^"\\])*/s.exec(json.slice(at + spelled.length).slice(0, maxContext.after)) ?? [];
    const cut = json[at - before.length - 1] === '"' ? "" : "…";
    return {
      trajectory,
      before: `${cut}${decodeEscapes(before)}`,
      text: decodeEscapes(spelled),
      after: decodeEscapes(after),
    };
  }
  return null;
};

/** Decodes escapes without a JSON parser, because `part` can begin or end inside an escape. */
const decodeEscapes = (part: string) => {
  const text = part
    .replaceAll(/\\+(?:u([0-9a-f]{4})|(.))/gi, (_, code?: string, letter?: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return letter === undefined || /[nrtbf]/.test(letter) ? " " : letter;
    })
    .replaceAll(/\s+/g, " ");
  return sanitizeText(text);
};
