import { describe, expect, it } from "vitest";
import { listAnalysisModels } from "../../src/contract/catalog.ts";
import { type Answer, scriptedServer } from "../support/server.ts";
import { clientAt, failureOf } from "./open.ts";

const request = { parameters: { analysis_provider: "aa" }, body: undefined };
const [older, newer] = ['{"data":[{"id":"a"}]}', '{"data":[{"id":"b"}]}'];
const cached = {
  read: () => Buffer.from(older),
  validators: { etag: '"v1"', lastModified: "Sun, 01 Nov 2026 09:00:00 GMT" },
};

const sendTo = async (answer: Answer, about: object = { cached }) => {
  const server = await scriptedServer([{ answer }]);
  const { client, traced } = clientAt(server.url, { maxWaitMs: 0 });
  const reply = client.send(listAnalysisModels, { ...request, ...about });
  return { reply, received: server.received, traced };
};

describe("a conditional request", () => {
  it("sends the cached validators and returns the cached bytes after a 304", async () => {
    const { reply, received, traced } = await sendTo({ status: 304, headers: { etag: '"v1"' } });
    expect(await reply).toMatchObject({ status: 304, validators: { etag: '"v1"' } });
    expect(Buffer.from((await reply).bytes).toString()).toBe(older);
    expect(received[0]?.headers).toMatchObject({
      "if-none-match": '"v1"',
      "if-modified-since": "Sun, 01 Nov 2026 09:00:00 GMT",
    });
    expect(traced).toContain('> If-None-Match: "v1"');
  });

  it("returns a new reply with its validators", async () => {
    const { reply } = await sendTo({
      headers: { ETag: 'W/"v2"', "Last-Modified": "Mon, 02 Nov 2026 09:00:00 GMT" },
      body: newer,
    });
    expect(await reply).toMatchObject({
      status: 200,
      validators: { etag: 'W/"v2"', lastModified: "Mon, 02 Nov 2026 09:00:00 GMT" },
    });
  });

  it("requires a cached reply, without which a 304 is refused", async () => {
    const { reply, received } = await sendTo({ status: 304 }, {});
    expect((await failureOf(reply)).code).toBe("refused");
    expect(Object.keys(received[0]?.headers ?? {})).not.toContain("if-none-match");
  });

  it("goes out again without validators if the cached bytes cannot be read", async () => {
    const server = await scriptedServer([{ answer: { status: 304 } }, { answer: { body: newer } }]);
    const reply = await clientAt(server.url).client.send(listAnalysisModels, {
      ...request,
      cached: { ...cached, read: () => undefined },
    });
    expect(reply.status).toBe(200);
    expect(server.received.map(({ headers }) => headers["if-none-match"])).toEqual(['"v1"', undefined]);
  });

  it("requires validators, without which a 304 is refused", async () => {
    const { reply } = await sendTo({ status: 304 }, { cached: { ...cached, validators: {} } });
    expect((await failureOf(reply)).code).toBe("refused");
  });

  it.each(["no quotes", '"a"b"', "", '"caf\u00e9"'])(
    "ignores the entity tag %j, which no header can contain",
    async (etag) => {
      const { reply } = await sendTo((_, response) => {
        response.writeHead(200, { etag }).end(newer);
      });
      expect((await reply).validators).toEqual({});
    },
  );
});
