import { describe, expect, it } from "vitest";
import { readCall } from "../../src/contract/call.ts";
import { listAnalysisModels } from "../../src/contract/catalog.ts";
import type { Credential } from "../../src/contract/endpoint.ts";
import { logTrajectories } from "../../src/contract/log.ts";
import { listModels } from "../../src/contract/models.ts";
import { json, scriptedServer } from "../support/server.ts";
import { bodyOf, clientAt, failureOf } from "./open.ts";

const list = { parameters: {}, body: undefined };
const project = { header: "Vendor-Project", value: "team/project" };

describe("the path of a request", () => {
  it.each([
    ["a/b", "/v1/preview/models/a%2Fb/log"],
    ["a b", "/v1/preview/models/a%20b/log"],
    ["50%", "/v1/preview/models/50%25/log"],
    ["%2e%2e", "/v1/preview/models/%252e%252e/log"],
    ["modèle-模型", "/v1/preview/models/mod%C3%A8le-%E6%A8%A1%E5%9E%8B/log"],
    ["a?b#c", "/v1/preview/models/a%3Fb%23c/log"],
    ["a\\..\\b", "/v1/preview/models/a%5C..%5Cb/log"],
    ["...", "/v1/preview/models/.../log"],
    ["a\r\nb", "/v1/preview/models/a%0D%0Ab/log"],
  ])("holds the model id %j as one segment", async (model_id, path) => {
    const server = await scriptedServer([{ answer: json({}) }]);
    await clientAt(server.url).client.attempt(logTrajectories, { parameters: { model_id }, body: bodyOf(1, 2) });
    expect(server.received[0]?.path).toBe(path);
  });

  it.each([".", "..", "half a character \ud800"])("can't hold the model id %j", async (model_id) => {
    const server = await scriptedServer([]);
    const { client } = clientAt(server.url);
    const failure = await failureOf(client.attempt(logTrajectories, { parameters: { model_id }, body: bodyOf(1, 2) }));
    expect(failure).toMatchObject({ code: "usage", reason: "path-parameter-unusable" });
  });

  it.each(["", "/", "/v1", "/v1/"])("has the version once after an inference address that ends in %j", async (end) => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    await clientAt(`${server.url}/below${end}`).client.send(listModels, list);
    expect(server.received[0]?.path).toBe("/below/v1/models");
  });

  it("keeps the path of an address, encoded as it was given", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    const { client } = clientAt(`${server.url}/a%20b/v1`);
    await client.send(listAnalysisModels, { parameters: { analysis_provider: "p/q" }, body: undefined });
    expect(server.received[0]?.path).toBe("/a%20b/v1/inference/analysis/p%2Fq/models");
  });

  it.each([
    ["service.example/v1", "address-malformed"],
    ["ftp://service.example", "address-malformed"],
    ["http://user:password@127.0.0.1:1", "address-malformed"],
    ["http://127.0.0.1:1/?key=1", "address-malformed"],
    ["", "address-malformed"],
  ])("is not made of the address %j", async (address, reason) => {
    expect(await failureOf(clientAt(address).client.send(listModels, list))).toMatchObject({ code: "usage", reason });
  });
});

