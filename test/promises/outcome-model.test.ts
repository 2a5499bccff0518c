import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isUnknown } from "../../src/logging/ledger/entries.ts";
import { openExistingLedger } from "../../src/logging/ledger/ledger.ts";
import type { LogResult } from "../../src/logging/send/log-result.ts";
import type { Attempt, Client } from "../../src/wire/client/client.ts";
import { requestRefused } from "../../src/wire/client/failures.ts";
import { testHost } from "../support/host.ts";
import {
  connectionReset,
  type DeliverOptions,
  deliverGroups,
  makeAnswer,
  newFolder,
  read,
  usualDelivery,
} from "../support/inputs.ts";
import { itHolds } from "../support/property.ts";
import { groupOf, linesOf } from "./place.ts";

/** The outcome of an attempt. The connection of a lost attempt breaks after the body. */
type Fate = "logged" | "lost-logged" | "lost" | "not-sent" | "busy" | "refused" | "too-large" | "dies" | "dies-logged";

const broken = (bodySent: boolean): Attempt => ({
  kind: "broken",
  isBodySent: bodySent,
  code: "ECONNRESET",
  failure: connectionReset,
});

/** The end of a run before it records the outcome of its request. */
class Death extends Error {}

/** A service that can honor keys. It answers attempts by its script, and then logs all further requests. */
class Service {
  readonly #honors: boolean;
  readonly keys = new Set<string>();
  readonly logged: number[] = [];
  tries = 0;
  script: Fate[] = [];

  constructor(honors: boolean) {
    this.#honors = honors;
  }

  client(): Client {
    return {
      send: async () => {
        throw new Error("nothing reads here");
      },
      attempt: async (_, { body, headers = {} }) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of body.chunks()) chunks.push(Buffer.from(chunk));
        const key = headers["Idempotency-Key"] ?? "";
        this.tries++;
        return this.#answer(this.script.shift() ?? "logged", { text: Buffer.concat(chunks).toString(), key });
      },
      describeRequest: () => ({ method: "POST", url: "", headers: [] }),
      retryBudget: () => ({ wait: async () => true }),
      close: async () => undefined,
    };
  }

  #answer(fate: Fate, { text, key }: { readonly text: string; readonly key: string }): Attempt {
    const about = this.#honors ? { headers: { "idempotency-key": key } } : {};
    if (fate.endsWith("logged") && !(this.#honors && this.keys.has(key))) {
      const body = JSON.parse(text) as { trajectory_groups: { trajectories: { reward: number }[] }[] };
      for (const { trajectories } of body.trajectory_groups) this.logged.push(trajectories[0]?.reward ?? -1);
    }
    if (fate.endsWith("logged")) this.keys.add(key);
    if (fate.startsWith("dies")) throw new Death();
    const body = Buffer.from(`{"call_ids":["c${this.tries}"]}`);
    if (fate === "logged") return makeAnswer(200, { ...about, bytes: body });
    if (fate === "busy") return makeAnswer(429, { ...about, failure: connectionReset });
    if (fate === "refused") return makeAnswer(400, { ...about, failure: requestRefused(400, {}) });
    if (fate === "too-large") return makeAnswer(413, { ...about, failure: connectionReset });
    return broken(fate !== "not-sent");
  }
}

/** Runs with one ledger, one file and one destination. */
const placeOf = (service: Service) => {
  const folder = newFolder();
  const [file, ledger] = [join(folder, "a.jsonl"), join(folder, "ledger.db")];
  return {
    /** Logs groups. Returns undefined if the run died. */
    async run(rewards: readonly number[], options: Partial<DeliverOptions> = {}): Promise<LogResult | undefined> {
      writeFileSync(file, linesOf(...rewards.map((reward) => groupOf(reward))));
      const reading = await read([file], { split: "train" });
      try {
        return await deliverGroups(reading, {
          ...usualDelivery(),
          client: async () => service.client(),
          ledger: { path: ledger, require: false },
          ...options,
        });
      } catch (thrown) {
        if (thrown instanceof Death) return undefined;
        throw thrown;
      } finally {
        await reading.close();
      }
    },
    /** Returns the state, groups, bytes, input, times and outcome of each request in the ledger. */
    async rows(): Promise<readonly (readonly unknown[])[]> {
      const open = await openExistingLedger({ path: ledger }, { ...usualDelivery(), isForReading: true });
      const rows: (readonly unknown[])[] = [];
      for await (const { state, groups, bytes, input, firstTried, lastTried, ...tried } of open?.entries({}) ?? []) {
        const { attempts, status, cause, calls } = tried;
        const seconds = [firstTried / 1000, lastTried / 1000];
        rows.push([`${state} ${groups} ${bytes} ${input}`, ...seconds, attempts, status, cause, calls]);
      }
      await open?.close();
      return rows;
    },
    /** Resolves unknown requests by the groups that the service has. */
    async resolve(): Promise<void> {
      const open = await openExistingLedger({ path: ledger }, { ...usualDelivery(), isForReading: false });
      for await (const { id, key, state } of open?.entries({}) ?? []) {
        if (isUnknown(state)) await open?.resolve(id, service.keys.has(key) ? "assumed_logged" : "released");
      }
      await open?.close();
    },
  };
};

