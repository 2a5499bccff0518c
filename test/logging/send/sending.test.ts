import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setImmediate, setTimeout } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import pg from "pg";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { RequestRecorder } from "../../../src/logging/ledger/request-recorder.ts";
import { canResend } from "../../../src/logging/send/earlier-requests.ts";
import type { LogResult } from "../../../src/logging/send/log-result.ts";
import { createEnvelope, planRequests } from "../../../src/logging/send/plan.ts";
import { openRejects } from "../../../src/logging/send/rejects.ts";
import type { Dataset } from "../../../src/rollouts/dataset/read-dataset.ts";
import { openDescriptorBytes } from "../../../src/rollouts/input/source.ts";
import { warningRules } from "../../../src/rollouts/rules/rules.ts";
import { interrupted } from "../../../src/system/failures.ts";
import type { Attempt } from "../../../src/wire/client/client.ts";
import { requestRefused } from "../../../src/wire/client/failures.ts";
import type { RetryBudget } from "../../../src/wire/client/retry.ts";
import { testHost } from "../../support/host.ts";
import {
  connectionReset,
  type DeliverOptions,
  deliverGroups,
  filesOf,
  makeAnswer,
  newFolder,
  openRecordingClient,
  read,
  usualDelivery,
} from "../../support/inputs.ts";
import { hasPostgres, makeLedger, newDatabase } from "../../support/postgres.ts";
import { useZstd } from "../../support/zstd.ts";

const trajectory = (reward: unknown, more = "") => `{"messages_and_choices":[],"reward":${reward}${more}}`;
const group = (...rewards: readonly unknown[]) =>
  `{"trajectories":[${rewards.map((one) => trajectory(one)).join(",")}]}`;

const newLedger = () => ({ path: join(newFolder(), "ledger.db"), require: false });

interface SendResult {
  readonly bodies: readonly string[];
  readonly result: LogResult;
}

/** Plans and sends a dataset, without a ledger by default. */
const send = async (
  dataset: Dataset,
  {
    limit = 2 ** 25,
    answer,
    host = testHost(),
    ...more
  }: {
    limit?: number;
    answer?: Parameters<typeof openRecordingClient>[0];
  } & Partial<DeliverOptions> = {},
): Promise<SendResult> => {
  const client = openRecordingClient(answer);
  const result = await deliverGroups(dataset, {
    ...usualDelivery(),
    host,
    client: async () => client,
    maxRequestBytes: limit,
    ...more,
  });
  return { bodies: client.bodies.map((body) => body.toString()), result };
};

const groupsIn = (body: string): string => {
  const opening = '{"split":"train","trajectory_groups":[';
  expect(body.startsWith(opening)).toBe(true);
  expect(body.endsWith("]}")).toBe(true);
  return body.slice(opening.length, -2);
};

describe("a body", () => {
  useZstd();

  it("contains the bytes of a group in the file", async () => {
    const odd =
      '{ "trajectories" : [ {"reward":1e0, "messages_and_choices":[{"role":"user","content":"\\u00e9é\\/","content":"twice"}],"metadata":{"n":9007199254740993,"x":1E400}} ] ,"exceptions":[ ]}';
    const { bodies } = await send(await read(filesOf(`\ufeff  ${odd}\t\r\n\r\n${group(1)}\r\n`)));
    expect(bodies).toEqual([`{"split":"train","trajectory_groups":[${odd},${group(1)}]}`]);
  });

  it("contains the other keys of a request in their spelling", async () => {
    const text = `{"run" : {"id": 12345678901234567890}, "split":"train", "trajectory_groups":[${group(1)} , ${group(2)}],"n\\u0061me":1.0}`;
    const { bodies } = await send(await read(filesOf(text)), { limit: 150 });
    expect(bodies).toEqual(
      [1, 2].map(
        (reward) =>
          `{"split":"train","trajectory_groups":[${group(reward)}],"run":{"id": 12345678901234567890},"n\\u0061me":1.0}`,
      ),
    );
  });

  it("contains groups of plain files, standard input, zstd and gzip files", async () => {
    const zstd = readFileSync("test/rollouts/input/two-groups.jsonl.zst");
    const [plain = "", gzip = "", packed = ""] = filesOf(group(1), gzipSync(group(2)), zstd);
    const dataset = await read([plain, "-", packed, gzip], { host: testHost({ stdin: group(3) }) });
    expect((await send(dataset)).bodies.map(groupsIn)).toEqual([
      [group(1), group(3), group(1, 0), group(0.5, 2), group(2)].join(","),
    ]);
  });
});

