/** Selects the problems to show, folds similar problems, and adds excerpts. */

import { Failure, type Problem } from "../failure.ts";
import { endOfLine, newline } from "../json/json-bytes.ts";
import { maxProblems } from "../output/print-failure.ts";
import type { Screen } from "../output/screen.ts";
import type { CheckResult } from "../rollouts/dataset/check-result.ts";
import type { Dataset } from "../rollouts/dataset/read-dataset.ts";
import { findText, readRange, type Source } from "../rollouts/input/source.ts";
import { redactSecrets } from "../rollouts/rules/known-secrets.ts";
import type { RuleCount } from "../rollouts/rules/problems.ts";
import { getRuleSubject } from "../rollouts/rules/rules.ts";
import { formatInputName, formatPosition, pluralize, toFileArg } from "../text/sentences.ts";
import { formatCommandLine } from "../text/shell-words.ts";

import type { Context } from "./context.ts";
import { type InputOptions, listInputArgs } from "./options.ts";

const maxPositions = 6;

const selectExcerptSources = (screen: Screen, sources: readonly Source[]) => (screen.isStderrForPeople ? sources : []);

export const printWarnings = async ({ screen }: Context, { sources, scan }: Dataset, problems: readonly Problem[]) => {
  // The result has all warnings.
  if (screen.isJson) return;
  const warnings = problems.filter(({ severity }) => severity === "warning");
  const { counts, errors } = scan.problems;
  const selection = { problems: warnings, counts, max: Math.max(0, maxProblems - errors) };
  const { shown, hidden } = await selectProblems(selectExcerptSources(screen, sources), selection);
  for (const warning of shown) screen.warn(warning);
  const rules = Array.from(hidden, ([rule, count]) => `${count} ${rule}`).join(", ");
  if (rules !== "") screen.notice(`omitted warnings: ${rules} (to list them, check the same input with --json)`);
};

/** Names the rules of warnings that would hide the result of a command. Its document has the warnings. */
export const noteWarnings = ({ screen }: Context, datasets: readonly Dataset[], typed: InputOptions) => {
  const counts = new Map<string, number>();
  for (const { rule, severity, count } of datasets.flatMap(({ scan }) => scan.problems.counts))
    if (severity === "warning") counts.set(rule, (counts.get(rule) ?? 0) + count);
  const rules = Array.from(counts, ([rule, count]) => `${count} ${rule}`).join(", ");
  if (rules === "" || screen.isJson) return;
  screen.notice(`${nameInput(typed)} has warnings: ${rules} (${adviseToCheck(typed)})`);
};

const nameInput = ({ file: [first, ...others] }: InputOptions) =>
  first === undefined || others.length > 0 ? "the input" : formatInputName(first);

/** A longer command would hide the note. */
const maxFiles = 8;

export const adviseToCheck = (typed: InputOptions) => {
  if (typed.file.length > maxFiles) return "check the same input to see them";
  const words = ["rollcall", "check", ...typed.file.map(toFileArg), ...listInputArgs(typed)];
  return `see \`${formatCommandLine(words)}\``;
};

/** Returns an input's failure, unless `--on-invalid skip` leaves groups. Then a notice counts the others. */
export const skipInvalidGroups = (
  { screen }: Context,
  { failure, groups: { read, rejected } }: CheckResult,
  typed: InputOptions,
) => {
  if (!failure || typed.onInvalid !== "skip" || rejected >= read) return failure;
  const skipped = pluralize(rejected, "invalid group");
  screen.notice(`skipped ${skipped} of ${nameInput(typed)} (${adviseToCheck(typed)})`);
  return undefined;
};

export const listSkippedFiles = ({ scan }: Dataset) =>
  scan.problems.sorted().filter(({ rule, severity }) => rule === "skipped-file" && severity === "warning");

/** If the run fails, its problems get excerpts of the sources. */
export const explainWithExcerpts = (context: Context, { sources, scan }: Pick<Dataset, "sources" | "scan">) =>
  context.explainWith((thrown) => addExcerpts(context, thrown, { sources, counts: scan.problems.counts }));

/** @param counts include problems that are not in the failure */
export const addExcerpts = async (
  { screen }: Context,
  thrown: unknown,
  { sources, counts }: { sources: readonly Source[]; counts: readonly RuleCount[] },
) => {
  if (screen.isJson || !(thrown instanceof Failure)) return thrown;
  const { problems = [] } = thrown.details;
  if (problems.length === 0) return thrown;
  const selected = { problems, counts, max: maxProblems };
  const { shown, hidden } = await selectProblems(selectExcerptSources(screen, sources), selected);
  const omittedProblems = Array.from(hidden.values()).reduce((sum, count) => sum + count, 0);
  return thrown.withDetails({ problems: shown, omittedProblems });
};

