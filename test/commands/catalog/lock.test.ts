import { chmodSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../../support/run.ts";
import { entry, locked, newFolder, openLockedCatalog } from "./locked.ts";

describe("rollcall catalog lock", () => {
  it("writes one fact per line, and does not write the file if no fact changed", async () => {
    const { run, text, file } = await openLockedCatalog(
      [entry("b/two", { deprecation_date: "2027-01-31" }), { id: "a/one" }],
      [{ id: "a/one" }, entry("b/two", { deprecation_date: "2027-01-31" })],
    );
    expect(await run("lock")).toEqual({ code: 0, stdout: "", stderr: "note: locked 2 models in rollcall.lock.json\n" });
    await expect(text()).toMatchFileSnapshot("golden/rollcall.lock.json");
    const before = statSync(file).mtimeMs;
    expect(await run("lock")).toMatchObject({
      stderr: "note: rollcall.lock.json is up to date (2 models)\n",
    });
    expect(statSync(file).mtimeMs).toBe(before);
  });

  it("locks the models that are named, or the locked ones again by default", async () => {
    const { run, text } = await openLockedCatalog(locked, [...locked, entry("maker/new")], locked);
    const first = await run("lock", ["maker/same", "maker/s*", "--json"]);
    expect(first).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(first.stdout)).toEqual({
      file: "rollcall.lock.json",
      changed: true,
      models: ["same", "smaller"].map((name) => ({ catalog: "router", id: `maker/${name}` })),
    });
    expect(JSON.parse((await run("lock", ["--json"])).stdout)).toMatchObject({ changed: false, models: [{}, {}] });
    expect(JSON.parse((await run("lock", ["maker/gone", "--json"])).stdout).models.length).toBe(1);
    expect(text()).toContain('"id": "maker/gone"');
  });

  it("locks the first of several entries with an id, at its position", async () => {
    const { run, text } = await openLockedCatalog([entry("b"), entry("a"), entry("b", { context_length: 1 })]);
    const { models } = JSON.parse((await run("lock", ["--json"])).stdout);
    expect(models).toEqual(["b", "a"].map((id) => ({ catalog: "router", id })));
    expect(text()).not.toContain('"context_length": 1,');
  });

  it("keeps the locked models of the other catalog with --catalog", async () => {
    const { run, text } = await openLockedCatalog(locked, [entry("x/analysis")], locked);
    const env = { ROLLCALL_ANALYSIS_PROVIDER: "a" };
    await run("lock", ["maker/same"]);
    writeFileSync(join(newFolder(), "x"), "");
    expect(await run("lock", ["x/*", "--catalog", "analysis", "--file", "other.json"], { env })).toMatchObject({
      code: 0,
    });
    expect(await run("lock", ["--catalog", "router"], { env })).toMatchObject({ code: 0 });
    expect(text()).toContain("maker/same");
  });

  it.each([
    ["another JSON file", '{"name":"x"}'],
    ["no JSON", "# notes\n"],
  ])("exits with 2 and does not overwrite %s", async (_, content) => {
    const { run, text, file } = await openLockedCatalog(locked);
    writeFileSync(file, content);
    const ran = await run("lock", ["maker/same"]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain("rollcall.lock.json is not a lock file, so it was not overwritten");
    expect(text()).toBe(content);
  });

  it("replaces the target of a link, keeps its mode, and leaves no other file", async () => {
    const { run, cwd, file } = await openLockedCatalog(locked, locked);
    const real = join(newFolder(), "real.json");
    await run("lock", ["maker/same", "--file", real]);
    chmodSync(real, 0o640);
    symlinkSync(real, file);
    await run("lock", ["maker/less"]);
    expect(readFileSync(real, "utf8")).toContain("maker/less");
    expect([statSync(real).mode & 0o777, readdirSync(cwd)]).toEqual([0o640, ["rollcall.lock.json"]]);
  });

  it.each(["/dev/zero", "."])("exits with 3 for a device or a folder (row %$)", async (file) => {
    for (const verb of ["lock", "verify"]) {
      const ran = await runRollcall(["catalog", verb, "--local", "--file", file]);
      expect(ran).toMatchObject({ code: 3, stdout: "" });
      expect(ran.stderr).toContain(`cannot read the lock file ${file}`);
    }
  });
});
