/** Takes what was read to the service: against the ledger, by a plan, request by request, and says what became of it. */
import { basename } from "node:path";
import type { Problems } from "../check/rules/problems.ts";
import type { Client } from "../client/index.ts";
import { Failure, isFailure } from "../failure.ts";
import {
  assignDedupKeys,
  type DedupKeys,
  firstFileOf,
  invalidInput,
  type Reading,
  takeBackGroups,
} from "../groups/index.ts";
import { isRemote } from "../input/remote-names.ts";
import { EarlierRuns, openRunLedger, type RunLedger, type RunLedgerOptions } from "../ledger/index.ts";
import { chunksOf } from "./body.ts";
import { GroupOutcomes } from "./group-outcomes.ts";
import { type Compression, packed } from "./packed.ts";
import { cutRequests, type Frame, frameOf, type Plan, planRequests } from "./plan.ts";
import type { Rejected } from "./reject/rejected-lines.ts";
import { checkRejectsFree, nothingWritten, writeRejects } from "./reject/rejects-file.ts";
import { type Job, nothingSent, type SendProgress, type SendResult } from "./requests.ts";
import { filesOf, type LogResult, logResult, type WouldBeSent } from "./result.ts";
import { marksOfRequest, Sender } from "./sender.ts";
import { jobOfEntry, mayResend, type OnUnknown } from "./unknown.ts";

/** What stops a run, and what it goes on after. */
export type StopOrSkip = "stop" | "skip";

/** How a reading is delivered. */
export interface DeliverOptions extends RunLedgerOptions {
  /** What tells this log address, or this local store, from others; asked for once it is needed. */
  readonly destination: () => Promise<string>;
  readonly client: () => Promise<Client>;
  /** Largest body, in bytes. */
  readonly maxRequestBytes: number;
  readonly oneRequest: boolean;
  readonly concurrency: number;
  readonly onInvalid: StopOrSkip;
  readonly onRefused: StopOrSkip;
  readonly onUnknown: OnUnknown;
  /** Undefined for the first file's name with `.rejected`. */
  readonly rejects: string | undefined;
  /** Takes secrets out of JSON that is written to a file. */
  readonly redact: (json: string) => string;
  /** Undefined where requests go as they are. */
  readonly compress: Compression | undefined;
  /** Which body, from 1, is written instead of being sent, as it would be; each piece is valid until it was written. */
  readonly body?: { readonly number: number; readonly write: (piece: Uint8Array) => Promise<void> } | undefined;
  /** Told once where the first request took long and more are to come, one after the other. */
  readonly onSlow: (ms: number, left: number) => void;
  readonly onProgress: (progress: SendProgress) => void;
  /** Told how many requests of earlier runs, of unknown outcome, are sent again since the service honours their keys. */
  readonly onSettling: (requests: number) => void;
}

/**
 * Delivers what was read. What the network or the service does is in the result.
 * @throws Failure `input-invalid`, `one-request-too-large`, `rejects-…`, `ledger-…`, and all of code `storage`, before anything is sent
 */
export const deliverReading = async (reading: Reading, options: DeliverOptions): Promise<LogResult> => {
  const outcomes = new GroupOutcomes(reading.groups.count);
  rejectInvalid(reading, { outcomes, onInvalid: options.onInvalid, sends: true });
  const destination = await options.destination();
  const input = basename(firstFileOf(reading));
  let runLedger: RunLedger | undefined;
  try {
    runLedger = await openRunLedger(options, { destination, input });
    await runLedger.hold();
    const marks = assignDedupKeys(reading.groups);
    const { resendLogged } = options;
    const earlier = new EarlierRuns({ numberOf: marks.find, input, resendLogged });
    await earlier.take(runLedger.entries());
    return await deliver(reading, { ...options, outcomes, runLedger, marks, earlier });
  } catch (thrown) {
    if (!isFailure(thrown, "interrupted")) throw unsent(thrown);
    // A signal while another run is waited for: nothing was sent, and that is a result too.
    return logResult(reading, { ...options, outcomes, sent: nothingSent(thrown), ledger: null });
  } finally {
    await runLedger?.close();
  }
};

