/** What a run came to that followed a file: one result, as of any other run, and what it leaves to the next. */

import type { Judgement } from "../../check/rules/judgement.ts";
import type { Problems } from "../../check/rules/problems.ts";
import { Failure, isFailure } from "../../failure.ts";
import type { DedupKeys } from "../../groups/index.ts";
import { closeGroup, invalidInput, outsideOf, type Reading, reportAmong } from "../../groups/index.ts";
import type { RunLedger } from "../../ledger/index.ts";
import { type DeliverOptions, reportEarlier, takeBackRefused } from "../deliver.ts";
import type { GroupOutcomes } from "../group-outcomes.ts";
import { nothingSent } from "../requests.ts";
import { type LogResult, logResult } from "../result.ts";
import type { Batches } from "./batches.ts";
import type { EarlierKeys } from "./earlier-keys.ts";
import type { FollowedFile } from "./followed-file.ts";

/** What the result is made of. */
interface FollowedFacts {
  readonly options: Pick<DeliverOptions, "host" | "modelId" | "split" | "batch"> & {
    readonly file: string;
    readonly judgement: Judgement;
  };
  readonly files: readonly FollowedFile[];
  readonly batches: Batches;
  readonly outcomes: GroupOutcomes;
  readonly earlier: EarlierKeys;
  readonly marks: DedupKeys;
  readonly runLedger: RunLedger;
  /** What stopped the run; undefined where a signal did. */
  readonly stop: Failure | undefined;
}

/** What the run came to. */
export const followedResult = async (reading: Reading, facts: FollowedFacts): Promise<LogResult> => {
  const { options, files, batches, outcomes, runLedger, stop } = facts;
  const { host, modelId, split, batch, judgement } = options;
  const { found, groups, problems } = reading;
  const isThere = !files.some(({ isGone }) => isGone) && !isChanged(stop);
  const open = files.flatMap(({ underWay }) => underWay.incomplete);
  if (!isChanged(stop)) for (const group of open) await closeGroup(reading, group);
  // Where it would be an error, it comes too late: what is judged by the whole file is sent already.
  if (isThere && !judgement.strict) await reportAmong(reading, { outside: outsideOf(found) });
  const isUnfinished = !isChanged(stop) && (await reportUnfinished(files, problems));
  if (open.length > 0) problems.report("group-open", { groups: open.length }, () => ({}));
  reportLeft(problems, facts);
  const { sent } = batches;
  if (isThere) await takeBackRefused(reading, sent);
  const signal = host.signal.reason instanceof Failure ? host.signal.reason : undefined;
  const isAll = files.length > 0 && !isUnfinished && outcomes.which("not_sent").length === 0;
  const result = logResult(reading, {
    sent: {
      ...(sent ?? nothingSent()),
      problems: [...(stop?.about.problems ?? []), ...(sent?.problems ?? [])],
      // A signal is how following ends: it is a failure where it left something to do.
      stop: stop ?? (isAll ? undefined : signal),
    },
    outcomes,
    rejectsFile: batches.rejectsFile,
    ledger: runLedger.facts,
    modelId,
    split,
    batch,
  });
  // Where nothing at all is valid, nothing could be sent: that is bad input, as without `--follow`.
  const nothingValid =
    outcomes.count > 0 && Array.from(outcomes.which("rejected")).every((group) => !groups.isValid(group));
  const rejected = nothingValid && result.groups.rejected === result.groups.read;
  return rejected && isFailure(result.failure, "log-rejected")
    ? { ...result, failure: invalidInput(problems, [options.file]) }
    : result;
};

/** Whether what was read of a file is gone. */
export const isChanged = (stop: Failure | undefined): boolean => isFailure(stop, "input-changed");

/** Reports the bytes behind the last line ends; whether there are any. */
const reportUnfinished = async (files: readonly FollowedFile[], problems: Problems): Promise<boolean> => {
  let isAny = false;
  for (const { tail, isGone } of files) {
    const bytes = isGone ? 0 : await tail.unfinished();
    if (bytes > 0) problems.report("line-unfinished", { bytes }, () => ({ file: tail.source.name }));
    isAny ||= bytes > 0;
  }
  return isAny;
};

/** Reports what is known of other runs, and requests of theirs that are left to somebody else. */
const reportLeft = (
  problems: Problems,
  { options, batches: { unsettled }, outcomes, earlier, marks, runLedger }: FollowedFacts,
): void => {
  const isElsewhere = (group: number) => earlier.wasLoggedElsewhere(marks.slice(group, 1));
  const elsewhere = [...outcomes.which("already_logged"), ...outcomes.which("unknown")].filter(isElsewhere).length;
  reportEarlier(problems, { ...options, runLedger, elsewhere, at: earlier.runs.loggedElsewhereAt });
  if (unsettled === 0) return;
  const requests = earlier.runs.unknownEntries.filter((entry) => marks.hasAny(entry.marks)).length;
  problems.report("unknown-left", { requests, groups: unsettled }, () => ({}));
};
