/** Keys of people: their uses and projects, and revoked keys. */
import { readFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { createKey, openStore, type Store, type StoredKey } from "../../src/service/index.ts";
import { testHost } from "../support/host.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { bodies } from "./bodies.ts";
import { basic, idsOf, openTestService, type RunningService, reply, request, trajectory } from "./open.ts";

const json = { "Content-Type": "application/json" };

const log = async ({ url }: RunningService, key: string, headers: Record<string, string> = {}) =>
  await reply(`${url}/v1/preview/models/m/log`, {
    method: "POST",
    headers: { ...json, ...headers, Authorization: `Bearer ${key}` },
    body: JSON.stringify(request(trajectory(1))),
  });

const read = async (
  { url }: RunningService,
  key: string,
  asked: { readonly project_id: string; readonly id: string },
) =>
  await reply(`${url}/call/read`, {
    method: "POST",
    headers: { ...json, Authorization: basic(key) },
    body: JSON.stringify(asked),
  });

const models = async ({ url }: RunningService, key: string) =>
  await reply(`${url}/v1/models`, { headers: { Authorization: `Bearer ${key}` } });

/** Adds a key as another process would. */
const given = async (store: Store, name: string, more: Partial<StoredKey> = {}): Promise<string> => {
  const { key, digest } = createKey();
  const all = { projects: [], uses: ["log", "inference", "calls"], created: 0, revoked: undefined };
  expect(await store.keys.add({ name, digest, ...all, ...more })).toBe(true);
  return key;
};

const opened = async (place: NonNullable<Parameters<typeof openTestService>[0]>) => {
  const service = await openTestService(place);
  const waiting = { host: testHost(), onUnavailable: () => undefined };
  const store = await openStore({ dataDir: service.dataDir, store: place.store }, waiting);
  onTestFinished(async () => await store.close());
  return { service, store };
};

for (const { body, skip, place, tags } of bodies)
  describe.skipIf(skip)(`a key in ${body}`, { tags }, () => {
    it("allows its uses and projects, and stores calls in its first project", async () => {
      const { service, store } = await opened({ store: await place() });
      const [all, one] = [await given(store, "all"), await given(store, "one", { projects: ["a/b", "c/d"] })];
      const [own = ""] = idsOf(await log(service, all));
      const [id = ""] = idsOf(await log(service, one));
      const there = { call: { id } };
      expect((await read(service, one, { project_id: "a/b", id })).body).toMatchObject(there);
      expect((await read(service, all, { project_id: "a/b", id })).body).toMatchObject(there);
      expect((await read(service, service.key, { project_id: "local/local", id: own })).body).toMatchObject({
        call: { id: own },
      });
      expect((await read(service, one, { project_id: "c/d", id })).body).toEqual({ call: null });
      expect((await models(service, one)).body.data).toMatchObject([{ id: "m", owned_by: "a" }]);
    });

    it("gets a 403 without content for other uses and projects", async () => {
      const { service, store } = await opened({ store: await place() });
      const [id = ""] = idsOf(await log(service, service.key));
      const writer = await given(store, "writer", { uses: ["log"], projects: ["a/b"] });
      const reader = await given(store, "reader", { uses: ["calls", "inference"], projects: ["a/b"] });
      expect(await log(service, reader)).toMatchObject({ status: 403, body: { detail: expect.stringMatching("log") } });
      const unread = { project_id: "a/b", id };
      expect(await read(service, writer, unread)).toMatchObject({
        status: 403,
        body: { reason: expect.any(String) },
      });
      expect(await models(service, writer)).toMatchObject({
        status: 403,
        body: { error: { message: expect.any(String) } },
      });
      expect((await read(service, reader, unread)).body).toEqual({ call: null });
      expect(await read(service, reader, { project_id: "local/local", id })).toMatchObject({ status: 403 });
      expect((await models(service, reader)).body.data).toEqual([]);
    });

    it("gets a 401 from every service of the store after it is revoked, and a new key is accepted", async () => {
      const store = await place();
      const first = await opened({ store });
      const second = await openTestService({ store, dataDir: first.service.dataDir });
      const key = await given(first.store, "ann");
      for (const service of [first.service, second]) expect((await log(service, key)).status).toBe(200);
      expect(await first.store.keys.add({ ...blank, name: "ann" })).toBe(false);
      expect(await first.store.keys.revoke("ann", 1)).toBe(true);
      expect(await first.store.keys.revoke("nobody", 1)).toBe(false);
      const other = await given(first.store, "ann");
      for (const service of [first.service, second]) {
        expect(await log(service, key)).toMatchObject({ status: 401 });
        expect((await log(service, other)).status).toBe(200);
      }
      expect(await first.store.keys.list()).toMatchObject([{ name: "ann", revoked: undefined }]);
    });

    it("lists a model of two projects with the project that first logged to the model", async () => {
      let now = 5_000_000;
      const host = { ...testHost(), now: () => (now += 60_000) };
      const { service, store } = await opened({ store: await place(), host });
      const [later, sooner] = [
        await given(store, "later", { projects: ["a/b"] }),
        await given(store, "sooner", { projects: ["c/d"] }),
      ];
      for (const key of [sooner, later, sooner]) await log(service, key);
      const own = { id: "m", object: "model", root: "m" };
      const [first, second] = [5060, 5120].map((created, at) => ({ ...own, created, owned_by: at === 0 ? "c" : "a" }));
      expect((await models(service, service.key)).body.data).toEqual([first]);
      expect((await models(service, sooner)).body.data).toEqual([first]);
      expect((await models(service, later)).body.data).toEqual([second]);
    });

    it("separates the Idempotency-Keys of two projects", async () => {
      const { service, store } = await opened({ store: await place() });
      const [one, other] = [
        await given(store, "one", { projects: ["a/b"] }),
        await given(store, "other", { projects: ["c/d"] }),
      ];
      const headers = { "Idempotency-Key": "k" };
      const [first, second] = [await log(service, one, headers), await log(service, other, headers)];
      expect([first.status, second.status]).toEqual([200, 200]);
      expect(idsOf(first)).not.toEqual(idsOf(second));
      expect((await log(service, one, headers)).text).toBe(first.text);
    });
  });

const blank = { digest: new Uint8Array(32), projects: [], uses: [], created: 0, revoked: undefined };

describe("a key", () => {
  it("is missing in a new store, so `serve keys list` prints a note with the store's path", async () => {
    const env = newHome();
    const { stdout, stderr } = await runRollcall(["serve", "keys", "list"], { env });
    expect([stdout, stderr]).toEqual(["", `note: no keys in ${env.XDG_DATA_HOME}/rollcall/local.db\n`]);
  });

  it("appears in the store only as a digest", async () => {
    const { service, store } = await opened({});
    const key = await given(store, "ann");
    expect((await log(service, key)).status).toBe(200);
    await service.service.close();
    for (const end of ["", "-wal"]) {
      const bytes = readFileSync(`${service.dataDir}/local.db${end}`);
      expect(bytes.includes(key.slice("rollcall-".length))).toBe(false);
    }
  });
});
