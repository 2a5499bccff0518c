import { describe, expect, it } from "vitest";
import { type AttemptResult, connectionFailed, toReplyFailure } from "../../../src/wire/client/failures.ts";
import { findStatedError, readReplyJson } from "../../../src/wire/client/reply-body.ts";
import type { Route } from "../../../src/wire/client/route.ts";
import { isRetryable, TransportError, toTransportError } from "../../../src/wire/client/transport-error.ts";
import { logTrajectories as log } from "../../../src/wire/contract/endpoint.ts";
import { listModels as list, readCall } from "../../../src/wire/contract/reads.ts";

const direct: Route = { to: new URL("https://a.example"), proxy: undefined };
const proxy = { url: new URL("http://p.example:3128"), authorization: undefined, variable: "HTTPS_PROXY" };
const facts = { route: direct, setting: "base_url", silenceMs: 5000, attempts: 1 };

const splitRows = (text: string) =>
  text
    .trim()
    .split("\n")
    .map((row) => row.split("|").map((cell) => cell.trim()));

describe("the failure of a connection", () => {
  it.each(
    splitRows(`
      ENOTFOUND            | cannot connect | the host was not found (ENOTFOUND)
      EAI_AGAIN            | cannot connect | the lookup of the host name failed temporarily (EAI_AGAIN)
      ECONNREFUSED         | cannot connect | the connection was refused (ECONNREFUSED)
      EHOSTUNREACH         | cannot connect | the host is unreachable (EHOSTUNREACH)
      ENETUNREACH          | cannot connect | the network is unreachable (ENETUNREACH)
      CERT_HAS_EXPIRED     | cannot connect | its certificate has expired (CERT_HAS_EXPIRED)
      CONNECT_TIMEOUT      | cannot connect | connecting took more than 10 s
      CONNECT_ENDLESS      | cannot connect | connecting took longer than --max-wait allows
      SELF_SIGNED_CERT     | cannot connect | its certificate is signed by an unknown authority (SELF_SIGNED_CERT) | trust
      DEPTH_ZERO_X         | cannot connect | its certificate is signed by an unknown authority (DEPTH_ZERO_X) | trust
      UNABLE_TO_GET_ISSUER | cannot connect | its certificate is signed by an unknown authority (UNABLE_TO_GET_ISSUER) | trust
      UNABLE_TO_VERIFY_X   | cannot connect | its certificate is signed by an unknown authority (UNABLE_TO_VERIFY_X) | trust
      EPROTO               | cannot connect | the server does not speak TLS (EPROTO) | plain
      ERR_SSL_PACKET_LENGTH_TOO_LONG | cannot connect | the server does not speak TLS (ERR_SSL_PACKET_LENGTH_TOO_LONG) | plain
      ECONNRESET           | failed | the connection was reset (ECONNRESET)
      EPIPE                | failed | the connection was closed while the request was being sent (EPIPE)
      ETIMEDOUT            | failed | the host did not answer (ETIMEDOUT)
      HPE_HEADER_OVERFLOW  | failed | the headers of the answer are too large (HPE_HEADER_OVERFLOW)
      NOT_HTTP             | failed | the service does not answer in HTTP/1.1
      BAD_HEADERS          | failed | the headers of the answer are incomplete or invalid
      OTHER                | failed | the connection failed (OTHER)
      SILENT               | failed | no data arrived for 5 s  | increase --timeout
      ENDLESS              | failed | the answer took too long | increase --timeout`),
  )("has a reason and a hint for %s", (code = "", event, reason, fix) => {
    const { message, details } = connectionFailed({ code, status: undefined }, facts);
    const isConnecting = event === "cannot connect";
    const start = isConnecting ? "cannot connect to a.example:443" : "the request to a.example:443 failed";
    const trust = "if your network uses its own CA, set NODE_EXTRA_CA_CERTS=<file.pem>";
    const plain = "if the server uses plain http, begin base_url with http://";
    const own = { trust, plain }[fix ?? ""] ?? fix;
    const retry = code === "CONNECT_ENDLESS" ? "increase --max-wait" : "rerun the same command when the service is up";
    expect(message).toBe(`${start}: ${reason}`);
    expect(details.hint).toBe(own ?? `check base_url, or ${retry}`);
    // An interrupted run gives this advice.
    expect(details.remedy).toBe(own ?? (isConnecting ? "check base_url" : undefined));
  });

  it("names the proxy, the certificates, the setting and the attempt", () => {
    const said = (error: Partial<TransportError> & { code: string }, more: Partial<typeof facts>) => {
      const { message, details } = connectionFailed({ status: undefined, ...error }, { ...facts, ...more });
      return `${message}\n${details.hint}`;
    };
    const route = { ...direct, proxy };
    expect(said({ code: "PROXY_REFUSED", status: 502 }, { route })).toBe(
      `cannot connect to a.example:443 through the proxy p.example:3128: the proxy refused the connection (502)
check base_url and the proxy variables, or rerun the same command when the service is up`,
    );
    expect(said({ code: "PROXY_REFUSED", status: 403 }, { route })).toMatch(/\nask the operator of the proxy to allow/);
    expect(said({ code: "PROXY_REFUSED", status: 407 }, { route })).toContain("user and password into HTTPS_PROXY");
    const withUser = { route: { ...direct, proxy: { ...proxy, authorization: "Basic eDp5" } } };
    expect(said({ code: "PROXY_REFUSED", status: 407 }, withUser)).toMatch(
      /\ncheck the user and password in HTTPS_PROXY/,
    );
    expect(said({ code: "ECONNREFUSED", isOfProxy: true }, { route })).toMatch(/\ncheck HTTPS_PROXY, or list the host/);
    expect(said({ code: "EPROTO", isOfProxy: true }, { route })).toMatch(
      /the proxy does not.*\n.*begin HTTPS_PROXY with/,
    );
    const certified = { route: { ...direct, certificates: "ca.pem" } };
    expect(said({ code: "DEPTH_ZERO_X" }, certified)).toMatch(/\ncheck that ca\.pem, the file in NODE_EXTRA_CA_CERTS/);
    const setting = "log_base_url";
    expect(said({ code: "EPIPE" }, { setting })).toContain("\ncheck log_base_url (or base_url), or rerun");
    expect(said({ code: "ENDLESS" }, { setting, attempts: 3 })).toMatch(/ on attempt 3: .*\nincrease --timeout$/);
  });

  it("is retried unless a later attempt must fail, and for an unknown host only if the run waits for it", () => {
    const transient = ["ECONNRESET", "CUT", "SILENT", "ETIMEDOUT", "CONNECT_TIMEOUT", "EHOSTUNREACH"];
    const ofHost = ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"];
    const final = `ABORTED TOO_LONG BAD_ENCODING UNKNOWN_ENCODING ENDLESS CONNECT_ENDLESS NOT_HTTP EPROTO
      HPE_HEADER_OVERFLOW HOSTNAME_MISMATCH INVALID_CA CERT_HAS_EXPIRED ERR_TLS_CERT_ALTNAME_INVALID
      ERR_SSL_WRONG_VERSION_NUMBER UNABLE_TO_VERIFY_LEAF SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT`;
    const codes = [...transient, ...ofHost, ...final.split(/\s+/)];
    const retried = (waits: boolean) => codes.filter((code) => isRetryable(new TransportError(code), waits));
    expect([retried(true), retried(false)]).toEqual([[...transient, ...ofHost], transient]);
    const refusing = (status: number) => isRetryable(new TransportError("PROXY_REFUSED", { status }), false);
    expect([403, 407, 502].map(refusing)).toEqual([false, false, true]);
  });

  it("has a code that says what happened, whatever undici and Node call it", () => {
    const codeOf = (facts: object, name = "Error") =>
      toTransportError(Object.assign(new Error("x"), { name, ...facts })).code;
    const codes = `CONNECT_TIMEOUT=CONNECT_TIMEOUT HEADERS_TIMEOUT=SILENT BODY_TIMEOUT=SILENT SOCKET=CUT
      HEADERS_OVERFLOW=HPE_HEADER_OVERFLOW RES_CONTENT_LENGTH_MISMATCH=CUT REQ_CONTENT_LENGTH_MISMATCH=CUT
      DESTROYED=ABORTED OTHER=UND_ERR_OTHER`;
    for (const [undici = "", code] of codes.split(/\s+/).map((pair) => pair.split("=")))
      expect([undici, codeOf({ code: `UND_ERR_${undici}` })]).toEqual([undici, code]);
    expect(codeOf({ code: "ABORT_ERR" })).toBe("ABORTED");
    expect(codeOf({ code: "ERR_ASSERTION" })).toBe("BAD_HEADERS");
    expect(codeOf({ code: "ECONNRESET", syscall: "read" })).toBe("ECONNRESET");
    expect(codeOf({ code: "ECONNRESET" })).toBe("CUT");
    expect(codeOf({ code: "HPE_INVALID_CONSTANT" }, "HTTPParserError")).toBe("NOT_HTTP");
    expect([codeOf({}), toTransportError("x").code]).toEqual(["UNKNOWN", "UNKNOWN"]);
    const own = new TransportError("SILENT", { status: 502, isOfProxy: true });
    expect([toTransportError(own), toTransportError(new Error("x", { cause: own }))]).toEqual([own, own]);
    expect(new TransportError("CUT")).toMatchObject({ status: undefined, isOfProxy: false });
  });
});

