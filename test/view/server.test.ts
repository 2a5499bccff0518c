import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";
import { asked, fileOf, groupLine, startPageServer, startView, whenRead } from "./viewing.ts";

const groups = fileOf("groups.jsonl", `${groupLine([0, 1])}\n${groupLine([1, 1])}\n`);

describe("rollcall view", () => {
  it("prints only its URL, and exits with 0 after Ctrl-C", async () => {
    const page = await startView([groups]);
    expect(page.printed()).toBe(`${page.address}\n`);
    await expect.poll(page.said).toContain("until Ctrl-C");
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
  });

  it("prints its URL as one document with --json", async () => {
    const page = await startView([groups, "--json"]);
    expect(JSON.parse(page.printed())).toEqual({ status: "serving", url: page.address });
    page.child.kill("SIGTERM");
    expect(await page.ended).toBe(0);
    expect(page.said()).toBe("");
  });

  it("exits with 2 if the port is in use", async () => {
    const page = await startView([groups]);
    const ran = await runRollcall(["view", "--no-open", groups, "--port", new URL(page.url).port]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain("`rollcall view` cannot listen on 127.0.0.1");
    expect(ran.stderr).not.toMatch(/service|--host/);
  });
});

describe("the browser that rollcall view opens", () => {
  it("gets a private file that redirects to the page, which is deleted when the page is open", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    const script = '#!/bin/sh\ncp -p "$1" "$OPENED/page.html"\nprintf "%s\\n" "$0" "$@" > "$OPENED/words"\n';
    writeFileSync(join(folder, "xdg-open"), script, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ":0", OPENED: folder };
    const page = await startPageServer(["view", groups], { env });
    await expect.poll(() => existsSync(join(folder, "words"))).toBe(true);
    const [, file = "", ...others] = readFileSync(join(folder, "words"), "utf8").trimEnd().split("\n");
    expect(others).toEqual([]);
    expect(file).not.toContain(page.token);
    expect([statSync(join(folder, "page.html")).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    const copy = readFileSync(join(folder, "page.html"), "utf8");
    expect(copy).toContain(`url=${page.address}"`);
    expect(readFileSync(file, "utf8")).toBe(copy);
    await page.ask("/page.js");
    expect(existsSync(file)).toBe(true);
    await page.ask("/api/state");
    await expect.poll(() => existsSync(dirname(file))).toBe(false);
  });

  it.each<[what: string, script: string | undefined]>([
    ["xdg-open does not exist", undefined],
    ["xdg-open fails", "#!/bin/sh\nexit 3\n"],
  ])("is not needed for the page if it cannot start because %s", async (_, script) => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    if (script !== undefined) writeFileSync(join(folder, "xdg-open"), script, { mode: 0o755 });
    const page = await startPageServer(["view", groups], { env: { PATH: folder, DISPLAY: ":0", TMPDIR: folder } });
    await expect.poll(() => page.said()).toContain("cannot start a browser");
    expect(page.said()).not.toContain("display");
    await whenRead(page);
    expect(readdirSync(folder).filter((name) => name !== "xdg-open")).toEqual([]);
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
  });

  it("leaves no file if it never opens the page", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    writeFileSync(join(folder, "xdg-open"), '#!/bin/sh\nprintf "%s" "$1" > "$OPENED/file"\n', { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ":0", OPENED: folder };
    const page = await startPageServer(["view", groups], { env });
    await expect.poll(() => existsSync(join(folder, "file"))).toBe(true);
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
    expect(existsSync(readFileSync(join(folder, "file"), "utf8"))).toBe(false);
  });
});

describe("the server of the page", () => {
  it("answers 401 without the token, and with a wrong one", async () => {
    const page = await startView([groups]);
    await whenRead(page);
    for (const name of ["state", "rows", "charts", "group", "trajectory"]) {
      const path = `/api/${name}?query=${encodeURIComponent('{"group":1,"trajectory":1}')}`;
      for (const headers of [
        {},
        { Authorization: `Bearer ${page.token}x` },
        { Authorization: `Basic ${page.token}` },
      ]) {
        const { status, body } = await asked(page.url, path, { headers });
        expect([path, status, body]).toEqual([path, 401, expect.stringContaining("token")]);
      }
      expect((await page.ask(path)).status).toBe(200);
    }
  });

  const unknownHost = 'unknown host "rebound.example" (open the URL that rollcall view printed)';

  it.each([
    ["another host name", { Host: "rebound.example" }],
    ["another origin", { Origin: "https://elsewhere.example" }],
    ["the mark of a foreign page", { "Sec-Fetch-Site": "cross-site" }],
  ])("answers 403 to a request with %s, also for the page and its script", async (_, headers) => {
    const page = await startView([groups]);
    for (const path of ["/", "/page.js", "/api/state"]) {
      const own = { ...headers, Authorization: `Bearer ${page.token}` };
      const { status, body } = await asked(page.url, path, { headers: own });
      const detail = "Host" in headers ? unknownHost : "requests from other sites are refused";
      expect([status, JSON.parse(body)]).toEqual([403, { detail }]);
    }
  });

  it("serves for a link from another site only the page, in a new tab", async () => {
    const page = await startView([groups]);
    const led = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
    const own = { ...led, Authorization: `Bearer ${page.token}` };
    const to = async (path: string, dest: string, mode = "navigate") => {
      const headers = { ...own, "Sec-Fetch-Dest": dest, "Sec-Fetch-Mode": mode };
      return (await asked(page.url, path, { headers })).status;
    };
    expect([await to("/", "document"), await to("/", "document", "cors")]).toEqual([200, 403]);
    expect([await to("/", "iframe"), await to("/page.js", "document"), await to("/api/state", "document")]).toEqual([
      403, 403, 403,
    ]);
  });

  it("sends with every answer a policy under which the page loads only its own files", async () => {
    const page = await startView([groups]);
    for (const path of ["/", "/page.js", "/page.css", "/api/state", "/nothing"]) {
      const { headers } = await page.ask(path);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "x-frame-options": "DENY",
      });
      expect(headers["content-security-policy"]).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; connect-src 'self'; frame-ancestors 'none'",
      );
    }
  });

  it("answers HEAD like GET, without a body", async () => {
    const page = await startView([groups]);
    await whenRead(page);
    for (const path of ["/", "/page.js", "/api/state", "/nothing"]) {
      const [got, head] = await Promise.all(
        ["GET", "HEAD"].map((method) =>
          asked(page.url, path, { method, headers: { Authorization: `Bearer ${page.token}` } }),
        ),
      );
      expect([path, head?.status, head?.body]).toEqual([path, got?.status, ""]);
      expect(head?.headers["content-type"]).toBe(got?.headers["content-type"]);
    }
  });

  it("serves a page of at most 200 kB without URLs of other sites", async () => {
    const page = await startView([groups]);
    const files = await Promise.all(["/", "/page.js", "/page.css"].map(async (path) => (await page.ask(path)).body));
    expect(Buffer.byteLength(files.join(""))).toBeLessThan(200_000);
    // Browsers do not request XML namespaces.
    const named = files.join("").match(/https?:\/\/[^\s"'`]+/g) ?? [];
    expect(named.filter((address) => !address.startsWith("http://www.w3.org/"))).toEqual([]);
  });
});
