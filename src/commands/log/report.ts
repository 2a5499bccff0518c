/** What `log` says: how far it is, what became of everything, and which command to run next. */

import type { Context, GlobalFlags } from "../../context.ts";
import { counted } from "../../counted.ts";
import { type Failure, isFailure, problemFacts } from "../../failure.ts";
import { membersText } from "../../json/compose.ts";
import { parsedJson } from "../../json/walk.ts";
import type { Meter, MeterEvent, MeterForm, Screen } from "../../output/index.ts";
import type { FollowEvent, LogResult, SendProgress } from "../../send/index.ts";
import type { Settings } from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import { type Fact, unreadableFact, unreadableText } from "../inputs/findings.ts";
import type { Run } from "./run.ts";

/** The document of `log --json`; the service's answers stand in it as they came. */
export const logDocument = (result: LogResult, target: PlanTarget | undefined): Uint8Array => {
  const answers = responses(result);
  const measured = measuredOf(result);
  const whole = {
    status: result.status,
    model_id: result.modelId,
    split: result.split ?? null,
    batch: result.batch,
    requests: result.requests,
    bytes: result.bytes,
    groups: result.groups,
    trajectories: result.trajectories,
    metrics: result.metrics,
    ...(measured === undefined ? {} : { metrics_of: measured }),
    responses: null,
    rejects_file: result.rejectsFile,
    ledger: result.ledger,
    warnings: result.warnings.map(problemFacts),
    ...unreadableFact(result.unreadable),
    not_chosen: result.leftOut,
    ...(result.status === "planned" ? { plan: planDocument(result, target) } : {}),
  };
  const text = ([key, value]: [string, unknown]) =>
    [key, key === "responses" ? answers : JSON.stringify(value)] as const;
  return Buffer.from(membersText(Object.entries(whole).map(text)));
};

/** Where the requests of a plan would go; no address is null, as is that of the local service, which is another in every run. */
const planDocument = ({ planned }: LogResult, target: PlanTarget | undefined) => ({
  method: "POST",
  url: target !== undefined && /^https?:/.test(target.url) ? target.url : null,
  headers: Object.fromEntries((target?.headers ?? []).map((line) => line.split(/: (.*)/s, 2))),
  requests: planned.map(({ groups, bytes, key }) => ({ groups, bytes, idempotency_key: key })),
});

const responses = ({ answers }: LogResult): string => {
  const entries = answers.map(({ status, body, bytes }) =>
    body === undefined
      ? `{"status":${status},"body":null,"body_bytes":${bytes}}`
      : `{"status":${status},"body":${bodyJson(body)}}`,
  );
  return `[${entries.join(",")}]`;
};

/** An answer's body as JSON: as it came where it is JSON, else its text. */
const bodyJson = (body: Uint8Array): string => {
  const text = Buffer.from(body).toString("utf8");
  if (text === "") return "null";
  return parsedJson(text) === undefined ? JSON.stringify(text) : text;
};

/** What became of a run of `log`, in lines. */
export const logFacts = async (result: LogResult): Promise<readonly Fact[]> => {
  const { status, split, groups, batch, rejectsFile } = result;
  return [
    { name: "status", value: await statusText(result) },
    { name: "model", value: result.modelId },
    ...(split === undefined ? [] : [{ name: "split", value: split }]),
    ...(batch === null ? [] : [{ name: "batch", value: batch }]),
    { name: "groups", value: `${countsText(groups, status)}${unreadableText(result.unreadable)}` },
    { name: "trajectories", value: countsText(result.trajectories, status) },
    { name: "requests", value: result.requests },
    { name: "bytes", value: result.bytes },
    ...(rejectsFile === null ? [] : [{ name: "rejects", value: rejectsFile }]),
  ];
};

