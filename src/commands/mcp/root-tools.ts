/** Runs commands on files of the root folder, and removes the texts of rollouts from their documents. */
import { type Failure, isFailure, toProblemDocument } from "../../failure.ts";
import type * as mcp from "../../mcp/root.ts";
import { redactMessage } from "../../rollouts/rules/rules.ts";
import type { CheckDocument } from "../check/output.ts";
import type { CompareDocument } from "../compare/output.ts";
import type { StatsDocument } from "../stats/output.ts";

type Problems = CheckDocument["problems"];

/** `printed` is empty if the input is unreadable. */
type Read = Readonly<{ printed: string; errors: Problems; files: readonly mcp.RootFile[] }>;

/** The result contains no text of the files except keys, the split, and the names of finish reasons and tools. */
export const readInRoot = async <Ran extends Readonly<{ printed: string; failure: Failure | undefined }>>(
  { open, toDocument }: Readonly<{ open: mcp.RootFileOpener; toDocument: (read: Read) => object }>,
  run: (paths: readonly string[]) => Promise<Ran>,
  values: readonly string[],
) => {
  const files: mcp.RootFile[] = [];
  try {
    for (const value of values) files.push(open(value));
    const ran = await run(files.map(({ path }) => path));
    const { printed, failure } = ran;
    if (failure && !isFailure(failure, "invalid-input")) return ran;
    const document = toDocument({ printed, errors: (failure?.details.problems ?? []).map(toProblemDocument), files });
    return { ...ran, printed: JSON.stringify(document), failure: undefined };
  } finally {
    for (const file of files) file.close();
  }
};

const redactProblems = (problems: Problems, read: Read) =>
  problems.map(({ file, line, column, path, rule, severity, message }) => {
    return {
      file: file && nameFile(file, read),
      line,
      column,
      path: path?.map((step) => (typeof step === "string" ? hideSentence(step) : step)),
      rule,
      severity,
      message: redactMessage({ rule, message }),
    };
  });

export const toCheckDocument = (read: Read) => {
  const checked: Partial<CheckDocument> = read.printed === "" ? { status: "invalid" } : JSON.parse(read.printed);
  const { status, split, groups, trajectories, metrics, problems_left_out } = checked;
  const problems = redactProblems(checked.problems ?? read.errors, read);
  return {
    status,
    split: split == null ? split : hideSentence(split),
    groups,
    trajectories,
    metrics: hideKeys(metrics),
    problems,
    problems_left_out,
  };
};

export const toStatsDocument = (read: Read) => {
  const { by, notes, warnings: _, ...stats }: Partial<StatsDocument> = parsePrinted(read);
  const slices = by?.map(({ value, ...slice }) => ({ value: hideText(value, read), ...hideSliceNames(slice) }));
  return { ...hideSliceNames(stats), by: slices, notes: nameFilesIn(notes, read), problems: redactErrors(read) };
};

export const toCompareDocument = (read: Read) => {
  const {
    changed,
    metrics,
    divisions,
    settings,
    notes,
    warnings: _,
    ...compared
  }: Partial<CompareDocument> = parsePrinted(read);
  const pairs = changed?.map(({ key: _, prompt: __, at_a, at_b, ...pair }) => {
    return { ...pair, at_a: nameFile(at_a, read), at_b: nameFile(at_b, read) };
  });
  return {
    ...hideNames(compared),
    metrics: metrics?.map(hideName) ?? metrics,
    divisions: divisions?.map((division) => ({ ...division, value: hideSentence(division.value) })),
    settings: settings?.map(({ name, a, b }) => ({ name: hideSentence(name), a: hideSentence(a), b: hideSentence(b) })),
    changed: pairs,
    notes: nameFilesIn(notes, read),
    problems: redactErrors(read),
  };
};

const parsePrinted = ({ printed }: Read) => JSON.parse(printed || "{}");

const redactErrors = (read: Read) => (read.errors.length === 0 ? undefined : redactProblems(read.errors, read));

/** Names the file of a position, and the row or member of the file, unless the member's name could be a sentence. */
const nameFile = (position: string, { files }: Read) => {
  const file = files.find(({ path }) => position.startsWith(path) && /^(?:$|[#!:])/.test(position.slice(path.length)));
  if (!file) return "";
  const rest = position.slice(file.path.length);
  return /^(?:#row \d+|![\w./-]{1,200})?(?::\d+)?$/.test(rest) ? `${file.name}${rest}` : file.name;
};

/** The paths of descriptors can begin with each other, so the longest is first. */
const nameFilesIn = (texts: readonly string[] | undefined, { files }: Read) => {
  const longest = files.toSorted((a, b) => b.path.length - a.path.length);
  return texts?.map((text) => longest.reduce((named, { path, name }) => named.replaceAll(path, name), text));
};

const omitted = "[text omitted]";

/** Returns the value of a key, unless it is a text other than the path of a file. */
const hideText = (value: string | number | boolean | null, read: Read) =>
  typeof value === "string" ? nameFile(value, read) || omitted : value;

/** Keeps names such as `length` and `search.web`. Omits sentences and URLs, which an agent could follow. */
const hideSentence = (name: string) => (/^(?!.*\/\/)[\w.:/@$-]{1,64}$/.test(name) ? name : omitted);

const hideName = <Named extends { readonly name: string | null }>(named: Named) => ({
  ...named,
  name: named.name === null ? null : hideSentence(named.name),
});

/** Numbers the omitted keys, because an object has each key once. */
const hideKeys = <Value>(values: Readonly<Record<string, Value>> | null | undefined) =>
  values &&
  Object.fromEntries(
    Object.entries(values).map(([key, value], at) => {
      const shown = hideSentence(key);
      return [shown === key ? key : `${shown} ${at + 1}`, value];
    }),
  );

type Names = readonly { readonly name: string | null }[];

type Named = Readonly<{ finish_reasons?: Names | null | undefined; tools?: Names | null | undefined }>;

const hideNames = <Document extends Named>(document: Document) => ({
  ...document,
  finish_reasons: document.finish_reasons?.map(hideName) ?? document.finish_reasons,
  tools: document.tools?.map(hideName) ?? document.tools,
});

const hideSliceNames = ({ metrics, ...slice }: Named & Pick<Partial<StatsDocument>, "metrics">) => ({
  ...hideNames(slice),
  metrics: hideKeys(metrics),
});
