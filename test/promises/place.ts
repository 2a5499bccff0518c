/** Runs rollcall with a new folder for inputs and ledgers, and a home folder. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type FaultyService,
  faultyService,
  holdRequest,
  type RequestHandler,
  type TestCleanup,
} from "../support/raw-server.ts";
import {
  endOf,
  newHome,
  type RunOptions,
  type RunResult,
  runRollcall,
  startInTurn,
  startRollcall,
} from "../support/run.ts";

/** A group of one trajectory, which its reward identifies, with `bytes` of padding. */
export const groupOf = (reward: number, bytes = 0): string =>
  `{"trajectories":[{"messages_and_choices":[],"reward":${reward}${bytes > 0 ? `,"logs":["${"x".repeat(bytes)}"]` : ""}}]}`;

export const linesOf = (...groups: readonly string[]): string => groups.map((group) => `${group}\n`).join("");

export const three = linesOf(groupOf(1), groupOf(2), groupOf(3));

/** The size at which each group without padding is a separate request. */
export const oneEach = ["--max-request-size", "120"];

/** The compared parts of `log --json`. */
export interface LogDocument {
  readonly status: string;
  readonly requests: number;
  readonly groups: Readonly<Record<"read" | "logged" | "already_logged" | "rejected" | "unknown" | "not_sent", number>>;
  readonly rejects_file: string | null;
  readonly responses: readonly { readonly status: number; readonly body: unknown }[];
  readonly warnings: readonly { readonly rule: string; readonly message: string }[];
  readonly ledger: { readonly path: string; readonly created: boolean } | null;
}

export interface ErrorDocument {
  readonly code: string;
  readonly exit_code: number;
  readonly retryable: boolean;
  readonly message: string;
  readonly hint?: string;
  readonly cause?: string;
  readonly next?: string;
  readonly problems?: readonly {
    readonly rule: string;
    readonly message: string;
    readonly line?: number;
    readonly file?: string;
  }[];
}

/** A run of `log` with its parsed documents. */
export interface LogRun extends RunResult {
  readonly document: LogDocument | undefined;
  readonly error: ErrorDocument | undefined;
}

export interface LedgerEntry {
  readonly id: string;
  readonly state: string;
  readonly groups: number;
  readonly attempts: number;
  readonly status: number | null;
  readonly cause: string | null;
  readonly input: string;
}

/** The folder and environment of runs. */
export interface Place {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  path(name: string): string;
  write(name: string, content: string | Uint8Array): string;
  run(args: readonly string[], options?: Pick<RunOptions, "env" | "stdin" | "ownProcess">): Promise<RunResult>;
  /** Runs `log m --split train --json` with more arguments. */
  log(args: readonly string[], options?: Pick<RunOptions, "stdin" | "ownProcess">): Promise<LogRun>;
  /** Starts `log m --split train --json` in its own process. */
  start(args: readonly string[]): ReturnType<typeof startRollcall>;
  entries(args?: readonly string[]): Promise<readonly LedgerEntry[]>;
  /** Returns this place with runs in a reused process, whose working folder is the folder of the place. */
  inFolder(): Place;
}

const logging = ["log", "m", "--split", "train", "--json"];

/** Opens a place, and removes it when the test is finished. */
export const placeAt = (
  { onTestFinished }: TestCleanup,
  url: string,
  more: Readonly<Record<string, string>> = {},
): Place => {
  const folder = mkdtempSync(join(tmpdir(), "faults-"));
  onTestFinished(async () => rmSync(folder, { recursive: true, force: true }));
  const env = { ...newHome(), ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: "key-1", ...more };
  return placeOf(folder, { env });
};

