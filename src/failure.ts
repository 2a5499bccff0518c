/** What can go wrong: the exit-code table, the reasons that lead to each code with the data they carry, and one class. */

/** The exit-code table (promises.md, "Exit codes"): `error.code`, and the number that it ends the process with. */
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

/** `error.code` of a failure. */
export type FailureCode = keyof typeof exitCodes;

/** How serious a problem is: errors stop, warnings are said, notices are only for the person in front of the screen. */
export type Severity = "error" | "warning";

/** One thing that is wrong with the input, or that a service said is wrong with it (promises.md, "Output"). */
export interface Problem {
  readonly file?: string;
  /** From 1. */
  readonly line?: number;
  /** From 1, in UTF-16 units of the line. */
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

/** What documents say of a problem, in their order (promises.md, "Output"): the rest is for people. */
export const problemFacts = ({ file, line, column, path, rule, severity, message, advice, from }: Problem) => ({
  file,
  line,
  column,
  path,
  rule,
  severity,
  message,
  advice,
  from,
});

/** A bounded piece of a line. Nothing in it is made safe to print, but secrets that look like one are blotted out. */
export interface Excerpt {
  readonly line: number;
  readonly text: string;
  /** Where the value begins and ends in the text. */
  readonly from: number;
  readonly to: number;
  /** True if the line continues before or after the text. */
  readonly cutBefore: boolean;
  readonly cutBehind: boolean;
}

/** Where a failure has its cause, as far as known. */
export interface Where {
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

/**
 * A reason's entry: the code it ends the program with, and whether it may pass by itself, so that the same command again
 * can get further. `Data` is what its words are made of.
 */
interface Expected<Data> {
  readonly code: FailureCode;
  readonly passes: boolean;
  readonly data?: Data;
}

const expected = <Data>(code: FailureCode): Expected<Data> => ({
  code,
  passes: code === "unavailable" || code === "interrupted",
});

const passing = <Data>(code: FailureCode): Expected<Data> => ({ code, passes: true });

/** What the program itself and the words typed can end with. */
const programReasons = {
  defect: expected<{ readonly text: string; readonly stack: string | undefined }>("internal"),
  /** A limit on memory leaves no room for the program that reads JSON. */
  "memory-refused": expected<{ readonly text: string }>("internal"),
  interrupted: expected<{
    readonly signal: "SIGHUP" | "SIGINT" | "SIGTERM";
    /** Whether a service broke requests off that it was answering. */
    readonly broken?: true;
  }>("interrupted"),
  "words-wrong": expected<{
    readonly text: string;
    readonly suggestion: string | undefined;
    readonly command: string;
  }>("usage"),
  "verb-missing": expected<{
    readonly command: string;
    readonly verbs: readonly string[];
    readonly help: string;
  }>("usage"),
  "option-value-wrong": expected<{
    readonly option: string;
    readonly value: string;
    readonly wanted: string;
    readonly suggestion?: string | undefined;
  }>("usage"),
  /** `groups`: what had become of them, where some were to be logged. */
  "output-failed": expected<{
    readonly code: string;
    readonly groups?:
      | { readonly logged: number; readonly already_logged: number; readonly not_sent: number }
      | undefined;
  }>("storage"),
  /** Something stands where a web page is to be written, and rollcall did not write it. */
  "page-exists": expected<{ readonly file: string }>("usage"),
  "page-unwritable": expected<{ readonly file: string; readonly code: string }>("storage"),
  /** The expression of `--where` can't be parsed, or not be evaluated of a trajectory at a place. */
  "where-wrong": expected<{ readonly text: string; readonly wrong: string; readonly place?: string | undefined }>(
    "usage",
  ),
  /** Something stands where what is converted, or its receipt, is to be written. */
  "out-exists": expected<{ readonly file: string }>("usage"),
  "out-unwritable": expected<{ readonly file: string; readonly code: string }>("storage"),
  /** Groups that `convert --on-invalid skip` left out, and the file that has their records. */
  "convert-rejected": expected<{
    readonly written: number;
    readonly rejected: number;
    /** Of what was rejected: lines or records that are no groups. */
    readonly unreadable?: number | undefined;
    readonly file: string;
  }>("partial"),
  /** Values of the input that have no place, where all should have one. */
  "conversion-inexact": expected<{ readonly count: number; readonly paths: readonly string[] }>("invalid_input"),
  "report-exists": expected<{ readonly file: string }>("usage"),
  "report-unwritable": expected<{ readonly file: string; readonly code: string }>("storage"),
  /** What a tool was asked to read is not there, is no file, or stands elsewhere: which of these nobody is told. */
  "root-file-missing": expected<{ readonly file: string }>("invalid_input"),
  /** What doctor found, by what it keeps from working; the names of the checks that failed. */
  "doctor-settings": expected<{ readonly checks: readonly string[] }>("usage"),
  "doctor-files": expected<{ readonly checks: readonly string[] }>("storage"),
  "doctor-credentials": expected<{ readonly checks: readonly string[] }>("auth"),
  "doctor-addresses": expected<{ readonly checks: readonly string[] }>("unavailable"),
  "message-too-long": expected<{ readonly limitBytes: number }>("invalid_input"),
  /** Nobody said yes to what was about to be done; `option` says it for scripts. */
  "not-confirmed": expected<{
    readonly what: string;
    readonly option: string;
    readonly how: "no-terminal" | "declined";
  }>("usage"),
  /** `way`: what to do, where there is more than to give one of them. */
  "option-of-two-missing": expected<{
    readonly first: string;
    readonly second: string;
    readonly way?: string;
  }>("usage"),
  "option-needs": expected<{ readonly option: string; readonly needs: string }>("usage"),
  /** `way`: another way to what was wanted, where there is one. */
  "options-contradict": expected<{
    readonly first: string;
    readonly second: string;
    readonly why: string;
    readonly way?: string;
  }>("usage"),
};

/** Why a text can't be sent as a secret. */
export type SecretFault = "empty" | "line-end" | "control" | "white-space" | "not-ascii";

/** What settings and credentials can end with. */
const settingsReasons = {
  /** `example`: a value of its form. `local`: whether the local service needs none. */
  "setting-missing": expected<{
    readonly setting: string;
    readonly environment: string;
    readonly option?: string | undefined;
    readonly example?: string | undefined;
    readonly local?: boolean | undefined;
    /** The profile in force, where that is not the default. */
    readonly profile?: string | undefined;
  }>("usage"),
  "setting-wrong": expected<{
    readonly setting: string;
    /** Without what may not be shown. */
    readonly value: string;
    readonly wanted: string;
    readonly suggestion?: string | undefined;
    readonly where: Where;
    /** The profile it is saved in. */
    readonly profile?: string | undefined;
  }>("usage"),
  "setting-unknown": expected<{
    readonly name: string;
    /** Whether it is the name of something secret, which is no setting. */
    readonly secret: boolean;
    readonly suggestion?: string | undefined;
  }>("usage"),
  /** What is to be imported can't be read. */
  "import-unreadable": expected<{ readonly from: string; readonly code: string }>("invalid_input"),
  /** What is to be imported is no JSON object. */
  "import-broken": expected<{ readonly wrong: string; readonly where: Where }>("invalid_input"),
  /** Some of what is to be imported can't be saved; the problems say what. */
  "import-refused": expected<{ readonly from: string; readonly count: number }>("invalid_input"),
  /** `how` it comes to be: a login makes it, `--create` does, or the saved choice of it has to go. */
  "profile-unknown": expected<{
    readonly profile: string;
    readonly known: readonly string[];
    readonly how: "login" | "create" | "use";
    readonly suggestion?: string | undefined;
  }>("usage"),
  "profile-exists": expected<{ readonly profile: string }>("usage"),
  /** A saved file that can't be understood; it stays as it is. */
  "settings-broken": expected<{ readonly wrong: string; readonly where: Where }>("usage"),
  "credential-twice": expected<{ readonly variable: string; readonly fileVariable: string }>("usage"),
  "credential-file-unreadable": expected<{
    readonly variable: string;
    readonly file: string;
    readonly code: string;
  }>("usage"),
  "credential-unusable": expected<{
    readonly from: string;
    readonly wrong: SecretFault | "long";
  }>("usage"),
  "credential-missing": expected<{ readonly use: string; readonly origin: string; readonly profile: string }>("auth"),
  /** No use has a credential. */
  "credentials-none": expected<{ readonly profile: string; readonly uses: readonly string[] }>("auth"),
  "login-key-missing": expected<{ readonly how: "no-terminal" | "empty" }>("usage"),
  /** The service refused the key of a login; it was not saved. */
  "login-refused": expected<{
    readonly use: string;
    readonly origin: string;
    /** The other uses that the key would have been saved for. */
    readonly others?: readonly string[];
  }>("auth"),
  /** The saved credential belongs to another origin than the request's. */
  "credential-elsewhere": expected<{
    readonly use: string;
    readonly origin: string;
    readonly boundTo: string;
    readonly profile: string;
  }>("auth"),
  "credential-command-failed": expected<{
    readonly program: string;
    readonly end:
      | { readonly kind: "not-started"; readonly code: string }
      | { readonly kind: "status"; readonly status: number }
      | { readonly kind: "signal"; readonly signal: string }
      | { readonly kind: "time-out" }
      | { readonly kind: "unusable"; readonly wrong: SecretFault };
  }>("auth"),
  /** There is no folder for what must be kept. */
  "place-missing": expected<{ readonly what: "settings" | "data"; readonly variable: string }>("storage"),
  "place-unusable": expected<{
    readonly place: string;
    readonly doing: "read" | "write";
    readonly code: string;
  }>("storage"),
  /**
   * A file or folder of rollcall's own that another user owns or could replace. `part` is what of its path that is: it
   * belongs to them, or is a link of theirs, or a folder that they may write.
   */
  "place-foreign": expected<{
    readonly place: string;
    readonly part: string;
    readonly why: "owner" | "link" | "writable";
    readonly owner: number;
    readonly mode: number;
    readonly user: number;
  }>("storage"),
  /** Others write to the same file all the time. */
  "place-busy": passing<{ readonly lock: string }>("storage"),
  /** The system knows no home of the user, and what writes settings asks for one. */
  "home-missing": expected<Readonly<Record<never, never>>>("storage"),
};

/** What a request to the service can end with. */
const clientReasons = {
  "address-malformed": expected<{ readonly why: "scheme" | "extras" }>("usage"),
  "proxy-unusable": expected<{ readonly variable: string }>("usage"),
  "path-parameter-unusable": expected<{ readonly parameter: string; readonly value: string }>("usage"),
  "header-unusable": expected<{ readonly what: string }>("usage"),
  "credential-over-http": expected<{ readonly origin: string }>("usage"),
  "compression-missing": expected<{ readonly form: string }>("usage"),
  "credential-refused": expected<{
    readonly status: number;
    /** Where the credential came from; undefined where none went along. */
    readonly from: string | undefined;
    /** The project that went along; undefined where the operation has one and none is set; null where it has none. */
    readonly project: string | undefined | null;
  }>("auth"),
  "nothing-there": expected<{ readonly operation: string; readonly setting: string }>("not_found"),
  "address-wrong": expected<{ readonly operation: string; readonly setting: string }>("refused"),
  "request-refused": expected<{
    readonly status: number;
    /** How the request was compressed that a service takes no such requests of. */
    readonly encoding?: string | undefined;
  }>("refused"),
  redirected: expected<{ readonly to: string | undefined; readonly setting: string }>("refused"),
  "reply-unreadable": expected<{
    readonly came: "html" | "text" | "empty" | "json" | "unknown-encoding";
    /** Where the JSON is not what the interface says, as a dotted name. */
    readonly at: string | undefined;
    readonly setting: string;
  }>("refused"),
  "reply-too-long": expected<{ readonly limitBytes: number }>("refused"),
  "service-unavailable": expected<{
    readonly status: number;
    /** How long it asked to wait, where it did. */
    readonly askedMs: number | undefined;
    readonly tries: number;
  }>("unavailable"),
  "no-connection": expected<{
    /** The system's or library's code, or one of the client's own. */
    readonly code: string;
    /** Host and port that were tried. */
    readonly to: string;
    /** Host and port of the proxy in between. */
    readonly proxy: string | undefined;
    /** The status that the proxy answered with. */
    readonly status: number | undefined;
    /** The time that was allowed, where it ran out. */
    readonly ms: number | undefined;
    readonly tries: number;
    readonly setting: string;
  }>("unavailable"),
};

/** What reading, planning and sending trajectories can end with. */
const trajectoriesReasons = {
  "input-missing": expected<Record<never, never>>("usage"),
  "input-twice": expected<Record<never, never>>("usage"),
  /**
   * The problems are beside it; `counts` has all of them, also those that are not kept; whether sending was meant, and
   * how many groups are valid where they could be sent without the others.
   */
  "input-invalid": expected<{
    readonly unsent?: boolean | undefined;
    /** Valid groups that could be sent without the others; how many there will be of a file that is still written, nobody knows. */
    readonly valid?: number | "some" | undefined;
    readonly counts: readonly { readonly rule: string; readonly severity: Severity; readonly count: number }[];
  }>("invalid_input"),
  /** A file that can't be followed: it is no file, or its lines are packed. */
  "follow-unfit": expected<{ readonly file: string; readonly found: "not-a-file" | "compressed" }>("usage"),
  "input-changed": passing<{ readonly file: string }>("invalid_input"),
  /** What could be opened can't be read: the system's code. */
  "input-unreadable": passing<{ readonly file: string; readonly code: string }>("invalid_input"),
  /** Standard input, or what was unpacked, can't be kept: the folder, and the system's code. */
  "spool-failed": expected<{ readonly folder: string; readonly code: string }>("storage"),
  /** An input's address that can't be read. */
  "remote-address-wrong": expected<{
    readonly name: string;
    readonly why: "malformed" | "user" | "http" | "s3" | "gs" | "dataset" | "endpoint";
  }>("usage"),
  /** What an input's server answers with 401 or 403; where the credential came from, if one went along. */
  "remote-refused": expected<{
    readonly name: string;
    readonly status: number;
    readonly store: RemoteStore;
    readonly from: string | undefined;
  }>("auth"),
  "remote-unavailable": expected<{
    readonly name: string;
    readonly status: number;
    /** How long the server asked to wait, where it did. */
    readonly askedMs: number | undefined;
    readonly tries: number;
  }>("unavailable"),
  /** What an input's server answers that is neither the file nor why it is not given; where it leads, if it redirects to where nothing is followed. */
  "remote-odd": expected<{
    readonly name: string;
    readonly status: number;
    readonly to: string | undefined;
  }>("refused"),
  /** An input was cut off, and its server says nothing by which the rest could be told from that of another file. */
  "remote-cut": expected<{ readonly name: string; readonly bytes: number }>("unavailable"),
  /** No split was given, and the input does not say one: the splits it says, if any. */
  "split-missing": expected<{ readonly found: readonly string[] }>("usage"),
  "one-request-too-large": expected<{ readonly bytes: number; readonly limit: number; readonly requests: number }>(
    "usage",
  ),
  /** A 413: the size of the request, which is one group alone, or must not be split. */
  "request-too-large": expected<{ readonly bytes: number; readonly groups: number }>("refused"),
  "log-partial": expected<LogFacts>("partial"),
  /** All that was valid and accepted is logged; the rest is in the rejects file. */
  "log-rejected": expected<
    LogFacts & {
      readonly rejected: number;
      /** Of what was rejected: lines or records that are no groups. */
      readonly unreadable?: number | undefined;
      readonly file: string;
      /** Whether nothing of what was rejected could be read, so that the file is empty. */
      readonly isEmpty?: boolean | undefined;
      /** Whether it holds records of another tool, which may not stand by themselves. */
      readonly isConverted?: boolean | undefined;
    }
  >("partial"),
  /** Requests of earlier runs whose outcome is still unknown; everything else is logged. */
  "log-unsettled": expected<LogFacts>("unknown_outcome"),
  /** Groups of the files that do not have exactly one accepted entry. */
  "ledger-differs": expected<{
    readonly read: number;
    readonly logged: number;
    readonly repeated: number;
    readonly unknown: number;
    readonly missing: number;
  }>("differs"),
  "entries-missing": expected<{ readonly ids: readonly string[] }>("not_found"),
  "ledger-filter-missing": expected<Record<never, never>>("usage"),
  "ledger-missing": expected<{ readonly path: string }>("storage"),
  "ledger-busy": passing<{ readonly path: string; readonly waitedMs: number }>("storage"),
  /** The ledger, or its lock, was deleted or replaced while a run went on; how far that came. */
  "ledger-gone": expected<{
    readonly path: string;
    readonly part: "ledger" | "lock";
    readonly sent?: { readonly logged: number; readonly notSent: number };
  }>("storage"),
  /** Nobody can be asked whether that is meant to be forgotten. */
  "forget-unconfirmed": expected<{ readonly requests: number }>("usage"),
  /** `needed`: whether the command is about what a ledger holds, so that it can do nothing without one. */
  "ledger-placeless": expected<{ readonly needed: boolean }>("storage"),
  "rejects-exist": expected<{ readonly file: string }>("usage"),
  /** `remote`: whether the first input is at an address; else it is standard input. */
  "rejects-needed": expected<{ readonly remote: boolean }>("usage"),
  "rejects-unwritable": expected<{ readonly file: string; readonly code: string }>("storage"),
  "log-unknown": expected<
    LogFacts & {
      readonly request: number;
      readonly from: string;
      readonly to: string;
      /** Whether it is the last of several. */
      readonly isLast: boolean;
      /** Whether the same command settles it: it sends it again, and the service knows it by its key. */
      readonly settles: boolean;
      /** What came of the try that may have been logged; undefined where that was in an earlier run. */
      readonly doubt?: Error | undefined;
      /** What came of a later try of it, which was not logged. */
      readonly again?: Error | undefined;
    }
  >("unknown_outcome"),
};

/** What an input's address is of: any server, or the Hub. */
export type RemoteStore = "web" | "hub";

/** How far logging came, in groups. */
interface LogFacts {
  readonly logged: number;
  readonly notSent: number;
  readonly unknown: number;
  readonly requests: number;
  /** Whether a ledger knows what was logged, so that the same command can go on. */
  readonly ledger: boolean;
}

/** Why a traced call can't become a trajectory or messages. */
export type CallUnfit =
  | "running"
  | "deleted"
  | "failed"
  | "no-messages"
  | "no-answer"
  | "odd-answer"
  | "several-choices"
  | "odd-tools"
  | "no-reward"
  | "odd-reward";

/** Why no further call was asked for: so many in a row failed, or one in a way that all would. */
export type CallsStopped = "in-a-row" | "at-once";

/** Calls that could not be read, and what the first of them ended with, as a sentence. */
interface CallsUnread {
  readonly ids: readonly string[];
  readonly why: string;
  /** What helps with the first of them. */
  readonly advice: string | undefined;
  readonly asked: number;
  readonly stopped: CallsStopped | undefined;
}

/** What reading models, catalogs and calls can end with. */
const readingReasons = {
  "calls-missing": expected<{ readonly ids: readonly string[]; readonly asked: number; readonly project: string }>(
    "not_found",
  ),
  /** Some of several calls could not be read. */
  "calls-forbidden": expected<CallsUnread>("auth"),
  "calls-refused": expected<CallsUnread>("refused"),
  "calls-unavailable": expected<CallsUnread>("unavailable"),
  /** Models that were named, and are in no catalog that was read; `near` is one whose id is like it. */
  "models-missing": expected<{
    readonly models: readonly { readonly id: string; readonly near: string | undefined }[];
    readonly catalogs: readonly string[];
  }>("not_found"),
  "usage-missing": expected<Record<never, never>>("usage"),
  /** A call or files record no usage. */
  "usage-unrecorded": expected<{ readonly by: string }>("invalid_input"),
  "lock-missing": expected<{ readonly file: string }>("invalid_input"),
  "lock-unreadable": expected<{ readonly file: string; readonly code: string }>("invalid_input"),
  /** `field` is the path of what is of the wrong type. */
  "lock-broken": expected<{
    readonly file: string;
    readonly wrong: "no-json" | "no-lock" | "newer" | "type";
    readonly field?: string | undefined;
  }>("invalid_input"),
  /** The file that a lock would be written to holds something else. */
  "lock-foreign": expected<{ readonly file: string }>("usage"),
  "lock-unwritable": expected<{ readonly file: string; readonly code: string }>("storage"),
  /** What got worse than a lock file allows was printed. */
  "lock-differs": expected<{ readonly file: string; readonly count: number }>("differs"),
  /** There is no copy of a catalog to use without asking the service. */
  "catalog-not-held": expected<{ readonly catalog: string; readonly address: string; readonly provider: string }>(
    "not_found",
  ),
  /** The history has nothing of a catalog. */
  "catalog-not-kept": expected<{ readonly catalog: string; readonly address: string; readonly provider: string }>(
    "not_found",
  ),
  "catalog-file-unreadable": expected<{ readonly file: string; readonly code: string }>("invalid_input"),
  "catalog-file-broken": expected<{ readonly file: string; readonly wrong: "no-json" | "no-catalog" }>("invalid_input"),
  /** `--exit-code` was given; the differences were printed. */
  "catalogs-differ": expected<{ readonly changes: number }>("differs"),
  /** Some calls can't be turned into what was asked for. */
  "calls-unfit": expected<{
    readonly calls: readonly { readonly id: string; readonly why: CallUnfit }[];
    readonly asked: number;
    readonly into: "trajectory" | "messages";
  }>("invalid_input"),
  /** Some calls have nothing at a path: how far one comes, what was probably meant, and what is there. */
  "call-path-missing": expected<{
    readonly ids: readonly string[];
    readonly asked: number;
    readonly at: string;
    readonly near: string | undefined;
    readonly there: readonly string[];
  }>("not_found"),
  /** Some calls were still running when `--wait` was at its bound. */
  "calls-running": expected<{ readonly ids: readonly string[]; readonly asked: number; readonly waitedMs: number }>(
    "unavailable",
  ),
  /** `names`: the catalogs that were looked into. */
  "model-not-listed": expected<{
    readonly id: string;
    readonly names: readonly string[];
    readonly near: string | undefined;
  }>("not_found"),
  "call-ids-missing": expected<{ readonly from: "standard input" }>("invalid_input"),
  "call-id-unreadable": expected<{
    readonly line: number;
    readonly why: "not UTF-8" | "too long" | "broken JSON" | "an object without an id";
  }>("invalid_input"),
  "call-ids-unreadable": expected<{ readonly from: "standard input"; readonly code: string }>("invalid_input"),
};

/** A file rollcall keeps: where it is, and what it is, for a person. */
interface DatabaseFacts {
  readonly path: string;
  readonly title: string;
}

/** What the local service and the files rollcall keeps can end with. */
const serviceReasons = {
  "database-locked": passing<DatabaseFacts>("storage"),
  "database-corrupt": expected<DatabaseFacts>("storage"),
  "database-foreign": expected<DatabaseFacts>("storage"),
  /** The version of its tables, and the one that this program uses. */
  "database-version": expected<DatabaseFacts & { readonly version: number; readonly expected: number }>("storage"),
  /** A database at an address that does not answer; for how long it was asked. */
  "database-away": expected<DatabaseFacts & { readonly code: string; readonly waitedMs: number }>("unavailable"),
  /** A database that lets nobody in with these credentials, or not to do this. */
  "database-refused": expected<DatabaseFacts & { readonly code: string }>("auth"),
  /** The only password that fits stands in a file that others may read. */
  "password-file-open": expected<DatabaseFacts & { readonly file: string }>("auth"),
  "database-address": expected<DatabaseFacts & { readonly wanted: string }>("usage"),
  /** A run that was paused or cut off for so long that others may have taken its groups over. */
  "lease-lost": expected<{ readonly path: string }>("unavailable"),
  "key-exists": expected<{ readonly name: string }>("usage"),
  "key-unknown": expected<{ readonly name: string; readonly suggestion: string | undefined }>("not_found"),
  /** A database that went away as it wrote: what was written may be stored. */
  "store-unsure": expected<DatabaseFacts>("unknown_outcome"),
  "database-failed": expected<DatabaseFacts & { readonly code: string }>("storage"),
  "folder-unusable": expected<DatabaseFacts & { readonly code: string }>("storage"),
  "disk-full": expected<DatabaseFacts>("storage"),
  "local-key-unusable": expected<{ readonly path: string }>("storage"),
  /** An address at which the local service, or the page of `view`, can't listen. */
  "address-unusable": expected<{
    readonly server: "the local service" | "the page";
    readonly address: string;
    readonly port: number;
    readonly code: string;
  }>("usage"),
  "host-unnamed": expected<{ readonly address: string }>("usage"),
};

/**
 * Every reason a run can end with. A room adds its reasons to its part above and their words to its file in
 * `output/words`; the type checker asks for both.
 */
export const reasons = {
  ...programReasons,
  ...settingsReasons,
  ...clientReasons,
  ...trajectoriesReasons,
  ...readingReasons,
  ...serviceReasons,
} satisfies Record<string, Expected<unknown>>;

/** The names of the reasons by the part of the program they belong to. */
export interface ReasonsOf {
  readonly program: keyof typeof programReasons;
  readonly settings: keyof typeof settingsReasons;
  readonly client: keyof typeof clientReasons;
  readonly trajectories: keyof typeof trajectoriesReasons;
  readonly reading: keyof typeof readingReasons;
  readonly service: keyof typeof serviceReasons;
}

/** Name of a reason: stable, in words of the field. */
export type Reason = keyof typeof reasons;

/** The data that a reason's words are made of. */
export type ReasonData<R extends Reason> = (typeof reasons)[R] extends Expected<infer Data> ? Data : never;

/** What may be known beside the reason's own data. */
export interface About {
  readonly where?: Where;
  readonly http?: HttpFacts;
  readonly problems?: readonly Problem[];
  /** The next command to run, as it would be typed. */
  readonly next?: string;
  /** Whether the same command again can get further. Default: what its reason says. */
  readonly retryable?: boolean;
  /** Whether all of it was before anything was sent, where that is not what the reason itself says. */
  readonly unsent?: boolean;
  /** The code of what stopped a run that ends with a code of its own (promises.md, `error.cause`). */
  readonly stoppedBy?: FailureCode;
  readonly cause?: unknown;
}

/** A run's end that is not success: a reason with its data; `output` makes the words, `main` the exit code. */
export class Failure<R extends Reason = Reason> extends Error {
  override readonly name = "Failure";
  readonly reason: R;
  readonly data: ReasonData<R>;
  readonly about: About;

