/** What the options of `call read` mean together: one form, and the calls that are chosen. */

import {
  type CallPath,
  modelsOf,
  operationOf,
  parsePath,
  type RewardFrom,
  readHead,
  stateOf,
} from "../../calls/index.ts";
import { matchesPattern } from "../../catalogs/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { optionNeeds } from "../../failures.ts";
import type { TypedRead } from "./command.ts";

/** What is made of calls. */
export type CallForm =
  | { readonly kind: "page"; readonly markdown: boolean }
  | { readonly kind: "summary" }
  | { readonly kind: "list" }
  | { readonly kind: "value"; readonly path: CallPath }
  | { readonly kind: "messages" }
  | { readonly kind: "trajectory"; readonly reward: RewardFrom };

/** What is asked of the service in addition to the call itself, and how much of a call is shown. */
export interface CallShown {
  readonly costs: boolean;
  readonly storageSize: boolean;
  readonly totalStorageSize: boolean;
  readonly full: boolean;
  readonly content: boolean;
}

/** Enough to hide the latency, few enough for any service. */
export const usualConcurrency = 8;

/** Tells which calls are meant: those in a state, of an operation, of a model. Undefined if all are. */
export const choiceMeant = (
  { failed, running, op, model }: TypedRead,
  prefix: string,
): ((bytes: Uint8Array) => boolean) | undefined => {
  const states = [...(failed ? ["failed"] : []), ...(running ? ["running"] : [])];
  if (states.length === 0 && op === undefined && model === undefined) return undefined;
  const named = (pattern = "") => {
    const matches = matchesPattern(pattern);
    return (id: string) => matches({ id, name: id });
  };
  const [isOp, isModel] = [named(op), named(model)];
  return (bytes) => {
    const call = readHead(bytes);
    return (
      (states.length === 0 || states.includes(stateOf(call, prefix))) &&
      isOp(operationOf(call) ?? "") &&
      (model === undefined || modelsOf(call, prefix).some(isModel))
    );
  };
};

/** The form that is asked for. @throws Failure `option-value-wrong`, `options-contradict`, `option-needs` */
export const formMeant = (context: Context, typed: TypedRead): CallForm => {
  requireOneForm(context, typed);
  const reward = rewardMeant(typed);
  if (typed.list) return { kind: "list" };
  if (typed.summary) return { kind: "summary" };
  if (typed.path !== undefined) return { kind: "value", path: parsePath(typed.path, "--path") };
  if (typed.as === "messages") return { kind: "messages" };
  if (typed.as === "trajectory") return { kind: "trajectory", reward };
  return { kind: "page", markdown: typed.as === "markdown" };
};

const requireOneForm = ({ screen: { fields, format } }: Context, typed: TypedRead): void => {
  const { as } = typed;
  const [first, second] = [
    ...(typed.summary ? ["--summary"] : []),
    ...(typed.list ? ["--list"] : []),
    ...(typed.path === undefined ? [] : ["--path"]),
    ...(as === undefined ? [] : [`--as ${as}`]),
  ];
  if (first !== undefined && second !== undefined)
    throw contradiction(first, second, "each of them is all that is printed");
  if (first !== undefined && !["--summary", "--list", "--as markdown"].includes(first)) {
    if (typed.noContent) throw contradiction(first, "--no-content", "it prints content");
    const other = fields !== undefined ? "--fields" : format === "csv" ? "-o csv" : undefined;
    if (other !== undefined) throw contradiction(first, other, `${first} has a form of its own`);
  }
  if (as !== undefined && (format === "json" || (as === "markdown" && format === "jsonl"))) {
    const why = as === "markdown" ? "Markdown is no JSON" : "it prints a line a call: -o jsonl";
    throw contradiction(`--as ${as}`, `-o ${format}`, why);
  }
  if (typed.list && (format === "json" || format === "jsonl")) {
    const why = "JSON has whole calls, of which --fields picks keys: -o jsonl --fields id,exception";
    throw contradiction("--list", `-o ${format}`, why);
  }
};

const rewardMeant = ({ as, reward, rewardFrom }: TypedRead): RewardFrom => {
  if (reward === undefined && rewardFrom === undefined) return { kind: "attributes" };
  const option = reward === undefined ? "--reward-from" : "--reward";
  if (as !== "trajectory") throw optionNeeds(option, "--as trajectory");
  if (reward === undefined) return { kind: "path", path: parsePath(rewardFrom ?? "", "--reward-from") };
  if (rewardFrom !== undefined) throw contradiction("--reward", "--reward-from", "a trajectory has one reward");
  const text = reward.trim();
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text));
  if (!isNumber) throw wrongValue(option, reward, "a number such as 1 or -0.5");
  return { kind: "number", text };
};
