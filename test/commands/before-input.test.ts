import { execFileSync } from "node:child_process";
import { chmodSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { runCommandLine } from "../../src/run.ts";
import { testHost } from "../support/host.ts";

const folder = mkdtempSync(join(tmpdir(), "before-input-"));
writeFileSync(join(folder, "taken"), "x");
writeFileSync(join(folder, "empty"), "");
writeFileSync(join(folder, "not-a-program"), "x");
chmodSync(join(folder, "not-a-program"), 0o600);
symlinkSync(join(folder, "no", "target"), join(folder, "dangling"));
execFileSync("mkfifo", [join(folder, "pipe")]);
const at = (name: string) => join(folder, name);

const usable = {
  HOME: folder,
  ROLLCALL_BASE_URL: "https://service.invalid",
  ROLLCALL_PROJECT: "a/b",
  ROLLCALL_API_KEY: "key-1",
  PATH: folder,
};

/** Runs with standard input that must not be read. Returns the exit code and the kind of the failure. */
const run = async (line: string, env: Readonly<Record<string, string>>) => {
  let reads = 0;
  const stdin = new Readable({
    read() {
      reads++;
      this.push(null);
    },
  });
  const host = testHost({ env: { ...usable, ...env } });
  const code = await runCommandLine({ ...host, stdin, argv: line.split(" ") });
  return { code, said: host.said(), reads };
};

const log = "log m --split t";
const noKey = { ROLLCALL_API_KEY: "" };

describe("a command that reads standard input", () => {
  it.each([
    [log, noKey, 4, "needs a key"],
    [log, { ROLLCALL_API_KEY: "<your key>" }, 2, "ROLLCALL_API_KEY"],
    [log, { ...noKey, ROLLCALL_API_KEY_FILE: at("none") }, 2, "ROLLCALL_API_KEY_FILE"],
    [log, { ROLLCALL_BASE_URL: "http://service.invalid" }, 2, "plain http"],
    [log, { ROLLCALL_BASE_URL: "" }, 2, "base_url is not set"],
    [log, { ROLLCALL_LOG_BASE_URL: "ftp://x" }, 2, "log_base_url"],
    [log, { HTTPS_PROXY: "http://user:12#word@127.0.0.1:9" }, 2, "HTTPS_PROXY"],
    [log, { ROLLCALL_MAX_WAIT: "soon" }, 2, "max_wait"],
    [log, { ROLLCALL_TIMEOUT: "soon" }, 2, "timeout"],
    [log, { ROLLCALL_MAX_REQUEST_SIZE: "big" }, 2, "max_request_size"],
    [log, { ROLLCALL_IDEMPOTENCY: "maybe" }, 2, "idempotency"],
    [log, { ROLLCALL_PROFILE: "none" }, 2, "none"],
    ["log .. --split t", {}, 2, "<model-id>"],
    [`${log} --on-invalid skip`, {}, 2, "--rejects"],
    [`${log} --on-invalid skip --rejects ${folder}/none/r`, {}, 11, "its folder does not exist"],
    [`${log} --ledger ${folder}`, {}, 11, ": it is a folder"],
    [`${log} --ledger ${folder}/taken`, {}, 11, "taken"],
    [`${log} --ledger ${folder}/taken/x.db`, {}, 11, "taken/x.db: a part of the path is a file"],
    [`${log} --ledger ${folder}/dangling`, {}, 11, "its folder does not exist"],
    [`${log} --ledger ${folder}/dangling/x/x.db`, {}, 11, "its folder does not exist"],
    [`${log} --ledger ${folder}/${"x".repeat(300)}/x.db`, {}, 11, "cannot create the ledger"],
    [`${log} ${folder}/taken - --ledger ${folder}/taken/x.db`, {}, 11, "taken"],
    [`${log} ${folder}/pipe --ledger ${folder}/taken/x.db`, {}, 11, "taken"],
    [`${log} --ledger /proc/x/l.db`, {}, 11, "cannot create the ledger at /proc/x/l.db"],
    [`${log} --ledger /proc/l.db`, {}, 11, "cannot create the ledger at /proc/l.db"],
    [`${log} --ledger ${folder}/none.db --require-ledger`, {}, 11, "--require-ledger"],
    [`${log} --ledger ${folder}/empty --require-ledger`, {}, 11, "--require-ledger"],
    [`${log} --from nonsense`, {}, 2, "--from"],
    ["ledger resolve - --assume-logged --resend", {}, 2, "a request was either logged or not"],
    [`${log} --allow nonsense`, {}, 2, "nonsense"],
    [`${log} --fields nonsense --json`, {}, 2, "nonsense"],
    [`${log} --fields groups.logged -o table`, {}, 2, "groups.logged"],
    ["check - --fields groups.read -o table", {}, 2, "groups.read"],
    [`convert - --out ${folder}/new --fields groups -o table`, {}, 2, "names of columns: name, value"],
    [`convert - --out ${folder}/new --fields groupz --json`, {}, 2, "groupz"],
    [`view - --html ${folder}/new --fields bites --json`, {}, 2, "bites"],
    ["check - --fields status,problem.rule --json", {}, 2, "problem.rule"],
    [`compare - ${folder}/taken --fields tools.name,tool.name --json`, {}, 2, "tool.name"],
    ["stats - --fields pass@1,pass@3 --json", {}, 2, '--fields \\"pass@3\\"'],
    ["stats - --fields prompt --json", {}, 2, '--fields \\"prompt\\"'],
    ["stats - --each group --fields rewards --json", {}, 2, '--fields \\"rewards\\"'],
    [`${log} --dry-run`, { ROLLCALL_BASE_URL: "http://service.invalid" }, 2, "plain http"],
    ["call read -", noKey, 4, "needs a key"],
    ["call read -", { ROLLCALL_PROJECT: "" }, 2, "project"],
    ["call read -", { ROLLCALL_BASE_URL: "http://service.invalid" }, 2, "plain http"],
    ["auth login --with-token --profile p --base-url http://service.invalid", {}, 2, "plain http"],
    ["auth login --with-token --profile p --base-url https://service.invalid --username a:b", {}, 2, "username"],
    ["convert - --on-invalid skip --out x", {}, 2, "--rejects"],
    [`convert - --out ${folder}/none/x`, {}, 11, "its folder does not exist"],
    ["check --report nonsense", {}, 2, "--report"],
    ["check --report github", { GITHUB_STEP_SUMMARY: `${folder}/none/x` }, 11, "its folder does not exist"],
  ])("checks what needs no input before it (row %$)", async (line, env, code, text) => {
    const { said, ...result } = await run(line, env);
    expect(result, said).toEqual({ code, reads: 0 });
    expect(said).toContain(text);
  });
});
