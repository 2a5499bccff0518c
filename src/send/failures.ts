/** Failures of logging groups. */
import { Failure, type FailureDetails, isFailure } from "../failure.ts";
import { getErrorCode } from "../files.ts";
import * as sentences from "../sentences.ts";
import { formatLedgerCommand } from "../shell-words.ts";
import type { SentRequest } from "./request.ts";
import type { SendResult } from "./send-result.ts";

export const compressionUnsupported = (compression: string): Failure =>
  new Failure("usage", "compression-unsupported", `this version of Node cannot compress with ${compression}`, {
    hint: "use --compress gzip, or run rollcall with Node 22.15, 23.8 or newer",
  });

export const fileNotFollowable = (file: string, found: "not-a-file" | "compressed" | "document"): Failure => {
  const why = {
    compressed: "it is compressed",
    document: "it is one JSON document, not lines",
    "not-a-file": "it is not a file",
  }[found];
  const hint = "run without --follow, or name the file that the training run writes";
  return new Failure("usage", "file-not-followable", `cannot follow ${file}: ${why}`, { hint });
};

type RequestSize = { bytes: number; limit: number; requests: number; tooLarge: boolean };

export const oneRequestTooLarge = ({ bytes, limit, requests, tooLarge }: RequestSize): Failure => {
  const message = `--one-request: the input needs a request of ${bytes} bytes, but the limit is ${limit} bytes`;
  return new Failure("usage", "one-request-too-large", message, {
    hint: tooLarge
      ? `drop --one-request to send ${requests} requests, because the service refused a request of this size (413)`
      : `set --max-request-size ${bytes}, or drop --one-request to send ${requests} requests`,
  });
};

export const requestTooLarge = (bytes: number, groups: number, details: FailureDetails): Failure => {
  const [content, hint] =
    groups === 1
      ? ["a single group", `make the group smaller, raise the limit of the service, or ${sentences.skipRefusedHint}`]
      : ["a request", "drop --one-request to split the request between groups, or raise the limit of the service"];
  const message = `the service refused ${content} of ${sentences.formatRoundedSize(bytes)} as too large (413)`;
  return new Failure("refused", "request-too-large", message, { hint, ...details });
};

const otherRejectsHint = "choose another file with --rejects";

export const rejectsExist = (file: string): Failure =>
  new Failure("usage", "rejects-exist", `${file} already exists and was not written by rollcall`, {
    hint: `move the file away, or ${otherRejectsHint}`,
  });

export const rejectsPathMissing = (): Failure =>
  new Failure("usage", "rejects-path-missing", "standard input and URLs have no default rejects file", {
    hint: "pass --rejects <file>",
  });

export const rejectsUnwritable = (file: string, cause: unknown): Failure => {
  const message = `cannot write ${file}: ${sentences.describeSystemCode(getErrorCode(cause))}`;
  return new Failure("storage", "rejects-unwritable", message, { hint: otherRejectsHint, cause });
};

interface LogCounts extends sentences.LoggedCounts {
  notSent: number;
  rejected: number;
  unknown: number;
  requests: number;
  /** True if a rerun skips the logged groups. */
  hasLedger: boolean;
  resendLogged: boolean;
  ledgerArgs: readonly string[];
}

export const logPartial = (counts: LogCounts, stop: Failure, details: FailureDetails): Failure => {
  const { notSent, rejected, hasLedger } = counts;
  const rerun = `rerun the same command${notSent > 0 ? " to send only the remaining groups" : ", which skips logged groups"}`;
  const rest = hasLedger ? rerun : sentences.resendAloneHint(notSent > 0 ? "remaining" : "rejected");
  const first = hasLedger || notSent > 0 ? findFirstStep(stop) : fixNamedHint;
  const rejectedText = rejected === 0 ? "" : ` ${rejected} rejected,`;
  const message = `${sentences.formatLogged(counts)},${rejectedText} ${notSent} not logged: ${stop.message}`;
  const hint = first === undefined ? rest : `${first}. Then ${rest}`;
  return new Failure("partial", "log-partial", message, { ...details, hint });
};

interface RejectedFacts extends LogCounts {
  unreadable: number;
  file: string;
  /** True if the rejects file has records of another tool. The file may lack records that its groups need. */
  isConverted: boolean;
}

export const logRejected = (facts: RejectedFacts, details: FailureDetails): Failure => {
  const { hasLedger, file, isConverted } = facts;
  const again = hasLedger ? ", then rerun the same command, which skips logged groups" : "";
  const message = `${sentences.formatRejected(facts)} (see ${file}), ${sentences.formatLogged(facts)}`;
  const hint = isConverted
    ? `fix the input (${file}.reasons lists the problems)${again}`
    : `fix the groups in ${file} (${file}.reasons lists the problems), then log ${file} alone`;
  return new Failure("partial", "log-rejected", message, { hint, isConverted, ...details });
};

