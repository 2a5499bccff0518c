/** What `log` was asked for: the options as typed, and what they mean. */

import { type Judgement, judgementOf } from "../../check/index.ts";
import { Failure } from "../../failure.ts";
import type { ForeignChoice } from "../../formats/index.ts";
import type { MeterForm } from "../../output/index.ts";
import type { DeliverOptions, FollowOptions, OnUnknown, StopOrSkip } from "../../send/index.ts";
import { parseDuration, type Settings } from "../../settings/index.ts";
import type { TypedChoosing } from "../convert/choosing.ts";
import { foreignTyped, type TypedForeign } from "../convert/foreign.ts";
import { againstFollow, requireGrowing } from "../convert/growing.ts";
import type { TypedJudging } from "./judging.ts";

/** What was typed. */
export interface Typed {
  readonly modelId: string;
  readonly files: readonly string[];
  readonly typed: TypedLog;
}

/** The options as commander gives them. */
export interface TypedLog extends TypedJudging, TypedForeign, TypedChoosing {
  readonly receipt?: string;
  readonly split?: string;
  readonly batch?: string;
  readonly groupBy?: string;
  readonly dryRun?: boolean;
  readonly body?: string;
  readonly maxRequestSize?: string;
  readonly oneRequest?: boolean;
  readonly onInvalid?: StopOrSkip;
  readonly onRefused?: StopOrSkip;
  readonly onUnknown?: OnUnknown;
  readonly rejects?: string;
  readonly resendLogged?: boolean;
  /** False for `--no-ledger`, true where neither was typed. */
  readonly ledger: string | boolean;
  readonly requireLedger?: boolean;
  readonly concurrency?: string;
  readonly compress?: string;
  readonly progress?: MeterForm;
  readonly follow?: boolean;
  readonly every?: string;
  readonly groupSize?: string;
  readonly groupIdle?: string;
}

/** What is meant. */
export interface LogOptions {
  readonly modelId: string;
  readonly files: readonly string[];
  readonly groupBy: string | undefined;
  readonly foreign: ForeignChoice;
  /** Where what became of every value of another tool's files is written. */
  readonly receipt: string | undefined;
  readonly judgement: Judgement;
  readonly progress: MeterForm | undefined;
  /** Which body, from 1, is written instead of the plan. */
  readonly body: number | undefined;
  /** Undefined where nothing is followed. */
  readonly follow: FollowChoice | undefined;
  readonly delivery: Pick<
    DeliverOptions,
    | "dryRun"
    | "oneRequest"
    | "onInvalid"
    | "onRefused"
    | "onUnknown"
    | "rejects"
    | "resendLogged"
    | "ledger"
    | "concurrency"
  >;
}

/** What to follow, and when what was read of it is sent. */
export type FollowChoice = Pick<FollowOptions, "file" | "everyMs" | "groupSize" | "groupIdleMs">;

/** How strictly `--strict` and `--allow` judge. @throws Failure `option-value-wrong` */
export const judgementTyped = ({ strict, allow }: TypedJudging): Judgement =>
  judgementOf({ strict: strict === true, allow: allow ?? [] });

/** What the options mean. @throws Failure of code `usage`, `ledger-placeless`, `place-missing` */
export const logOptions = ({ modelId, files, typed }: Typed, settings: Settings): LogOptions => {
  const options = {
    modelId,
    files,
    groupBy: typed.groupBy,
    foreign: foreignTyped(typed, { receipt: typed.receipt !== undefined }),
    receipt: typed.receipt,
    judgement: judgementTyped(typed),
    progress: typed.progress,
    body: bodyNumber(typed),
    follow: followChoice(typed, files),
    delivery: {
      dryRun: typed.dryRun === true,
      oneRequest: typed.oneRequest === true,
      onInvalid: typed.onInvalid ?? "stop",
      onRefused: typed.onRefused ?? "stop",
      onUnknown: typed.onUnknown ?? "stop",
      rejects: typed.rejects,
      resendLogged: typed.resendLogged === true,
      // A plan of what goes nowhere yet is a plan; what was logged there is not known.
      ledger: typed.dryRun === true && isNowhere(settings) ? undefined : ledgerChoice(typed, settings),
      concurrency: typed.concurrency === undefined ? 1 : countOf("--concurrency", typed.concurrency, mostConcurrency),
    },
  };
  checkModelId(modelId);
  return options;
};

