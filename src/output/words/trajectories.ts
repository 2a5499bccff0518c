/** The words of what reading, planning and sending trajectories can end with. */
import { counted } from "../../counted.ts";
import {
  type About,
  Failure,
  type HttpFacts,
  isFailure,
  type ReasonData,
  type ReasonsOf,
  type RemoteStore,
} from "../../failure.ts";
import { breakWords, clientWords } from "./client.ts";
import { fieldOf, placeOf, rejectedWords, type Sentences, skipRefused, systemWords, type Words } from "./sentences.ts";

export const trajectoriesWords: Words<ReasonsOf["trajectories"]> = {
  "input-missing": () => ({
    message: "there is nothing to read: no file is named, and standard input is a terminal",
    hint: "name a file with a group or a trajectory on each line, or - for standard input",
  }),
  "input-twice": () => ({ message: "standard input is named twice, and can be read once", hint: "name - once" }),
  "input-invalid": invalidWords,
  "follow-unfit": ({ file, found }) =>
    found === "compressed"
      ? { message: `${file} is compressed, and can't be followed`, hint: "read it without --follow, once it is whole" }
      : { message: `${file} is not a file, and can't be followed`, hint: "name the file that the run writes" },
  "input-changed": ({ file }) => ({
    message: `${file} changed while rollcall read it`,
    hint: "run the same command again once nothing writes to it any more",
  }),
  "input-unreadable": ({ file, code }) => ({
    message: `${file} can't be read to its end (${code})`,
    hint: "the same command again goes on once it can be read; or copy it to another disk",
  }),
  "spool-failed": ({ folder, code }) => ({
    message: `the input can't be kept in ${folder} while it is checked (${code})`,
    hint: "TMPDIR names another folder; an uncompressed file of rollcall's own shape, on a disk of this machine, needs none",
  }),
  "remote-address-wrong": ({ name, why }) => ({
    message: {
      malformed: `${name} is no address that a file can stand at`,
      user: `the address of ${name} holds a user or a password`,
      http: `${name} is plain http: whoever is in between could change it`,
      s3: `${name} is a bucket's address, which rollcall does not read`,
      gs: `${name} is a bucket's address, which rollcall does not read`,
      dataset: `${name} names no file of a dataset`,
      endpoint: `the endpoint ${name} can't be used: it is no address, or plain http`,
    }[why],
    hint: {
      malformed: "https://host/path or hf://datasets/owner/name/path",
      user: "take it out: others can see a command line; what curl gets with a netrc file can be piped into standard input",
      http: "use https://, or --insecure-http where that is meant",
      s3: `pipe it from the bucket's own client: ${piped("aws s3 cp", name, " -")}`,
      gs: `pipe it from the bucket's own client: ${piped("gcloud storage cat", name)}`,
      dataset: "hf://datasets/owner/name/path, or owner/name@revision; one that ends in / is a folder",
      endpoint: "HF_ENDPOINT holds an https:// address; --insecure-http where http is meant",
    }[why],
  }),
  "remote-refused": ({ name, status, store, from }, { http }) => ({
    message: `${name} is not given out${from === undefined ? ", and no credential went along" : ` to the credential from ${from}`} (${status})${http?.said === undefined ? "" : `: ${http.said}`}`,
    hint: remoteAccess[store],
  }),
  "remote-unavailable": ({ name, status, askedMs, tries }, { http }) => ({
    message: `the server of ${name} answered ${status}${tries > 1 ? `, ${tries} times` : ""}${http?.said === undefined ? "" : `: ${http.said}`}`,
    hint:
      askedMs === undefined
        ? "the same command again is safe; --max-wait says how long is waited"
        : `it asks to wait ${Math.round(askedMs / 1000)} s: try again then, or give a longer --max-wait`,
  }),
  "remote-odd": ({ name, status, to }, { http }) => ({
    message:
      to === undefined
        ? `the server of ${name} answered ${status}${http?.said === undefined ? "" : `: ${http.said}`}`
        : `${name} leads to ${to}, which is plain http`,
    hint: "look whether a browser or curl gets the file there; it can be piped into standard input too",
  }),
  "remote-cut": ({ name, bytes }) => ({
    message: `${name} was cut off after ${sizeOf(bytes)}, and its server says neither an ETag nor a date to go on by`,
    hint: "the same command again reads it from its beginning; or save it first: curl -O",
  }),
  "split-missing": ({ found }) => ({
    message:
      found.length > 1
        ? `the requests are for different splits: ${found.join(", ")}`
        : "no split is named, and the input does not say one",
    hint:
      found.length > 1
        ? "a run has one split: keep the requests of one in a file of their own"
        : "--split train, or another name; or ROLLCALL_SPLIT=…, or `rollcall config set split …`",
  }),
  "one-request-too-large": ({ bytes, limit, requests }) => ({
    message: `the groups make ${requests} requests: one would be ${sizeOf(bytes)}, more than ${sizeOf(limit)}`,
    hint: `--max-request-size ${bytes} makes it one, where the service takes as much; without --one-request it is split`,
  }),
  "request-too-large": ({ bytes, groups }) => ({
    message: `the service takes no request of ${sizeOf(bytes)} (413)${groups === 1 ? ", and one group can't be split" : ""}`,
    hint:
      groups === 1
        ? `make the group smaller, ask the service for a larger limit, or ${skipRefused}`
        : "without --one-request it is split between groups; or ask the service for a larger limit",
  }),
  "log-partial": ({ logged, notSent, ledger }, about) => ({
    message: `${counted(logged, "group")} logged, ${notSent} not: ${stopOf(about)}`,
    hint: wayOn(about, ledger),
  }),
  "log-rejected": ({ file, logged, ledger, isEmpty = false, isConverted = false, ...rest }) => ({
    message: `${rejectedWords(rest)}, ${logged} logged: ${isEmpty ? "nothing of what was rejected can be read" : `${file} holds what was rejected`}`,
    hint: isConverted
      ? `${file}.reasons says why: fix that in the input${ledger ? ", and run the same command: what was logged is not sent again" : ""}`
      : `${file}.reasons says why: fix ${file}, and log it by itself`,
  }),
  "log-unsettled": ({ unknown, logged }) => ({
    message: `it is not known whether ${counted(unknown, "group")} of earlier runs were logged; ${logged} logged now`,
    hint: "`rollcall ledger status` names the requests; --on-unknown resend, or `rollcall ledger resolve`, settles them",
  }),
  "ledger-differs": ({ read, logged, repeated, unknown, missing }) => ({
    message: `${logged} of ${counted(read, "group")} logged once: ${[
      [missing, "not logged"],
      [unknown, "unknown"],
      [repeated, "logged more than once"],
    ]
      .filter(([count]) => count !== 0)
      .map(([count, words]) => `${count} ${words}`)
      .join(", ")}`,
    hint:
      missing > 0
        ? "`rollcall log` sends what is not logged; where the files were logged with --group-by or another --ledger, give the same here first"
        : repeated > 0
          ? "`rollcall ledger status` with the files names the requests; --model, --split and --batch verify some of them alone"
          : "the same `rollcall log` command settles them within 24 hours, where the service honours Idempotency-Key; else `rollcall ledger status` names the requests, and `rollcall ledger resolve` settles them",
  }),
  "entries-missing": ({ ids }) => ({
    message: `no unknown request is called ${ids.join(", ")}`,
    hint: "`rollcall ledger status` lists them; nothing was changed",
  }),
  "ledger-filter-missing": () => ({
    message: "nothing says what to forget",
    hint: "--model <id>, --batch <name> or --before 30d",
  }),
  "ledger-missing": ({ path }) => ({
    message: `there is no ledger at ${path}, and --require-ledger asks for one`,
    hint: "restore it, or leave --require-ledger out to start a new one",
  }),
  "ledger-busy": ({ path, waitedMs }) => ({
    message: `another run logs the same model and split, and still holds ${path} after ${Math.round(waitedMs / 1000)} s`,
    hint: "wait for it to end, or allow more time with --max-wait",
  }),
  "ledger-gone": ({ path, part, sent }) => ({
    message: `${part === "ledger" ? "the ledger" : "the lock of the ledger"} ${path} was deleted or replaced while the run went on${sent === undefined ? "" : `: ${counted(sent.logged, "group")} logged, ${sent.notSent} not sent`}`,
    hint: "put the ledger back before you log these files again: what it does not know is logged a second time",
  }),
  "forget-unconfirmed": ({ requests }) => ({
    message: `nobody can be asked whether ${counted(requests, "request")} should be forgotten`,
    hint: "--yes forgets them without asking; nothing was changed",
  }),
  "ledger-placeless": ({ needed }) => ({
    message: needed
      ? "there is no place where a ledger would be: no home folder is known"
      : "there is no place for a ledger: no home folder is known",
    hint: `--ledger <file>, or ROLLCALL_DATA_DIR=…${needed ? "" : "; or --no-ledger, which gives up the protection against logging twice"}`,
  }),
  "rejects-exist": ({ file }) => ({
    message: `${file} is there already, and is not what rollcall wrote`,
    hint: "log it, or move it away; --rejects names another file",
  }),
  "rejects-needed": ({ remote }) => ({
    message: `${remote ? "an input at an address has no folder to put the rejects file into" : "standard input has no name to call the rejects file by"}`,
    hint: "--rejects <file> names it",
  }),
  "rejects-unwritable": ({ file, code }) => ({
    message: `${file} can't be written (${code})`,
    hint: "--rejects names another file",
  }),
  "log-unknown": (
    { unknown, logged, notSent, request, requests, from, to, isLast, settles, ledger, ...why },
    about,
  ) => ({
    message: `it is not known whether ${request > 0 ? `request ${request} of ${requests}` : "a request"}${
      isLast
        ? ` (from ${from} to ${to}) and others before it were logged${sinceOf(why, about)}: ${counted(unknown, "group")}`
        : ` was logged${sinceOf(why, about)}: ${counted(unknown, "group")}, from ${from} to ${to}`
    }; ${logged} logged, ${notSent} not sent`,
    hint: settles
      ? `the same command, within 24 hours, sends them again by the key that the service knows them by, so that nothing is logged twice${notSent > 0 ? ", and then the rest" : ""}`
      : ledger
        ? `${notSent > 0 ? "the same command leaves them alone and sends the rest; " : ""}--on-unknown resend sends them again, \`rollcall ledger resolve\` settles them by hand`
        : "look into the service before sending these groups again: they may be there",
  }),
};

