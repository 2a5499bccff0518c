import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, closeSync, constants, mkdtempSync, openSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { credentialOf, failureOf, type HomeOptions, openHome, origin } from "./open.ts";

/** Writes a file into a new temporary folder. */
const fileOf = (bytes: string | Uint8Array): string => {
  const file = join(mkdtempSync(join(tmpdir(), "key-")), "key");
  writeFileSync(file, bytes);
  return file;
};

const everywhere = (key: string) => ({
  log: { key: `${key}-log`, origin },
  inference: { key: `${key}-inference`, origin },
  calls: { key: `${key}-calls`, origin, username: "anna" },
});

describe("a credential from the environment", () => {
  it("is sent to any effective URL", async () => {
    const env = { ROLLCALL_API_KEY: "api-key-1" };
    expect(await credentialOf("log", { env }, "https://elsewhere.example")).toMatchObject({ secret: "api-key-1" });
  });

  it.each(["key-1234", "key-1234\r\n", "\ufeffkey-1234\n\n", "\r\n \tkey-1234 \u00a0\n".padEnd(65_535)])(
    "comes from a file or a variable without the white space around it (row %$)",
    async (bytes) => {
      for (const env of [
        { ROLLCALL_API_KEY: bytes },
        { ROLLCALL_TOKEN: bytes },
        { ROLLCALL_TOKEN_FILE: fileOf(bytes) },
      ])
        expect(await credentialOf("log", { env })).toMatchObject({ secret: "key-1234" });
      for (const env of [{ ROLLCALL_PASSWORD: " pass \n" }, { ROLLCALL_PASSWORD_FILE: fileOf(" pass \r\n") }])
        expect(await credentialOf("calls", { env })).toMatchObject({ secret: " pass " });
      const env = { ROLLCALL_API_KEY_FILE: fileOf(bytes) };
      expect(await credentialOf("log", { env })).toEqual({
        secret: "key-1234",
        from: "the file in ROLLCALL_API_KEY_FILE",
      });
    },
  );

  const hints: Readonly<Record<string, string>> = {
    "is in quotes": "give the key without quotes",
    "is a placeholder, not a key": "replace it with your own key",
    "contains white space or characters that headers cannot contain": "give only the key, or give the password for",
  };
  it.each([
    ["a second line", "has more than one line", "key-1234\nkey-5678"],
    ["a null character", "contains white space or characters that headers cannot contain", "key-1234\u0000"],
    ["an escape sequence", "contains white space or characters that headers cannot contain", "\u001b[31mkey-1234"],
    ["a space", "contains white space or characters that headers cannot contain", "Bearer key-1234"],
    ["an accent", "contains white space or characters that headers cannot contain", "kéy-1234"],
    ["quotes", "is in quotes", '"key-1234"'],
    ["a placeholder", "is a placeholder, not a key", "<your_api_key>"],
    ["the end of an example", "is a placeholder, not a key", "sk-proj-..."],
    ["a variable", "is a placeholder, not a key", "$ROLLCALL_API_KEY"],
    ["only a line end", "is empty", "\n"],
    ["65,537 characters", "is longer than 64 KiB", "x".repeat(65_537)],
  ])("fails without showing its text if it contains %s", async (_, wrong, text) => {
    const env = { ROLLCALL_API_KEY_FILE: fileOf(text) };
    const home = openHome({ env });
    const settings = await home.read();
    const failure = await failureOf(() => settings.credential("log", origin));
    expect(failure).toMatchObject({
      kind: "invalid-credential",
      code: "usage",
      message: `cannot use the key from the file in ROLLCALL_API_KEY_FILE: it ${wrong}`,
      hint: expect.stringContaining(hints[wrong] ?? "give only the key, on one line"),
      where: { environment: "ROLLCALL_API_KEY_FILE", file: env.ROLLCALL_API_KEY_FILE },
    });
    expect(JSON.stringify(failure)).not.toContain("1234");
    if (wrong !== "is longer than 64 KiB" && text !== "\n") expect(home.hidden).toContain(text);
    if (/^[ -~\n]+$/.test(text) && text.trim() !== "" && wrong !== "is longer than 64 KiB") {
      const variable = await failureOf(() => credentialOf("log", { env: { ROLLCALL_API_KEY: text } }));
      expect(variable.message).toBe(`cannot use the key from ROLLCALL_API_KEY: it ${wrong}`);
    }
  });

  it("is not in quotes, and not a placeholder of an example", async () => {
    const faultOf = async (text: string) =>
      await credentialOf("log", { env: { ROLLCALL_API_KEY: text } }).then(
        () => "none",
        ({ message }: Error) => message.replace("cannot use the key from ROLLCALL_API_KEY: it is ", ""),
      );
    const placeholders = `<key> {{key}} $KEY \${KEY} %KEY% xxx sk-xxxx sk-ant-... replace_me CHANGE-ME changeme your-key
      YOUR_OWN_API_KEY yourtokenhere your-secret-key your_access_token-here`.split(/\s+/);
    for (const text of placeholders) expect([text, await faultOf(text)]).toEqual([text, "a placeholder, not a key"]);
    for (const text of ["'key'", "`key`"]) expect([text, await faultOf(text)]).toEqual([text, "in quotes"]);
    const keys = `k<ey> key} $KEY-1 %KEY key% sk-xx xxx-1 replace_me1 your-keys my-your-key yourhere "key' 'key`;
    const faults = await Promise.all(keys.split(" ").map(faultOf));
    expect(faults).toEqual(faults.map(() => "none"));
  });

  it("names a file of UTF-16 text, and loses the line end of a variable", async () => {
    const file = fileOf("");
    writeFileSync(file, "key-1234\r\n", "utf16le");
    const failure = await failureOf(() => credentialOf("log", { env: { ROLLCALL_API_KEY_FILE: file } }));
    expect(failure.message).toBe(
      `cannot use the key from the file in ROLLCALL_API_KEY_FILE (${file}): it is UTF-16 text`,
    );
    expect(failure.hint).toMatch(/^write the file as UTF-8 /);
    const env = { ROLLCALL_API_KEY: "key-1234\r\n" };
    expect(await credentialOf("log", { env })).toMatchObject({ secret: "key-1234" });
  });

  it.each([
    ["ENOENT", () => join(tmpdir(), "nothing-here")],
    ["EISDIR", () => mkdtempSync(join(tmpdir(), "folder-"))],
    ["ENOTDIR", () => join(fileOf("x"), "below")],
  ])("fails with the name of its file if the file cannot be read (%s)", async (_code, file) => {
    const env = { ROLLCALL_TOKEN_FILE: file() };
    expect(await failureOf(() => credentialOf("log", { env }))).toMatchObject({
      kind: "unreadable-credential-file",
      code: "usage",
      message: expect.stringContaining(
        `cannot read ${env.ROLLCALL_TOKEN_FILE}, the file that ROLLCALL_TOKEN_FILE names: `,
      ),
    });
  });

  it("comes from a pipe, which is read once", async () => {
    const pipe = join(mkdtempSync(join(tmpdir(), "pipe-")), "key");
    execFileSync("mkfifo", [pipe]);
    const env = { ROLLCALL_API_KEY_FILE: pipe };
    const writer = spawn("/bin/sh", ["-c", 'exec 3>"$1"; echo ready; sleep 0.2; echo key-1234 >&3', "sh", pipe]);
    const settings = await openHome({ env }).read();
    // The writer can open the pipe only while a reader has it open.
    const reader = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    await once(writer.stdout, "data");
    const [log, inference] = await Promise.all([
      settings.credential("log", origin),
      settings.credential("inference", origin),
    ]);
    closeSync(reader);
    expect([log, inference]).toEqual([
      expect.objectContaining({ secret: "key-1234" }),
      expect.objectContaining({ secret: "key-1234" }),
    ]);
  });

  it.each([
    ["ROLLCALL_API_KEY_FILE", "opens it"],
    ["ROLLCALL_API_KEY_FILE", "writes to it"],
    ["ROLLCALL_LEDGER_FILE", "opens it"],
  ])("is no longer awaited in %s after a signal before the writer of its pipe %s", async (variable, until) => {
    const pipe = join(mkdtempSync(join(tmpdir(), "pipe-")), "key");
    execFileSync("mkfifo", [pipe]);
    const writer = until === "opens it" ? undefined : openSync(pipe, constants.O_RDWR);
    const stop = new AbortController();
    const settings = await openHome({ env: { [variable]: pipe }, signal: stop.signal }).read();
    const asking = variable.includes("LEDGER") ? settings.ledgerLocation() : settings.credential("log", origin);
    setTimeout(() => stop.abort(new Error("stopped")), 20);
    await expect(asking).rejects.toThrow("stopped");
    if (writer !== undefined) closeSync(writer);
  });

  it("fails for calls if the user name contains a colon", async () => {
    const env = { ROLLCALL_API_KEY: "api-key-1", ROLLCALL_USERNAME: "a:b" };
    expect(await failureOf(() => credentialOf("calls", { env }))).toMatchObject({
      kind: "setting-invalid",
      where: { environment: "ROLLCALL_USERNAME" },
    });
    expect(await credentialOf("log", { env })).toMatchObject({ secret: "api-key-1" });
  });
});