/**
 * Writes what of a reading is not valid to a file of its own, which must not be there, with the reasons beside it; gives
 * the file. @throws Failure `rejects-exist`, `rejects-unwritable`, `option-needs`
 */
export const writeRejected = async (
  reading: Reading,
  { rejects, redact }: Pick<DeliverOptions, "rejects" | "redact">,
): Promise<string> => {
  const path = rejectsPath(firstFileOf(reading), { onInvalid: "skip", onRefused: "stop", rejects }) ?? "";
  const outcomes = new GroupOutcomes(reading.groups.count);
  rejectInvalid(reading, { outcomes, onInvalid: "skip", sends: false });
  await checkRejectsFree(path, { written: nothingWritten, needed: true });
  await writeRejects(reading, { path, rejected: rejectedOf(outcomes, undefined), written: nothingWritten, redact });
  return path;
};

/** A failure of the ledger from before the first request, which says so. */
export const unsent = (thrown: unknown): unknown =>
  thrown instanceof Failure && thrown.code === "storage" ? thrown.also({ unsent: true }) : thrown;

interface Delivery extends DeliverOptions {
  readonly outcomes: GroupOutcomes;
  readonly runLedger: RunLedger;
  readonly marks: DedupKeys;
  readonly earlier: EarlierRuns;
}

const deliver = async (reading: Reading, options: Delivery): Promise<LogResult> => {
  const { outcomes, runLedger, dryRun, split } = options;
  const rejects = rejectsPath(firstFileOf(reading), options);
  if (rejects !== undefined && !dryRun) {
    // What the service will refuse, nobody knows before.
    const needed = options.onRefused === "skip" || outcomes.which("rejected").length > 0;
    await checkRejectsFree(rejects, { written: runLedger.written, needed });
  }
  const { errors } = reading.problems;
  const resent = takeEarlier(reading, options);
  if (resent.length > 0 && options.onUnknown !== "resend") options.onSettling(resent.length);
  const plan = planRequests(reading, {
    split,
    groups: outcomes.which("not_sent"),
    // What an address once refused may pass now: who wants one request gets one try.
    limit: options.oneRequest ? options.maxRequestBytes : limitOf(options),
    found: !options.oneRequest && limitOf(options) < options.maxRequestBytes,
    oneRequest: options.oneRequest,
  });
  // The ledger and the plan have warnings of their own, which `--strict` makes errors.
  if (reading.problems.errors > errors) throw invalidInput(reading.problems, filesOf(reading), { unsent: true });
  const jobs = [...resent, ...plan.requests.map((request) => ({ request }))];
  if (dryRun) await writeBody(reading, { ...options, frame: plan, jobs });
  const sent = dryRun || jobs.length === 0 ? undefined : await send(reading, { ...options, plan, jobs });
  const replaced = sent === undefined ? [] : await replacedOf(reading);
  await takeBackRefused(reading, sent);
  const rejected = rejectedOf(outcomes, sent);
  const file = rejects !== undefined && rejected.length > 0 && !dryRun ? rejects : undefined;
  const written = file === undefined ? undefined : await tryToWrite(reading, { ...options, path: file, rejected });
  const unwritten = written instanceof Failure ? written : undefined;
  const rejectsFile = unwritten === undefined ? file : undefined;
  const planned = dryRun ? jobs.map((job) => plannedOf(job, options)) : undefined;
  const facts = {
    planned,
    sent,
    replaced,
    rejectsFile,
    rejectsEmpty: written === 0,
    unwritten,
    ledger: runLedger.facts,
  };
  return logResult(reading, { ...options, ...facts });
};

const plannedOf = ({ request, recorded }: Job, { runLedger, marks }: Delivery): WouldBeSent => ({
  groups: request.groups.length,
  bytes: request.bytes,
  key: recorded?.key ?? runLedger.keyFor(marksOfRequest(request, marks)),
});