/** A pipe that reads a bucket's file with the bucket's own client. */
const piped = (client: string, name: string, end = ""): string =>
  `${client} ${/^\w+:\/\/[\w./-]+$/.test(name) && !name.endsWith("/") ? name : `${name.slice(0, 5)}bucket/key`}${end} | rollcall log <model-id> --split train`;

/** What gives access to a file at an address. */
const remoteAccess: Readonly<Record<RemoteStore, string>> = {
  web: "give a signed address; or pipe the file into standard input: curl … | rollcall … -",
  hub: "HF_TOKEN is a token that may read it; a dataset that is not there is answered in the same way",
};

/** How a run goes on that was stopped: what has to change first, where the same command again would be stopped again. */
const wayOn = (about: About, ledger: boolean): string => {
  const rest = ledger
    ? "the same command again sends what is left, and nothing twice"
    : "without a ledger the same command logs everything again: send the rest by itself";
  const first = firstStep(about);
  return first === undefined ? rest : `${first}; then ${rest}`;
};

/** What has to change before the same command gets further; undefined where nothing has. */
const firstStep = ({ cause, problems = [], retryable }: About): string | undefined => {
  if (isFailure(cause, "credential-refused")) return clientWords["credential-refused"](cause.data, cause.about).hint;
  if (isFailure(cause, "address-wrong")) return clientWords["address-wrong"](cause.data, cause.about).hint;
  if (isFailure(cause, "nothing-there")) return clientWords["nothing-there"](cause.data, cause.about).hint;
  if (isFailure(cause, "redirected")) return clientWords.redirected(cause.data, cause.about).hint;
  if (isFailure(cause, "request-too-large"))
    return trajectoriesWords["request-too-large"](cause.data, cause.about).hint;
  if (isFailure(cause, "input-changed")) return "wait until nothing writes to the file any more";
  if (isFailure(cause, "input-invalid")) {
    const fix = (problems.length === 1 ? problems[0]?.advice : undefined) ?? "fix what it names";
    return fixOrSkip(fix, cause.data).hint;
  }
  if (isFailure(cause, "request-refused") && problems.length > 0) return `fix what it names; or ${skipRefused}`;
  return retryable === false && !(cause instanceof Failure && cause.retryable)
    ? "the same is answered again until what stopped the run is put right"
    : undefined;
};

