import { createServer as createTlsServer } from "node:tls";
import { describe, expect, it, type TestContext } from "vitest";
import { accept, faultyService, type RequestHandler, refuse } from "../support/raw-server.ts";
import { certificate } from "../wire/client/certificate.ts";
import { groupOf, linesOf, oneEach, openPlace, type Place, placeAt, three } from "./place.ts";

const impatient = ["--max-wait", "300ms"];

/** Logs the groups, and then answers as `then` does. */
const took =
  (then: RequestHandler): RequestHandler =>
  async (asked) => {
    await asked.take();
    await then(asked);
  };

const written = (text: string): RequestHandler =>
  took((asked) => {
    asked.socket.end(text);
    asked.socket.resume();
  });

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

  it("counts as logged if it stops in the middle", { tags: "slow" }, async (context) => {
    const silent = took((asked) => void asked.socket.write("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n{"));
    const { place } = await openPlace(context, { otherwise: silent });
    const { code, document } = await place.log([place.write("a.jsonl", three), "--timeout", "5s"]);
    expect([code, document?.status]).toEqual([0, "logged"]);
  });

  it("counts as logged if it comes before the body was sent", async (context) => {
    const early: RequestHandler = async (asked) => {
      await asked.some(1000);
      asked.answer(200, { body: "{}" });
    };
    const { place } = await openPlace(context, { otherwise: early });
    const { code, document } = await place.log([place.write("a.jsonl", groupOf(1, 12_000_000))]);
    expect([code, document?.status]).toEqual([0, "logged"]);
  });

  it("counts as logged if the service reads slowly", { tags: "slow" }, async (context) => {
    const slow: RequestHandler = async (asked) => {
      // The service reads the second half fast, because the sender cannot see the reads of system buffers.
      for (let bytes = 1; bytes < 6_000_000; bytes += 750_000) {
        await asked.some(bytes);
        await new Promise((resolve) => setTimeout(resolve, 450));
      }
      await accept(asked);
    };
    const { service, place } = await openPlace(context, { otherwise: slow });
    const { code } = await place.log([place.write("a.jsonl", groupOf(1, 12_000_000)), "--timeout", "3s"]);
    expect([code, service.logged]).toEqual([0, [1]]);
  });
});

describe("a service that cannot be reached", () => {
  /** Expects that a run sends nothing, and returns the cause in the ledger. */
  const notReached = async ({ expect }: TestContext, place: Place): Promise<string | null | undefined> => {
    const file = place.write("a.jsonl", three);
    const first = await place.log([file, ...impatient]);
    expect([first.code, first.error?.code, first.document?.status], first.stderr).toEqual([
      5,
      "unavailable",
      "not_sent",
    ]);
    const entries = await place.entries();
    expect(entries).toMatchObject([{ state: "not_sent", groups: 3 }]);
    return entries[0]?.cause;
  };

  it("gives exit 5 if nothing listens", async (context) => {
    const place = placeAt(context, "http://127.0.0.1:1");
    context.expect(await notReached(context, place)).toBe("ECONNREFUSED");
  });

  it("gives exit 5 if its host name is unknown", async (context) => {
    // A part of a name has at most 63 characters, so no resolver gets this name.
    const place = placeAt(context, `https://${"a".repeat(64)}.invalid`);
    context.expect(await notReached(context, place)).toMatch(/^E(NOTFOUND|AI_)/);
  });

  it("gives exit 5 if its certificate is not trusted", async (context) => {
    const service = await faultyService(context, { server: createTlsServer(certificate()) });
    const place = placeAt(context, `https://localhost:${service.port}`);
    context.expect(await notReached(context, place)).toBe("DEPTH_ZERO_SELF_SIGNED_CERT");
    context.expect(service.logged).toEqual([]);
  });

  it("gives exit 5 if it does not speak TLS", async (context) => {
    const service = await faultyService(context, {
      otherwise: (asked) => void asked.socket.end("SSH-2.0-OpenSSH\r\n"),
    });
    const place = placeAt(context, `https://127.0.0.1:${service.port}`);
    await notReached(context, place);
    const { error } = await place.log([place.path("a.jsonl"), ...impatient]);
    context.expect(error?.hint).toContain("begin log_base_url (or base_url) with http://");
  });

  it("gives exit 5 at --max-wait if its TLS handshake never ends", { tags: "slow" }, async (context) => {
    const service = await faultyService(context, { otherwise: () => undefined });
    const url = `https://127.0.0.1:${service.port}`;
    const place = placeAt(context, url, { ROLLCALL_API_KEY: "key-2" });
    context.expect(await notReached(context, place)).toBe("CONNECT_ENDLESS");
    const { code, stdout, stderr } = await place.run(["models", "--inference-base-url", url, "--max-wait", "0s"]);
    context.expect([code, stdout + stderr]).toEqual([5, context.expect.stringContaining("--max-wait allows")]);
    context.expect(service.requests()).toBe(2);
  });

  it.for([
    ["refuses", refuse(403)],
    ["answers 502", refuse(502)],
    ["hangs up", (asked) => asked.reset()],
    ["does not speak HTTP", (asked) => void asked.socket.end("220 mail.example\r\n")],
  ] as const satisfies readonly (readonly [string, RequestHandler])[])(
    "gives exit 5 if its proxy %s",
    async ([, deed], context) => {
      const answers: RequestHandler = async (asked) => {
        await asked.head();
        // A CONNECT has no body.
        await (deed.length === 0 ? deed(asked) : deed({ ...asked, body: async () => Buffer.alloc(0) }));
      };
      const proxy = await faultyService(context, { otherwise: answers });
      const place = placeAt(context, "https://service.example", { HTTPS_PROXY: proxy.url });
      await notReached(context, place);
    },
  );
});

