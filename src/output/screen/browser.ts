/** Opens an address in the browser of the person in front of the screen, where there is one. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Host, withoutSecrets } from "../../host.ts";
import { isBuildSystem } from "./safe.ts";

/** A browser that is being opened. */
export interface OpenedBrowser {
  /** Resolves where it turns out that none could be started. */
  readonly failed: Promise<void>;
  /** Removes what it was opened with: its page is there. */
  close(): void;
}

/**
 * Opens an address; undefined where there is no display to open it on. The address may hold a token: other users see
 * the words that a program is started with, so that these name a file which leads there, and which nobody else can read.
 */
export const openBrowser = (host: Host, url: string): OpenedBrowser | undefined => {
  if (!hasDisplay(host)) return undefined;
  try {
    return startBrowser(host, url);
  } catch {
    // There is no place for its file.
    return { failed: Promise.resolve(), close: () => undefined };
  }
};

const startBrowser = (host: Host, url: string): OpenedBrowser => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-"));
  const close = () => rmSync(folder, { recursive: true, force: true });
  const file = join(folder, "view.html");
  writeFileSync(file, pageTo(url), { mode: 0o600 });
  const [command, ...args] = openerOf(host.platform);
  const opener = spawn(command, [...args, file], {
    stdio: "ignore",
    detached: true,
    env: withoutSecrets(host.env),
  });
  // The browser outlives what opened it.
  opener.unref();
  const failed = new Promise<void>((resolve) => {
    opener.on("error", () => resolve());
    // What opens addresses says with its exit code that nothing on this machine does.
    opener.once("exit", (code) => code !== 0 && resolve());
  });
  return { failed: failed.then(close), close };
};

/** A page that leads to another. `url` is rollcall's own, without a character that HTML would take for its own. */
const pageTo = (url: string): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${url}">
<title>rollcall view</title>
<p><a href="${url}">the page of rollcall view</a></p>
</html>
`;

/** Over SSH, and in a build, a browser would open on a screen that nobody looks at. */
const hasDisplay = ({ env, platform }: Host): boolean => {
  if (isBuildSystem(env)) return false;
  if (platform === "win32") return true;
  if (platform === "darwin") return env.SSH_CONNECTION === undefined;
  return [env.DISPLAY, env.WAYLAND_DISPLAY].some((name) => name !== undefined && name !== "");
};

const openerOf = (platform: Host["platform"]): readonly [string, ...string[]] => {
  if (platform === "darwin") return ["open"];
  // `start` is a word of cmd, which takes `&` in an address for its own: this takes it as it is.
  return platform === "win32" ? ["rundll32", "url.dll,FileProtocolHandler"] : ["xdg-open"];
};
