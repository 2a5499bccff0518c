/** The failure of a run, as text for a person and as the one JSON document that `--json` promises. */
import { Failure, type Problem, toProblemDocument } from "../failure.ts";
import { toOneLine } from "./cleaner.ts";
import { formatPosition, formatProblemLines, type TextCleaner } from "./problem.ts";
import type { Screen } from "./screen.ts";
import { type Paint, plainPaint, selectGlyphs } from "./style.ts";
import type { Tone } from "./views.ts";

/** Problems that are shown one by one (output.md). */
const maxProblems = 20;

/** Characters of what a service said that are shown. */
const maxReplyLength = 2000;

export interface RunEnd {
  readonly failure: Failure;
  readonly exitCode: number;
}

export const printFailure = async (screen: Screen, end: RunEnd): Promise<void> => {
  screen.stopProgress();
  const { safe, isForProgram, printsEvents: tellsEvents } = screen;
  await screen.writeError(async (paint) =>
    isForProgram || tellsEvents
      ? `${safe.json(JSON.stringify(failureDocument(screen, end)))}\n`
      : formatFailure(end.failure, { clean: safe.text, paint, drawn: await openRenderer(screen, paint) }),
  );
};

/** A problem that stops nothing, for a person. */
export const warningText = async (screen: Screen, problem: Problem, paint: Paint): Promise<string> =>
  `${(await openRenderer(screen, paint)).problem(problem, false).join("\n")}\n`;

/** The text of a problem on a terminal, without color; `indent` columns are left to whoever prints it. */
export const renderProblem = async (screen: Screen, problem: Problem, indent = 0): Promise<string> =>
  (await openFrameRenderer(screen, plainPaint, indent)).problem(problem, false).join("\n");

/** The lines of a text for a person. */
interface TextRenderer {
  /** A problem; of one that the message says already only what the message does not. */
  problem(problem: Problem, isInMessage: boolean): readonly string[];
  sentence(line: string): readonly string[];
}

/** Frames and folded sentences on a terminal, a line each elsewhere: what measures text is not loaded for a pipe. */
const openRenderer = async (screen: Screen, paint: Paint): Promise<TextRenderer> => {
  if (screen.drawsFrames) return await openFrameRenderer(screen, paint, 0);
  const problem: TextRenderer["problem"] = (one, isSaid) =>
    formatProblemLines(one, { clean: screen.safe.text, paint, isSaid });
  return { problem, sentence: (line) => [line] };
};

const openFrameRenderer = async ({ host, safe }: Screen, paint: Paint, indent: number): Promise<TextRenderer> => {
  const [{ frameLines }, { foldSentence: indented }] = await Promise.all([import("./frame.ts"), import("./width.ts")]);
  const layout = { clean: safe.text, paint, width: host.terminal.columns - indent, glyphs: selectGlyphs(host) };
  return {
    problem: (problem, isSaid) => frameLines(problem, { ...layout, isInMessage: isSaid }),
    sentence: (line) => indented(line, layout.width),
  };
};

/** The error document (output.md): members in the order of the promise, absent if they are empty. */
export const failureDocument = ({ safe }: Screen, { failure, exitCode }: RunEnd): unknown => {
  const clean = safe.text;
  const { hint, stoppedBy, where, http, problems = [], next } = failure.details;
  const shown = problems.slice(0, maxProblems).map((problem) => cleanFacts(toProblemDocument(problem), clean));
  return {
    error: {
      code: failure.code,
      message: truncateReply(clean(fullMessage(failure))),
      exit_code: exitCode,
      retryable: failure.retryable,
      cause: stoppedBy,
      hint: hint && clean(hint),
      where: where && cleanFacts(where, clean),
      http: http && { ...cleanFacts(http, clean), said: http.said && truncateReply(clean(http.said)) },
      problems: shown.length === 0 ? undefined : shown,
      next: next && clean(next),
    },
  };
};

