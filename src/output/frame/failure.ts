/** What a run ended with, as words for a person and as the one JSON document that `--json` promises. */
import { type About, Failure, type Problem, problemFacts } from "../../failure.ts";
import { oneLine } from "../screen/safe.ts";
import type { Screen } from "../screen/screen.ts";
import { glyphsOf, type Paint, plain } from "../screen/style.ts";
import type { Tone } from "../view.ts";
import { type Clean, placeOf, problemLines } from "./line.ts";

/** Problems that are shown one by one (promises.md, "Output"). */
const mostProblems = 20;

/** Characters of what a service said that are shown. */
const longestSaid = 2000;

/** What a run ended with. */
export interface End {
  readonly failure: Failure;
  readonly exitCode: number;
}

/** Prints what a run ended with. */
export const printFailure = async (screen: Screen, end: End): Promise<void> => {
  screen.stopProgress();
  const { safe, isForProgram, tellsEvents } = screen;
  await screen.say(async (paint) =>
    isForProgram || tellsEvents
      ? `${safe.json(JSON.stringify(failureDocument(screen, end)))}\n`
      : failureText({ failure: end.failure, clean: safe.text, paint, drawn: await drawing(screen, paint) }),
  );
};

/** A problem that stops nothing, for a person. */
export const warningText = async (screen: Screen, problem: Problem, paint: Paint): Promise<string> =>
  `${(await drawing(screen, paint)).problem(problem, false).join("\n")}\n`;

/** What a person at a terminal is told of a problem, without colour; `indent` columns are left to whoever prints it. */
export const drawnText = async (screen: Screen, problem: Problem, indent = 0): Promise<string> =>
  (await framing(screen, plain, indent)).problem(problem, false).join("\n");

/** Frames and folded sentences on a terminal, a line each elsewhere. */
const drawing = async (screen: Screen, paint: Paint): Promise<Drawn> =>
  screen.frames
    ? await framing(screen, paint, 0)
    : {
        problem: (problem, isSaid) => problemLines(problem, { clean: screen.safe.text, paint, isSaid }),
        sentence: (line) => [line],
      };

/** Only a terminal has frames: what measures text is not loaded for a pipe. */
const framing = async ({ host, safe }: Screen, paint: Paint, indent: number): Promise<Drawn> => {
  const { frameLines } = await import("./problem.ts");
  const { indented } = await import("../screen/width.ts");
  const layout = { clean: safe.text, paint, width: host.terminal.columns - indent, glyphs: glyphsOf(host) };
  return {
    problem: (problem, isSaid) => frameLines(problem, { ...layout, isSaid }),
    sentence: (line) => indented(line, layout.width),
  };
};

/** The error document (promises.md, "Output"): members in the order of the promise, absent where there is nothing to say. */
export const failureDocument = ({ safe }: Screen, { failure, exitCode }: End): unknown => {
  const clean = safe.text;
  const { hint, stoppedBy, where, http, problems, next } = failure.about;
  return {
    error: {
      code: failure.code,
      message: cut(clean(messageOf(failure)), longestSaid),
      exit_code: exitCode,
      retryable: failure.retryable,
      cause: stoppedBy,
      hint: hint && clean(hint),
      where: where && cleaned(where, clean),
      http: http && { ...cleaned(http, clean), said: http.said && cut(clean(http.said), longestSaid) },
      problems:
        problems?.length === 0
          ? undefined
          : problems?.slice(0, mostProblems).map((problem) => cleaned(problemFacts(problem), clean)),
      next: next && clean(next),
    },
  };
};

/** Its message, what was in the way when a signal came, and that nothing was sent if people have to wonder. */
const messageOf = ({ kind, message, about: { cause, unsent } }: Failure): string => {
  const obstacle = kind === "interrupted" && cause instanceof Failure ? [cause.message] : [];
  return [message, ...obstacle, ...(unsent === true ? ["nothing was sent"] : [])].join("; ");
};

