/** What the options of `rollcall log` mean beyond their kinds: the ledger, and what to follow. */

import { contradiction, wrongValue } from "../../cli/index.ts";
import { pathParameterUnusable } from "../../client/failures.ts";
import { optionsContradict } from "../../failures.ts";
import type { DeliverOptions, FollowOptions } from "../../send/index.ts";
import { placeMissing } from "../../settings/failures.ts";
import { parseDuration, type Settings } from "../../settings/index.ts";
import { ledgerPlaceless } from "../failures.ts";
import type { TypedLog } from "./command.ts";

/** True if no address to log to is set. */
export const isNowhere = (settings: Settings): boolean =>
  !settings.local && settings.get("log_base_url") === undefined && settings.get("base_url") === undefined;

/** Refuses a model id that no address can be made of, before anything is read and a ledger keeps it. */
export const checkModelId = (modelId: string): void => {
  if (modelId === "") throw wrongValue("<model-id>", "", "the id of a model");
  if (modelId === "." || modelId === "..") {
    throw pathParameterUnusable("model_id", modelId);
  }
};

/** The location of the ledger; undefined for none. @throws Failure `options-contradict`, `place-missing`, `ledger-placeless` */
export const ledgerMeant = (typed: TypedLog, settings: Settings): DeliverOptions["ledger"] => {
  const { ledger, noLedger, requireLedger: require } = typed;
  // A plan of what goes nowhere yet is a plan: what was logged there is not known.
  if (typed.dryRun && isNowhere(settings)) return undefined;
  if (noLedger && require) throw contradiction("--no-ledger", "--require-ledger", "it asks for one");
  if (noLedger) return undefined;
  const place = settings.ledgerPlace(ledger);
  if (place !== undefined) return { ...place, require };
  // The local service needs the folder too: a location for the ledger alone would not help.
  if (settings.local) throw placeMissing("data");
  throw ledgerPlaceless(false);
};

/** What to follow, and when what was read is sent. */
export type FollowChoice = Pick<FollowOptions, "file" | "everyMs" | "groupSize" | "groupIdleMs">;

/** Options that need a file that is whole. */
const wholeNeeded = [
  ["where", "--where"],
  ["best", "--best"],
  ["sample", "--sample"],
  ["shard", "--shard"],
  ["receipt", "--receipt"],
  ["rewardFrom", "--reward-from"],
  ["rewards", "--rewards"],
  ["lossy", "--lossy"],
  ["histories", "--histories"],
] as const;

/** How another tool's file can be logged instead. */
const onceWhole =
  "once the file is whole, leave --follow out, or have rollcall convert make groups of it; a run that writes groups itself can be followed";

/** Undefined without `--follow`. @throws Failure `options-contradict`, `option-value-wrong` */
export const followMeant = (typed: TypedLog): FollowChoice | undefined => {
  if (!typed.follow) return undefined;
  if (typed.dryRun) throw contradiction("--follow", "--dry-run", "what is not sent can't be gone on with");
  if (typed.oneRequest)
    throw contradiction("--follow", "--one-request", "a file that is still written takes many requests");
  for (const [key, option] of wholeNeeded) {
    const isTyped = typed[key] !== undefined && typed[key] !== false;
    if (isTyped) throw contradiction("--follow", option, "it needs a file that is whole");
  }
  const { from = "auto" } = typed;
  if (from !== "auto" && from !== "rollcall") {
    const why = "a file that grows is read in rollcall's own shape";
    throw optionsContradict({ first: "--follow", second: `--from ${from}`, why, way: onceWhole });
  }
  const [file, ...others] = typed.file;
  if (file === undefined || file === "-" || others.length > 0) {
    const found = others.length > 0 ? "several files" : "standard input";
    throw contradiction("--follow", found, "it goes on with one file, which it can read again");
  }
  return {
    file,
    everyMs: durationIn("--every", typed.every ?? "30s"),
    groupSize: typed.groupSize,
    groupIdleMs: durationIn("--group-idle", typed.groupIdle ?? "5m"),
  };
};

const durationIn = (option: string, value: string): number => {
  const parsed = parseDuration(value);
  if (parsed.ok) return parsed.value;
  throw wrongValue(option, value, parsed.wanted, parsed.suggestion);
};