/** Groups that metrics are of, and those of them that are with the service: where the run did not log them all. */
const measuredOf = ({ metrics, groups, status }: LogResult) => {
  const measured = { groups: groups.read - groups.rejected, logged: groups.logged + groups.already_logged };
  const isAll = status === "planned" || measured.logged >= measured.groups;
  return isAll || Object.keys(metrics).length === 0 ? undefined : measured;
};

/** What the metrics are of, if a reader would take them for those of what was logged. */
export const measuredText = (result: LogResult): string | undefined => {
  const measured = measuredOf(result);
  if (measured === undefined) return undefined;
  return `all ${counted(measured.groups, "valid group")} of the input, ${measured.logged} logged`;
};

/** Where the requests of a plan would go. */
export interface PlanTarget {
  readonly method: string;
  readonly url: string;
  /** Those of every request that may be shown, a line each. */
  readonly headers: readonly string[];
  /** Whether each has an `Idempotency-Key` too. */
  readonly hasKeys: boolean;
}

/** Requests of a plan that are shown one by one. */
const mostPlanned = 20;

/** Each request that would be sent: where it would go, how large it is, and the headers that all of them have. */
export const planFacts = ({ planned }: LogResult, target: PlanTarget | undefined): readonly Fact[] => {
  const to = target === undefined ? "no address is set" : `${target.method} ${target.url}`;
  const left = planned.length - mostPlanned;
  return [
    ...planned.slice(0, mostPlanned).map(({ groups, bytes }, at) => ({
      name: `request ${at + 1}`,
      value: `${to}, ${bytes} bytes, ${counted(groups, "group")}`,
    })),
    ...(left > 0 ? [{ name: "more", value: counted(left, "request") }] : []),
    ...(target?.headers ?? []).map((header) => ({ name: "header", value: header })),
    ...(target?.hasKeys === true ? [{ name: "header", value: `Idempotency-Key: ${keysText(planned)}` }] : []),
  ];
};

/** The key of the only request, or what is known of those of several. */
const keysText = (planned: LogResult["planned"]): string => {
  if (planned.some(({ key }) => key === null)) return "another in every run";
  return planned.length === 1 ? `${planned[0]?.key}` : "one for each request (--json has them)";
};

/** A run that logged nothing says so, and what was in the way. */
const statusText = async ({ status, obstacle }: Pick<LogResult, "status" | "obstacle">): Promise<string> => {
  if (status !== "not_sent") return status;
  return `nothing was sent${obstacle === undefined ? "" : `: ${obstacle.message}`}`;
};

/** How many, and what became of them unless all were logged, or all are planned. */
const countsText = ({ read, ...counts }: LogResult["groups"], status: LogResult["status"]): string => {
  const fates = Object.entries(counts).filter(([, count]) => count > 0);
  const isAll = counts.logged === read || (status === "planned" && counts.not_sent === read);
  if (fates.length === 0 || (fates.length === 1 && isAll)) return String(read);
  return `${read}: ${fates.map(([fate, count]) => `${count} ${fate.replace("_", " ")}`).join(", ")}`;
};

/** The failure that a run ends with, and what to run next where something is left to be done. */
export const withNext = (
  { context, settings, typed, ledger: place }: Run,
  result: LogResult,
  failure: Failure,
): Failure => {
  const { host, flags } = context;
  const { modelId, split = "", batch, rejectsFile, ledger } = result;
  const path = place?.path;
  const kept = path === undefined ? ["--no-ledger"] : path === settings.ledgerPlace()?.path ? [] : ["--ledger", path];
  const again = (): Failure => failure.also({ next: commandLine(["rollcall", ...host.words]) });
  if (isFailure(failure, "log-rejected") && rejectsFile !== null) {
    if (failure.about.isConverted === true) return ledger === null ? failure : again();
    const words = ["rollcall", "log", modelId, rejectsFile, "--split", split];
    // Without them its groups would be other groups.
    const identity = [...option("--batch", batch ?? undefined), ...option("--group-by", typed.groupBy)];
    return failure.also({ next: commandLine([...words, ...identity, ...kept, ...placeWords(flags)]) });
  }
  if (failure.code === "unknown_outcome" && !(isFailure(failure, "log-unknown") && failure.about.settles === true)) {
    const words = ["rollcall", "ledger", "status", ...kept, ...placeWords(flags)];
    return ledger === null ? failure : failure.also({ next: commandLine(words) });
  }
  return failure.retryable ? again() : failure;
};

