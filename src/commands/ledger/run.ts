/** The runs of the verbs of `rollcall ledger` (promises.md, "What the ledger promises"). */

import { contradiction } from "../../cli/index.ts";
import { isNowhere, isOfDestination, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import { problemFacts } from "../../failure.ts";
import { isDatabaseAddress } from "../../files.ts";
import type { Reading } from "../../groups/index.ts";
import {
  type Entry,
  type EntryFilter,
  type Ledger,
  openExistingLedger,
  type StandingRun,
  standingRuns,
  type Verification,
  verifyReading,
} from "../../ledger/index.ts";
import { printDocument } from "../../output/index.ts";
import { checkResult } from "../../send/index.ts";
import { askLine, canAsk } from "../../settings/index.ts";
import {
  entriesMissing,
  forgetUnconfirmed,
  ledgerDiffers,
  ledgerFilterMissing,
  ledgerPlaceless,
  optionOfTwoMissing,
} from "../failures.ts";
import { withFrames } from "../inputs/problems.ts";
import { readInputs } from "../inputs/read.ts";
import type { Moment } from "../lists/options.ts";
import { type LoggedCall, printEntries, printLoggedCalls } from "./columns.ts";
import type { TypedCalls, TypedFiles, TypedForget, TypedPlace, TypedResolve } from "./command.ts";

/** Lists the requests of the ledger, or those that hold groups of files. */
export const showStatus = async (context: Context, typed: TypedFiles): Promise<void> => {
  const everywhere = typed.allDestinations;
  if (typed.file.length === 0) {
    const { ledger, filter, elsewhere } = await open(context, typed, { toRead: true });
    const entries = await listOf(ledger?.entries(filter));
    const left = await countOf(ledger?.entries(elsewhere));
    await ledger?.close();
    if (left > 0) {
      const [are, them] = left === 1 ? ["1 request is", "it"] : [`${left} requests are`, "them"];
      context.screen.notice(`${are} of other destinations or accounts: --all-destinations shows ${them} too`);
    }
    await printEntries(context.screen, entries, { groups: null, everywhere });
    return;
  }
  const standing = await verifyFiles(context, typed, { perScope: true });
  const { read, logged, repeated, unknown, refused, not_sent } = standing;
  context.screen.notice(
    `${counted(read, "group")}: ${logged} logged, ${repeated} logged more than once, ${unknown} unknown, ${refused} refused, ${not_sent} not sent`,
  );
  await printEntries(context.screen, standing.entries, { groups: countsOf(standing), everywhere });
};

/** What settles a request without anybody's word, where something does. */
const settledByLog =
  "the same `rollcall log` command settles it within 24 hours, where the service honours Idempotency-Key; else look into the service, and give one of them";

/** Settles requests whose outcome is unknown. @throws Failure `option-of-two-missing`; `options-contradict`; `entries-missing`, before anything is changed */
export const resolve = async (context: Context, typed: TypedResolve): Promise<void> => {
  const [first, second] = ["--assume-logged", "--resend"] as const;
  const { assumeLogged, resend, id: ids } = typed;
  if (!assumeLogged && !resend) throw optionOfTwoMissing(first, second, settledByLog);
  if (assumeLogged && resend) throw contradiction(first, second, "a request was logged or it was not");
  const { ledger, filter } = await open(context, typed, { toRead: false });
  if (ledger === undefined) throw entriesMissing(ids);
  try {
    const unknown = new Set<string>();
    for await (const { id } of ledger.entries({ ...filter, states: ["unknown"] })) unknown.add(id);
    const missing = ids.filter((id) => !unknown.has(id));
    if (missing.length > 0) throw entriesMissing(missing);
    const state = resend ? "released" : "assumed_logged";
    for (const id of new Set(ids)) await ledger.resolve(id, state);
    if (context.screen.isForProgram) await printDocument(context.screen, { resolved: [...new Set(ids)], state });
    else context.screen.notice(`settled: ${[...new Set(ids)].join(", ")}`);
  } finally {
    await ledger.close();
  }
};

/** Says whether every group of the files was logged exactly once. @throws Failure `ledger-differs`, once the result was printed */
export const verify = async (context: Context, typed: TypedFiles): Promise<void> => {
  const standing = await verifyFiles(context, typed, { perScope: false });
  const { read, logged, repeated, unknown, refused, not_sent, problems, problemCounts } = standing;
  const same = logged === read;
  if (standing.files.length > 1 && !context.screen.isForProgram) {
    for (const run of standingRuns(standing.files)) context.screen.notice(runText(run));
  }
  if (context.screen.isForProgram) {
    await printDocument(context.screen, {
      status: same ? "verified" : "differs",
      groups: countsOf(standing),
      files: standing.files,
      problems: problems.map(problemFacts),
    });
  } else if (same)
    context.screen.notice(counted(read, "group: logged exactly once", "groups: each logged exactly once"));
  if (same) return;
  const differs = { read, logged, repeated, unknown, missing: not_sent + refused };
  // Nothing is wrong with the lines: their places say enough.
  throw await withFrames(context, [], ledgerDiffers(differs, { problems }), problemCounts);
};

const runText = ({ first, last, files, state, read, logged }: StandingRun): string => {
  const names = files === 1 ? first : `${first} to ${last} (${files} files)`;
  return `${names}: ${state} logged${state === "in part" ? `, ${logged} of ${read} groups` : ""}`;
};

/** Takes settled requests out of the ledger, once somebody said yes to what they are. @throws Failure `ledger-filter-missing`, `forget-unconfirmed` */
export const forget = async (context: Context, typed: TypedForget): Promise<void> => {
  const { model, batch, before } = typed;
  if ((model ?? batch ?? before) === undefined) throw ledgerFilterMissing();
  const { ledger, filter } = await open(context, typed, { toRead: false });
  try {
    await forgetOf(context, { ledger, filter, isAsked: !typed.yes });
  } finally {
    await ledger?.close();
  }
};

/** States that are settled, so that they can be forgotten. */
const settled = ["logged", "refused", "not_sent", "assumed_logged", "released"] as const;

/** Requests that are shown one by one before they are forgotten. */
const mostShown = 10;

const forgetOf = async (
  context: Context,
  { ledger, filter, isAsked }: { readonly ledger: Ledger | undefined; readonly filter: EntryFilter; isAsked: boolean },
): Promise<void> => {
  const { host, screen } = context;
  const meant = isAsked ? await listOf(ledger?.entries({ ...filter, states: settled })) : [];
  for (const { id, state, groups, scope, input, lastTried } of meant.slice(0, mostShown)) {
    const batch = scope.batch === null ? "" : `, batch ${scope.batch}`;
    const at = new Date(lastTried).toISOString();
    const size = counted(groups, "group");
    screen.notice(
      `${id}: ${size} of ${input}, ${scope.model}, ${scope.split}${batch}, ${state.replace("_", " ")} ${at}`,
    );
  }
  if (meant.length > mostShown) screen.notice(`and ${meant.length - mostShown} more`);
  if (meant.length > 0) {
    if (!canAsk(host)) throw forgetUnconfirmed(meant.length);
    await screen.settled();
    const answer = await askLine(
      host,
      `forget ${meant.length === 1 ? "it" : `these ${meant.length}`}? A rerun logs their groups again (y/N) `,
    );
    if (!/^y(es)?$/i.test(answer ?? "")) {
      screen.notice("nothing was changed");
      return;
    }
  }
  const forgotten = (await ledger?.forget(filter)) ?? 0;
  const left = await countOf(ledger?.entries({ ...filter, states: ["unknown", "trying"] }));
  if (context.screen.isForProgram) await printDocument(context.screen, { forgotten, left });
  else {
    const kept = left === 0 ? "" : `; ${left} unknown or in flight are kept: \`rollcall ledger resolve\` settles them`;
    context.screen.notice(`forgotten: ${counted(forgotten, "request")}${kept}`);
  }
};

/** Prints the ids of calls. */
export const listCalls = async (context: Context, typed: TypedCalls): Promise<void> => {
  const { limit: most } = typed;
  const { ledger, filter } = await open(context, typed, { toRead: true });
  const calls: LoggedCall[] = [];
  for await (const entry of ledger?.entries(filter) ?? []) {
    for (const id of entry.calls) if (most === undefined || calls.length < most) calls.push({ id, entry });
    if (calls.length === most) break;
  }
  await ledger?.close();
  if (calls.length === 0) {
    const isBound = typed.since !== undefined || typed.until !== undefined;
    context.screen.notice(isBound ? "no calls were logged in that time" : "the ledger knows of no calls here");
  }
  await printLoggedCalls(context.screen, calls, { everywhere: typed.allDestinations });
};

/** A ledger, and what of it is meant. */
interface Opened {
  /** Undefined, after a notice, where there is none. */
  readonly ledger: Ledger | undefined;
  /** What was asked for, of the destination in force unless every one was. */
  readonly filter: EntryFilter;
  /** The same of all other destinations. */
  readonly elsewhere: EntryFilter;
}

/** Opens the ledger that is meant. */
const open = async (
  context: Context,
  typed: TypedFilter,
  { toRead }: { readonly toRead: boolean },
): Promise<Opened> => {
  const settings = await settingsInForce(context);
  const place = settings.ledgerPlace(typed.ledger);
  if (place === undefined) throw ledgerPlaceless(true);
  const filter = filterOf(context, typed);
  const isEverywhere = typed.allDestinations || (toRead && isNowhere(settings));
  if (isEverywhere && !typed.allDestinations) {
    context.screen.notice("no address is set: requests to every destination count");
  }
  const isOf = isEverywhere ? () => true : await isOfDestination(context, settings);
  const ledger = await openExistingLedger(place, {
    host: context.host,
    // Who looks can look again, unless waiting was asked for.
    maxWaitMs:
      settings.source("max_wait") === "default" && isDatabaseAddress(place.path) ? 0 : settings.require("max_wait"),
    toRead,
    onAway: (code) =>
      context.screen.notice(`the ledger's database is away (${code}): it is asked again until --max-wait is over`),
  });
  if (ledger === undefined) context.screen.notice(`there is no ledger at ${place.path}: nothing was logged with one`);
  return { ledger, filter: { ...filter, isOf }, elsewhere: { ...filter, isOf: (scope) => !isOf(scope) } };
};

const listOf = async (entries: AsyncIterable<Entry> | readonly Entry[] = []): Promise<readonly Entry[]> => {
  const list: Entry[] = [];
  for await (const entry of entries) list.push(entry);
  return list;
};

const countOf = async (entries: AsyncIterable<Entry> | readonly Entry[] = []): Promise<number> => {
  let count = 0;
  for await (const _ of entries) count++;
  return count;
};

/** The options that pick requests of a ledger. */
interface TypedFilter extends TypedPlace {
  readonly model?: string | undefined;
  readonly split?: string | undefined;
  readonly batch?: string | undefined;
  readonly since?: Moment | undefined;
  readonly until?: Moment | undefined;
  readonly before?: Moment | undefined;
}

const filterOf = ({ host }: Context, typed: TypedFilter): EntryFilter => {
  const { model, split, batch, since, until, before = until } = typed;
  return { model, split, batch, since: since?.(host.now()), before: before?.(host.now()) };
};

/** Reads files as `log` would. @throws Failure `input-invalid` if none of their groups is valid */
const readFiles = async (context: Context, typed: TypedFiles): Promise<Reading> => {
  const settings = await settingsInForce(context);
  const { split } = typed;
  const reading = await readInputs(context, { settings, typed, split });
  const { failure } = checkResult(reading);
  if (reading.groups.count > 0 || failure === undefined) return reading;
  throw await withFrames(context, reading.sources, failure).finally(reading.close);
};

/** What the ledger that is meant has of the files. */
const verifyFiles = async (
  context: Context,
  typed: TypedFiles,
  scopes: Parameters<typeof verifyReading>[2],
): Promise<Verification> => {
  const reading = await readFiles(context, typed);
  const { ledger, filter } = await open(context, typed, { toRead: true });
  try {
    return await verifyReading(reading, ledger?.entries(filter) ?? [], scopes);
  } finally {
    await ledger?.close();
    await reading.close();
  }
};

const countsOf = ({ read, logged, repeated, unknown, refused, not_sent }: Verification) => ({
  read,
  logged,
  repeated,
  unknown,
  refused,
  not_sent,
});