/** @param inputDiffers true if `--on-unknown resend` could not resend the requests, because the input differs */
export const logUnresolved = (facts: LogCounts & { inputDiffers: boolean }, details: FailureDetails): Failure => {
  const unknown = sentences.pluralize(facts.unknown, "group");
  const message = `the outcome of ${unknown} of earlier runs is unknown; ${sentences.formatLogged(facts)}`;
  return new Failure("unknown_outcome", "log-unresolved", message, { ...details, hint: toCheckServiceHint(facts) });
};

interface UnknownFacts extends LogCounts, SentRequest, Pick<SendResult, "recordFailure"> {
  positions: string;
  areMoreUnknown: boolean;
  canResolve: boolean;
}

const toCheckServiceHint = (facts: LogCounts & { inputDiffers?: boolean }, id?: string) => {
  const { ledgerArgs, resendLogged, inputDiffers = false } = facts;
  const resolve = (option: string) => `run ${formatLedgerCommand(`resolve ${id ?? "<id>"} ${option}`, ledgerArgs)}`;
  const source = id === undefined ? ` (${formatLedgerCommand("status", ledgerArgs)} shows the id)` : "";
  const again = `run the same \`rollcall log\` command with --on-unknown resend${resendLogged ? ", but without --resend-logged" : ""}`;
  const groups = id === undefined ? "groups with an unknown outcome" : `groups of ${id}`;
  const otherwise = inputDiffers ? `pass all files of the first attempt, unchanged, or ${resolve("--resend")}` : again;
  return `check whether the service has the ${groups}. If it does, ${resolve("--assume-logged")}${source}. If not, ${otherwise}`;
};

export const logUnknown = (facts: UnknownFacts, details: FailureDetails): Failure => {
  const { recorded, positions, canResolve, notSent, recordFailure, areMoreUnknown } = facts;
  const id = areMoreUnknown ? undefined : recorded.id;
  const place = id === undefined ? positions : `${id}, ${positions}`;
  const subject = `request ${facts.number} of ${facts.requests} (${place})${areMoreUnknown ? " and other requests" : ""}`;
  const hint = canResolve
    ? `to resolve the request${notSent > 0 ? " and send the rest" : ""}, rerun the same command within 24 hours of the first attempt (the service honors Idempotency-Key)`
    : facts.hasLedger
      ? `${toCheckServiceHint(facts, id)}${notSent > 0 ? `. ${onlyRestHint}` : ""}`
      : "check the service before you send the groups with an unknown outcome again, because it may have them";
  const end = recordFailure === undefined ? "" : `, and the ledger could not record this: ${recordFailure.message}`;
  const message = `${subject} may or may not have been logged${describeCauses(facts, details)}${end}; ${formatCounts(facts)}`;
  const firstHint = recordFailure === undefined ? "" : `${repairLedgerHint}. Then `;
  return new Failure("unknown_outcome", "log-unknown", message, { ...details, canResolve, hint: firstHint + hint });
};

const onlyRestHint = "Without --on-unknown resend, that command sends only the groups that are counted as not logged";
const repairLedgerHint = "make the ledger writable again, such as by freeing disk space";

const formatCounts = ({ unknown, logged, alreadyLogged, notSent }: LogCounts) =>
  `groups: ${unknown} unknown, ${logged} logged,${alreadyLogged > 0 ? ` ${alreadyLogged} already logged,` : ""} ${notSent} not logged`;

const describeCauses = (
  { unknownFailure, retryFailure, recordFailure, lastOutcome: { status } }: UnknownFacts,
  { cause }: FailureDetails,
) => {
  if (recordFailure !== undefined && status !== null) return `: the service answered ${status}`;
  const first = unknownFailure ?? (isFailure(cause, "interrupted") ? cause : undefined);
  const retry = retryFailure === undefined ? "" : `, and the retry failed: ${describeEnd(retryFailure)}`;
  return `${first === undefined ? "" : `: ${describeEnd(first)}`}${retry}`;
};

/** Returns the hint of a failure that a rerun alone cannot fix. */
const findFirstStep = ({ kind, retryable, details }: Failure) => {
  if (kind === "input-changed") return details.problems?.[0]?.advice;
  return retryable ? undefined : (details.hint ?? fixNamedHint);
};

const fixNamedHint = "fix the reported problems";

const describeEnd = (failure: Failure) => {
  if (failure.kind === "interrupted") return "the run was interrupted before the reply arrived";
  const { endedBy, http } = failure.details;
  if (endedBy !== undefined) return endedBy;
  if (http?.status === undefined) return "the reply does not say whether the request was logged";
  return `the service answered ${http.status}${http.said === undefined ? "" : ` (${http.said})`}`;
};