const placeOf = (folder: string, common: Pick<RunOptions, "cwd"> & Pick<Place, "env">): Place => {
  const { env } = common;
  const path = (name: string) => join(folder, name);
  const place: Place = {
    folder,
    env,
    path,
    write(name, content) {
      writeFileSync(path(name), content);
      return path(name);
    },
    run: async (args, options = {}) => await runRollcall(args, { ...common, ...options }),
    log: async (args, options = {}) => documentsOf(await place.run([...logging, ...args], options)),
    start: (args) => startRollcall([...logging, ...args], { env, cwd: folder }),
    async entries(args = []) {
      const { stdout, stderr, code } = await place.run(["ledger", "status", "--json", ...args]);
      if (code !== 0) throw new Error(`ledger status ended with ${code}: ${stderr}`);
      return (JSON.parse(stdout) as { entries: readonly LedgerEntry[] }).entries;
    },
    inFolder: () => placeOf(folder, { env, cwd: folder }),
  };
  return place;
};

/** Opens a service, and a place for runs against it, with `inFolder` for command lines with relative paths. */
export const openPlace = async (
  context: TestCleanup,
  { inFolder = false, ...options }: Parameters<typeof faultyService>[1] & { readonly inFolder?: boolean } = {},
  more: Readonly<Record<string, string>> = {},
) => {
  const service = await faultyService(context, options);
  const place = placeAt(context, service.url, more);
  return { service, place: inFolder ? place.inFolder() : place };
};

/** Opens a service, and a place with a file of three groups. */
export const openThree = async (...options: Parameters<typeof openPlace>) => {
  const { service, place } = await openPlace(...options);
  return { service, place, file: place.write("a.jsonl", three) };
};

/** Opens a place with a file of three groups, and a service that holds a request after the requests of `deeds`. */
export const openHeld = async (context: TestCleanup, ...deeds: readonly RequestHandler[]) => {
  const hold = holdRequest();
  const opened = await openThree(context);
  opened.service.next(...deeds, hold.deed);
  return { hold, ...opened };
};

/** Parses the document on stdout, if there is one, and the error document in the last line of stderr. */
export const documentsOf = (ran: RunResult): LogRun => {
  const [last = ""] = ran.stderr.trim().split("\n").slice(-1);
  const error = ran.code === 0 ? undefined : (JSON.parse(last) as { error: ErrorDocument }).error;
  if (error !== undefined && error.exit_code !== ran.code) throw new Error(`${error.exit_code}, not ${ran.code}`);
  return { ...ran, error, document: ran.stdout === "" ? undefined : (JSON.parse(ran.stdout) as LogDocument) };
};

/** Starts a run of `log` that can get SIGINT, SIGTERM and SIGHUP. */
export const startLog = (place: Place, args: readonly string[]) => {
  const child = startInTurn([...logging, ...args], { env: place.env, cwd: place.folder });
  return { signal: child.signal, ended: endOf(child).then(documentsOf) };
};

/** Logs the groups and resets the connection. */
export const takeAndReset: RequestHandler = async (asked) => {
  await asked.take();
  asked.reset();
};

/** Reads the request and resets the connection. */
export const reset: RequestHandler = async (asked) => {
  await asked.body();
  asked.reset();
};

/** Logs a file of three groups to a service that handles the first request with `deed`. */
export const afterOne = async (
  context: TestCleanup,
  {
    deed,
    echoes = false,
    args = oneEach,
  }: { readonly deed: RequestHandler; readonly echoes?: boolean; readonly args?: readonly string[] },
): Promise<{ service: FaultyService; place: Place; file: string }> => {
  const { service, place, file } = await openThree(context, { echoes });
  service.next(deed);
  await place.log([file, "--max-wait", "0s", ...args]);
  return { service, place, file };
};

export const rulesOf = ({ document }: Pick<LogRun, "document">): readonly string[] =>
  (document?.warnings ?? []).map(({ rule }) => rule);

export const ledgerOf = ({ env }: Place): string => `${env.XDG_DATA_HOME}/rollcall/ledger.db`;

/** A line of the file of reasons. */
export interface Reason {
  readonly file: string;
  readonly line: number;
  readonly rule: string;
  readonly message: string;
  readonly advice?: string;
  readonly rejects_line: number;
}

export const reasonsOf = (file: string) =>
  readFileSync(`${file}.reasons`, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Reason);

/** True if a test may mount folders. */
export const canMount = (): boolean => {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  try {
    execFileSync("unshare", ["--mount", "mount", "-t", "tmpfs", "-o", "size=4k", "none", "/mnt"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};