describe("a plan", () => {
  const planOf = async (rewards: readonly string[], limit: number) => {
    const dataset = await read(filesOf(rewards.map((digits) => group(digits)).join("\n")));
    const groups = Uint32Array.from({ length: dataset.groups.count }, (_, group) => group);
    const envelope = createEnvelope(dataset, "train");
    const requests = planRequests(dataset, { envelope, groups, limit: { bytes: limit, isDiscovered: false } });
    const warnings = dataset.scan.problems.counts.map(({ rule, count }) => `${rule} ${count}`);
    return {
      sizes: requests.map((request) => request.groups.length),
      bytes: requests.map(({ bytes }) => bytes),
      warnings,
    };
  };

  it("is one request if it fits, to the byte", async () => {
    const whole = (await planOf(["1", "2", "3"], 2 ** 25)).bytes[0] ?? 0;
    expect((await planOf(["1", "2", "3"], whole)).sizes).toEqual([3]);
    expect(await planOf(["1", "2", "3"], whole - 1)).toMatchObject({ sizes: [2, 1], warnings: ["split-requests 1"] });
  });

  it("has as few requests as possible, of near-equal size", async () => {
    const rewards = Array.from({ length: 100 }, () => "1");
    const { bytes } = await planOf(rewards.slice(0, 40), 2 ** 25);
    expect((await planOf(rewards, bytes[0] ?? 0)).sizes).toEqual([34, 34, 32]);
  });

  it("puts a group over the limit into a request of its own", async () => {
    const long = `1${"0".repeat(200)}`;
    expect(await planOf(["1", long, "1", "1"], 250)).toMatchObject({
      sizes: [1, 1, 2],
      warnings: ["split-requests 1"],
    });
  });
});

describe("an unknown request", () => {
  const day = 86_400_000;
  it.each<[isResent: boolean, age: number, more: { keys?: boolean; honors?: boolean; echoed?: boolean; key?: string }]>(
    [
      [true, 0, {}],
      [true, 0, { honors: false, echoed: true }],
      [false, 0, { honors: false }],
      [false, 0, { keys: false, echoed: true }],
      [false, 0, { key: "", echoed: true }],
      [true, day - 1, {}],
      [false, day, {}],
      // The clock was set back.
      [false, -1, {}],
    ],
  )(
    "is resent without an option (%s) only within a day, with a key that the service honors (row %$)",
    (isResent, age, more) => {
      const { keys = true, honors = true, echoed = false, key = "k" } = more;
      const options = { ...usualDelivery(), hasIdempotencyKeys: keys, honorsKeys: honors, input: "a.jsonl" };
      const request = { id: "r1", key, firstTried: testHost().now() - age };
      expect(new RequestRecorder(options).isKeyHonored(request, echoed)).toBe(isResent);
    },
  );

  it("is not resent with resendLogged, even if the service is known to honor its key", () => {
    const request = { id: "r1", key: "k", firstTried: testHost().now() };
    const isSent = (resendLogged: boolean) =>
      canResend(request, { onUnknown: "stop", resendLogged }, { isKeyHonored: () => true });
    expect([false, true].map(isSent)).toEqual([true, false]);
  });
});

describe("an unknown request in a ledger", () => {
  const lost: Attempt = { kind: "broken", code: "ECONNRESET", failure: connectionReset, isBodySent: true };
  const failed = makeAnswer(400, { failure: requestRefused(400, {}) });

  /** Sends two groups in two requests with a ledger, and returns the failure. */
  const failureAfter = async (more: Partial<DeliverOptions>, ...answers: readonly Attempt[]) => {
    const ledger = newLedger();
    const answer = (_: Buffer, at: number) => answers[at - 1] ?? makeAnswer(200);
    const dataset = await read(filesOf(`${group(1)}\n${group(2)}`));
    const { result } = await send(dataset, { ledger, answer, limit: 120, ...more });
    return [result.failure?.kind, result.failure?.retryable, result.groups.not_sent];
  };

  it("can be resolved by a rerun if the service honors keys, unless it refused the retry", async () => {
    const final = { honorsKeys: true, maxWaitMs: -1 };
    expect(await failureAfter(final, lost)).toEqual(["log-resolvable", true, 1]);
    expect(await failureAfter({ honorsKeys: true }, lost, failed)).toEqual(["log-unknown", true, 1]);
    expect(await failureAfter({}, lost)).toEqual(["log-unknown", true, 1]);
  });

  it("leaves a rerun of the rest with --resend-logged only if this run logged nothing", async () => {
    expect(await failureAfter({ resendLogged: true }, lost)).toEqual(["log-unknown", true, 1]);
    expect(await failureAfter({ resendLogged: true }, makeAnswer(200), lost)).toEqual(["log-unknown", false, 0]);
    expect(await failureAfter({}, makeAnswer(200), lost)).toEqual(["log-unknown", false, 0]);
  });

  it("is announced when a rerun resends it, unless an option asked for it", async () => {
    const ledger = newLedger();
    const told: number[] = [];
    const run = async (more: Partial<DeliverOptions>, answer: Attempt) => {
      const onResend = (requests: number) => void told.push(requests);
      const options = { ledger, maxWaitMs: -1, onResend, ...more, answer: () => answer };
      return (await send(await read(filesOf(group(1))), options)).result.status;
    };
    expect(await run({}, lost)).toBe("unknown");
    expect([await run({ onUnknown: "resend" }, lost), told]).toEqual(["unknown", []]);
    expect([await run({ honorsKeys: true }, makeAnswer(200)), told]).toEqual(["logged", [1]]);
  });
});

