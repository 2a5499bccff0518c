/** Prints failures and problems as JSON or text. */
import { type Excerpt, Failure, type Problem, toExitCode, toProblemDocument } from "../failure.ts";
import type { Host } from "../system/host.ts";
import { cutText, formatInputName, formatPosition, pluralize, positionPrefix } from "../text/sentences.ts";
import { nameProgram } from "../text/shell-words.ts";
import { type Cleaner, toOneLine } from "./cleaner.ts";
import type { Paint, Tone } from "./views.ts";

/** output.md promises this number. */
export const maxProblems = 20;
const maxTextLength = 2000;

/** What this file uses of the screen. */
interface Screen {
  readonly host: Host;
  readonly cleaner: Cleaner;
  readonly isJson: boolean;
  readonly isStderrForPeople: boolean;
  stopProgress(): void;
  writeError(formatText: (paint: Paint) => Promise<string>): Promise<void>;
}

export const printFailure = async (screen: Screen, failure: Failure) => {
  screen.stopProgress();
  await screen.writeError(async (paint) =>
    screen.isJson
      ? `${screen.cleaner.json(toFailureJson(screen, failure))}\n`
      : formatFailure(failure, await createStyle(screen, paint)),
  );
};

export const formatWarning = async (screen: Screen, problem: Problem, paint: Paint) =>
  `${formatProblem(problem, await createStyle(screen, paint)).join("\n")}\n`;

/** Without `layout`, text is not folded and problems have no excerpts. */
const createStyle = async ({ host, cleaner, isStderrForPeople }: Screen, paint: Paint) => {
  const layout = isStderrForPeople ? { columns: host.terminal.columns, ...(await import("./width.ts")) } : undefined;
  return { clean: cleaner.text, cleanOutside: cleaner.outside, paint, layout };
};

type TextStyle = Awaited<ReturnType<typeof createStyle>>;
type TextLayout = NonNullable<TextStyle["layout"]>;

const foldText = (text: string, { layout }: TextStyle) =>
  layout ? layout.foldSentence(text, layout.columns).join("\n") : text;

/** Users rely on the order of the keys (output.md). */
const toFailureJson = ({ cleaner }: Screen, failure: Failure) => {
  const { hint, stoppedBy, where, http, problems, next } = failure.details;
  const shorten = (text: string) => truncateText(cleaner.text(text));
  const error = {
    code: failure.code,
    message: shorten(composeMessage(failure)),
    exit_code: toExitCode(failure),
    retryable: failure.retryable,
    cause: stoppedBy,
    hint: hint && nameProgram(hint),
    where: where && Object.keys(where).length > 0 ? where : undefined,
    http: http && { ...http, said: http.said && shorten(http.said) },
    problems: problems?.length ? problems.slice(0, maxProblems).map(toProblemDocument) : undefined,
    next,
  };
  return JSON.stringify({ error }, (_, value) => (typeof value === "string" ? cleaner.text(value) : value));
};

const composeMessage = ({ kind, message, details: { cause, unsent } }: Failure) => {
  const interrupted = kind === "interrupted" && cause instanceof Failure ? [cause.message] : [];
  return [message, ...interrupted, unsent && "nothing was sent"].filter(Boolean).join("; ");
};

const truncateText = (text: string) => (text.length <= maxTextLength ? text : `${cutText(text, maxTextLength)}…`);

const formatFailure = (failure: Failure, style: TextStyle) => {
  const { clean, paint } = style;
  const { help, hint, next, stack, where, http, problems = [], omittedProblems = 0 } = failure.details;
  if (help) return help(style.layout?.columns);
  const message = composeMessage(failure);
  const cleanLine = (text: string) => toOneLine(clean(text));
  const formatLead = (lead: string, tone: Tone, text: string) =>
    foldText(`${lead} ${text}`, style).replace(lead, () => paint(tone, lead));
  const isInMessage = isProblemInMessage(problems, message);
  const omitted = omittedProblems + Math.max(0, problems.length - maxProblems);
  const parts = [
    formatLead("rollcall:", "bad", truncateText(cleanLine(message))),
    where?.file && !message.includes(where.file) && `  at ${cleanLine(formatPosition(where))}`,
    http && !message.includes(http.url) && `  at ${cleanLine(`${http.method} ${http.url}`)}`,
    ...removeRepeatedAdvice(problems.slice(0, maxProblems)).flatMap((one) => formatProblem(one, style, isInMessage)),
    omitted > 0 && `  and ${pluralize(omitted, "more problem")}`,
    hint && formatLead("hint:", "faint", cleanLine(nameProgram(hint))),
    // The command is not folded, so that users can copy it as one line.
    next && `${paint("faint", "next:")} ${cleanLine(next)}`,
    stack && clean(stack),
  ];
  return `${parts.filter(Boolean).join("\n")}\n`;
};

const isProblemInMessage = ([first, ...others]: readonly Problem[], message: string) =>
  first &&
  others.length === 0 &&
  message.includes(first.message) &&
  (!first.file || message.includes(formatPosition(first)));

