/** Watches exchanges: what each was, for whoever collects lines of JSON, and numbers of all of them in Prometheus' text form. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";

/** What is known of an exchange; the application adds to it. */
export interface Exchange {
  /** What its client, or a proxy, called it, else a new name. */
  readonly id: string;
  /** The name of its operation: one of few. */
  readonly operation: string;
  /** The name of the person's key that it came with. */
  key: string | undefined;
  /** Bytes of its body, unpacked. */
  bytes: number;
  /** Bytes that were stored of it, and were not before. */
  stored: number;
}

/** An exchange that ended. */
export interface Ended extends Exchange {
  readonly method: string;
  /** Undefined where there was no answer. */
  readonly status: number | undefined;
  readonly ms: number;
}

/** Watches the exchanges of a service. */
export interface Watch {
  begin(incoming: IncomingMessage): void;
  /** The exchange of a request. */
  of(incoming: IncomingMessage): Exchange;
  end(incoming: IncomingMessage, outgoing: ServerResponse, ms: number): void;
  /** The numbers so far, as Prometheus reads them. */
  metrics(): string;
}

/** Names that come with a request are taken where they can't hide anything in a line. */
const requestId = /^[\w.:=+/-]{1,128}$/;

/** Opens a watch. `onEnd` is told of every exchange that ended; `nameOf` says which operation a request is for. */
export const openWatch = (
  onEnd: ((ended: Ended) => void) | undefined,
  nameOf: (incoming: IncomingMessage) => string | undefined,
): Watch => {
  const exchanges = new WeakMap<IncomingMessage, Exchange>();
  const counts = openCounts();
  const of = (incoming: IncomingMessage): Exchange => {
    const known = exchanges.get(incoming);
    if (known !== undefined) return known;
    const given = String(incoming.headers["x-request-id"] ?? "");
    const id = requestId.test(given) ? given : randomUUID();
    const exchange = { id, operation: nameOf(incoming) ?? "other", key: undefined, bytes: 0, stored: 0 };
    exchanges.set(incoming, exchange);
    return exchange;
  };
  return {
    begin: (incoming) => {
      of(incoming);
      counts.inFlight++;
    },
    of,
    end: (incoming, outgoing, ms) => {
      counts.inFlight--;
      const status = outgoing.headersSent ? outgoing.statusCode : undefined;
      const ended = { ...of(incoming), method: incoming.method ?? "", status, ms };
      counts.add(ended);
      onEnd?.(ended);
    },
    metrics: counts.text,
  };
};

/** Upper bounds of durations that are told apart, in seconds. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

interface Durations {
  /** How many took as long as each bound at most, and how many there were. */
  readonly within: number[];
  count: number;
  seconds: number;
}

const openCounts = () => {
  const requests = new Map<string, number>();
  const durations = new Map<string, Durations>();
  let stored = 0;
  const counts = {
    inFlight: 0,
    add: ({ operation, status, ms, stored: bytes }: Ended): void => {
      const labels = `operation="${operation}",status="${status ?? "none"}"`;
      requests.set(labels, (requests.get(labels) ?? 0) + 1);
      const of = durations.get(operation) ?? { within: bounds.map(() => 0), count: 0, seconds: 0 };
      durations.set(operation, of);
      for (const [at, bound] of bounds.entries()) if (ms <= bound * 1000) of.within[at] = (of.within[at] ?? 0) + 1;
      of.count++;
      of.seconds += ms / 1000;
      stored += bytes;
    },
    text: (): string =>
      [
        ...headOf("rollcall_requests_total", "counter", "Requests that ended, by operation and status."),
        ...Array.from(requests, ([labels, count]) => `rollcall_requests_total{${labels}} ${count}`),
        ...headOf("rollcall_request_duration_seconds", "histogram", "How long requests took, by operation."),
        ...Array.from(durations).flatMap(([operation, of]) => histogramOf(operation, of)),
        ...headOf("rollcall_requests_in_flight", "gauge", "Requests that are being answered."),
        `rollcall_requests_in_flight ${counts.inFlight}`,
        ...headOf("rollcall_stored_bytes_total", "counter", "Bytes of requests that were stored."),
        `rollcall_stored_bytes_total ${stored}`,
        "",
      ].join("\n"),
  };
  return counts;
};

const headOf = (name: string, type: string, help: string): readonly string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

const histogramOf = (operation: string, { within, count, seconds }: Durations): readonly string[] => {
  const name = "rollcall_request_duration_seconds";
  return [
    ...bounds.map((bound, at) => `${name}_bucket{operation="${operation}",le="${bound}"} ${within[at] ?? 0}`),
    `${name}_bucket{operation="${operation}",le="+Inf"} ${count}`,
    `${name}_sum{operation="${operation}"} ${seconds}`,
    `${name}_count{operation="${operation}"} ${count}`,
  ];
};