const stopOf = ({ stoppedBy = "internal", http, problems = [], cause }: About): string => {
  const [first] = problems;
  if (first === undefined) {
    const isBusy = stoppedBy === "unavailable" && http?.status !== undefined;
    const word = isBusy ? "the service takes none for now" : (ledgerStop(cause) ?? refusedCredential(cause));
    return `${word ?? stopWords[stoppedBy] ?? "the run stopped"}${answerIn(http)}`;
  }
  // What it said of each branch of a union was folded to what it means.
  const status = http?.status === undefined ? "" : ` (${http.status})`;
  const said =
    problems.length === 1 ? `: ${fieldOf(first)}${first.message} [${first.rule}]` : `, for ${problems.length} reasons`;
  const word = isFailure(cause, "input-invalid") ? "the input has errors" : stopWords[stoppedBy];
  return `${word ?? "the run stopped"}${status}${said}`;
};

/** Why nobody knows what became of a request, and what came of trying it again, as far as that is known. */
const sinceOf = (
  { doubt, again }: Pick<ReasonData<"log-unknown">, "doubt" | "again">,
  { cause }: Pick<About, "cause">,
): string => {
  const why = doubt ?? (isFailure(cause, "interrupted") ? cause : undefined);
  const since = why === undefined ? "" : `, since ${endedWords(why)}`;
  return again === undefined ? since : `${since}, and when it was tried again ${endedWords(again)}`;
};