describe("the headers of a request", () => {
  const call = { parameters: {}, body: { project_id: "t/p", id: "1" } };

  it("hold a basic credential as UTF-8 in base64", async () => {
    const server = await scriptedServer([{ answer: json({ call: null }) }]);
    const credential = async (): Promise<Credential> => ({
      scheme: "basic",
      username: "api",
      password: "schlüssel:1",
      from: "saved",
    });
    await clientAt(server.url, { credential }).client.send(readCall, call);
    expect(server.received[0]?.headers.authorization).toBe("Basic YXBpOnNjaGzDvHNzZWw6MQ==");
  });

  it("hold the project where the operation has one and one is set", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }, { answer: json({ call: null }) }]);
    const { client } = clientAt(server.url, { project });
    await client.send(listModels, list);
    await client.send(readCall, call);
    expect(server.received.map(({ headers }) => headers["vendor-project"])).toEqual(["team/project", undefined]);
  });

  it("hold no project where none is set", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    await clientAt(server.url).client.send(listModels, list);
    expect(server.received[0]?.headers).not.toHaveProperty("vendor-project");
  });

  it("hold no credential, and ask for none, where the operation is public", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    const credential = async (): Promise<Credential> => {
      throw new Error("asked for a credential");
    };
    const { client } = clientAt(server.url, { credential, project });
    await client.send(listAnalysisModels, { parameters: { analysis_provider: "p" }, body: undefined });
    expect(server.received[0]?.headers).not.toHaveProperty("authorization");
    expect(server.received[0]?.headers).not.toHaveProperty("content-type");
  });

  it("name rollcall and its version", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    await clientAt(server.url).client.send(listModels, list);
    expect(server.received[0]?.headers["user-agent"]).toMatch(/^rollcall\/\d+\.\d+\.\d+ node\/20\.0\.0 linux$/);
  });

  it.each(["key\n", "key\r\nX-Other: 1", "ké\u0000y", "a key ", ""])(
    "are not sent with the token %j",
    async (token) => {
      const server = await scriptedServer([]);
      const { client } = clientAt(server.url, {
        credential: async () => ({ scheme: "bearer", token, from: "the file k" }),
      });
      const failure = await failureOf(client.send(listModels, list));
      expect(failure).toMatchObject({
        code: "usage",
        reason: "header-unusable",
        data: { what: "the credential from the file k" },
      });
      expect(JSON.stringify(failure)).not.toContain("X-Other");
    },
  );

  it("are not sent with a password that holds a line end, though its encoding would hide it", async () => {
    const server = await scriptedServer([]);
    const { client } = clientAt(server.url, {
      credential: async () => ({ scheme: "basic", username: "api", password: "key\n", from: "saved" }),
    });
    expect(await failureOf(client.send(readCall, call))).toMatchObject({ code: "usage", reason: "header-unusable" });
  });

  it.each(["Authorization", "host", "Transfer-Encoding", "content-length", "User Agent", ""])(
    "are not sent with a project header called %j",
    async (header) => {
      const server = await scriptedServer([]);
      const { client } = clientAt(server.url, { project: { header, value: "a/b" } });
      expect(await failureOf(client.send(listModels, list))).toMatchObject({
        code: "usage",
        reason: "header-unusable",
      });
    },
  );

  it("are not sent with a project that holds a line end", async () => {
    const server = await scriptedServer([]);
    const { client } = clientAt(server.url, { project: { header: "Vendor-Project", value: "a/b\nX: y" } });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "usage", reason: "header-unusable" });
  });
});

