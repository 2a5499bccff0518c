import { describe, it } from "vitest";
import { hasPostgres, newDatabase } from "../support/postgres.ts";
import { accept, type Deed, faultyService, refuse } from "../support/raw-server.ts";
import { groupOf, linesOf, oneEach, placeAt } from "./place.ts";

/** More than the buffers of both sides hold: whoever stops reading stops the sender in the middle. */
const long = 12 * 1024 * 1024;

/** A fault, the first request of three meeting it, and what becomes of it. */
interface Fault {
  readonly name: string;
  /** What is done to the tries of the first request; the last of them to all further ones. */
  readonly deeds: readonly Deed[];
  /** Padding of the first group. */
  readonly bytes?: number;
  readonly args?: readonly string[];
  readonly code: number;
  /** Code and cause of the error document. */
  readonly says: readonly (string | undefined)[];
  /** The ledger's states after the first run; as many entries. */
  readonly states: readonly string[];
  readonly status?: number;
  readonly cause?: string;
  /** Whether the request was tried more than once. */
  readonly retried?: boolean;
}

const noAnswer: Deed = async (asked) => void (await asked.body());
const refused = { states: ["refused"] };
const notSent = { code: 5, says: ["unavailable", undefined], states: ["not_sent"], retried: true };
const unknown = { code: 8, says: ["unknown_outcome", "unavailable"], states: ["unknown"] };
const said422 = JSON.stringify({
  detail: [{ loc: ["body", "trajectory_groups", 0, "trajectories"], msg: "no", type: "value_error" }],
});

const faults: readonly Fault[] = [
  { name: "a reset before the body", deeds: [(asked) => asked.reset()], bytes: long, ...notSent },
  {
    name: "a reset within the body",
    deeds: [
      async (asked) => {
        await asked.some(100_000);
        asked.reset();
      },
    ],
    bytes: long,
    ...notSent,
  },
  {
    name: "an end within the body",
    deeds: [
      async (asked) => {
        await asked.some(100_000);
        asked.socket.destroy();
      },
    ],
    bytes: long,
    ...notSent,
  },
  {
    name: "silence within the body",
    deeds: [async (asked) => await asked.some(100_000)],
    bytes: long,
    args: ["--timeout", "400ms"],
    ...notSent,
    cause: "SILENT",
  },
  {
    name: "a reset after the body",
    deeds: [
      async (asked) => {
        await asked.body();
        asked.reset();
      },
    ],
    ...unknown,
    cause: "ECONNRESET",
  },
  {
    name: "an end after the body",
    deeds: [
      async (asked) => {
        await asked.body();
        asked.socket.destroy();
      },
    ],
    ...unknown,
    cause: "CUT",
  },
  { name: "silence after the body", deeds: [noAnswer], args: ["--timeout", "400ms"], ...unknown, cause: "SILENT" },
  {
    name: "silence within the headers",
    deeds: [
      async (asked) => {
        await asked.body();
        asked.socket.write("HTTP/1.1");
      },
    ],
    args: ["--timeout", "400ms"],
    ...unknown,
    cause: "SILENT",
  },
  {
    name: "an answer that is not HTTP",
    deeds: [
      async (asked) => {
        await asked.body();
        asked.socket.end("220 mail.example ESMTP\r\n");
      },
    ],
    ...unknown,
  },
  { name: "401", deeds: [refuse(401)], code: 4, says: ["auth", undefined], ...refused, status: 401 },
  { name: "403", deeds: [refuse(403)], code: 4, says: ["auth", undefined], ...refused, status: 403 },
  {
    name: "404 with a JSON body",
    deeds: [refuse(404, { body: '{"detail":"no such model"}' })],
    code: 9,
    says: ["not_found", undefined],
    ...refused,
    status: 404,
  },
  {
    name: "404 of a web server",
    deeds: [refuse(404, { body: "<html>Not Found</html>" })],
    code: 6,
    says: ["refused", undefined],
    ...refused,
    status: 404,
  },
  { name: "400", deeds: [refuse(400)], code: 6, says: ["refused", undefined], ...refused, status: 400 },
  {
    name: "422",
    deeds: [refuse(422, { body: said422 })],
    code: 6,
    says: ["refused", undefined],
    ...refused,
    status: 422,
  },
  { name: "410", deeds: [refuse(410)], code: 6, says: ["refused", undefined], ...refused, status: 410 },
  {
    name: "a redirect",
    deeds: [refuse(307, { headers: ["Location: /elsewhere"] })],
    code: 6,
    says: ["refused", undefined],
    ...refused,
    status: 307,
  },
  {
    name: "413 for one group",
    deeds: [refuse(413)],
    code: 6,
    says: ["refused", undefined],
    states: ["refused"],
    status: 413,
  },
  {
    name: "409",
    deeds: [refuse(409)],
    code: 8,
    says: ["unknown_outcome", "refused"],
    states: ["unknown"],
    status: 409,
  },
  { name: "408", deeds: [refuse(408)], ...notSent, status: 408 },
  { name: "429", deeds: [refuse(429)], ...notSent, status: 429 },
  { name: "503 with Retry-After", deeds: [refuse(503, { headers: ["Retry-After: 0"] })], ...notSent, status: 503 },
  ...[500, 502, 503, 504, 520].map((status) => ({
    name: `${status} after the whole body`,
    deeds: [refuse(status)],
    ...unknown,
    status,
  })),
  ...[500, 503, 504].map((status) => ({
    name: `${status} before the whole body`,
    deeds: [
      async (asked: Parameters<Deed>[0]) => {
        await asked.some(100_000);
        asked.answer(status);
      },
    ],
    bytes: long,
    ...notSent,
    status,
  })),
  {
    name: "an early 401",
    deeds: [
      async (asked) => {
        await asked.some(100_000);
        asked.answer(401);
      },
    ],
    bytes: long,
    code: 4,
    says: ["auth", undefined],
    ...refused,
    status: 401,
  },
  {
    name: "a status, and then a reset",
    deeds: [
      async (asked) => {
        await asked.body();
        asked.socket.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nno");
        setTimeout(() => asked.reset(), 100);
      },
    ],
    code: 6,
    says: ["refused", undefined],
    ...refused,
    status: 400,
  },
];

