/** Evaluates expressions over trajectories, in Node and in browsers. */
import { type ASTNode, TypeError as CelTypeError, Environment, EvaluationError } from "@marcbachmann/cel-js";
import { Failure } from "../../failure.ts";
import { isObject, type JsonObject } from "../../json/object.ts";
import { parseRawJson, type RawJson } from "../../json/raw-json.ts";
import { findNearest } from "../../text/nearest.ts";
import { parenthesize } from "../../text/sentences.ts";
import { formatSeconds } from "../../text/units.ts";
import { facts, finishReasons, isCutOff } from "../facts/facts.ts";
import { cutFlag } from "../messages/cut-flag.ts";
import { comparedStepNames, stepHolders } from "../rules/step-columns.ts";
import { isSolved } from "./metrics.ts";
import { computeMoments } from "./sums.ts";

export const fieldDefaults: JsonObject = {
  messages_and_choices: [],
  tools: [],
  metrics: {},
  metadata: {},
  logs: [],
  additional_histories: [],
  truncated: false,
  finish_reason: null,
  group_id: null,
  start_time: null,
  initial_policy_version: null,
  final_policy_version: null,
};

const ownNames = ["reward", "messages", "trajectory", "group", ...Object.keys(fieldDefaults), ...comparedStepNames];

const knownNames = new Set([...ownNames, ...facts.map(({ name }) => name)]);

/** @throws Failure `invalid-filter`, `nested-too-deeply` */
type TrajectoryFilter = (variables: Variables, locate: () => string) => boolean | "absent";

/** Without a trajectory, they are those of a group that has none. */
type Variables = Readonly<Record<"group" | "facts" | "holder", JsonObject> & { trajectory: JsonObject | undefined }>;

const withFilterFailure = <Result>(text: string, run: () => Result, locate?: () => string) => {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    if (thrown instanceof CelTypeError && thrown.code === "unknown_variable") throw unknownName(text, thrown.summary);
    // The depth of an expression is limited, so the data is too deep for the stack.
    if (thrown instanceof RangeError && locate) throw nestedTooDeeply(text, locate());
    const [wrong = ""] = (thrown instanceof Error ? thrown.message : "evaluation failed").split("\n", 1);
    throw invalidFilter(text, wrong, locate?.());
  }
};

/** Returns the step columns that an expression names, because a search for all takes long. */
export const listSteps = (text: string) => comparedStepNames.filter((name) => new RegExp(`\\b${name}\\b`).test(text));

/** @throws Failure `invalid-filter` */
export const parseFilter = (text: string): TrajectoryFilter => {
  const steps = listSteps(text);
  const environment = new Environment({ limits: { maxDepth: 100 } });
  for (const name of knownNames) environment.registerVariable(name, "dyn");
  environment.registerFunction("present(dyn): dyn", requirePresent);
  environment.registerFunction("double(bool): double", Number);
  const expression = withFilterFailure(text, () => {
    const parsed = environment.parse(text);
    const { valid, error } = parsed.check();
    if (!valid) throw error;
    return environment.parse(requireCompared(text, parsed.ast));
  });
  return (variables, locate) => {
    const evaluate = () => {
      const value = evaluateOrNull(() => expression(toVariables(variables, steps)));
      if (typeof value === "boolean") return value;
      if (value === null) return "absent";
      const hint = "compare the value: 'reward > 0.5'";
      throw invalidFilter(text, "the result is neither true nor false", locate(), hint);
    };
    return withFilterFailure(text, evaluate, locate);
  };
};

/** A double can be equal to several integers of so many digits. */
const longInteger = /\d{16}/;

/** Two values of a trajectory that are compared. */
const comparedValues = /(?:[a-z_]\w*|[\])])\s*(?:[=!<>]=|[<>]|\bin\b)\s*(?!(?:true|false|null)\b)[a-z_]/i;
const arithmetic = /[+*/%]|\s-\s/;

/** Returns the parser for values of an expression. CEL compares integers of 64 bits, but adds no doubles to them. */
export const openValueParser = (where: string): ((json: string) => unknown) =>
  longInteger.test(where) || (comparedValues.test(where) && !arithmetic.test(where))
    ? (json) => (longInteger.test(json) ? toExactValue(parseRawJson(json), maxExactLevels) : JSON.parse(json))
    : JSON.parse;

/** Each level reads its text again. */
const maxExactLevels = 8;

