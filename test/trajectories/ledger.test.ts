import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { groupState, knownOf } from "../../src/trajectories/ledger/earlier-runs.ts";
import {
  type EntryState,
  keyOf,
  type Ledger,
  type LedgerScope,
  openLedger,
  tryScopeLock,
} from "../../src/trajectories/ledger/ledger.ts";
import { Digests } from "../../src/trajectories/read/parts/digests.ts";
import { markBytes, marksOf } from "../../src/trajectories/read/parts/marks.ts";

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
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "rollcall-ledger-"));
    ledger = openLedger(path());
  });
  afterEach(() => {
    ledger.close();
    rmSync(folder, { recursive: true });
  });

  const marks = (...contents: readonly string[]) => marksOf(digestsOf(contents));
  const begin = (to: Ledger, in_: LedgerScope, ...contents: readonly string[]): string => {
    const { slice, count } = marks(...contents);
    const bytes = slice(0, count);
    return to.scope(in_).begin({ marks: bytes, key: keyOf(in_, bytes, ""), input: "a.jsonl", bytes: 10, now: 1000 });
  };
  const settle = (id: string, state: Exclude<EntryState, "trying">): void =>
    ledger.scope(scope).settle(id, { state, status: 200, cause: null, calls: ["c1"] });
  const statesOf = (in_: LedgerScope, ...contents: readonly string[]): readonly number[] =>
    Array.from(knownOf(ledger.scope(in_).entries(), marks(...contents), "a.jsonl").states);

  it("is new once, and knows again what it was told", () => {
    expect(ledger.created).toBe(true);
    settle(begin(ledger, scope, "a", "b"), "logged");
    ledger.close();
    ledger = openLedger(path());
    expect(ledger.created).toBe(false);
    expect(statesOf(scope, "b", "c", "a")).toEqual([groupState.logged, groupState.free, groupState.logged]);
  });

  it("knows a second equal group as another one", () => {
    settle(begin(ledger, scope, "a"), "logged");
    expect(statesOf(scope, "a", "a")).toEqual([groupState.logged, groupState.free]);
  });

  it("keeps what differs in address, account, model, split or batch apart", () => {
    settle(begin(ledger, scope, "a"), "logged");
    const others: readonly LedgerScope[] = [
      { ...scope, destination: "https://other.example/v1/preview/models/m/log" },
      { ...scope, account: "other" },
      { ...scope, model: "other" },
      { ...scope, split: "val" },
      { ...scope, batch: "" },
      { ...scope, batch: "step-1" },
    ];
    for (const other of others) expect(statesOf(other, "a")).toEqual([groupState.free]);
    expect(new Set([scope, ...others].map((one) => keyOf(one, marks("a").slice(0, 1), ""))).size).toBe(
      others.length + 1,
    );
  });

  it("takes what a run that died had in flight for unknown, and leaves it so until it is settled", () => {
    const id = begin(ledger, scope, "a");
    expect(ledger.scope(scope).recover()).toBe(1);
    expect(statesOf(scope, "a")).toEqual([groupState.unknown]);
    expect(ledger.resolve(id, "released")).toBe(true);
    expect(ledger.resolve(id, "assumed_logged")).toBe(false);
    expect(statesOf(scope, "a")).toEqual([groupState.free]);
  });

  it("counts a group as logged where one of its requests was, as unknown where another of them is, and as free where none went through", () => {
    settle(begin(ledger, scope, "a"), "refused");
    settle(begin(ledger, scope, "b"), "not_sent");
    expect(statesOf(scope, "a", "b")).toEqual([groupState.free, groupState.free]);
    settle(begin(ledger, scope, "a"), "logged");
    expect(statesOf(scope, "a")).toEqual([groupState.logged]);
    settle(begin(ledger, scope, "a"), "unknown");
    expect(statesOf(scope, "a")).toEqual([groupState.unknown]);
  });

  it("says how many groups were logged from an input of another name", () => {
    settle(begin(ledger, scope, "a", "b"), "logged");
    const otherInput = (input: string) => knownOf(ledger.scope(scope).entries(), marks("a", "c"), input).otherInput;
    expect(otherInput("b.jsonl")).toEqual({ groups: 1, at: 1000 });
    expect(otherInput("a.jsonl").groups).toBe(0);
  });

  it("lists, forgets, and remembers what an address does", () => {
    settle(begin(ledger, scope, "a"), "logged");
    const step = { ...scope, batch: "step-1" };
    begin(ledger, step, "b");
    expect(Array.from(ledger.entries({ batch: "step-1" }), ({ id, state }) => [id, state])).toEqual([["r2", "trying"]]);
    expect(ledger.forget({ before: 2000 })).toBe(1);
    expect(Array.from(ledger.entries({}), ({ id }) => id)).toEqual(["r2"]);
    ledger.scope(scope).remember({ maxBytes: 100 });
    ledger.scope(step).remember({ echoesKey: true });
    expect(ledger.scope(scope).address).toEqual({ maxBytes: 100, echoesKey: true });
  });

  it("gives a scope's lock to one process at a time, and back when that is killed", async () => {
    const held = tryScopeLock(ledger, scope);
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
    expect(tryScopeLock(ledger, scope)).toBeUndefined();
    child.kill("SIGKILL");
    await new Promise((resolve) => child.once("exit", resolve));
    const again = tryScopeLock(ledger, scope);
    expect(again).toBeDefined();
    again?.release();
  });
});
