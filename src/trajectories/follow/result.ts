/** What a run came to that followed a file: one result, as of any other run, and what it leaves to the next. */
import { Failure, isFailure } from "../../failure.ts";
import type { Tail } from "../input/tail.ts";
import type { RunLedger } from "../ledger/run-ledger.ts";
import { outsideOf, reportAmong } from "../read/dataset.ts";
import { closeGroup, invalidInput, type Reading } from "../read/read.ts";
import type { Judgement } from "../rules/judgement.ts";
import type { Problems } from "../rules/problems.ts";
import { type DeliverOptions, reportEarlier, takeBackRefused } from "../send/deliver.ts";
import type { GroupOutcomes } from "../send/group-outcomes.ts";
import { nothingSent } from "../send/requests.ts";
import { type LogResult, logResult } from "../send/result.ts";
import type { Batches } from "./batches.ts";
import type { EarlierMarks } from "./growing-marks.ts";

/** What the result is made of. */
interface FollowedFacts {
  readonly options: Pick<DeliverOptions, "host" | "modelId" | "split" | "batch"> & {
    readonly file: string;
    readonly judgement: Judgement;
  };
  /** The last file; undefined where none was there. */
  readonly tail: Tail | undefined;
  /** Groups that are not complete. */
  readonly open: readonly number[];
  readonly batches: Batches;
  readonly outcomes: GroupOutcomes;
  readonly earlier: EarlierMarks;
  readonly runLedger: RunLedger;
  /** Whether a file was written anew, so that what was read of it can't be looked at again. */
  readonly rewritten: boolean;
  /** What stopped the run; undefined where a signal did. */
  readonly stop: Failure | undefined;
}

/** What the run came to. */
export const followedResult = async (reading: Reading, facts: FollowedFacts): Promise<LogResult> => {
  const { options, tail, open, batches, outcomes, runLedger, rewritten, stop } = facts;
  const { host, modelId, split, batch, judgement } = options;
  const { found, groups, problems } = reading;
  const isThere = !rewritten && !isChanged(stop);
  if (!isChanged(stop)) for (const group of open) await closeGroup(groups, group, reading);
  // Where it would be an error, it comes too late: what is judged by the whole file is sent already.
  if (isThere && !judgement.strict) await reportAmong(reading, { outside: outsideOf(found) });
  const unfinished = tail !== undefined && !isChanged(stop) && (await reportUnfinished(tail, problems));
  reportLeft(problems, facts);
  const { sent } = batches;
  if (isThere) await takeBackRefused(reading, sent);
  const signal = host.signal.reason instanceof Failure ? host.signal.reason : undefined;
  const isAll = tail !== undefined && !unfinished && outcomes.which("not_sent").length === 0;
  const result = logResult(reading, {
    jobs: batches.jobs,
    sent: {
      ...(sent ?? nothingSent()),
      problems: [...(stop?.about.problems ?? []), ...(sent?.problems ?? [])],
      // A signal is how following ends: it is a failure where it left something to do.
      stop: stop ?? (isAll ? undefined : signal),
    },
    dryRun: false,
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

/** Reports the bytes behind the last line end; whether there are any. */
export const reportUnfinished = async (tail: Tail, problems: Problems): Promise<boolean> => {
  const bytes = await tail.unfinished();
  if (bytes > 0) problems.report("line-unfinished", { bytes }, () => ({ file: tail.source.name }));
  return bytes > 0;
};

/** Reports what the run leaves to others: groups that are not complete, and requests of earlier runs. */
const reportLeft = (
  problems: Problems,
  { options, open, batches, outcomes, earlier, runLedger }: FollowedFacts,
): void => {
  const { loggedElsewhere: elsewhere, unknown } = batches;
  if (open.length > 0) problems.report("group-open", { groups: open.length }, () => ({}));
  reportEarlier(problems, { ...options, runLedger, elsewhere, at: earlier.runs.loggedElsewhereAt });
  const left = outcomes.which("unknown").length;
  if (unknown.length > 0 && left > 0) {
    problems.report("unknown-left", { requests: unknown.length, groups: left }, () => ({}));
  }
};
