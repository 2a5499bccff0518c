import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EarlierMarks } from "../../src/trajectories/follow/growing-marks.ts";
import { EarlierRuns } from "../../src/trajectories/ledger/earlier-runs.ts";
import type { Entry, EntryFilter, EntryState, LedgerScope } from "../../src/trajectories/ledger/entries.ts";
import { type Ledger, openLedger } from "../../src/trajectories/ledger/ledger.ts";
import { tryScopeLock } from "../../src/trajectories/ledger/lock.ts";
import { keyOf } from "../../src/trajectories/ledger/scope.ts";
import { Digests } from "../../src/trajectories/read/parts/digests.ts";
import { markBytes, marksOf } from "../../src/trajectories/read/parts/marks.ts";
import { usualDelivery } from "./inputs.ts";

const digestsOf = (contents: readonly string[]): Digests =>
  Digests.of(Buffer.concat(contents.map((text) => createHash("sha256").update(text).digest().subarray(0, markBytes))));

const scope: LedgerScope = {
  destination: "https://service.example/v1/preview/models/m/log",
  account: "default",
  model: "m",
  split: "train",
  batch: null,
};

describe("marks", () => {
  it("tell every group of an input apart, equal ones by how often they came before", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom("a", "b", "c", "d", "e"), { maxLength: 60 }), (contents) => {
        const { slice, count, find } = marksOf(digestsOf(contents));
        const bytes = slice(0, count);
        const seen = new Set<string>();
        for (let group = 0; group < count; group++) {
          const mark = Buffer.from(bytes.subarray(group * markBytes, (group + 1) * markBytes)).toString("hex");
          expect(find(bytes, group * markBytes)).toBe(group);
          seen.add(mark);
        }
        expect(seen.size).toBe(contents.length);
      }),
    );
  });

  it("are the same set whatever order equal groups come in", () => {
    const setOf = (contents: readonly string[]) => {
      const { slice, count } = marksOf(digestsOf(contents));
      const bytes = slice(0, count);
      const marks = Array.from({ length: count }, (_, group) =>
        Buffer.from(bytes.subarray(group * markBytes, (group + 1) * markBytes)).toString("hex"),
      );
      return marks.sort();
    };
    expect(setOf(["a", "b", "a", "a"])).toEqual(setOf(["a", "a", "a", "b"]));
  });
});

