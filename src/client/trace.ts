/** The lines of `--debug`: requests and replies by an allow-list of headers, never bodies, never credentials. */
import type { Headers } from "./request.ts";
import type { TransportError } from "./transport-error.ts";

type Trace = ((line: string) => void) | undefined;

/** Request headers that hold no secret; `Authorization` is shown as its scheme alone. */
const shownOfRequests = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "accept-encoding",
  "user-agent",
  "idempotency-key",
  "if-none-match",
  "if-modified-since",
  "if-match",
  "if-unmodified-since",
  "range",
]);

/** Reply headers that help to find a fault and hold no secret. */
const shownOfReplies = new Set([
  "content-type",
  "content-length",
  "content-encoding",
  "content-range",
  "transfer-encoding",
  "date",
  "etag",
  "last-modified",
  "server",
  "via",
  "retry-after",
  "retry-after-ms",
  "idempotency-key",
  "x-request-id",
  "request-id",
  "cf-ray",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
]);

/** Shows a request. `project` is the name of the project's header, whose value is no secret. */
export const traceRequest = (
  trace: Trace,
  request: {
    readonly method: string;
    readonly url: string;
    readonly headers: Headers;
    readonly project: string | undefined;
  },
): void => {
  if (trace === undefined) return;
  trace(`> ${request.method} ${request.url}`);
  for (const line of shownHeaders(request.headers, request.project)) trace(`> ${line}`);
};

/** The headers of a request that may be shown, a line each. */
export const shownHeaders = (headers: Headers, project: string | undefined): readonly string[] =>
  headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (lower === "authorization") return [`${name}: ${value.split(" ", 1)[0]} …`];
    return shownOfRequests.has(lower) || lower === project?.toLowerCase() ? [`${name}: ${value}`] : [];
  });

/** Shows a reply, or what came instead of one. */
export const traceReply = (
  trace: Trace,
  reply: {
    readonly status: number | undefined;
    readonly headers: Readonly<Record<string, string>>;
    readonly bytes: number;
    readonly error: TransportError | undefined;
    readonly tookMs: number;
  },
): void => {
  if (trace === undefined) return;
  const took = `after ${Math.round(reply.tookMs)} ms`;
  if (reply.status !== undefined) trace(`< ${reply.status} ${took}, ${reply.bytes} bytes`);
  for (const [name, value] of Object.entries(reply.headers)) {
    if (shownOfReplies.has(name)) trace(`< ${name}: ${value}`);
  }
  if (reply.error !== undefined) trace(`* ${reply.error.code} ${took}`);
};
