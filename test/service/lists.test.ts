import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { describe, expect, it } from "vitest";
import { newDataDir, openTestService, reply, request, trajectory } from "./open.ts";

describe("the list of models (interface 4.2)", () => {
  it("works with the openai client", async () => {
    const service = await openTestService();
    for (const model of ["org/one", "two"]) await service.log(request(trajectory(1)), { model });
    const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: service.key, project: "local/local" });
    const ids: string[] = [];
    for await (const model of openai.models.list()) ids.push(model.id);
    expect(ids).toEqual(["org/one", "two"]);
  });

  it("answers a wrong key in a format that the openai client reads", async () => {
    const service = await openTestService();
    const openai = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: "wrong", maxRetries: 0 });
    const refused: unknown = await openai.models.list().catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(OpenAI.AuthenticationError);
    expect(String(refused)).toContain("Invalid or missing credentials");
    expect(refused).toMatchObject({ type: "invalid_request_error", code: "invalid_api_key", param: null });
  });
});

describe.each([
  ["analysis", "/inference/analysis/"],
  ["router", "/inference/router/"],
])("the %s catalog (interface 4.4 and 4.5)", (kind, path) => {
  it("contains the provider's file, byte for byte", async () => {
    const dataDir = newDataDir();
    const folder = join(dataDir, "catalog", kind);
    mkdirSync(folder, { recursive: true });
    const own = readFileSync(`test/samples/catalog.${kind}.json`, "utf8");
    writeFileSync(join(folder, "some provider.json"), own);
    const service = await openTestService({ dataDir });
    const listed = await fetch(`${service.url}${path}some%20provider/models`);
    expect(listed.status).toBe(200);
    expect(await listed.text()).toBe(own);
  });

  it("answers 404 for an unknown provider, with the names of the known ones", async () => {
    const dataDir = newDataDir();
    const folder = join(dataDir, "catalog", kind);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "notes.txt"), "of one");
    const service = await openTestService({ dataDir });
    expect((await reply(`${service.url}${path}one/models`)).body.note).toMatch(/^a sample/);
    writeFileSync(join(folder, "one.json"), '{"data":[]}');
    expect((await reply(`${service.url}${path}one/models`)).body).toEqual({ data: [] });
    const other = await reply(`${service.url}${path}two/models`);
    expect(other.status).toBe(404);
    expect(other.body).toEqual({ detail: 'unknown provider "two", expected "one"' });
  });

  it("never comes from a file outside its folder", async () => {
    const dataDir = newDataDir();
    mkdirSync(join(dataDir, "catalog", kind), { recursive: true });
    writeFileSync(join(dataDir, "catalog", kind, "one.json"), '{"data":[]}');
    writeFileSync(join(dataDir, "secret.json"), '{"data":[{"id":"secret"}]}');
    const service = await openTestService({ dataDir });
    for (const name of ["..%2F..%2Fsecret", "..%5C..%5Csecret", "%2e%2e%2f%2e%2e%2fsecret", "one.json%00"]) {
      expect((await reply(`${service.url}${path}${name}/models`)).status).toBe(404);
    }
  });

  it("may begin with a byte order mark", async () => {
    const dataDir = newDataDir();
    mkdirSync(join(dataDir, "catalog", kind), { recursive: true });
    writeFileSync(join(dataDir, "catalog", kind, "one.json"), '\ufeff{"data":[]}');
    const service = await openTestService({ dataDir });
    expect((await reply(`${service.url}${path}one/models`)).body).toEqual({ data: [] });
  });

  const shape = 'is not a catalog, expected {"data":[…]}';
  it.each([
    ["not json", "is not JSON (line 1, column 1)"],
    ['{"data":[],\n"x":tru}', "is not JSON (line 2, column 5)"],
    ["[]", shape],
    ['{"models":[]}', shape],
    ['{"data":[3]}', shape],
  ])("answers 500 and names the provider's file if the file is not a catalog (row %$)", async (text, reason) => {
    const dataDir = newDataDir();
    mkdirSync(join(dataDir, "catalog", kind), { recursive: true });
    writeFileSync(join(dataDir, "catalog", kind, "one.json"), text);
    const service = await openTestService({ dataDir });
    const listed = await reply(`${service.url}${path}one/models`);
    expect(listed.status).toBe(500);
    expect(listed.body).toEqual({ detail: `catalog/${kind}/one.json in the data folder ${reason}` });
  });
});