describe.skipIf(!hasPostgres)("a request with a ledger in PostgreSQL", { tags: "database" }, () => {
  const two = async () => await read(filesOf(`${group(1)}\n${group(2)}`));

  it("begins after the outcome of the request before it is recorded", async () => {
    const path = await makeLedger(await newDatabase());
    const holder = new pg.Client(path);
    await holder.connect();
    onTestFinished(async () => await holder.end());
    const isWaitedFor =
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let begun = 0;
    let meanwhile: Promise<number> | undefined;
    /** Delays the write of the first request's outcome until it is awaited; returns the requests begun by then. */
    const hold = async (): Promise<number> => {
      while ((await holder.query(isWaitedFor)).rowCount === 0) await setImmediate();
      // A request that does not wait begins meanwhile.
      await setTimeout(300);
      const { rows } = await holder.query("SELECT 1 FROM rollcall.request");
      const begunRequests = Math.max(begun, rows.length);
      await holder.query("COMMIT");
      return begunRequests;
    };
    const answer = async (_: Buffer, at: number) => {
      begun = at;
      if (at === 1) {
        await holder.query("BEGIN; SELECT 1 FROM rollcall.request FOR UPDATE");
        meanwhile = hold();
      }
      return makeAnswer(200);
    };
    const { result } = await send(await two(), { limit: 120, ledger: { path, require: false }, answer });
    expect([result.status, await meanwhile, begun]).toEqual(["logged", 1, 2]);
  });

  it("is not sent if the lease was lost before its body", async () => {
    let elapsedMs = 0;
    const client = openRecordingClient();
    const attempt: typeof client.attempt = async (...asked) => {
      // The machine sleeps for a minute, in which other runs may have taken the groups.
      elapsedMs += 60_000;
      return await client.attempt(...asked);
    };
    const result = await deliverGroups(await two(), {
      ...usualDelivery(),
      host: { ...testHost(), elapsed: () => elapsedMs },
      ledger: { path: await makeLedger(await newDatabase()), require: false },
      maxRequestBytes: 120,
      client: async () => ({ ...client, attempt }),
    });
    expect(client.bodies).toEqual([]);
    expect(result).toMatchObject({ groups: { logged: 0, not_sent: 2 }, failure: { kind: "lease-lost" } });
  });
});

const failure = requestRefused(400, {});