describe.concurrent("a request that is retried", () => {
  it.for([
    ["a reset in the body", async (asked) => void asked.some(1000).then(asked.reset), 12_000_000],
    ["408", refuse(408), 0],
    ["429 with Retry-After", refuse(429, { headers: ["Retry-After: 0"] }), 0],
    ["503 with Retry-After", refuse(503, { headers: ["Retry-After: 0"] }), 0],
    [
      "503 with a date as Retry-After",
      refuse(503, { headers: [`Retry-After: ${new Date(Date.now() - 5000).toUTCString()}`] }),
      0,
    ],
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

  it("ends if Retry-After exceeds --max-wait", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: refuse(429, { headers: ["Retry-After: 3600"] }) });
    const { code, error } = await place.log([place.write("a.jsonl", three), "--max-wait", "10s"]);
    expect([code, error?.retryable, service.requests()]).toEqual([5, true, 1]);
  });

  it("is halved after a 413, and limits the next run", async (context) => {
    const limit = 200;
    const small: RequestHandler = async (asked) => {
      const body = await asked.body();
      if (body.length > limit) asked.answer(413);
      else await accept(asked);
    };
    const { service, place } = await openPlace(context, { otherwise: small });
    const rewards = [1, 2, 3, 4, 5, 6, 7];
    const first = await place.log([place.write("a.jsonl", linesOf(...rewards.map((reward) => groupOf(reward))))]);
    expect([first.code, first.document?.groups.logged, service.logged]).toEqual([0, 7, rewards]);
    const divided = (await place.entries()).filter(({ groups }) => groups === 7);
    expect(divided).toMatchObject([{ state: "not_sent", status: 413 }]);
    const before = service.requests();
    const more = rewards.map((reward) => groupOf(reward + 10));
    expect((await place.log([place.write("b.jsonl", linesOf(...more))])).code).toBe(0);
    expect(service.logged.slice(7)).toEqual(rewards.map((reward) => reward + 10));
    expect(service.bodies.slice(before).every((body) => body.length <= limit)).toBe(true);
  });

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

  it("stops after a 401, and names the variable of the key", async (context) => {
    const { service, place } = await openPlace(context, { otherwise: refuse(401) });
    const { ROLLCALL_TOKEN: _, ...env } = place.env;
    // The file of a key overrides a saved key, like the key itself.
    const own = { ...env, ROLLCALL_TOKEN: "", ROLLCALL_TOKEN_FILE: place.write("key", "5") };
    const { code, error } = await placeAt(context, service.url, own).log([place.write("a.jsonl", three), ...oneEach]);
    expect([code, error?.code, service.requests()]).toEqual([4, "auth", 1]);
    expect(error?.hint).toContain("check the key in ROLLCALL_TOKEN_FILE");
  });
});
