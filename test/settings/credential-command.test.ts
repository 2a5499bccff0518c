import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSettings } from "../../src/settings/read.ts";
import { interrupted } from "../../src/system/failures.ts";
import { splitCommandLine } from "../../src/text/shell-words.ts";
import { asked, credentialOf, failureOf, type HomeOptions, openHome, origin, sleepFor } from "./open.ts";

describe("a credential command", () => {
  /** The line of a command that runs a script without single quotes. */
  const shell = (script: string): string => `sh -c '${script}'`;
  const withCommand = (line: string, more: HomeOptions = {}): HomeOptions => ({
    ...more,
    profiles: { default: { credential_command: line } },
  });

  it("gets the use and the origin, and prints the key on its first line", async () => {
    const line = shell('echo "$ROLLCALL_USE$ROLLCALL_ORIGIN"; echo 2');
    expect(await credentialOf("log", withCommand(line))).toMatchObject({
      secret: `log${origin}`,
      from: "credential_command of the profile default",
    });
    expect(await (await openHome(withCommand(line)).read()).credentialSource("calls", origin)).toMatchObject({
      state: "command",
      username: "api",
    });
  });

  it("runs again for another origin", async () => {
    const settings = await openHome(withCommand("printenv ROLLCALL_ORIGIN")).read();
    for (const at of ["https://a.example", "https://b.example", "https://a.example"])
      expect(await settings.credential("log", { origin: at, refused: false })).toMatchObject({ secret: at });
  });

  it("gets no key of rollcall, and no password of a database", async () => {
    const line = shell('env | cut -d= -f1 | grep -E "KEY|TOKEN|PASSWORD" | sort | tr "\\n" 1');
    const env = {
      PGPASSWORD: "database",
      ROLLCALL_LOCAL_KEY: "local-key",
      ROLLCALL_PASSWORD: "password",
      OTHER_KEY: "other",
      ROLLCALL_API_KEY_FILE: "/no/such/file",
    };
    expect(await credentialOf("log", withCommand(line, { flags: { profile: "default" }, env }))).toMatchObject({
      secret: "OTHER_KEY1",
    });
  });

  it("can print a key with a line end of Windows", async () => {
    const line = shell('printf "key-1\\r\\nnot the key\\r\\n"');
    expect(await credentialOf("log", withCommand(line))).toMatchObject({ secret: "key-1" });
  });

  it.each([["log", "key-1"] as const, ["inference", "key-1"] as const, ["calls", "key-1 "] as const])(
    "can print a space at the end, which only a password has: %s",
    async (use, secret) => {
      expect(await credentialOf(use, withCommand(shell('printf "key-1 \\n"')))).toMatchObject({ secret });
    },
  );

  it("gets the locations of the ledger and the store, unless they are URLs of databases", async () => {
    const line = shell('echo "$ROLLCALL_LEDGER,$ROLLCALL_STORE"');
    const url = "postgres://u:pw@db.example/d";
    const envs = [
      { ROLLCALL_LEDGER: url, ROLLCALL_STORE: "/store.db" },
      { ROLLCALL_LEDGER: "/ledger.db", ROLLCALL_STORE: url },
    ];
    const seen = envs.map(async (env) => (await credentialOf("log", withCommand(line, { env }))).secret);
    expect(await Promise.all(seen)).toEqual([",/store.db", "/ledger.db,"]);
  });

  it("gets the arguments of its line without a shell", async () => {
    const script = join(mkdtempSync(join(tmpdir(), "command-")), "words.mjs");
    const answer = 'Buffer.from(JSON.stringify(process.argv.slice(2))).toString("base64")';
    writeFileSync(script, `console.log(${answer})`);
    const wordsOf = async (line: string): Promise<unknown> => {
      const credential = await credentialOf("log", withCommand(`${process.execPath} ${script} ${line}`));
      const token = credential.secret;
      return JSON.parse(Buffer.from(token, "base64").toString());
    };
    expect(await wordsOf(`a  'b c' "d \\" e" f\\ g '' "" $HOME * ~ \`x\` ; | > "\\$x" "\\n" 'it'"'"'s' h"i"j`)).toEqual(
      [...["a", "b c", 'd " e', "f g", "", "", "$HOME", "*", "~", "`x`", ";", "|", ">", "$x", "\\n", "it's", "hij"]],
    );
  });

  it("separates arguments with any quoting", () => {
    const single = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
    const double = (word: string) => `"${word.replace(/["\\$`]/g, "\\$&")}"`;
    const slashed = (word: string) => (word === "" ? "''" : word.replace(/./gsu, "\\$&"));
    const word = fc.string({ unit: fc.constantFrom("a", " ", "'", '"', "\\", "$", "`", "é", "*"), maxLength: 6 });
    const quoting = fc.constantFrom(single, double, slashed);
    fc.assert(
      fc.property(fc.array(fc.tuple(word, quoting), { minLength: 1, maxLength: 8 }), (words) => {
        const line = words.map(([text, quote]) => quote(text)).join("  ");
        expect(splitCommandLine(line, { windows: false })).toEqual(words.map(([text]) => text));
      }),
    );
  });

  it("runs once for a use, and once more if the service refuses its key", async () => {
    const counted = join(mkdtempSync(join(tmpdir(), "count-")), "runs");
    writeFileSync(counted, "");
    const line = shell(`printf x >> "${counted}"; echo key$(wc -c < "${counted}")`);
    const settings = await openHome(withCommand(line)).read();
    const token = async (refused: boolean) => await settings.credential("log", { origin, refused });
    const [first, second] = await Promise.all([token(false), token(false)]);
    expect([first, second]).toEqual([
      expect.objectContaining({ secret: "key1" }),
      expect.objectContaining({ secret: "key1" }),
    ]);
    expect(await token(true)).toMatchObject({ secret: "key2" });
    expect(await token(true)).toMatchObject({ secret: "key2" });
    expect(await token(false)).toMatchObject({ secret: "key2" });
    expect(readFileSync(counted, "utf8")).toBe("xx");
  });

  it.each([
    ["exits with 3", shell("echo key-1234; echo key-1234 >&2; exit 3"), "it ended with exit status 3"],
    ["is killed", shell("kill -9 $$"), "it was ended by SIGKILL"],
    ["does not exist", "rollcall-no-such-program --key key-1234", "it cannot be started (it does not exist)"],
    ["prints nothing", "true", "its output is not a key, because it is empty"],
    ["prints an empty line first", "printf '\\nkey-1234'", "its output is not a key, because it is empty"],
    [
      "prints two words",
      "echo Bearer key-1234",
      "its output is not a key, because it contains white space or characters that headers cannot contain",
    ],
  ])("fails as auth, without showing its output, if it %s", async (_, line, end) => {
    const failure = await failureOf(() => credentialOf("log", withCommand(line)));
    expect(failure).toMatchObject({
      kind: "credential-command-failed",
      code: "auth",
      message: expect.stringContaining(` returned no key: ${end}`),
    });
    expect(JSON.stringify(failure)).not.toContain("1234");
  });

  it("has a program that can be started, which a run requires before it reads its input", async () => {
    const folder = mkdtempSync(join(tmpdir(), "programs-"));
    writeFileSync(join(folder, "good"), "", { mode: 0o755 });
    writeFileSync(join(folder, "plain"), "", { mode: 0o644 });
    writeFileSync(join(folder, "tool.exe"), "", { mode: 0o755 });
    mkdirSync(join(folder, "folder"));
    const path = `/none${delimiter}${folder}`;
    const faultOf = async (line: string, { isWindows = false, PATH = path } = {}) => {
      const platform = isWindows ? "win32" : "linux";
      const { sources } = openHome(withCommand(line, { env: { PATH } }));
      const settings = await readSettings({ ...sources, host: { ...sources.host, platform } });
      return await settings
        .requireCredential("log", origin)
        .catch(({ message }) => /started \((.*)\)$/.exec(message)?.[1]);
    };
    const [missing, denied] = ["it does not exist", "permission denied"];
    for (const line of ["good", "good --key x", join(folder, "good")]) expect(await faultOf(line)).toBeUndefined();
    for (const line of ["plain", "folder", join(folder, "plain")]) expect(await faultOf(line)).toBe(denied);
    for (const line of ["tool", "nothing", join(folder, "nothing"), "./good"])
      expect(await faultOf(line)).toBe(missing);
    for (const line of ["tool", "tool.exe"]) expect(await faultOf(line, { isWindows: true })).toBeUndefined();
    expect(await faultOf("nothing", { PATH: "" })).toBeUndefined();
    expect(await faultOf(join(folder, "nothing"), { PATH: "" })).toBe(missing);
  });

  it("ends even if a child process keeps its output open", async () => {
    const file = join(mkdtempSync(join(tmpdir(), "left-")), "pid");
    const line = shell(`sleep 600 & echo $! > "${file}"; echo key-1234`);
    const credential = await credentialOf("log", withCommand(line));
    // Throws if the program no longer runs.
    process.kill(Number(readFileSync(file, "utf8")), "SIGKILL");
    expect(credential).toMatchObject({ secret: "key-1234" });
  });

  it("ends after a minute", async () => {
    const { sources } = openHome(withCommand("sleep 50"));
    const slept: number[] = [];
    const sleep = async (ms: number): Promise<void> => {
      slept.push(ms);
      await sleepFor(20);
    };
    const settings = await readSettings({ ...sources, host: { ...sources.host, sleep } });
    expect(await failureOf(() => settings.credential("log", asked))).toMatchObject({
      code: "auth",
      message: expect.stringMatching(/: it took more than 60 seconds$/),
    });
    expect(slept[0]).toBe(60_000);
  });

  it("ends when the run is interrupted", async () => {
    const { sources } = openHome(withCommand("sleep 50"));
    const abort = new AbortController();
    const settings = await readSettings({ ...sources, host: { ...sources.host, signal: abort.signal } });
    const failure = failureOf(() => settings.credential("log", asked));
    setTimeout(() => abort.abort(interrupted({ signal: "SIGINT" })), 50);
    expect((await failure).kind).toBe("interrupted");
  });

  it("does not override the environment if a variable names its profile", async () => {
    const env = { ROLLCALL_API_KEY: "env-key", ROLLCALL_PROFILE: "work" };
    const profiles = { work: { credential_command: "false" } };
    expect(await credentialOf("log", { profiles, env })).toMatchObject({ secret: "env-key" });
  });
});