describe("an outcome", () => {
  const connectionLost = { kind: "broken", code: "ECONNRESET", failure: connectionReset } as const;
  const broken = (isBodySent: boolean): Attempt => ({ ...connectionLost, isBodySent });
  /** Sends two requests. The second is answered with `second`, then with 200. */
  const endOf = async (second: Attempt) => {
    const dataset = await read(filesOf(`${group(1)}\n${group(2)}`));
    const { result, bodies } = await send(dataset, {
      limit: 120,
      answer: (_, at) => (at === 2 ? second : makeAnswer(200)),
    });
    return [result.status, result.failure?.code, result.failure?.details.stoppedBy, bodies.length];
  };

  /** Every other client error and redirect. */
  const refusals = [
    ...[
      301, 302, 307, 308, 400, 401, 402, 403, 404, 405, 410, 411, 415, 417, 421, 422, 423, 424, 425, 426, 428, 431, 451,
    ],
  ];

  it("follows the table of outcomes in guarantees.md", async () => {
    const rows: readonly (readonly [Attempt, readonly unknown[]])[] = [
      [makeAnswer(204), ["logged", undefined, undefined, 2]],
      [makeAnswer(200, { isCut: true, isBodySent: false }), ["logged", undefined, undefined, 2]],
      [broken(false), ["logged", undefined, undefined, 3]],
      [makeAnswer(429), ["logged", undefined, undefined, 3]],
      [makeAnswer(408), ["logged", undefined, undefined, 3]],
      [makeAnswer(503, { hasRetryAfter: true }), ["logged", undefined, undefined, 3]],
      [makeAnswer(500, { isBodySent: false }), ["logged", undefined, undefined, 3]],
      [makeAnswer(413, { failure }), ["partial", "partial", "refused", 2]],
      [makeAnswer(304, { failure, isBodySent: false }), ["partial", "partial", "refused", 2]],
      [makeAnswer(409, { failure, isBodySent: false }), ["unknown", "unknown_outcome", "refused", 2]],
      [makeAnswer(200, { failure }), ["unknown", "unknown_outcome", "refused", 2]],
      [broken(true), ["unknown", "unknown_outcome", "unavailable", 2]],
      ...refusals.map((status): readonly [Attempt, readonly unknown[]] => [
        makeAnswer(status, { failure }),
        ["partial", "partial", "refused", 2],
      ]),
      ...[300, 303, 304, 305, 306, 409, 500, 501, 502, 503, 504, 520].map(
        (status): readonly [Attempt, readonly unknown[]] => [
          makeAnswer(status, { failure }),
          ["unknown", "unknown_outcome", "refused", 2],
        ],
      ),
    ];
    for (const [attempt, end] of rows) expect([attempt, await endOf(attempt)]).toEqual([attempt, end]);
  });

  it("has the counts of logged, unknown and unsent groups", async () => {
    const dataset = await read(filesOf([group(1), group(2, 3), group(4)].join("\n")));
    const { result } = await send(dataset, {
      limit: 120,
      answer: (_, at) => (at === 2 ? broken(true) : makeAnswer(200)),
    });
    expect(result).toMatchObject({
      groups: { read: 3, logged: 1, unknown: 1, not_sent: 1 },
      trajectories: { read: 4, logged: 1, unknown: 2, not_sent: 1 },
      failure: { message: expect.stringMatching(/^request 2 of 3 \(\S*:2\) may or may not have been logged/) },
    });
    expect(result.warnings.map(({ rule, advice }) => `${rule}: ${advice?.slice(0, 24)}`)).toEqual([
      "split-requests: raise --max-request-size",
    ]);
    const together = await send(dataset, { answer: () => broken(true) });
    expect(together.result.failure?.message).toMatch(/^request 1 of 1 \(\S*:1 to \S*:3\) may or may not/);
  });

  it("can be completed by a rerun after a part was logged only with a ledger", async () => {
    const dataset = await read(filesOf(`${group(1)}\n${group(2)}`));
    for (const ledger of [undefined, newLedger()]) {
      const busy = makeAnswer(429, { failure: connectionReset });
      const recording = openRecordingClient((_, at) => (at === 1 ? makeAnswer(200) : busy));
      const client = { ...recording, retryBudget: () => ({ wait: async () => false }) };
      const { result } = await send(dataset, { limit: 120, ledger, client: async () => client });
      expect([result.status, result.failure?.retryable]).toEqual(["partial", ledger !== undefined]);
    }
  });

  it("does not depend on an existing rejects file if the run cannot reject a group", async () => {
    const [path = ""] = filesOf(group(1));
    writeFileSync(`${path}.rejected`, "mine");
    expect((await send(await read([path]))).result.status).toBe("logged");
    await expect(send(await read([path]), { onInvalid: "skip" })).rejects.toMatchObject({ kind: "rejects-exist" });
  });

  it("keeps the file that another program or run wrote to the path of the rejects in the meantime", async () => {
    const dataset = await read(filesOf(`${group(1)}\n{"trajectories":1}`));
    const [path = ""] = filesOf("mine");
    const rejected = Uint32Array.of(1);
    const open = () => openRejects(dataset, { path, findLedger: () => "l.db", redact: (json) => json });
    await expect(open().append(rejected)).rejects.toMatchObject({ kind: "rejects-exist" });
    expect([readFileSync(path, "utf8"), existsSync(`${path}.reasons`)]).toEqual(["mine", false]);
    writeFileSync(path, "");
    const run = open();
    await run.append(rejected);
    await run.append(rejected);
    expect(readFileSync(path, "utf8")).toBe('{"trajectories":1}\n{"trajectories":1}');
    expect(readFileSync(`${path}.reasons`, "utf8").match(/"checksums"/g)).toHaveLength(1);
    await open().append(rejected);
    await expect(run.append(rejected)).rejects.toMatchObject({ kind: "rejects-exist" });
    expect(readFileSync(path, "utf8")).toBe('{"trajectories":1}');
  });

  it("lets other tasks run while it writes the reasons of a large group", async () => {
    const bad = '{"messages_and_choices":[],"reward":"1"}';
    const dataset = await read(filesOf(`${group(1)}\n{"trajectories":[${Array(3000).fill(bad)}]}`), {
      strictness: { strict: false, allowed: new Set(), writesRejects: true },
    });
    let [redacted, atTurn] = [0, 0];
    const redact = (json: string) => {
      if (redacted++ === 0) void setImmediate().then(() => (atTurn = redacted));
      return json;
    };
    await openRejects(dataset, { path: join(newFolder(), "r"), findLedger: () => undefined, redact }).append(
      Uint32Array.of(1),
    );
    expect([redacted, atTurn < 1000]).toEqual([3000, true]);
  });

  it("is final at --max-wait after the end of the first attempt", async () => {
    let elapsedMs = 0;
    const answer = (_: Buffer, at: number) => {
      elapsedMs += 600;
      return makeAnswer(at > 4 ? 200 : 429, { failure });
    };
    const host = { ...testHost(), elapsed: () => elapsedMs };
    const client = openRecordingClient(answer);
    const waited: unknown[] = [];
    const attempt: typeof client.attempt = async (endpoint, asked) => {
      waited.push(asked.sinceFirstAttemptMs);
      return await client.attempt(endpoint, asked);
    };
    const run = { host, maxWaitMs: 1000, client: async () => ({ ...client, attempt }) };
    const { result } = await send(await read(filesOf(group(1))), run);
    expect([result.status, ...waited]).toEqual(["not_sent", 0, 0, 600]);
  });

  it("is final if connecting took longer than --max-wait, or if another request ended the run", async () => {
    const late: Attempt = { ...connectionLost, isBodySent: false, code: "CONNECT_ENDLESS" };
    const alone = await send(await read(filesOf(group(1))), { answer: (_, at) => (at === 1 ? late : makeAnswer(200)) });
    expect([alone.result.status, alone.bodies.length]).toEqual(["not_sent", 1]);
    const answer = async (_: Buffer, at: number) => {
      if (at === 1) await setTimeout(50);
      return makeAnswer(at === 1 ? 429 : 400, { failure });
    };
    const both = await send(await read(filesOf(`${group(1)}\n${group(2)}`)), { answer, limit: 120, concurrency: 2 });
    expect([both.result.status, both.bodies.length]).toEqual(["not_sent", 2]);
  });

  it.each([
    ["numbers", (loc: readonly (string | number)[]) => loc],
    // Interface 7 writes positions as strings.
    ["strings", (loc: readonly (string | number)[]) => loc.map(String)],
  ])("is reported at the line of each problem of a 422 if its positions are %s", async (_, spelled) => {
    const files = filesOf(
      [trajectory(1, ',"group_id":1'), `  ${trajectory(2, ',"group_id":1,"logs":["é",{}]')}`, group(3, 4)].join("\n"),
    );
    const items = [
      {
        loc: ["body", "trajectory_groups", 0, "trajectories", 1, "logs", 1, "str"],
        msg: "not a string",
        type: "string_type",
      },
      { loc: ["body", "trajectory_groups", 1, "trajectories", 1, "tools"], msg: "Field required", type: "missing" },
      { loc: ["body", "trajectory_groups", 9, "trajectories"], msg: "what", type: "x" },
      { loc: ["header", "x-thing"], msg: null, type: "too_long" },
    ];
    const body = Buffer.from(JSON.stringify({ detail: items.map((item) => ({ ...item, loc: spelled(item.loc) })) }));
    const { result } = await send(await read(files), { answer: () => makeAnswer(422, { failure, bytes: body }) });
    const second = trajectory(2, ',"group_id":1,"logs":["é",').length;
    const third = `{"trajectories":[${trajectory(3)},`.length;
    const common = { rule: "refused-by-service", severity: "error", from: "service" };
    expect(result.failure?.details.problems).toMatchObject([
      { ...common, file: files[0], line: 2, column: 2 + second, path: ["logs", 1, "str"], message: "not a string" },
      {
        ...common,
        file: files[0],
        line: 3,
        column: third + 1,
        path: ["trajectories", 1, "tools"],
        message: "Field required",
      },
      { ...common, message: "body.trajectory_groups.9.trajectories: what" },
      { ...common, message: "header.x-thing: too_long" },
    ]);
  });

  it("is reported without positions of a 422 if the input is truncated in the meantime", async () => {
    for (const left of [0, 40]) {
      const [path = ""] = filesOf([group(1, 2), group(3, 4)].join("\n"));
      const detail = [{ loc: ["body", "trajectory_groups", 1, "trajectories", 0, "tools"], msg: "what", type: "x" }];
      const answer = () => {
        truncateSync(path, left);
        return makeAnswer(422, { failure, bytes: Buffer.from(JSON.stringify({ detail })) });
      };
      const { result } = await send(await read([path]), { answer });
      expect(result.failure?.details.problems).toMatchObject([
        { rule: "refused-by-service", message: "body.trajectory_groups.1.trajectories.0.tools: what" },
      ]);
    }
  });

  it("is interrupted after a signal if nothing was in flight, and unknown if a body was sent", async () => {
    const signal = interrupted({ signal: "SIGTERM" });
    const files = filesOf(`${group(1)}\n${group(2)}`);
    const ledger = newLedger();
    // Without a ledger, a rerun would log the first group again, if it was logged.
    const cases = [[undefined, 200, false] as const, [ledger, 200, true] as const, [undefined, 429, true] as const];
    for (const [own, status, retryable] of cases) {
      const stop = new AbortController();
      const { result } = await send(await read(files), {
        ...{ limit: 120, ledger: own, host: { ...testHost(), signal: stop.signal } },
        answer: () => {
          stop.abort(signal);
          return makeAnswer(status);
        },
      });
      const isLogged = status === 200;
      const failure = { kind: "interrupted", retryable, details: { unsent: !isLogged } };
      const groups = { logged: Number(isLogged) };
      expect(result).toMatchObject({ status: isLogged ? "partial" : "not_sent", failure, groups });
    }
    const last = new AbortController();
    const answer = (_: Buffer, at: number) => {
      if (at === 2) last.abort(signal);
      return makeAnswer(200);
    };
    const atEnd = await send(await read(files), { limit: 120, host: { ...testHost(), signal: last.signal }, answer });
    expect(atEnd.result).toMatchObject({ status: "logged", failure: undefined });
    const during = await send(await read(files), { limit: 120, answer: () => broken(true) });
    expect(during.result).toMatchObject({ status: "unknown", failure: { code: "unknown_outcome" } });
  });

  it("has the logged groups if an attempt ends with an unexpected error", async () => {
    const answer = (_: Buffer, attempt: number) => {
      if (attempt === 2) throw new TypeError("x is not a function");
      return makeAnswer(200);
    };
    const { result } = await send(await read(filesOf(`${group(1)}\n${group(2)}\n${group(3)}`)), { limit: 120, answer });
    expect(result.failure?.details).toMatchObject({
      stoppedBy: "internal",
      stack: expect.stringContaining("TypeError"),
    });
    expect(result).toMatchObject({ status: "unknown", groups: { logged: 1, unknown: 1, not_sent: 1 } });
  });

  it.each<[body: string, said?: string | RegExp, isCut?: boolean]>([
    ["<html>", / but the answer is not JSON$/],
    ["{}", /^the service answered 200 to request 1, .* the answer was cut after 2 bytes$/, true],
    [""],
    ["null"],
    ['{"call_ids":[7]}'],
    ['{"metrics":{},"call_ids":["a"],"error":null,"errors":[]}'],
    ['{"status":"ok","message":"logged","success":true,"code":200}'],
  ])("has a warning if the reply is unreadable (row %$)", async (body, said, isCut = false) => {
    const answer = () => makeAnswer(200, { bytes: Buffer.from(body), isCut });
    const { result } = await send(await read(filesOf(group(1))), { answer });
    const found = result.warnings.map(({ rule, message }) => [rule, message]);
    const expected = typeof said === "object" ? expect.stringMatching(said) : said;
    expect([result.status, ...found]).toEqual(["logged", ...(said ? [["error-in-response", expected]] : [])]);
    const strictness = { strict: false, allowed: new Set(warningRules) };
    const allowed = await send(await read(filesOf(group(1)), { strictness }), { answer });
    expect(allowed.result.warnings).toEqual([]);
  });
});

