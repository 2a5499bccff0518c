/** Failures that commands make themselves. */

import { Failure, type FailureDetails } from "../failure.ts";
import { didYouMean, formatList, formatRejected, pluralize } from "../sentences.ts";
import { loginCommand } from "../settings/failures.ts";

/** Groups that `convert --on-invalid skip` left out, and the file that has their records. */
export const convertRejected = (
  groups: { written: number; rejected: number; unreadable: number | undefined; file: string },
  about: FailureDetails,
): Failure => {
  const { written, file, ...rest } = groups;
  const message = `${formatRejected(rest)}, ${written} written: ${file} holds what was rejected`;
  return new Failure("partial", "convert-rejected", message, {
    ...about,
    hint: `${file}.reasons says why: fix that in the input, and convert it again`,
  });
};

/** Values of the input that have no place, though all should have one. */
export const conversionInexact = (count: number, paths: readonly string[]): Failure => {
  const values = pluralize(count, "value has", "values have");
  const more = paths.length > 5 ? ` and ${paths.length - 5} more paths` : "";
  const message = `${values} no place in a trajectory: ${paths.slice(0, 5).join(", ")}${more}`;
  return new Failure("invalid_input", "conversion-inexact", message, {
    hint: "leave --exact out where they may be left out; --receipt <file> lists them with their reasons",
  });
};

/** What doctor found, by what it keeps from working. @param checks the names of the checks that failed */
export const doctorFound = (code: "usage" | "storage" | "auth" | "unavailable", checks: readonly string[]): Failure => {
  const things = checks.length === 1 ? "one thing is" : `${checks.length} things are`;
  const part = { usage: "settings", storage: "files", auth: "credentials", unavailable: "addresses" }[code];
  return new Failure(code, `doctor-${part}`, `${things} wrong: ${[...new Set(checks)].join(", ")}`, {
    hint: "each finding says how to fix it",
  });
};

/** @param asked what was to be done, and the option that confirms it for scripts */
export const notConfirmed = (asked: { what: string; option: string }, isDeclined: boolean): Failure => {
  const { what, option } = asked;
  const message = isDeclined ? `not done: ${what}` : `nobody can be asked whether to ${what}: there is no terminal`;
  return new Failure("usage", "not-confirmed", message, { hint: `${option} confirms it` });
};

/** @param way what to do, if there is more than to give one of them */
export const optionMissing = (first: string, second: string, way = "give one of them"): Failure =>
  new Failure("usage", "option-missing", `neither ${first} nor ${second} is given`, { hint: way });

export const credentialsMissing = (profile: string, uses: readonly string[]): Failure => {
  const message = `there is no credential in the profile ${profile} for ${uses.join(", ")}`;
  return new Failure("auth", "credentials-missing", message, {
    hint: `\`${loginCommand(profile)}\`, or ROLLCALL_API_KEY=…`,
  });
};

/** The service refused the key of a login. @param others the other uses that the key would have been saved for */
export const loginRefused = (
  { use, origin, others }: { use: string; origin: string; others: readonly string[] },
  about: FailureDetails,
): Failure => {
  const { http } = about;
  const said = http?.said === undefined ? "" : ` (${http.status ?? "refused"}: ${http.said})`;
  const alone = others.map((other) => `--for ${other}`).join(" or ");
  const other = others.length === 0 ? "" : `where the key is not for ${use}, ${alone} saves it for that use alone; `;
  return new Failure("auth", "login-refused", `${origin} refused the key for ${use}${said}; it was not saved`, {
    ...about,
    hint: `check the key, the address and the project; ${other}--no-check saves a key without trying it`,
  });
};

/** Groups of the files that do not have exactly one accepted entry. */
export const ledgerDiffers = (
  groups: { read: number; logged: number; repeated: number; unknown: number; missing: number },
  about: FailureDetails,
): Failure => {
  const { read, logged, repeated, unknown, missing } = groups;
  const counts = { "not logged": missing, unknown, "logged more than once": repeated };
  const parts = Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
  const message = `${logged} of ${pluralize(read, "group")} logged once: ${parts.join(", ")}`;
  const hint =
    missing > 0
      ? "`rollcall log` sends what is not logged; where the files were logged with --group-by or another --ledger, give the same here first"
      : repeated > 0
        ? "`rollcall ledger status` with the files names the requests; --model, --split and --batch verify some of them alone"
        : "the same `rollcall log` command settles them within 24 hours, where the service honours Idempotency-Key; else `rollcall ledger status` names the requests, and `rollcall ledger resolve` settles them";
  return new Failure("differs", "ledger-differs", message, { ...about, hint });
};

export const noSuchRequest = (ids: readonly string[]): Failure =>
  new Failure("not_found", "no-such-request", `no unknown request is called ${ids.join(", ")}`, {
    hint: "`rollcall ledger status` lists them; nothing was changed",
  });

export const ledgerFilterMissing = (): Failure =>
  new Failure("usage", "ledger-filter-missing", "nothing says what to forget", {
    hint: "--model <id>, --batch <name> or --before 30d",
  });