/** Names of inputs whose place another file took while they were sent. */
const replacedOf = async ({ sources }: Reading): Promise<readonly string[]> => {
  const names: string[] = [];
  for (const source of sources) if (await source.replaced?.()) names.push(source.name);
  return names;
};

/** Writes the body that was asked for. @throws Failure `option-value-wrong` where there is no such request */
const writeBody = async (
  reading: Reading,
  { body, compress, frame, jobs }: Delivery & { readonly frame: Frame; readonly jobs: readonly Job[] },
): Promise<void> => {
  if (body === undefined) return;
  const request = jobs[body.number - 1]?.request;
  if (request === undefined) {
    const wanted = jobs.length === 0 ? "nothing: there is no request to send" : `a number from 1 to ${jobs.length}`;
    throw new Failure("option-value-wrong", { option: "--body", value: String(body.number), wanted });
  }
  const chunks = chunksOf(reading, { frame, request });
  for await (const piece of compress === undefined ? chunks : await packed(chunks, compress)) await body.write(piece);
};

const send = async (
  reading: Reading,
  { plan, jobs, ...options }: Delivery & { readonly plan: Plan; readonly jobs: readonly Job[] },
): Promise<SendResult> => {
  const client = await options.client();
  const sender = new Sender(reading, { ...options, client, frame: plan, skipRefused: options.onRefused === "skip" });
  await sender.send(jobs);
  await sendLeft(reading, { ...options, plan, sender });
  return sender.result;
};

/** How long is waited at most before groups are asked for again that other runs have. */
const lookMs = 2000;

/** Waits for what other runs make of groups that they had, and sends those that are left over. */
const sendLeft = async (
  reading: Reading,
  options: Delivery & { readonly plan: Plan; readonly sender: Sender },
): Promise<void> => {
  const { sender, host, runLedger, earlier, outcomes, plan, maxWaitMs } = options;
  let since = host.elapsed();
  let left = sender.takeElsewhere();
  while (left.length > 0 && sender.result.stop === undefined) {
    try {
      await runLedger.hold();
      await earlier.take(runLedger.entries());
      for (const group of left) outcomes.set(group, earlier.outcomeOf(group));
      const groups = left.filter((group) => outcomes.of(group) === "not_sent");
      if (groups.length === 0) return;
      const waitedMs = host.elapsed() - since;
      if (waitedMs > maxWaitMs) throw new Failure("ledger-busy", { path: runLedger.facts?.path ?? "", waitedMs });
      await host.sleep(host.random() * lookMs, host.signal);
      const requests = cutRequests(reading, { frame: plan, groups, limit: limitOf(options) });
      await sender.send(requests.map((request) => ({ request })));
      left = sender.takeElsewhere();
      if (left.length < groups.length) since = host.elapsed();
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      sender.stopWith(thrown);
    }
  }
};

/** Takes what the service refused out of the metrics; what can't be read again stays in them. */
export const takeBackRefused = async (reading: Reading, sent: SendResult | undefined): Promise<void> => {
  try {
    await takeBackGroups(
      reading,
      (sent?.refused ?? []).map(({ group }) => group),
    );
  } catch (thrown) {
    if (!isFailure(thrown, "input-changed") && !isFailure(thrown, "input-unreadable")) throw thrown;
  }
};