const removeRepeatedAdvice = (problems: readonly Problem[]) =>
  problems.map((problem, at) => {
    const isFirst = problems.findIndex(({ advice }) => advice === problem.advice) === at;
    return isFirst ? problem : { ...problem, advice: undefined };
  });

const formatProblem = (problem: Problem, style: TextStyle, isInMessage = false) => {
  const { clean, paint, layout } = style;
  const tone = problem.severity === "error" ? "bad" : "warning";
  const frame = problem.excerpt && layout && drawFrame(problem.excerpt, tone, style, layout);
  const advice = isInMessage ? "" : nameProgram(problem.advice ?? "");
  const hanging = [formatOthers(problem), advice].filter(Boolean).join("; ");
  const below = [...(frame?.lines ?? []), ...formatHangingLines(hanging, style, frame?.indent)];
  if (isInMessage) return below;
  const [severity, rule] = [`${problem.severity}:`, `[${problem.rule}]`];
  const text = toPlainLine(clean(`${positionPrefix(problem)}${severity} ${formatMessage(problem)} ${rule}`));
  const header = foldText(text, style);
  const painted = header.endsWith(rule) ? header.slice(0, -rule.length) + paint("faint", rule) : header;
  return [painted.replace(severity, () => paint(tone, severity)), ...below];
};

const toPlainLine = (text: string) => toOneLine(text).replace(/\s/g, " ");

/** Adds the path if the service wrote the message, or if no column shows the position. */
const formatMessage = ({ path = [], from, column, message }: Problem) => {
  const name = path.join(".");
  const needsPath = from === "service" || column === undefined;
  const isNamed = name === "" || message.split(/[\s`,]+/).includes(name);
  return needsPath && !isNamed ? `${name}: ${message}` : message;
};

/** For consecutive positions in the problem's file, shows the file once. */
const formatOthers = ({ file = "", others }: Problem) => {
  if (!others) return "";
  const { count, positions } = others;
  const own = `${formatInputName(file)}:`;
  const isOwn = (position = "") => position.startsWith(own);
  const shown = positions.map((position, at) =>
    isOwn(position) && isOwn(positions[at - 1]) ? position.slice(own.length) : position,
  );
  const list = shown.length === 0 ? "" : `: ${shown.join(", ")}${count > shown.length ? ", …" : ""}`;
  return `and ${count} more${list}`;
};

const minFrameColumns = 8;

const formatHangingLines = (text: string, { clean, layout }: TextStyle, indent = 2) => {
  if (text === "") return [];
  const line = toPlainLine(clean(text));
  if (!layout) return [`${" ".repeat(indent)}${line}`];
  const parts = layout.foldSentence(line, layout.columns - indent - 2, 0);
  return parts.map((part, at) => " ".repeat(indent) + (at === 0 ? "= " : "  ") + part);
};

const drawFrame = (excerpt: Excerpt, tone: Tone, style: TextStyle, layout: TextLayout) => {
  const { paint } = style;
  const { truncate, widthOf } = layout;
  const digits = String(excerpt.line).length;
  const gutter = (number: string) => `${number.padStart(digits + 1)} │ `;
  const columns = layout.columns - widthOf(gutter(""));
  if (columns < minFrameColumns) return undefined;
  const { before, value, after } = fitExcerpt(excerpt, columns, style, layout);
  const marks = "^".repeat(Math.min(columns - widthOf(before), Math.max(1, widthOf(value))));
  const lines = [
    paint("faint", gutter(String(excerpt.line))) + truncate(`${before}${value}${after}`, columns),
    `${paint("faint", gutter(""))}${" ".repeat(widthOf(before))}${paint(tone, marks)}`,
  ];
  return { lines, indent: digits + 2 };
};

const maxMarkedShare = 0.6;

const fitExcerpt = (excerpt: Excerpt, columns: number, { cleanOutside }: TextStyle, layout: TextLayout) => {
  const { truncate, truncateStart, widthOf } = layout;
  const { text, from, to, isCutBefore, isCutAfter } = excerpt;
  // A tab has no fixed width.
  const cleanPiece = (piece: string) => cleanOutside(piece).replace(/\s/g, " ");
  const whole = cleanPiece(text);
  const pieces = [text.slice(0, from), text.slice(from, to), text.slice(to)].map(cleanPiece);
  // If a secret crosses an edge of the value, only the whole text is redacted completely.
  const [before = "", value = "", after = ""] = pieces.join("") === whole ? pieces : ["", "", whole];
  const front = (isCutBefore ? "…" : "") + before;
  const back = after + (isCutAfter ? "…" : "");
  const valueColumns = columns - widthOf(front) - widthOf(back);
  const shownValue = truncate(value, Math.max(1, Math.floor(columns * maxMarkedShare), valueColumns));
  // The mark of an empty value takes one column.
  const sideColumns = Math.max(0, columns - Math.max(1, widthOf(shownValue)));
  const shownFront = truncateStart(front, Math.max(Math.floor(sideColumns / 2), sideColumns - widthOf(back)));
  return { before: shownFront, value: shownValue, after: truncate(back, sideColumns - widthOf(shownFront)) };
};
