import { appendFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";

import { echo, fileWith, follow, line, never, openSink, quiet, resultOf, soon, until } from "./following.ts";

describe("rollcall log --follow", () => {
  it("sends no group twice and loses none after kill -9", async () => {
    const sink = await openSink(echo);
    const file = fileWith(line(1) + line(2, "a"));
    // After this echo, a run resends a request that the killed run did not record.
    await runRollcall(["log", "m", fileWith(line(0)), "--split", "train"], { env: sink.env });
    const first = follow(sink, file, "--every", "50ms", "--group-idle", "100ms");
    await until(() => sink.groups().length === 3);
    first.kill("SIGKILL");
    await first.closed();
    appendFileSync(file, line(3) + line(4, "b"));
    const second = follow(sink, file, "--every", "50ms", "--group-idle", "100ms", "--json");
    await until(() => sink.once().length >= 5);
    const { code, stdout } = await second.end();
    expect([code, sink.once()]).toEqual([0, [[0], [1], [2], [3], [4]]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 4, unknown: 0, not_sent: 0 });
  });

  it("sends each group once if other runs of its model and split follow the file", async () => {
    const sink = await openSink(echo);
    const file = fileWith(line(1) + line(2));
    const args = [...soon, ...quiet, "--json"];
    // After this echo, a run resends a request that the killed run did not record.
    await runRollcall(["log", "m", fileWith(line(0)), "--split", "train"], { env: sink.env });
    const runs = [follow(sink, file, ...args), follow(sink, file, ...args), follow(sink, file, ...args)];
    await until(() => sink.groups().length === 3);
    const plain = await runRollcall(["log", "m", file, "--split", "train", ...quiet, "--json"], { env: sink.env });
    expect([plain.code, resultOf(plain.stdout).groups]).toMatchObject([0, { logged: 0, already_logged: 2 }]);
    for (let at = 3; at <= 12; at++) {
      appendFileSync(file, line(at));
      await until(() => sink.groups().length > at);
      if (at !== 8) continue;
      runs[2]?.kill("SIGKILL");
      await runs[2]?.closed();
    }
    const ended = await Promise.all(runs.slice(0, 2).map(async (run) => await run.end()));
    expect(ended.map(({ code }) => code)).toEqual([0, 0]);
    expect(sink.once().sort(([a = 0], [b = 0]) => a - b)).toEqual(Array.from({ length: 13 }, (_, at) => [at]));
    for (const { stdout } of ended)
      expect(resultOf(stdout).groups).toMatchObject({ read: 12, not_sent: 0, unknown: 0 });
  });

  it("sends a request once more at Ctrl-C if the service had asked to wait", async () => {
    const sink = await openSink((response, at) => {
      if (at === 1) response.writeHead(429, { "Retry-After": "100" });
      response.end("{}");
    });
    const run = follow(sink, fileWith(line(1) + line(2)), ...soon, ...quiet);
    await until(() => run.said.stderr.includes("429"));
    const { code } = await run.end();
    expect([code, sink.groups()]).toEqual([0, [[1], [2], [1], [2]]]);
  });

  it("waits for the request in flight after SIGTERM, and sends the other complete groups", async () => {
    const waiting: ServerResponse[] = [];
    const sink = await openSink((response, at) => void (at === 1 ? waiting.push(response) : response.end("{}")));
    const file = fileWith(line(1));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.bodies.length === 1);
    appendFileSync(file, line(2) + line(3));
    await run.signal("SIGTERM");
    waiting[0]?.end("{}");
    const { code, stdout } = await run.closed();
    expect([code, sink.groups()]).toEqual([0, [[1], [2], [3]]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3, logged: 3 });
  });

  it("sends the remaining groups after a first signal, and abandons them after a second signal", async () => {
    // Two of these fill a request, which is sent immediately. The next one waits for the batch time or a signal.
    const sink = await openSink((response, at) => void (at === 1 && response.end("{}")));
    const file = fileWith([1, 2, 3].map((reward) => line(reward)).join(""));
    const size = ["--max-request-size", "260"];
    const run = follow(sink, file, ...never, ...size, "--json");
    await until(() => sink.bodies.length === 1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    run.kill("SIGINT");
    await until(() => sink.bodies.length === 2);
    // Without the signal, the run would exceed the time limit of the test.
    const { code, stdout } = await run.end();
    expect([code, resultOf(stdout).groups]).toMatchObject([8, { logged: 2, unknown: 1 }]);
  });
});
