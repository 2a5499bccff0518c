import { describe, expect, it } from "vitest";
import type { ClientOptions } from "../../../src/wire/client/build-request.ts";
import type { Credential } from "../../../src/wire/contract/endpoint.ts";
import { logTrajectories } from "../../../src/wire/contract/endpoint.ts";
import { listAnalysisModels, listModels, readCall } from "../../../src/wire/contract/reads.ts";
import { json, scriptedServer } from "../../support/server.ts";
import { bodyOf, clientAt, failureOf, list } from "./open.ts";

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
  ])("contains the model id as one segment (row %$)", async (model_id, path) => {
    const server = await scriptedServer([{ answer: json({}) }]);
    await clientAt(server.url).client.attempt(logTrajectories, { parameters: { model_id }, body: bodyOf(1, 2) });
    expect(server.received[0]?.path).toBe(path);
  });

  it.each(["", ".", "..", "half a character \ud800"])(
    "cannot contain an unsafe model id (row %$)",
    async (model_id) => {
      const server = await scriptedServer([]);
      const { client } = clientAt(server.url);
      const failure = await failureOf(
        client.attempt(logTrajectories, { parameters: { model_id }, body: bodyOf(1, 2) }),
      );
      expect(failure).toMatchObject({ code: "usage", kind: "invalid-path-parameter" });
    },
  );

  it.each(["", "/", "/v1", "/v1/"])("contains the version once (row %$)", async (end) => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    await clientAt(`${server.url}/below${end}`).client.send(listModels, list);
    expect(server.received[0]?.path).toBe("/below/v1/models");
  });

  it("keeps the encoding of the URL's own path", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    const { client } = clientAt(`${server.url}/a%20b/v1`);
    await client.send(listAnalysisModels, { parameters: { analysis_provider: "p/q" }, body: undefined });
    expect(server.received[0]?.path).toBe("/a%20b/v1/inference/analysis/p%2Fq/models");
  });
});

describe("the headers of a request", () => {
  const call = { parameters: {}, body: { project_id: "t/p", id: "1" } };

  it("contain a basic credential as UTF-8 in base64", async () => {
    const server = await scriptedServer([{ answer: json({ call: null }) }]);
    const credential = async (): Promise<Credential> => ({
      username: "api",
      secret: "schlüssel:1",
      from: "saved",
    });
    await clientAt(server.url, { credential }).client.send(readCall, call);
    expect(server.received[0]?.headers.authorization).toBe("Basic YXBpOnNjaGzDvHNzZWw6MQ==");
  });

  it("contain the project if a project is set and the operation needs it", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }, { answer: json({ call: null }) }]);
    const { client } = clientAt(server.url, { project });
    await client.send(listModels, list);
    await client.send(readCall, call);
    expect(server.received.map(({ headers }) => headers["vendor-project"])).toEqual(["team/project", undefined]);
  });

  it("contain no project if none is set", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    await clientAt(server.url).client.send(listModels, list);
    expect(server.received[0]?.headers).not.toHaveProperty("vendor-project");
  });

  it("contain no credential, and require none, if the operation is public", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    const credential = async (): Promise<Credential> => {
      throw new Error("asked for a credential");
    };
    const { client } = clientAt(server.url, { credential, project });
    await client.send(listAnalysisModels, { parameters: { analysis_provider: "p" }, body: undefined });
    expect(server.received[0]?.headers).not.toHaveProperty("authorization");
    expect(server.received[0]?.headers).not.toHaveProperty("content-type");
  });

  it("contain the name and version of rollcall", async () => {
    const server = await scriptedServer([{ answer: json({ data: [] }) }]);
    await clientAt(server.url).client.send(listModels, list);
    expect(server.received[0]?.headers["user-agent"]).toMatch(/^rollcall\/\d+\.\d+\.\d+ node\/20\.0\.0 linux$/);
  });

  it.each(["key\n", "key\r\nX-Other: 1", "ké\u0000y", "a key ", ""])(
    "cannot contain an unsafe token (row %$)",
    async (token) => {
      const server = await scriptedServer([]);
      const { client } = clientAt(server.url, {
        credential: async () => ({ secret: token, from: "the file k" }),
      });
      const failure = await failureOf(client.send(listModels, list));
      expect(failure).toMatchObject({
        code: "usage",
        kind: "invalid-header",
        message: expect.stringMatching(/^cannot send the credential from the file k as a header: /),
      });
      expect(failure.message + JSON.stringify(failure)).not.toContain("X-Other");
    },
  );

  it("cannot contain a password with a line end, even in base64", async () => {
    const server = await scriptedServer([]);
    const { client } = clientAt(server.url, {
      credential: async () => ({ username: "api", secret: "key\n", from: "saved" }),
    });
    expect(await failureOf(client.send(readCall, call))).toMatchObject({ code: "usage", kind: "invalid-header" });
  });

  it("cannot contain a project with a line end", async () => {
    const server = await scriptedServer([]);
    const { client } = clientAt(server.url, { project: { header: "Vendor-Project", value: "a/b\nX: y" } });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "usage", kind: "invalid-header" });
  });
});

