import { appendFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { runRollcall } from "../../support/run.ts";

import { fileWith, follow, line, openSink, quiet, resultOf, rulesIn, soon, until } from "./following.ts";

describe("rollcall log --follow", () => {
  it("closes an open group if another run sent the written part of the group", async () => {
    const sink = await openSink();
    const file = fileWith(line(0) + line(1, "a") + line(2, "a"));
    const run = follow(sink, file, ...soon, "--json");
    await until(() => sink.groups().length === 1);
    const plain = await runRollcall(["log", "m", file, "--split", "train", "--json"], { env: sink.env });
    expect(resultOf(plain.stdout).groups).toMatchObject({ logged: 1, already_logged: 1 });
    appendFileSync(file, line(3, "a") + line(4));
    await until(() => sink.groups().length === 4);
    const { code, stdout } = await run.end();
    expect([code, sink.groups()]).toEqual([0, [[0], [1, 2], [3], [4]]]);
    expect(rulesIn(stdout)).toContain("group-changed");
  });

  it("gathers the trajectories of a group by --group-by from any lines", async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "b") + line(3, "a") + line(4, "b"));
    const run = follow(sink, file, ...soon, "--group-by", "group_id", "--group-size", "2");
    await until(() => sink.groups().length === 2);
    expect((await run.end()).code).toBe(0);
    expect(sink.groups()).toEqual([
      [1, 3],
      [2, 4],
    ]);
  });

  it("sends an idle group while an earlier group still grows", { tags: "slow" }, async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "b"));
    const run = follow(sink, file, ...soon, ...quiet, "--group-by", "group_id", "--group-idle", "2s");
    const more = setInterval(() => appendFileSync(file, line(1, "a")), 100);
    onTestFinished(() => clearInterval(more));
    await until(() => sink.groups().length > 0);
    expect(sink.groups()).toEqual([[2]]);
    clearInterval(more);
    await run.end();
  });

  it("sends an idle group, warns if the group grows, and recognizes both parts in the next run", async () => {
    const sink = await openSink();
    const file = fileWith(line(1, "a") + line(2, "a"));
    const args = [...soon, "--group-idle", "50ms", "--json"];
    const first = follow(sink, file, ...args);
    await until(() => sink.groups().length === 1);
    appendFileSync(file, line(3, "a"));
    await until(() => sink.groups().length === 2);
    const grown = await first.end();
    expect([grown.code, sink.groups()]).toEqual([0, [[1, 2], [3]]]);
    expect(rulesIn(grown.stdout)).toContain("group-changed");
    appendFileSync(file, line(4));
    const again = follow(sink, file, ...args);
    await until(() => sink.groups().length > 2);
    const { code, stdout } = await again.end();
    expect([code, sink.groups()]).toEqual([0, [[1, 2], [3], [4]]]);
    expect(resultOf(stdout).groups).toMatchObject({ read: 3, logged: 1, already_logged: 2 });
  });
});