describe("the requests after a 413", () => {
  it("are in the ledger next to the refused request, whose groups are not sent", async () => {
    const options = { ...usualDelivery(), ledger: newLedger() };
    const answer = (_: Buffer, at: number) => makeAnswer(at === 1 ? 413 : 200);
    await send(await read(filesOf(`${group(1)}\n${group(2)}`)), { answer, ledger: options.ledger });
    const next = new RequestRecorder({ ...options, input: "1.jsonl" });
    onTestFinished(async () => await next.close());
    await next.open(await options.destination());
    const states: string[] = [];
    for await (const { id, state } of next.entries()) states.push(`${id} ${state}`);
    expect(states).toEqual(["r1 not_sent", "r2 logged", "r3 logged"]);
  });

  it("have half of the refused bytes, for groups of any sizes", async () => {
    const padded = (length: number) => group(`1,"logs":["${"x".repeat(length)}"]`);
    // The first group is two bytes shorter than the others with their comma, which do not fit half of all bytes.
    const first = padded(2 * group(2).length - 1 - padded(0).length);
    const answer = (_: Buffer, at: number) => makeAnswer(at === 1 ? 413 : 200);
    const { result, bodies } = await send(await read(filesOf([first, group(2), group(3)].join("\n"))), { answer });
    expect([result.status, ...bodies.slice(1).map(groupsIn)]).toEqual(["logged", first, `${group(2)},${group(3)}`]);
    expect(result.warnings.map(({ rule }) => rule)).toEqual(["split-requests"]);
  });

  it("have up to the largest size that the service accepted, also in the next run", async () => {
    const sizes: string[] = [];
    const answer = (body: Buffer) => {
      const groups = JSON.parse(body.toString()).trajectory_groups.length;
      sizes.push(groups > 3 ? `${groups},413` : String(groups));
      return makeAnswer(groups > 3 ? 413 : 200);
    };
    const sizeOf = (groups: number) => group(10).length * groups + groups + 40;
    const ledger = newLedger();
    const run = async (from: number, groups: number) => {
      const lines = Array.from({ length: groups }, (_, at) => group(from + at));
      await send(await read(filesOf(lines.join("\n"))), { answer, limit: sizeOf(5), ledger });
      return sizes.splice(0).join(" ");
    };
    expect(await run(10, 20)).toBe("5,413 3 2 3 3 3 3 3");
    expect(await run(40, 24)).toBe("3 3 3 3 3 3 3 3");
  });

  it("cause no advice of a size that the service refused", async () => {
    const ledger = newLedger();
    const file = filesOf([1, 2, 3, 4].map((reward) => group(reward)).join("\n"));
    const answer = (body: Buffer) => makeAnswer(body.length > 220 ? 413 : 200);
    await send(await read(file), { answer, ledger });
    const again = {
      ...usualDelivery(),
      client: async () => openRecordingClient(),
      ledger,
      batch: "2",
      maxRequestBytes: 120,
    };
    const split = await deliverGroups(await read(file), { ...again, dryRun: true });
    expect(split.warnings).toMatchObject([
      {
        rule: "split-requests",
        advice: "ask the operator for a larger limit, because the service refused a larger request (413)",
      },
    ]);
  });

  it("have one group if the group is larger than the new limit", async () => {
    const lines = [...[1, 2, 3, 4].map((reward) => group(reward)), group(`5,"logs":["${"x".repeat(300)}"]`)];
    const answer = (body: Buffer) => makeAnswer(body.includes(group(1)) && body.includes(group(4)) ? 413 : 200);
    const { result, bodies } = await send(await read(filesOf(lines.join("\n"))), { answer, limit: 300 });
    expect([result.status, ...bodies.slice(1).map((body) => JSON.parse(body).trajectory_groups.length)]).toEqual([
      ...["logged", 2, 2, 1],
    ]);
  });

  it("keep the lower limit if the service then refuses a larger request that was in flight", async () => {
    const refused: number[] = [];
    let sentAlone = (): void => undefined;
    const alone = new Promise<void>((resolve) => {
      sentAlone = resolve;
    });
    const answer = async (body: Buffer, at: number) => {
      const { length } = JSON.parse(body.toString()).trajectory_groups;
      if (length === 1) sentAlone();
      else refused.push(length);
      if (at === 2) await alone;
      return makeAnswer(length === 1 ? 200 : 413);
    };
    const lines = Array.from({ length: 12 }, (_, at) => group(10 + at));
    const limit = 4 * group(10).length + 50;
    const { result } = await send(await read(filesOf(lines.join("\n"))), { answer, limit, concurrency: 2 });
    expect([result.status, ...refused]).toEqual(["logged", 4, 4, 2]);
  });
});

