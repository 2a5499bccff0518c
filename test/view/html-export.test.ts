import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { chromium } from "../support/browser.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { newPageFile, openedFile, writtenPage } from "./shown.ts";
import { fileOf, groupLine } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";

describe("rollcall view --html", () => {
  it("writes one file, reports its content, and overwrites the file", async () => {
    const { file, said } = await writtenPage([airline]);
    expect(said).toMatch(/wrote 20 of 20 groups to .*page\.html \(1\.\d MB\)/);

    const ran = await runRollcall(["view", airline, "--html", file, "--json"]);
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ran.stdout)).toEqual({
      status: "written",
      file,
      bytes: statSync(file).size,
      groups: { read: 20, written: 20, rejected: 0 },
      trajectories: { read: 80, written: 80, rejected: 0 },
      warnings: [],
    });
  });

  it("writes a file with the permissions of its inputs", async () => {
    const env = newHome();
    const input = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const modeOf = async (...args: readonly string[]): Promise<number> => {
      const file = newPageFile();
      expect((await runRollcall(["view", ...args, "--html", file], { env })).code).toBe(0);
      return statSync(file).mode & 0o777;
    };
    chmodSync(input, 0o644);
    expect(await modeOf(input)).toBe(0o644);
    chmodSync(input, 0o640);
    expect(await modeOf(input)).toBe(0o640);
  });

  it("exits with 2 instead of overwriting an input or a file that rollcall did not write", async () => {
    const input = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const other = fileOf("other.html", "<!doctype html>\n<p>mine</p>\n");
    for (const [file, says] of [
      [input, "both are the same file"],
      [other, "already exists"],
    ] as const) {
      const before = statSync(file).mtimeMs;
      const ran = await runRollcall(["view", input, "--html", file]);
      expect(ran).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining(says),
      });
      expect(statSync(file).mtimeMs).toBe(before);
    }
    const { code, stderr } = await runRollcall(["view", input, "--html", dirname(other)]);
    expect([code, stderr]).toEqual([11, expect.stringMatching(/^rollcall: cannot write .*: it is a folder$/m)]);
  });

  it("warns of files that it skips alone", async () => {
    const folder = dirname(fileOf("groups.jsonl", groupLine([0])));
    writeFileSync(`${folder}/notes.json`, "[]");
    const args = ["view", folder, "--html", newPageFile()];
    expect((await runRollcall(args)).stderr.match(/\[[\w-]+\]/g)).toEqual(["[skipped-file]"]);
    const { warnings } = JSON.parse((await runRollcall([...args, "--json"])).stdout);
    expect(warnings).toMatchObject([{ rule: "skipped-file", file: `${folder}/notes.json` }]);
  });

  it("exits with 3 if a group is invalid, and keeps an existing page if no group is valid", async () => {
    const bad = groupLine([0, 1]).replace('"reward":1', '"reward":"no"');
    const input = fileOf("bad.jsonl", `${groupLine([0, 1])}\n${bad}\n`);
    const file = newPageFile();
    const ran = await runRollcall(["view", input, "--html", file]);
    expect(ran).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("wrote 2 of 2 groups"),
    });
    expect(ran.stderr).toContain("bad.jsonl:2:");
    const asJson = await runRollcall(["view", input, "--html", file, "--json"]);
    expect(JSON.parse(asJson.stdout)).toMatchObject({ groups: { read: 2, written: 2, rejected: 1 } });
    expect(JSON.parse(asJson.stderr).error).toMatchObject({ code: "invalid_input", problems: [{ line: 2 }] });
    const before = readFileSync(file);
    for (const content of ["not json\n", "\n\n\n", `${bad}\n`]) {
      const none = await runRollcall(["view", fileOf("none.jsonl", content), "--html", file]);
      expect(none).toMatchObject({ code: 3, stdout: "" });
      expect(none.stderr).not.toContain("wrote");
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it("writes every < of a rollout as an escape, so no text ends the script", async () => {
    const hostile = "<b></script><script>alert(1)</script><!--<script>";
    const input = fileOf("<i><u>.jsonl", groupLine([0, 1], { prompt: hostile, answer: hostile }));
    const page = readFileSync((await writtenPage([input])).file, "utf8");
    const blocks = Array.from(page.matchAll(/^<script type="application\/json" id="([^"]*)">(.*)<\/script>$/gm));
    expect(blocks.map(([, id, json = ""]) => [id, json.includes("<")])).toEqual([
      ["data", false],
      ["group-0", false],
    ]);
    expect(JSON.parse(JSON.parse(blocks[1]?.[2] ?? "").trajectories[1]).messages_and_choices[0].content).toBe(hostile);
  });

  it("omits groups after the first 2,000, and prints a note", { tags: "slow" }, async () => {
    const many = fileOf("many.jsonl", Array.from({ length: 2003 }, () => groupLine([0])).join("\n"));
    const one = await writtenPage([many]);
    expect(one.said).toContain("wrote 2000 of 2003 groups");
    expect(one.said).toContain("at most 2000 groups and 20 MB\n");
  });

  it("omits groups after 20 MB, and counts them", { tags: "slow" }, async () => {
    // Escapes make a page larger than its groups.
    const lines = Array.from({ length: 7 }, () => groupLine([0], { prompt: "\n".repeat(1_500_000) }));
    const ran = await runRollcall(["view", fileOf("large.jsonl", lines.join("\n")), "--html", newPageFile(), "--json"]);
    const { bytes, ...others } = JSON.parse(ran.stdout);
    const written = { read: 7, written: 4 };
    expect(others).toMatchObject({ groups: written, trajectories: written });
    expect(bytes / 20e6).toBeLessThanOrEqual(1);
  });
});

