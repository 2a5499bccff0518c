import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import { RequestRecorder } from "../../../src/logging/ledger/request-recorder.ts";
import { followFile } from "../../../src/logging/send/follow/follow.ts";
import type { FollowEvents, FollowPolicy } from "../../../src/logging/send/follow/followed-files.ts";
import { interrupted } from "../../../src/system/failures.ts";
import type { Attempt } from "../../../src/wire/client/client.ts";
import { requestRefused } from "../../../src/wire/client/failures.ts";
import { testHost } from "../../support/host.ts";
import {
  connectionReset,
  type DeliverOptions,
  makeAnswer,
  newFolder,
  openRecordingClient,
  usualDelivery,
} from "../../support/inputs.ts";

const line = (reward: unknown, more = "") => `{"messages_and_choices":[],"reward":${reward}${more}}`;
const groupLine = (...rewards: readonly unknown[]) =>
  `{"trajectories":[${rewards.map((one) => line(one)).join(",")}]}\n`;
const answered = (content: string, reward: number) => {
  const choice = { finish_reason: "stop", index: 0, message: { role: "assistant", content } };
  return `${JSON.stringify({ messages_and_choices: [{ role: "user", content: "q" }, choice], reward })}\n`;
};
const bare = (id: number, reward: number) => `${line(reward, `,"group_id":${id}`)}\n`;

/** The lines of the rejects file, or of the reasons file. */
const rejectsOf = (file: string, end = ""): readonly string[] =>
  existsSync(`${file}.rejected`) ? readFileSync(`${file}.rejected${end}`, "utf8").trimEnd().split("\n") : [];

type FollowRunOptions = DeliverOptions & FollowPolicy & FollowEvents;

/** Follows a file with a clock that only waits advance. Each wait does the next step. The last step is Ctrl-C. */
const follow = async (
  steps: readonly ((file: string) => void | Promise<void>)[],
  { answer, ...more }: Partial<FollowRunOptions> & { readonly answer?: (body: Buffer, at: number) => Attempt } = {},
) => {
  const folder = newFolder();
  const file = join(folder, "a.jsonl");
  const stop = new AbortController();
  let elapsed = 0;
  const said: string[] = [];
  const left = [...steps];
  const host = {
    ...testHost(),
    signal: stop.signal,
    elapsed: () => elapsed,
    sleep: async (ms: number, signal?: AbortSignal) => {
      elapsed += ms;
      const step = left.shift();
      await step?.(file);
      if (step === undefined) stop.abort(interrupted({ signal: "SIGINT" }));
      signal?.throwIfAborted();
    },
  };
  const keeping = openRecordingClient((body, at) => {
    const groups: readonly { trajectories: readonly { reward: number }[] }[] = JSON.parse(`${body}`).trajectory_groups;
    const rewards = groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward).join("+"));
    said.push(`${elapsed}: ${rewards.join(" ")}, ${rejectsOf(file).length} rejected`);
    return answer?.(body, at) ?? makeAnswer(200);
  });
  /** Each budget allows one retry. */
  const retryBudget = () => {
    let retries = 1;
    return { wait: async () => retries-- > 0 };
  };
  const client = { ...keeping, retryBudget };
  const run: FollowRunOptions = {
    ...usualDelivery(),
    ...{ host, file, split: "train", groupBy: undefined, groupSize: undefined, groupIdleMs: 0, everyMs: 1000 },
    strictness: { strict: false, allowed: new Set(["single-trajectory-group", "no-assistant-turn"]) },
    ledger: { path: join(folder, "ledger.db"), require: false },
    onEvent: (event) => said.push(`${elapsed}: ${event}`),
    onRead: () => undefined,
    client: async () => client,
    ...more,
  };
  const { result, dataset } = await followFile({ policy: run, tools: run, events: run });
  await dataset.close();
  const { read, logged, already_logged: before, rejected, unknown, not_sent: unsent } = result.groups;
  const reasons = rejectsOf(file, ".reasons").map((reason) => JSON.parse(reason).file.slice(folder.length + 1));
  return {
    said,
    end: [result.status, result.failure?.kind, read, logged, before, rejected, unknown, unsent],
    warnings: result.warnings.map(({ rule, line: at }) => `${rule} ${at ?? ""}`.trim()),
    rejects: rejectsOf(file),
    ...(reasons.length > 0 && { reasons }),
    reward: result.metrics["train/reward"],
  };
};

