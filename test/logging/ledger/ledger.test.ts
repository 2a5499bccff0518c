import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tryLock } from "../../../src/database/own-file.ts";
import type { Entry, EntryFilter, LedgerScope } from "../../../src/logging/ledger/entries.ts";
import { type EntryState, formatId, makeIdempotencyKey, parseId } from "../../../src/logging/ledger/entries.ts";
import { type NewEntry, type RecordedOutcome, toScopeLock } from "../../../src/logging/ledger/file-writer.ts";
import { type Ledger, openLedger } from "../../../src/logging/ledger/ledger.ts";
import { PriorOutcomes } from "../../../src/logging/ledger/prior-outcomes.ts";
import { RunLedger } from "../../../src/logging/ledger/run-ledger.ts";
import { verifyDataset } from "../../../src/logging/send/verify-ledger.ts";
import { assignDedupKeys, DedupKeys, dedupKeyBytes } from "../../../src/rollouts/index/dedup-keys.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, newFolder, read, usualDelivery } from "../../support/inputs.ts";
import { hasPostgres, newDatabase } from "../../support/postgres.ts";

const keysOf = (contents: readonly string[]): DedupKeys => {
  const keys = new DedupKeys();
  const input = keys.addInput();
  for (const [group, text] of contents.entries())
    input.add(group, createHash("sha256").update(text).digest().subarray(0, dedupKeyBytes));
  return keys;
};

const scope: LedgerScope = {
  destination: "https://service.example/v1/preview/models/m/log",
  account: "default",
  model: "m",
  split: "train",
  batch: null,
};

describe("the dedup keys", () => {
  it("differ for every group of an input, also for equal groups", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 60 }), (contents) => {
        const keys = keysOf(contents);
        const { count, find } = keys;
        const bytes = keys.slice(0, count);
        const seen = new Set<string>();
        for (let group = 0; group < count; group++) {
          const mark = Buffer.from(bytes.subarray(group * dedupKeyBytes, (group + 1) * dedupKeyBytes)).toString("hex");
          expect(find(bytes, group * dedupKeyBytes)).toBe(group);
          seen.add(mark);
        }
        expect(seen.size).toBe(contents.length);
      }),
    );
  });

  it("do not depend on the order of equal groups", () => {
    const setOf = (contents: readonly string[]) => {
      const keys = keysOf(contents);
      const { count } = keys;
      const bytes = keys.slice(0, count);
      const marks = Array.from({ length: count }, (_, group) =>
        Buffer.from(bytes.subarray(group * dedupKeyBytes, (group + 1) * dedupKeyBytes)).toString("hex"),
      );
      return marks.sort();
    };
    expect(setOf(["a", "b", "a", "a"])).toEqual(setOf(["a", "a", "a", "b"]));
  });
});

/** The databases of a ledger, which must behave alike. */
const bodies: readonly {
  readonly name: string;
  readonly newPlace: (folder: string) => Promise<string>;
  readonly skip: boolean;
  readonly tags: "database" | [];
}[] = [
  { name: "a file", newPlace: async (folder) => join(folder, "ledger.db"), skip: false, tags: [] },
  { name: "PostgreSQL", newPlace: async () => await newDatabase(), skip: !hasPostgres, tags: "database" },
];

const openAt = async (path: string): Promise<Ledger> => {
  const opened = await openLedger({ path }, { ...usualDelivery(), canCreate: true });
  if (opened === undefined) throw new Error("it is not made");
  return opened;
};

const scopeOf = (ledger: Ledger, in_: LedgerScope) => ({
  entries: () => ledger.scopeEntries(in_),
  recordRequest: async (entry: NewEntry) => {
    const recorded = await ledger.recordRequest(await ledger.makeScope(in_), entry);
    return typeof recorded === "number" ? formatId(recorded) : recorded;
  },
  recordRetry: async (id: string, now: number) => await ledger.recordRetry(parseId(id), now),
  recordOutcome: async (id: string, outcome: RecordedOutcome) => await ledger.recordOutcome(parseId(id), outcome),
});