const nothing = { logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };

/** What a ledger is told of a fault, but for the words and the numbers in it. */
const toldOf = ({ states, status, cause, retried = false }: Fault): string =>
  `${states} ${status === undefined} ${cause === undefined} ${retried}`;

/** A fault of each kind that a ledger can tell from others: what is sent, and what it means, is not up to the ledger. */
const faultOfEachKind = [...new Map(faults.map((fault) => [toldOf(fault), fault])).values()];

/** What keeps the ledger: what happens is the same with each. */
const ledgers: readonly {
  readonly body: string;
  readonly met: readonly Fault[];
  readonly placeOf: () => Promise<Readonly<Record<string, string>>>;
  readonly skip: boolean;
}[] = [
  { body: "a file", met: faults, placeOf: async () => ({}), skip: false },
  {
    body: "PostgreSQL",
    met: faultOfEachKind,
    placeOf: async () => ({ ROLLCALL_LEDGER: await newDatabase() }),
    skip: !hasPostgres,
  },
];

describe.for(ledgers)("with a ledger in $body", ({ met, placeOf, skip }) => {
  describe.skipIf(skip).concurrent("a run that meets", { timeout: 90_000 }, () => {
    it.for(met)("$name, and the runs after it", async (fault, context) => {
      const { expect } = context;
      const { deeds, args = [], code, says, states, retried = false } = fault;
      const service = await faultyService(context, { otherwise: deeds.at(-1) ?? accept });
      const place = placeAt(context, service.url, await placeOf());
      const file = place.write("a.jsonl", linesOf(groupOf(1, fault.bytes), groupOf(2), groupOf(3)));
      const first = await place.log([file, ...oneEach, "--max-wait", "300ms", ...args]);
      expect([first.code, first.error?.code, first.error?.cause], first.stderr).toEqual([code, ...says]);
      const isUnknown = states.includes("unknown");
      if (isUnknown) {
        expect(first.document).toMatchObject({
          status: "unknown",
          groups: { ...nothing, read: 3, unknown: 1, not_sent: 2 },
        });
      } else expect(first.stdout).toBe("");
      const entries = await place.entries();
      expect(entries.map(({ state }) => state)).toEqual(states);
      if (fault.status !== undefined) expect(entries[0]?.status).toBe(fault.status);
      if (fault.cause !== undefined) expect(entries[0]?.cause).toBe(fault.cause);
      expect((entries[0]?.attempts ?? 0) > 1).toBe(retried);
      expect(service.logged).toEqual([]);
      service.mend();
      const second = await place.log([file, ...oneEach]);
      if (!isUnknown) {
        expect(second.document, second.stderr).toMatchObject({ status: "logged", groups: { ...nothing, logged: 3 } });
        expect(service.logged).toEqual([1, 2, 3]);
      } else {
        expect([second.code, second.error?.code, second.error?.cause]).toEqual([8, "unknown_outcome", undefined]);
        expect(second.document?.groups).toMatchObject({ ...nothing, unknown: 1, logged: 2 });
        expect(service.logged).toEqual([2, 3]);
        expect((await place.run(["ledger", "resolve", entries[0]?.id ?? "", "--resend"])).code).toBe(0);
        expect((await place.log([file, ...oneEach])).document?.groups).toMatchObject({ logged: 1, already_logged: 2 });
        expect(service.logged).toEqual([2, 3, 1]);
      }
      expect((await place.run(["ledger", "verify", file])).code).toBe(0);
      expect(service.logged).toHaveLength(3);
    });
  });
});

describe.concurrent("a service that can take nothing more", { timeout: 90_000 }, () => {
  const busy = refuse(429, { headers: ["Retry-After: 1"] });

  it("is waited for as long as --max-wait says for all requests together", async (context) => {
    const { expect } = context;
    const service = await faultyService(context);
    const place = placeAt(context, service.url);
    const groups = [1, 2, 3, 4, 5, 6].map((reward) => groupOf(reward));
    for (const _ of groups) service.next(busy, accept);
    const file = place.write("a.jsonl", linesOf(...groups));
    const { code, error, document } = await place.log([file, ...oneEach, "--max-wait", "3s"]);
    expect([code, error?.cause, error?.retryable]).toEqual([7, "unavailable", true]);
    expect(document?.groups.logged).toBeLessThan(4);
  });

  it.for([
    ["--no-ledger", false],
    ["--ledger=ledger.db", true],
  ] as const)(
    "leaves with %s what the same command can, or can't, go on with",
    async ([ledger, retryable], context) => {
      const { expect } = context;
      const service = await faultyService(context, { otherwise: busy });
      const place = placeAt(context, service.url);
      const file = place.write("a.jsonl", linesOf(groupOf(1), groupOf(2)));
      const args = [file, ...oneEach, "--max-wait", "0s", ledger];
      const nothing = await place.log(args);
      expect([nothing.code, nothing.error?.retryable]).toEqual([5, true]);
      service.next(accept);
      const some = await place.log(args);
      expect([some.code, some.error?.retryable, some.document?.groups.logged]).toEqual([7, retryable, 1]);
      expect(some.error?.hint).toMatch(retryable ? /nothing twice$/ : /send the rest by itself$/);
    },
  );
});
