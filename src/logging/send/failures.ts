import { Failure, type FailureDetails } from "../../failure.ts";
import { adviseToResolve } from "../../rollouts/rules/input-rules.ts";
import { explainUnwritable, getErrorCode } from "../../system/files.ts";
import * as sentences from "../../text/sentences.ts";
import { formatRoundedSize } from "../../text/units.ts";
import { type Outcome, type OutcomeCounts, outcomeFacts } from "./outcome.ts";

export const fileNotFollowable = (file: string, found: "not-a-file" | "compressed" | "document") => {
  const why = {
    compressed: "it is compressed",
    document: "it is one JSON document, not lines",
    "not-a-file": "it is not a file",
  }[found];
  const hint = "run without --follow, or name the file that the training run writes";
  return new Failure("usage", "file-not-followable", `cannot follow ${file}: ${why}`, { hint });
};

export const requestTooLarge = (bytes: number, details: FailureDetails) => {
  const hint = "make the group smaller, or ask the operator for a larger limit";
  const message = `the service refused a request of ${formatRoundedSize(bytes)} with one group as too large (413)`;
  return new Failure("refused", "request-too-large", message, { hint, ...details });
};

const otherRejectsHint = "choose another file with --rejects";

export const rejectsExist = (file: string) =>
  new Failure(
    "usage",
    "rejects-exist",
    `${file} already exists. Either rollcall did not write the file, or it was changed after rollcall wrote it`,
    {
      hint: `move the file away, or ${otherRejectsHint}`,
    },
  );

export const rejectsUnwritable = (file: string, cause: unknown) => {
  const { reason, hint } = explainUnwritable(file, getErrorCode(cause), otherRejectsHint);
  return new Failure("storage", "rejects-unwritable", `cannot write ${file}: ${reason}`, { hint, cause });
};

export const markUnsent = (thrown: unknown) =>
  thrown instanceof Failure && (thrown.code === "storage" || thrown.kind === "database-unavailable")
    ? thrown.withDetails({ unsent: true })
    : thrown;

export interface LogCounts extends OutcomeCounts {
  requests: number;
  hasLedger: boolean;
  resendLogged: boolean;
  /** True if a rerun logs no group again. */
  canRerun: boolean;
  ledgerArgs: readonly string[];
}

const rerunHint = "rerun the same command, which skips logged groups";

export const logPartial = (counts: LogCounts, stop: Failure, details: FailureDetails) => {
  const { not_sent: notSent, rejected, canRerun } = counts;
  const rest = canRerun ? rerunHint : sentences.resendAloneHint(notSent > 0 ? "remaining" : "rejected");
  const first = canRerun || notSent > 0 ? findFirstStep(stop) : fixNamedHint;
  const rejectedText = rejected === 0 ? "" : ` ${rejected} rejected,`;
  const message = `${sentences.formatLogged(counts)},${rejectedText} ${notSent} not logged: ${stop.message}`;
  const isWhole = stop.kind === "ledger-replaced" && notSent + rejected === 0;
  const hint = isWhole ? stop.details.hint : [first, rest].filter(Boolean).join(". Then ");
  const code = isWhole ? stop.code : outcomeFacts.logged.code;
  return new Failure(code, "log-partial", message, { ...details, hint });
};

interface RejectedCounts extends LogCounts {
  unreadable: number;
  file: string;
  isEmpty: boolean;
  /** True for converted input. The rejects file may then lack records of rejected groups. */
  isConverted: boolean;
}

export const logRejected = (facts: RejectedCounts, details: FailureDetails) => {
  const { canRerun, file, isEmpty, isConverted } = facts;
  const where = isEmpty ? "the rejects file is empty" : `see ${file}`;
  const again = canRerun ? `, then ${rerunHint}` : "";
  const message = `${sentences.formatRejected(facts)} (${where}), ${sentences.formatLogged(facts)}`;
  const hint = isConverted
    ? `fix the input (${file}.reasons lists the problems)${again}`
    : `fix the groups in ${file} (${file}.reasons lists the problems), then log ${file} alone`;
  return new Failure(outcomeFacts.rejected.code, isConverted ? "records-rejected" : "log-rejected", message, {
    hint,
    ...details,
  });
};

