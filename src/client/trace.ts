/** The lines of `--debug`: requests and replies by an allow-list of headers, never bodies, never credentials. */
import type { Headers } from "./request.ts";
import type { TransportError } from "./transport-error.ts";

type Trace = ((line: string) => void) | undefined;

/** Headers that hold no secret. `Authorization` is shown as its scheme alone. */
const shown = new Set(
  `accept-encoding cf-ray content-encoding content-length content-range content-type date etag idempotency-key if-match
  if-modified-since if-none-match if-unmodified-since last-modified range request-id retry-after retry-after-ms server
  transfer-encoding user-agent via x-ratelimit-limit x-ratelimit-remaining x-ratelimit-reset x-request-id`.split(/\s+/),
);

/** Shows a request. `project` is the name of the project's header, whose value is no secret. */
export const traceRequest = (
  trace: Trace,
  { method, url, headers, project }: { method: string; url: string; headers: Headers; project: string | undefined },
): void => {
  if (trace === undefined) return;
  trace(`> ${method} ${url}`);
  for (const line of shownHeaders(headers, project)) trace(`> ${line}`);
};

/** The headers of a request that may be shown, a line each. */
export const shownHeaders = (headers: Headers, project: string | undefined): readonly string[] =>
  headers.flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    if (lower === "authorization") return [`${name}: ${value.split(" ", 1)[0]} …`];
    return shown.has(lower) || lower === project?.toLowerCase() ? [`${name}: ${value}`] : [];
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
  for (const [name, value] of Object.entries(reply.headers)) if (shown.has(name)) trace(`< ${name}: ${value}`);
  if (reply.error !== undefined) trace(`* ${reply.error.code} ${took}`);
};