describe.skipIf(chromium === undefined)("a page in a file", { tags: "browser" }, () => {
  it("shows all views without a request", async () => {
    const { page } = await openedFile((await writtenPage([airline])).file);
    expect(await page.locator(".count").innerText()).toBe("20 of 20 groups");
    await page.getByRole("link", { name: "20 trajectories with a reward of 1" }).click();
    await expect.poll(async () => await page.locator(".count").innerText()).toBe("12 of 20 groups");
    await page.locator(".rows td.words a").first().click();
    await page.getByRole("heading", { name: "4 trajectories" }).waitFor();
    await page.locator(".column .entry").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: /reward/ }).waitFor();
    await page.keyboard.press("r");
    const raw = JSON.parse(await page.locator(".raw").innerText());
    expect(readFileSync(airline, "utf8")).toContain(JSON.stringify(raw.metadata.user_id));
  });

  it("has groups of each step, the newest and the lowest means first, without log probabilities", async () => {
    const wide = "x".repeat(3_000_000);
    const tokens = `"logprobs":{"content":[{"token":"${wide}"}]},"message"`;
    const lines = [1, 2, 3].flatMap((step) =>
      [0.9, 0.2, 0.4].map((reward) =>
        groupLine([reward], { prompt: `step ${step} ${reward} ${step === 1 ? wide.repeat(7) : wide}` })
          .replace('"message"', tokens)
          .replace('"reward"', `"metadata":{"step":${step}},"reward"`),
      ),
    );
    const { page } = await openedFile((await writtenPage([fileOf("g.jsonl", lines.join("\n"))])).file);
    const prompts = (await page.locator(".rows td.words a").allTextContents()).map((text) => text.slice(0, 10));
    expect(prompts).toEqual(["2", "3"].flatMap((step) => [0.9, 0.2, 0.4].map((reward) => `step ${step} ${reward}`)));
    const contains =
      "this page contains 6 of 9 groups: 3 of step 3, 3 of step 2; the numbers and plots are those of all;";
    await page.getByText(`${contains} this page lacks the log probabilities`).waitFor();
    await page.getByRole("link", { name: /^step 1: / }).press("Enter");
    await page.getByText("3 groups have step 1, none is in this file").waitFor();
  });

  it("reads a URL that is not escaped", async () => {
    const lines = [groupLine([0, 1], { prompt: "a + b && c" }), groupLine([0, 1], { prompt: "a b" })];
    const { page } = await openedFile((await writtenPage([fileOf("g.jsonl", lines.join("\n"))])).file);
    const count = async () => await page.locator(".count").innerText();
    await page.evaluate(`location.hash = '#/{"text":"a + b && c"}'`);
    await expect.poll(count).toBe("1 of 2 groups");
    await page.evaluate(`location.hash = '#/{"text":"a b"}'`);
    await expect.poll(count).toBe("1 of 2 groups");
  });

  it("runs only its own script", async () => {
    const { file } = await writtenPage([airline]);
    writeFileSync(file, readFileSync(file, "utf8").replace("<noscript>", "<script>alert(1)</script><noscript>"));
    const { troubles } = await openedFile(file, { hasTroubles: true });
    expect(troubles).toEqual([expect.stringContaining("Content Security Policy")]);
  });
});
