/** How a run can fail: the exit-code table and one class. The failures.ts of a module has functions that make its failures. */

/** The exit-code table (exit-codes.md): `error.code`, and the number that it ends the process with. */
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

/** Errors stop, warnings are said. */
export type Severity = "error" | "warning";

/** One thing that is wrong with the input, or that a service said is wrong with it (output.md). */
export interface Problem {
  readonly file?: string;
  readonly line?: number;
  /** From 1, as the line, in its UTF-16 units. */
  readonly column?: number;
  readonly path?: readonly (string | number)[];
  /** Name of the rule, a promise to users: `--allow <rule>`. */
  readonly rule: string;
  readonly severity: Severity;
  readonly message: string;
  readonly advice?: string | undefined;
  readonly from?: "service";
  /** Byte offset of the place in its file. Like what follows, it stands in no document. */
  readonly offset?: number;
  /** The name and line of what was read, where that was made of another file: its place is there. */
  readonly readAt?: string;
  /** The path of the value in what was read. */
  readonly readPath?: readonly (string | number)[];
  /** The line with the place, for the few problems that a person is shown it of. */
  readonly excerpt?: Excerpt;
  /** Others of its rule that are said with it instead of one by one. */
  readonly others?: { readonly count: number; readonly places: readonly string[] };
}

/** What documents say of a problem, in their order (output.md): the rest is for people. */
export const toProblemDocument = (problem: Problem) => {
  const { file, line, column, path, rule, severity, message, advice, from } = problem;
  return { file, line, column, path, rule, severity, message, advice, from };
};

/** A bounded piece of a line. Nothing in it is made safe to print, but secrets that look like one are blotted out. */
export interface Excerpt {
  readonly line: number;
  readonly text: string;
  /** Where the value begins and ends in the text. */
  readonly from: number;
  readonly to: number;
  /** Whether the line continues before or after the text. */
  readonly isCutBefore: boolean;
  readonly isCutAfter: boolean;
}

/** Where a failure has its cause, as far as known. */
export interface FailureLocation {
  readonly file?: string | undefined;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  readonly setting?: string | undefined;
  readonly option?: string | undefined;
  readonly environment?: string | undefined;
}

/** The exchange that failed. `url` holds no credentials: addresses with any are refused before. */
export interface HttpFacts {
  readonly method: string;
  readonly url: string;
  readonly status?: number | undefined;
  /** What the service said, cut to a bounded length; never made safe here. */
  readonly said?: string | undefined;
}

/** What may be known beside a failure's message. */
export interface FailureDetails {
  /** What to do: a sentence, or a command that can be pasted. */
  readonly hint?: string | undefined;
  readonly where?: FailureLocation;
  readonly http?: HttpFacts;
  readonly problems?: readonly Problem[];
  /** How many problems there are of each rule, if not all of them are in `problems`. */
  readonly ruleCounts?: readonly RuleProblemCount[];
  /** The next command to run, as it would be typed. */
  readonly next?: string;
  /** Whether the same command again can get further. Default: if the service was unavailable or the run interrupted. */
  readonly retryable?: boolean;
  /** Whether all of it was before anything was sent, if the message does not say that. */
  readonly unsent?: boolean | undefined;
  /** The code of what stopped a run that ends with a code of its own (output.md). */
  readonly stoppedBy?: FailureCode;
  /** The code of the system, the network or the database. */
  readonly systemCode?: string | undefined;
  readonly signal?: keyof typeof exitCodes.interrupted;
  /** What is printed in place of the message: the help of a command without its verb. */
  readonly help?: string;
  readonly stack?: string | undefined;
  /** How a request ended, as a part of a sentence. */
  readonly endedBy?: string;
  /** Where a credential came from that a service refused. */
  readonly credentialSource?: string;
  /** Whether a page came in place of a reply. */
  readonly isHtmlPage?: boolean;
  /** Groups that could be sent without the invalid ones; `some` of a file that is still written. */
  readonly validGroups?: number | "some" | undefined;
  /** The part of the message that its readers put into another sentence, such as a name. */
  readonly subject?: string;
  /** Whether the rejects file holds records of another tool. */
  readonly isConverted?: boolean;
  /** Whether the same command settles the requests of unknown outcome. */
  readonly canResolve?: boolean;
  readonly cause?: unknown;
}

/** How many problems of a rule an input has. */
export interface RuleProblemCount {
  readonly rule: string;
  readonly severity: Severity;
  readonly count: number;
}

/** The end of a run that did not succeed. `output` prints it, and `main` ends the process with its exit code. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  /** Stable, in words of the field: the `rule` of a problem that stands for a failure. */
  readonly kind: string;
  readonly details: FailureDetails;

  /** Its message is one sentence without a full stop. Text from outside in it is not made safe yet. */
  constructor(code: FailureCode, kind: string, message: string, about: FailureDetails = {}) {
    super(message, about.cause === undefined ? undefined : { cause: about.cause });
    this.code = code;
    this.kind = kind;
    this.details = about;
  }

  withDetails(about: FailureDetails): Failure {
    return new Failure(this.code, this.kind, this.message, { ...this.details, ...about });
  }

  get retryable(): boolean {
    return this.details.retryable ?? (this.code === "unavailable" || this.code === "interrupted");
  }
}

export const isFailure = <Kind extends string>(
  thrown: unknown,
  kind: Kind,
): thrown is Failure & { readonly kind: Kind } => thrown instanceof Failure && thrown.kind === kind;

/** The exit code of a run that ended with a failure. */
export const toExitCode = ({ code, details: about }: Failure): number =>
  code === "interrupted" ? exitCodes.interrupted[about.signal ?? "SIGTERM"] : exitCodes[code];

/** A defect of rollcall: what nobody foresaw. */
export const defect = (text: string, about: FailureDetails = {}): Failure =>
  new Failure("internal", "defect", `a defect of rollcall: ${text}`, {
    hint: "please report it, with what `--debug` prints and the command that was run",
    ...about,
  });

/** Whatever was thrown, as a failure. */
export const toFailure = (thrown: unknown): Failure => {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return defect(error.message, { stack: error.stack, cause: error });
};
