/** Runs the verbs of `rollcall ledger` (guarantees.md). */

import { Failure, isFailure, toProblemDocument } from "../../failure.ts";
import { type Entry, type EntryFilter, formatState } from "../../logging/ledger/entries.ts";
import { formatUpgrade } from "../../logging/ledger/failures.ts";
import { openExistingLedger } from "../../logging/ledger/ledger.ts";
import type { Verification } from "../../logging/send/verify-ledger.ts";
import { checkKeys, printDocument, printObjects } from "../../output/list.ts";
import type { Screen } from "../../output/screen.ts";
import type { KeyColumn } from "../../output/views.ts";
import { composeCheckResult } from "../../rollouts/dataset/check-result.ts";
import { adviseToResolve, formatLedgerCommand } from "../../rollouts/rules/input-rules.ts";
import { createDestinationFilter, hasNoLogUrl, listServiceArgs, readEffectiveSettings } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { listInputArgs } from "../../session/options.ts";
import { addExcerpts, listSkippedFiles, printWarnings } from "../../session/print-problems.ts";
import { readRollouts } from "../../session/read-rollouts.ts";
import type { Settings } from "../../settings/read.ts";
import { checkDatabaseMode } from "../../system/files.ts";
import { describeSystemCode, pluralize, toFileArg, toOptionArgs } from "../../text/sentences.ts";
import { formatIsoTime } from "../../text/units.ts";
import type { FileOptions, LocationOptions, ResolveOptions } from "./command.ts";

export const showStatus = async (context: Context, typed: FileOptions) => {
  const { screen } = context;
  if (typed.file.length > 0) {
    const { counts, entries } = await compareFiles(context, typed, { isPerScope: true });
    const { read, logged, repeated, unknown, refused, not_sent } = counts;
    const outcomes = `${logged} logged, ${unknown} unknown, ${refused} refused, ${not_sent} not sent`;
    const scope = "the same destination, account, model, split and batch";
    screen.notice(`${pluralize(read, "group")}: ${outcomes}, ${repeated} logged more than once for ${scope}`);
    return await printEntries(screen, { entries, counts });
  }
  const { readEntries, filter } = await openLedger(context, typed, { isForReading: true });
  const { matchesScope, ...anyScope } = filter;
  const all = await readEntries(anyScope);
  const entries = all.filter(({ scope }) => matchesScope(scope));
  const hidden = pluralize(all.length - entries.length, "request");
  if (entries.length < all.length) screen.notice(`not shown: ${hidden} to other destinations or accounts`);
  await printEntries(screen, { entries, counts: null });
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
  const states = new Map((await readEntries(filter)).map(({ id, state }) => [id, state]));
  const unresolvable = typed.id.filter((id) => states.get(id) !== "unknown");
  if (!ledger || unresolvable.length > 0) {
    const reasons = unresolvable.map((id) => {
      const state = states.get(id);
      return state
        ? `the outcome of ${id} is known (${formatState(state)})`
        : `the ledger has no request ${id}${searched}`;
    });
    const hint = `list the ids of the requests with ${formatLedgerCommand("status", ledgerArgs)}`;
    const message = `nothing was changed: ${reasons.join(", ")}`;
    throw new Failure("not_found", "no-such-request", message, { hint });
  }
  const state = resend ? "released" : "assumed_logged";
  const resolved = [...new Set(typed.id)];
  for (const id of resolved) await ledger.resolve(id, state);
  if (context.screen.isJson) await printDocument(context.screen, { resolved, state });
  else context.screen.notice(`resolved: ${resolved.join(", ")}`);
};

