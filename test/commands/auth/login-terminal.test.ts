import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { linkProgram } from "../../support/program.ts";
import { runOnTerminal } from "../../support/terminal.ts";
import { key, models, openHome } from "./home.ts";

/** Runs `rollcall` on a terminal. Types each key after its text appears. `TERM` sends the signal. */
const onTerminal = async (
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  keys: readonly (readonly [waitsFor: string, typed: string])[],
): Promise<{ readonly code: number; readonly seen: string; readonly after: string }> => {
  // The shell survives the signal, and then prints the state of the terminal.
  const line = `trap : TERM; "${process.execPath}" "${linkProgram()}" ${args.join(" ")}; code=$?
stty -a | grep -o "[-]*echo " | head -n 1; (exit $code)`;
  const { code, written } = await runOnTerminal(line, {
    env: { PATH: process.env.PATH, TMPDIR: process.env.TMPDIR, ...env },
    columns: 200,
    rows: 50,
    typed: keys.map(([when, typed]) => ({
      when,
      keys: typed === "TERM" ? "" : typed,
      meanwhile: (group) => void (typed === "TERM" && process.kill(-group, "SIGTERM")),
    })),
  });
  return { code, seen: written, after: written.trimEnd().split(/\r?\n/).at(-1)?.trim() ?? "" };
};

describe("rollcall auth login on a terminal", () => {
  it("asks for the missing URLs, then for the key, which it does not show", async () => {
    const { server, home, saved } = await openHome([{ answer: models }]);
    const { code, seen, after } = await onTerminal(["auth", "login"], home, [
      ["base_url (", "not an address\r"],
      ["expected a URL", "\r"],
      ["inference_base_url (", `${server.url}/v1\r`],
      [`key for ${server.url} (inference): `, `wrong\x15wk-123x\x7f456\x1b[200~7890\x1b[201~\r`],
    ]);
    expect(code).toBe(0);
    expect(seen).toContain("next: `rollcall models`");
    for (const part of ["wk-123", "456", "7890", "wrong", "*"])
      expect(seen.replaceAll(server.url, "")).not.toContain(part);
    expect(after).toBe("echo");
    expect(saved("credentials.json")).toEqual({ default: { inference: { key: "wk-1234567890", origin: server.url } } });
    expect(saved("settings.json")).toEqual({ default: { inference_base_url: `${server.url}/v1` } });
  });

  it("asks again for a required URL", async () => {
    const { server, home, saved } = await openHome();
    const { code, seen } = await onTerminal(["auth", "login", "--no-check", "--for", "log"], home, [
      ["base_url (URL of the service, such as https://api.example.com): ", "\r"],
      ["expected a URL", `${server.url}\r`],
      [`key for ${server.url} (log): `, `${key}\r`],
    ]);
    expect([code, seen.includes(key)]).toEqual([0, false]);
    expect(saved("credentials.json")).toEqual({ default: { log: { key, origin: server.url } } });
  });

  it("does not repeat a key that was typed as a URL", { tags: "slow" }, async () => {
    const { home } = await openHome();
    const { code, seen } = await onTerminal(["auth", "login"], home, [
      ["base_url (", `${key}\r`],
      ["expected a URL", "\x03"],
    ]);
    expect([code, seen.split(key).length - 1]).toEqual([130, 1]);
  });

  const expectRestored = async (typed: string, exit: number, said: string): Promise<void> => {
    const { home } = await openHome();
    const args = ["auth", "login", "--base-url", "https://a.example", "--for", "log"];
    const { code, seen, after } = await onTerminal(args, home, [["key for https://a.example (log): ", typed]]);
    expect([code, after]).toEqual([exit, "echo"]);
    expect(seen).toContain(said);
    expect(seen).not.toMatch(/half|1234/);
    expect(existsSync(home.XDG_CONFIG_HOME)).toBe(false);
  };

  it("restores the terminal and saves nothing after Ctrl-C", async () => {
    await expectRestored("half-a-key\x03", 130, "interrupted");
  });

  it.each([
    ["Ctrl-D", "\x04", "no key was given"],
    ["an empty line", "\r", "no key was given"],
    ["two lines", "first-1234\rsecond-1234\r", "it has more than one line"],
    ["an open second line", "first-1234\rsecond-1234", "it has more than one line"],
  ])("restores the terminal and saves nothing after %s", { tags: "slow" }, async (_, typed, said) => {
    await expectRestored(typed, 2, said);
  });

  it("restores the terminal after SIGTERM", { tags: "slow" }, async () => {
    const { home } = await openHome();
    const args = ["auth", "login", "--base-url", "https://a.example", "--for", "log"];
    const { code, seen, after } = await onTerminal(args, home, [["key for https://a.example (log): ", "TERM"]]);
    expect([code, after]).toEqual([143, "echo"]);
    expect(seen).toContain("interrupted by SIGTERM");
  });
});