for (const { name, newPlace, skip, tags } of bodies)
  describe.skipIf(skip)(`the ledger in ${name}`, { tags }, () => {
    let folder: string;
    let path: string;
    let ledger: Ledger;
    let held: { release(): void } | undefined;
    const open = async (): Promise<void> => {
      ledger = await openAt(path);
      held = await ledger.acquireScope(scope, usualDelivery());
      await ledger.makeScope(scope);
    };
    const close = async (): Promise<void> => {
      held?.release();
      await ledger.close();
    };
    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), "rollcall-ledger-"));
      path = await newPlace(folder);
      await open();
    });
    afterEach(async () => {
      await close();
      rmSync(folder, { recursive: true, force: true });
    });

    const marks = (...contents: readonly string[]) => keysOf(contents);
    /** Requests that were begun and can have groups of other requests. */
    let begun = 0;
    const begin = async (to: Ledger, in_: LedgerScope, ...contents: readonly string[]): Promise<string> => {
      const keys = marks(...contents);
      const { count } = keys;
      const bytes = keys.slice(0, count);
      const key = makeIdempotencyKey(in_, bytes, "");
      const own = scopeOf(to, in_);
      const facts = { key, input: "a.jsonl", bytes: 10, envelopeDigest: "", now: 1000 };
      const entry = { ...facts, dedupKeys: bytes, nonce: `${begun++}` };
      return String(await own.recordRequest(entry));
    };
    const settle = async (id: Promise<string>, state: Exclude<EntryState, "trying">): Promise<void> =>
      await scopeOf(ledger, scope).recordOutcome(await id, { state, status: 200, cause: null, calls: '["c1"]' });
    const entries = async (filter: EntryFilter) => {
      const list: Entry[] = [];
      for await (const entry of ledger.entries(filter)) list.push(entry);
      return list;
    };
    /** Returns the prior outcomes of groups. Expects equal outcomes if the groups arrive in turn. */
    const outcomesOf = async (
      in_: LedgerScope,
      contents: readonly string[],
      { input = "a.jsonl", resendLogged = false }: { readonly input?: string; readonly resendLogged?: boolean } = {},
    ) => {
      const keys = marks(...contents);
      const own = scopeOf(ledger, in_);
      const known = { dedupKeys: keys, input, resendLogged };
      const ahead = new PriorOutcomes({ ...known, isGrowing: false });
      await ahead.addEntries(own.entries());
      // The groups of a growing file are not known yet, so the keys of the ledger get numbers.
      const growing = new PriorOutcomes({ ...known, isGrowing: true });
      await growing.addEntries(own.entries());
      const outcomes = contents.map((_, group) => ahead.outcomeOf(group));
      const elsewhere = contents.filter((_, group) => ahead.wasLoggedElsewhere(group));
      expect(contents.map((_, group) => growing.outcomeOf(group))).toEqual(outcomes);
      expect(contents.filter((_, group) => growing.wasLoggedElsewhere(group))).toEqual(elsewhere);
      return { outcomes, elsewhere, at: ahead.loggedElsewhereAt() };
    };

    it("is created once, and remembers logged groups after it was reopened", async () => {
      expect(ledger.created).toBe(true);
      await settle(begin(ledger, scope, "a", "b"), "logged");
      await close();
      await open();
      expect(ledger.created).toBe(false);
      expect((await outcomesOf(scope, ["b", "c", "a"])).outcomes).toEqual([
        "already_logged",
        "not_sent",
        "already_logged",
      ]);
    });

    it("does not count a second equal group as logged", async () => {
      await settle(begin(ledger, scope, "a"), "logged");
      expect((await outcomesOf(scope, ["a", "a"])).outcomes).toEqual(["already_logged", "not_sent"]);
    });

    it("separates groups by destination, account, model, split and batch", async () => {
      await settle(begin(ledger, scope, "a"), "logged");
      const others: readonly LedgerScope[] = [
        { ...scope, destination: "https://other.example/v1/preview/models/m/log" },
        { ...scope, account: "other" },
        { ...scope, model: "other" },
        { ...scope, split: "val" },
        { ...scope, batch: "" },
        { ...scope, batch: "step-1" },
      ];
      for (const other of others) expect((await outcomesOf(other, ["a"])).outcomes).toEqual(["not_sent"]);
      expect(new Set([scope, ...others].map((one) => makeIdempotencyKey(one, marks("a").slice(0, 1), ""))).size).toBe(
        others.length + 1,
      );
    });

    it("makes the request in flight of a killed run unknown until it is resolved", async () => {
      const id = await begin(ledger, scope, "a");
      await close();
      await open();
      await ledger.recover(scope);
      expect((await outcomesOf(scope, ["a"])).outcomes).toEqual(["unknown"]);
      expect(await ledger.resolve(id, "released")).toBe(true);
      expect(await ledger.resolve(id, "assumed_logged")).toBe(false);
      expect((await outcomesOf(scope, ["a"])).outcomes).toEqual(["not_sent"]);
    });

    it("counts a group as unknown if any of its requests is unknown, else as logged if any was logged", async () => {
      await settle(begin(ledger, scope, "a"), "refused");
      await settle(begin(ledger, scope, "b"), "not_sent");
      expect((await outcomesOf(scope, ["a", "b"])).outcomes).toEqual(["not_sent", "not_sent"]);
      await settle(begin(ledger, scope, "a"), "logged");
      expect((await outcomesOf(scope, ["a"])).outcomes).toEqual(["already_logged"]);
      expect((await outcomesOf(scope, ["a"], { resendLogged: true })).outcomes).toEqual(["not_sent"]);
      await settle(begin(ledger, scope, "a"), "unknown");
      for (const resendLogged of [false, true]) {
        expect((await outcomesOf(scope, ["a"], { resendLogged })).outcomes).toEqual(["unknown"]);
      }
      await settle(begin(ledger, scope, "a"), "logged");
      expect((await outcomesOf(scope, ["a"])).outcomes).toEqual(["unknown"]);
    });

    it("reports groups that were logged from an input with another name", async () => {
      await settle(begin(ledger, scope, "a", "b"), "logged");
      const elsewhere = async (input: string) => await outcomesOf(scope, ["a", "c"], { input });
      const [entry] = await entries({});
      expect(await elsewhere("b.jsonl")).toMatchObject({ elsewhere: ["a"], at: entry?.lastTried });
      expect(await elsewhere("a.jsonl")).toMatchObject({ elsewhere: [], at: 0 });
    });

    it("reports no resent groups that were logged from an input with another name", async () => {
      await settle(begin(ledger, scope, "a", "b"), "logged");
      const elsewhere = async (resendLogged: boolean) =>
        (await outcomesOf(scope, ["a"], { input: "b.jsonl", resendLogged })).elsewhere;
      expect([await elsewhere(false), await elsewhere(true)]).toEqual([["a"], []]);
    });

    it("remembers all logged groups if it reads their requests in several queries", async () => {
      const own = scopeOf(ledger, scope);
      const calls = JSON.stringify(["c".repeat(2 ** 20)]);
      for (const content of ["a", "b", "c"]) {
        const id = await begin(ledger, scope, content);
        await own.recordOutcome(id, { state: "logged", status: 200, cause: null, calls });
      }
      const logged = ["a", "b", "c"].map(() => "already_logged");
      expect((await outcomesOf(scope, ["a", "b", "c", "d"])).outcomes).toEqual([...logged, "not_sent"]);
    });

    it("records the digests of sent bytes, if they are known", async () => {
      const own = scopeOf(ledger, scope);
      const facts = { key: "", input: "a.jsonl", bytes: 10, envelopeDigest: "", now: 1000 };
      for (const [at, contents] of [undefined, Buffer.from("12345678")].entries()) {
        const entry = { ...facts, nonce: String(at), dedupKeys: marks(String(at)).slice(0, 1) };
        await own.recordRequest(contents ? { ...entry, contents } : entry);
      }
      const found: string[] = [];
      for await (const entry of own.entries()) found.push(Buffer.from(entry.contents).toString());
      expect(found).toEqual(["", "12345678"]);
    });

    it("records outcomes after a write that failed", async () => {
      const own = scopeOf(ledger, scope);
      const outcome = { state: "logged", status: 200, cause: null, calls: "[]" } as const;
      const ids = [await begin(ledger, scope, "a"), await begin(ledger, scope, "b")];
      await expect(own.recordOutcome(ids[0] ?? "", { ...outcome, calls: JSON.parse("null") })).rejects.toThrow();
      for (const id of ids) await own.recordOutcome(id, outcome);
      expect(await entries({})).toMatchObject(ids.map((id) => ({ id, state: "logged" })));
    });

    it("lets Node report signals while it reads requests", async () => {
      await begin(ledger, scope, "a");
      const order: string[] = [];
      setImmediate(() => order.push("signal"));
      for await (const { id } of scopeOf(ledger, scope).entries()) order.push(id);
      expect(order).toEqual(["signal", "r1"]);
    });

    it("returns requests that exceed one reply of a database", { tags: "slow" }, async () => {
      const own = scopeOf(ledger, scope);
      for (const at of [1, 2, 3, 4]) {
        const names = Array.from({ length: 50_000 }, (_, group) => `${at} ${group}`);
        const bytes = marks(...names).slice(0, names.length);
        const facts = { key: "", input: "a.jsonl", bytes: 10, envelopeDigest: "", now: 1000, nonce: "" };
        expect(await own.recordRequest({ ...facts, dedupKeys: bytes })).toBe(`r${at}`);
      }
      const read = await entries({});
      expect(read.map(({ id, groups, dedupKeys: own }) => [id, groups, own.length])).toEqual(
        [1, 2, 3, 4].map((at) => [`r${at}`, 50_000, 50_000 * dedupKeyBytes]),
      );
    });

    it("lists requests by batch, and remembers the sizes that a destination accepts", async () => {
      await settle(begin(ledger, scope, "a"), "logged");
      const step = { ...scope, batch: "step-1" };
      await begin(ledger, step, "b");
      expect(await entries({ batch: "step-1" })).toMatchObject([{ id: "r2", state: "trying" }]);
      const sizes = { passed: 100, refused: { bytes: 150, at: 1000 } };
      await ledger.saveFacts(scope, { ...sizes, echoesKey: true });
      await ledger.saveFacts(step, { ...sizes, echoesKey: false });
      expect(await ledger.readFacts(scope)).toEqual({ ...sizes, echoesKey: true });
    });
  });

