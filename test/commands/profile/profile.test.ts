import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";

const key = "wk-1234567890";

/** A home with the profiles default and work, and runs in it. */
const openHome = async () => {
  const home = newHome();
  const run = async (args: string, { env = {}, ...options }: RunOptions = {}) =>
    await runRollcall(args.split(" "), { env: { ...home, ...env }, ...options });
  await run("auth login --with-token --no-check --base-url https://a.example", { stdin: key });
  await run("auth login --with-token --no-check --base-url https://w.example --profile work", { stdin: key });
  await run("config set split train --profile work");
  const saved = (name: string): Record<string, unknown> =>
    JSON.parse(readFileSync(join(home.XDG_CONFIG_HOME, "rollcall", name), "utf8"));
  return { run, saved };
};

describe("rollcall profile", () => {
  it("deletes a profile's settings and keys only with --yes if stdin is not a terminal", async () => {
    const { run, saved } = await openHome();
    const unsure = await run("profile delete work");
    expect([unsure.code, unsure.stderr]).toEqual([
      2,
      expect.stringMatching(
        /cannot delete the profile "work" with 2 settings \(base_url, split\) and 2 keys \(log, calls\): .*\n.*--yes/,
      ),
    ]);
    expect(Object.keys(Object(saved("settings.json").profiles))).toContain("work");
    expect(await run("profile delete work --yes")).toEqual({
      code: 0,
      stdout: "",
      stderr: "note: deleted the profile work\n",
    });
    for (const name of ["settings.json", "credentials.json"])
      expect(Object.keys(Object(saved(name).profiles))).toEqual(["default"]);
    expect((await run("config list")).stdout).toContain("base_url\thttps://a.example\t");
  });
});
