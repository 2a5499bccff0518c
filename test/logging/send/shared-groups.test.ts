/** Runs whose ledger answers for other runs, and the order of a request and its entry. */
import { join } from "node:path";
import Connection from "libsql";
import { afterEach, describe, expect, it, vi } from "vitest";
import { databaseLocked } from "../../../src/database/failures.ts";
import type { Entry } from "../../../src/logging/ledger/entries.ts";
import { RequestRecorder } from "../../../src/logging/ledger/request-recorder.ts";
import { openDelivery } from "../../../src/logging/send/delivery.ts";
import { openGroupOutcomes } from "../../../src/logging/send/outcome.ts";
import { planRequest } from "../../../src/logging/send/plan.ts";
import { sendRequests } from "../../../src/logging/send/send-requests.ts";
import { assignDedupKeys, dedupKeyBytes } from "../../../src/rollouts/index/dedup-keys.ts";
import { testHost } from "../../support/host.ts";
import * as inputs from "../../support/inputs.ts";

afterEach(() => void vi.restoreAllMocks());

const lineOf = (reward: number) => `{"trajectories":[{"messages_and_choices":[],"reward":${reward}}]}`;

const rewardsIn = (body: Buffer) => (body.toString().match(/(?<="reward":)\d/g) ?? []).join("");

/** Logs groups with the rewards 0, 1, 2 and so on. Each sent request is the text of its rewards. */
const logGroups = async (count: number, more: Partial<inputs.DeliverOptions> = {}) => {
  const sent: string[] = [];
  const waits: number[] = [];
  const notices: (number | undefined)[] = [];
  let now = 0;
  const sleep = async (ms: number) => {
    waits.push(ms);
    now += ms;
  };
  const client = inputs.openRecordingClient((body) => {
    sent.push(rewardsIn(body));
    return inputs.makeAnswer(200);
  });
  const lines = Array.from({ length: count }, (_, at) => lineOf(at));
  const result = await inputs.deliverGroups(await inputs.read(inputs.filesOf(lines.join("\n"))), {
    ...{ ...inputs.usualDelivery(), host: { ...testHost(), elapsed: () => now, sleep }, client: async () => client },
    ...{ onWait: (leaseMs) => notices.push(leaseMs), maxRequestBytes: 120, ...more },
  });
  return { result, sent, waits, notices };
};

/** Another run claims a group of the next `requests` requests: all groups, or the one at `position`. */
const claim = (requests: number, position?: number) => {
  const record = RequestRecorder.prototype.recordRequest;
  let left = requests;
  const claimed: Uint8Array[] = [];
  vi.spyOn(RequestRecorder.prototype, "recordRequest").mockImplementation(async function (
    this: RequestRecorder,
    request,
  ) {
    if (left-- <= 0) return await record.call(this, request);
    const from = (position ?? 0) * dedupKeyBytes;
    const keys = request.dedupKeys.slice(from, position === undefined ? undefined : from + dedupKeyBytes);
    claimed.push(keys);
    return { claimed: keys };
  });
  return claimed;
};

