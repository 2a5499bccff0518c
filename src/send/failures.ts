/** Failures of logging groups, and how a run that was stopped goes on. */

import { Failure, type FailureDetails, type HttpFacts, isFailure } from "../failure.ts";
import { combineHints } from "../groups/failures.ts";
import {
  describeSystemCode,
  fieldPrefix,
  formatRejected,
  formatRoundedSize,
  pluralize,
  skipRefusedHint,
} from "../sentences.ts";

export const compressionUnsupported = (form: string): Failure =>
  new Failure("usage", "compression-unsupported", `this Node can't compress with ${form}`, {
    hint: "compress with gzip, or run rollcall with Node 22.15 or newer",
  });

/** A file that can't be followed. */
export const fileNotFollowable = (file: string, found: "not-a-file" | "compressed"): Failure => {
  const [what, hint] = {
    compressed: ["is compressed", "read it without --follow, once it is whole"] as const,
    "not-a-file": ["is not a file", "name the file that the run writes"] as const,
  }[found];
  return new Failure("usage", "file-not-followable", `${file} ${what}, and can't be followed`, { hint });
};

export const oneRequestTooLarge = (size: { bytes: number; limit: number; requests: number }): Failure => {
  const { bytes, limit, requests } = size;
  const message = `the groups make ${requests} requests: one would be ${formatRoundedSize(bytes)}, more than ${formatRoundedSize(limit)}`;
  return new Failure("usage", "one-request-too-large", message, {
    hint: `--max-request-size ${bytes} makes it one, where the service takes as much; without --one-request it is split`,
  });
};

/** A 413 of a request that is one group alone, or must not be split. @param bytes the size of the request */
export const requestTooLarge = (bytes: number, groups: number, about: FailureDetails): Failure => {
  const why = groups === 1 ? ", and one group can't be split" : "";
  const hint =
    groups === 1
      ? `make the group smaller, ask the service for a larger limit, or ${skipRefusedHint}`
      : "without --one-request it is split between groups; or ask the service for a larger limit";
  const message = `the service takes no request of ${formatRoundedSize(bytes)} (413)${why}`;
  return new Failure("refused", "request-too-large", message, { hint, ...about });
};

/** Something is there already at the path of the rejects file, and rollcall did not write it. */
export const rejectsExist = (file: string): Failure =>
  new Failure("usage", "rejects-exist", `${file} is there already, and is not what rollcall wrote`, {
    hint: "log it, or move it away; --rejects names another file",
  });

/** @param isRemote whether the first input is at an address; else it is standard input */
export const rejectsPathMissing = (isRemote: boolean): Failure => {
  const message = isRemote
    ? "an input at an address has no folder to put the rejects file into"
    : "standard input has no name to call the rejects file by";
  return new Failure("usage", "rejects-path-missing", message, { hint: "--rejects <file> names it" });
};

export const rejectsUnwritable = (file: string, code: string, cause: unknown): Failure =>
  new Failure("storage", "rejects-unwritable", `${file} can't be written (${code})`, {
    hint: "--rejects names another file",
    subject: `${file} can't be written: ${describeSystemCode(code)}`,
    cause,
  });

/** How far logging came, in groups. */
interface LogCounts {
  readonly logged: number;
  readonly notSent: number;
  readonly unknown: number;
  readonly requests: number;
  /** Whether a ledger knows what was logged, so that the same command can go on. */
  readonly ledger: boolean;
}

/** A run that was stopped: `about` holds what stopped it. */
export const logPartial = ({ logged, notSent, ledger }: LogCounts, about: FailureDetails): Failure => {
  const rest = ledger
    ? "the same command again sends what is left, and nothing twice"
    : "without a ledger the same command logs everything again: send the rest by itself";
  const first = findFirstStep(about);
  return new Failure(
    "partial",
    "log-partial",
    `${pluralize(logged, "group")} logged, ${notSent} not: ${describeStop(about)}`,
    {
      ...about,
      hint: first === undefined ? rest : `${first}; then ${rest}`,
    },
  );
};

/** What a run rejected. */
interface RejectedFacts extends LogCounts {
  readonly rejected: number;
  /** Of what was rejected: lines or records that are no groups. */
  readonly unreadable: number;
  readonly file: string;
  /** True if nothing of what was rejected could be read. */
  readonly isEmpty: boolean;
  /** True if it holds records of another tool, which may not stand by themselves. */
  readonly isConverted: boolean;
}

/** All that was valid and accepted is logged; the rest is in the rejects file. */
export const logRejected = (facts: RejectedFacts, about: FailureDetails): Failure => {
  const { logged, ledger, file, isEmpty, isConverted } = facts;
  const where = isEmpty ? "nothing of what was rejected can be read" : `${file} holds what was rejected`;
  const again = ledger ? ", and run the same command: what was logged is not sent again" : "";
  return new Failure("partial", "log-rejected", `${formatRejected(facts)}, ${logged} logged: ${where}`, {
    hint: isConverted
      ? `${file}.reasons says why: fix that in the input${again}`
      : `${file}.reasons says why: fix ${file}, and log it by itself`,
    isConverted,
    ...about,
  });
};

/** Requests of earlier runs whose outcome is still unknown; everything else is logged. */
export const logUnresolved = ({ unknown, logged }: LogCounts, about: FailureDetails): Failure => {
  const groups = pluralize(unknown, "group");
  const message = `it is not known whether ${groups} of earlier runs were logged; ${logged} logged now`;
  return new Failure("unknown_outcome", "log-unresolved", message, {
    ...about,
    hint: "`rollcall ledger status` names the requests; --on-unknown resend, or `rollcall ledger resolve`, settles them",
  });
};

