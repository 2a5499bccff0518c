/** Runs the verbs of `rollcall ledger` (guarantees.md). */

import { Failure, isFailure, toProblemDocument } from "../../failure.ts";
import { type Entry, type EntryFilter, formatState } from "../../logging/ledger/entries.ts";
import { openExistingLedger } from "../../logging/ledger/ledger.ts";
import type { Verification } from "../../logging/send/verify-ledger.ts";
import { checkKeys, printDocument, printObjects } from "../../output/list.ts";
import { noteSelection } from "../../output/lists/sort-rows.ts";
import { requireConfirmation } from "../../output/prompt.ts";
import type { Screen } from "../../output/screen.ts";
import type { KeyColumn } from "../../output/views.ts";
import { composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { adviseToResolve, formatLedgerCommand } from "../../rollouts/rules/ledger-advice.ts";
import { createDestinationFilter, hasNoLogUrl, listServiceArgs, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { listInputArgs } from "../../session/options/input-options.ts";
import { addExcerpts, listSkippedFiles, printWarnings } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import type { Settings } from "../../settings/read.ts";
import { conflictingOptions } from "../../system/failures.ts";
import { checkDatabaseMode } from "../../system/files.ts";
import { isDatabaseUrl } from "../../text/locations.ts";
import { describeSystemCode, pluralize, toFileArg, toOptionArgs } from "../../text/sentences.ts";
import { formatIsoTime } from "../../text/units.ts";
import { ledgerLocationMissing } from "../failures.ts";
import type { CallsOptions, FileOptions, ForgetOptions, LocationOptions, ResolveOptions } from "./command.ts";

export const showStatus = async (context: Context, typed: FileOptions) => {
  const { screen } = context;
  if (typed.file.length > 0) {
    const { counts, entries } = await compareFiles(context, typed, { isPerScope: true });
    const { read, logged, repeated, unknown, refused, not_sent } = counts;
    const outcomes = `${logged} logged, ${unknown} unknown, ${refused} refused, ${not_sent} not sent`;
    const scope = "the same destination, account, model, split and batch";
    screen.notice(`${pluralize(read, "group")}: ${outcomes}, ${repeated} logged more than once for ${scope}`);
    return await printEntries(context, typed, { entries, counts });
  }
  const { readEntries, filter } = await openLedger(context, typed, { isForReading: true });
  const { matchesScope, ...anyScope } = filter;
  const all = await readEntries(anyScope);
  const entries = all.filter(({ scope }) => matchesScope(scope));
  const hidden = pluralize(all.length - entries.length, "request");
  if (entries.length < all.length)
    screen.notice(`not shown: ${hidden} to other destinations or accounts (show all with --all-destinations)`);
  await printEntries(context, typed, { entries, counts: null });
};

/** @throws Failure `option-missing`; `no-such-request` before any change */
export const resolveRequests = async (context: Context, typed: ResolveOptions) => {
  const { assumeLogged, resend } = typed;
  checkKeys(context.screen, ["resolved", "state"]);
  const ledgerArgs = listLedgerArgs(context, typed);
  if (!assumeLogged && !resend) {
    const hint = `${adviseToResolve(ledgerArgs, typed.id)}. Then run your \`rollcall log\` command again`;
    throw new Failure("usage", "option-missing", "missing option: --assume-logged or --resend", { hint });
  }
  const { ledger, readEntries, filter, searched } = await openLedger(context, typed, { isForReading: false });
  const states = new Map((await readEntries(filter)).map(({ id, state }) => [id, formatState(state)]));
  const unresolvable = typed.id.filter((id) => states.get(id) !== "unknown");
  const allArgs = listLedgerArgs(context, { ...typed, allDestinations: true });
  if (!ledger || unresolvable.length > 0) {
    const reasons = unresolvable.map((id) => {
      const state = states.get(id);
      return state ? `the outcome of ${id} is known (${state})` : `the ledger has no request ${id}${searched}`;
    });
    const hint = unresolvable.every((id) => states.has(id))
      ? "run your `rollcall log` command with --resend-logged to log the groups of a logged request again"
      : `list the ids and destinations of all requests with ${formatLedgerCommand("status", allArgs)}`;
    const message = `nothing was changed: ${reasons.join(", ")}`;
    throw new Failure("not_found", "no-such-request", message, { hint });
  }
  const state = resend ? "released" : "assumed_logged";
  const resolved = [...new Set(typed.id)];
  for (const id of resolved) await ledger.resolve(id, state);
  if (context.screen.isForProgram) await printDocument(context.screen, { resolved, state });
  else context.screen.notice(`resolved: ${resolved.join(", ")}`);
};

export const verifyGroups = async (context: Context, typed: FileOptions) => {
  const { screen } = context;
  checkKeys(screen, ["status", "groups", "files", "problems", "warnings"]);
  const verification = await compareFiles(context, typed, { isPerScope: false });
  const { counts, problems, files, skipped } = verification;
  const isVerified = counts.logged === counts.read;
  if (screen.isForProgram) {
    await printDocument(screen, {
      status: isVerified ? "verified" : "differs",
      groups: counts,
      files,
      problems: problems.map(toProblemDocument),
      warnings: skipped.map(toProblemDocument),
    });
  } else {
    const unfinished = files.length > 1 ? files.filter((one) => one.logged < one.read) : [];
    for (const { file, logged, read } of unfinished.slice(0, maxNoticeLines))
      screen.notice(`${file}: ${logged} of ${pluralize(read, "group")} logged exactly once`);
    if (unfinished.length > maxNoticeLines)
      screen.notice(`and ${pluralize(unfinished.length - maxNoticeLines, "more file")}`);
    if (isVerified) screen.notice(pluralize(counts.read, "group logged exactly once", "groups logged exactly once"));
  }
  if (isVerified) return;
  // The problems concern the ledger, so excerpts of the input would not help.
  const found = { sources: [], counts: verification.problemCounts };
  context.explainWith(async (thrown) => await addExcerpts(context, thrown, found));
  const { read, logged, repeated, unknown, refused, not_sent } = counts;
  const others = { "not logged": not_sent + refused, unknown, "logged more than once": repeated };
  const parts = Object.entries(others).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
  const message = `${logged} of ${pluralize(read, "group")} logged exactly once, ${parts.join(", ")}`;
  const hint = selectHint(verification);
  throw new Failure("differs", "ledger-differs", message, { problems, hint });
};

const selectHint = ({
  counts: { not_sent, refused, repeated },
  isInvalid,
  ledgerArgs,
}: Awaited<ReturnType<typeof compareFiles>>) => {
  if (not_sent > 0 && isInvalid)
    return "fix the errors that `rollcall check` reports, log the file, and verify the file with the same options";
  if (not_sent > 0)
    return "verify with --model <model-id> and the options of your `rollcall log` command (--local, --profile, --ledger, --split, --batch, --group-by), or run that command again to send the missing groups";
  if (refused > 0)
    return "run your `rollcall log` command again to see why the service refused a group, and fix that group";
  if (repeated > 0)
    return "if the group was logged to several destinations, models, splits or batches, verify one of them with --base-url, --model, --split or --batch";
  return `${adviseToResolve(ledgerArgs)}. Then run your \`rollcall log\` command again`;
};

const knownOutcomeStates = ["logged", "refused", "not_sent", "assumed_logged", "released"] as const;

const maxNoticeLines = 10;

/** Deletes only requests with a known outcome. @throws Failure `ledger-filter-missing`, `not-confirmed` */
export const forgetRequests = async (context: Context, typed: ForgetOptions) => {
  const { screen } = context;
  const { model, batch, before, yes } = typed;
  checkKeys(screen, ["forgotten", "left"]);
  if ((model ?? batch ?? before) === undefined) {
    const message = "no --model, --batch or --before was given, so nothing was deleted from the ledger";
    const hint = "pass --model <id>, --batch <name> or --before 30d";
    throw new Failure("usage", "ledger-filter-missing", message, { hint });
  }
  const { ledger, readEntries, filter } = await openLedger(context, typed, { isForReading: false });
  const affected = yes ? [] : await readEntries({ ...filter, states: knownOutcomeStates });
  for (const { id, state, groups, scope, input, lastTried } of affected.slice(0, maxNoticeLines)) {
    const target = `model ${scope.model}, split ${scope.split}${scope.batch === null ? "" : `, batch ${scope.batch}`}`;
    const end = `${formatState(state)}, last tried ${formatIsoTime(lastTried)}`;
    screen.notice(`${id}: ${pluralize(groups, "group")} of ${input} (${target}): ${end}`);
  }
  if (affected.length > maxNoticeLines) screen.notice(`and ${affected.length - maxNoticeLines} more`);
  const action = `forget ${pluralize(affected.length, "request")}`;
  const effect = " (a rerun then logs the groups again)";
  if (affected.length > 0) await requireConfirmation(context, { action, effect, option: "--yes", yes });
  const forgotten = (await ledger?.forget(filter)) ?? 0;
  const left = (await readEntries({ ...filter, states: ["unknown", "trying"] })).length;
  if (screen.isForProgram) return await printDocument(screen, { forgotten, left });
  const kept = `; kept ${pluralize(left, "request")} in flight or with an unknown outcome (list them with \`rollcall ledger status\`)`;
  screen.notice(`deleted ${pluralize(forgotten, "request")} from the ledger${left === 0 ? "" : kept}`);
};

export const listCalls = async (context: Context, typed: CallsOptions) => {
  const { limit, since, until, allDestinations } = typed;
  const now = context.host.now();
  if (since && until && since(now) >= until(now))
    throw conflictingOptions("--since", "--until", "--until is not after --since");
  const { ledger, readEntries, filter, searched } = await openLedger(context, typed, { isForReading: true });
  const entries = await readEntries(filter);
  const calls = entries.flatMap(({ scope, lastTried, calls: ids }) => {
    const { model: model_id, split, batch, destination, account } = scope;
    const logged_at = formatIsoTime(lastTried);
    return ids.map((id) => ({ id, model_id, split, batch, logged_at, destination, account }));
  });
  if (ledger && calls.length === 0) {
    const hasLogged = entries.some(({ state }) => state === "logged");
    const answer = "the service returned no call ids for the logged groups (the local service does)";
    const all = searched === "" ? "" : " (show all with --all-destinations)";
    context.screen.notice(hasLogged ? answer : `the ledger has no matching calls${searched}${all}`);
  }
  const document = { calls: calls.slice(0, limit) };
  if (calls.length > 0) noteSelection(context.screen, { all: calls, matching: calls, shown: document.calls }, "calls");
  const columns = allDestinations ? [...callColumns, ...scopeColumns] : callColumns;
  await printObjects(context.screen, document, { member: "calls", columns });
};

type LoggedCall = Readonly<
  Record<"id" | "model_id" | "split" | "logged_at" | "destination" | "account", string> & { batch: string | null }
>;
type CallColumn = KeyColumn<LoggedCall>;

const callColumns: readonly CallColumn[] = [
  { name: "id", rank: 0 },
  { name: "model_id", heading: "model id", rank: 1 },
  { name: "split", rank: 2 },
  { name: "batch", rank: 3 },
  { name: "logged_at", heading: "logged at", rank: 4 },
];

const scopeColumns: readonly CallColumn[] = [
  { name: "destination", rank: 1 },
  { name: "account", rank: 1 },
];

const printEntries = async (
  { screen }: Context,
  { allDestinations }: LocationOptions,
  { entries, counts }: { entries: readonly Entry[]; counts: Verification["counts"] | null },
) => {
  const document = { groups: counts, entries: entries.map(toEntryDocument) };
  await printObjects(screen, document, { member: "entries", columns: listEntryColumns(screen, allDestinations) });
};

const toEntryDocument = (entry: Entry) => {
  const { id, state, groups, bytes, input, attempts, status, cause, firstTried, lastTried, calls } = entry;
  const { model: model_id, split, batch, destination, account } = entry.scope;
  const scope = { model_id, split, batch };
  const times = { first_tried: formatIsoTime(firstTried), last_tried: formatIsoTime(lastTried) };
  const answer = { status, cause, calls: calls.length };
  return { id, state, ...scope, groups, bytes, input, destination, account, attempts, ...times, ...answer };
};

type EntryColumn = KeyColumn<ReturnType<typeof toEntryDocument>>;

const listEntryColumns = ({ format }: Screen, allDestinations: boolean): readonly EntryColumn[] => [
  { name: "id", rank: 0 },
  {
    name: "state",
    rank: 0,
    cell: ({ state }) => formatState(state),
    tag: ({ state }) => (state === "unknown" ? { text: "(resolve)", tone: "warning" } : undefined),
  },
  { name: "groups", rank: 2, align: "right" },
  {
    name: "last_tried",
    heading: "last tried\nUTC",
    rank: 1,
    // Right-aligned columns are never truncated.
    align: "right",
    cell: ({ last_tried }) => last_tried.slice(0, 16).replace("T", " "),
  },
  { name: "model_id", heading: "model", rank: 3 },
  { name: "split", rank: 4 },
  { name: "batch", rank: 5 },
  { name: "input", rank: 6 },
  { name: "bytes", rank: 10, align: "right" },
  { name: "attempts", rank: 11, align: "right" },
  {
    name: "status",
    heading: "answer",
    rank: 7,
    cell: ({ status, cause }) => String(status ?? describeSystemCode(cause ?? "")),
  },
  {
    name: "destination",
    rank: allDestinations ? 0 : 8,
    hasNames: allDestinations,
    // The path of the log endpoint would repeat the model.
    cell: ({ destination }) =>
      format === "table" ? destination.replace(/\/v1\/preview\/models\/[^/]+\/log$/, "") : destination,
  },
  { name: "account", rank: allDestinations ? 0 : 9 },
];

const addHint = (thrown: unknown) => {
  if (!isFailure(thrown, "setting-missing")) throw thrown;
  throw thrown.withDetails({ hint: `${thrown.details.hint}, or pass --all-destinations` });
};

const openLedger = async (
  context: Context,
  typed: LocationOptions & Partial<CallsOptions & ForgetOptions>,
  { isForReading, settings: given }: { isForReading: boolean; settings?: Settings },
) => {
  const { host, screen } = context;
  const settings = given ?? (await readEffectiveSettings(context));
  const location = await settings.ledgerLocation(typed.ledger);
  if (!location) throw ledgerLocationMissing();
  const coversAllDestinations = typed.allDestinations || (isForReading && hasNoLogUrl(settings));
  if (coversAllDestinations && !typed.allDestinations)
    screen.notice("no service URL is set, so the result covers all destinations");
  const matchesScope = coversAllDestinations
    ? () => true
    : await createDestinationFilter(context, settings).catch(addHint);
  // By default, ledger commands do not wait for a database at a URL.
  const failsImmediately = settings.source("max_wait") === "default" && isDatabaseUrl(location.path);
  const maxWaitMs = failsImmediately ? 0 : settings.require("max_wait");
  const retries = "rollcall tries again for at most --max-wait";
  const onUnavailable = (code: string) =>
    screen.notice(`cannot reach the ledger database (${describeSystemCode(code)}). ${retries}`);
  const ledger = await openExistingLedger(location, { host, isForReading, maxWaitMs, onUnavailable });
  if (!ledger) screen.notice(`no ledger at ${location.path}`);
  else {
    context.closeAtEnd(ledger);
    checkDatabaseMode(location.path, screen.warn);
  }
  const { model, split, batch, since, until, before = until } = typed;
  const filter = { model, split, batch, since: since?.(host.now()), before: before?.(host.now()), matchesScope };
  const readEntries = async (selection: EntryFilter) => {
    const entries: Entry[] = [];
    for await (const entry of ledger?.entries(selection) ?? []) {
      host.signal.throwIfAborted();
      entries.push(entry);
    }
    return entries;
  };
  const searched = coversAllDestinations ? "" : " for the selected service and account";
  return { ledger, filter, readEntries, searched, coversAllDestinations };
};

const listLedgerArgs = ({ flags }: Context, { ledger, allDestinations }: LocationOptions) => [
  ...toOptionArgs({ ledger, allDestinations }),
  ...listServiceArgs(flags),
];

const compareFiles = async (context: Context, typed: FileOptions, options: { isPerScope: boolean }) => {
  const settings = await readEffectiveSettings(context);
  const dataset = await readRollouts(context, typed, { settings, split: typed.split });
  await printWarnings(context, dataset, listSkippedFiles(dataset));
  const { failure } = composeCheckResult(dataset);
  if (dataset.groups.count === 0 && failure) throw failure;
  const opened = await openLedger(context, typed, { isForReading: true, settings });
  const { ledger, filter, coversAllDestinations: allDestinations } = opened;
  const ledgerArgs = listLedgerArgs(context, { ...typed, allDestinations });
  const inputArgs = [...typed.file.map(toFileArg), ...listInputArgs(typed)];
  const verification = await (await import("../../logging/send/verify-ledger.ts")).verifyDataset(
    dataset,
    ledger?.entries(filter) ?? [],
    { ...options, ledgerArgs, inputArgs, signal: context.host.signal },
  );
  return { ...verification, ledgerArgs, skipped: listSkippedFiles(dataset) };
};
