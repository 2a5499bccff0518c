/** What `rollcall serve` does: runs the local service until a signal. */

import { wrongValue } from "../../cli/index.ts";
import { localSettings } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { isFailure, type Problem } from "../../failure.ts";
import { interrupted } from "../../failures.ts";
import { aborted, type Host, isLoopback } from "../../host.ts";
import { type Ended, openService } from "../../service/index.ts";
import type { ServiceSettings } from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import type { TypedServe } from "./command.ts";

/** Serves until a signal: answers what is in flight then, and ends well. @throws Failure `interrupted` where it can't */
export const serve = async (context: Context, typed: TypedServe): Promise<void> => {
  const { host, screen } = context;
  checkAddresses(typed);
  const warnings = openWarnings();
  const { host: address, port, allowHost: allowHosts, dataDir, store, maxBodySize } = typed;
  const flags = { data_dir: dataDir, store, max_body_size: maxBodySize };
  const settings = (await localSettings(context, flags, { warn: warnings.warn })).service();
  const trace = context.flags.debug ? screen.trace : undefined;
  const lines = typed.log === "json" ? openLogLines(host) : undefined;
  const told = { trace, warn: warnings.warn, onEnd: lines?.request };
  const service = context.keep(await openService({ ...settings, host, address, port, allowHosts, ...told }));
  screen.hide(service.key);
  // A promise to programs that wait for it: this line first, whatever else there is to say.
  if (lines === undefined) host.stderr.write(`rollcall service at ${service.url}\n`);
  else lines.listening(service.url);
  warnings.to(lines?.warning ?? screen.warn);
  const sentences = lines === undefined ? howToUse(service, settings, reachedAt(service.url, typed)) : [];
  for (const sentence of sentences) screen.notice(sentence);
  await aborted(host.signal);
  lines?.stopping();
  const isWhole = await service.close();
  lines?.stopped(isWhole);
  if (isWhole) return;
  const reason: unknown = host.signal.reason;
  throw isFailure(reason, "interrupted")
    ? interrupted({ signal: reason.about.signal ?? "SIGTERM", broken: true })
    : reason;
};

/** @throws Failure `option-value-wrong` */
const checkAddresses = ({ host, allowHost }: TypedServe): void => {
  const odd = allowHost.find((name) => !/^[\w.-]+$|^[\da-f:.]+$/i.test(name));
  if (odd !== undefined) throw wrongValue("--allow-host", odd, "a name or an address, without a scheme and a port");
  if (host === "") throw wrongValue("--host", host, "an address");
};

/** Warnings that wait until there is somebody to tell. */
const openWarnings = () => {
  const early: Problem[] = [];
  let tell = (problem: Problem): void => void early.push(problem);
  return {
    warn: (problem: Problem): void => tell(problem),
    to: (warn: (problem: Problem) => void): void => {
      tell = warn;
      early.forEach(warn);
    },
  };
};

const howToUse = (
  { keyFile }: { readonly keyFile: string | undefined },
  { dataDir, store, project }: ServiceSettings,
  url: string,
): readonly string[] => [
  `it keeps ${store === undefined ? `everything in ${dataDir}` : `what is logged in ${store.path}`}; ${keyFile === undefined ? "its key is the one in ROLLCALL_LOCAL_KEY" : `its key is in ${keyFile}`}`,
  `to use it from another shell: export ROLLCALL_BASE_URL=${url} ROLLCALL_INFERENCE_BASE_URL=${url} ROLLCALL_PROJECT=${project} ` +
    "ROLLCALL_ANALYSIS_PROVIDER=local ROLLCALL_ROUTER_PROVIDER=local " +
    (isLoopback(new URL(url).hostname) ? "" : "ROLLCALL_INSECURE_HTTP=true ") +
    (keyFile === undefined
      ? 'ROLLCALL_API_KEY="$ROLLCALL_LOCAL_KEY"'
      : `ROLLCALL_API_KEY_FILE=${commandLine([keyFile])}`),
];

/** Addresses that mean all of a machine's, and the one of them that this machine itself asks. */
const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

/** The address that the service answers to: not every one that it listens on is a name it goes by. */
const reachedAt = (url: string, { host, allowHost }: TypedServe): string => {
  const { port, hostname } = new URL(url);
  const name = everywhere[host] ?? (isLoopback(host) ? hostname : (allowHost[0] ?? hostname));
  return `http://${name}:${port}`;
};

/** Writes what `--log json` says on standard error: a line of JSON for each request, and for what happens to the service. Nothing in it comes from a body, a path or a credential. */
const openLogLines = ({ stderr, now }: Pick<Host, "stderr" | "now">) => {
  const write = (event: string, members: Readonly<Record<string, string | number | boolean | null>>): void =>
    void stderr.write(`${JSON.stringify({ time: new Date(now()).toISOString(), event, ...members })}\n`);
  return {
    listening: (url: string) => write("listening", { url }),
    warning: ({ rule, message }: Problem) => write("warning", { rule, message }),
    request: ({ id, operation, method, status, ms, bytes, stored, key }: Ended) =>
      write("request", {
        id,
        operation,
        method,
        status: status ?? null,
        duration_ms: Math.round(ms * 10) / 10,
        bytes,
        stored_bytes: stored,
        key: key ?? null,
      }),
    stopping: () => write("stopping", {}),
    stopped: (isWhole: boolean) => write("stopped", { whole: isWhole }),
  };
};
