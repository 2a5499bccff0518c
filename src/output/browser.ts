/** Opens a URL in the user's browser. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ignoreErrors } from "../system/files.ts";
import { type Host, removeSecrets } from "../system/host.ts";
import { isBuildSystem } from "./cleaner.ts";

/** Passes the URL in a private file, because other users can read argv. */
export const openBrowser = (host: Host, url: string) => {
  if (!hasDisplay(host)) return undefined;
  return ignoreErrors(() => startBrowser(host, url)) ?? { failed: Promise.resolve(), close: () => undefined };
};

const startBrowser = ({ env, platform }: Host, url: string) => {
  const folder = mkdtempSync(join(tmpdir(), "rollcall-"));
  const close = () => rmSync(folder, { recursive: true, force: true });
  const file = join(folder, "view.html");
  writeFileSync(file, redirectPage(url), { mode: 0o600 });
  // On Windows, `start` would interpret `&` in a path.
  const windows = ["rundll32", "url.dll,FileProtocolHandler"] as const;
  const [command, ...args] = platform === "win32" ? windows : ([platform === "darwin" ? "open" : "xdg-open"] as const);
  const opener = spawn(command, [...args, file], { stdio: "ignore", detached: true, env: removeSecrets(env) });
  opener.unref();
  const failed = new Promise((resolve) => {
    opener.on("error", resolve).once("exit", (code) => code !== 0 && resolve(code));
  });
  // If a browser starts, `failed` never resolves.
  return { failed: failed.then(close), close };
};

/** rollcall composes `url`, so `url` needs no escaping. */
const redirectPage = (url: string) => `<!doctype html>
<meta charset="utf-8">
<meta http-equiv="refresh" content="0;url=${url}">
<a href="${url}">Open rollcall view</a>
`;

const hasDisplay = ({ env, platform }: Host) => {
  if (isBuildSystem(env)) return false;
  if (platform === "win32") return true;
  if (platform === "darwin") return env.SSH_CONNECTION === undefined;
  return Boolean(env.DISPLAY || env.WAYLAND_DISPLAY);
};