export const logUnresolved = (facts: LogCounts, details: FailureDetails) => {
  const unknown = sentences.pluralize(facts.unknown, "group");
  const message = `${unknown} of earlier runs may or may not have been logged (this run: ${sentences.formatLogged(facts)})`;
  const hint = resolveHint(facts);
  return new Failure(outcomeFacts.unknown.code, "log-unresolved", message, { ...details, hint });
};

const resolveHint = ({ ledgerArgs, resendLogged }: LogCounts, ids: readonly string[] = []) => {
  const rest = resendLogged ? sentences.resendAloneHint("remaining") : "run your `rollcall log` command again";
  return `${adviseToResolve(ledgerArgs, ids)}. Then ${rest}`;
};

interface UnknownRequest extends LogCounts {
  id: string | undefined;
  number: number;
  outcome: Outcome;
  unknownFailure?: Failure | undefined;
  retryFailure?: Failure | undefined;
  recordFailure: Failure | undefined;
  positions: string;
  areMoreUnknown: boolean;
  canResolve: boolean;
}

export const logUnknown = (facts: UnknownRequest, details: FailureDetails) => {
  const { id, outcome, positions, canResolve, areMoreUnknown, unknownFailure, retryFailure, recordFailure } = facts;
  const { unknown, logged, already_logged: before, not_sent: notSent } = facts;
  const ids = areMoreUnknown || id === undefined ? [] : [id];
  const others = areMoreUnknown ? ` and ${facts.requests > 1 ? "other requests" : "requests of earlier runs"}` : "";
  const reasons = [
    ...(unknownFailure ? [describeEnd(unknownFailure)] : []),
    ...(retryFailure ? [`the retry failed: ${describeEnd(retryFailure)}`] : []),
    ...(recordFailure
      ? [`the ledger could not record the outcome "${outcomeFacts[outcome].groupText}": ${recordFailure.message}`]
      : []),
  ].join(", and ");
  const subject = `request ${facts.number} of ${facts.requests} (${[...ids, positions].join(", ")})${others}`;
  const counts = `${unknown} unknown, ${logged} logged,${before > 0 ? ` ${before} already logged,` : ""} ${notSent} not logged`;
  const message = `${subject} may or may not have been logged${reasons && ": "}${reasons}. Groups: ${counts}`;
  const resolve = facts.hasLedger ? resolveHint(facts, ids) : uncheckedHint;
  const repair = recordFailure?.details.hint;
  const hint = `${repair ? `${repair}. Then ` : ""}${canResolve ? repeatHint : resolve}`;
  const kind = canResolve ? "log-resolvable" : "log-unknown";
  return new Failure(outcomeFacts.unknown.code, kind, message, { ...details, hint });
};

const repeatHint =
  "rerun the same command within 24 hours of the first attempt to resolve the request (the service honors Idempotency-Key) and to send the remaining groups";
const uncheckedHint = "check whether the service has the groups with an unknown outcome before you send them again";

const findFirstStep = ({ kind, retryable, details }: Failure) => {
  if (kind === "input-changed") return details.problems?.[0]?.advice;
  if (kind === "invalid-input" && details.hint && details.problems?.length !== 1)
    return `${fixNamedHint}, or ${details.hint}`;
  return retryable ? undefined : (details.hint ?? fixNamedHint);
};

const fixNamedHint = "fix the reported problems";

const describeEnd = ({ kind, details: { cause, http } }: Failure) => {
  if (kind === "connection-failed" && cause instanceof Error) return cause.message;
  const event = kind === "html-reply" ? "a web page came with the status" : "the service answered";
  return `${event} ${http?.status}${http?.said ? ` (${http.said})` : ""}`;
};