describe("the limit that a 413 sets", () => {
  it("is half of the smallest refused size of a day, unless the service accepted more", async () => {
    let now = testHost().now();
    const run = new RequestRecorder({ ...usualDelivery(), host: { ...testHost(), now: () => now }, input: "a.jsonl" });
    const limits: unknown[] = [];
    const limitAfter = async (step: () => Promise<void>) => {
      await step();
      limits.push(run.sizeLimit?.bytes);
    };
    for (const bytes of [151, 200, 100]) await limitAfter(() => run.recordRefusedSize(bytes));
    for (const bytes of [40, 70, 99]) await limitAfter(() => run.recordPassedSize(bytes));
    expect(limits.splice(0)).toEqual([76, 76, 50, 50, 70, 99]);
    const passTime = async (ms: number) => {
      now += ms;
    };
    for (const ms of [86_399_999, 1]) await limitAfter(() => passTime(ms));
    await limitAfter(() => run.recordRefusedSize(300));
    await limitAfter(() => run.recordPassedSize(300));
    // After the clock was set back, the refusal is in the future.
    await limitAfter(() => run.recordRefusedSize(400));
    await limitAfter(() => passTime(-1));
    expect(limits).toEqual([99, undefined, 150, undefined, 300, undefined]);
  });
});

describe("a run of several requests", () => {
  it("reports the logged groups and bytes, and each retry", async () => {
    const told = new Set<string>();
    const dataset = await read(filesOf([1, 2, 3, 4, 5].map((reward) => group(reward)).join("\n")));
    const statuses = [429, 200, 413, 200, 200, 400];
    const failure = requestRefused(400, {});
    const client = openRecordingClient((_, at) =>
      makeAnswer(statuses[at - 1] ?? 200, statuses[at - 1] === 200 ? {} : { failure }),
    );
    const wait: RetryBudget["wait"] = async (_, next) => {
      next?.onWait({ attempt: next.attempt, waitMs: 5, leftMs: 95 });
      return true;
    };
    await send(dataset, {
      limit: 160,
      client: async () => ({ ...client, retryBudget: () => ({ wait }) }),
      onProgress: ({ bytes, ofBytes, groups, retry }) => {
        const next = retry && ` ${retry.attempt}/${retry.waitMs}/${retry.leftMs} ${retry.failure?.kind}`;
        told.add(`${bytes}/${ofBytes} ${groups}${next ?? ""}`);
      },
    });
    expect([...told]).toEqual([
      ...["0/407 0", "155/407 0", "0/407 0 2/5/95 request-refused", "155/407 2", "310/407 2"],
      ...["252/407 2", "252/407 3", "349/407 3", "349/407 4", "407/407 4"],
    ]);
  });

  it("fails before its first request if it needs several and is strict", async () => {
    const allowed = new Set(warningRules.filter((rule) => rule !== "split-requests"));
    const strict = async (limit: number) =>
      await send(await read(filesOf(`${group(1)}\n${group(2)}`), { strictness: { strict: true, allowed } }), { limit });
    expect((await strict(200)).result.status).toBe("logged");
    await expect(strict(120)).rejects.toMatchObject({ kind: "invalid-input" });
  });

  it("aborts the request in flight 5 s after a signal", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const stop = new AbortController();
    const client = openRecordingClient();
    const aborted: unknown[] = [];
    const attempt: typeof client.attempt = async (endpoint, asked) => {
      const isAbortedAfter = (ms: number) => {
        vi.advanceTimersByTime(ms);
        aborted.push(asked.signal?.aborted);
      };
      isAbortedAfter(60_000);
      stop.abort(interrupted({ signal: "SIGTERM" }));
      for (const ms of [4999, 1]) isAbortedAfter(ms);
      return await client.attempt(endpoint, asked);
    };
    const host = { ...testHost(), signal: stop.signal };
    await send(await read(filesOf(group(1))), { host, client: async () => ({ ...client, attempt }) });
    expect(aborted).toEqual([false, false, true]);
  });
});