describe("the ledger of a run", () => {
  const openRun = async (path: string, now = testHost().now(), dryRun = false): Promise<RunLedger> => {
    const host = { ...testHost(), now: () => now };
    const options = { ...usualDelivery(), host, dryRun, input: "a.jsonl" };
    const run = new RunLedger({ ...options, ledger: { path, require: false } });
    onTestFinished(async () => await run.close());
    await run.open(scope.destination);
    await run.acquire();
    return run;
  };

  it.skipIf(!hasPostgres)("has the database's time if the ledger is shared", { tags: "database" }, async () => {
    const behindMs = 10 * 60 * 60 * 1000;
    const run = await openRun(await newDatabase(), Date.now() - behindMs);
    expect(Math.abs(run.now() - Date.now())).toBeLessThan(behindMs / 2);
    const begun = await run.recordRequest({
      dedupKeys: new Uint8Array(dedupKeyBytes),
      bytes: 10,
      envelopeDigest: "",
    });
    expect("firstTried" in begun && Date.now() - begun.firstTried).toBeLessThan(behindMs / 2);
  });

  it.skipIf(!hasPostgres)("returns requests in flight of other runs to a dry run", { tags: "database" }, async () => {
    const path = await newDatabase();
    const sending = await openRun(path);
    await sending.recordRequest({ dedupKeys: keysOf(["a"]).slice(0, 1), bytes: 10, envelopeDigest: "" });
    for (const [dryRun, expected] of [
      [true, ["trying"]],
      [false, []],
    ] as const) {
      const states: string[] = [];
      for await (const { state } of (await openRun(path, undefined, dryRun)).entries()) states.push(state);
      expect(states).toEqual(expected);
    }
  });

  it("returns every unknown request of earlier runs at each call", async () => {
    const path = join(newFolder(), "ledger.db");
    const earlier = await openRun(path);
    for (const group of ["a", "b"]) {
      const begun = await earlier.recordRequest({
        dedupKeys: keysOf([group]).slice(0, 1),
        bytes: 10,
        envelopeDigest: "",
      });
      if ("claimed" in begun) throw new Error("another run has the group");
      await earlier.recordOutcome(begun, { state: "unknown", status: null, cause: null, calls: "[]" });
    }
    await earlier.close();
    const run = await openRun(path);
    for (let time = 0; time < 3; time++) {
      const ids: string[] = [];
      for await (const { id } of run.entries()) ids.push(id);
      expect(ids).toEqual(["r1", "r2"]);
    }
  });

  it("returns the key of a request before it is recorded, as in a dry run", async () => {
    const path = join(newFolder(), "ledger.db");
    const marks = keysOf(["a"]).slice(0, 1);
    const ledgerOfRun = { path, require: false };
    const planned = new RunLedger({ ...usualDelivery(), ledger: ledgerOfRun, dryRun: true, input: "a.jsonl" });
    await planned.open(scope.destination);
    const sent = await (await openRun(path)).recordRequest({ dedupKeys: marks, bytes: 10, envelopeDigest: "" });
    expect(sent).toMatchObject({ key: planned.findPlannedKey(marks) });
  });

  it("does not continue with an older state of its file", async () => {
    const path = join(newFolder(), "ledger.db");
    const run = await openRun(path);
    const request = (group: string) => ({ dedupKeys: keysOf([group]).slice(0, 1), bytes: 10, envelopeDigest: "" });
    await run.recordRequest(request("a"));
    const before = readFileSync(path);
    await run.recordRequest(request("b"));
    run.release();
    writeFileSync(path, before);
    await expect(run.acquire()).rejects.toMatchObject({ kind: "ledger-replaced" });
  });

  it("forgets a size that the service refused after 24 hours, or if the clock was set back", async () => {
    const path = join(newFolder(), "ledger.db");
    const now = testHost().now();
    const run = await openRun(path, now);
    await run.recordRefusedSize(150);
    await run.close();
    const dayMs = 24 * 60 * 60 * 1000;
    const limits: (number | undefined)[] = [];
    for (const later of [-1, dayMs - 1, dayMs]) {
      const next = await openRun(path, now + later);
      limits.push(next.sizeLimit?.bytes);
      await next.close();
    }
    expect(limits).toEqual([undefined, 75, undefined]);
  });
});

