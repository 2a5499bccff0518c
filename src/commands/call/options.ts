/** What `call read` was asked for: typed words, and what they mean. */
import { type CallPath, parsePath, type RewardFrom } from "../../calls/index.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";

/** What is made of calls. */
export type CallForm =
  | { readonly kind: "page"; readonly markdown: boolean }
  | { readonly kind: "summary" }
  | { readonly kind: "list" }
  | { readonly kind: "value"; readonly path: CallPath }
  | { readonly kind: "messages" }
  | { readonly kind: "trajectory"; readonly reward: RewardFrom };

/** What is asked of the service beside the call itself, and how much of a call is shown. */
export interface CallShown {
  readonly costs: boolean;
  readonly storageSize: boolean;
  readonly totalStorageSize: boolean;
  readonly full: boolean;
  readonly content: boolean;
}

/** Which of the calls that are read are meant. */
export interface CallChoice {
  /** How they stand; any way where empty. */
  readonly states: readonly ("failed" | "running")[];
  /** Globs, or parts of the names. */
  readonly op: string | undefined;
  readonly model: string | undefined;
}

/** What `call read` was asked for. */
export interface ReadOptions {
  readonly words: readonly string[];
  /** Undefined where all of them are. */
  readonly choice: CallChoice | undefined;
  readonly shown: CallShown;
  readonly form: CallForm;
  /** Whether running calls are followed to their end. */
  readonly wait: boolean;
  /** Calls that are read at the same time. */
  readonly concurrency: number;
}

/** The options of `call read` as commander gives them. */
export interface TypedRead {
  readonly costs?: boolean;
  readonly storageSize?: boolean;
  readonly totalStorageSize?: boolean;
  readonly full?: boolean;
  /** False for `--no-content`. */
  readonly content: boolean;
  readonly path?: string;
  readonly as?: "trajectory" | "messages" | "markdown";
  readonly reward?: string;
  readonly rewardFrom?: string;
  readonly summary?: boolean;
  readonly list?: boolean;
  readonly failed?: boolean;
  readonly running?: boolean;
  readonly op?: string;
  readonly model?: string;
  readonly wait?: boolean;
  readonly concurrency?: string;
}

/** What was typed, as it is meant. @throws Failure `option-value-wrong`, `options-contradict`, `option-needs` */
export const readMeant = (context: Context, words: readonly string[], typed: TypedRead): ReadOptions => ({
  words: words.map(idTyped),
  choice: choiceOf(typed),
  shown: {
    costs: typed.costs === true,
    storageSize: typed.storageSize === true,
    totalStorageSize: typed.totalStorageSize === true,
    full: typed.full === true,
    content: typed.content,
  },
  form: formOf(context, typed),
  wait: typed.wait === true,
  concurrency: concurrencyOf(typed.concurrency),
});

/** The id of a call. @throws Failure `option-value-wrong` */
const idTyped = (word: string): string => {
  const id = word.trim();
  if (id !== "") return id;
  throw new Failure("option-value-wrong", { option: "<call-id>", value: word, wanted: "the id of a call" });
};

const choiceOf = ({ failed, running, op, model }: TypedRead): CallChoice | undefined => {
  const states = [failed === true ? (["failed"] as const) : [], running === true ? (["running"] as const) : []].flat();
  return states.length === 0 && op === undefined && model === undefined ? undefined : { states, op, model };
};

const formOf = (context: Context, typed: TypedRead): CallForm => {
  requireOneForm(context, typed);
  const reward = rewardOf(typed);
  if (typed.list === true) return { kind: "list" };
  if (typed.summary === true) return { kind: "summary" };
  if (typed.path !== undefined) return { kind: "value", path: parsePath(typed.path, "--path") };
  if (typed.as === "messages") return { kind: "messages" };
  if (typed.as === "trajectory") return { kind: "trajectory", reward };
  return { kind: "page", markdown: typed.as === "markdown" };
};

/** @throws Failure `options-contradict` for forms, and options of forms, that can't be had together */
const requireOneForm = (context: Context, typed: TypedRead): void => {
  const asked = [
    ...(typed.summary === true ? ["--summary"] : []),
    ...(typed.list === true ? ["--list"] : []),
    ...(typed.path === undefined ? [] : ["--path"]),
    ...(typed.as === undefined ? [] : [`--as ${typed.as}`]),
  ];
  const [first, second] = asked;
  if (first !== undefined && second !== undefined) {
    throw new Failure("options-contradict", { first, second, why: "each of them is all that is printed" });
  }
  const ownForm = first !== undefined && !["--summary", "--list", "--as markdown"].includes(first);
  if (!typed.content && ownForm) {
    throw new Failure("options-contradict", { first, second: "--no-content", why: "it prints content" });
  }
  const { fields, format } = context.screen;
  const other = fields !== undefined ? "--fields" : format === "csv" ? "-o csv" : undefined;
  if (ownForm && other !== undefined) {
    throw new Failure("options-contradict", { first, second: other, why: `${first} has a form of its own` });
  }
  if (typed.as !== undefined && (format === "json" || (typed.as === "markdown" && format === "jsonl"))) {
    const why = typed.as === "markdown" ? "Markdown is no JSON" : "it prints a line a call: -o jsonl";
    throw new Failure("options-contradict", { first: `--as ${typed.as}`, second: `-o ${format}`, why });
  }
  if (typed.list === true && (format === "json" || format === "jsonl")) {
    const why = "JSON has whole calls, of which --fields picks keys: -o jsonl --fields id,exception";
    throw new Failure("options-contradict", { first: "--list", second: `-o ${format}`, why });
  }
};

const rewardOf = ({ as, reward, rewardFrom }: TypedRead): RewardFrom => {
  if (reward === undefined && rewardFrom === undefined) return { kind: "attributes" };
  const option = reward === undefined ? "--reward-from" : "--reward";
  if (as !== "trajectory") throw new Failure("option-needs", { option, needs: "--as trajectory" });
  if (reward !== undefined && rewardFrom !== undefined) {
    throw new Failure("options-contradict", {
      first: "--reward",
      second: "--reward-from",
      why: "a trajectory has one reward",
    });
  }
  if (reward === undefined) return { kind: "path", path: parsePath(rewardFrom ?? "", "--reward-from") };
  const text = reward.trim();
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text))) {
    return { kind: "number", text };
  }
  throw new Failure("option-value-wrong", { option, value: reward, wanted: "a number such as 1 or -0.5" });
};

/** Enough to hide the way there and back, few enough for any service. */
export const usualConcurrency = 8;
const mostConcurrency = 64;

const concurrencyOf = (typed: string | undefined): number => {
  if (typed === undefined) return usualConcurrency;
  const count = /^\d{1,3}$/.test(typed) ? Number(typed) : 0;
  if (count >= 1 && count <= mostConcurrency) return count;
  throw new Failure("option-value-wrong", {
    option: "--concurrency",
    value: typed,
    wanted: `a number from 1 to ${mostConcurrency}`,
  });
};
