/** Observes exchanges: for whoever collects a line for each, and as numbers in Prometheus' text format. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

/** The application adds to it. */
export interface Exchange {
  /** The id that its client or a proxy gave, otherwise a new one. */
  readonly id: string;
  /** The name of its operation: one of few. */
  operation: string;
  /** The name of the person's key. */
  key: string | undefined;
  /** Bytes of its body, decompressed. */
  bytes: number;
  /** Bytes of it that were stored, and were not before. */
  stored: number;
}

/** An exchange that ended. */
export interface EndedExchange extends Exchange {
  readonly method: string;
  /** Undefined if there was no answer. */
  readonly status: number | undefined;
  readonly ms: number;
}

export type Telemetry = ReturnType<typeof openTelemetry>;

/** Ids of requests that cannot hide anything in a line. */
const requestIdPattern = /^[\w.:=+/-]{1,128}$/;

/** Upper bounds of the durations in the histogram, in seconds. */
const bucketBoundsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** `onEnd` is called with each exchange that ended. */
export const openTelemetry = (onEnd: ((ended: EndedExchange) => void) | undefined) => {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const requests = new Map<string, number>();
  const durations = new Map<string, number[]>();
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
    begin: (incoming: IncomingMessage): void => {
      exchangeOf(incoming);
      inFlight++;
    },
    /** The exchange of a request. */
    of: exchangeOf,
    end: (incoming: IncomingMessage, outgoing: ServerResponse, ms: number): void => {
      inFlight--;
      const status = outgoing.headersSent ? outgoing.statusCode : undefined;
      const ended = { ...exchangeOf(incoming), method: incoming.method ?? "", status, ms };
      const labels = `operation="${ended.operation}",status="${status ?? "none"}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      const seconds = durations.get(ended.operation) ?? [];
      durations.set(ended.operation, seconds);
      const [sum = 0, ...counts] = seconds;
      const all = [...bucketBoundsSeconds, Number.POSITIVE_INFINITY];
      const added = all.map((bound, at) => (counts[at] ?? 0) + Number(ms <= bound * 1000));
      seconds.splice(0, seconds.length, sum + ms / 1000, ...added);
      stored += ended.stored;
      onEnd?.(ended);
    },
    /** The numbers so far, in Prometheus' text format. */
    metrics: (): string =>
      [
        ...metricHeader("rollcall_requests_total", "counter", "Requests that ended, by operation and status."),
        ...Array.from(requests, ([labels, count]) => `rollcall_requests_total{${labels}} ${count}`),
        ...metricHeader("rollcall_request_duration_seconds", "histogram", "How long requests took, by operation."),
        ...Array.from(durations).flatMap(([operation, seconds]) => formatHistogram(operation, seconds)),
        ...metricHeader("rollcall_requests_in_flight", "gauge", "Requests that are being answered."),
        `rollcall_requests_in_flight ${inFlight}`,
        ...metricHeader("rollcall_stored_bytes_total", "counter", "Bytes of requests that were stored."),
        `rollcall_stored_bytes_total ${stored}`,
        "",
      ].join("\n"),
  };
};

const metricHeader = (name: string, type: string, help: string): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

/** @param seconds the sum of the durations, then how many are within each bound, and how many there are */
const formatHistogram = (operation: string, [sum, ...counts]: readonly number[]): readonly string[] => {
  const name = "rollcall_request_duration_seconds";
  return [
    ...counts.map(
      (count, at) => `${name}_bucket{operation="${operation}",le="${bucketBoundsSeconds[at] ?? "+Inf"}"} ${count}`,
    ),
    `${name}_sum{operation="${operation}"} ${sum}`,
    `${name}_count{operation="${operation}"} ${counts.at(-1)}`,
  ];
};
