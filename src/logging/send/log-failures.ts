/** Describes the failures of runs that sent requests. */
import { Failure, type FailureDetails, isFailure } from "../../failure.ts";
import { adviseToResolve, formatLedgerCommand } from "../../rollouts/rules/input-rules.ts";
import * as sentences from "../../text/sentences.ts";
import type { SendResult, SentRequest } from "./delivery.ts";
import type { OutcomeCounts } from "./group-outcomes.ts";
import { outcomeFacts } from "./outcome.ts";

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

export const logPartial = (counts: LogCounts, stop: Failure, details: FailureDetails) => {
  const { not_sent: notSent, rejected, canRerun } = counts;
  const rerun = `rerun the same command${notSent > 0 ? " to send only the remaining groups" : ", which skips logged groups"}`;
  const rest = canRerun ? rerun : sentences.resendAloneHint(notSent > 0 ? "remaining" : "rejected");
  const first = canRerun || notSent > 0 ? findFirstStep(stop) : fixNamedHint;
  const rejectedText = rejected === 0 ? "" : ` ${rejected} rejected,`;
  const message = `${sentences.formatLogged(counts)},${rejectedText} ${notSent} not logged: ${stop.message}`;
  const hint = first ? `${first}. Then ${rest}` : rest;
  return new Failure(outcomeFacts.logged.code, "log-partial", message, { ...details, hint });
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
  const again = canRerun ? ", then rerun the same command, which skips logged groups" : "";
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
  const hint = toCheckServiceHint(facts);
  return new Failure(outcomeFacts.unknown.code, "log-unresolved", message, { ...details, hint });
};

interface UnknownRequest
  extends LogCounts,
    Pick<SentRequest, "recorded" | "number" | "unknownFailure" | "retryFailure">,
    Pick<SendResult, "unknownIds" | "unrecorded" | "recordFailure"> {
  positions: string;
  areMoreUnknown: boolean;
  canResolve: boolean;
}

const toCheckServiceHint = (
  { ledgerArgs, resendLogged, isResendRefused }: LogCounts & { isResendRefused?: boolean },
  ids: readonly string[] = [],
) => {
  const again = resendLogged ? ", but without --resend-logged" : "";
  const rerun = "run the same `rollcall log` command";
  if (ids.length === 0) return `${adviseToResolve(ledgerArgs)}. Then ${rerun}${again}`;
  const resolve = (option: string) => formatLedgerCommand(`resolve ${ids.join(" ")} ${option}`, ledgerArgs);
  // A resent request keeps all of its groups, also those that the service refuses.
  const resend = isResendRefused
    ? `run ${resolve("--resend")}, and then ${rerun}`
    : `${rerun} with --on-unknown resend`;
  return `check whether the service has the groups of ${ids.join(", ")}. If it does, run ${resolve("--assume-logged")}. If not, ${resend}${again}`;
};

export const logUnknown = (facts: UnknownRequest, details: FailureDetails) => {
  const { recorded, positions, canResolve, areMoreUnknown, unknownFailure, retryFailure, recordFailure } = facts;
  const why = unknownFailure ?? (isFailure(details.cause, "interrupted") ? details.cause : undefined);
  const first = why ? `: ${describeEnd(why)}` : "";
  const reasons = retryFailure ? `${first}, and the retry failed: ${describeEnd(retryFailure)}` : first;
  const ids = areMoreUnknown || recorded.id === undefined ? [] : [recorded.id];
  const others = areMoreUnknown ? ` and ${facts.requests > 1 ? "other requests" : "requests of earlier runs"}` : "";
  const subject = `request ${facts.number} of ${facts.requests} (${[...ids, positions].join(", ")})${others}`;
  const hasRest = facts.not_sent > 0;
  const { resendLogged } = facts;
  const andRest = hasRest && !resendLogged ? " and send the rest" : "";
  const alone = `. Then ${sentences.resendAloneHint("remaining")}`;
  const only = ". To send only the groups that are counted as not logged, run the command without --on-unknown resend";
  const rest = resendLogged ? alone : only;
  const orRest = hasRest ? rest : "";
  const option = resendLogged ? " without --resend-logged" : "";
  const hint = canResolve
    ? `rerun the same command${option} within 24 hours of the first attempt to resolve the request${andRest} (the service honors Idempotency-Key)${hasRest && resendLogged ? alone : ""}`
    : facts.hasLedger
      ? `${toCheckServiceHint({ ...facts, isResendRefused: retryFailure?.code === "refused" }, ids)}${orRest}`
      : "check whether the service has the groups with an unknown outcome before you send them again";
  const end = recordFailure ? `, and ${ledgerFailed}: ${recordFailure.message}` : "";
  const message = `${subject} may or may not have been logged${reasons}${end}. ${formatCounts(facts)}`;
  const wholeHint = recordFailure ? `${repairLedgerHint}. Then ${hint}` : hint;
  return new Failure(outcomeFacts.unknown.code, canResolve ? "log-resolvable" : "log-unknown", message, {
    ...details,
    hint: wholeHint,
  });
};