/** Writes the rejects file; gives its lines, or what kept it from being written, which is no reason to hide what was logged. */
const tryToWrite = async (
  reading: Reading,
  {
    path,
    rejected,
    redact,
    runLedger: { written },
  }: Pick<Delivery, "redact" | "runLedger"> & { readonly path: string; readonly rejected: readonly Rejected[] },
): Promise<Failure | number> => {
  try {
    return await writeRejects(reading, { path, rejected, written, redact });
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
};

/** The largest body that is sent: what was asked for, or what the address was found to take. */
export const limitOf = ({
  maxRequestBytes,
  runLedger: { maxBytes = Number.POSITIVE_INFINITY },
}: Pick<Delivery, "maxRequestBytes" | "runLedger">): number => Math.min(maxRequestBytes, maxBytes);

/** Marks groups with errors as rejected, where that was asked for. @throws Failure `input-invalid` */
const rejectInvalid = (
  reading: Reading,
  {
    outcomes,
    onInvalid,
    sends,
  }: { readonly outcomes: GroupOutcomes; readonly onInvalid: StopOrSkip; readonly sends: boolean },
): void => {
  const { problems, groups } = reading;
  if (problems.errors === 0) return;
  let valid = 0;
  for (let group = 0; group < groups.count; group++) {
    if (groups.isValid(group)) valid++;
    else outcomes.set(group, "rejected");
  }
  if (onInvalid === "skip" && valid > 0 && !problems.breaksInput) return;
  throw invalidInput(problems, filesOf(reading), { unsent: sends, valid: problems.breaksInput ? 0 : valid });
};

/** Takes over what became of groups in earlier runs; gives the requests with an unknown outcome that are sent again. */
const takeEarlier = (reading: Reading, options: Delivery): readonly Job[] => {
  const { outcomes, marks, earlier, split } = options;
  const { problems } = reading;
  let elsewhere = 0;
  for (let group = 0; group < outcomes.count && !earlier.isEmpty; group++) {
    const outcome = earlier.outcomeOf(group);
    if (outcome === "not_sent") continue;
    if (earlier.wasLoggedElsewhere(group)) elsewhere++;
    if (outcomes.of(group) !== "rejected") outcomes.set(group, outcome);
  }
  reportEarlier(problems, { ...options, elsewhere, at: earlier.loggedElsewhereAt });
  const jobs: Job[] = [];
  const frame = frameOf(reading, split);
  for (const entry of earlier.unknownEntries) {
    if (!mayResend(entry, options)) continue;
    const job = jobOfEntry(reading, { frame, marks, entry });
    if ("request" in job) jobs.push(job);
    else problems.report("unknown-not-whole", { id: entry.id, lacks: job.lacks }, () => ({}));
  }
  const left = earlier.unknownEntries.length - jobs.length;
  if (left > 0) {
    const groups = outcomes.which("unknown").length - jobs.reduce((sum, { request }) => sum + request.groups.length, 0);
    problems.report("unknown-left", { requests: left, groups: Math.max(groups, 0) }, () => ({}));
  }
  return jobs;
};

/** Reports groups that were logged from an input of another name, last at a time, and a ledger that knows of no earlier run. */
export const reportEarlier = (
  problems: Problems,
  {
    elsewhere: groups,
    at,
    batch,
    runLedger: { facts },
    host,
  }: Pick<Delivery, "batch" | "runLedger" | "host"> & { readonly elsewhere: number; readonly at: number },
): void => {
  if (groups > 0 && batch === undefined) {
    problems.report("logged-before", { groups, at: new Date(at).toISOString() }, () => ({}));
  }
  if (facts?.created === true && host.env.CI) problems.report("ledger-new", { path: facts.path }, () => ({}));
};

/**
 * Where rejected lines go; undefined where nothing is rejected.
 * @param input the first file, `-` for standard input
 * @throws Failure `rejects-needed`
 */
export const rejectsPath = (
  input: string,
  { rejects, onInvalid, onRefused }: Pick<DeliverOptions, "rejects" | "onInvalid" | "onRefused">,
): string | undefined => {
  if (onInvalid === "stop" && onRefused === "stop") return undefined;
  const remote = isRemote(input);
  if (rejects === undefined && (input === "-" || remote)) throw new Failure("rejects-needed", { remote });
  return rejects ?? `${input}.rejected`;
};

/** Every rejected group, in the order of the input. */
const rejectedOf = (outcomes: GroupOutcomes, sent: SendResult | undefined): readonly Rejected[] => {
  const said = new Map((sent?.refused ?? []).map(({ group, problems }) => [group, problems]));
  return Array.from(outcomes.which("rejected"), (group) => ({ group, problems: said.get(group) ?? [] }));
};