describe("the location of the ledger", () => {
  const locate = async (text: string, options: HomeOptions = {}) =>
    await (await openHome({ ...options, env: { ROLLCALL_LEDGER: text, ...options.env } }).read()).ledgerLocation();

  it.each(["ledger.db", "./a b.db", "/data/host.db", "C:\\data\\ledger.db", "me@host.db", "postgres"])(
    "is the path %s, in the working directory",
    async (path) => {
      expect(await locate(path)).toEqual({ path: resolve(path) });
    },
  );

  it.each(["postgres://me@db.example/d", "postgresql://me@db.example:5433/d?sslmode=require", "postgres://me@h"])(
    "is the database %s",
    async (path) => {
      expect(await locate(` ${path} `)).toEqual({ path });
      expect(await locate(path, { env: { PGPASSWORD: "pw" } })).toEqual({ path, password: "pw" });
    },
  );

  it.each([
    ...["postgres://db.example/d", "postgres://me@h/d?user=x", "postgres://me@h/d#x", "postgres://me:1/2@h/d"],
    ...["postgres://me@h/d/e", "postgres:me@h", "mysql://me@h/d", "libsql://h", "libsql:h", "https://me@h/d"],
    ...["host=h user=me", "user=me password=x", "POSTGRES://h/d"],
  ])("is invalid for %s, which the failure does not repeat", async (text) => {
    const failure = await failureOf(() => locate(text));
    expect(failure).toMatchObject({ kind: "invalid-database-url", message: "the URL of the ledger is invalid" });
    expect(failure.hint).toContain("In the password, write %2F for /");
  });

  it("cannot contain a password in the option", async () => {
    const settings = await openHome({}).read();
    expect(await failureOf(() => settings.ledgerLocation("postgres://me:pw@h/d"))).toMatchObject({
      message: "the URL of the ledger contains a password: postgres://me@h/d",
      hint: "pass the URL without the password, and store the password in PGPASSWORD or ROLLCALL_LEDGER",
    });
    expect(await settings.ledgerLocation("typed.db")).toEqual({ path: "typed.db" });
  });
});

