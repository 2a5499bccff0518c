import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

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
    await run("profile use work");
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
      stderr: "note: deleted the profile work\nnote: commands now use the profile default\n",
    });
    for (const name of ["settings.json", "credentials.json"])
      expect(Object.keys(Object(saved(name).profiles))).toEqual(["default"]);
    expect((await run("config get base_url")).stdout).toBe("https://a.example\n");
  });

  it("renames a profile twice, and the ledger still recognizes its logged groups", async () => {
    const { run, saved } = await openHome();
    const server = await scriptedServer([{ answer: json({}) }]);
    const log = `log m test/samples/airline.groups.jsonl --split train --base-url ${server.url}`;
    const env = { ROLLCALL_TOKEN: key };
    await run("config set base_url http://127.0.0.1:1 --profile plain --create");
    expect((await run(`${log} --profile plain`, { env })).code).toBe(0);
    expect((await run("profile rename plain staging --json")).stdout).toBe(
      '{"from":"plain","to":"staging","account":"plain"}\n',
    );
    expect((await run("profile rename staging live --json")).stdout).toBe(
      '{"from":"staging","to":"live","account":"plain"}\n',
    );
    const again = await run(`${log} --profile live --json`, { env });
    expect(JSON.parse(again.stdout)).toMatchObject({ status: "already_logged" });
    await run("profile use work");
    await run("profile rename work office");
    expect(saved("settings.json").profile).toBe("office");
    expect(saved("credentials.json").profiles).toMatchObject({ office: { log: { key } } });
    expect(saved("settings.json").profiles).toMatchObject({ office: { account: "work", split: "train" } });
    const taken = await run("profile rename office default");
    expect([taken.code, taken.stderr]).toEqual([2, expect.stringContaining('the profile "default" already exists')]);
    expect((await run("profile rename office office")).code).toBe(2);
    expect(saved("credentials.json").profiles).toMatchObject({ office: { log: { key } } });
    expect((await run("profile rename office local")).code).toBe(2);
    expect((await run("profile rename office a/b")).code).toBe(2);
    expect((await run("profile rename nobody somebody")).code).toBe(2);
  });
});
