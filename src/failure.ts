/** The class of all failures and their exit codes. Each module makes its failures in its failures.ts. */

/** The exit code of each `error.code` (exit-codes.md). */
export const exitCodes = {
  internal: 1,
  usage: 2,
  invalid_input: 3,
  auth: 4,
  unavailable: 5,
  refused: 6,
  partial: 7,
  unknown_outcome: 8,
  not_found: 9,
  differs: 10,
  storage: 11,
  interrupted: { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 },
} as const;

export type FailureCode = keyof typeof exitCodes;
export type Severity = "error" | "warning";

/** A problem of the input, found by rollcall or by a service (output.md). */
export interface Problem {
  readonly file?: string;
  readonly line?: number;
  /** UTF-16 units from the start of the line, from 1. */
  readonly column?: number;
  readonly path?: readonly (string | number)[];
  /** A stable name, because users pass it to `--allow`. */
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  readonly advice?: string | undefined;
  readonly from?: "service";
  /** Bytes from the start of the file, from 0. */
  readonly offset?: number;
  /** `file:line` in data that rollcall converted from another file. `file` and `line` are the position in that file. */
  readonly readAt?: string;
  readonly readPath?: readonly (string | number)[];
  readonly excerpt?: Excerpt;
  /** Similar problems that are not displayed: their count, and the positions of some of them. */
  readonly others?: { readonly count: number; readonly places: readonly string[] };
}

/** Returns the fields of a problem that documents contain, in their order (output.md). */
export const toProblemDocument = (problem: Problem) => {
  const { file, line, column, path, rule, severity, message, advice, from } = problem;
  return { file, line, column, path, rule, severity, message, advice, from };
};

/** A piece of a line; `from` and `to` bound the value in `text`. Secrets are redacted, control characters are not. */
export interface Excerpt {
  readonly line: number;
  readonly text: string;
  readonly from: number;
  readonly to: number;
  readonly isCutBefore: boolean;
  readonly isCutAfter: boolean;
}

export type FailureLocation = { readonly [Name in "line" | "column"]?: number | undefined } & {
  readonly [Name in "file" | "setting" | "option" | "environment"]?: string | undefined;
};

/** The request that failed. The URL has no credentials. `said` is the message of its reply, not yet safe to print. */
type HttpFacts = Readonly<{ method: string; url: string; status?: number | undefined; said?: string | undefined }>;

export interface FailureDetails {
  readonly hint?: string | undefined;
  readonly where?: FailureLocation | undefined;
  readonly http?: HttpFacts | undefined;
  readonly problems?: readonly Problem[];
  readonly ruleCounts?: readonly { readonly rule: string; readonly severity: Severity; readonly count: number }[];
  readonly next?: string;
  /** True if the same command can succeed later. Default: true for `unavailable` and `interrupted`. */
  readonly retryable?: boolean;
  /** True if nothing was sent and the message does not say so. */
  readonly unsent?: boolean | undefined;
  /** The code of the failure that stopped the run, if the run ends with another code (output.md). */
  readonly stoppedBy?: FailureCode;
  readonly systemCode?: string | undefined;
  readonly signal?: keyof typeof exitCodes.interrupted;
  readonly help?: string;
  readonly stack?: string | undefined;
  readonly endedBy?: string;
  /** The part of the hint that removes the cause. The rest of the hint is the advice to rerun. */
  readonly remedy?: string | undefined;
  readonly isHtmlPage?: boolean;
  /** Number of groups that could be sent without the invalid groups; `some` for a growing file. */
  readonly validGroups?: number | "some" | undefined;
  readonly subject?: string;
  readonly isConverted?: boolean;
  readonly canResolve?: boolean;
  readonly cause?: unknown;
}

/** The end of a run that did not succeed. `output` prints it, and `run` returns its exit code. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  readonly kind: string;
  readonly details: FailureDetails;

  /** @param message one sentence without a full stop; it may contain text from outside that is not safe to print */
  constructor(code: FailureCode, kind: string, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.kind = kind;
    this.details = details;
  }

  withDetails(details: FailureDetails): Failure {
    return new Failure(this.code, this.kind, this.message, { ...this.details, ...details });
  }

  get retryable(): boolean {
    return this.details.retryable ?? (this.code === "unavailable" || this.code === "interrupted");
  }
}

export const isFailure = <Kind extends string>(
  thrown: unknown,
  kind: Kind,
): thrown is Failure & { readonly kind: Kind } => thrown instanceof Failure && thrown.kind === kind;

export const toExitCode = ({ code, details }: Failure): number =>
  code === "interrupted" ? exitCodes.interrupted[details.signal ?? "SIGTERM"] : exitCodes[code];

export const defect = (text: string, details: FailureDetails = {}): Failure =>
  new Failure("internal", "defect", `internal error: ${text}`, {
    hint: "run the command again with --debug, and report the command and its output to the maintainers of rollcall",
    ...details,
  });

export const toFailure = (thrown: unknown): Failure => {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return defect(error.message, { stack: error.stack, cause: error });
};