describe("a credential", () => {
  it("is asked for once for each origin, and goes to no other", async () => {
    const call = { parameters: {}, body: { project_id: "t/p", id: "1" } };
    const answer = json({ call: { id: "c" } });
    const [one, other] = [await scriptedServer([{ answer }, { answer }]), await scriptedServer([{ answer }])];
    let url = one.url;
    const asked: string[] = [];
    const credential = async (_: string, { origin }: { readonly origin: string }): Promise<Credential> => {
      asked.push(origin);
      return { scheme: "bearer", token: `key-of-${origin.split(":").at(-1)}`, from: "saved" };
    };
    const { client } = clientAt(() => url, { credential });
    await client.send(readCall, call);
    await client.send(readCall, call);
    url = other.url;
    await client.send(readCall, call);
    expect(asked).toEqual([one.url, other.url]);
    const sent = [...one.received, ...other.received].map(({ headers }) => headers.authorization);
    expect(sent).toEqual([one.url, one.url, other.url].map((own) => `Bearer key-of-${own.split(":").at(-1)}`));
  });

  it("does not travel over plain http to another machine", async () => {
    const failure = await failureOf(clientAt("http://service.invalid").client.send(listModels, list));
    expect(failure).toMatchObject({ code: "usage", reason: "credential-over-http" });
  });

  it.each(["127.evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "128.0.0.1"])(
    "does not travel over plain http to %s, which only looks like this machine",
    async (host) => {
      const { client } = clientAt(`http://${host}:1`);
      const failure = await failureOf(client.send(listModels, list));
      expect(failure).toMatchObject({ reason: "credential-over-http" });
    },
  );

  it("is not asked for before that is known", async () => {
    const asked: string[] = [];
    const credential = async (use: string): Promise<Credential> => {
      asked.push(use);
      return { scheme: "bearer", token: "k", from: "x" };
    };
    await failureOf(clientAt("http://10.0.0.1", { credential }).client.send(listModels, list));
    expect(asked).toEqual([]);
  });

  it("travels over plain http where that was asked for", async () => {
    // No host has so long a name: it is looked up nowhere.
    const { client } = clientAt(`http://${"a".repeat(64)}.invalid`, { insecureHttp: true, maxWaitMs: 0 });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "unavailable" });
  });

  it.each(["localhost", "127.8.9.10", "[::1]", "127.1"])("travels over plain http to %s", async (host) => {
    const { client } = clientAt(`http://${host}:1`, { maxWaitMs: 0 });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "unavailable" });
  });

  it("is asked for once for many requests, with its use and origin", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }, { answer: json({ data: [] }) }]);
    const asked: unknown[] = [];
    const { client } = clientAt(server.url, {
      credential: async (use, about) => {
        asked.push([use, about]);
        return { scheme: "bearer", token: "k", from: "x" };
      },
    });
    await client.send(listModels, list);
    await client.send(listModels, list);
    expect(asked).toEqual([["inference", { origin: server.url, refused: false }]]);
  });

  it("is asked for once more after a 401, and the request repeated with another", async () => {
    const server = await scriptedServer([{ answer: json({}, 401) }, { answer: json({ data: [] }) }]);
    const { client, waits } = clientAt(server.url, {
      credential: async (_, { refused }) => ({ scheme: "bearer", token: refused ? "new" : "old", from: "a command" }),
    });
    await client.send(listModels, list);
    expect(server.received.map(({ headers }) => headers.authorization)).toEqual(["Bearer old", "Bearer new"]);
    expect(waits).toEqual([]);
  });

  it("that comes again after a 401 is not sent again", async () => {
    const server = await scriptedServer([{ answer: json({ error: { message: "no such key" } }, 401) }]);
    const failure = await failureOf(clientAt(server.url, { project }).client.send(listModels, list));
    expect(failure).toMatchObject({
      code: "auth",
      reason: "credential-refused",
      data: { status: 401, from: "ROLLCALL_API_KEY", project: "team/project" },
      about: { http: { status: 401, said: "no such key" } },
    });
  });

  it("is refused for good when the other one is refused too", async () => {
    const server = await scriptedServer([{ answer: json({}, 401) }, { answer: json({}, 401) }]);
    let number = 0;
    const { client } = clientAt(server.url, {
      credential: async () => ({ scheme: "bearer", token: `key-${number++}`, from: "a command" }),
    });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "auth" });
  });

  it("of a log is asked for once more after a 401 as well", async () => {
    const server = await scriptedServer([{ answer: json({}, 401) }, { answer: json({}) }]);
    const { client } = clientAt(server.url, {
      credential: async (_, { refused }) => ({ scheme: "bearer", token: refused ? "new" : "old", from: "a command" }),
    });
    const body = bodyOf(2, 3);
    const attempt = await client.attempt(logTrajectories, { parameters: { model_id: "m" }, body });
    expect(attempt).toMatchObject({ kind: "answered", status: 200, failure: undefined });
    expect(server.received.map((request) => request.body.toString())).toEqual(["xxxxxx", "xxxxxx"]);
  });
});