describe("a ledger that another run uses", () => {
  it("makes the run wait until a signal, after which nothing was sent", async () => {
    const options = { ...usualDelivery(), ledger: newLedger() };
    const other = new RequestRecorder({ ...options, input: "a.jsonl" });
    onTestFinished(async () => await other.close());
    await other.open(await options.destination());
    await other.acquire();
    const stop = new AbortController();
    const sleep = async () => {
      stop.abort(interrupted({ signal: "SIGINT" }));
      throw stop.signal.reason;
    };
    const host = { ...testHost(), signal: stop.signal, sleep };
    const { bodies, result } = await send(await read(filesOf(group(1))), { ledger: options.ledger, host });
    expect(bodies).toEqual([]);
    expect(result).toMatchObject({ status: "not_sent", failure: { kind: "interrupted" }, groups: { not_sent: 1 } });
  });
});

describe("a ledger that cannot be used", () => {
  it("ends the run before its first request, and reports that nothing was sent", async () => {
    const dataset = await read(filesOf(group(1)));
    const sent = send(dataset, { ledger: { path: newFolder(), require: false }, answer: () => expect.unreachable() });
    await expect(sent).rejects.toMatchObject({ code: "storage", details: { unsent: true } });
  });
});

describe("a file that changes while it is sent", () => {
  /** Sends two requests, and changes the file between them. */
  const sendChanging = async (change: (path: string) => void) => {
    const [path = ""] = filesOf(`${group(1)}\n${group(2)}\n`);
    const old = new Date(2020, 1, 1);
    utimesSync(path, old, old);
    const { bodies, result } = await send(await read([path]), {
      limit: 120,
      answer: () => {
        change(path);
        return makeAnswer(200);
      },
    });
    return [bodies.length, result.failure?.details.stoppedBy ?? "none", result.status];
  };

  const replace = (path: string, from: string, to: string, more = "") =>
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(from, to) + more);
  it.each<[what: string, change: (path: string) => void]>([
    ["has another group", (path) => replace(path, "2", "3")],
    ["is cut", (path) => truncateSync(path, 10)],
    ["has another group in place of a sent one", (path) => replace(path, '"reward":1', '"reward":3')],
    ["has another group and is longer", (path) => replace(path, "2", "3", "more")],
    [
      "has another group and its old times",
      (path) => {
        const { atime, mtime } = statSync(path);
        replace(path, "2", "3");
        utimesSync(path, atime, mtime);
      },
    ],
  ])("stops the run before the next request if it %s", async (_, change) => {
    expect(await sendChanging(change)).toEqual([1, "invalid_input", "partial"]);
  });

  it("can grow without a change of the outcome", async () => {
    expect(await sendChanging((path) => appendFileSync(path, `${group(9)}\n`))).toEqual([2, "none", "logged"]);
  });

  it.each<[string, other?: string]>([
    ["replaced by a file with other groups", `${group(3)}\n`],
    ["replaced by a file of the same length", `${group(1)}\n${group(3)}\n`],
    ["deleted"],
  ])("is sent with the checked content if it is %s", async (_, other = "") => {
    const [path = "", next = ""] = filesOf(`${group(1)}\n${group(2)}\n`, other);
    const answer = () => {
      if (other === "") rmSync(path, { force: true });
      else if (existsSync(next)) renameSync(next, path);
      return makeAnswer(200);
    };
    const { bodies, result } = await send(await read([path]), { limit: 120, answer });
    expect([bodies.map(groupsIn), result.status]).toEqual([[group(1), group(2)], "logged"]);
    expect(result.warnings.map(({ rule }) => rule)).toEqual(["split-requests"]);
  });

  it("has the reasons in the failure if the rejects file cannot be written after the answers", async () => {
    const [path = ""] = filesOf([group(1), group('"x"'), group(2)].join("\n"));
    const answer = (body: Buffer) => {
      if (body.includes(group(1))) return makeAnswer(200);
      mkdirSync(`${path}.rejected`);
      return makeAnswer(200);
    };
    const { result } = await send(await read([path]), { answer, limit: 120, onInvalid: "skip" });
    expect(result.rejectsFile).toBe(undefined);
    expect(result.failure).toMatchObject({ kind: "log-partial", details: { stoppedBy: "storage" } });
    expect(result.failure?.details.problems?.map(({ rule, line }) => [rule, line])).toEqual([["wrong-type", 2]]);
  });

  it("leaves no rejects file that differs from the rejected groups", async () => {
    for (const left of ["", "z".repeat(500)]) {
      const [path = ""] = filesOf([group(1), group('"x"')].join("\n"));
      const answer = () => {
        writeFileSync(path, left);
        return makeAnswer(200);
      };
      const { result } = await send(await read([path]), { answer, onInvalid: "skip" });
      expect(result).toMatchObject({ groups: { logged: 1, rejected: 1 } });
      expect(result.failure).toMatchObject({ kind: "log-partial", details: { stoppedBy: "invalid_input" } });
      expect(existsSync(`${path}.rejected`)).toBe(false);
    }
  });

  it("ends the run without an unknown request if it becomes unreadable", async () => {
    const [path = ""] = filesOf(group(1));
    const dataset = await read([path]);
    const [source] = dataset.sources;
    if (source === undefined) throw new Error("nothing was opened");
    // The system reads nothing from a descriptor for writing.
    const descriptor = openSync(path, "a");
    onTestFinished(() => closeSync(descriptor));
    const bytes = openDescriptorBytes({ descriptor, name: path, size: source.bytes.size });
    expect(() => bytes.read(Buffer.alloc(1), 0)).toThrow(`read error in ${path}`);
    const { result } = await send({ ...dataset, sources: [{ ...source, bytes }] });
    expect(result.groups).toMatchObject({ not_sent: 1, unknown: 0 });
    expect(result.failure).toMatchObject({ kind: "input-unreadable", message: expect.stringContaining(path) });
  });
});
