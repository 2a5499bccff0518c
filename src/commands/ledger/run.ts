/** What the verbs of `rollcall ledger` do (promises.md, "What the ledger promises"). */
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { printDocument, printList } from "../../output/index.ts";
import {
  type EntryFilter,
  judgementOf,
  type Ledger,
  ledgerDoor,
  type Reading,
  readTrajectories,
  type Verification,
  verifyReading,
} from "../../trajectories/index.ts";
import { isForProgram } from "../lists/form.ts";
import { parseMoment } from "../lists/moment.ts";
import { callsView, entriesView, type LoggedCall } from "./columns.ts";

/** The options of all verbs, as typed. */
export interface TypedLedger {
  readonly ledger?: string;
  readonly model?: string;
  readonly split?: string;
  readonly batch?: string;
  readonly groupBy?: string;
  readonly since?: string;
  readonly before?: string;
  readonly assumeLogged?: boolean;
  readonly resend?: boolean;
}

/** Files as they were given to `log`, and the options. */
interface WithFiles {
  readonly files: readonly string[];
  readonly typed: TypedLedger;
}

/** Lists the requests of the ledger, or those that hold groups of files. */
export const showStatus = async (context: Context, { files, typed }: WithFiles): Promise<void> => {
  if (files.length === 0) {
    const ledger = await open(context, typed);
    const entries = ledger === undefined ? [] : [...ledger.entries(filterOf(context, typed))];
    ledger?.close();
    await printList(context.screen, entriesView(entries, undefined));
    return;
  }
  const standing = await verifyFiles(context, { files, typed });
  const { read, logged, repeated, unknown, refused, not_sent } = standing;
  context.screen.notice(
    `${read} groups: ${logged} logged, ${repeated} logged more than once, ${unknown} unknown, ${refused} refused, ${not_sent} not sent`,
  );
  await printList(context.screen, entriesView(standing.entries, countsOf(standing)));
};

/** Settles requests whose outcome is unknown. @throws Failure `option-of-two-missing`; `options-contradict`; `entries-missing`, before anything is changed */
export const resolve = async (
  context: Context,
  { ids, typed }: { readonly ids: readonly string[]; readonly typed: TypedLedger },
): Promise<void> => {
  const [first, second] = ["--assume-logged", "--resend"] as const;
  if (typed.assumeLogged !== true && typed.resend !== true)
    throw new Failure("option-of-two-missing", { first, second });
  if (typed.assumeLogged === true && typed.resend === true) {
    throw new Failure("options-contradict", { first, second, why: "a request was logged or it was not" });
  }
  const ledger = await open(context, typed);
  if (ledger === undefined) throw new Failure("entries-missing", { ids });
  try {
    const unknown = new Set(Array.from(ledger.entries({ states: ["unknown"] }), ({ id }) => id));
    const missing = ids.filter((id) => !unknown.has(id));
    if (missing.length > 0) throw new Failure("entries-missing", { ids: missing });
    const state = typed.resend === true ? "released" : "assumed_logged";
    for (const id of new Set(ids)) ledger.resolve(id, state);
    if (isForProgram(context)) await printDocument(context.screen, { resolved: [...new Set(ids)], state });
    else context.screen.notice(`settled: ${[...new Set(ids)].join(", ")}`);
  } finally {
    ledger.close();
  }
};

/** Says whether every group of the files was logged exactly once. @throws Failure `ledger-differs`, once the result was printed */
export const verify = async (context: Context, options: WithFiles): Promise<void> => {
  const standing = await verifyFiles(context, options);
  const { read, logged, repeated, unknown, refused, not_sent, problems } = standing;
  const same = logged === read;
  if (isForProgram(context)) {
    await printDocument(context.screen, {
      status: same ? "verified" : "differs",
      groups: countsOf(standing),
      problems,
    });
  } else if (same)
    context.screen.notice(read === 1 ? "1 group: logged exactly once" : `${read} groups: each logged exactly once`);
  if (same) return;
  throw new Failure("ledger-differs", { read, logged, repeated, unknown, missing: not_sent + refused }, { problems });
};

/** Takes settled requests out of the ledger. @throws Failure `ledger-filter-missing` */
export const forget = async (context: Context, typed: TypedLedger): Promise<void> => {
  const filter = filterOf(context, typed);
  if (Object.keys(filter).length === 0) throw new Failure("ledger-filter-missing", {});
  const ledger = await open(context, typed);
  const forgotten = ledger?.forget(filter) ?? 0;
  const left = ledger === undefined ? 0 : [...ledger.entries({ ...filter, states: ["unknown", "trying"] })].length;
  ledger?.close();
  if (isForProgram(context)) await printDocument(context.screen, { forgotten, left });
  else {
    const kept = left === 0 ? "" : `; ${left} unknown or in flight are kept: \`rollcall ledger resolve\` settles them`;
    context.screen.notice(`forgotten: ${forgotten} request${forgotten === 1 ? "" : "s"}${kept}`);
  }
};

/** Prints the ids of calls. */
export const listCalls = async (context: Context, typed: TypedLedger): Promise<void> => {
  const ledger = await open(context, typed);
  const calls: LoggedCall[] = [];
  for (const entry of ledger?.entries(filterOf(context, typed)) ?? []) {
    for (const id of entry.calls) calls.push({ id, entry });
  }
  ledger?.close();
  await printList(context.screen, callsView(calls));
};

/** Opens the ledger that is meant; undefined, with a notice, where there is none. */
const open = async (context: Context, typed: TypedLedger): Promise<Ledger | undefined> => {
  const { openExistingLedger, recoverAll } = await ledgerDoor();
  const path = typed.ledger ?? (await settingsInForce(context)).ledger;
  if (path === undefined) throw new Failure("ledger-placeless", {});
  const ledger = openExistingLedger(path);
  if (ledger === undefined) context.screen.notice(`there is no ledger at ${path}: nothing was logged with one`);
  else recoverAll(ledger);
  return ledger;
};

const filterOf = ({ host }: Context, { model, split, batch, since, before }: TypedLedger): EntryFilter => {
  const now = host.now();
  return {
    ...(model === undefined ? {} : { model }),
    ...(split === undefined ? {} : { split }),
    ...(batch === undefined ? {} : { batch }),
    ...(since === undefined ? {} : { since: parseMoment(since, { option: "--since", now }) }),
    ...(before === undefined ? {} : { before: parseMoment(before, { option: "--before", now }) }),
  };
};

/** Reads files as `log` would. @throws Failure `input-invalid` where a line of them is wrong */
const readFiles = async (context: Context, { files, typed }: WithFiles): Promise<Reading> => {
  return await readTrajectories({
    host: context.host,
    files,
    split: typed.split,
    splitNeeded: false,
    groupBy: typed.groupBy,
    judgement: judgementOf({ strict: false, allow: [] }),
    onOpened: () => undefined,
    onProgress: () => undefined,
  });
};

/** What the ledger that is meant has of the files. */
const verifyFiles = async (context: Context, options: WithFiles): Promise<Verification> => {
  const reading = await readFiles(context, options);
  const ledger = await open(context, options.typed);
  try {
    return verifyReading(reading, ledger?.entries(filterOf(context, options.typed)) ?? []);
  } finally {
    ledger?.close();
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