/** Its message, what was in the way when a signal came, and that nothing was sent if people have to wonder. */
const fullMessage = ({ kind, message, details: { cause, unsent } }: Failure): string => {
  const obstacle = kind === "interrupted" && cause instanceof Failure ? [cause.message] : [];
  return [message, ...obstacle, ...(unsent === true ? ["nothing was sent"] : [])].join("; ");
};

const truncateReply = (text: string): string =>
  text.length <= maxReplyLength ? text : `${text.slice(0, maxReplyLength)}…`;

const cleanFacts = (facts: object, clean: TextCleaner): Record<string, unknown> => {
  const safe = (value: unknown): unknown =>
    typeof value === "string" ? clean(value) : Array.isArray(value) ? value.map(safe) : value;
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [key, safe(value)]));
};

/** What happened, where, what is wrong, and what to do. */
const formatFailure = (
  failure: Failure,
  { clean, paint, drawn }: { readonly clean: TextCleaner; readonly paint: Paint; readonly drawn: TextRenderer },
): string => {
  const { help, hint, next, stack, where, http, problems = [] } = failure.details;
  if (help !== undefined) return help;
  const message = fullMessage(failure);
  const line: TextCleaner = (text) => toOneLine(clean(text));
  const leadLines = (lead: string, tone: Tone, text: string): readonly string[] => {
    const [first = "", ...rest] = drawn.sentence(`${lead} ${text}`);
    return [paint(tone, lead) + first.slice(lead.length), ...rest];
  };
  // What the message names already is not said again.
  const locations = [
    ...(where?.file === undefined || message.includes(where.file) ? [] : [formatPosition(where)]),
    ...(http === undefined || message.includes(http.url) ? [] : [`${http.method} ${http.url}`]),
  ];
  const lines = [
    ...leadLines("rollcall:", "bad", truncateReply(line(message))),
    ...locations.map((place) => `  at ${line(place)}`),
    ...removeRepeatedAdvice(problems.slice(0, maxProblems)).flatMap((one) =>
      drawn.problem(one, isProblemInMessage(problems, message)),
    ),
    ...omittedProblemLines(failure).flatMap(drawn.sentence),
    ...(hint === undefined ? [] : leadLines("hint:", "faint", line(hint))),
    // A terminal folds it by itself: what is copied from there is one command.
    ...(next === undefined ? [] : [`${paint("faint", "next:")} ${line(next)}`]),
    ...(stack === undefined ? [] : [clean(stack)]),
  ];
  return `${lines.join("\n")}\n`;
};

/** True if the message says the only problem, and where it is. */
const isProblemInMessage = ([first, ...others]: readonly Problem[], message: string): boolean =>
  first !== undefined &&
  others.length === 0 &&
  message.includes(first.message) &&
  (first.file === undefined || message.includes(formatPosition(first)));

/** How many problems there are in addition to those that are shown, by their rules. */
const omittedProblemLines = ({ details: { problems = [], ruleCounts: counts } }: Failure): readonly string[] => {
  const left = new Map<string, number>();
  const add = (rule: string, count: number) => left.set(rule, (left.get(rule) ?? 0) + count);
  if (counts === undefined) for (const { rule } of problems) add(rule, 1);
  else for (const { rule, severity, count } of counts) if (severity === "error") add(rule, count);
  for (const { rule, others } of problems.slice(0, maxProblems)) add(rule, -1 - (others?.count ?? 0));
  const rules = [...left].filter(([, count]) => count > 0).map(([rule, count]) => `${count} ${rule}`);
  return problems.length === 0 || rules.length === 0 ? [] : [`  and more: ${rules.join(", ")}`];
};

const removeRepeatedAdvice = (problems: readonly Problem[]): readonly Problem[] => {
  const given = new Set<string | undefined>();
  return problems.map(({ advice, ...rest }) => {
    const isNew = !given.has(advice);
    given.add(advice);
    return isNew ? { ...rest, advice } : rest;
  });
};