const formatCounts = ({ unknown, logged, already_logged: before, not_sent: notSent }: LogCounts) =>
  `Groups: ${unknown} unknown, ${logged} logged,${before > 0 ? ` ${before} already logged,` : ""} ${notSent} not logged`;

const ledgerFailed = "the ledger could not record the outcome";
const repairLedgerHint = "make the ledger writable again, for example by freeing disk space";

export const logUnrecorded = (facts: UnknownRequest, details: FailureDetails) => {
  const { unrecorded, not_sent: notSent, ledgerArgs, resendLogged, recordFailure } = facts;
  const unrecordedIds = new Set(unrecorded.map(({ id }) => id));
  const unknownIds = [...facts.unknownIds].flatMap((id) => (unrecordedIds.has(id) ? [] : (id ?? [])));
  const resolve = (option: string, isWanted: boolean) => {
    const ids = unrecorded.flatMap(({ id, isLogged }) => (isLogged === isWanted ? (id ?? []) : []));
    return ids.length === 0 ? [] : [formatLedgerCommand(`resolve ${ids.join(" ")} ${option}`, ledgerArgs)];
  };
  const commands = [...resolve("--assume-logged", true), ...resolve("--resend", false)].join(" and ");
  const rerun = resendLogged
    ? `. Then ${sentences.resendAloneHint("remaining")}`
    : ", and rerun the same command to send the groups that were not sent";
  const answers = unrecorded.flatMap(({ id, status }) => (status === null ? [] : `${id} with ${status}`));
  const unsentIds = unrecorded.flatMap(({ id, status }) => (status === null ? (id ?? []) : []));
  const ends = [
    ...(answers.length > 0 ? [`the service answered ${sentences.formatList(answers)}`] : []),
    ...(unsentIds.length > 0 ? [`this run did not send ${sentences.formatList(unsentIds)}`] : []),
  ];
  const names = unknownIds.join(", ");
  const others = names === "" ? "" : `. ${names} may or may not have been logged`;
  const message = `${ends.join(", and ")}, but ${ledgerFailed}: ${recordFailure?.message}${others}. ${formatCounts(facts)}`;
  const first = `${repairLedgerHint}. Then run ${commands}${notSent + unsentIds.length > 0 ? rerun : ""}`;
  const hint = names === "" ? first : `${first}. Also ${toCheckServiceHint(facts, unknownIds)}`;
  return new Failure(outcomeFacts.unknown.code, "log-unrecorded", message, { ...details, hint });
};

const findFirstStep = ({ kind, retryable, details }: Failure) => {
  if (kind === "input-changed") return details.problems?.[0]?.advice;
  if (kind === "invalid-input" && details.hint && details.problems?.length !== 1)
    return `${fixNamedHint}, or ${details.hint}`;
  return retryable ? undefined : (details.hint ?? fixNamedHint);
};

const fixNamedHint = "fix the reported problems";

const describeEnd = (failure: Failure) => {
  if (failure.kind === "interrupted") return "the run was interrupted before the answer arrived";
  const { cause, http } = failure.details;
  if (failure.kind === "connection-failed" && cause instanceof Error) return cause.message;
  if (!http?.status) return "the answer does not say whether the request was logged";
  if (failure.kind === "html-reply")
    return `a web page${http.said ? ` ("${sentences.cutText(http.said, 200)}")` : ""} arrived with the status ${http.status}, so a gateway may have answered instead of the service`;
  return `the service answered ${http.status}${http.said ? ` (${http.said})` : ""}`;
};
