/** Problems of inputs for people: a few with excerpts on a terminal, the others folded. */
import { getRuleSubject, type RuleCount, redactSecrets } from "../../check/index.ts";
import type { Context } from "../../context.ts";
import { type Excerpt, Failure, type Problem } from "../../failure.ts";
import type { Dataset } from "../../groups/index.ts";
import { fileOf, filesOf, findText, readRange, type Source } from "../../input/index.ts";
import { endOfLine, newline } from "../../json/walk.ts";
import type { Screen } from "../../output/index.ts";
import { toOptionArgs } from "../../sentences.ts";
import { formatCommandLine } from "../../shell-words.ts";
import type { InputOptions } from "./options.ts";

/** Maximum number of shown problems (output.md). */
const maxProblems = 20;
const maxShownPerRule = 3;
const maxPositions = 6;

/** Only a terminal shows excerpts, so the sources are not read again for a pipe. */
const excerptSources = ({ drawsFrames }: Screen, sources: readonly Source[]) => (drawsFrames ? sources : []);

export const printWarnings = async (
  { screen }: Context,
  { sources, problems: { counts, errors } }: Pick<Dataset, "sources" | "problems">,
  { from, messagesFrom, rewardFrom, rewards, lossy, histories, groupBy }: InputOptions,
  problems: readonly Problem[],
): Promise<void> => {
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const selection = { problems: warnings, counts, max: Math.max(0, maxProblems - errors) };
  const { shown, hidden } = await selectProblems(excerptSources(screen, sources), selection);
  for (const warning of shown) screen.warn(warning);
  if (hidden.length === 0) return;
  const rules = hidden.map(({ rule, count }) => `${count} ${rule}`).join(", ");
  const [first] = sources;
  const options = toOptionArgs({ from, messagesFrom, rewardFrom, rewards, lossy, histories, groupBy });
  const words = ["rollcall", "check", "--json", ...options, first === undefined ? "-" : fileOf(first)];
  const others = sources.flatMap(filesOf).length > 1 ? " …" : "";
  screen.notice(`more warnings: ${rules}; list them with \`${formatCommandLine(words)}${others}\``);
};

/** Selects the problems of a failure that people see. `counts` includes problems that the failure does not have. */
export const withExcerpts = async (
  { screen }: Context,
  sources: readonly Source[],
  thrown: unknown,
  counts: readonly RuleCount[] = [],
): Promise<unknown> => {
  if (screen.isForProgram || !(thrown instanceof Failure)) return thrown;
  const { problems = [] } = thrown.details;
  if (problems.length === 0) return thrown;
  const { shown } = await selectProblems(excerptSources(screen, sources), { problems, counts, max: maxProblems });
  return thrown.withDetails({ problems: shown });
};

export const selectProblems = async (
  sources: readonly Source[],
  { problems, counts, max }: { problems: readonly Problem[]; counts: readonly RuleCount[]; max: number },
): Promise<{ readonly shown: readonly Problem[]; readonly hidden: readonly RuleCount[] }> => {
  const kinds = new Map<string, Problem[]>();
  /** Counts of problems that are not in `problems`, by rule. The first kind of a rule includes them. */
  const uncollected = new Map(counts.map(({ rule, count }) => [rule, count]));
  for (const problem of problems) {
    const kind = foldingKey(problem);
    kinds.set(kind, kinds.get(kind) ?? []);
    kinds.get(kind)?.push(problem);
    uncollected.set(problem.rule, (uncollected.get(problem.rule) ?? 0) - 1);
  }
  // The first problem of each kind, then the second problems of kinds with several messages, and so on.
  const distinct = [...kinds.values()].map(distinctMessages);
  const ranks = Array.from({ length: maxShownPerRule }, (_, rank) => distinct.flatMap((list) => list[rank] ?? []));
  const chosen = new Set(ranks.flat().slice(0, max));
  const hidden: RuleCount[] = [];
  const folded = new Map<Problem, Problem>();
  for (const sameKind of kinds.values()) {
    const [{ rule, severity } = { rule: "", severity: "warning" } as const] = sameKind;
    const uncollectedCount = Math.max(0, uncollected.get(rule) ?? 0);
    uncollected.delete(rule);
    const representatives = sameKind.filter((problem) => chosen.has(problem));
    const last = representatives.at(-1);
    if (last === undefined) hidden.push({ rule, severity, count: sameKind.length + uncollectedCount });
    // Problems count for the representative with their message, or else for the last representative.
    const representativeOf = ({ message }: Problem) => representatives.find((one) => one.message === message) ?? last;
    for (const shown of representatives) {
      const others = sameKind.filter((other) => other !== shown && representativeOf(other) === shown);
      const count = others.length + (shown === last ? uncollectedCount : 0);
      folded.set(shown, count > 0 ? { ...shown, others: { count, places: formatPositions(others, shown) } } : shown);
    }
  }
  const reading = problems
    .flatMap((problem) => folded.get(problem) ?? [])
    .map(async (problem) => {
      const excerpt = await readExcerpt(sources, problem);
      return excerpt === undefined ? problem : { ...problem, excerpt };
    });
  return { shown: await Promise.all(reading), hidden };
};