describe("the verification of a group", () => {
  const verifyOptions = { ledgerArgs: [], inputArgs: [], signal: new AbortController().signal };

  it("is repeated if the group was logged twice in one scope, also if another scope has the group once", async () => {
    const reading = await read(filesOf('{"trajectories":[{"messages_and_choices":[],"reward":1}]}\n'));
    const marks = (await assignDedupKeys(reading.groups)).slice(0, 1);
    const facts = { input: "a.jsonl", groups: 1, bytes: 10, key: "", firstTried: 0, lastTried: 0, attempts: 1 };
    const more = {
      status: 200,
      cause: null,
      calls: [],
      dedupKeys: marks,
      envelopeDigest: "",
      contents: new Uint8Array(),
      state: "logged" as const,
    };
    const verified = async (...splits: readonly string[]) => {
      const entries = splits.map(
        (split, at): Entry => ({ ...facts, ...more, id: `r${at}`, scope: { ...scope, split } }),
      );
      const { counts } = await verifyDataset(reading, entries, { isPerScope: true, ...verifyOptions });
      return { logged: counts.logged, repeated: counts.repeated };
    };
    expect(await verified("train", "val")).toEqual({ logged: 1, repeated: 0 });
    expect(await verified("train", "val", "val")).toEqual({ logged: 0, repeated: 1 });
    expect(await verified("train", "train")).toEqual({ logged: 0, repeated: 1 });
  });

  it("lists ten files in natural order", async () => {
    const line = '{"trajectories":[{"messages_and_choices":[],"reward":1}]}';
    const files = filesOf(...Array.from({ length: 10 }, () => line));
    const found = await verifyDataset(await read(files), [], { isPerScope: false, ...verifyOptions });
    expect(found.files).toEqual(files.map((file) => ({ file, read: 1, logged: 0 })));
  });

  it("counts each group once, and names the first 20 groups and a group of each outcome", async () => {
    const line = (reward: number) => `{"trajectories":[{"messages_and_choices":[],"reward":${reward}}]}`;
    const rewards = Array.from({ length: 30 }, (_, at) => at);
    const files = filesOf(rewards.slice(0, 23).map(line).join("\n"), rewards.slice(23).map(line).join("\n"));
    const reading = await read(files);
    const marks = await assignDedupKeys(reading.groups);
    const facts = { input: "a.jsonl", groups: 1, bytes: 10, key: "", firstTried: 0, lastTried: 0, attempts: 1 };
    const entries = (
      [
        ["logged", 0, 2],
        ["unknown", 23, 2],
        ["refused", 24, 2],
        ["assumed_logged", 24, 1],
        ["refused", 26, 1],
        ["trying", 27, 1],
        ["logged", 28, 2],
        ["logged", 29, 1],
        ["refused", 28, 1],
        ["not_sent", 5, 1],
        ["released", 6, 1],
      ] as const
    ).map(([state, first, count], at): Entry => {
      const digests = { envelopeDigest: "", contents: new Uint8Array(), dedupKeys: marks.slice(first, count) };
      const more = { status: 200, cause: null, calls: [], ...digests };
      return { ...facts, ...more, id: `r${at}`, state, scope };
    });
    const found = await verifyDataset(reading, entries, { isPerScope: false, ...verifyOptions });
    const { problems, problemCounts, ...others } = found;
    expect(others).toEqual({
      ...{ isInvalid: false, entries },
      counts: { read: 30, logged: 3, repeated: 1, unknown: 3, refused: 2, not_sent: 21 },
      files: [
        { file: files[0], read: 23, logged: 2 },
        { file: files[1], read: 7, logged: 1 },
      ],
    });
    expect(problems.map(({ rule, file, line: at }) => `${rule} ${files.indexOf(file ?? "") + 1}:${at}`)).toEqual([
      ...Array.from({ length: 20 }, (_, at) => `group-not-logged 1:${at + 3}`),
      ...["unresolved-group 2:1", "group-refused 2:3", "duplicate-group 2:7"],
    ]);
    expect(problemCounts.map(({ rule, count }) => `${rule} ${count}`)).toEqual(
      "duplicate-group 1,unresolved-group 3,group-refused 2,group-not-logged 21".split(","),
    );
  });
});