const toExactValue = (value: RawJson, levels: number): unknown => {
  if (value.kind === "number" && /^-?\d+$/.test(value.json) && !Number.isSafeInteger(Number(value.json)))
    return BigInt(value.json);
  if (levels === 0 || (value.kind !== "list" && value.kind !== "object")) return JSON.parse(value.json);
  if (value.kind === "list") return value.items.map((item) => toExactValue(item, levels - 1));
  return Object.fromEntries(value.members.map((member) => [member.key, toExactValue(member.value, levels - 1)]));
};

class AbsentValue extends Error {}

const requirePresent = (value: unknown) => {
  if (value === null) throw new AbsentValue();
  return value;
};

/** CEL compares null with any value, so a compared fact must be present, unless it is compared with null. */
const requireCompared = (text: string, root: ASTNode) => {
  const wrapped: ASTNode[] = [];
  const visit = (node: unknown) => {
    if (Array.isArray(node)) for (const inner of node) visit(inner);
    if (!isNode(node)) return;
    visit(node.args);
    if (node.op !== "==" && node.op !== "!=") return;
    const isNull = node.args.some(({ op, args }) => op === "value" && args === null);
    if (!isNull) wrapped.push(...node.args.filter(isFactPath));
  };
  visit(root);
  const edits = wrapped.flatMap(({ start, end }) => [
    { at: start, added: "present(" },
    { at: end, added: ")" },
  ]);
  const place = (edited: string, { at, added }: (typeof edits)[number]) =>
    edited.slice(0, at) + added + edited.slice(at);
  return edits.sort((a, b) => b.at - a.at).reduce(place, text);
};

/** False for members of the variable of a macro, such as `m` in `messages.exists(m, m.content == "x")`. */
const isFactPath = ({ op, args }: ASTNode): boolean =>
  op === "id" ? knownNames.has(args) : (op === "." || op === "[]") && isFactPath(args[0]);

const isNode = (value: unknown): value is ASTNode => isObject(value) && "op" in value && "args" in value;

/** A value that a trajectory lacks makes an expression neither true nor an error. */
const evaluateOrNull = (run: () => unknown) => {
  try {
    return run();
  } catch (thrown) {
    if (thrown instanceof AbsentValue) return null;
    const isAbsent =
      thrown instanceof EvaluationError &&
      (/^(?:no_such_key|index_out_of_bounds|unknown_variable)$/.test(thrown.code) ||
        (/overload/.test(thrown.code) && /\bnull\b/.test(thrown.summary)));
    if (isAbsent) return null;
    throw thrown;
  }
};

const unknownName = (text: string, summary: string) => {
  const [name = ""] = /[\w.]+$/.exec(summary) ?? [];
  const near = findNearest(name, [...knownNames]);
  const hint = `did you mean ${near === undefined ? "" : `${near}, `}metadata.${name} or metrics.${name}?`;
  return invalidFilter(text, summary, undefined, hint);
};

const toVariables = ({ trajectory, group, facts, holder }: Variables, steps: readonly string[]) => {
  if (!trajectory) {
    const stepsOfGroup = steps.map((name) => [name, findStep(holder, name)] as const);
    // Values of trajectories are unknown, so only `&&`, `||` and `?:` can decide.
    return { group, ...Object.fromEntries(stepsOfGroup.filter(([, step]) => step !== null)) };
  }
  const { reward, messages_and_choices: turns } = trajectory;
  const messages = Array.isArray(turns) ? turns.map((turn: unknown) => findChoiceMessage(turn) ?? turn) : [];
  // In V8, a spread can be 20 times slower than this loop.
  const variables: Record<string, unknown> = { reward, messages, trajectory, group };
  for (const name in fieldDefaults) variables[name] = trajectory[name] ?? fieldDefaults[name];
  for (const name of steps) variables[name] ??= findStep(trajectory, name) ?? findStep(holder, name);
  for (const name in facts) variables[name] = facts[name];
  return variables;
};

/** Returns the message of a choice, which has no role; undefined for another turn. */
const findChoiceMessage = (turn: unknown) =>
  isObject(turn) && turn.role === undefined && isObject(turn.message) ? turn.message : undefined;

const findStep = (trajectory: JsonObject, name: string) => {
  const holders = [trajectory, ...stepHolders.map((key) => trajectory[key])];
  const steps = holders.map((holder) => (isObject(holder) ? holder[name] : undefined));
  return steps.find((step) => step !== undefined && step !== null) ?? null;
};

type FilteredGroup = Readonly<{
  /** Index in the input, from 0. */
  group: number;
  trajectories: readonly JsonObject[];
  /** The rewards before a selection. Default: those of `trajectories`. */
  allRewards?: readonly (number | null)[] | null;
  /** For each trajectory; none if the expression names no fact. */
  facts?: readonly JsonObject[];
  exceptions: number;
  /** The members of the group, whose steps are those of trajectories without the column. */
  holder?: JsonObject | undefined;
  /** A trajectory is solved if its reward is at least this. */
  pass?: number | undefined;
  locate: () => string;
}>;