/** Returns the kind of a problem: the rule. For an error, also the message, and if a service reports it, the field. */
const foldingKey = ({ severity, rule, message, from, path = [] }: Problem): string => {
  if (severity !== "error") return rule;
  const field = from === "service" ? path.map((step) => (typeof step === "number" ? "#" : step)) : [];
  return [rule, message, ...field].join(" ");
};

/** Returns the first problem of each message, at most three; for errors and rules about whole files, at most one. */
const distinctMessages = (problems: readonly Problem[]): readonly Problem[] => {
  const byMessage = new Map<string, Problem>();
  for (const problem of problems) {
    const isSingle = problem.severity === "error" || getRuleSubject(problem.rule) === "whole";
    if (byMessage.size >= (isSingle ? 1 : maxShownPerRule)) break;
    if (!byMessage.has(problem.message)) byMessage.set(problem.message, problem);
  }
  return [...byMessage.values()];
};

const formatPositions = (problems: readonly Problem[], shown: Problem): readonly string[] => {
  const named = problems.slice(0, maxPositions);
  const lineOf = ({ file, line }: Problem): string => `${file ?? "(input)"}:${line}`;
  const isLineShared = new Set([shown, ...named].map(lineOf)).size <= named.length;
  return named.flatMap((problem) => {
    const { file, line, column } = problem;
    if (line === undefined) return file ?? [];
    return isLineShared && column !== undefined ? `${lineOf(problem)}:${column}` : lineOf(problem);
  });
};

/** Bytes before and after a position: wider than a terminal, and longer than most secrets. */
const windowBytes = 6 * 1024;

const readExcerpt = async (
  sources: readonly Source[],
  { rule, file = "", offset, line }: Problem,
): Promise<Excerpt | undefined> => {
  const bytes = getRuleSubject(rule) === "whole" ? undefined : findText(sources, file);
  if (bytes === undefined || offset === undefined || line === undefined) return undefined;
  const first = Math.max(0, offset - windowBytes);
  const length = Math.min(bytes.size, offset + windowBytes) - first;
  // The file may be shorter by now.
  const window = await readRange(bytes, { start: first, length }).catch(() => undefined);
  if (window === undefined) return undefined;
  const at = offset - first;
  const start = at === 0 ? 0 : window.lastIndexOf(newline, at - 1) + 1;
  const end = endOfLine(window, at);
  const isCutBefore = start === 0 && first > 0;
  const isCutAfter = end === window.length && first + length < bytes.size;
  const [before, after] = [window.toString("utf8", start, at), window.toString("utf8", at, end)];
  // A window can begin and end inside a character.
  const head = isCutBefore ? before.replace(/^\ufffd+/, "") : before;
  const tail = isCutAfter ? after.replace(/\ufffd+$/, "") : after;
  const [token = ""] = firstToken.exec(tail) ?? [];
  const marked = { text: head + tail, from: head.length, to: head.length + token.length };
  return { line, ...redactSecrets(marked), isCutBefore, isCutAfter };
};

/** A string, number or word, or else a single character. */
const firstToken = /^(?:"(?:\\.?|[^"\\])*"?|'(?:\\.?|[^'\\])*'?|[\w+.-]+|.)/su;