describe("the password of a database", () => {
  it("comes, for a typed URL, from the same URL in the environment, and is always hidden", async () => {
    const env = { ROLLCALL_LEDGER: "postgres://me:p%40w@db.example/d", PGPASSWORD: "other" };
    const home = openHome({ env });
    const settings = await home.read();
    expect(await settings.ledgerLocation("postgres://me@db.example/d")).toMatchObject({ password: "p@w" });
    expect(await settings.ledgerLocation("postgres://me@db.example/e")).toMatchObject({ password: "other" });
    expect([...home.hidden]).toEqual(expect.arrayContaining(["p%40w", "p@w", "other"]));
    const stray = openHome({ env: { ROLLCALL_LEDGER: "postgres://me:100%@db.example/d" } });
    expect(await (await stray.read()).ledgerLocation()).toMatchObject({ password: "100%" });
  });
});

describe("a saved credential", () => {
  const logins = { default: everywhere("saved"), work: everywhere("work") };
  const profiles = { work: {} };

  it("is used after the environment", async () => {
    expect(await credentialOf("log", { logins })).toMatchObject({
      secret: "saved-log",
      from: "the login of the profile default",
    });
    expect(await credentialOf("log", { logins, env: { ROLLCALL_API_KEY: "env-key" } })).toMatchObject({
      secret: "env-key",
    });
    expect(await credentialOf("calls", { logins })).toMatchObject({ username: "anna", secret: "saved-calls" });
    // CI sets a missing secret to an empty text.
    for (const [name, username] of Object.entries({ bert: "bert", "": "anna" }))
      expect(await credentialOf("calls", { logins, env: { ROLLCALL_USERNAME: name } })).toMatchObject({ username });
  });

  it.each([
    ["anna", { username: "bert" }, "bert"],
    ["anna", {}, "anna"],
  ])("overrides ROLLCALL_USERNAME=%s in a named profile if it has a user name (row %$)", async (...row) => {
    const [variable, saved, username] = row;
    const own = { work: { calls: { key: "key-1234", origin, ...saved } } };
    const named = { profiles, logins: own, env: { ROLLCALL_USERNAME: variable }, flags: { profile: "work" } };
    expect(await credentialOf("calls", named)).toMatchObject({ username });
  });

  it("leaves the environment's key to a named profile without one", async () => {
    const env = { ROLLCALL_API_KEY: "env-key" };
    const named = { profiles, env, flags: { profile: "work" } };
    expect(await credentialOf("log", named)).toMatchObject({ secret: "env-key" });
  });

  it("overrides the environment's key for its use alone if its profile is named", async () => {
    const saved = { work: { log: { key: "key-1234", origin } } };
    const env = { ROLLCALL_API_KEY: "env-key", ROLLCALL_TOKEN: "env-token" };
    const named = { profiles, logins: saved, env, flags: { profile: "work" } };
    expect(await credentialOf("log", named)).toMatchObject({ secret: "key-1234" });
    expect(await credentialOf("inference", named)).toMatchObject({ secret: "env-key" });
  });

  it.each([
    [
      "log",
      { key: "Bearer key-1234" },
      "cannot use the key from the login of the profile default: it contains white space",
    ],
    ["calls", { key: "key-1234", username: "" }, 'invalid username ""'],
  ] as const)("fails if its saved key or user name is invalid, for %s", async (use, login, message) => {
    const failure = await failureOf(() => credentialOf(use, { logins: { default: { [use]: { ...login, origin } } } }));
    expect(failure.message).toContain(message);
    expect(failure.message).not.toContain("key-1234");
    expect(failure.where).toEqual(use === "log" ? { setting: "log" } : {});
  });

  it("is sent only to the origin of its use at login", async () => {
    for (const at of ["https://b.example", "http://a.example", "https://a.example:8443"]) {
      expect(await failureOf(() => credentialOf("log", { logins }, at))).toMatchObject({
        kind: "credential-wrong-origin",
        code: "auth",
        message: `the key for log in the profile "default" belongs to ${origin}, so rollcall does not send it to ${at}`,
      });
    }
    const settings = await openHome({ logins }).read();
    expect(await settings.credentialSource("log", "https://b.example")).toMatchObject({
      state: "elsewhere",
      failure: { kind: "credential-wrong-origin" },
    });
  });

  it("fails with its position, without its content, if the file is broken", async () => {
    const home = openHome({ logins: { default: { log: { key: 17, origin } } } });
    const failure = await failureOf(async () => (await home.read()).credential("log", origin));
    expect(failure).toMatchObject({
      kind: "invalid-settings-file",
      code: "usage",
      where: { file: home.file("credentials.json"), line: 1 },
    });
    const spoiled = openHome();
    writeFileSync(spoiled.file("credentials.json"), '{"profiles": {"default": secret-key-1234', { mode: 0o600 });
    const broken = await failureOf(async () => (await spoiled.read()).credential("log", origin));
    expect(broken).toMatchObject({ kind: "invalid-settings-file", where: { line: 1, column: 26 } });
    expect(JSON.stringify(broken)).not.toContain("1234");
  });

  it("causes a warning with the fix if other users can read its file", async () => {
    const home = openHome({ logins });
    chmodSync(home.file("credentials.json"), 0o644);
    const settings = await home.read();
    await settings.credential("log", origin);
    await settings.credential("inference", origin);
    expect(home.warnings).toEqual([
      {
        file: home.file("credentials.json"),
        rule: "insecure-permissions",
        severity: "warning",
        message: `other users can access ${home.file("credentials.json")} (mode 0644)`,
        advice: `chmod 600 ${home.file("credentials.json")}`,
      },
    ]);
  });
});

describe("redaction", () => {
  it("covers a secret when rollcall has read the secret", async () => {
    const home = openHome({
      env: { ROLLCALL_API_KEY: "key/1234+", ROLLCALL_PASSWORD: "pass-5678", ROLLCALL_USERNAME: "anna" },
    });
    const settings = await home.read();
    await settings.credential("calls", origin);
    await settings.credential("inference", origin);
    for (const secret of ["key/1234+", "pass-5678"]) expect(home.hidden).toContain(secret);
  });
});
