/** `rollcall ledger`: what was logged, and what is not known to have been. */
import type { Command } from "commander";
import type { Context, Start } from "../context.ts";
import { Failure } from "../failure.ts";
import type { Column, ListView } from "../output/index.ts";
import type { Entry, EntryFilter, Ledger, Reading, Standing } from "../trajectories/index.ts";
import { isForProgram } from "./form.ts";
import { examples } from "./help.ts";
import { parseMoment } from "./moment.ts";

interface TypedLedger {
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

/** Declares `ledger` and its verbs (cli.md, "What the ledger promises"). */
export const declareLedger = (parent: Command, start: Start): void => {
  const ledger = parent.command("ledger").description("see and settle what was logged");
  examples(ledger, ["rollcall ledger status", "rollcall ledger verify groups.jsonl"]);
  const verb = (name: string, description: string, lines: readonly string[]): Command => {
    const command = ledger.command(name).description(description).option("--ledger <file>", "the ledger's file");
    examples(command, lines);
    return command;
  };
  const filtered = (command: Command): Command =>
    command
      .option("--model <id>", "only of this model")
      .option("--split <name>", "only of this split")
      .option("--batch <name>", "only of this batch");
  filtered(
    verb("status", "list the requests of the ledger, or those that hold groups of files", [
      "rollcall ledger status",
      "rollcall ledger status groups.jsonl --json",
    ]),
  )
    .argument("[file...]", "files as they were given to log")
    .option("--group-by <key>", "as it was given to log")
    .action(
      async (files: string[], typed: TypedLedger, own: Command) => await showStatus(start(own), { files, typed }),
    );
  verb("resolve", "settle requests whose outcome is unknown", [
    "rollcall ledger resolve r12 --assume-logged",
    "rollcall ledger resolve r12 r13 --resend",
  ])
    .argument("<id...>", "requests, as ledger status names them")
    .option("--assume-logged", "they were logged: never send them again")
    .option("--resend", "they were not: the next run sends their groups")
    .action(async (ids: string[], typed: TypedLedger, own: Command) => await resolve(start(own), { ids, typed }));
  filtered(
    verb("verify", "exit 0 only where every group of the files was logged exactly once", [
      "rollcall ledger verify groups.jsonl --model my-model",
    ]),
  )
    .argument("<file...>", "files as they were given to log")
    .option("--group-by <key>", "as it was given to log")
    .action(async (files: string[], typed: TypedLedger, own: Command) => await verify(start(own), { files, typed }));
  filtered(
    verb("forget", "take settled requests out of the ledger: a rerun then logs them again", [
      "rollcall ledger forget --before 90d",
      "rollcall ledger forget --model my-model --batch step-17",
    ]),
  )
    .option("--before <time>", "only those last tried before, such as 30d")
    .action(async (typed: TypedLedger, own: Command) => await forget(start(own), typed));
  filtered(
    verb("calls", "print the ids of the calls that the service's answers named", ["rollcall ledger calls --since 1d"]),
  )
    .option("--since <time>", "only those logged since, such as 1d")
    .action(async (typed: TypedLedger, own: Command) => await listCalls(start(own), typed));
};

interface WithFiles {
  readonly files: readonly string[];
  readonly typed: TypedLedger;
}

/** Opens the ledger that is meant; undefined, with a notice, where there is none. */
const open = async (context: Context, typed: TypedLedger): Promise<Ledger | undefined> => {
  const { openExistingLedger, recoverAll } = await (await context.trajectories()).ledgerDoor();
  const path = typed.ledger ?? (await context.settings()).ledger;
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
  const { readTrajectories, judgementOf } = await context.trajectories();
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

/** How files stand in the ledger that is meant. */
const standingIn = async (context: Context, options: WithFiles): Promise<Standing> => {
  const { standingOf } = await context.trajectories();
  const reading = await readFiles(context, options);
  const ledger = await open(context, options.typed);
  try {
    return standingOf(reading, ledger?.entries(filterOf(context, options.typed)) ?? []);
  } finally {
    ledger?.close();
    await reading.close();
  }
};

const showStatus = async (context: Context, { files, typed }: WithFiles): Promise<void> => {
  if (files.length === 0) {
    const ledger = await open(context, typed);
    const entries = ledger === undefined ? [] : [...ledger.entries(filterOf(context, typed))];
    ledger?.close();
    await context.screen.list(entriesView(entries, undefined));
    return;
  }
  const standing = await standingIn(context, { files, typed });
  const { read, logged, repeated, unknown, refused, not_sent } = standing;
  context.screen.notice(
    `${read} groups: ${logged} logged, ${repeated} logged more than once, ${unknown} unknown, ${refused} refused, ${not_sent} not sent`,
  );
  await context.screen.list(entriesView(standing.entries, countsOf(standing)));
};

const countsOf = ({ read, logged, repeated, unknown, refused, not_sent }: Standing) => ({
  read,
  logged,
  repeated,
  unknown,
  refused,
  not_sent,
});

/**
 * `{"groups","entries":[{"id","state","model_id","split","batch","groups","bytes","input","destination","account",
 * "attempts","first_tried","last_tried","status","cause","calls"}]}`; groups null where no files were given.
 */
const entriesView = (entries: readonly Entry[], groups: unknown): ListView<Entry> => ({
  columns: entryColumns,
  rows: entries,
  wire: {
    bytes: Buffer.from(JSON.stringify({ groups: groups ?? null, entries: entries.map(entryDocument) })),
    member: "entries",
  },
});

const isoOf = (ms: number): string => new Date(ms).toISOString();

const entryDocument = (entry: Entry) => ({
  id: entry.id,
  state: entry.state,
  model_id: entry.scope.model,
  split: entry.scope.split,
  batch: entry.scope.batch,
  groups: entry.groups,
  bytes: entry.bytes,
  input: entry.input,
  destination: entry.scope.destination,
  account: entry.scope.account,
  attempts: entry.attempts,
  first_tried: isoOf(entry.firstTried),
  last_tried: isoOf(entry.lastTried),
  status: entry.status,
  cause: entry.cause,
  calls: entry.calls.length,
});

const textColumn = (name: string, rank: number, cell: (entry: Entry) => string, heading = name): Column<Entry> => ({
  name,
  heading,
  rank,
  cell,
  value: cell,
});

const numberColumn = (name: string, rank: number, value: (entry: Entry) => number): Column<Entry> => ({
  name,
  heading: name,
  align: "right",
  rank,
  cell: (entry) => String(value(entry)),
  value,
});

const entryColumns: readonly Column<Entry>[] = [
  textColumn("id", 0, ({ id }) => id),
  {
    ...textColumn("state", 0, ({ state }) => state.replace("_", " ")),
    value: ({ state }) => state,
    mark: ({ state }) => (state === "unknown" ? { text: "settle it", tone: "warning" } : undefined),
  },
  numberColumn("groups", 1, ({ groups }) => groups),
  {
    ...textColumn(
      "last_tried",
      2,
      ({ lastTried }) => isoOf(lastTried).slice(0, 16).replace("T", " "),
      "last tried\nUTC",
    ),
    value: ({ lastTried }) => isoOf(lastTried),
  },
  textColumn("model_id", 3, ({ scope }) => scope.model, "model"),
  textColumn("split", 4, ({ scope }) => scope.split),
  textColumn("batch", 5, ({ scope }) => scope.batch ?? ""),
  textColumn("input", 6, ({ input }) => input),
  numberColumn("bytes", 8, ({ bytes }) => bytes),
  numberColumn("attempts", 9, ({ attempts }) => attempts),
  textColumn("status", 7, ({ status, cause }) => String(status ?? cause ?? "")),
  textColumn("destination", 10, ({ scope }) => scope.destination),
];

/** @throws Failure `entries-missing`, before anything is changed */
const resolve = async (
  context: Context,
  { ids, typed }: { readonly ids: readonly string[]; readonly typed: TypedLedger },
): Promise<void> => {
  if ((typed.assumeLogged === true) === (typed.resend === true)) {
    throw new Failure("options-contradict", {
      first: "--assume-logged",
      second: "--resend",
      why: "a request was logged or it was not: give one of them",
    });
  }
  const ledger = await open(context, typed);
  if (ledger === undefined) throw new Failure("entries-missing", { ids });
  try {
    const unknown = new Set(Array.from(ledger.entries({ states: ["unknown"] }), ({ id }) => id));
    const missing = ids.filter((id) => !unknown.has(id));
    if (missing.length > 0) throw new Failure("entries-missing", { ids: missing });
    const state = typed.resend === true ? "released" : "assumed_logged";
    for (const id of new Set(ids)) ledger.resolve(id, state);
    if (isForProgram(context)) await context.screen.document({ resolved: [...new Set(ids)], state });
    else context.screen.notice(`settled: ${[...new Set(ids)].join(", ")}`);
  } finally {
    ledger.close();
  }
};

/** @throws Failure `ledger-differs`, once the result was printed */
const verify = async (context: Context, options: WithFiles): Promise<void> => {
  const standing = await standingIn(context, options);
  const { read, logged, repeated, unknown, refused, not_sent, problems } = standing;
  const same = logged === read;
  if (isForProgram(context)) {
    await context.screen.document({ status: same ? "verified" : "differs", groups: countsOf(standing), problems });
  } else if (same) context.screen.notice(`${read} groups: each logged exactly once`);
  if (same) return;
  throw new Failure("ledger-differs", { read, logged, repeated, unknown, missing: not_sent + refused }, { problems });
};

/** @throws Failure `ledger-filter-missing` */
const forget = async (context: Context, typed: TypedLedger): Promise<void> => {
  const filter = filterOf(context, typed);
  if (Object.keys(filter).length === 0) throw new Failure("ledger-filter-missing", {});
  const ledger = await open(context, typed);
  const forgotten = ledger?.forget(filter) ?? 0;
  const left = ledger === undefined ? 0 : [...ledger.entries({ ...filter, states: ["unknown", "trying"] })].length;
  ledger?.close();
  if (isForProgram(context)) await context.screen.document({ forgotten, left });
  else {
    const kept = left === 0 ? "" : `; ${left} unknown or in flight are kept: \`rollcall ledger resolve\` settles them`;
    context.screen.notice(`forgotten: ${forgotten} requests${kept}`);
  }
};

interface LoggedCall {
  readonly id: string;
  readonly entry: Entry;
}

const listCalls = async (context: Context, typed: TypedLedger): Promise<void> => {
  const ledger = await open(context, typed);
  const calls: LoggedCall[] = [];
  for (const entry of ledger?.entries(filterOf(context, typed)) ?? []) {
    for (const id of entry.calls) calls.push({ id, entry });
  }
  ledger?.close();
  const document = calls.map(({ id, entry }) => ({
    id,
    model_id: entry.scope.model,
    split: entry.scope.split,
    batch: entry.scope.batch,
    logged_at: isoOf(entry.lastTried),
  }));
  await context.screen.list({
    columns: callColumns,
    rows: calls,
    wire: { bytes: Buffer.from(JSON.stringify({ calls: document })), member: "calls" },
  });
};

const callColumn = (name: string, rank: number, cell: (call: LoggedCall) => string): Column<LoggedCall> => ({
  name,
  heading: name.replace("_", " "),
  rank,
  cell,
  value: cell,
});

const callColumns: readonly Column<LoggedCall>[] = [
  callColumn("id", 0, ({ id }) => id),
  callColumn("model_id", 1, ({ entry }) => entry.scope.model),
  callColumn("split", 2, ({ entry }) => entry.scope.split),
  callColumn("batch", 3, ({ entry }) => entry.scope.batch ?? ""),
  callColumn("logged_at", 4, ({ entry }) => isoOf(entry.lastTried)),
];
