/** Prints the failure of a run as text, or as the JSON document of `--json`. */
import { Failure, type FailureLocation, type Problem, toProblemDocument } from "../failure.ts";
import { positionPrefix } from "../sentences.ts";
import { toOneLine } from "./cleaner.ts";
import { formatProblem, type TextCleaner, type TextStyle } from "./problem.ts";
import type { Screen } from "./screen.ts";
import { type Paint, plainPaint, selectGlyphs } from "./style.ts";
import type { Tone } from "./views.ts";

const maxProblems = 20;

const maxReplyLength = 2000;

export interface RunEnd {
  readonly failure: Failure;
  readonly exitCode: number;
}

export const printFailure = async (screen: Screen, end: RunEnd): Promise<void> => {
  screen.stopProgress();
  const { isForProgram, printsEvents, safe } = screen;
  await screen.writeError(async (paint) =>
    isForProgram || printsEvents
      ? `${safe.json(JSON.stringify(failureDocument(screen, end)))}\n`
      : formatFailure(end.failure, await openStyle(screen, paint)),
  );
};

export const warningText = async (screen: Screen, problem: Problem, paint: Paint): Promise<string> =>
  `${formatProblem(problem, await openStyle(screen, paint)).join("\n")}\n`;

export const renderProblem = async (screen: Screen, problem: Problem, indent = 0): Promise<string> => {
  const columns = screen.host.terminal.columns - indent;
  return formatProblem(problem, await openStyle(screen, plainPaint, columns)).join("\n");
};

const openStyle = async (
  { host, safe, drawsFrames }: Screen,
  paint: Paint,
  columns = drawsFrames ? host.terminal.columns : undefined,
): Promise<TextStyle> => {
  const terminal = columns === undefined ? undefined : { ...(await import("./width.ts")), columns };
  return { clean: safe.text, paint, glyphs: selectGlyphs(host), terminal };
};

/** The error document (output.md). The order of its members is a promise. Empty members are omitted. */
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

const fullMessage = ({ kind, message, details: { cause, unsent } }: Failure): string => {
  const interrupted = kind === "interrupted" && cause instanceof Failure ? [cause.message] : [];
  return [message, ...interrupted, ...(unsent === true ? ["nothing was sent"] : [])].join("; ");
};

const truncateReply = (text: string): string =>
  text.length <= maxReplyLength ? text : `${text.slice(0, maxReplyLength)}…`;

const cleanFacts = (facts: object, clean: TextCleaner): Record<string, unknown> => {
  const safe = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(safe);
    return typeof value === "string" ? clean(value) : value;
  };
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [key, safe(value)]));
};

const formatFailure = (failure: Failure, style: TextStyle): string => {
  const { clean, paint, terminal } = style;
  const { help, hint, next, stack, where, http, problems = [] } = failure.details;
  if (help !== undefined) return help;
  const message = fullMessage(failure);
  const line: TextCleaner = (text) => toOneLine(clean(text));
  const sentence = (text: string) => terminal?.foldSentence(text, terminal.columns) ?? [text];
  const leadLines = (lead: string, tone: Tone, text: string): readonly string[] => {
    const [first = "", ...rest] = sentence(`${lead} ${text}`);
    return [paint(tone, lead) + first.slice(lead.length), ...rest];
  };
  const locations = [
    ...(where?.file === undefined || message.includes(where.file) ? [] : [formatPosition(where)]),
    ...(http === undefined || message.includes(http.url) ? [] : [`${http.method} ${http.url}`]),
  ];
  const isInMessage = isProblemInMessage(problems, message);
  const lines = [
    ...leadLines("rollcall:", "bad", truncateReply(line(message))),
    ...locations.map((location) => `  at ${line(location)}`),
    ...removeRepeatedAdvice(problems.slice(0, maxProblems)).flatMap((one) => formatProblem(one, style, isInMessage)),
    ...omittedProblemLines(failure).flatMap(sentence),
    ...(hint === undefined ? [] : leadLines("hint:", "faint", line(hint))),
    // Not folded here, so that a command copied from the terminal is one line.
    ...(next === undefined ? [] : [`${paint("faint", "next:")} ${line(next)}`]),
    ...(stack === undefined ? [] : [clean(stack)]),
  ];
  return `${lines.join("\n")}\n`;
};

const formatPosition = ({ file, line, column }: FailureLocation): string =>
  positionPrefix({ file, line, column }).slice(0, -2);

const isProblemInMessage = ([first, ...others]: readonly Problem[], message: string): boolean =>
  first !== undefined &&
  others.length === 0 &&
  message.includes(first.message) &&
  (first.file === undefined || message.includes(formatPosition(first)));

const omittedProblemLines = ({ details: { problems = [], ruleCounts } }: Failure): readonly string[] => {
  const left = new Map<string, number>();
  const add = (rule: string, count: number) => left.set(rule, (left.get(rule) ?? 0) + count);
  const counts =
    ruleCounts?.filter(({ severity }) => severity === "error") ?? problems.map(({ rule }) => ({ rule, count: 1 }));
  for (const { rule, count } of counts) add(rule, count);
  for (const { rule, others } of problems.slice(0, maxProblems)) add(rule, -1 - (others?.count ?? 0));
  const rules = [...left].filter(([, count]) => count > 0).map(([rule, count]) => `${count} ${rule}`);
  return problems.length === 0 || rules.length === 0 ? [] : [`  and more: ${rules.join(", ")}`];
};

const removeRepeatedAdvice = (problems: readonly Problem[]): readonly Problem[] =>
  problems.map((problem, at) => {
    const isRepeated = problems.slice(0, at).some(({ advice }) => advice === problem.advice);
    return isRepeated ? { ...problem, advice: undefined } : problem;
  });