const append =
  (...texts: readonly string[]) =>
  (file: string) =>
    appendFileSync(file, texts.join(""));
/** Renames the file, and makes a new file of its name. */
const moveTo = (text: string) => (file: string) => {
  renameSync(file, `${file}.old`);
  writeFileSync(file, text);
};
/** Makes another run hold the ledger of the follower. */
const holdLedger = async (file: string) => {
  const options = { ...usualDelivery(), ledger: { path: join(dirname(file), "ledger.db"), require: false } };
  const other = new RequestRecorder({ ...options, input: "b.jsonl" });
  await other.open(await options.destination());
  await other.acquire();
  onTestFinished(async () => await other.close());
  return other;
};
const wait = (looks: number) => Array.from({ length: looks }, () => () => undefined);

describe("following a file", () => {
  it("sends complete groups after --every, full requests at once, and other groups at the end", async () => {
    const steps = [
      ...[wait(1), append(groupLine(1)), wait(1), append(groupLine(2)), wait(2)],
      ...[append(groupLine(3)), append(groupLine(4))],
      append(groupLine(5, 6), groupLine(7), groupLine(8).slice(0, 30)),
      ...[append(groupLine(8).slice(30)), wait(4), append(groupLine(9), line(10))],
    ].flat();
    expect(await follow(steps, { maxRequestBytes: 220 })).toEqual({
      said: [
        ...["0: waiting", "1500: 1 2, 0 rejected", "2250: 3 4, 0 rejected"],
        ...["3250: 5+6 7, 0 rejected", "3250: 8, 0 rejected", "4000: 9, 0 rejected"],
      ],
      end: ["partial", "interrupted", 8, 8, 0, 0, 0, 0],
      ...{ warnings: ["incomplete-line"], rejects: [], reward: 5 },
    });
  });

  it("retries each batch within its own retry budget", async () => {
    const longerThanChecksum = append(" ".repeat(2 ** 19), groupLine(2));
    const steps = [append(groupLine(1)), wait(5), longerThanChecksum, wait(5), append(groupLine(3)), wait(5)].flat();
    const busy = makeAnswer(429, { failure: requestRefused(429, {}) });
    const answer = (_: Buffer, at: number) => (at % 2 === 1 ? busy : makeAnswer(200));
    expect((await follow(steps, { answer })).end).toEqual(["logged", undefined, 3, 3, 0, 0, 0, 0]);
  });

  it("reads the next file if a signal comes directly after a rename, and counts the bytes of both", async () => {
    const bytes: number[] = [];
    const onRead = (read: number) => bytes.push(read);
    const { end } = await follow([append(groupLine(1)), moveTo(groupLine(2))], { everyMs: 60_000, onRead });
    const { length } = groupLine(1);
    expect([end, bytes]).toEqual([
      ["logged", undefined, 2, 2, 0, 0, 0, 0],
      [length, 2 * length],
    ]);
  });

  it("looks every 250 ms, or as often as --every and --group-idle need, but at most every 10 ms", async () => {
    const steps = [append(groupLine(1)), append(groupLine(2)), ...wait(9)];
    const sent = async (options: Partial<FollowRunOptions>) => (await follow(steps, options)).said.slice(1);
    expect(await sent({})).toEqual(["1250: 1 2, 0 rejected"]);
    expect(await sent({ everyMs: 100 })).toEqual(["200: 1 2, 0 rejected"]);
    expect(await sent({ everyMs: 1 })).toEqual(["20: 1 2, 0 rejected"]);
    expect(await sent({ groupIdleMs: 200, everyMs: 300 })).toEqual(["600: 1 2, 0 rejected"]);
  });

  it("reads a rewritten file again if all its groups were sent, and otherwise ends", async () => {
    const rewrite = (file: string) => writeFileSync(file, groupLine(2) + groupLine(1));
    const unsent = { said: ["0: waiting"], end: ["not_sent", "input-changed", 1, 0, 0, 0, 0, 1], reward: 1 };
    expect(await follow([append(groupLine(1)), ...wait(3), rewrite, ...wait(9)])).toMatchObject(unsent);
    expect(await follow([append(groupLine(1)), ...wait(4), rewrite, ...wait(9)])).toMatchObject({
      said: ["0: waiting", "1250: 1, 0 rejected", "1750: rewritten", "2750: 2, 0 rejected"],
      end: ["logged", undefined, 3, 2, 1, 0, 0, 0],
    });
  });

  it("ends before it sends another version of a logged group, unless the file has both", async () => {
    const [once, edited] = [answered("a", 1), answered("a", 2)];
    const ranAfter = async (change: (file: string) => void, more: Partial<FollowRunOptions> = {}) => {
      const { end, warnings } = await follow([append(once), ...wait(6), change, ...wait(9)], more);
      return [...end.slice(0, 2), end[3], end[7], ...warnings];
    };
    const refused = ["partial", "log-partial", 1, 1];
    expect(await ranAfter((file) => writeFileSync(file, edited))).toEqual(refused);
    expect(await ranAfter(moveTo(edited))).toEqual(refused);
    const both = ["logged", undefined, 2, 0];
    expect(await ranAfter(append(edited))).toEqual(both);
    expect(await ranAfter((file) => writeFileSync(file, edited + once))).toEqual(both);
    expect(await ranAfter(moveTo(edited), { resendLogged: true })).toEqual(["logged", undefined, 2, 0]);
    const ledger = { path: join(newFolder(), "ledger.db"), require: false };
    const endOf = async (text: string) => (await follow([append(text), ...wait(6)], { ledger })).end.slice(0, 4);
    expect(await endOf(once)).toEqual(["logged", undefined, 1, 1]);
    expect(await endOf(edited)).toEqual(["not_sent", "invalid-input", 1, 0]);
    expect(await endOf(once + edited)).toEqual(["logged", undefined, 2, 1]);
  });

  it("ends if a file with an incomplete group is rewritten, but not if only another file has unsent groups", async () => {
    const rewrite = (file: string) => writeFileSync(file, groupLine(2) + groupLine(1));
    const late = { groupIdleMs: 60_000, everyMs: 60_000 };
    expect(await follow([append(bare(1, 1)), ...wait(5), rewrite, ...wait(9)], late)).toMatchObject({
      said: ["0: waiting"],
      end: ["not_sent", "input-changed", 1, 0, 0, 0, 0, 1],
    });
    const after = [append(groupLine(3)), moveTo(bare(1, 1)), ...wait(5), rewrite, ...wait(9)];
    expect((await follow(after, late)).end).toEqual(["not_sent", "input-changed", 2, 0, 0, 0, 0, 2]);
    const next = moveTo(groupLine('"x"'));
    const steps = [append(groupLine(3)), next, ...wait(9), rewrite, ...wait(9)];
    expect(await follow(steps, { ...late, onInvalid: "skip" })).toMatchObject({
      said: ["0: waiting", "500: moved", "3250: rewritten", "5500: 3 2 1, 1 rejected"],
      end: ["partial", "log-rejected", 4, 3, 0, 1, 0, 0],
      reasons: ["a.jsonl (version 2)"],
    });
  });

  it("sends one of two equal groups that two files have before they are sent", async () => {
    const steps = [append(groupLine(1)), moveTo(groupLine(1) + groupLine(2, 3, 4, 5, 6)), ...wait(9)];
    expect(await follow(steps, { everyMs: 2500, maxRequestBytes: 220 })).toMatchObject({
      said: ["0: waiting", "500: moved", "1500: 1, 0 rejected", "3000: 2+3+4+5+6, 0 rejected"],
      end: ["logged", undefined, 3, 2, 1, 0, 0, 0],
      warnings: [],
    });
  });

  it("sends a request without an answer again if the service honors keys, and sends later groups on demand", async () => {
    const lost: Attempt = { kind: "broken", isBodySent: true, code: "ECONNRESET", failure: connectionReset };
    const answer = (_: Buffer, at: number) => (at === 1 ? lost : makeAnswer(200));
    const steps = [append(groupLine(1)), ...wait(5), append(groupLine(2)), ...wait(5)];
    const endOf = async (options: Partial<FollowRunOptions>) => {
      const { said, end } = await follow(steps, { answer, ...options });
      return [said.slice(1).map((line) => line.replace(", 0 rejected", "")), end];
    };
    const again = [
      ["1250: 1", "1250: 1", "2750: 2"],
      ["logged", undefined, 2, 2, 0, 0, 0, 0],
    ];
    expect([await endOf({ honorsKeys: true }), await endOf({ onUnknown: "resend" })]).toEqual([again, again]);
    expect(await endOf({})).toEqual([["1250: 1"], ["unknown", "log-unknown", 1, 0, 0, 0, 1, 0]]);
  });

  it("waits for the ledger of another run, and after a signal for up to 5 s more", async () => {
    let held: RequestRecorder | undefined;
    const hold = async (file: string) => {
      held = await holdLedger(file);
    };
    const steps = [hold, append(groupLine(1)), ...wait(9)];
    const unsent = { said: ["0: waiting"], end: ["not_sent", "interrupted", 2, 0, 0, 0, 0, 2] };
    expect(await follow([...steps, append(groupLine(2))], { maxWaitMs: 60_000 })).toMatchObject(unsent);
    let waits = 0;
    const onWait = () => {
      if (++waits === 2) held?.release();
    };
    const { end } = await follow(steps, { maxWaitMs: 60_000, onWait });
    expect(end).toEqual(["logged", undefined, 1, 1, 0, 0, 0, 0]);
    const busy = ["not_sent", "ledger-busy", 1, 0, 0, 0, 0, 1];
    expect((await follow([...steps, ...wait(9)], { maxWaitMs: 500 })).end).toEqual(busy);
  });

  it.each([
    ["it is not a file", "/dev/null"],
    ["it is compressed", gzipSync(groupLine(1))],
    ["it is one JSON document, not lines", "{\n"],
    ["it is not a file", "https://a.example/a.jsonl"],
  ])("cannot begin with something that does not grow by lines: %s", async (why, content) => {
    const folder = newFolder();
    const isPath = typeof content === "string" && content.length > 2;
    const file = isPath ? content : join(folder, "a.jsonl");
    if (!isPath) writeFileSync(file, content);
    const hint = "run without --follow, or name the file that the training run writes";
    const failure = { kind: "file-not-followable", message: `cannot follow ${file}: ${why}`, details: { hint } };
    const ended = follow([], { file }).then(({ end }) => end[1]);
    if (isPath) await expect(ended).rejects.toMatchObject(failure);
    else expect(await ended).toBe("file-not-followable");
  });

  it("reports unknown requests only if they have groups of the file", async () => {
    const ledger = { path: join(newFolder(), "ledger.db"), require: false };
    const lost: Attempt = { kind: "broken", isBodySent: true, code: "ECONNRESET", failure: connectionReset };
    const endOf = async (reward: number, answer?: () => Attempt) => {
      const run = { ledger, ...(answer && { answer }) };
      const { end, warnings } = await follow([append(groupLine(reward)), ...wait(5)], run);
      return [...end.slice(0, 2), ...warnings];
    };
    expect(await endOf(1, () => lost)).toEqual(["unknown", "log-unknown", "unresolved-requests"]);
    expect(await endOf(2)).toEqual(["logged", undefined]);
    expect(await endOf(1)).toEqual(["unknown", "log-unresolved", "unresolved-requests"]);
  });

  it("ends with the reason if the file cannot be read", async () => {
    const problems = [
      { rule: "file-unreadable", file: "/dev/null/a.jsonl", message: expect.stringMatching(/a part of the path/) },
    ];
    const failure = { kind: "invalid-input", details: { problems } };
    await expect(follow([], { file: "/dev/null/a.jsonl" })).rejects.toMatchObject(failure);
  });

  it("completes a group by its size or after --group-idle, and reports groups that grow afterwards", async () => {
    const again = append(bare(1, 5));
    const steps = [
      ...[append(bare(1, 1)), wait(1), append(bare(1, 2)), wait(1), append(bare(2, 3)), wait(2), append(bare(2, 4))],
      ...[again, wait(5)],
    ].flat();
    expect(await follow(steps, { groupIdleMs: 600, groupBy: ["group_id"] })).toEqual({
      said: ["0: waiting", "2500: 1+2, 0 rejected", "3750: 3+4 5, 0 rejected"],
      end: ["logged", undefined, 3, 3, 0, 0, 0, 0],
      ...{ warnings: ["group-changed 5"], rejects: [], reward: 3 },
    });
    const [together, late] = [steps.filter((step) => step !== again), { groupIdleMs: 60_000 }];
    expect(await follow(together, { ...late, groupSize: 2 })).toEqual({
      said: ["0: waiting", "1750: 1+2, 0 rejected", "3000: 3+4, 0 rejected"],
      end: ["logged", undefined, 2, 2, 0, 0, 0, 0],
      ...{ warnings: [], rejects: [], reward: 2.5 },
    });
    expect(await follow(together, late)).toMatchObject({
      said: ["0: waiting", "2250: 1+2, 0 rejected"],
      warnings: ["incomplete-group"],
    });
    // A scattered group ends the run, which sends the complete groups.
    expect(await follow(steps, { ...late, groupSize: 2 })).toMatchObject({
      said: ["0: waiting", "1750: 1+2, 0 rejected", "2250: 3+4, 0 rejected"],
      ...{ end: ["partial", "log-partial", 3, 2, 0, 0, 0, 1], warnings: ["incomplete-group"] },
    });
  });

  it("writes invalid groups to the rejects file once, and continues with the next file", async () => {
    const steps = [
      ...[append(groupLine(1), groupLine('"x"'), groupLine(2)), wait(5), append(groupLine('"y"'), groupLine(3))],
      ...[wait(4), append(groupLine(4), groupLine(1)), moveTo(groupLine(5)), wait(9)],
    ].flat();
    expect(await follow(steps, { onInvalid: "skip" })).toEqual({
      said: [
        ...["0: waiting", "1250: 1 2, 1 rejected", "2750: 3, 2 rejected", "3250: moved"],
        ...["4000: 4 1, 2 rejected", "5250: 5, 2 rejected"],
      ],
      end: ["partial", "log-rejected", 8, 6, 0, 2, 0, 0],
      warnings: [],
      rejects: ['"x"', '"y"'].map((reward) => groupLine(reward).trimEnd()),
      reasons: Array(2).fill("a.jsonl"),
      reward: 8 / 3,
    });
    expect(await follow(steps)).toEqual({
      said: ["0: waiting", "250: 1, 0 rejected"],
      end: ["partial", "log-partial", 3, 1, 0, 0, 0, 2],
      ...{ warnings: [], rejects: [], reward: 1.5 },
    });
  });

  it("warns once of several shapes of input, and if strict logs only the groups before the second shape", async () => {
    const mixed = [append(groupLine(1)), wait(4), append(bare(1, 2)), wait(4), append(groupLine(3), bare(2, 4))].flat();
    expect(await follow(mixed)).toMatchObject({
      warnings: ["mixed-shapes"],
      end: ["logged", undefined, 4, 4, 0, 0, 0, 0],
    });
    for (const steps of [[append(groupLine(1), groupLine(2))], [append(bare(1, 1)), append(bare(2, 2))]])
      expect((await follow(steps)).warnings).toEqual([]);
    const allowed = new Set(["single-trajectory-group", "no-assistant-turn"] as const);
    expect(await follow(mixed, { strictness: { strict: true, allowed } })).toMatchObject({
      said: ["0: waiting", "1250: 1, 0 rejected"],
      end: ["partial", "log-partial", 1, 1, 0, 0, 0, 0],
    });
  });
});