describe("the failure of a reply", () => {
  const requestTo = (endpoint: typeof list | typeof log | typeof readCall) => {
    const { path } = endpoint;
    const target = { endpoint, path, url: "https://a.example/x", project: undefined };
    return { ...facts, ...target, encoding: "gzip" };
  };
  const emptyReply: AttemptResult = {
    ...{ status: 200, headers: {}, bytes: Buffer.alloc(0), isBodySent: true, isWebPage: false },
    ...{ credential: undefined, error: undefined, retryAfterMs: undefined, hasRetryAfter: false },
  };
  const page = "<html><title>Blocked</title></html>";
  const used = '{"error":{"code":"insufficient_quota","message":"no credit"}}';
  const area = '{"detail":"unsupported_country_region_territory"}';
  it.each(
    splitRows(`
      400 | list | {}   |                     | refused     | request-refused     | run the command with --debug
      400 | list | text |                     | refused     | request-refused     | fix the reported cause first
      400 | list | port |                     | refused     | request-refused     | begin the URL with https://
      400 | log  | {}   |                     | refused     | request-refused     | run the command with --debug
      407 | list |      |                     | refused     | request-refused     | check inference_base_url (the part of the URL before /v1/models), because no proxy of
      403 | list | page | server: nginx       | auth        | origin-refused      | ask the operator to allow this machine
      403 | log  | 1020 |                     | auth        | origin-refused      | ask the operator to allow this machine
      403 | list | area |                     | auth        | origin-refused      | ask the operator to allow this machine
      403 | list | key  |                     | auth        | credential-refused  | check inference_base_url, and any proxy
      404 | log  | {}   |                     | not_found   | resource-not-found  | check the model id, and log_base_url
      404 | read | {}   |                     | not_found   | resource-not-found  | check base_url
      404 | log  | text |                     | refused     | endpoint-not-found  | check log_base_url
      429 | log  | {}   |                     | unavailable | service-unavailable | try again later
      429 | log  | used |                     | unavailable | quota-used-up       | raise the quota
      429 | list | used |                     | refused     | quota-used-up       | raise the quota
      503 | list | used |                     | unavailable | service-unavailable | try again later
      503 | list |      |                     | unavailable | service-unavailable | try again later
      501 | log  | {}   |                     | unavailable | service-unavailable | try again later
      300 | list | {}   |                     | refused     | unexpected-redirect | check inference_base_url
      399 | list | {}   | location: /v1       | refused     | unexpected-redirect | check inference_base_url
      304 | list |      |                     | refused     | request-refused     | run the command with --debug
      501 | list | {}   |                     | refused     | request-refused     | run the command with --debug`),
  )(
    "says who answered %s to %s, and what to do (row %$)",
    (status, of = "", named = "", header, code, kind, hint = "") => {
      const endpoint = { list, log, read: readCall }[of] ?? list;
      const body = { page, used, area, key: "no such key", port: "an HTTP request to an HTTPS server" }[named] ?? named;
      const [name = "", value = ""] = header?.split(": ") ?? [];
      const facts = { status: Number(status), headers: { [name]: value }, isWebPage: body === page };
      const failure = toReplyFailure(requestTo(endpoint), { ...emptyReply, ...facts, bytes: Buffer.from(body) });
      expect([failure.code, failure.kind, failure.details.hint?.slice(0, hint.length)]).toEqual([code, kind, hint]);
      expect(failure.retryable).toBe(code === "unavailable" && kind !== "quota-used-up");
    },
  );

  it("names the proxy that refused a forwarded request", () => {
    const route = { to: new URL("http://a.example"), proxy: { ...proxy, variable: "http_proxy" } };
    const { message, details } = toReplyFailure({ ...requestTo(list), route }, { ...emptyReply, status: 407 });
    expect(message).toBe("the proxy p.example:3128 refused the request (407)");
    expect(details.hint).toMatch(/^put the proxy's user and password into http_proxy, or list the host/);
  });

  it.each([
    [
      '{"errors": {"split": ["no such"]}, "trace": 12345678901234567890}',
      '{"errors":{"split":["no such"]},"trace":12345678901234567890}',
    ],
    [`{"ids":["${"x".repeat(300)}"]}`, `{"ids":["${"x".repeat(191)} …`],
    [`{"ids":["${"x".repeat(188)}"]}`, `{"ids":["${"x".repeat(188)}"]}`],
    ['{"detail":[],"error":{"code":null}}', undefined],
    [`${"[".repeat(50_000)}${"]".repeat(50_000)}`, `${"[".repeat(200)} …`],
  ])("repeats the start of a refusal whose JSON has no known message (row %$)", (body, said) => {
    const failure = toReplyFailure(requestTo(log), { ...emptyReply, status: 400, bytes: Buffer.from(body) });
    expect(failure.message).toBe(`the service refused the request (400)${said === undefined ? "" : `: ${said}`}`);
  });

  it("says why the answer cannot be read", () => {
    const said = (code?: string) => {
      const error = code === undefined ? undefined : new TransportError(code);
      const { message, details } = toReplyFailure(requestTo(list), { ...emptyReply, error });
      return [message, details.hint];
    };
    const [answer, check] = ["the answer of https://a.example/x", "check inference_base_url"];
    const setting = `${check} (the part of the URL before /v1/models)`;
    expect([said("BAD_ENCODING"), said("UNKNOWN_ENCODING"), said("TOO_LONG"), said("CUT")]).toEqual([
      [`${answer} names a compression in Content-Encoding, but rollcall cannot decompress it`, setting],
      [`${answer} has a compression that rollcall did not request`, setting],
      [`${answer} is larger than 256 MiB`, `${setting}, or download the answer with curl -o`],
      [
        "the request to a.example:443 failed: the connection ended before the answer was complete",
        `${check}, or rerun the same command when the service is up`,
      ],
    ]);
    expect(said()).toEqual(said("CUT"));
  });

  it.each<[reply: unknown, stated: string | undefined]>([
    [{ object: "error", message: "a" }, "a"],
    [{ status: "failed", reason: "a" }, "a"],
    [{ type: "Failure", detail: "a" }, "a"],
    [{ code: 503, msg: "a" }, "a"],
    [{ statusCode: "404", title: "a" }, "a"],
    [{ success: false, error: { message: "a" } }, "a"],
    [{ ok: false, x: 1 }, '{"ok":false,"x":1}'],
    [{ succeeded: 0, failed: [{ path: "0", error: "a" }] }, "a"],
    [{ success: true, failed: 3 }, '{"success":true,"failed":3}'],
    [{ FailedRecordCount: 1, Records: [{}] }, '{"FailedRecordCount":1,"Records":[{}]}'],
    [
      { partialSuccess: { rejectedSpans: "5", errorMessage: "a" } },
      '{"partialSuccess":{"rejectedSpans":"5","errorMessage":"a"}}',
    ],
    [{ results: [{ status: 200 }, { status: 422, message: "a" }] }, "a"],
    [{ status: "partial_failure", message: "a" }, "a"],
    [{ metrics: { failed: 1, errors: 2 }, failed: 0, failure_rate: 1, detail: "a" }, undefined],
    [{ partialSuccess: { rejectedSpans: "0", errorMessage: "a" } }, undefined],
    [{ detail: "b", reason: "c", ok: false }, "b"],
    [{ message: "b", error: { reason: "c" }, ok: false }, "c"],
    [{ errors: ["a", "b"] }, "a; b"],
    [[{ error: { error: { errors: [{ message: "deep" }] } } }], "deep"],
    [{ error: {}, errors: [], detail: null }, undefined],
    [{ status: "ok", code: 200, success: true }, undefined],
  ])("is found in a reply with status 200 that states an error (row %$)", (reply, stated) => {
    expect(findStatedError(readReplyJson(Buffer.from(JSON.stringify(reply))))).toBe(stated);
  });
});
