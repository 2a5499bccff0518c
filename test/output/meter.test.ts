import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { formatBar, openMeter, openSpinner } from "../../src/output/progress.ts";
import { testHost } from "../support/host.ts";

const half = { phase: "sending", bytes: 25_000_000, ofBytes: 50_000_000, groups: 4558 };

describe("the progress bar", () => {
  it.each([
    [100, "sending ██████████░░░░░░░░░░ 50% 2 s left 25.0 MB of 50.0 MB 16.7 MB/s 4558 groups"],
    [77, "sending ████████░░░░░░░ 50% 2 s left 25.0 MB of 50.0 MB 16.7 MB/s 4558 groups"],
    [61, "sending 50% 2 s left 25.0 MB of 50.0 MB 16.7 MB/s 4558 groups"],
    [50, "sending 50% 2 s left 25.0 MB of 50.0 MB 16.7 MB/s"],
    [37, "sending ████████░░░░░░░░ 50% 2 s left"],
    [7, "sending"],
    [6, "sending"],
  ])("shows the complete parts that fit %i columns", (columns, text) => {
    expect(formatBar(half, { ms: 1500, columns })).toBe(text);
  });

  it.each([
    [48, 0, {}, "sending ███░░ 50% 25.0 MB of 50.0 MB 4558 groups"],
    [47, 0, {}, "sending 50% 25.0 MB of 50.0 MB 4558 groups"],
    [80, 1000, { ofBytes: undefined, groups: 3 }, "sending 25.0 MB 3 groups"],
    [80, 1000, { ofBytes: undefined, groups: undefined, waiting: "wait" }, "sending wait 25.0 MB"],
  ])("needs 5 columns, and shows only what is known (row %$)", (columns, ms, facts, text) => {
    expect(formatBar({ ...half, ...facts }, { ms, columns })).toBe(text);
  });

  it("is a new spinner after it was stopped", () => {
    const labels: string[] = [];
    const spinner = (label: string) => {
      labels.push(label);
      return { update: (text: string) => void labels.push(`update ${text}`), stop: () => void labels.push("stop") };
    };
    const meter = openMeter({ format: "bar", elapsed: () => 0, columns: 7, spinner, line: () => undefined });
    for (const act of [() => meter.show(half), () => meter.show(half), meter.stop, meter.stop, () => meter.show(half)])
      act();
    expect(labels).toEqual(["sending", "update sending", "stop", "sending"]);
  });

  it("fits the terminal, and always gives the phase", () => {
    fc.assert(
      fc.property(
        fc.record({
          bytes: fc.nat(1e12),
          ofBytes: fc.option(fc.nat(1e12), { nil: undefined }),
          groups: fc.option(fc.nat(1e7), { nil: undefined }),
          ms: fc.nat(1e7),
          columns: fc.integer({ min: 8, max: 200 }),
        }),
        ({ ms, columns, ...state }) => {
          const text = formatBar({ phase: "checking", ...state }, { ms, columns });
          expect(text.length).toBeLessThanOrEqual(columns);
          expect(text).toMatch(/^checking/);
        },
      ),
    );
  });

  it("shows the next attempt during a wait, and no remaining time", () => {
    const waiting = "attempt 2 in 9 s, 290 s left";
    expect(formatBar({ ...half, waiting }, { ms: 1500, columns: 100 })).toBe(
      `sending ██████████░░░░░░░░░░ 50% ${waiting} 25.0 MB of 50.0 MB 4558 groups`,
    );
  });

  it("shows no remaining time if only the reply is missing", () => {
    expect(formatBar({ ...half, bytes: half.ofBytes - 1 }, { ms: 60_000, columns: 52 })).toBe(
      "sending 99% 50.0 MB of 50.0 MB 833 kB/s 4558 groups",
    );
  });

  it("writes one group in the singular", () => {
    expect(formatBar({ ...half, groups: 1 }, { ms: 0, columns: 80 })).toContain(" 1 group");
    expect(formatBar({ ...half, groups: 1 }, { ms: 0, columns: 80 })).not.toContain("groups");
  });
});

describe("a spinner", () => {
  it("shows the last label after a delay of 150 ms, and later labels in the next frame", async () => {
    vi.useFakeTimers({ toFake: ["setInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const host = testHost();
    const spinner = openSpinner("reading", { host, color: false, clean: (text) => text.replace("\n", " ") });
    spinner.update("reading\n1%");
    await expect.poll(host.said, { interval: 5 }).toMatch(/\S reading 1%/);
    expect(host.elapsed()).toBe(150);
    spinner.update("reading\n2%");
    vi.advanceTimersByTime(100);
    expect(host.said()).toContain("reading 2%");
    spinner.stop();
  });

  it("shows nothing if it is stopped before its delay", async () => {
    const host = testHost();
    openSpinner("reading", { host, color: false, clean: String }).stop();
    await import("ora");
    await new Promise((resolve) => setTimeout(resolve));
    expect(host.said()).toBe("");
  });
});

describe("progress", () => {
  const run = (
    format: "bar" | "lines" | "none",
    steps: readonly (readonly [ms: number, phase: string, bytes: number, wait?: string])[],
  ) => {
    const said: string[] = [];
    let now = 0;
    const say = (text: string) => void said.push(text);
    const spinner = (label: string) => {
      say(label);
      return { update: say, stop: () => undefined };
    };
    const meter = openMeter({ format, elapsed: () => now, columns: 50, spinner, line: say });
    for (const [ms, phase, bytes, waiting] of steps) {
      now = ms;
      meter.show({ phase, bytes: bytes * 1e6, ofBytes: phase === "fetching" ? undefined : 9e6, waiting });
    }
    return said;
  };

  it("has a line every ten seconds, or nothing", () => {
    const steps = [
      [0, "fetching", 1],
      [9_999, "fetching", 2],
      [10_000, "fetching", 3],
      [10_001, "sending", 4],
      [19_999, "sending", 5],
      [30_001, "sending", 6, "attempt 2 in 9 s"],
    ] as const;
    expect(run("lines", steps)).toEqual(["fetching 3.0 MB", "sending 66% attempt 2 in 9 s 6.0 MB of 9.0 MB"]);
    expect(run("none", steps)).toEqual([]);
  });

  it("does not count waits in the rate of a bar", () => {
    const waits = [
      [0, "sending", 0],
      [1000, "sending", 3, "wait"],
      [5000, "sending", 3],
      [6000, "sending", 6],
    ] as const;
    const shown = run("bar", waits).map((text) => text.replace(/[█░]+ /, ""));
    expect(shown).toEqual([
      "sending 0% 0 kB of 9.0 MB",
      "sending 33% wait 3.0 MB of 9.0 MB",
      "sending 33% 2 s left 3.0 MB of 9.0 MB 3.0 MB/s",
      "sending 66% 1 s left 6.0 MB of 9.0 MB 3.0 MB/s",
    ]);
  });
});
