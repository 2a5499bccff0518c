/** The failure of a run, as text for a person and as the one JSON document that `--json` promises. */
import { Failure, type Problem, problemFacts } from "../failure.ts";
import { type Clean, positionText, problemLines } from "./problem.ts";
import { oneLine } from "./safe.ts";
import type { Screen } from "./screen.ts";
import { glyphsOf, type Paint, plain } from "./style.ts";
import type { Tone } from "./view.ts";

/** Problems that are shown one by one (output.md). */
const maxProblems = 20;

/** Characters of what a service said that are shown. */
const maxSaid = 2000;

export interface End {
  readonly failure: Failure;
  readonly exitCode: number;
}

export const printFailure = async (screen: Screen, end: End): Promise<void> => {
  screen.stopProgress();
  const { safe, isForProgram, tellsEvents } = screen;
  await screen.say(async (paint) =>
    isForProgram || tellsEvents
      ? `${safe.json(JSON.stringify(failureDocument(screen, end)))}\n`
      : failureText(end.failure, { clean: safe.text, paint, drawn: await drawing(screen, paint) }),
  );
};

/** A problem that stops nothing, for a person. */
export const warningText = async (screen: Screen, problem: Problem, paint: Paint): Promise<string> =>
  `${(await drawing(screen, paint)).problem(problem, false).join("\n")}\n`;

/** The text of a problem on a terminal, without color; `indent` columns are left to whoever prints it. */
export const drawnText = async (screen: Screen, problem: Problem, indent = 0): Promise<string> =>
  (await framing(screen, plain, indent)).problem(problem, false).join("\n");

/** The lines of a text for a person. */
interface Drawn {
  /** A problem; of one that the message says already only what the message does not. */
  problem(problem: Problem, isSaid: boolean): readonly string[];
  sentence(line: string): readonly string[];
}

/** Frames and folded sentences on a terminal, a line each elsewhere: what measures text is not loaded for a pipe. */
const drawing = async (screen: Screen, paint: Paint): Promise<Drawn> => {
  if (screen.frames) return await framing(screen, paint, 0);
  const problem: Drawn["problem"] = (one, isSaid) => problemLines(one, { clean: screen.safe.text, paint, isSaid });
  return { problem, sentence: (line) => [line] };
};

const framing = async ({ host, safe }: Screen, paint: Paint, indent: number): Promise<Drawn> => {
  const [{ frameLines }, { indented }] = await Promise.all([import("./frame.ts"), import("./width.ts")]);
  const layout = { clean: safe.text, paint, width: host.terminal.columns - indent, glyphs: glyphsOf(host) };
  return {
    problem: (problem, isSaid) => frameLines(problem, { ...layout, isSaid }),
    sentence: (line) => indented(line, layout.width),
  };
};

/** The error document (output.md): members in the order of the promise, absent if they are empty. */
export const failureDocument = ({ safe }: Screen, { failure, exitCode }: End): unknown => {
  const clean = safe.text;
  const { hint, stoppedBy, where, http, problems = [], next } = failure.about;
  const shown = problems.slice(0, maxProblems).map((problem) => cleaned(problemFacts(problem), clean));
  return {
    error: {
      code: failure.code,
      message: cut(clean(messageOf(failure))),
      exit_code: exitCode,
      retryable: failure.retryable,
      cause: stoppedBy,
      hint: hint && clean(hint),
      where: where && cleaned(where, clean),
      http: http && { ...cleaned(http, clean), said: http.said && cut(clean(http.said)) },
      problems: shown.length === 0 ? undefined : shown,
      next: next && clean(next),
    },
  };
};

/** Its message, what was in the way when a signal came, and that nothing was sent if people have to wonder. */
const messageOf = ({ kind, message, about: { cause, unsent } }: Failure): string => {
  const obstacle = kind === "interrupted" && cause instanceof Failure ? [cause.message] : [];
  return [message, ...obstacle, ...(unsent === true ? ["nothing was sent"] : [])].join("; ");
};

const cut = (text: string): string => (text.length <= maxSaid ? text : `${text.slice(0, maxSaid)}…`);

const cleaned = (facts: object, clean: Clean): Record<string, unknown> => {
  const safe = (value: unknown): unknown =>
    typeof value === "string" ? clean(value) : Array.isArray(value) ? value.map(safe) : value;
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [key, safe(value)]));
};

/** What happened, where, what is wrong, and what to do. */
const failureText = (
  failure: Failure,
  { clean, paint, drawn }: { readonly clean: Clean; readonly paint: Paint; readonly drawn: Drawn },
): string => {
  const { help, hint, next, stack, where, http, problems = [] } = failure.about;
  if (help !== undefined) return help;
  const message = messageOf(failure);
  const line: Clean = (text) => oneLine(clean(text));
  const led = (lead: string, tone: Tone, text: string): readonly string[] => {
    const [first = "", ...rest] = drawn.sentence(`${lead} ${text}`);
    return [paint(tone, lead) + first.slice(lead.length), ...rest];
  };
  // What the message names already is not said again.
  const places = [
    ...(where?.file === undefined || message.includes(where.file) ? [] : [positionText(where)]),
    ...(http === undefined || message.includes(http.url) ? [] : [`${http.method} ${http.url}`]),
  ];
  const lines = [
    ...led("rollcall:", "bad", cut(line(message))),
    ...places.map((place) => `  at ${line(place)}`),
    ...withAdviceOnce(problems.slice(0, maxProblems)).flatMap((one) => drawn.problem(one, saysAll(problems, message))),
    ...moreLines(failure).flatMap(drawn.sentence),
    ...(hint === undefined ? [] : led("hint:", "faint", line(hint))),
    // A terminal folds it by itself: what is copied from there is one command.
    ...(next === undefined ? [] : [`${paint("faint", "next:")} ${line(next)}`]),
    ...(stack === undefined ? [] : [clean(stack)]),
  ];
  return `${lines.join("\n")}\n`;
};

/** True if the message says the only problem, and where it is. */
const saysAll = ([first, ...others]: readonly Problem[], message: string): boolean =>
  first !== undefined &&
  others.length === 0 &&
  message.includes(first.message) &&
  (first.file === undefined || message.includes(positionText(first)));

/** How many problems there are in addition to those that are shown, by their rules. */
const moreLines = ({ about: { problems = [], counts } }: Failure): readonly string[] => {
  const left = new Map<string, number>();
  const add = (rule: string, count: number) => left.set(rule, (left.get(rule) ?? 0) + count);
  if (counts === undefined) for (const { rule } of problems) add(rule, 1);
  else for (const { rule, severity, count } of counts) if (severity === "error") add(rule, count);
  for (const { rule, others } of problems.slice(0, maxProblems)) add(rule, -1 - (others?.count ?? 0));
  const rules = [...left].filter(([, count]) => count > 0).map(([rule, count]) => `${count} ${rule}`);
  return problems.length === 0 || rules.length === 0 ? [] : [`  and more: ${rules.join(", ")}`];
};

const withAdviceOnce = (problems: readonly Problem[]): readonly Problem[] => {
  const given = new Set<string | undefined>();
  return problems.map(({ advice, ...rest }) => {
    const isNew = !given.has(advice);
    given.add(advice);
    return isNew ? { ...rest, advice } : rest;
  });
};
