/** Inputs at https:// URLs. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { fileServer } from "../../support/file-server.ts";
import { filesOf, newFolder } from "../../support/inputs.ts";
import { newHome, runRollcall } from "../../support/run.ts";

const trajectory = (reward: number, text = "4") =>
  `{"messages_and_choices":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"${text}"}],"reward":${reward}}`;
const group = (text = "4") => `{"trajectories":[${trajectory(0, text)},${trajectory(1, text)}]}`;
const two = `${group("a")}\n${group("b")}\n`;

const large = `${Array.from({ length: 200 }, (_, at) => group(`${at} ${"x".repeat(50_000)}`)).join("\n")}\n`;

const checked = async (args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const { code, stdout, stderr } = await runRollcall(["check", "--json", ...args], { env });
  return {
    code,
    document: stdout === "" ? undefined : JSON.parse(stdout),
    error: stderr === "" ? "" : JSON.parse(stderr).error,
  };
};

describe("a remote file", () => {
  it("is logged with the dedup keys of the same local file", async () => {
    const { url } = await fileServer({ files: { "/runs/step.jsonl": two } });
    const [file = ""] = filesOf(two);
    const env = newHome();
    const words = ["log", "m", "--split", "train", "--local", "--json", "--batch", "b"];
    const far = await runRollcall([...words, `${url}/runs/step.jsonl`], { env });
    const near = await runRollcall([...words, file], { env });
    const standing = await runRollcall(["ledger", "verify", `${url}/runs/step.jsonl`, "--local", "--json"], { env });
    expect([far.code, JSON.parse(far.stdout).groups.logged]).toEqual([0, 2]);
    expect([near.code, JSON.parse(near.stdout).status]).toEqual([0, "already_logged"]);
    expect(JSON.parse(standing.stdout).status).toBe("verified");
  });

  it("gives exit 5 after a broken connection", async () => {
    const { url, asked } = await fileServer({ files: { "/step.jsonl": large }, cut: () => 1_000_000 });
    const { code, error } = await checked([`${url}/step.jsonl`]);
    expect([code, error.code, error.retryable, asked.length]).toEqual([5, "unavailable", true, 1]);
  });

  it("is decompressed", async () => {
    const { url } = await fileServer({ files: { "/step.jsonl.gz": gzipSync(large) } });
    expect((await checked([`${url}/step.jsonl.gz`])).document.groups.read).toBe(200);
  });

  it("is converted, with the positions of its problems", async () => {
    const row = (reward: string) =>
      `{"example_id":1,"prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"}],"reward":${reward},"metrics":{},"is_completed":true}`;
    const { url } = await fileServer({ files: { "/run/results.jsonl": `${row("1")}\n${row('"x"')}\n` } });
    const { code, error } = await checked([`${url}/run/results.jsonl`]);
    expect([code, error.problems[0]]).toMatchObject([3, { file: `${url}/run/results.jsonl`, line: 2 }]);
  });

  it("is named without the secrets in its URL", async () => {
    const { url } = await fileServer({ files: { "/step.jsonl": "{}\n" } });
    for (const end of ["?X-Amz-Signature=0123456789abcdef&X-Amz-Security-Token=hush-hush", "#hush-hush", "?a#hush"]) {
      const ran = await runRollcall(["check", "--debug", `${url}/step.jsonl${end}`], {});
      expect(ran.stdout + ran.stderr).not.toMatch(/0123456789abcdef|hush/);
      expect(ran.stderr).toContain(`${url}/step.jsonl:1`);
    }
  });

  it("is requested before the previous file has arrived", async () => {
    const waiting: (() => void)[] = [];
    const { url } = await fileServer({
      files: {},
      instead: (_, response) => {
        waiting.push(() => void response.end(two));
        // Answers when both files were requested.
        if (waiting.length === 2) for (const answer of waiting) answer();
        return true;
      },
    });
    const { code, document } = await checked([`${url}/1.jsonl`, `${url}/2.jsonl`]);
    expect([code, document.groups.read]).toEqual([0, 4]);
  });

  it("is read from a server that drops stalled connections", async () => {
    const { url } = await fileServer({
      files: { "/2.jsonl": large },
      instead: ({ path }, response) => {
        const isFirst = path === "/1.jsonl";
        // The first file arrives after the connection of the second would have stalled.
        if (isFirst) setTimeout(() => void response.end(two), 1500);
        else response.socket?.setTimeout(500, () => void response.destroy());
        return isFirst;
      },
    });
    const { code, document } = await checked([`${url}/1.jsonl`, `${url}/2.jsonl`]);
    expect([code, document?.groups.read]).toEqual([0, 202]);
  });

  it("leaves no file in the cache folder", async () => {
    const { url } = await fileServer({ files: { "/step.jsonl": large } });
    const folder = newFolder();
    await checked([`${url}/step.jsonl`], { TMPDIR: folder });
    expect(readdirSync(join(folder))).toEqual([]);
  });

  it("needs --rejects for rejected lines", async () => {
    const { url } = await fileServer({ files: { "/step.jsonl": `${two}{}\n` } });
    const words = ["log", "m", "--split", "train", "--local", "--json", "--on-invalid", "skip"];
    const { code, stderr } = await runRollcall([...words, `${url}/step.jsonl`]);
    expect([code, JSON.parse(stderr).error]).toMatchObject([2, { hint: expect.stringContaining("--rejects <file>") }]);
  });
});

describe("a URL without a file", () => {
  const answering = async (status: number, headers: Readonly<Record<string, string>> = {}, body = "") =>
    await fileServer({
      files: {},
      instead: (_, response) => {
        response.writeHead(status, headers).end(body);
        return true;
      },
    });

  it.each([
    [401, 4, "auth"],
    [403, 4, "auth"],
    [404, 3, "invalid_input"],
    [400, 6, "refused"],
    [429, 5, "unavailable"],
    [499, 6, "refused"],
    [500, 5, "unavailable"],
    [503, 5, "unavailable"],
  ])("gives, for the status %i, exit %i and the code %s", async (status, exit, name) => {
    const { url } = await answering(status);
    const { code, error } = await checked(["--max-wait", "1ms", `${url}/step.jsonl`]);
    expect([code, error.code]).toEqual([exit, name]);
    expect(JSON.stringify(error)).toContain(`${url}/step.jsonl`);
  });

  it("is requested once if the server asks for a longer wait than --max-wait", async () => {
    const { url, asked } = await answering(503, { "retry-after": "60" });
    const { code, error } = await checked(["--max-wait", "1s", `${url}/step.jsonl`]);
    expect([code, error.code, asked.length]).toEqual([5, "unavailable", 1]);
  });

  it("is reported as a web page if it contains HTML", async () => {
    const { url } = await answering(200, { "content-type": "text/html" }, "<!doctype html><title>Sign in</title>");
    const { code, error } = await checked([`${url}/step.jsonl`]);
    expect([code, error.problems[0]]).toMatchObject([
      3,
      { rule: "not-json", message: "expected JSON lines, found a web page" },
    ]);
  });

  it("is reported as empty if it has no bytes", async () => {
    const { url } = await fileServer({ files: { "/step.jsonl": "" } });
    expect((await checked([`${url}/step.jsonl`])).error.problems[0].rule).toBe("input-empty");
  });

  it("gives exit 5 if the connection is refused", async () => {
    const { code, error } = await checked(["http://127.0.0.1:9/step.jsonl"]);
    expect([code, error.code]).toEqual([5, "unavailable"]);
    expect(error.message).toContain("127.0.0.1:9");
  });

  it.each([
    ["http://data.example/step.jsonl", "is plain http"],
    ["https://user:hush-hush@data.example/step.jsonl", "contains a user name or password"],
    ["https://", "as a URL"],
  ])("gives exit 2 before any request if it is unsafe or invalid (row %$)", async (address, says) => {
    const { code, error } = await checked([address]);
    expect([code, error.code, error.message]).toEqual([2, "usage", expect.stringContaining(says)]);
    expect(JSON.stringify(error)).not.toContain("hush");
  });

  it.each(["http://data.example/step.jsonl", "file:///etc/passwd"])(
    "gives exit 6 if it redirects to a URL that is not https (row %$)",
    async (to) => {
      const { url } = await answering(302, { location: to });
      const { code, error } = await checked([`${url}/step.jsonl`]);
      expect([code, error.message]).toEqual([6, expect.stringContaining(`redirects to ${to}, which is not https`)]);
    },
  );

  it("gives exit 2 in log --follow", async () => {
    const words = ["log", "m", "--split", "train", "--local", "--json", "--follow"];
    const { code, stderr } = await runRollcall([...words, "https://data.example/step.jsonl?sig=hush-hush"]);
    expect([code, JSON.parse(stderr).error.message]).toEqual([
      2,
      "cannot follow https://data.example/step.jsonl: it is not a file",
    ]);
  });

  it("does not prevent rollcall from reading other inputs", async () => {
    const { url } = await fileServer({ files: { "/one.jsonl": two } });
    const { code, document } = await checked([`${url}/one.jsonl`, `${url}/two.jsonl`]);
    expect([code, document.groups.read, document.problems.at(-1).rule]).toEqual([3, 2, "remote-not-found"]);
  });
});