/** Whether no address is set to log to. */
export const isNowhere = (settings: Settings): boolean =>
  !settings.local && settings.get("log_base_url") === undefined && settings.get("base_url") === undefined;

/** Says what no address can be made of before anything is read, and before a ledger would keep it. */
const checkModelId = (modelId: string): void => {
  if (modelId === "") {
    throw new Failure("option-value-wrong", { option: "<model-id>", value: "", wanted: "the id of a model" });
  }
  if (modelId === "." || modelId === "..") {
    throw new Failure("path-parameter-unusable", { parameter: "model_id", value: modelId });
  }
};

const bodyNumber = ({ body, dryRun }: TypedLog): number | undefined => {
  if (body === undefined) return undefined;
  if (dryRun !== true) throw new Failure("option-needs", { option: "--body", needs: "--dry-run" });
  return countOf("--body", body, mostBodies);
};

/** A number of a request; a plan has fewer. */
const mostBodies = 1_000_000;

/** More requests in flight than this only wait for each other. */
const mostConcurrency = 64;

/** More trajectories than this are no group of one scenario. */
const mostTrajectories = 1_000_000;

const countOf = (option: string, value: string, most: number): number => {
  const count = /^\d{1,7}$/.test(value) ? Number(value) : 0;
  if (count >= 1 && count <= most) return count;
  throw new Failure("option-value-wrong", { option, value, wanted: `a number from 1 to ${most}` });
};

const ledgerChoice = ({ ledger, requireLedger }: TypedLog, settings: Settings): DeliverOptions["ledger"] => {
  const require = requireLedger === true;
  if (ledger === false && require) {
    const why = "it asks for one";
    throw new Failure("options-contradict", { first: "--no-ledger", second: "--require-ledger", why });
  }
  if (ledger === false) return undefined;
  const place = settings.ledgerPlace(typeof ledger === "string" ? ledger : undefined);
  if (place !== undefined) return { ...place, require };
  // The local service needs the folder too: a place for the ledger alone would not help.
  if (settings.local) throw new Failure("place-missing", { what: "data", variable: "ROLLCALL_DATA_DIR" });
  throw new Failure("ledger-placeless", { needed: false });
};

const followNeeded = { every: "--every", groupSize: "--group-size", groupIdle: "--group-idle" } as const;

const followChoice = (typed: TypedLog, files: readonly string[]): FollowChoice | undefined => {
  if (typed.follow !== true) {
    for (const key of ["every", "groupSize", "groupIdle"] as const) {
      if (typed[key] !== undefined) throw new Failure("option-needs", { option: followNeeded[key], needs: "--follow" });
    }
    return undefined;
  }
  if (typed.dryRun === true) throw againstFollow("--dry-run", "what is not sent can't be gone on with");
  if (typed.oneRequest === true)
    throw againstFollow("--one-request", "a file that is still written takes many requests");
  requireGrowing(typed);
  const [file, ...others] = files;
  if (file === undefined || file === "-" || others.length > 0) {
    const found = others.length > 0 ? "several files" : "standard input";
    throw againstFollow(found, "it goes on with one file, which it can read again");
  }
  return {
    file,
    everyMs: durationOf("--every", typed.every ?? "30s"),
    groupSize: typed.groupSize === undefined ? undefined : countOf("--group-size", typed.groupSize, mostTrajectories),
    groupIdleMs: durationOf("--group-idle", typed.groupIdle ?? "5m"),
  };
};

const durationOf = (option: string, value: string): number => {
  const parsed = parseDuration(value);
  if (parsed.ok) return parsed.value;
  const { wanted, suggestion } = parsed;
  throw new Failure("option-value-wrong", { option, value, wanted, suggestion });
};