  constructor(reason: R, data: ReasonData<R>, about: About = {}) {
    super(reason, about.cause === undefined ? undefined : { cause: about.cause });
    this.reason = reason;
    this.data = data;
    this.about = about;
  }

  /** The code of the exit-code table. */
  get code(): FailureCode {
    return reasons[this.reason].code;
  }

  /** The same failure with more known beside it. */
  also(about: About): Failure<R> {
    return new Failure(this.reason, this.data, { ...this.about, ...about });
  }

  /** Whether the same command again can get further. */
  get retryable(): boolean {
    return this.about.retryable ?? reasons[this.reason].passes;
  }
}

/** Narrows a failure to one reason and its data. */
export const isFailure = <R extends Reason>(thrown: unknown, reason: R): thrown is Failure<R> =>
  thrown instanceof Failure && thrown.reason === reason;

/** The exit code of a run that ended with a failure. */
export const exitCodeOf = (failure: Failure): number => {
  if (isFailure(failure, "interrupted")) return exitCodes.interrupted[failure.data.signal];
  const code = exitCodes[failure.code];
  return typeof code === "number" ? code : exitCodes.internal;
};

/** Whatever was thrown, as a failure: what nobody foresaw is a defect. */
export const failureOf = (thrown: unknown): Failure => {
  if (thrown instanceof Failure) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return new Failure("defect", { text: error.message, stack: error.stack }, { cause: error });
};
