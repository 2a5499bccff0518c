import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { openBrowser } from "../../src/output/browser.ts";
import type { Host } from "../../src/system/host.ts";
import { testHost } from "../support/host.ts";

describe("openBrowser", () => {
  it.each<[what: string, opener: string | undefined, platform: Host["platform"], env: Record<string, string>]>([
    ["xdg-open on an X display", "xdg-open", "linux", { DISPLAY: ":0" }],
    ["xdg-open on a Wayland display", "xdg-open", "linux", { WAYLAND_DISPLAY: "w", SSH_CONNECTION: "1" }],
    ["nothing on Linux without a display", undefined, "linux", { DISPLAY: "" }],
    ["nothing on Linux in CI", undefined, "linux", { DISPLAY: ":0", CI: "true" }],
    ["open on macOS", "open", "darwin", {}],
    ["nothing on macOS over SSH", undefined, "darwin", { SSH_CONNECTION: "1" }],
    ["nothing on macOS in CI", undefined, "darwin", { GITHUB_ACTIONS: "true" }],
    ["rundll32 on Windows", "rundll32 url.dll,FileProtocolHandler", "win32", {}],
  ])("starts %s", async (_, opener, platform, env) => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    for (const name of ["xdg-open", "open", "rundll32"])
      writeFileSync(join(folder, name), '#!/bin/sh\necho "$0 $*" > "$OPENED"\nexit 3\n', { mode: 0o755 });
    const opened = join(folder, "opened");
    writeFileSync(opened, "");
    const host = testHost({ env: { PATH: `${folder}:${process.env.PATH}`, OPENED: opened, ...env } });
    // The failure of the opener ends the wait.
    await openBrowser({ ...host, platform }, "http://127.0.0.1:1/")?.failed;
    const [, started] = /^(.*) \S*view\.html\n$/.exec(readFileSync(opened, "utf8")) ?? [];
    expect(started).toBe(opener && join(folder, opener));
  });

  it("fails without a folder for temporary files", async () => {
    vi.stubEnv("TMPDIR", join(tmpdir(), "missing"));
    const opened = openBrowser(testHost({ env: { DISPLAY: ":0" } }), "http://127.0.0.1:1/");
    vi.unstubAllEnvs();
    expect(await opened?.failed.then(() => "failed")).toBe("failed");
    opened?.close();
  });
});