describe("a credential", () => {
  it("goes to no other origin", async () => {
    const call = { parameters: {}, body: { project_id: "t/p", id: "1" } };
    const answer = json({ call: { id: "c" } });
    const [one, other] = [await scriptedServer([{ answer }]), await scriptedServer([{ answer }])];
    let { url } = one;
    const credential: ClientOptions["credential"] = async (use, origin) => {
      return { secret: `${use}-of-${origin.split(":").at(-1)}`, from: "saved" };
    };
    const { client } = clientAt(() => url, { credential });
    await client.send(readCall, call);
    ({ url } = other);
    await client.send(readCall, call);
    const sent = [...one.received, ...other.received].map(({ headers }) => headers.authorization);
    const basic = (own: string) => Buffer.from(`api:calls-of-${own.split(":").at(-1)}`).toString("base64");
    expect(sent).toEqual([one.url, other.url].map((own) => `Basic ${basic(own)}`));
  });

  it.each(["127.evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "128.0.0.1"])(
    "does not travel over plain http to %s, which only looks like loopback",
    async (host) => {
      const { client } = clientAt(`http://${host}:1`);
      const failure = await failureOf(client.send(listModels, list));
      expect(failure).toMatchObject({ kind: "credential-over-http" });
    },
  );

  it("is not read if the request must not carry it", async () => {
    const asked: string[] = [];
    const credential = async (use: string): Promise<Credential> => {
      asked.push(use);
      return { secret: "k", from: "x" };
    };
    await failureOf(clientAt("http://10.0.0.1", { credential }).client.send(listModels, list));
    expect(asked).toEqual([]);
  });

  it("does not keep a request without one from plain http", async () => {
    const { client } = clientAt(`http://${"a".repeat(64)}.invalid`, { maxWaitMs: 0 });
    const catalog = { parameters: { analysis_provider: "a" }, body: undefined };
    expect(await failureOf(client.send(listAnalysisModels, catalog))).toMatchObject({ code: "unavailable" });
  });

  it("travels over plain http to another machine if that is allowed", async () => {
    // A part of a name has at most 63 characters, so no resolver gets this name.
    const { client } = clientAt(`http://${"a".repeat(64)}.invalid`, { insecureHttp: true, maxWaitMs: 0 });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "unavailable" });
  });

  it.each(["localhost", "127.8.9.10", "[::1]", "127.1"])("travels over plain http to %s", async (host) => {
    const { client } = clientAt(`http://${host}:1`, { maxWaitMs: 0 });
    expect(await failureOf(client.send(listModels, list))).toMatchObject({ code: "unavailable" });
  });

  it("is sent once if the service refuses it", async () => {
    const server = await scriptedServer([{ answer: json({}, 401) }]);
    expect(await failureOf(clientAt(server.url).client.send(listModels, list))).toMatchObject({ code: "auth" });
    expect(server.received).toHaveLength(1);
  });
});
