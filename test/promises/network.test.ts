import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it } from "vitest";
import { accept, faultyService, type RequestHandler, refuse } from "../support/raw-server.ts";
import { certificate } from "../wire/client/certificate.ts";
import { groupOf, linesOf, openPlace, placeAt, three } from "./place.ts";

/** Logs the groups, and then writes the text as an answer. */
const written =
  (text: string): RequestHandler =>
  async (asked) => {
    await asked.take();
    asked.socket.end(text);
    asked.socket.resume();
  };

describe.concurrent("a 2xx reply", () => {
  it.for([
    ["without a body", "HTTP/1.1 204 No Content\r\n\r\n", []],
    ["with an empty body", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", []],
    ["with a byte order mark", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\ufeff{}", []],
    ["with text", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\nok", ["error-in-response"]],
    ["cut in its body", "HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{}", ["error-in-response"]],
    ["cut in its chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{}", ["error-in-response"]],
    ["with more bytes than its Content-Length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}{}{}", []],
    [
      "with a body that is not in its Content-Encoding",
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
      ["error-in-response"],
    ],
  ] as const)("counts as logged %s", async ([, text, warnings], context) => {
    const { service, place } = await openPlace(context, { otherwise: written(text) });
    const { code, document, stderr } = await place.log([place.write("a.jsonl", three)]);
    expect([code, document?.groups.logged], stderr).toEqual([0, 3]);
    expect(document?.warnings.map(({ rule }) => rule).filter((rule) => rule === "error-in-response")).toEqual(warnings);
    expect((await place.log([place.path("a.jsonl")])).document?.status).toBe("already_logged");
    expect(service.logged).toEqual([1, 2, 3]);
  });
});

describe("a service that cannot be reached", () => {
  it.for<[string, RequestHandler | undefined]>([
    ["nothing listens", undefined],
    ["its proxy refuses", refuse(403)],
    ["its proxy hangs up", (asked) => asked.reset()],
    ["its proxy does not speak HTTP", (asked) => void asked.socket.end("220 mail.example\r\n")],
  ])("gives exit 5 if %s", async ([, deed], context) => {
    const answers: RequestHandler = async (asked) => {
      await asked.head();
      // A CONNECT has no body.
      await deed?.({ ...asked, body: async () => Buffer.alloc(0) });
    };
    const proxy = await faultyService(context, { otherwise: answers });
    const place = deed
      ? placeAt(context, "https://service.example", { HTTPS_PROXY: proxy.url })
      : placeAt(context, "http://127.0.0.1:1");
    const { code, error, document, stderr } = await place.log([place.write("a.jsonl", three), "--max-wait", "300ms"]);
    context.expect([code, error?.code, document?.status], stderr).toEqual([5, "unavailable", "not_sent"]);
    context.expect(await place.entries()).toMatchObject([{ state: "not_sent", groups: 3 }]);
  });

  it("is advised to use https:// if it speaks only TLS, and the URL begins with http://", async (context) => {
    const service = await faultyService(context, { server: createTlsServer(certificate()) });
    const place = placeAt(context, `http://127.0.0.1:${service.port}`);
    const { error } = await place.log([place.write("a.jsonl", three), "--max-wait", "0s"]);
    context.expect(error?.message).toContain(", perhaps because the server expects https");
  });

  it("prints only its error with NODE_TLS_REJECT_UNAUTHORIZED=0", async (context) => {
    const service = await faultyService(context, { server: createTlsServer(certificate()), otherwise: refuse(422) });
    const place = placeAt(context, `https://127.0.0.1:${service.port}`, { NODE_TLS_REJECT_UNAUTHORIZED: "0" });
    const { stderr } = await place.log([place.write("a.jsonl", three)], { ownProcess: true });
    context.expect(JSON.parse(stderr).error.code).toBe("refused");
  });
});

describe.concurrent("a request that is retried", () => {
  it.for([
    ["a reset in the body", async (asked) => void asked.some(1000).then(asked.reset), 12_000_000],
    ["503 with Retry-After", refuse(503, { headers: ["Retry-After: 0"] }), 0],
  ] as const satisfies readonly (readonly [string, RequestHandler, number])[])(
    "is logged once after %s",
    async ([, deed, bytes], context) => {
      const service = await faultyService(context);
      service.next(deed, deed);
      const place = placeAt(context, service.url);
      const { code, document } = await place.log([place.write("a.jsonl", groupOf(1, bytes)), "--max-wait", "20s"]);
      expect([code, document?.status, service.logged]).toEqual([0, "logged", [1]]);
      expect(await place.entries()).toMatchObject([{ state: "logged", attempts: 3, status: 200, cause: null }]);
    },
  );

  it("is halved after a 413, and both halves are in flight at once, although another lane has ended", async (context) => {
    const { service, place } = await openPlace(context);
    const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2), groupOf(3), groupOf(4)));
    let isRefused = false;
    service.mend(async (asked) => {
      const count = (await asked.body()).toString().split('"reward"').length - 1;
      if (count === 2 && !isRefused) {
        isRefused = true;
        await context.expect.poll(() => service.logged.length).toBe(2);
        asked.answer(413);
        return;
      }
      if (count === 1) await context.expect.poll(service.requests).toBe(4);
      await accept(asked);
    });
    const { code, document } = await place.log([file, "--max-request-size", "200", "--concurrency", "2"]);
    expect([code, document?.requests, document?.groups.logged]).toEqual([0, 4, 4]);
  });
});