describe("the locks of a ledger in a file", () => {
  it("fail with the options that choose another ledger", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "rollcall-ledger-")), "ledger.db");
    await (await openAt(path)).close();
    mkdirSync(toScopeLock(path, scope).path);
    await expect(tryLock(toScopeLock(path, scope))).rejects.toMatchObject({
      kind: "folder-unusable",
      message: expect.stringContaining("cannot create the lock of the ledger at "),
      details: { hint: "choose another location with --ledger or ROLLCALL_LEDGER" },
    });
  });

  it("belong to one process at a time, and are free after it is killed", async () => {
    const folder = mkdtempSync(join(tmpdir(), "rollcall-ledger-"));
    const path = join(folder, "ledger.db");
    const ledger = await openAt(path);
    const held = await tryLock(toScopeLock(ledger.path, scope));
    expect(held).toBeDefined();
    const program = `
      import Database from "libsql";
      const db = new Database(process.argv[1], { timeout: 0 });
      try { db.exec("BEGIN IMMEDIATE"); console.log("has it"); setInterval(() => {}, 1000); } catch { console.log("busy"); }
    `;
    const { path: file } = toScopeLock(ledger.path, scope);
    const other = async () => {
      const child = spawn(process.execPath, ["--input-type=module", "-e", program, file]);
      const [said] = await new Promise<[string]>((resolve) =>
        child.stdout.once("data", (data) => resolve([`${data}`.trim()])),
      );
      return { child, said };
    };
    expect((await other()).said).toBe("busy");
    held?.release();
    const { child, said } = await other();
    expect(said).toBe("has it");
    expect(await tryLock(toScopeLock(ledger.path, scope))).toBeUndefined();
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    const again = await tryLock(toScopeLock(ledger.path, scope));
    expect(again).toBeDefined();
    again?.release();
    await ledger.close();
    rmSync(folder, { recursive: true });
  });
});