/** The command that reads the first call that was logged; none where there is none, or no project to find it in. */
export const readNext = ({ flags }: Context, settings: Settings, { firstCall }: LogResult): string | undefined =>
  firstCall === undefined || settings.get("project") === undefined
    ? undefined
    : commandLine(["rollcall", "call", "read", firstCall, ...option("--project", flags.project), ...placeWords(flags)]);

/** The options that said which service is meant, as they were typed. */
const placeWords = (flags: GlobalFlags): readonly string[] => [
  ...(flags.local ? ["--local"] : []),
  ...option("--profile", flags.profile),
  ...option("--base-url", flags.base_url),
  ...option("--log-base-url", flags.log_base_url),
  ...(flags.insecure_http === true ? ["--insecure-http"] : []),
];

const option = (name: string, value: string | boolean | undefined): readonly string[] =>
  typeof value === "string" ? [name, value] : [];

/** Tells what became of a request; `onAgain` is told why one is tried again. */
export const tellSending = (
  meter: Meter,
  { requests, of, change }: SendProgress,
  onAgain: (why: Failure) => void,
): void => {
  if (change !== undefined) meter.tell(eventOf(change, { requests, of }));
  if (change?.again === true && change.failure !== undefined) onAgain(change.failure);
};

/** Says that requests are tried again, once for each reason in a row, and for how long. */
export const againNotice = (
  screen: Screen,
  { progress, maxWaitMs }: { readonly progress: MeterForm | undefined; readonly maxWaitMs: number },
): ((why: Failure) => void) => {
  let said = "";
  const say = async (why: Failure): Promise<void> => {
    const { message } = why;
    if (said === message) return;
    said = message;
    await screen.again(why, maxWaitMs);
  };
  // Where progress is in lines or events, one of them says so.
  return (why) => void (progress === "lines" || progress === "json" || say(why));
};

const eventOf = (
  { outcome, again, groups, bytes, reason }: NonNullable<SendProgress["change"]>,
  { requests, of }: { readonly requests: number; readonly of: number },
): MeterEvent => {
  const words = again ? `${sayings[outcome]} (${reason}), trying again` : `${sayings[outcome]} (${reason})`;
  return {
    event: `request_${outcome.replaceAll("-", "_")}`,
    text: `request ${again ? requests + 1 : requests} of ${of}, ${counted(groups, "group")}, ${bytes} bytes: ${words}`,
    facts: { again, groups, bytes, reason, requests, of_requests: of },
  };
};

const sayings = {
  logged: "logged",
  "not-sent": "not sent",
  "not-processed": "not processed",
  "too-large": "too large",
  refused: "refused",
  unknown: "outcome unknown",
} as const;

/** Says what becomes of a file: in the form of the progress, if that is in lines or events. */
export const tellEvent = ({ context, meter, typed: { progress } }: Run, event: FollowEvent, file: string): void => {
  const text = followSayings[event](file);
  if (progress === "lines" || progress === "json") meter.tell({ event: `file_${event}`, text, facts: { file } });
  else context.screen.notice(text);
};

const followSayings: Readonly<Record<FollowEvent, (file: string) => string>> = {
  waiting: (file) => `${file} is not there yet: waiting for it`,
  moved: (file) =>
    `another file is called ${file} now: the old one is read to its end, and the new one is gone on with`,
  rewritten: (file) =>
    `${file} was written anew: all that was read of it was sent before, and it is read from its start`,
};
