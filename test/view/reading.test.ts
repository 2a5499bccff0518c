import { appendFileSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GroupDetail, GroupRows, PageState } from "../../src/view/answers.ts";
import { openViewer } from "../../src/view/viewer.ts";
import { testHost } from "../support/host.ts";
import { filesOf, type ReadOptions, read } from "../support/inputs.ts";
import { startRollcall } from "../support/run.ts";
import { asked, fileOf, groupLine, startView, waitForPage, whenRead } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";

describe("the server of the page", () => {
  const rowsOf = (body: string): GroupRows => JSON.parse(body);

  it("accepts any input that check reads: compressed, of other tools, standard input, selected", {
    tags: "slow",
  }, async () => {
    const packed = await startView([fileOf("groups.jsonl.gz", gzipSync(readFileSync(airline)))]);
    expect((await whenRead(packed)).summary?.groups.read).toBe(20);
    const other = await startView(["test/samples/formats/verifiers-v0.wordle.results.jsonl"]);
    expect((await whenRead(other)).summary?.trajectories.read).toBe(6);
    const group: GroupDetail = JSON.parse((await other.ask("/api/group", { group: 1 })).body);
    expect(group.position?.file).toBe("test/samples/formats/verifiers-v0.wordle.results.jsonl");
    const piped = await startView([], readFileSync(airline, "utf8"));
    expect((await whenRead(piped)).summary?.groups.read).toBe(20);
  });

  it("shows the groups that are read so far, and at the end what needs all", { tags: "slow" }, async () => {
    const lines = Array.from({ length: 320 }, (_, at) => groupLine([at % 2, 1], { answer: "x".repeat(50_000) }));
    const host = testHost();
    const viewer = await openViewer({ host, port: 0, trace: undefined });
    onTestFinished(viewer.close);
    const [url = "", token] = viewer.url.split("/#token=");
    const ask = async (name: string) =>
      JSON.parse((await asked(url, `/api/${name}`, { headers: { Authorization: `Bearer ${token}` } })).body);
    const states: Promise<PageState>[] = [];
    const onProgress: NonNullable<ReadOptions["onProgress"]> = (progress) => {
      viewer.showProgress({ ...progress, groupBy: undefined });
      states.push(ask("state"));
    };
    const strictness = { strict: false, allowed: new Set<string>() };
    const dataset = await read(filesOf(lines.join("\n")), {
      host,
      strictness,
      measures: { hasSteps: true },
      onProgress,
    });
    await viewer.showInput(async () => ({ dataset, notes: ["a note"], groupBy: undefined, hasChanged: () => true }));
    const reading = (await Promise.all(states)).filter(({ progress }) => progress.phase === "reading");
    const counts = reading.map(({ summary }) => summary?.groups.read ?? 0);
    expect([counts[0], counts.some((count) => count > 0 && count < 320)]).toEqual([0, true]);
    expect(await ask("state")).toMatchObject({
      ...{ progress: { phase: "read", of: 320 }, hasChanged: true },
      summary: { notes: ["a note"], all: { trainable: 160, mean: 0.75 } },
    });
    const { rows, of } = rowsOf(JSON.stringify(await ask("rows")));
    expect([of, rows[0]?.rules, rows[1]?.rules[0]]).toEqual([320, [], "zero-variance-group"]);
  });

  it("answers 409 if the file has changed", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await startView([file]);
    await whenRead(page);
    appendFileSync(file, `${groupLine([0, 1])}\n`);
    expect((await page.ask("/api/group", { group: 1 })).status).toBe(200);
    writeFileSync(file, `${groupLine([1, 0])}\n`);
    const { status, body } = await page.ask("/api/group", { group: 1 });
    expect([status, JSON.parse(body).detail]).toEqual([409, expect.stringContaining("Reload the page")]);
  });

  it("reads again on reload if a file has grown, was rewritten, or is new in a folder", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await startView([dirname(file)]);
    const reloaded = async () => {
      expect((await asked(page.url, "/")).status).toBe(200);
      const { summary } = await whenRead(page);
      const { rows } = rowsOf((await page.ask("/api/rows")).body);
      return [summary?.groups.read, rows.map(({ mean }) => mean)];
    };
    expect(await reloaded()).toEqual([1, [0.5]]);
    appendFileSync(file, `${groupLine([1, 1])}\n`);
    expect((await whenRead(page)).summary?.groups.read).toBe(1);
    expect(await reloaded()).toEqual([2, [0.5, 1]]);
    writeFileSync(file, `${groupLine([0, 0])}\n`);
    expect(await reloaded()).toEqual([1, [0]]);
    // The new content has the same size.
    writeFileSync(file, `${groupLine([1, 1])}\n`);
    utimesSync(file, 1, 1);
    expect(await reloaded()).toEqual([1, [1]]);
    writeFileSync(join(dirname(file), "later.jsonl"), `${groupLine([0.25])}\n`);
    expect(await reloaded()).toEqual([2, [1, 0.25]]);
    expect((await page.ask("/api/rows")).headers).toMatchObject({ "rollcall-read": "5" });
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
  });

  it("does not read again on reload if nothing changed, or if the file is empty or deleted", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await startView([file]);
    await whenRead(page);
    for (const change of [() => undefined, () => truncateSync(file), () => rmSync(file)]) {
      change();
      await asked(page.url, "/");
      expect(JSON.parse((await page.ask("/api/state")).body)).toMatchObject({ progress: { phase: "read", of: 1 } });
    }
  });

  it("reports a changed file that it cannot read again, until a reload finds it complete", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await startView([file]);
    await whenRead(page);
    const packed = gzipSync(`${groupLine([1, 1])}\n${groupLine([2, 1])}\n`);
    const reloaded = async (content: string | Uint8Array) => {
      writeFileSync(file, content);
      await asked(page.url, "/");
      for (;;) {
        const { status, body } = await page.ask("/api/state");
        const { progress, summary, detail } = JSON.parse(body);
        if (status !== 200) return detail;
        if (progress.phase === "read") return summary.groups.read;
      }
    };
    expect(await reloaded(packed.subarray(0, 60))).toMatch(/groups\.jsonl: the compressed file is truncated/);
    expect(await reloaded('{"a":1}')).toMatch(/groups\.jsonl: unknown format: /);
    expect(await reloaded(packed)).toBe(2);
  });

  it("serves the other files if one does not exist", async () => {
    const page = await startView([fileOf("groups.jsonl", `${groupLine([0, 1])}\n`), "typo.jsonl"]);
    await whenRead(page);
    expect(page.said()).toMatch(/^typo\.jsonl: error: the file does not exist \[file-not-found\]$/m);
  });

  it("reports progress before a slow input has ended", async () => {
    const child = startRollcall(["view", "--no-open", "-"]);
    const page = await waitForPage(child);
    expect(JSON.parse((await page.ask("/api/state")).body)).toMatchObject({ progress: { phase: "opening" } });
    expect((await page.ask("/api/rows")).status).toBe(404);
    child.stdin.end(`${groupLine([0, 1])}\n`);
    expect((await whenRead(page)).summary?.groups.read).toBe(1);
  });
});