/** Writes into a database without rollcall. */
const write = async (path: string, sql: string): Promise<void> => {
  const client = new pg.Client(path);
  await client.connect();
  await client.query(sql);
  await client.end();
};

describe.skipIf(!hasPostgres)("runs that share a ledger in PostgreSQL", { tags: "database" }, () => {
  const marks = (...contents: readonly string[]) => {
    const keys = keysOf(contents);
    const { count } = keys;
    return keys.slice(0, count);
  };
  const entryOf = (...contents: readonly string[]) => ({
    dedupKeys: marks(...contents),
    key: "",
    input: "a.jsonl",
    bytes: 10,
    envelopeDigest: "",
    now: 0,
    nonce: "",
  });
  const two = async () => {
    const path = await newDatabase();
    const run = async () => {
      const ledger = await openAt(path);
      await ledger.acquireScope(scope, usualDelivery());
      return { ledger, own: scopeOf(ledger, scope) };
    };
    return { path, first: await run(), second: await run() };
  };
  const settlement = { status: 200, cause: null, calls: "[]" };

  it("record no request with a group that another run is sending", async () => {
    const { first, second } = await two();
    const id = String(await first.own.recordRequest(entryOf("a", "b")));
    expect(await second.own.recordRequest(entryOf("c", "b", "d"))).toEqual({ claimed: Buffer.from(marks("b")) });
    expect(await second.own.recordRequest(entryOf("c", "d"))).toMatch(/^r\d+$/);
    await first.own.recordOutcome(id, { ...settlement, state: "logged" });
    expect(await second.own.recordRequest(entryOf("a"))).toMatchObject({ claimed: Buffer.from(marks("a")) });
    await Promise.all([first.ledger.close(), second.ledger.close()]);
  });

  it("record requests of 50,000 groups", async () => {
    const { first, second } = await two();
    const names = Array.from({ length: 50_000 }, (_, at) => `${at}`);
    const id = String(await first.own.recordRequest(entryOf(...names)));
    const settled = { ...settlement, state: "logged" } as const;
    await first.own.recordOutcome(id, settled);
    expect(await second.own.recordRequest(entryOf("another", "49999"))).toEqual({
      claimed: Buffer.from(marks("49999")),
    });
    await Promise.all([first.ledger.close(), second.ledger.close()]);
  });

  it("record requests of 100,000 calls", async () => {
    const { first, second } = await two();
    const calls = Array.from({ length: 100_000 }, (_, at) => `019a3f00-0000-7000-8000-${String(at).padStart(12, "0")}`);
    const id = String(await first.own.recordRequest(entryOf("a")));
    await first.own.recordOutcome(id, { ...settlement, calls: JSON.stringify(calls), state: "logged" });
    for await (const entry of second.ledger.entries({})) expect(entry.calls).toEqual(calls);
    await Promise.all([first.ledger.close(), second.ledger.close()]);
  });

  it("retry requests that were not sent, and release them at their end", async () => {
    const { first, second } = await two();
    const id = String(await first.own.recordRequest(entryOf("a", "b")));
    await first.own.recordOutcome(id, { ...settlement, state: "not_sent" });
    expect(await second.own.recordRequest(entryOf("a"))).toHaveProperty("claimed");
    expect(await first.own.recordRetry(id, 0)).toBe(true);
    await first.own.recordOutcome(id, { ...settlement, state: "not_sent" });
    const half = String(await first.own.recordRequest(entryOf("a")));
    await first.own.recordOutcome(half, { ...settlement, state: "refused" });
    await first.ledger.close();
    expect(await second.own.recordRequest(entryOf("a", "b"))).toMatch(/^r\d+$/);
    await second.ledger.close();
  });

  it("begin each group once if several runs begin it at the same time", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 6 }), {
          minLength: 2,
          maxLength: 8,
        }),
        async (requests) => {
          const { first, second } = await two();
          const begun = await Promise.all(
            requests.map(async (groups, at) => {
              const { own } = at % 2 === 0 ? first : second;
              return typeof (await own.recordRequest(entryOf(...groups.map(String)))) === "string" ? groups : [];
            }),
          );
          await Promise.all([first.ledger.close(), second.ledger.close()]);
          expect(begun.flat().length).toBe(new Set(begun.flat()).size);
          expect(begun.flat().length).toBeGreaterThan(0);
        },
      ),
      { numRuns: 15 },
    );
  });

  it("record after their lease expired that a request was logged, but no other outcome", async () => {
    const { path, first, second } = await two();
    const id = String(await first.own.recordRequest(entryOf("a")));
    const stateIs = async (): Promise<string | undefined> => {
      for await (const entry of second.own.entries()) return entry.state;
      return undefined;
    };
    await write(path, "UPDATE rollcall.run SET has_ended = true WHERE id = (SELECT min(id) FROM rollcall.run)");
    await second.ledger.recover();
    expect(await second.own.recordRetry(id, 0)).toBe(true);
    for (const state of ["not_sent", "refused", "unknown"] as const) {
      await first.own.recordOutcome(id, { ...settlement, state });
      expect(await stateIs()).toBe("trying");
    }
    await first.own.recordOutcome(id, { ...settlement, state: "logged" });
    await second.own.recordOutcome(id, { ...settlement, state: "unknown" });
    expect([await stateIs(), await second.own.recordRetry(id, 0)]).toEqual(["logged", false]);
    await Promise.all([first.ledger.close(), second.ledger.close()]);
  });

  it("release the groups of an unknown request that is resolved with --resend", async () => {
    const { first, second } = await two();
    const id = String(await first.own.recordRequest(entryOf("a")));
    await first.own.recordOutcome(id, { ...settlement, state: "unknown" });
    expect(await second.own.recordRequest(entryOf("a"))).toHaveProperty("claimed");
    expect(await second.ledger.resolve(id, "released")).toBe(true);
    expect(await second.own.recordRequest(entryOf("a"))).toMatch(/^r\d+$/);
    await Promise.all([first.ledger.close(), second.ledger.close()]);
  });
});