/** A request whose outcome is unknown. */
interface UnknownFacts extends LogCounts {
  /** Its number in the run, and the lines that its groups are at. */
  readonly request: number;
  readonly from: string;
  readonly to: string;
  /** True if it is the last of several. */
  readonly isLast: boolean;
  /** True if the same command settles it: it sends it again, and the service knows it by its key. */
  readonly canResolve: boolean;
  /** What came of the try that may have been logged; undefined if that was in an earlier run. */
  readonly unknownFailure?: Error | undefined;
  /** What came of a later try of it, which was not logged. */
  readonly retryFailure?: Error | undefined;
}

export const logUnknown = (facts: UnknownFacts, about: FailureDetails): Failure => {
  const { logged, notSent, request, from, to, canResolve: settles, unknownFailure: doubt, retryFailure: again } = facts;
  const why = doubt ?? (isFailure(about.cause, "interrupted") ? about.cause : undefined);
  const since = why === undefined ? "" : `, since ${describeEnd(why)}`;
  const then = again === undefined ? since : `${since}, and when it was tried again ${describeEnd(again)}`;
  const what = request > 0 ? `request ${request} of ${facts.requests}` : "a request";
  const lost = pluralize(facts.unknown, "group");
  const which = facts.isLast
    ? `${what} (from ${from} to ${to}) and others before it were logged${then}: ${lost}`
    : `${what} was logged${then}: ${lost}, from ${from} to ${to}`;
  const message = `it is not known whether ${which}; ${logged} logged, ${notSent} not sent`;
  const rest = notSent > 0 ? "the same command leaves them alone and sends the rest; " : "";
  const hint = settles
    ? `the same command, within 24 hours, sends them again by the key that the service knows them by, so that nothing is logged twice${notSent > 0 ? ", and then the rest" : ""}`
    : facts.ledger
      ? `${rest}--on-unknown resend sends them again, \`rollcall ledger resolve\` settles them by hand`
      : "look into the service before sending these groups again: they may be there";
  return new Failure("unknown_outcome", "log-unknown", message, { ...about, canResolve: settles, hint });
};

/** What has to change before the same command gets further; undefined if nothing has. */
const findFirstStep = ({ cause, problems = [], retryable }: FailureDetails): string | undefined => {
  if (!(cause instanceof Failure)) return retryable === false ? unchangedHint : undefined;
  if (kindsWithHintFirst.has(cause.kind)) return cause.details.hint;
  if (cause.kind === "input-changed") return "wait until nothing writes to the file any more";
  if (cause.kind === "invalid-input") {
    const fix = (problems.length === 1 ? problems[0]?.advice : undefined) ?? "fix what it names";
    return combineHints(fix, cause.details.validGroups);
  }
  if (cause.kind === "request-refused" && problems.length > 0) return `fix what it names; or ${skipRefusedHint}`;
  return retryable === false && !cause.retryable ? unchangedHint : undefined;
};

const unchangedHint = "the same is answered again until what stopped the run is put right";

/** Failures whose hint is the first step. */
const kindsWithHintFirst = new Set(
  "credential-refused address-wrong nothing-there redirected request-too-large".split(" "),
);

const describeStop = ({ stoppedBy = "internal", http, problems = [], cause }: FailureDetails): string => {
  const [first] = problems;
  if (first === undefined) {
    const isBusy = stoppedBy === "unavailable" && http?.status !== undefined;
    const word = isBusy ? "the service takes none for now" : describeCause(cause);
    return `${word ?? stopTexts[stoppedBy] ?? "the run stopped"}${formatReply(http)}`;
  }
  // What it said of each branch of a union was folded to what it means.
  const status = http?.status === undefined ? "" : ` (${http.status})`;
  const said =
    problems.length === 1
      ? `: ${fieldPrefix(first)}${first.message} [${first.rule}]`
      : `, for ${problems.length} reasons`;
  const word = isFailure(cause, "invalid-input") ? "the input has errors" : stopTexts[stoppedBy];
  return `${word ?? "the run stopped"}${status}${said}`;
};

/** What a try ended with, as a sentence. */
const describeEnd = (thrown: unknown): string => {
  if (isFailure(thrown, "interrupted")) return "the run was told to stop before the answer came";
  const { endedBy: ended, http } = thrown instanceof Failure ? thrown.details : {};
  if (ended !== undefined) return ended;
  if (http?.status === undefined) return "the answer says nothing of it";
  return `the service answered ${http.status}${http.said === undefined ? "" : ` (${http.said})`}`;
};

const formatReply = (http: HttpFacts | undefined): string => {
  if (http?.status === undefined) return "";
  return http.said === undefined ? ` (${http.status})` : ` (${http.status}): ${http.said}`;
};

/** What stopped a run, if more is known than the code of the failure. */
const describeCause = (cause: unknown): string | undefined => {
  if (!(cause instanceof Failure)) return undefined;
  const { credentialSource: from } = cause.details;
  if (from !== undefined) return `the service refused the credential from ${from}`;
  if (cause.kind === "ledger-busy") return cause.message;
  if (cause.kind === "rejects-unwritable") return cause.details.subject;
  return {
    "lease-lost": "the run was without word from the ledger for so long that others may send its groups",
    "database-unavailable": "the ledger's database did not answer",
    "database-refused": "the ledger's database lets nobody in",
  }[cause.kind];
};

const stopTexts: Readonly<Record<string, string>> = {
  storage: "a file of rollcall's own can't be used",
  usage: "a setting is missing or unusable",
  auth: "the service refused the credential",
  refused: "the service refused a request",
  unavailable: "the service can't be reached",
  not_found: "the service does not know the model",
  invalid_input: "the input changed, or can't be read any more",
  interrupted: "the run was interrupted",
};