export const verifyGroups = async (context: Context, typed: FileOptions) => {
  const { screen } = context;
  checkKeys(screen, ["status", "groups", "files", "problems", "warnings"]);
  const verification = await compareFiles(context, typed, { isPerScope: false });
  const { counts, problems, files, skipped } = verification;
  const isVerified = counts.logged === counts.read;
  if (screen.isJson) {
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

const maxNoticeLines = 10;

const printEntries = async (
  screen: Screen,
  { entries, counts }: { entries: readonly Entry[]; counts: Verification["counts"] | null },
) => {
  const document = { groups: counts, entries: entries.map(toEntryDocument) };
  await printObjects(screen, document, { member: "entries", columns: listEntryColumns(screen) });
};

const toEntryDocument = (entry: Entry) => {
  const { id, state, groups, bytes, input, attempts, status, cause, firstTried, lastTried, calls } = entry;
  const { model: model_id, split, batch, destination, account } = entry.scope;
  const request = { id, state, model_id, split, batch, groups, bytes, input };
  const times = { first_tried: formatIsoTime(firstTried), last_tried: formatIsoTime(lastTried) };
  return { ...request, destination, account, attempts, ...times, status, cause, calls };
};

type EntryColumn = KeyColumn<ReturnType<typeof toEntryDocument>>;

const listEntryColumns = ({ format }: Screen): readonly EntryColumn[] => [
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
    rank: 8,
    // The path of the log endpoint would repeat the model.
    cell: ({ destination }) =>
      format === "table" ? destination.replace(/\/v1\/preview\/models\/[^/]+\/log$/, "") : destination,
  },
  { name: "account", rank: 9 },
];

const openLedger = async (
  context: Context,
  typed: LocationOptions & Partial<FileOptions>,
  { isForReading, settings: given }: { isForReading: boolean; settings?: Settings },
) => {
  const { host, screen } = context;
  const settings = given ?? (await readEffectiveSettings(context));
  const location = await settings.ledgerLocation(typed.ledger).catch((thrown: unknown) => {
    if (!isForReading || !isFailure(thrown, "ledger-location-missing")) throw thrown;
    screen.notice(`${thrown.message} (${thrown.details.hint})`);
    return undefined;
  });
  const coversAllDestinations = isForReading && location !== undefined && hasNoLogUrl(settings);
  if (coversAllDestinations) screen.notice("no service URL is set, so the result covers all destinations");
  const coversAll = coversAllDestinations || !location;
  const matchesScope = coversAll ? () => true : await createDestinationFilter(context, settings);
  const maxWaitMs = settings.require("max_wait");
  const retries = "rollcall tries again for at most --max-wait";
  const onUnavailable = (code: string) =>
    screen.notice(`the ledger database is unavailable (${describeSystemCode(code)}). ${retries}`);
  const ledger = location && (await openExistingLedger(location, { host, isForReading, maxWaitMs, onUnavailable }));
  if (location && !ledger) screen.notice(`no ledger at ${location.path}`);
  if (ledger) {
    context.closeAtEnd(ledger);
    checkDatabaseMode(ledger.path, screen.warn);
    if (ledger.upgradedFrom !== undefined) screen.notice(formatUpgrade(ledger.path));
  }
  const { model, split, batch } = typed;
  const filter = { model, split, batch, matchesScope };
  const readEntries = async (selection: EntryFilter) => {
    const entries: Entry[] = [];
    for await (const entry of ledger?.entries(selection) ?? []) {
      host.signal.throwIfAborted();
      entries.push(entry);
    }
    return entries;
  };
  const searched = coversAllDestinations ? "" : " for the selected service and account";
  return { ledger, filter, readEntries, searched };
};

const listLedgerArgs = ({ flags }: Context, { ledger }: LocationOptions) => [
  ...toOptionArgs({ ledger }),
  ...listServiceArgs(flags),
];

const compareFiles = async (context: Context, typed: FileOptions, options: { isPerScope: boolean }) => {
  const settings = await readEffectiveSettings(context);
  const ledgerArgs = listLedgerArgs(context, typed);
  const dataset = await readRollouts(context, typed, { settings, split: typed.split });
  await printWarnings(context, dataset, listSkippedFiles(dataset));
  const { failure } = composeCheckResult(dataset);
  if (dataset.groups.count === 0 && failure) throw failure;
  const { ledger, filter } = await openLedger(context, typed, { isForReading: true, settings });
  const inputArgs = [...typed.file.map(toFileArg), ...listInputArgs(typed)];
  const verification = await (await import("../../logging/send/verify-ledger.ts")).verifyDataset(
    dataset,
    ledger?.entries(filter) ?? [],
    { ...options, ledgerArgs, inputArgs, signal: context.host.signal },
  );
  return { ...verification, ledgerArgs, skipped: listSkippedFiles(dataset) };
};