/** What a try ended with, as a sentence. */
const endedWords = (failure: unknown): string => {
  const isTold = isFailure(failure, "no-connection") && failure.data.code === "ABORTED";
  if (isTold || isFailure(failure, "interrupted")) return "the run was told to stop before the answer came";
  if (isFailure(failure, "no-connection")) return breakWords(failure.data);
  const http = failure instanceof Failure ? failure.about.http : undefined;
  if (http?.status === undefined) return "the answer says nothing of it";
  return `the service answered ${http.status}${http.said === undefined ? "" : ` (${http.said})`}`;
};

const answerIn = (http: HttpFacts | undefined): string => {
  if (http?.status === undefined) return "";
  return http.said === undefined ? ` (${http.status})` : ` (${http.status}): ${http.said}`;
};

const refusedCredential = (cause: About["cause"]): string | undefined =>
  isFailure(cause, "credential-refused") && cause.data.from !== undefined
    ? `the service refused the credential from ${cause.data.from}`
    : undefined;

/** What of a ledger or a rejects file stopped a run; undefined where nothing of it did. */
const ledgerStop = (cause: About["cause"]): string | undefined => {
  if (isFailure(cause, "lease-lost"))
    return "the run was without word from the ledger for so long that others may send its groups";
  if (isFailure(cause, "rejects-unwritable"))
    return `${cause.data.file} can't be written: ${systemWords(cause.data.code)}`;
  if (isFailure(cause, "ledger-busy")) return trajectoriesWords["ledger-busy"](cause.data, cause.about).message;
  if (isFailure(cause, "database-away")) return "the ledger's database did not answer";
  return isFailure(cause, "database-refused") ? "the ledger's database lets nobody in" : undefined;
};

const stopWords: Readonly<Record<string, string>> = {
  storage: "a file of rollcall's own can't be used",
  usage: "a setting is missing or unusable",
  auth: "the service refused the credential",
  refused: "the service refused a request",
  unavailable: "the service can't be reached",
  not_found: "the service does not know the model",
  invalid_input: "the input changed, or can't be read any more",
  interrupted: "the run was interrupted",
};

/** How the groups are sent that are valid; undefined where there are none. */
const skipping = ({ valid = 0 }: ReasonData<"input-invalid">): string | undefined =>
  valid === 0
    ? undefined
    : `--on-invalid skip sends what is valid${valid === "some" ? "" : ` (${counted(valid, "group")})`} and sets the rest aside`;

function invalidWords(data: ReasonData<"input-invalid">, { problems = [] }: About): Sentences {
  const { counts, unsent } = data;
  const errors = counts.filter(({ severity }) => severity === "error");
  const total = errors.reduce((sum, { count }) => sum + count, 0);
  const [first] = problems;
  if (total === 1 && first !== undefined) {
    return {
      message: `${first.column === undefined ? fieldOf(first) : placeOf(first)}${first.message} [${first.rule}]`,
      ...fixOrSkip(first.advice, data),
    };
  }
  const rules = errors.map(({ rule, count }) => `${count} ${rule}`).join(", ");
  return {
    message: `the input has ${total} errors (${rules})${unsent ? ": nothing was sent" : ""}`,
    ...hintOf(skipping(data)),
  };
}

/** What fixes a problem, or else how the valid groups are sent; what says that by itself is not told it twice. */
const fixOrSkip = (fix: string | undefined, data: ReasonData<"input-invalid">): { readonly hint?: string } =>
  hintOf(fix, fix?.includes("--on-invalid skip") === true ? undefined : skipping(data));

const hintOf = (...ways: readonly (string | undefined)[]): { readonly hint?: string } => {
  const known = ways.filter((way) => way !== undefined);
  return known.length === 0 ? {} : { hint: known.join("; or ") };
};

const sizeOf = (bytes: number): string =>
  bytes < 1024 ? `${bytes} bytes` : bytes < 2 ** 20 ? `${round(bytes / 1024)} KiB` : `${round(bytes / 2 ** 20)} MiB`;

const round = (value: number): number => Math.round(value * 10) / 10;