/** Nobody can be asked whether that is meant to be forgotten. */
export const forgetUnconfirmed = (requests: number): Failure => {
  const message = `nobody can be asked whether ${pluralize(requests, "request")} should be forgotten`;
  return new Failure("usage", "not-confirmed", message, {
    hint: "--yes forgets them without asking; nothing was changed",
  });
};

/** @param isNeeded whether the command is about what a ledger holds */
export const ledgerLocationMissing = (isNeeded: boolean): Failure => {
  const message = isNeeded
    ? "there is no place where a ledger would be: no home folder is known"
    : "there is no place for a ledger: no home folder is known";
  const without = isNeeded ? "" : "; or --no-ledger, which gives up the protection against logging twice";
  return new Failure("storage", "ledger-location-missing", message, {
    hint: `--ledger <file>, or ROLLCALL_DATA_DIR=…${without}`,
  });
};

export const callsMissing = (
  { ids, asked, project }: { ids: readonly string[]; asked: number; project: string },
  about: FailureDetails = {},
): Failure => {
  const { http } = about;
  const message =
    asked === 1
      ? `there is no call ${ids[0] ?? ""} in the project ${project}`
      : `${ids.length} of ${asked} calls are not in the project ${project}: ${formatList(ids)}`;
  const said = http?.said === undefined ? "" : `; the service says: ${http.said}`;
  return new Failure("not_found", "calls-missing", `${message}${said}`, {
    ...about,
    hint: "a call is found by its whole id and in its own project: --project <team/project> names another",
  });
};

/** Calls that could not be read, and what the first of them ended with. */
export interface UnreadableCalls {
  readonly ids: readonly string[];
  readonly why: string;
  /** What helps with the first of them. */
  readonly advice: string | undefined;
  readonly requested: number;
  /** Why no further call was asked for: so many in a row failed, or one in a way that all would. */
  readonly stopped: "in-a-row" | "at-once" | undefined;
}

export const callsUnreadable = (
  code: "auth" | "refused" | "unavailable",
  { ids, why, advice, requested: asked, stopped }: UnreadableCalls,
  about: FailureDetails,
): Failure => {
  const message = [
    `${ids.length} of ${asked} calls can't be read: ${formatList(ids)}`,
    `${ids.length === 1 ? "" : `of ${ids[0] ?? ""}: `}${why}`,
    ...(stopped === "in-a-row" ? ["so many in a row are no trouble of a call's own"] : []),
    ...(stopped === undefined ? [] : ["no further one was asked for"]),
  ].join("; ");
  const others = ids.length >= asked ? "" : `the ${stopped === undefined ? "other" : "earlier"} calls were read; `;
  const hint = {
    auth: advice ?? "another key may be allowed to read them",
    refused: "rollcall call read <call-id> --debug looks at one alone",
    unavailable: `run the same command again${stopped === undefined ? ", or only for these ids" : ""}`,
  }[code];
  const kind = code === "auth" ? "calls-forbidden" : `calls-${code}`;
  return new Failure(code, kind, message, { ...about, hint: others + hint });
};

/** Models that were named, and are in no catalog that was read. @param near one whose id is like it */
export const modelsMissing = (
  models: readonly { readonly id: string; readonly near: string | undefined }[],
  catalogs: readonly string[],
): Failure => {
  const where = `${catalogs.join(" and ")} ${catalogs.length === 1 ? "catalog" : "catalogs"}`;
  const near = models.find((model) => model.near !== undefined)?.near;
  return new Failure("not_found", "models-missing", `not in the ${where}: ${formatList(models.map(({ id }) => id))}`, {
    ...didYouMean(near, "a model is named by its whole id, or by a glob such as 'qwen*'"),
  });
};

export const modelNotListed = (asked: { id: string; names: readonly string[]; near: string | undefined }): Failure => {
  const { id, names, near } = asked;
  const who = names.length > 1 ? "no catalog lists" : `the ${names[0] ?? ""} catalog does not list`;
  return new Failure("not_found", "model-not-listed", `${who} ${id}`, {
    ...didYouMean(near, "a model is shown by its whole id: `rollcall catalog all <words>` finds it"),
  });
};

export const usageMissing = (): Failure =>
  new Failure("usage", "usage-missing", "there is no usage to price", {
    hint: "give it: --prompt-tokens 10k --completion-tokens 2k; or take it from --from-call <id>",
  });

export const usageUnrecorded = (by: string): Failure =>
  new Failure("invalid_input", "usage-unrecorded", `${by} records no usage`, {
    hint: "it stands in `usage` objects with prompt_tokens and completion_tokens; else give it with --prompt-tokens and --completion-tokens",
  });

export const lockMissing = (file: string): Failure =>
  new Failure("invalid_input", "lock-missing", `there is no lock file ${file}`, {
    hint: "`rollcall catalog lock <model…>` writes one; --file names another",
    where: { file },
  });

