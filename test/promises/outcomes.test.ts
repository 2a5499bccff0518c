import { describe, expect, it, type TestContext } from "vitest";
import { hasPostgres, newLedger } from "../support/postgres.ts";
import { faultyService, type RequestHandler, refuse } from "../support/raw-server.ts";
import { groupOf, linesOf, oneEach, openPlace, placeAt } from "./place.ts";

/** More bytes than the buffers of both sides, so that a service that stops reading stops the sender. */
const long = 12 * 1024 * 1024;

/** A fault of the service in the first of three requests, and the end of the run. */
interface Fault {
  readonly name: string;
  /** True for one fault of each outcome in the table of outcomes. */
  readonly isQuick?: boolean;
  readonly deed: RequestHandler;
  readonly bytes?: number;
  readonly args?: readonly string[];
  readonly code: number;
  readonly says: readonly (string | undefined)[];
  /** The state of the ledger's only entry after the first run. */
  readonly state: string;
  readonly status?: number;
  readonly cause?: string;
  /** True if the request is tried more than once. */
  readonly retried?: boolean;
}

const refused = { code: 6, says: ["refused", undefined], state: "refused" };
const notSent = { code: 5, says: ["unavailable", undefined], state: "not_sent", retried: true };
const auth = { ...refused, code: 4, says: ["auth", undefined] };
const unknown = { code: 8, says: ["unknown_outcome", "unavailable"], state: "unknown" };
const detailOf422 = JSON.stringify({
  detail: [{ loc: ["body", "trajectory_groups", 0, "trajectories"], msg: "no", type: "value_error" }],
});

/** Acts after the whole request. */
const afterBody =
  (act: RequestHandler): RequestHandler =>
  async (asked) => {
    await asked.body();
    await act(asked);
  };

/** Acts after a part of the request. */
const withinBody =
  (act: RequestHandler): RequestHandler =>
  async (asked) => {
    await asked.some(100_000);
    await act(asked);
  };

const impatient = { args: ["--timeout", "1s"], cause: "SILENT" };
const cut = { bytes: long, ...notSent };
const unclear = { ...unknown, says: ["unknown_outcome", "refused"] };
const webPage = { body: "<!doctype html><title>Sign in</title>", headers: ["Content-Type: application/json"] };

/** Faults of connections, and one status of each outcome. sending.test.ts has the other statuses. */
const faults: readonly Fault[] = [
  { name: "a reset before the body", deed: (asked) => asked.reset(), ...cut },
  { name: "a reset within the body", isQuick: true, deed: withinBody((asked) => asked.reset()), ...cut },
  { name: "an end within the body", deed: withinBody((asked) => void asked.socket.destroy()), ...cut },
  { name: "silence within the body", deed: withinBody(() => undefined), ...cut, ...impatient },
  {
    name: "a reset after the body",
    isQuick: true,
    deed: afterBody((asked) => asked.reset()),
    ...unknown,
    cause: "ECONNRESET",
  },
  { name: "an end after the body", deed: afterBody((asked) => void asked.socket.destroy()), ...unknown, cause: "CUT" },
  { name: "silence after the body", isQuick: true, deed: afterBody(() => undefined), ...unknown, ...impatient },
  {
    name: "silence within the headers",
    deed: afterBody((asked) => void asked.socket.write("HTTP/1.1")),
    ...unknown,
    ...impatient,
  },
  {
    name: "a reply that is not HTTP",
    deed: afterBody((asked) => void asked.socket.end("220 mail.example ESMTP\r\n")),
    ...unknown,
  },
  { name: "a 401", isQuick: true, deed: refuse(401), ...auth, status: 401 },
  {
    name: "a 404 with a JSON body",
    isQuick: true,
    deed: refuse(404, { body: '{"detail":"no such model"}' }),
    ...refused,
    code: 9,
    says: ["not_found", undefined],
    status: 404,
  },
  { name: "a 404 of a web server", deed: refuse(404, { body: "<html>Not Found</html>" }), ...refused, status: 404 },
  { name: "a 422", isQuick: true, deed: refuse(422, { body: detailOf422 }), ...refused, status: 422 },
  { name: "a redirect", deed: refuse(307, { headers: ["Location: /elsewhere"] }), ...refused, status: 307 },
  { name: "a 413 for one group", isQuick: true, deed: refuse(413), ...refused, status: 413 },
  { name: "a 409", isQuick: true, deed: refuse(409), ...unclear, status: 409 },
  { name: "a 429", isQuick: true, deed: refuse(429), ...notSent, status: 429 },
  { name: "a 200 with a web page", isQuick: true, deed: refuse(200, webPage), ...unclear, status: 200 },
  {
    name: "a 200 with a cut web page",
    deed: afterBody((asked) => void asked.socket.end("HTTP/1.1 200 OK\r\nContent-Length: 60\r\n\r\n<!")),
    ...unclear,
    status: 200,
  },
  {
    name: "a 503 with an invalid Retry-After",
    isQuick: true,
    deed: refuse(503, { headers: ["Retry-After: soon"] }),
    ...unknown,
    status: 503,
  },
  {
    name: "a 503 with an endless Retry-After",
    deed: refuse(503, { headers: [`Retry-After: ${"9".repeat(400)}`] }),
    ...notSent,
    retried: false,
  },
  { name: "a 503 with Retry-After", deed: refuse(503, { headers: ["Retry-After: 0"] }), ...notSent, status: 503 },
  {
    name: "a 500 before the whole body",
    isQuick: true,
    deed: withinBody((asked) => asked.answer(500)),
    ...cut,
    status: 500,
  },
  {
    name: "a 401 before the whole body",
    isQuick: true,
    deed: withinBody((asked) => asked.answer(401)),
    bytes: long,
    ...auth,
    status: 401,
  },
  {
    name: "a 400 whose body is cut by a reset",
    deed: afterBody((asked) => {
      asked.socket.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 5\r\n\r\nno");
      setTimeout(() => asked.reset(), 100);
    }),
    ...refused,
    status: 400,
  },
];