const fate = fc.constantFrom<Fate[]>(
  "logged",
  "logged",
  "lost-logged",
  "lost",
  "not-sent",
  "busy",
  "refused",
  "too-large",
  "dies",
  "dies-logged",
);

const step = fc.record({
  rewards: fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 9 }),
  script: fc.array(fate, { maxLength: 6 }),
  limit: fc.constantFrom(120, 200, 300, 10_000),
  concurrency: fc.constantFrom(1, 3),
  resolves: fc.boolean(),
});

const timesOf = (rewards: readonly number[]): ReadonlyMap<number, number> => {
  const times = new Map<number, number>();
  for (const reward of rewards) times.set(reward, (times.get(reward) ?? 0) + 1);
  return times;
};

describe("a series of runs", () => {
  itHolds(
    "logs no group twice, and all groups in a last run, for any answers of the service",
    fc.asyncProperty(fc.boolean(), fc.array(step, { minLength: 1, maxLength: 5 }), async (honors, steps) => {
      const service = new Service(honors);
      const place = placeOf(service);
      const most = new Map<number, number>();
      for (const { rewards, script, limit, concurrency, resolves } of steps) {
        service.script = [...script];
        const result = await place.run(rewards, { maxRequestBytes: limit, concurrency });
        service.script = [];
        for (const [reward, times] of timesOf(rewards)) most.set(reward, Math.max(times, most.get(reward) ?? 0));
        for (const [reward, times] of timesOf(service.logged)) expect(times).toBeLessThanOrEqual(most.get(reward) ?? 0);
        if (result !== undefined) {
          const { read: all, ...counts } = result.groups;
          expect(Object.values(counts).reduce((sum, count) => sum + count, 0)).toBe(all);
          expect(result.failure?.code === "unknown_outcome").toBe(counts.unknown > 0);
          expect(result.failure === undefined).toBe(counts.logged + counts.already_logged === all);
        }
        if (resolves) await place.resolve();
      }
      await place.resolve();
      const everything = [...most].flatMap(([reward, times]) => Array.from({ length: times }, () => reward));
      const last = await place.run(everything);
      expect(last?.failure).toBeUndefined();
      expect(timesOf(service.logged)).toEqual(timesOf(everything));
      expect((await place.run(everything))?.status).toBe("already_logged");
    }),
    { quick: 3, slow: 12 },
  );

  itHolds(
    "resolves every request without help if the service honors keys",
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
      const service = new Service(true);
      const place = placeOf(service);
      await place.run([0]);
      const all = [0, ...steps.flatMap(({ rewards }) => rewards)];
      for (const { script, limit, concurrency } of steps) {
        service.script = [...script];
        await place.run(all, { maxRequestBytes: limit, concurrency });
      }
      service.script = [];
      expect((await place.run(all))?.failure).toBeUndefined();
      expect(timesOf(service.logged)).toEqual(timesOf(all));
    }),
    { quick: 2, slow: 6 },
  );

  it("records the attempts, seconds, status, cause and calls of each request in the ledger", async () => {
    const service = new Service(false);
    const place = placeOf(service);
    let seconds = 0;
    const host = { ...testHost(), now: () => 1000 * (seconds + service.tries) };
    const rows = async (rewards: readonly number[], script: Fate[], options: Partial<DeliverOptions> = {}) => {
      service.script = script;
      seconds += 100;
      const result = await place.run(rewards, { host, maxRequestBytes: 120, ...options });
      const { read: all, logged, already_logged: before, rejected, unknown, not_sent: left } = result?.groups ?? {};
      const statuses = result?.sent.replies.map(({ status }) => status);
      const { status, requests, bytes, sent, failure } = result ?? {};
      const groups = [all, logged, before, rejected, unknown, left];
      return [status, failure?.code, groups, requests, bytes, sent?.firstCall, statuses, await place.rows()];
    };
    const one = (state: string, ...tried: readonly unknown[]) => [`${state} 1 97 a.jsonl`, ...tried];
    const first = [one("logged", 100, 100, 1, 200, null, 1), one("logged", 101, 103, 3, 200, null, 1)];
    const refused = one("refused", 104, 104, 1, 400, null, 0);
    expect(await rows([1, 2, 3, 4, 5], ["logged", "busy", "not-sent", "logged", "refused"])).toEqual([
      ...["partial", "partial", [5, 2, 0, 0, 0, 3], 3, 291, "c1", [200, 200, 400]],
      [...first, refused],
    ]);
    expect(await rows([1, 2, 3, 4, 5], ["lost"])).toEqual([
      ...["unknown", "unknown_outcome", [5, 0, 2, 0, 1, 2], 1, 97, undefined, []],
      [...first, refused, one("unknown", 205, 205, 1, null, "ECONNRESET", 0)],
    ]);
    const third = [1, 2, 3, 4, 5, 6, 6];
    const later = [308, 309].map((at) => ["logged 2 155 a.jsonl", at, at, 1, 200, null, 1]);
    expect(await rows(third, ["lost-logged", "logged"], { onUnknown: "resend", maxRequestBytes: 250 })).toEqual([
      ...["logged", undefined, [7, 5, 2, 0, 0, 0], 3, 407, "c8", [200, 200, 200]],
      [...first, refused, one("logged", 205, 307, 3, 200, null, 1), ...later],
    ]);
    expect((await rows([7, 3, 8, 1, 9], ["logged"], { maxRequestBytes: 10_000 })).slice(0, -1)).toEqual([
      ...["logged", undefined, [5, 3, 2, 0, 0, 0], 1, 213, "c11", [200]],
    ]);
    expect((await rows([7, 3, 8, 1, 9], [])).slice(0, 3)).toEqual(["already_logged", undefined, [5, 0, 5, 0, 0, 0]]);
  });

  it("accepts that a request is resolved by hand while the request waits for its resend", async () => {
    const service = new Service(false);
    const place = placeOf(service);
    service.script = ["lost-logged"];
    expect((await place.run([1]))?.status).toBe("unknown");
    service.script = ["busy"];
    const wait = async () => {
      await place.resolve();
      return true;
    };
    const client = async () => ({ ...service.client(), retryBudget: () => ({ wait }) });
    expect((await place.run([1], { onUnknown: "resend", client }))?.failure?.code).toBe("unknown_outcome");
    expect([(await place.run([1]))?.status, service.logged]).toEqual(["already_logged", [1]]);
  });

  it("does not resend a request that was resolved by hand after the run planned the request", async () => {
    const service = new Service(false);
    const place = placeOf(service);
    service.script = ["lost-logged"];
    expect((await place.run([1, 2]))?.status).toBe("unknown");
    // A run opens its client after it has read the ledger.
    const client = async () => {
      await place.resolve();
      return service.client();
    };
    await place.run([1, 2, 3], { onUnknown: "resend", client });
    expect(service.logged).toEqual([1, 2, 3]);
    expect((await place.run([1, 2, 3]))?.status).toBe("already_logged");
  });

  const logSteps = async (count: number): Promise<ReadonlyMap<number, number>> => {
    const service = new Service(false);
    const place = placeOf(service);
    for (let number = 0; number < count; number++) {
      const rewards = [number % 3, number % 3, 1000 + number];
      const result = await place.run(rewards, { batch: `step-${number}` });
      expect(result?.warnings.map(({ rule }) => rule)).not.toContain("logged-before");
      if (number % 20 === 0) {
        expect((await place.run(rewards, { batch: `step-${number}` }))?.status).toBe("already_logged");
      }
    }
    return timesOf(service.logged);
  };

  it("logs 25 steps of a training loop once each, with equal groups in several steps", async () => {
    const times = await logSteps(25);
    expect([times.get(0), times.get(1), times.get(2), times.size]).toEqual([18, 16, 16, 28]);
    expect(new Set([...times].flatMap(([reward, count]) => (reward < 1000 ? [] : [count])))).toEqual(new Set([1]));
  });
});