export const selectProblems = async (
  sources: readonly Source[],
  { problems, counts = [], max }: { problems: readonly Problem[]; counts?: readonly RuleCount[]; max?: number },
) => {
  const kinds = foldProblems(problems);
  const chosen = new Set(kinds.slice(0, max));
  /** The number of problems that are not in `problems`, by rule. */
  const uncollected = new Map(counts.map(({ rule, count }) => [rule, count]));
  for (const { rule } of problems) uncollected.set(rule, (uncollected.get(rule) ?? 0) - 1);
  const shown: Problem[] = [];
  const hidden = new Map<string, number>();
  for (const kind of kinds) {
    const { first, others } = kind;
    const { rule } = first;
    const count = others.length + Math.max(0, uncollected.get(rule) ?? 0);
    uncollected.delete(rule);
    if (!chosen.has(kind)) hidden.set(rule, (hidden.get(rule) ?? 0) + count + 1);
    else shown.push(count > 0 ? withOthers(first, others, count) : first);
  }
  const reading = shown.map(async (problem) => {
    const excerpt = await readExcerpt(sources, problem);
    return excerpt ? { ...problem, excerpt } : problem;
  });
  return { shown: await Promise.all(reading), hidden };
};

const withOthers = (first: Problem, others: readonly Problem[], count: number): Problem => {
  const hasOwnAdvice = others.some(({ advice }) => advice !== first.advice);
  const advice = hasOwnAdvice ? { advice: `${first.advice ?? ""} (here; --json has the advice of each)` } : {};
  return { ...first, ...advice, others: { count, positions: formatPositions(first, others) } };
};

const foldProblems = (problems: readonly Problem[]) => {
  const kinds = new Map<string, { readonly first: Problem; readonly others: Problem[] }>();
  for (const problem of problems) {
    const key = problem.severity === "error" ? toErrorKey(problem) : problem.rule;
    const kind = kinds.get(key);
    if (kind) kind.others.push(problem);
    else kinds.set(key, { first: problem, others: [] });
  }
  return [...kinds.values()];
};

const toErrorKey = ({ rule, message, from, path = [] }: Problem) => {
  const field = from === "service" ? path.map((step) => (typeof step === "number" ? "#" : step)) : [];
  return [rule, message, ...field].join(" ");
};

/** Returns the lines of other problems, except the line of the shown problem. */
const formatPositions = (shown: Problem, others: readonly Problem[]) => {
  const positions = [shown, ...others.slice(0, maxPositions)].map(({ file, line }) => formatPosition({ file, line }));
  return [...new Set(positions)].slice(1).filter((position) => position !== "");
};

/** Bytes on each side of a position; longer than a terminal line and most secrets. */
const windowBytes = 6 * 1024;

const readExcerpt = async (sources: readonly Source[], { rule, file = "", offset, line }: Problem) => {
  const bytes = getRuleSubject(rule) === "whole" ? undefined : findText(sources, file);
  if (!bytes || offset === undefined || line === undefined) return undefined;
  const windowStart = Math.max(0, offset - windowBytes);
  const length = Math.min(bytes.size, offset + windowBytes) - windowStart;
  // The file may be shorter by now.
  const window = await readRange(bytes, { start: windowStart, length }).catch(() => undefined);
  if (!window) return undefined;
  const at = offset - windowStart;
  const start = at === 0 ? 0 : window.lastIndexOf(newline, at - 1) + 1;
  const end = endOfLine(window, at);
  const isCutBefore = start === 0 && windowStart > 0;
  const isCutAfter = end === window.length && windowStart + length < bytes.size;
  const before = window.toString("utf8", start, at);
  const after = window.toString("utf8", at, end);
  // The window may cut a character at its ends.
  const head = isCutBefore ? before.replace(/^\ufffd+/, "") : before;
  const tail = isCutAfter ? after.replace(/\ufffd+$/, "") : after;
  const [token = ""] = firstToken.exec(tail) ?? [];
  const marked = { text: head + tail, from: head.length, to: head.length + token.length };
  return { line, ...redactSecrets(marked), isCutBefore, isCutAfter };
};

const firstToken = /^(?:"(?:\\.?|[^"\\])*"?|'(?:\\.?|[^'\\])*'?|[\w+.-]+|.)/su;