describe("the ledger", () => {
  let folder: string;
  let ledger: Ledger;
  const path = () => join(folder, "ledger.db");
  const open = async (): Promise<Ledger> => {
    const opened = await openLedger({ path: path() }, { ...usualDelivery(), make: true });
    if (opened === undefined) throw new Error("it is not made");
    return opened;
  };
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-ledger-"));
    ledger = await open();
  });
  afterEach(async () => {
    await ledger.close();
    rmSync(folder, { recursive: true });
  });

  const marks = (...contents: readonly string[]) => marksOf(digestsOf(contents));
  const begin = async (to: Ledger, in_: LedgerScope, ...contents: readonly string[]): Promise<string> => {
    const { slice, count } = marks(...contents);
    const bytes = slice(0, count);
    const key = keyOf(in_, bytes, "");
    const own = await to.scope(in_);
    const entry = { marks: bytes, key, input: "a.jsonl", bytes: 10, frame: "", now: 1000, generation: "" };
    return String(await own.begin(entry));
  };
  const settle = async (id: Promise<string>, state: Exclude<EntryState, "trying">): Promise<void> =>
    await (await ledger.scope(scope)).settle(await id, { state, status: 200, cause: null, calls: ["c1"] });
  const entries = async (filter: EntryFilter) => {
    const list: Entry[] = [];
    for await (const entry of ledger.entries(filter)) list.push(entry);
    return list;
  };
  /** What follows for groups, which is the same where they are known ahead and where they come one by one. */
  const outcomesOf = async (
    in_: LedgerScope,
    contents: readonly string[],
    { input = "a.jsonl", resendLogged = false }: { readonly input?: string; readonly resendLogged?: boolean } = {},
  ) => {
    const { find, slice, count } = marks(...contents);
    const own = await ledger.scope(in_);
    const ahead = new EarlierRuns({ numberOf: find, input, resendLogged });
    await ahead.take(own.entries());
    const oneByOne = new EarlierMarks({ input, resendLogged });
    await oneByOne.runs.take(own.entries());
    const outcomes = contents.map((_, group) => ahead.outcomeOf(group));
    const elsewhere = contents.filter((_, group) => ahead.wasLoggedElsewhere(group));
    const each = Array.from({ length: count }, (_, group) => slice(group, 1));
    expect(each.map((mark) => oneByOne.outcomeOf(mark))).toEqual(outcomes);
    expect(contents.filter((_, group) => oneByOne.wasLoggedElsewhere(slice(group, 1)))).toEqual(elsewhere);
    return { outcomes, elsewhere, at: ahead.loggedElsewhereAt };
  };

  it("is new once, and knows again what it was told", async () => {
    expect(ledger.created).toBe(true);
    await settle(begin(ledger, scope, "a", "b"), "logged");
    await ledger.close();
    ledger = await open();
    expect(ledger.created).toBe(false);
    expect((await outcomesOf(scope, ["b", "c", "a"])).outcomes).toEqual([
      "already_logged",
      "not_sent",
      "already_logged",
    ]);
  });

  it("knows a second equal group as another one", async () => {
    await settle(begin(ledger, scope, "a"), "logged");
    expect((await outcomesOf(scope, ["a", "a"])).outcomes).toEqual(["already_logged", "not_sent"]);
  });

  it("keeps what differs in address, account, model, split or batch apart", async () => {
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
    expect(new Set([scope, ...others].map((one) => keyOf(one, marks("a").slice(0, 1), ""))).size).toBe(
      others.length + 1,
    );
  });

  it("takes what a run that died had in flight for unknown, and leaves it so until it is settled", async () => {
    const id = await begin(ledger, scope, "a");
    expect(await (await ledger.scope(scope)).recover()).toBe(1);
    expect((await outcomesOf(scope, ["a"])).outcomes).toEqual(["unknown"]);
    expect(await ledger.resolve(id, "released")).toBe(true);
    expect(await ledger.resolve(id, "assumed_logged")).toBe(false);
    expect((await outcomesOf(scope, ["a"])).outcomes).toEqual(["not_sent"]);
  });

  it("counts a group as logged where one of its requests was, as unknown where another of them is, and as free where none went through", async () => {
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

  it("says which groups were logged from an input of another name", async () => {
    await settle(begin(ledger, scope, "a", "b"), "logged");
    const elsewhere = async (input: string) => await outcomesOf(scope, ["a", "c"], { input });
    expect(await elsewhere("b.jsonl")).toMatchObject({ elsewhere: ["a"], at: 1000 });
    expect(await elsewhere("a.jsonl")).toMatchObject({ elsewhere: [], at: 0 });
  });

  it("lists, forgets, and remembers what an address does", async () => {
    await settle(begin(ledger, scope, "a"), "logged");
    const step = { ...scope, batch: "step-1" };
    await begin(ledger, step, "b");
    expect(await entries({ batch: "step-1" })).toMatchObject([{ id: "r2", state: "trying" }]);
    expect(await ledger.forget({ before: 2000 })).toBe(1);
    expect(await entries({})).toMatchObject([{ id: "r2" }]);
    const sizes = { passed: 100, refused: { bytes: 150, at: 1000 } };
    await (await ledger.scope(scope)).remember({ sizes, echoesKey: true });
    await (await ledger.scope(step)).remember({ sizes, echoesKey: false });
    expect((await ledger.scope(scope)).address).toEqual({ sizes, echoesKey: true });
  });

  it("gives a scope's lock to one process at a time, and back when that is killed", async () => {
    const held = tryScopeLock(ledger.path, scope);
    expect(held).toBeDefined();
    const program = `
      import Database from "libsql";
      const db = new Database(process.argv[1], { timeout: 0 });
      try { db.exec("BEGIN IMMEDIATE"); console.log("has it"); setInterval(() => {}, 1000); } catch { console.log("busy"); }
    `;
    const { readdirSync } = await import("node:fs");
    const file = join(`${path()}.locks`, readdirSync(`${path()}.locks`)[0] ?? "");
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
    expect(tryScopeLock(ledger.path, scope)).toBeUndefined();
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    const again = tryScopeLock(ledger.path, scope);
    expect(again).toBeDefined();
    again?.release();
  });
});
