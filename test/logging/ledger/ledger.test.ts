import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { tryLock } from "../../../src/database/own-file.ts";
import { Failure } from "../../../src/failure.ts";
import type { Entry, EntryFilter, LedgerScope } from "../../../src/logging/ledger/entries.ts";
import {
  computeChecksum,
  type EntryState,
  formatId,
  makeIdempotencyKey,
  parseId,
} from "../../../src/logging/ledger/entries.ts";
import { type NewEntry, type RecordedOutcome, toScopeLock } from "../../../src/logging/ledger/file-writer.ts";
import { type Ledger, openLedger } from "../../../src/logging/ledger/ledger.ts";
import { PriorOutcomes } from "../../../src/logging/ledger/prior-outcomes.ts";
import { RequestRecorder } from "../../../src/logging/ledger/request-recorder.ts";
import { verifyDataset } from "../../../src/logging/send/verify-ledger.ts";
import type { Dataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import { assignDedupKeys, DedupKeys, dedupKeyBytes } from "../../../src/rollouts/index/dedup-keys.ts";
import { testHost } from "../../support/host.ts";
import { filesOf, newFolder, read, usualDelivery } from "../../support/inputs.ts";
import { hasPostgres, newDatabase } from "../../support/postgres.ts";
import { itHolds } from "../../support/property.ts";

const keysOf = (contents: readonly string[]): DedupKeys => {
  const keys = new DedupKeys();
  const input = keys.addInput();
  for (const [group, text] of contents.entries())
    input.add(group, createHash("sha256").update(text).digest().subarray(0, dedupKeyBytes));
  return keys;
};

/** The dedup keys of groups, one after another. */
const bytesOf = (...contents: readonly string[]): Uint8Array => keysOf(contents).pick(contents.map((_, at) => at));

const keyTexts = (...contents: readonly string[]): readonly string[] => {
  const bytes = Buffer.from(bytesOf(...contents));
  return contents.map((_, at) => bytes.toString("hex", at * dedupKeyBytes, (at + 1) * dedupKeyBytes));
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
        const found = contents.map((_, group) => keysOf(contents).find(bytesOf(...contents), group * dedupKeyBytes));
        expect(found).toEqual(contents.map((_, group) => group));
        expect(new Set(keyTexts(...contents)).size).toBe(contents.length);
      }),
    );
  });

  it("do not depend on the order of equal groups", () => {
    expect(keyTexts("a", "b", "a", "a").toSorted()).toEqual(keyTexts("a", "a", "a", "b").toSorted());
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
  recordRequest: async (given: Pick<NewEntry, "dedupKeys" | "nonce"> & Partial<NewEntry>) => {
    const none = new Uint8Array();
    const content = { key: "", input: "a.jsonl", bytes: 10, firstTried: 1000, sampled: none, ...given };
    const entry = { envelopeDigest: "", ...content };
    const checksum = computeChecksum(in_, entry);
    const recorded = await ledger.recordRequest(await ledger.makeScope(in_), { ...entry, checksum });
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

    /** Requests that were begun and can have groups of other requests. */
    let begun = 0;
    const begin = async (in_: LedgerScope, ...contents: readonly string[]): Promise<string> => {
      const entry = { nonce: `${begun++}`, dedupKeys: bytesOf(...contents) };
      return String(await scopeOf(ledger, in_).recordRequest(entry));
    };
    const settle = async (id: Promise<string>, state: Exclude<EntryState, "trying">): Promise<void> =>
      await scopeOf(ledger, scope).recordOutcome(await id, { state, status: 200, cause: null, calls: 1 });
    const entries = async (filter: EntryFilter) => {
      const list: Entry[] = [];
      for await (const entry of ledger.entries(filter)) list.push(entry);
      return list;
    };
    const outcomesOf = async (in_: LedgerScope, ...contents: readonly string[]) => {
      const known = { dedupKeys: keysOf(contents), input: "a.jsonl", resendLogged: false, isGrowing: false };
      const prior = new PriorOutcomes(known);
      await prior.addEntries(ledger.scopeEntries(in_));
      return contents.map((_, group) => prior.outcomeOf(group));
    };

    it("is created once, and remembers logged groups after it was reopened", async () => {
      expect(ledger.created).toBe(true);
      await settle(begin(scope, "a", "b"), "logged");
      await close();
      await open();
      expect(ledger.created).toBe(false);
      expect(await outcomesOf(scope, "b", "c", "a")).toEqual(["already_logged", "not_sent", "already_logged"]);
    });

    it("separates groups by destination, account, model, split and batch", async () => {
      await settle(begin(scope, "a"), "logged");
      const others: readonly LedgerScope[] = [
        { ...scope, destination: "https://other.example/v1/preview/models/m/log" },
        { ...scope, account: "other" },
        { ...scope, model: "other" },
        { ...scope, split: "val" },
        { ...scope, batch: "" },
        { ...scope, batch: "step-1" },
      ];
      for (const other of others) expect(await outcomesOf(other, "a")).toEqual(["not_sent"]);
      expect(new Set([scope, ...others].map((one) => makeIdempotencyKey(one, bytesOf("a"), ""))).size).toBe(
        others.length + 1,
      );
    });

    it("makes the request in flight of a killed run unknown until it is resolved", async () => {
      const id = await begin(scope, "a");
      await close();
      await open();
      await ledger.recover(scope);
      expect(await outcomesOf(scope, "a")).toEqual(["unknown"]);
      expect(await ledger.resolve(id, "released")).toBe(true);
      expect(await ledger.resolve(id, "assumed_logged")).toBe(false);
      expect(await outcomesOf(scope, "a")).toEqual(["not_sent"]);
    });

    it("remembers all logged groups if it reads their requests in several queries", async () => {
      const own = scopeOf(ledger, scope);
      for (const content of ["a", "b", "c"]) {
        const sampled = new Uint8Array(2 ** 20);
        const id = String(await own.recordRequest({ nonce: "", dedupKeys: bytesOf(content), sampled }));
        await own.recordOutcome(id, { state: "logged", status: 200, cause: null, calls: 0 });
      }
      const logged = ["a", "b", "c"].map(() => "already_logged");
      expect(await outcomesOf(scope, "a", "b", "c", "d")).toEqual([...logged, "not_sent"]);
    });

    it("records outcomes after a write that failed", async () => {
      const own = scopeOf(ledger, scope);
      const outcome = { state: "logged", status: 200, cause: null, calls: 0 } as const;
      const ids = [await begin(scope, "a"), await begin(scope, "b")];
      await expect(own.recordOutcome(ids[0] ?? "", { ...outcome, state: JSON.parse("null") })).rejects.toThrow();
      for (const id of ids) await own.recordOutcome(id, outcome);
      expect(await entries({})).toMatchObject(ids.map((id) => ({ id, state: "logged" })));
    });

    it("lets Node report signals while it reads requests", async () => {
      await begin(scope, "a");
      const order: string[] = [];
      setImmediate(() => order.push("signal"));
      for await (const { id } of scopeOf(ledger, scope).entries()) order.push(id);
      expect(order).toEqual(["signal", "r1"]);
    });

    it("returns requests that exceed one reply of a database", { tags: "slow" }, async () => {
      const own = scopeOf(ledger, scope);
      for (const at of [1, 2, 3, 4]) {
        const names = Array.from({ length: 50_000 }, (_, group) => `${at} ${group}`);
        const bytes = bytesOf(...names);
        expect(await own.recordRequest({ nonce: "", dedupKeys: bytes })).toBe(`r${at}`);
      }
      const read = await entries({});
      expect(read.map(({ id, groups, dedupKeys: own }) => [id, groups, own.length])).toEqual(
        [1, 2, 3, 4].map((at) => [`r${at}`, 50_000, 50_000 * dedupKeyBytes]),
      );
    });

    it("lists requests by batch, and remembers what it knows about a destination", async () => {
      await settle(begin(scope, "a"), "logged");
      const step = { ...scope, batch: "step-1" };
      await begin(step, "b");
      expect(await entries({ batch: "step-1" })).toMatchObject([{ id: "r2", state: "trying" }]);
      const sizes = { passed: 100, refused: { bytes: 150, at: 1000 } };
      await ledger.saveFacts(scope, { ...sizes, echoesKey: true });
      await ledger.saveFacts(step, sizes);
      expect(await ledger.readFacts(scope)).toEqual({ ...sizes, echoesKey: true });
      await ledger.saveFacts(step, { echoesKey: false });
      expect((await ledger.readFacts(scope)).echoesKey).toBe(false);
    });
  });

describe("a ledger in a file of which a bit changed", () => {
  const makeFile = async () => {
    const path = join(newFolder(), "ledger.db");
    const ledger = await openAt(path);
    const held = await ledger.acquireScope(scope, usualDelivery());
    for (let at = 0; at < 20; at++) {
      const dedupKeys = bytesOf(...Array.from({ length: 40 }, (_, group) => `${at} ${group}`));
      const sampled = Buffer.alloc(640, `sampled ${at}`);
      const id = String(await scopeOf(ledger, scope).recordRequest({ nonce: "", dedupKeys, sampled, key: "k" }));
      await scopeOf(ledger, scope).recordOutcome(id, { state: "logged", status: 200, cause: null, calls: 1 });
    }
    await ledger.saveFacts(scope, { passed: 5, refused: undefined, echoesKey: false });
    held?.release();
    await ledger.close();
    return path;
  };
  /** What decides whether rollcall sends groups. An unknown request is not sent. */
  const readAll = async (path: string) => {
    const ledger = await openAt(path);
    try {
      const requests: unknown[] = [];
      for await (const { state, dedupKeys, sampled, key } of ledger.scopeEntries(scope))
        requests.push([state === "unknown" ? "logged" : state, dedupKeys, sampled, key]);
      return [requests, (await ledger.readFacts(scope)).echoesKey];
    } finally {
      await ledger.close();
    }
  };
  const fraction = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  let intact: { whole: Buffer; used: readonly number[]; requests: unknown } | undefined;

  itHolds(
    "is damaged, or has all its requests",
    fc.asyncProperty(fraction, fc.nat(7), async (where, bit) => {
      const path = intact ? join(newFolder(), "ledger.db") : await makeFile();
      const whole = intact?.whole ?? readFileSync(path);
      const used = intact?.used ?? [...whole.keys()].filter((at) => at < 100 || whole[at] !== 0);
      intact ??= { whole, used, requests: await readAll(path) };
      const bytes = Buffer.from(whole);
      const at = used[Math.floor(where * used.length)] ?? 0;
      bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
      writeFileSync(path, bytes);
      const found = await readAll(path).catch((thrown: unknown) => thrown);
      expect(found instanceof Failure ? found.code : found).toEqual(
        found instanceof Failure ? "storage" : intact.requests,
      );
    }),
    { quick: 30, slow: 500 },
  );
});

describe("the ledger of a run", () => {
  const request = (group: string) => ({ dedupKeys: bytesOf(group), bytes: 10, envelopeDigest: "" });
  const openRun = async (path: string, now = testHost().now(), dryRun = false): Promise<RequestRecorder> => {
    const host = { ...testHost(), now: () => now };
    const options = { ...usualDelivery(), host, dryRun, input: "a.jsonl" };
    const run = new RequestRecorder({ ...options, ledger: { path, require: false, startsNew: true } });
    onTestFinished(async () => await run.close());
    await run.open(scope.destination);
    await run.acquire();
    return run;
  };

  it.skipIf(!hasPostgres)("has the database's time if the ledger is shared", { tags: "database" }, async () => {
    const behindMs = 10 * 60 * 60 * 1000;
    const run = await openRun(await newDatabase(), Date.now() - behindMs);
    expect(Math.abs(run.now() - Date.now())).toBeLessThan(behindMs / 2);
    const begun = await run.recordRequest(request("a"));
    expect("firstTried" in begun && Date.now() - begun.firstTried).toBeLessThan(behindMs / 2);
  });

  it.skipIf(!hasPostgres)("returns requests in flight of other runs to a dry run", { tags: "database" }, async () => {
    const path = await newDatabase();
    const sending = await openRun(path);
    await sending.recordRequest(request("a"));
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
      const begun = await earlier.recordRequest(request(group));
      if ("claimed" in begun) throw new Error("another run has the group");
      await earlier.recordOutcome(begun, { state: "unknown", status: null, cause: null, calls: 0 });
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
    const marks = bytesOf("a");
    const ledgerOfRun = { path, require: false };
    const planned = new RequestRecorder({ ...usualDelivery(), ledger: ledgerOfRun, dryRun: true, input: "a.jsonl" });
    await planned.open(scope.destination);
    const sent = await (await openRun(path)).recordRequest(request("a"));
    expect(sent).toMatchObject({ key: planned.findPlannedKey(marks) });
  });

  it("does not continue with an older state of its file", async () => {
    const path = join(newFolder(), "ledger.db");
    const run = await openRun(path);
    await run.recordRequest(request("a"));
    const before = readFileSync(path);
    await run.recordRequest(request("b"));
    run.release();
    writeFileSync(path, before);
    await expect(run.acquire()).rejects.toMatchObject({ kind: "ledger-replaced" });
  });
});

describe("the verification of a group", () => {
  const line = (reward: number) => `{"trajectories":[{"messages_and_choices":[],"reward":${reward}}]}`;
  const entryOf = (id: number, state: EntryState, dedupKeys: Uint8Array, in_ = scope): Entry => ({
    ...{ id: `r${id}`, state, dedupKeys, scope: in_, input: "a.jsonl", groups: 1, bytes: 10, key: "" },
    ...{ firstTried: 0, lastTried: 0, attempts: 1, status: 200, cause: null, calls: 0 },
    ...{ envelopeDigest: "", sampled: new Uint8Array() },
  });
  const verify = async (dataset: Dataset, entries: readonly Entry[], isPerScope = false) =>
    await verifyDataset(dataset, entries, {
      ...{ isPerScope, ledgerArgs: [], inputArgs: [], signal: new AbortController().signal },
    });

  it("is repeated if the group was logged twice in one scope, also if another scope has the group once", async () => {
    const reading = await read(filesOf(line(1)));
    const marks = (await assignDedupKeys(reading.groups)).pick([0]);
    const verified = async (...splits: readonly string[]) => {
      const entries = splits.map((split, at) => entryOf(at, "logged", marks, { ...scope, split }));
      const { counts } = await verify(reading, entries, true);
      return [counts.logged, counts.repeated];
    };
    expect(await verified("train", "val")).toEqual([1, 0]);
    expect(await verified("train", "val", "val")).toEqual([0, 1]);
    expect(await verified("train", "train")).toEqual([0, 1]);
  });

  it("lists ten files in natural order", async () => {
    const files = filesOf(...Array.from({ length: 10 }, () => line(1)));
    const found = await verify(await read(files), []);
    expect(found.files).toEqual(files.map((file) => ({ file, read: 1, logged: 0 })));
  });

  it("counts each group once, and names unknown requests, 20 problems and one of each outcome", async () => {
    const rewards = Array.from({ length: 30 }, (_, at) => at);
    const files = filesOf(rewards.slice(0, 23).map(line).join("\n"), rewards.slice(23).map(line).join("\n"));
    const reading = await read(files);
    const marks = await assignDedupKeys(reading.groups);
    const states: readonly (readonly [state: EntryState, first: number, count: number])[] = [
      ...([
        ["logged", 0, 2],
        ["unknown", 23, 2],
        ["refused", 24, 2],
        ["assumed_logged", 24, 1],
      ] as const),
      ...([
        ["refused", 26, 1],
        ["trying", 27, 1],
        ["logged", 28, 2],
        ["logged", 29, 1],
      ] as const),
      ...([
        ["refused", 28, 1],
        ["not_sent", 5, 1],
        ["released", 6, 1],
      ] as const),
    ];
    const entries = states.map(([state, first, count], at) =>
      entryOf(at, state, marks.pick(Array.from({ length: count }, (_, next) => first + next))),
    );
    const { problems, problemCounts, ...others } = await verify(reading, entries);
    expect(others).toEqual({
      ...{ isInvalid: false, entries },
      counts: { read: 30, logged: 3, repeated: 1, unknown: 3, refused: 2, not_sent: 21 },
      files: [
        { file: files[0], read: 23, logged: 2 },
        { file: files[1], read: 7, logged: 1 },
      ],
    });
    expect(problems.map(({ rule, file, line: at }) => `${rule} ${files.indexOf(file ?? "") + 1}:${at}`)).toEqual([
      ...["unresolved-group 2:1", "unresolved-group 2:5"],
      ...Array.from({ length: 18 }, (_, at) => `group-not-logged 1:${at + 3}`),
      ...["group-refused 2:3", "duplicate-group 2:7"],
    ]);
    expect(problems[0]?.message).toContain(`request r1 (${files[1]}:1 to ${files[1]}:2)`);
    expect(problems[1]?.advice).toContain("`rollcall ledger resolve r5`");
    expect(problemCounts.map(({ rule, count }) => `${rule} ${count}`)).toEqual(
      "duplicate-group 1,unresolved-group 2,group-refused 2,group-not-logged 21".split(","),
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
  const entryOf = (...contents: readonly string[]) => ({ dedupKeys: bytesOf(...contents), nonce: "" });
  const two = async () => {
    const path = await newDatabase();
    const run = async () => {
      const ledger = await openAt(path);
      await ledger.acquireScope(scope, usualDelivery());
      return { ledger, own: scopeOf(ledger, scope) };
    };
    return { path, first: await run(), second: await run() };
  };
  const settlement = { status: 200, cause: null, calls: 0 };

  it("record no request with a group that another run is sending", async () => {
    const { first, second } = await two();
    const id = String(await first.own.recordRequest(entryOf("a", "b")));
    expect(await second.own.recordRequest(entryOf("c", "b", "d"))).toEqual({ claimed: Buffer.from(bytesOf("b")) });
    expect(await second.own.recordRequest(entryOf("c", "d"))).toMatch(/^r\d+$/);
    await first.own.recordOutcome(id, { ...settlement, state: "logged" });
    expect(await second.own.recordRequest(entryOf("a"))).toMatchObject({ claimed: Buffer.from(bytesOf("a")) });
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
