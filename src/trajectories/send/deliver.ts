/** Takes what was read to the service: against the ledger, by a plan, request by request, and says what became of it. */
import { basename } from "node:path";
import type { Client } from "../../client/index.ts";
import { Failure, isFailure } from "../../failure.ts";
import type { Host } from "../../host.ts";
import { type Known, knownOf, takeStates } from "../ledger/earlier-runs.ts";
import type { Entry } from "../ledger/ledger.ts";
import { groupsOfEntry, isSameRequest } from "../ledger/record.ts";
import type { LedgerChoice, Session } from "../ledger/run-ledger.ts";
import { marksOf } from "../read/parts/marks.ts";
import { invalidInput, type Reading } from "../read/read.ts";
import { checkRejectsFree, type Rejected, writeRejects } from "../reject/rejects-file.ts";
import { subjectOf } from "../rules/rules.ts";
import { Fates } from "./group-outcomes.ts";
import { frameOf, type Plan, planRequests, requestOf } from "./plan.ts";
import { type Job, nothingSent, type Sending } from "./requests.ts";
import { type LogResult, logResult } from "./result.ts";
import { isHonoured, type OnUnknown } from "./retry.ts";
import type { SendProgress } from "./send-progress.ts";
import { sendRequests } from "./sender.ts";

/** What stops a run, and what it goes on after. */
export type StopOrSkip = "stop" | "skip";

/** How a reading is delivered. */
export interface DeliverOptions {
  readonly host: Host;
  readonly modelId: string;
  readonly split: string;
  readonly batch: string | undefined;
  readonly account: string;
  /** What tells this log address, or this local store, from others; asked for once it is needed. */
  readonly destination: () => Promise<string>;
  readonly client: () => Promise<Client>;
  /** Largest body, in bytes. */
  readonly maxRequestBytes: number;
  readonly oneRequest: boolean;
  readonly concurrency: number;
  readonly idempotency: boolean;
  readonly maxWaitMs: number;
  readonly dryRun: boolean;
  /** Undefined for none at all. */
  readonly ledger: LedgerChoice | undefined;
  readonly resendLogged: boolean;
  readonly onInvalid: StopOrSkip;
  readonly onRefused: StopOrSkip;
  readonly onUnknown: OnUnknown;
  /** Undefined for the first file's name with `.rejected`. */
  readonly rejects: string | undefined;
  /** Told that another run of the same scope is waited for. */
  readonly onWait: () => void;
  readonly onProgress: (progress: SendProgress) => void;
}

/**
 * Delivers what was read. What the network or the service does is in the result.
 * @throws Failure `input-invalid`, `one-request-too-large`, `rejects-…`, `ledger-…`, and all of code `storage`, before anything is sent
 */
export const deliverReading = async (reading: Reading, options: DeliverOptions): Promise<LogResult> => {
  const fates = new Fates(reading.groups.count);
  rejectInvalid(reading, { fates, onInvalid: options.onInvalid });
  const destination = await options.destination();
  const { modelId: model, split, batch = null, account, host, ledger, maxWaitMs, onWait } = options;
  const input = basename(reading.sources[0]?.name ?? "");
  let session: Session | undefined;
  try {
    const { openSession } = await import("../ledger/run-ledger.ts");
    session = await openSession({
      host,
      marks: marksOf(reading.groups.digests()),
      ledger,
      scope: { destination, account, model, split, batch },
      input,
      maxWaitMs,
      readOnly: options.dryRun,
      again: options.resendLogged,
      keyed: options.idempotency,
      onWait,
    });
    const known = knownOf(session.entries(), session.marks, input);
    return await deliver(reading, { ...options, fates, session, known });
  } catch (thrown) {
    // A signal while another run is waited for: nothing was sent, and that is a result too.
    if (!isFailure(thrown, "interrupted")) throw thrown;
    return logResult(reading, { ...options, fates, jobs: [], sending: nothingSent(thrown), ledger: null });
  } finally {
    session?.close();
  }
};

interface Delivery extends DeliverOptions {
  readonly fates: Fates;
  readonly session: Session;
  readonly known: Known;
}

const deliver = async (reading: Reading, options: Delivery): Promise<LogResult> => {
  const { fates, session, dryRun, split } = options;
  const skips = options.onInvalid === "skip" || options.onRefused === "skip";
  const rejects = skips ? rejectsPath(reading, options) : undefined;
  if (rejects !== undefined && !dryRun) {
    // What the service will refuse, nobody knows before.
    const needed = options.onRefused === "skip" || fates.which("rejected").length > 0;
    await checkRejectsFree(rejects, { written: session.written, needed });
  }
  const { errors } = reading.problems;
  const earlier = takeKnown(reading, options);
  const plan = planRequests(reading, {
    split,
    groups: fates.which("not_sent"),
    // What an address once refused may pass now: who wants one request gets one try.
    limit: options.oneRequest
      ? options.maxRequestBytes
      : Math.min(options.maxRequestBytes, session.record.maxBytes ?? Number.POSITIVE_INFINITY),
    oneRequest: options.oneRequest,
  });
  // The ledger and the plan have warnings of their own, which `--strict` makes errors.
  if (reading.problems.errors > errors) throw invalidInput(reading.problems, namesOf(reading), { unsent: true });
  const jobs = [...earlier, ...plan.requests.map((request) => ({ request }))];
  const sending = dryRun ? undefined : await send(reading, { ...options, plan, jobs });
  const rejected = rejectedOf(fates, sending);
  const file = rejects !== undefined && rejected.length > 0 && !dryRun ? rejects : undefined;
  const unwritten = file === undefined ? undefined : await tryToWrite(reading, { path: file, rejected, session });
  const rejectsFile = unwritten === undefined ? file : undefined;
  return logResult(reading, { ...options, jobs, sending, rejectsFile, unwritten, ledger: session.ledger });
};