const isFiniteNumber = (value: unknown): value is number => Number.isFinite(value);

/**
 * The returned function throws Failure `invalid-filter` and `nested-too-deeply`. A trajectory that lacks a value is
 * `absent`. A missing reward is minus infinity. A group without trajectories is evaluated by its own values.
 */
export const openGroupFilter = (
  isTrue: TrajectoryFilter,
  { group, trajectories, allRewards, facts: measured = [], exceptions, holder = {}, pass, locate }: FilteredGroup,
) => {
  const rewards = trajectories.map(({ reward }) =>
    typeof reward === "number" || typeof reward === "bigint" ? Number(reward) : Number.NEGATIVE_INFINITY,
  );
  const all = allRewards ?? rewards;
  const { mean, deviation, min, max } = computeMoments(all.filter(isFiniteNumber));
  const moments = { reward_mean: mean, reward_std_dev: deviation, reward_min: min, reward_max: max };
  const ofTrajectories = trajectories.length > 0 ? moments : {};
  const ofGroup = { number: group + 1, size: all.length, exceptions, ...ofTrajectories };
  return (trajectory: JsonObject | undefined, at: number) => {
    const reward = rewards[at] ?? Number.NaN;
    // These two need no walk.
    const ofReward = { advantage: Number.isFinite(reward) ? reward - mean : null, solved: isSolved(reward, pass) };
    return isTrue({ trajectory, group: ofGroup, facts: { ...measured[at], ...ofReward }, holder }, locate);
  };
};

/** Lists what must be evaluated of a group: its trajectories, or the group itself. */
export const listEvaluated = (trajectories: readonly JsonObject[]) =>
  trajectories.length > 0 ? trajectories : [undefined];

/** Returns false if a converted record states only flags of an answer that was not cut off, else null. */
const readFlags = ({ metadata }: JsonObject) => {
  const flags = Object.entries(isObject(metadata) ? metadata : {}).filter(([key]) => cutFlag.test(key));
  return flags.length > 0 && flags.every(([, value]) => value === false || value === 0) ? false : null;
};

/** Returns the last choice's finish reason. Without a known one, only the trajectory says if it was cut. */
export const readFinish = (trajectory: JsonObject, isDerived: boolean): JsonObject => {
  const { messages_and_choices: turns, truncated = readFlags(trajectory) } = trajectory;
  const last: unknown = Array.isArray(turns) ? turns.findLast(findChoiceMessage) : undefined;
  const finish_reason = isObject(last) && !isDerived ? (last.finish_reason ?? null) : null;
  const isKnown = typeof finish_reason === "string" && finishReasons.has(finish_reason);
  return { finish_reason, truncated: isKnown ? isCutOff(finish_reason) : truncated };
};

/** @param position undefined for an expression that cannot be parsed */
const invalidFilter = (
  text: string,
  fault: string,
  position: string | undefined,
  hint = position === undefined ? celHint : dataHint,
) => {
  const end = position === undefined ? "" : ` at ${position}`;
  const message = `cannot ${position === undefined ? "parse" : "evaluate"} the expression \`${text}\`${end}: ${fault}`;
  const subject = position === undefined ? fault : `${fault}, at ${position}`;
  return new Failure("usage", "invalid-filter", message, { subject, hint });
};

const celHint =
  "use a CEL expression with the variables reward, truncated, turns, tool_errors, metrics, metadata, messages, group and trajectory.<key>: 'reward > 0.5 && group.size >= 4'";
const dataHint = "test that a value exists, and convert it: 'has(metrics.score) && double(metrics.score) > 1.0'";

export const slowFilter = (text: string, limitMs: number, position: string) => {
  const hint = "remove regular expressions and nested all(), exists(), map() or filter() from the expression";
  return invalidFilter(text, `evaluation takes longer than ${formatSeconds(limitMs, Math.floor)}`, position, hint);
};

const nestedTooDeeply = (text: string, position: string) => {
  const message = `cannot evaluate the expression \`${text}\` at ${position}: the value is nested too deeply`;
  const hint = "remove the nested value from the file, or use an expression that does not read it";
  return new Failure("invalid_input", "nested-too-deeply", message, { hint });
};

/** Joins expressions for `--where`. */
export const joinWheres = (...wheres: readonly (string | undefined)[]) => {
  const given = wheres.filter((where) => where !== undefined);
  return given.length > 1 ? given.map(parenthesize).join(" && ") : given[0];
};
