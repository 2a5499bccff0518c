/** The class of all failures, and the exit codes. */

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

export type Problem = Readonly<{
  file?: string;
  line?: number;
  /** UTF-16 units, from 1. */
  column?: number;
  path?: readonly (string | number)[];
  /** A stable name, which users pass to `--allow`. */
  rule: string;
  severity: Severity;
  message: string;
  advice?: string | undefined;
  from?: "service";
  /** Bytes from the start of the file. */
  offset?: number;
  /** `file:line` in converted or selected data. */
  readAt?: string;
  readPath?: readonly (string | number)[];
  excerpt?: Excerpt;
  /** Similar problems that are not displayed, with positions such as `a.jsonl:3:14`. */
  others?: Readonly<{ count: number; positions: readonly string[] }>;
}>;

/** Orders the fields as output.md promises. */
export const toProblemDocument = (problem: Problem) => {
  const { file, line, column, path, rule, severity, message, advice, from } = problem;
  return { file, line, column, path, rule, severity, message, advice, from };
};

/** A part of a line, without secrets, but with control characters. `from` and `to` enclose the problem's value. */
export type Excerpt = Readonly<{
  line: number;
  text: string;
  from: number;
  to: number;
  isCutBefore: boolean;
  isCutAfter: boolean;
}>;

type Optional<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

export type FailureLocation = Optional<
  Record<"line" | "column", number> & Record<"file" | "setting" | "option" | "environment", string>
>;

/** `url` has no credentials. `said` is the reply's message, not yet safe to print. */
type HttpFacts = Readonly<{ method: string; url: string }> & Optional<{ status: number; said: string }>;

export type FailureDetails = Optional<{
  hint: string;
  where: FailureLocation;
  http: HttpFacts;
  problems: readonly Problem[];
  omittedProblems: number;
  /** The command to run next. */
  next: string;
  /** True if a rerun can succeed. Default: true for `unavailable` and `interrupted`. */
  retryable: boolean;
  /** True if nothing was sent and the message does not say so. */
  unsent: boolean;
  /** The code of the failure that stopped the run (output.md). */
  stoppedBy: FailureCode;
  systemCode: string;
  signal: keyof typeof exitCodes.interrupted;
  /** Replaces the failure's text. `columns` is undefined in a pipe. */
  help: (columns: number | undefined) => string;
  stack: string;
  /** A reason such as `no data arrived for 5 s`. */
  endedBy: string;
  /** The hint without the advice to rerun. */
  remedy: string;
  isHtmlPage: boolean;
  /** The failing file, ledger or profile, or the fault of a filter. */
  subject: string;
  isConverted: boolean;
  /** True if a rerun resolves the unknown requests. */
  canResolve: boolean;
  cause: unknown;
}>;

export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  readonly kind: string;
  readonly details: FailureDetails;

  /** @param message one sentence without a full stop, not yet safe to print */
  constructor(code: FailureCode, kind: string, message: string, details: FailureDetails = {}) {
    super(message, details);
    this.code = code;
    this.kind = kind;
    this.details = details;
  }

  withDetails(details: FailureDetails) {
    return new Failure(this.code, this.kind, this.message, { ...this.details, ...details });
  }

  get retryable() {
    return this.details.retryable ?? (this.code === "unavailable" || this.code === "interrupted");
  }
}

export const isFailure = <Kind extends string>(
  thrown: unknown,
  kind: Kind,
): thrown is Failure & { readonly kind: Kind } => thrown instanceof Failure && thrown.kind === kind;

export const toExitCode = ({ code, details }: Failure) =>
  code === "interrupted" ? exitCodes.interrupted[details.signal ?? "SIGTERM"] : exitCodes[code];

export const defect = (text: string, details: FailureDetails = {}) =>
  new Failure("internal", "defect", `internal error: ${text}`, {
    hint: "run the command again with --debug, and report the command and its output to the maintainers of rollcall",
    ...details,
  });

export const toFailure = (thrown: unknown) => {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if (!("syscall" in error) || error.syscall !== "uv_cwd")
    return defect(error.message, { stack: error.stack, cause: error });
  const message = "cannot find files by relative paths, because the current folder was deleted";
  const hint = "change to a folder that exists, and run the command again";
  return new Failure("usage", "current-folder-deleted", message, { hint, cause: error });
};