/** What got worse than a lock file allows was printed. */
export const lockDiffers = (file: string, count: number, about: FailureDetails): Failure => {
  const facts = count === 1 ? "one fact is" : `${count} facts are`;
  return new Failure("differs", "lock-differs", `${facts} worse than ${file} records`, {
    ...about,
    hint: "use the model that is named instead, or accept the change: `rollcall catalog lock` writes the file anew, --allow <rule> leaves a rule out",
  });
};

interface CatalogAsked {
  readonly catalog: string;
  readonly address: string;
  readonly provider: string;
}

/** There is no copy of a catalog to use without asking the service. */
export const catalogNotCached = ({ catalog, address, provider }: CatalogAsked): Failure => {
  const message = `there is no copy of the ${catalog} catalog of ${provider} at ${address}`;
  return new Failure("not_found", "catalog-not-cached", message, {
    hint: "run the command once without --offline: every catalog that is read is kept in the data folder",
  });
};

/** The history has nothing of a catalog. */
export const catalogHistoryMissing = ({ catalog, address, provider }: CatalogAsked): Failure => {
  const message = `the history has no ${catalog} catalog of ${provider} at ${address}`;
  return new Failure("not_found", "catalog-history-missing", message, {
    hint: "it begins when the catalog is read for the first time: run this once a day to have one",
  });
};

/** `--exit-code` was given; the differences were printed. */
export const catalogsDiffer = (changes: number): Failure => {
  const message = changes === 1 ? "there is one difference" : `there are ${changes} differences`;
  return new Failure("differs", "catalogs-differ", message, {
    hint: "the list has them; without --exit-code the run ends with 0, whatever differs",
  });
};

const conversionObstacles = {
  running: "it is still running",
  deleted: "it was deleted",
  failed: "it failed and has no output",
  "no-messages": "its inputs hold no messages",
  "no-answer": "it has no output",
  "odd-answer": "its output is no message",
  "several-choices": "its output has several choices",
  "odd-tools": "its tools are no list",
  "no-reward": "it has no reward",
  "odd-reward": "its reward is no number",
};

interface UnconvertibleCalls {
  readonly calls: readonly { readonly id: string; readonly why: keyof typeof conversionObstacles }[];
  readonly requested: number;
  readonly into: "trajectory" | "messages";
}

export const callsUnconvertible = ({ calls, requested: asked, into }: UnconvertibleCalls): Failure => {
  const which = asked === 1 ? "the call" : `${calls.length} of ${asked} calls`;
  const what = into === "trajectory" ? "a trajectory" : "messages";
  const reasons = formatList(calls.map(({ id, why }) => `${id} (${conversionObstacles[why]})`));
  return new Failure("invalid_input", "calls-unconvertible", `${which} can't become ${what}: ${reasons}`, {
    hint: calls.some(({ why }) => why === "no-reward" || why === "odd-reward")
      ? "give the reward with --reward <number>, or say where in the call it stands with --reward-from <path>"
      : "look at one with rollcall call read <call-id>",
  });
};

/** Calls of `asked` that have nothing at a path. */
interface MissingPath {
  readonly ids: readonly string[];
  readonly asked: number;
  /** How far one comes, what was probably meant, and what there is. */
  readonly at: string;
  readonly near: string | undefined;
  readonly there: readonly string[];
}

export const callPathMissing = ({ ids, asked, at, near, there }: MissingPath): Failure => {
  const [which, names] =
    asked === 1
      ? [`the call ${ids[0] ?? ""} has`, ""]
      : [`${ids.length} of ${asked} calls have`, `: ${formatList(ids)}`];
  const message = `${which} no ${at}${names}${there.length === 0 ? "" : `; there is ${formatList(there)}`}`;
  return new Failure("not_found", "call-path-missing", message, {
    ...didYouMean(near, "--path begins at the call's own fields, such as inputs or output"),
  });
};

/** Some calls were still running when `--wait` was at its bound. */
export const callsRunning = (ids: readonly string[], asked: number, waitedMs: number): Failure => {
  const which = asked === 1 ? `the call ${ids[0] ?? ""} is` : `${ids.length} of ${asked} calls are`;
  const names = asked === 1 ? "" : `: ${formatList(ids)}`;
  const message = `${which} still running after ${Math.round(waitedMs / 1000)} s${names}`;
  return new Failure("unavailable", "calls-running", message, {
    hint: "run the same command again, or wait longer with --max-wait <duration>",
  });
};

export const callIdsUnreadable = (code: string, cause: unknown): Failure =>
  new Failure("invalid_input", "call-ids-unreadable", `standard input can't be read (${code})`, {
    hint: "give a file with one id a line, or the ids as arguments",
    cause,
  });

export const keyExists = (name: string): Failure =>
  new Failure("usage", "key-exists", `${name} has a key already`, {
    hint: `give another name, or \`rollcall serve keys revoke ${name}\` first`,
  });

export const keyUnknown = (name: string, suggestion: string | undefined): Failure =>
  new Failure("not_found", "key-unknown", `${name} has no key that is taken`, {
    ...didYouMean(suggestion, "`rollcall serve keys list` lists them"),
  });