const send = async (
  reading: Reading,
  { plan, jobs, ...options }: Delivery & { readonly plan: Plan; readonly jobs: readonly Job[] },
): Promise<Sending | undefined> => {
  if (jobs.length === 0) return undefined;
  const { onRefused, session } = options;
  const client = await options.client();
  return await sendRequests(reading, {
    ...options,
    client,
    frame: plan,
    jobs,
    record: session.record,
    skipRefused: onRefused === "skip",
  });
};

/** Writes the rejects file; gives what kept it from being written, which is no reason to hide what was logged. */
const tryToWrite = async (
  reading: Reading,
  {
    path,
    rejected,
    session: { written },
  }: { readonly path: string; readonly rejected: readonly Rejected[]; readonly session: Session },
): Promise<Failure | undefined> => {
  try {
    await writeRejects(reading, { path, rejected, written });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof Failure) return thrown;
    throw thrown;
  }
};

/** Marks groups with errors as rejected, where that was asked for. @throws Failure `input-invalid` */
const rejectInvalid = (
  reading: Reading,
  { fates, onInvalid }: { readonly fates: Fates; readonly onInvalid: StopOrSkip },
): void => {
  const { problems, groups } = reading;
  if (problems.errors === 0) return;
  let valid = 0;
  for (let group = 0; group < groups.count; group++) {
    if (groups.isValid(group)) valid++;
    else fates.set(group, "rejected");
  }
  const whole = problems.counts.some(({ rule, severity }) => severity === "error" && subjectOf(rule) === "input");
  if (onInvalid === "skip" && valid > 0 && !whole) return;
  throw invalidInput(problems, namesOf(reading), { unsent: true, valid: whole ? 0 : valid });
};

const namesOf = ({ sources }: Reading): readonly string[] => sources.map(({ name }) => name);

/** Takes over what the ledger knows: what is logged, and what is unknown; gives the unknown requests to send again. */
const takeKnown = (reading: Reading, { fates, session, known, ...options }: Delivery): readonly Job[] => {
  const { ledger, marks } = session;
  const { problems } = reading;
  takeStates(known, { fates, resendLogged: options.resendLogged });
  if (known.otherInput.groups > 0 && options.batch === undefined && !options.resendLogged) {
    const { groups, at } = known.otherInput;
    problems.report("logged-before", { groups, at: new Date(at).toISOString() }, () => ({}));
  }
  if (ledger?.created === true && options.host.env.CI) problems.report("ledger-new", { path: ledger.path }, () => ({}));
  const jobs: Job[] = [];
  for (const entry of known.unknown) {
    if (!isResent(entry, { ...options, session })) continue;
    const groups = groupsOfEntry(marks, entry);
    const request = groups && requestOf(reading, { frame: frameOf(reading, options.split), groups });
    if (request === undefined || !isSameRequest(request, entry)) {
      problems.report(
        "unknown-not-whole",
        { id: entry.id, lacks: request === undefined ? "groups" : "keys" },
        () => ({}),
      );
      continue;
    }
    jobs.push({ request, ticket: { id: entry.id, key: entry.key, firstTried: entry.firstTried } });
  }
  const left = known.unknown.length - jobs.length;
  if (left > 0) {
    const groups = fates.which("unknown").length - jobs.reduce((sum, { request }) => sum + request.groups.length, 0);
    problems.report("unknown-left", { requests: left, groups: Math.max(groups, 0) }, () => ({}));
  }
  return jobs;
};

/** Whether an unknown request is sent again: a person said so, or the service is known to honour its key. */
export const isResent = (
  entry: Entry,
  {
    session,
    ...options
  }: Pick<DeliverOptions, "resendLogged" | "onUnknown" | "idempotency" | "host"> & { readonly session: Session },
): boolean =>
  !options.resendLogged &&
  (options.onUnknown === "resend" || isHonoured(entry, { ...options, record: session.record }));

/** Where rejected lines go. @throws Failure `rejects-needed` */
export const rejectsPath = (
  { sources }: { readonly sources: readonly { readonly name: string }[] },
  { rejects }: Pick<DeliverOptions, "rejects">,
): string => {
  if (rejects !== undefined) return rejects;
  const name = sources[0]?.name ?? "-";
  if (name === "-") throw new Failure("rejects-needed", {});
  return `${name}.rejected`;
};

/** Every rejected group, in the order of the input. */
export const rejectedOf = (fates: Fates, sending: Sending | undefined): readonly Rejected[] => {
  const said = new Map((sending?.refused ?? []).map(({ group, problems }) => [group, problems]));
  return Array.from(fates.which("rejected"), (group) => ({ group, problems: said.get(group) ?? [] }));
};