const cut = (text: string, length: number): string => (text.length <= length ? text : `${text.slice(0, length)}…`);

const cleaned = (facts: object, clean: Clean): Record<string, unknown> => {
  const safe = (value: unknown): unknown =>
    typeof value === "string" ? clean(value) : Array.isArray(value) ? value.map(safe) : value;
  return Object.fromEntries(Object.entries(facts).map(([key, value]) => [key, safe(value)]));
};

/** What a person is told: what happened, where, what is wrong, and what to do. */
const failureText = ({
  failure,
  clean,
  paint,
  drawn,
}: {
  readonly failure: Failure;
  readonly clean: Clean;
  readonly paint: Paint;
  readonly drawn: Drawn;
}): string => {
  const { help, hint, next, stack, problems = [] } = failure.about;
  if (help !== undefined) return help;
  const message = messageOf(failure);
  const isSaid = saysAll(problems, message);
  const line: Clean = (text) => oneLine(clean(text));
  const behind = (lead: string, tone: Tone, text: string): readonly string[] => {
    const [first = "", ...rest] = drawn.sentence(`${lead} ${text}`);
    return [paint(tone, lead) + first.slice(lead.length), ...rest];
  };
  const lines = [
    ...behind("rollcall:", "bad", cut(line(message), longestSaid)),
    ...placeLines(failure.about, message).map((place) => `  at ${line(place)}`),
    ...withAdviceOnce(problems.slice(0, mostProblems)).flatMap((problem) => drawn.problem(problem, isSaid)),
    ...moreLines(failure).flatMap(drawn.sentence),
    ...(hint === undefined ? [] : behind("hint:", "faint", line(hint))),
    // A terminal folds it by itself: what is copied from there is one command.
    ...(next === undefined ? [] : [`${paint("faint", "next:")} ${line(next)}`]),
    ...(stack === undefined ? [] : [clean(stack)]),
  ];
  return `${lines.join("\n")}\n`;
};

/** How what a person is told is put on lines. */
interface Drawn {
  /** A problem; one that was said already is only shown. */
  problem(problem: Problem, isSaid: boolean): readonly string[];
  sentence(line: string): readonly string[];
}

/** Whether the message says the only problem, and where it is. */
const saysAll = (problems: readonly Problem[], message: string): boolean => {
  const [first] = problems;
  if (problems.length !== 1 || first === undefined || !message.includes(first.message)) return false;
  return first.file === undefined || message.includes(placeOf(first));
};

/** How many problems there are beside those that are shown, by their rules. */
const moreLines = (failure: Failure): readonly string[] => {
  const { problems = [], counts } = failure.about;
  const left = new Map<string, number>();
  const add = (rule: string, count: number) => left.set(rule, (left.get(rule) ?? 0) + count);
  if (counts === undefined) for (const { rule } of problems) add(rule, 1);
  else for (const { rule, severity, count } of counts) if (severity === "error") add(rule, count);
  for (const { rule, others } of problems.slice(0, mostProblems)) add(rule, -1 - (others?.count ?? 0));
  const rules = [...left].filter(([, count]) => count > 0).map(([rule, count]) => `${count} ${rule}`);
  return problems.length === 0 || rules.length === 0 ? [] : [`  and more: ${rules.join(", ")}`];
};

const withAdviceOnce = (problems: readonly Problem[]): readonly Problem[] => {
  const given = new Set<string | undefined>();
  return problems.map((problem) => {
    const { advice, ...rest } = problem;
    const isNew = !given.has(advice);
    given.add(advice);
    return isNew ? problem : rest;
  });
};

/** Where it happened, as far as the message does not name it already. */
const placeLines = ({ where, http }: About, message: string): readonly string[] => [
  ...(where?.file === undefined || message.includes(where.file) ? [] : [placeOf(where)]),
  ...(http === undefined || message.includes(http.url) ? [] : [`${http.method} ${http.url}`]),
];