describe("a run that shares groups with another run", () => {
  it("continues at a random request, and sends a claimed group after a wait if no run has logged it", async () => {
    claim(1);
    const { result, sent, waits, notices } = await logGroups(5);
    expect(sent).toEqual(["3", "4", "1", "2", "0"]);
    expect([waits, notices]).toEqual([[1000], [undefined]]);
    expect(result).toMatchObject({ status: "logged", groups: { logged: 5, not_sent: 0 } });
  });

  it("sends the other groups of a request at once", async () => {
    claim(1, 1);
    const { result, sent } = await logGroups(3, { maxRequestBytes: 2 ** 20 });
    expect([sent, result.status]).toEqual([["02", "1"], "logged"]);
  });

  it("leaves the groups that the other run logs", async () => {
    const claimed = claim(2);
    const other = {
      id: "r9",
      state: "logged",
      input: "a.jsonl",
      sampled: new Uint8Array(),
      lastTried: 0,
    };
    vi.spyOn(RequestRecorder.prototype, "entries").mockImplementation(async function* () {
      for (const dedupKeys of claimed) yield { ...other, dedupKeys } as Entry;
    });
    const { result, sent, notices } = await logGroups(3);
    expect([sent, notices]).toEqual([["1"], []]);
    expect(result).toMatchObject({ status: "logged", groups: { logged: 1, already_logged: 2 } });
  });

  it("repeats a request unchanged if the request is queued after others that it divides after a 413", async () => {
    const dataset = await inputs.read(inputs.filesOf([0, 1, 2, 3, 4, 5, 6, 7].map(lineOf).join("\n")));
    const client = inputs.openRecordingClient((_, at) => inputs.makeAnswer(at === 1 ? 413 : 200));
    const options = { ...inputs.usualDelivery(), client: async () => client };
    const dedupKeys = await assignDedupKeys(dataset.groups, options.host.signal);
    const known = { file: "a", outcomes: openGroupOutcomes(8), dedupKeys, isGrowing: false };
    const delivery = openDelivery(dataset, { policy: options, tools: options, events: options }, known);
    const plan = (first: number) =>
      planRequest(dataset, { envelope: delivery.envelope(), groups: Uint32Array.of(first, first + 1) });
    const repeated = { ...plan(4), recorded: { id: undefined, key: "k", firstTried: 0 } };
    await sendRequests(delivery, [plan(0), plan(2), repeated, plan(6)]);
    expect(client.bodies.map(rewardsIn)).toEqual(["01", "0", "1", "2", "3", "6", "7", "45"]);
  });

  it("ends at --max-wait after the last group that it could send", async () => {
    claim(99);
    const { result, sent, waits } = await logGroups(2, { maxWaitMs: 2500 });
    expect([sent, waits]).toEqual([[], [1000, 1000, 1000]]);
    expect(result).toMatchObject({ status: "not_sent", groups: { not_sent: 2 }, failure: { kind: "ledger-busy" } });
    expect(result.failure?.message).toMatch(/ still uses .* after 3 s$/);
    vi.restoreAllMocks();
    // After three waits, the run sends one of two groups, so it can wait again.
    claim(7);
    const later = await logGroups(2, { maxWaitMs: 2500 });
    expect([later.sent, later.waits.length, later.result.status]).toEqual([["1", "0"], 4, "logged"]);
  });
});

describe("a run with a ledger in a file", () => {
  it("records each request before its first byte, and its outcome before the next attempt", async () => {
    const path = join(inputs.newFolder(), "ledger.db");
    const seen: (readonly string[])[] = [];
    const client = inputs.openRecordingClient((_, at) =>
      inputs.makeAnswer(at === 2 ? 503 : 200, { hasRetryAfter: true }),
    );
    const attempt: typeof client.attempt = async (...asked) => {
      expect(client.bodies).toHaveLength(seen.length);
      const database = new Connection(path);
      const rows: unknown[] = database.prepare("SELECT state, attempts, status FROM request ORDER BY id").all();
      database.close();
      seen.push(rows.map((row) => Object.values(Object(row)).join(" ").trim()));
      return await client.attempt(...asked);
    };
    const ledger = { path, require: false };
    const { result } = await logGroups(2, { ledger, client: async () => ({ ...client, attempt }) });
    expect(result).toMatchObject({ status: "logged", groups: { logged: 2 }, ledger: { created: true } });
    expect(seen).toEqual([["trying 1"], ["logged 1 200", "trying 1"], ["logged 1 200", "trying 2 503"]]);
  });

  it("ends at a request that the ledger cannot record, and reports that nothing was sent", async () => {
    const failure = databaseLocked({ path: "l.db", noun: "ledger", moveWith: "--ledger" });
    vi.spyOn(RequestRecorder.prototype, "recordRequest").mockRejectedValueOnce(failure);
    const { result, sent } = await logGroups(2);
    expect(sent).toEqual([]);
    expect(result).toMatchObject({ status: "not_sent", failure: { kind: failure.kind, details: { unsent: true } } });
  });

  it("ends at the first outcome that the ledger cannot record, and names the outcome and the command that records it", async () => {
    const failure = databaseLocked({ path: "l.db", noun: "ledger", moveWith: "--ledger" });
    vi.spyOn(RequestRecorder.prototype, "recordOutcome").mockRejectedValueOnce(failure);
    const { result, sent } = await logGroups(2, { ledger: { path: join(inputs.newFolder(), "l.db"), require: false } });
    expect(sent).toEqual(["0"]);
    expect(result).toMatchObject({ status: "unknown", groups: { unknown: 1, not_sent: 1, logged: 0 } });
    expect(result.failure).toMatchObject({ kind: "log-unknown", retryable: true });
    expect(result.failure?.message).toContain(
      'not have been logged: the ledger could not record the outcome "logged": ',
    );
    expect(result.failure?.details.hint).toContain("Then run `rollcall ledger resolve r1` with --assume-logged if");
  });
});