const noGroups = { logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };

/** The facts of a fault in the ledger, except messages and numbers. */
const recordOf = ({ state, status, cause, retried = false }: Fault): string =>
  `${state} ${status === undefined} ${cause === undefined} ${retried}`;

/** One fault for each record, because the requests and outcomes do not depend on the ledger's database. */
const faultOfEachRecord = [...new Map(faults.map((fault) => [recordOf(fault), fault])).values()];

const titleOf = ({ name, code }: Fault): string =>
  `exits with ${code} after ${name}, and later runs log each group once`;

/** Only the first run meets a fault. */
const meets = async (fault: Fault, context: TestContext, env: Readonly<Record<string, string>> = {}): Promise<void> => {
  const { deed, args = [], code, says, state, retried = false } = fault;
  const service = await faultyService(context, { otherwise: deed });
  const place = placeAt(context, service.url, env);
  const file = place.write("a.jsonl", linesOf(groupOf(1, fault.bytes), groupOf(2), groupOf(3)));
  const first = await place.log([file, ...oneEach, "--max-wait", "300ms", ...args]);
  expect([first.code, first.error?.code, first.error?.cause], first.stderr).toEqual([code, ...says]);
  const isUnknown = state === "unknown";
  if (isUnknown) {
    expect(first.document).toMatchObject({
      status: "unknown",
      groups: { ...noGroups, read: 3, unknown: 1, not_sent: 2 },
    });
  } else expect(first.document).toMatchObject({ status: "not_sent", groups: { ...noGroups, read: 3, not_sent: 3 } });
  const entries = await place.entries();
  expect(entries.map((entry) => entry.state)).toEqual([state]);
  if (fault.status !== undefined) expect(entries[0]?.status).toBe(fault.status);
  if (fault.cause !== undefined) expect(entries[0]?.cause).toBe(fault.cause);
  expect((entries[0]?.attempts ?? 0) > 1).toBe(retried);
  expect(service.logged).toEqual([]);
  service.mend();
  const second = await place.log([file, ...oneEach]);
  if (!isUnknown) {
    expect(second.document, second.stderr).toMatchObject({ status: "logged", groups: { ...noGroups, logged: 3 } });
    expect(service.logged).toEqual([1, 2, 3]);
  } else {
    expect([second.code, second.error?.code, second.error?.cause]).toEqual([8, "unknown_outcome", undefined]);
    expect(second.document?.groups).toMatchObject({ ...noGroups, unknown: 1, logged: 2 });
    expect(service.logged).toEqual([2, 3]);
    expect((await place.run(["ledger", "resolve", entries[0]?.id ?? "", "--resend"])).code).toBe(0);
    expect((await place.log([file, ...oneEach])).document?.groups).toMatchObject({ logged: 1, already_logged: 2 });
    expect(service.logged).toEqual([2, 3, 1]);
  }
  expect((await place.run(["ledger", "verify", file])).code).toBe(0);
  expect(service.logged).toHaveLength(3);
};

describe.concurrent("rollcall log with a ledger in a file", () => {
  for (const fault of faults) {
    it(titleOf(fault), { tags: fault.isQuick ? [] : ["slow"] }, async (context) => await meets(fault, context));
  }
});

describe.skipIf(!hasPostgres).concurrent("rollcall log with a ledger in PostgreSQL", { tags: "database" }, () => {
  for (const fault of faultOfEachRecord) {
    it(titleOf(fault), async (context) => {
      await meets(fault, context, { ROLLCALL_LEDGER: await newLedger() });
    });
  }
});

describe.concurrent("rollcall log to a service that answers 429", () => {
  it("ends after one request if the quota is used up, and the next run continues", async (context) => {
    const used = refuse(429, { body: '{"error":{"message":"no quota","type":"insufficient_quota"}}' });
    const { service, place } = await openPlace(context, { otherwise: used });
    const file = place.write("a.jsonl", groupOf(1));
    const { code, error, document } = await place.log([file]);
    expect([code, error?.retryable, document?.groups.not_sent, service.bodies.length]).toEqual([5, false, 1, 1]);
    expect(error).toMatchObject({
      message: expect.stringContaining("no quota"),
      hint: expect.stringMatching(/^raise/),
    });
    expect(await place.entries()).toMatchObject([{ state: "not_sent", status: 429, attempts: 1 }]);
    service.mend();
    expect((await place.log([file])).code).toBe(0);
  });
});
