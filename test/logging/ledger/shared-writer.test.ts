/** The decisions of a shared ledger's writer. The tests with the tag database run its SQL. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type Database, type SqlStatement, type SqlValue, toRow } from "../../../src/database/database.ts";
import type { EntryState } from "../../../src/logging/ledger/entries.ts";
import { createSharedWriter } from "../../../src/logging/ledger/shared-writer.ts";
import { dedupKeyBytes } from "../../../src/rollouts/index/dedup-keys.ts";
import { waitForAbort } from "../../../src/system/host.ts";
import { testHost } from "../../support/host.ts";

type Rows = readonly Readonly<Record<string, SqlValue>>[];
type Answers = readonly (Rows | Promise<Rows>)[];

const scope = { destination: "d", account: "a", model: "m", split: "s", batch: null };

const none = new Uint8Array();
const content = { key: "k", input: "i", bytes: 5, envelopeDigest: "e", sampled: none, firstTried: 7 };
const entry = { dedupKeys: new Uint8Array(dedupKeyBytes), checksum: 8, ...content };

/** A writer of the run 4, which begins at 1000 ms. Its statements, in `asked`, get `answers`, and then no rows. */
const openWriter = async (answers: Answers) => {
  const asked: (SqlStatement & { isCommitted?: boolean })[] = [];
  const left = [[{ id: 4 }], ...answers];
  const clock = { now: 1000 };
  const host = { ...testHost(), elapsed: () => clock.now };
  const next = async () =>
    ((await left.shift()) ?? []).map((row) => toRow(row, { path: "p", noun: "ledger", moveWith: "" }));
  const database: Database = {
    path: "postgres://host/database",
    isShared: true,
    query: async (sql, values = []) => {
      asked.push({ sql: sql.replace(/\s+/g, " ").trim(), values });
      return await next();
    },
    transact: async ([statement = { sql: "" }], shouldCommit = () => true) => {
      const rows = [await next()];
      asked.push({ ...statement, isCommitted: shouldCommit(rows) });
      return rows;
    },
    isFileInPlace: () => true,
    close: async () => undefined,
  };
  const writer = createSharedWriter(database, host);
  const run = await writer.acquireScope(scope, { host, maxWaitMs: 0 });
  onTestFinished(async () => await writer.end?.());
  asked.length = 0;
  const record = async () => await writer.recordRequest(3, { ...entry, nonce: "g" });
  const isHeldAt = (now: number) => {
    clock.now = now;
    return run?.isHeld();
  };
  return { writer, asked, clock, record, isHeldAt };
};

describe("a run's lease on a shared ledger", () => {
  it("lasts 15 seconds from the query that began or renewed it, by the run's clock", async () => {
    const begun = [{ id: 9, missing: 0 }];
    const gate = new AbortController();
    const slow = waitForAbort(gate.signal).then(() => begun);
    const { record, clock, isHeldAt } = await openWriter([slow, begun]);
    expect([1000, 15_999, 16_000, 45_000].map(isHeldAt)).toEqual([true, true, false, false]);
    clock.now = 5000;
    const earlier = record();
    clock.now = 10_000;
    await record();
    // The answer to an earlier query does not shorten the lease.
    gate.abort();
    await earlier;
    expect([24_999, 25_000].map(isHeldAt)).toEqual([true, false]);
  });

  it("is renewed every 5 seconds, and lost if the database does not renew it", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { isHeldAt } = await openWriter(Array(6).fill([{ id: 4 }]));
    const held: unknown[] = [];
    for (let now = 6000; now <= 36_000; now += 5000) {
      isHeldAt(now);
      await vi.advanceTimersByTimeAsync(5000);
      held.push(isHeldAt(now));
    }
    expect(held).toEqual([...Array(6).fill(true), false]);
  });

  it("is required before a request is recorded, begun or retried", async () => {
    const { writer, asked, clock, record } = await openWriter([]);
    clock.now += 15_000;
    await expect(record()).rejects.toMatchObject({ kind: "lease-lost" });
    await expect(writer.recordRetry(1, 0)).rejects.toMatchObject({ kind: "lease-lost" });
    expect(asked).toEqual([]);
  });
});

