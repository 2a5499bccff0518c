/** Telemetry of the local service: a record of each exchange, and metrics in Prometheus' text format. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

/** A request and its answer. The application fills it in. */
export interface Exchange {
  /** The id from the client or a proxy, or a new one. */
  readonly id: string;
  /** The name of the operation, or `other`. */
  operation: string;
  /** The name of the person's key. */
  key: string | undefined;
  /** Bytes of the decompressed body. */
  bytes: number;
  /** Bytes of the body that were stored for the first time. */
  stored: number;
}

export interface EndedExchange extends Exchange {
  readonly method: string;
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  readonly ms: number;
}

export type Telemetry = ReturnType<typeof openTelemetry>;

/** Matches request ids that are safe in a log line. */
const requestIdPattern = /^[\w.:=+/-]{1,128}$/;

/** Upper bounds of the histogram's buckets, in seconds. */
const bucketBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, Number.POSITIVE_INFINITY];

interface Durations {
  sum: number;
  /** How many are within each bound. */
  readonly buckets: number[];
}

export const openTelemetry = (onEnd: ((ended: EndedExchange) => void) | undefined) => {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const requests = new Map<string, number>();
  const durations = new Map<string, Durations>();
  let [inFlight, stored] = [0, 0];
  const exchangeOf = (incoming: IncomingMessage): Exchange => {
    const known = exchanges.get(incoming);
    if (known !== undefined) return known;
    const given = String(incoming.headers["x-request-id"] ?? "");
    const id = requestIdPattern.test(given) ? given : randomUUID();
    const exchange = { id, operation: "other", key: undefined, bytes: 0, stored: 0 };
    exchanges.set(incoming, exchange);
    return exchange;
  };
  return {
    exchangeOf,
    begin: (): void => {
      inFlight++;
    },
    end: (incoming: IncomingMessage, outgoing: ServerResponse, ms: number): void => {
      inFlight--;
      const status = outgoing.headersSent ? outgoing.statusCode : undefined;
      const ended = { ...exchangeOf(incoming), method: incoming.method ?? "", status, ms };
      const labels = `operation="${ended.operation}",status="${status ?? "none"}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      const own = durations.get(ended.operation) ?? { sum: 0, buckets: bucketBounds.map(() => 0) };
      durations.set(ended.operation, own);
      own.sum += ms / 1000;
      for (const [at, bound] of bucketBounds.entries()) {
        if (ms <= bound * 1000) own.buckets[at] = (own.buckets[at] ?? 0) + 1;
      }
      stored += ended.stored;
      onEnd?.(ended);
    },
    formatMetrics: (): string =>
      [
        ...formatMetric("rollcall_requests_total", "counter", "Requests that ended, by operation and status."),
        ...Array.from(requests, ([labels, count]) => `rollcall_requests_total{${labels}} ${count}`),
        ...formatMetric("rollcall_request_duration_seconds", "histogram", "Duration of requests, by operation."),
        ...Array.from(durations).flatMap(formatHistogram),
        ...formatMetric("rollcall_requests_in_flight", "gauge", "Requests in flight.", inFlight),
        ...formatMetric("rollcall_stored_bytes_total", "counter", "Bytes of requests that were stored.", stored),
        "",
      ].join("\n"),
  };
};

const formatMetric = (name: string, type: string, help: string, value?: number): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
  ...(value === undefined ? [] : [`${name} ${value}`]),
];

const formatHistogram = ([operation, { sum, buckets }]: readonly [string, Durations]): readonly string[] => {
  const name = "rollcall_request_duration_seconds";
  const bound = (at: number) => (Number.isFinite(bucketBounds[at]) ? bucketBounds[at] : "+Inf");
  return [
    ...buckets.map((count, at) => `${name}_bucket{operation="${operation}",le="${bound(at)}"} ${count}`),
    `${name}_sum{operation="${operation}"} ${sum}`,
    `${name}_count{operation="${operation}"} ${buckets.at(-1)}`,
  ];
};
