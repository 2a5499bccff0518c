import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, type RunOptions, runRollcall } from "../../support/run.ts";

const openHome = () => {
  const home = newHome();
  const file = join(home.XDG_CONFIG_HOME, "rollcall", "settings.json");
  const config = async (args: string, { env = {}, ...options }: RunOptions = {}) =>
    await runRollcall(["config", ...args.split(" ")], { env: { ...home, ...env }, ...options });
  const save = (text: string): void => {
    mkdirSync(join(home.XDG_CONFIG_HOME, "rollcall"), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
  };
  return { home, file, config, save };
};

describe("rollcall config", () => {
  it("never prints a secret", async () => {
    const { config } = openHome();
    const env = { ROLLCALL_API_KEY: "key-1234", ROLLCALL_BASE_URL: "https://anna:pass-5678@a.example?key=query-9012" };
    for (const args of ["list", "list --json"]) {
      const { stdout, stderr } = await config(args, { env });
      expect(stdout + stderr).not.toMatch(/1234|5678|9012/);
    }
    expect((await config("set api_key key-1234")).stderr).toBe(
      "rollcall: api_key is a credential, not a setting\nhint: save a key with `rollcall auth login`\n",
    );
    expect((await config("set token wk-secret-1234 --json")).stderr).not.toContain("1234");
  });

  it("prints the command that makes the settings file private", async () => {
    const { file, config, save } = openHome();
    save('{"profiles":{}}');
    chmodSync(file, 0o640);
    chmodSync(join(file, ".."), 0o755);
    const { stderr } = await config("list");
    expect(stderr).toContain(`chmod 600 ${file}`);
    expect(stderr).toContain(`chmod 700 ${join(file, "..")}`);
  });
});