describe("the outcome of a request in a shared ledger", () => {
  const own = "run = 4 AND state = 'trying'";
  const open = "(run = 4 OR state <> 'trying') AND state NOT IN ('logged', 'assumed_logged')";
  it.each<[state: Exclude<EntryState, "trying">, changed: readonly number[], conditions: readonly string[]]>([
    ["refused", [1], [own]],
    ["refused", [0, 1], [own, "run = 4 AND state = 'unknown'"]],
    ["not_sent", [0, 0], [own, "run = 4 AND state = 'unknown'"]],
    ["logged", [1], [own]],
    ["logged", [0, 1], [own, "state <> 'logged'", "claims"]],
    ["logged", [0, 0], [own, "state <> 'logged'"]],
    ["unknown", [1], [own]],
    ["unknown", [0, 1], [own, open, "claims"]],
    ["unknown", [0, 0], [own, open]],
  ])("replaces no better outcome of another run, and claims the groups again (row %$)", async (state, changed, all) => {
    const { writer, asked } = await openWriter(changed.map((count) => Array(count).fill({ id: 9 })));
    await writer.recordOutcome(9, { state, status: 200, cause: "c", calls: 0 });
    const conditions = asked.map(({ sql }) => /WHERE id = \? AND (.*) RETURNING id$/.exec(sql)?.[1] ?? "claims");
    expect(conditions).toEqual(all);
    const outcome = [state, 200, "c", "0", 9];
    expect(asked.map(({ values }) => values)).toEqual(all.map((one) => (one === "claims" ? [9] : outcome)));
    if (all.at(-1) === "claims") expect(asked.at(-1)?.sql).toMatch(/^INSERT INTO rollcall\.mark .* DO NOTHING$/);
  });
});

describe("a new request in a shared ledger", () => {
  const record = async (answers: Answers) => {
    const { record: recordNext, asked } = await openWriter(answers);
    const recorded = await recordNext().catch(({ kind }) => kind);
    return { recorded, asked, commits: asked.flatMap(({ isCommitted }) => isCommitted ?? []) };
  };

  it("is committed only if no other request claims its groups", async () => {
    const { recorded, asked, commits } = await record([[{ id: 9, missing: 0 }]]);
    expect([recorded, commits]).toEqual([9, [true]]);
    const [keys, run, inScope, token, ...rest] = asked[0]?.values ?? [];
    expect([keys, run, inScope]).toEqual([entry.dedupKeys, 4, 3]);
    expect(rest).toEqual(["g", "i", 5, "k", "e", none, 8, 7, 4, token]);
    const taken = await record([
      [{ id: 9, missing: 2 }],
      ["a", "b"].map((mark) => ({ mark: Buffer.from(mark), owner: 9 })),
    ]);
    expect([taken.recorded, taken.commits]).toEqual([{ claimed: Buffer.from("ab") }, [false]]);
    expect(taken.asked[1]?.values).toEqual([entry.dedupKeys, 3, "g", 4]);
  });

  it("is repeated up to 5 times if the claims are gone meanwhile, and fails without a lease", async () => {
    const gone: Answers = [[{ id: 9, missing: 1 }], []];
    const second = await record([...gone, [{ id: 9, missing: 0 }]]);
    expect([second.recorded, second.commits]).toEqual([9, [false, true]]);
    const last = await record(Array(6).fill(gone).flat());
    expect([last.recorded, last.commits]).toEqual(["lease-lost", Array(5).fill(false)]);
    const lost = await record([[]]);
    expect([lost.recorded, lost.asked.length]).toEqual(["lease-lost", 1]);
  });

  it("is retried if the database says that no other run has the request", async () => {
    const { writer, asked } = await openWriter([[{ id: 9 }], []]);
    expect([await writer.recordRetry(9, 0), await writer.recordRetry(8, 0)]).toEqual([true, false]);
    expect(asked.map(({ values }) => values)).toEqual([
      [4, 9],
      [4, 8],
    ]);
  });
});

it("a run that ends makes its requests in flight unknown, after it released the claims of unsent groups", async () => {
  const { writer, asked } = await openWriter([]);
  await writer.end?.();
  expect(asked.map(({ sql, values }) => [sql.split(" ").slice(0, 3).join(" "), values])).toEqual([
    ["UPDATE rollcall.run SET", [4]],
    ["UPDATE rollcall.run SET", []],
    ["DELETE FROM rollcall.mark", []],
    ["UPDATE rollcall.request SET", []],
  ]);
  expect(asked[2]?.sql).toContain("state IN ('not_sent', 'refused', 'released') AND run IN");
  expect(asked[3]?.sql).toContain("SET state = 'unknown', cause = 'died'");
});

it("a shared ledger tells its time, the rest of other leases and its last change", async () => {
  const { writer, asked } = await openWriter([[{ now: 7 }], [{ rest: 6 }], [{ at: 5 }]]);
  expect(await writer.readClockMs?.()).toBe(7);
  expect([await writer.readOtherLeaseMs?.(), await writer.readRevision()]).toEqual([6, 5]);
  expect(asked[1]?.values).toEqual([4]);
});

it("a shared ledger resolves only an unknown request", async () => {
  const { writer, asked } = await openWriter([[{ id: 9 }], []]);
  expect([await writer.recordResolution(9, "released"), await writer.recordResolution(8, "assumed_logged")]).toEqual([
    true,
    false,
  ]);
  expect(asked.map(({ values }) => values)).toEqual([
    ["released", 9],
    ["assumed_logged", 8],
  ]);
  expect(asked[0]?.sql).toContain("WHERE id = ? AND state = 'unknown'");
});
