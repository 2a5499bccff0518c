/** Defines failures, problems and exit codes. */
import { bugs } from "../package.json" with { type: "json" };
import { nameProgram } from "./text/shell-words.ts";

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
  /** The stable name that users pass to `--allow`. */
  rule: string;
  severity: Severity;
  message: string;
  advice?: string | undefined;
  from?: "service";
  /** Bytes from the start of the file. */
  offset?: number;
  /** The position `file:line` in the data after conversion. */
  readAt?: string;
  readPath?: readonly (string | number)[];
  excerpt?: Excerpt;
  /** Similar hidden problems. A position looks like `a.jsonl:3:14`. */
  others?: Readonly<{ count: number; positions: readonly string[] }>;
}>;

export const toProblemDocument = (problem: Problem) => {
  const { file, line, column, path, rule, severity, message, from } = problem;
  const advice = problem.advice && nameProgram(problem.advice);
  return { file, line, column, path, rule, severity, message, advice, from };
};

export type ProblemDocument = ReturnType<typeof toProblemDocument>;

export const toWarningDocuments = (problems: readonly Problem[]) =>
  problems.filter(({ severity }) => severity === "warning").map(toProblemDocument);

/** The problem's value is `text.slice(from, to)`. `text` may contain control characters. */
export type Excerpt = Readonly<{
  line: number;
  text: string;
  from: number;
  to: number;
  isCutBefore: boolean;
  isCutAfter: boolean;
}>;

type OptionalFields<Fields> = { readonly [Name in keyof Fields]?: Fields[Name] | undefined };

export type FailureLocation = OptionalFields<
  Record<"line" | "column", number> & Record<"file" | "setting" | "option" | "environment", string>
>;

/** `url` has no credentials. `said` is unsafe text from the reply. */
type HttpFacts = Readonly<{ method: string; url: string }> & OptionalFields<{ status: number; said: string }>;

export type FailureDetails = OptionalFields<{
  hint: string;
  where: FailureLocation;
  http: HttpFacts;
  problems: readonly Problem[];
  omittedProblems: number;
  next: string;
  retryable: boolean;
  /** True if the printed message must add that nothing was sent. */
  unsent: boolean;
  /** The code of the failure that stopped the run (output.md). */
  stoppedBy: FailureCode;
  systemCode: string;
  signal: keyof typeof exitCodes.interrupted;
  /** Returns a help text that replaces the failure's text. `columns` is undefined in a pipe. */
  help: (columns: number | undefined) => string;
  stack: string;
  /** The hint without the advice to rerun. */
  remedy: string;
  /** The failing file, ledger or profile, or the fault of a filter. */
  subject: string;
  cause: unknown;
}>;

export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  readonly kind: string;
  readonly details: FailureDetails;

  /** @param message one sentence without a full stop, not safe to print */
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

/** The kinds on which the code decides. Others are only printed. */
type DecidingKind =
  | "connection-failed"
  | "database-corrupt"
  | "database-foreign"
  | "file-not-followable"
  | "html-reply"
  | "input-changed"
  | "input-unreadable"
  | "interrupted"
  | "invalid-input"
  | "ledger-busy"
  | "ledger-location-missing"
  | "ledger-replaced"
  | "log-rejected"
  | "log-resolvable"
  | "quota-used-up"
  | "output-failed"
  | "records-rejected"
  | "rejects-unwritable"
  | "request-refused"
  | "setting-invalid"
  | "setting-missing"
  | "unsafe-ownership";

export const isFailure = <Kind extends DecidingKind>(
  thrown: unknown,
  kind: Kind,
): thrown is Failure & { readonly kind: Kind } => thrown instanceof Failure && thrown.kind === kind;

export const toExitCode = ({ code, details }: Failure) =>
  code === "interrupted" ? exitCodes.interrupted[details.signal ?? "SIGTERM"] : exitCodes[code];

export const defect = (text: string, details: FailureDetails = {}) =>
  new Failure("internal", "defect", `internal error: ${text}`, {
    hint: `run the command again with --debug, and report the command and its output at ${bugs}`,
    ...details,
  });

export const toFailure = (thrown: unknown) => {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  if ("code" in error && (error.code === "EMFILE" || error.code === "ENFILE"))
    return new Failure("storage", "too-many-open-files", "cannot open a file: too many files are open", {
      hint: "raise the limit of open files (ulimit -n), and run the command again",
      cause: error,
    });
  if (!("syscall" in error) || error.syscall !== "uv_cwd")
    return defect(error.message, { stack: error.stack, cause: error });
  const message = "cannot find files by relative paths, because the current folder was deleted";
  const hint = "change to a folder that exists, and run the command again";
  return new Failure("usage", "current-folder-deleted", message, { hint, cause: error });
};
