/** Defines `rollcall serve`. */

import { command } from "../cli/command.ts";
import { port, repeated, text, type Values, withDefault } from "../cli/kinds.ts";
import { isFailure, type Problem } from "../failure.ts";
import type { Service } from "../service/open-service.ts";
import type { Context } from "../session/context.ts";
import { readSettings, type ServiceSettings } from "../settings/read.ts";
import { interrupted, invalidOptionValue } from "../system/failures.ts";
import { isLoopback, waitForAbort } from "../system/host.ts";
import { formatCommandLine } from "../text/shell-words.ts";

const options = {
  host: withDefault(text("address to listen on", "address"), "127.0.0.1"),
  port: port("8700"),
  "data-dir": text("folder of the key, the catalogs and the store", "dir", { default: "the data folder" }),
  store: text("file of logged data", "file", { default: "local.db in --data-dir" }),
  "allow-host": repeated("host name that clients use, in addition to loopback", "name"),
  "max-body-size": text("largest accepted request", "size", { default: "64MiB" }),
};

/** @throws Failure `interrupted` if a signal aborted a request */
const runService = async (context: Context, typed: Values<typeof options>) => {
  const { host, screen } = context;
  const { host: address, port, allowHost: allowHosts, dataDir, store, maxBodySize } = typed;
  const invalidHost = allowHosts.find((name) => !/^[\w.-]+$|^[\da-f:.]+$/i.test(name));
  if (invalidHost !== undefined)
    throw invalidOptionValue("--allow-host", invalidHost, "a host name or an IP address, without scheme and port");
  if (address === "") throw invalidOptionValue("--host", address, "a host name or an IP address");
  // The first line of output must be the URL.
  const earlyProblems: Problem[] = [];
  let printProblem = (problem: Problem): void => void earlyProblems.push(problem);
  const warn = (problem: Problem) => printProblem(problem);
  const flags = { ...context.flags, local: true, data_dir: dataDir, store, max_body_size: maxBodySize };
  const settings = await (
    await readSettings({ host, flags, screen: { hideSecret: screen.hideSecret, notice: screen.notice, warn } })
  ).service();
  const trace = context.flags.debug ? screen.trace : undefined;
  const { openService } = await import("../service/open-service.ts");
  const service = await openService({ ...settings, host, address, port, allowHosts, trace, warn });
  context.closeAtEnd(service);
  screen.hideSecret(service.key);
  host.stderr.write(`rollcall service at ${service.url}\n`);
  printProblem = screen.warn;
  for (const problem of earlyProblems) printProblem(problem);
  const clientHost = isLoopback(address) ? undefined : allowHosts[0];
  printClientSettings(context, service, settings, clientHost);
  await waitForAbort(host.signal);
  const answeredAll = await service.close();
  if (answeredAll) return;
  const reason: unknown = host.signal.reason;
  if (!isFailure(reason, "interrupted")) throw reason;
  const hint = "resend aborted requests only with an Idempotency-Key, because their outcome is unknown";
  const effect = ": the service aborted requests that took longer than 10 s";
  throw interrupted({ signal: reason.details.signal ?? "SIGTERM", hint }, effect);
};

const printClientSettings = (
  { screen }: Context,
  { url: ownUrl, keyFile }: Service,
  { dataDir, store, project }: ServiceSettings,
  clientHost: string | undefined,
) => {
  screen.notice(`logged data: ${store ?? dataDir}, key: ${keyFile ?? "ROLLCALL_LOCAL_KEY"}`);
  const name = clientHost?.includes(":") ? `[${clientHost}]` : clientHost;
  // `URL.port` is empty for port 80.
  const url = name === undefined ? ownUrl : `http://${name}:${new URL(ownUrl).port || 80}`;
  const insecure = clientHost === undefined ? "" : " ROLLCALL_INSECURE_HTTP=true";
  const keyVariable = keyFile
    ? `ROLLCALL_API_KEY_FILE=${formatCommandLine([keyFile])}`
    : 'ROLLCALL_API_KEY="$ROLLCALL_LOCAL_KEY"';
  screen.noticeCommands("to use this service in another shell, run:", [
    `export ROLLCALL_BASE_URL=${url} ROLLCALL_LOG_BASE_URL=${url} ROLLCALL_INFERENCE_BASE_URL=${url}`,
    `export ROLLCALL_PROJECT=${project} ROLLCALL_ANALYSIS_PROVIDER=local ROLLCALL_ROUTER_PROVIDER=local${insecure} ${keyVariable}`,
  ]);
};

export const serve = command({
  words: "serve",
  about: "run the local service in the foreground",
  options,
  examples: ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"],
  run: runService,
});
