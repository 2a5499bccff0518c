/** Defines `rollcall serve` and `rollcall serve keys`. */
import * as cli from "../cli/index.ts";
import { localSettings } from "../connect.ts";
import type { Context } from "../context.ts";
import { Failure, isFailure, type Problem } from "../failure.ts";
import { interrupted, invalidOptionValue } from "../failures.ts";
import { type Host, isLoopback, waitForAbort } from "../host.ts";
import { printObjects } from "../lists/object-list.ts";
import { printDocument } from "../output/index.ts";
import type { Service } from "../service/index.ts";
import { credentialUses, parseProject, type ServiceSettings } from "../settings/index.ts";
import { formatCommandLine } from "../shell-words.ts";

const locationOptions = {
  "data-dir": cli.text("folder of the key, the catalogs and the store", "dir"),
  store: cli.withFacts(cli.text("database of logged data: a file, or postgres://…", "location"), {
    completion: "files",
  }),
};

const options = {
  host: cli.withDefault(cli.text("address to listen on", "address"), "127.0.0.1"),
  port: cli.port("8700"),
  ...locationOptions,
  "allow-host": cli.repeated("host name that clients use, in addition to loopback", "name"),
  "max-body-size": cli.text("largest accepted request, such as 64MiB", "size"),
  log: cli.withDefault(cli.choice("format of the output: text or json", ["text", "json"], "form"), "text"),
};

/** @throws Failure `interrupted` if a signal aborted a request */
const runService = async (context: Context, typed: cli.Values<typeof options>) => {
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
  const flags = { data_dir: dataDir, store, max_body_size: maxBodySize };
  const settings = await (await localSettings(context, flags, warn)).service();
  const trace = context.flags.debug ? screen.trace : undefined;
  const log = typed.log === "json" ? openLog(host) : undefined;
  const onEnd = log && ((ended: object) => log("request", ended));
  const { openService } = await import("../service/index.ts");
  const serviceOptions = { ...settings, host, address, port, allowHosts, trace, warn, onEnd };
  const service = await openService({ ...serviceOptions, usesThread: true });
  context.closeAtEnd(service);
  screen.hideSecret(service.key);
  if (!log) host.stderr.write(`rollcall service at ${service.url}\n`);
  else log("listening", { url: service.url });
  printProblem = log ? ({ rule, message }) => log("warning", { rule, message }) : screen.warn;
  for (const problem of earlyProblems) printProblem(problem);
  const clientHost = isLoopback(address) ? undefined : allowHosts[0];
  if (!log) printClientSettings(context, service, settings, clientHost);
  await waitForAbort(host.signal);
  log?.("stopping");
  const answeredAll = await service.close();
  log?.("stopped", { whole: answeredAll });
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
  screen.notice(`logged data: ${store?.path ?? dataDir}, key: ${keyFile ?? "ROLLCALL_LOCAL_KEY"}`);
  const name = clientHost?.includes(":") ? `[${clientHost}]` : clientHost;
  // `URL.port` is empty for port 80.
  const url = name === undefined ? ownUrl : `http://${name}:${new URL(ownUrl).port || 80}`;
  const insecure = clientHost === undefined ? "" : " ROLLCALL_INSECURE_HTTP=true";
  const keyVariable = keyFile
    ? `ROLLCALL_API_KEY_FILE=${formatCommandLine([keyFile])}`
    : 'ROLLCALL_API_KEY="$ROLLCALL_LOCAL_KEY"';
  screen.noticeCommands("to use this service in another shell, run:", [
    `export ROLLCALL_BASE_URL=${url} ROLLCALL_INFERENCE_BASE_URL=${url} ROLLCALL_PROJECT=${project}`,
    `export ROLLCALL_ANALYSIS_PROVIDER=local ROLLCALL_ROUTER_PROVIDER=local${insecure} ${keyVariable}`,
  ]);
};

const openLog =
  ({ stderr, now }: Host) =>
  (event: string, members: object = {}) =>
    void stderr.write(`${JSON.stringify({ time: new Date(now()).toISOString(), event, ...members })}\n`);

const openKeys = async (context: Context, { dataDir, store }: cli.Values<typeof locationOptions>) => {
  const { createKey, openStore, storePath } = await import("../service/index.ts");
  // In `serve keys add`, `--project` limits the key and is not a setting.
  const settings = await localSettings(context, { data_dir: dataDir, store, project: undefined });
  const serviceSettings = await settings.service();
  const options = { host: context.host, maxWaitMs: settings.require("max_wait"), onUnavailable: () => undefined };
  const { keys } = context.closeAtEnd(await openStore(serviceSettings, options));
  return { keys, path: storePath(serviceSettings), createKey };
};

const parseProjectOption = (typed: string) => {
  const parsed = parseProject(typed);
  if (typeof parsed === "string") return parsed;
  throw invalidOptionValue("--project", typed, parsed.wanted);
};

const ownerArgument = { name: cli.required(cli.text("owner of the key")) };

const toIsoTime = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());

const addKey = cli.command({
  words: "serve keys add",
  hasSideEffects: true,
  about: "create a key for all or some projects and uses, and print it once",
  args: ownerArgument,
  options: {
    project: cli.withFacts(cli.commaList("allowed project of the key", "team/project"), {
      default: "all",
      completion: "projects",
    }),
    use: cli.withFacts(cli.choices("allowed use of the key: log, inference or calls", credentialUses, "use"), {
      default: "all",
    }),
    ...locationOptions,
  },
  examples: ["rollcall serve keys add ann", "rollcall serve keys add ci --project research/kimi --use log"],
  run: async (context, { name, project, use, ...where }) => {
    const { screen, host } = context;
    if (!/^[\w.@-]{1,64}$/.test(name)) throw invalidOptionValue("<name>", name, "1 to 64 letters, digits and . @ _ -");
    const projects = [...new Set(project.map(parseProjectOption))];
    const uses = use.length === 0 ? credentialUses : use;
    const { keys, createKey } = await openKeys(context, where);
    const { key, digest } = createKey();
    if (!(await keys.add({ name, digest, projects, uses, created: host.now(), revoked: undefined }))) {
      const hint = `choose another name, or run \`rollcall serve keys revoke ${name}\` first`;
      throw new Failure("usage", "key-exists", `${name} already has a key`, { hint });
    }
    screen.notice(`copy the key of ${name} now, because rollcall stores only its digest`);
    if (screen.isForProgram) return await printDocument(screen, { name, key, projects, uses });
    await screen.printText(`${key}\n`);
    // Without `--for`, `auth login` could test a use that the key does not have.
    const login = `rollcall auth login${uses.length === 1 ? ` --for ${uses[0]}` : ""}`;
    screen.notice(`${name} saves the key with \`${login} --base-url <url> --project <team/project>\``);
  },
});

const listKeys = cli.command({
  words: "serve keys list",
  about: "list the keys, including revoked ones",
  options: locationOptions,
  examples: ["rollcall serve keys list", "rollcall serve keys list --json"],
  run: async (context, typed) => {
    const { keys, path } = await openKeys(context, typed);
    const rows = (await keys.list()).map(({ name, projects, uses, created, revoked }) => {
      return { name, projects, uses, created: toIsoTime(created), revoked: toIsoTime(revoked) };
    });
    if (rows.length === 0) context.screen.notice(`no keys in ${path}`);
    const text = ({ projects }: (typeof rows)[number]) => (projects.length === 0 ? "all" : projects.join(", "));
    const columns = { name: 0, projects: { rank: 0, text }, uses: 0, created: 1, revoked: 0 };
    await printObjects(context.screen, { keys: rows }, { member: "keys", columns });
  },
});

const revokeKey = cli.command({
  words: "serve keys revoke",
  hasSideEffects: true,
  about: "revoke a key in every service that shares the store",
  args: ownerArgument,
  options: locationOptions,
  examples: ["rollcall serve keys revoke ann"],
  run: async (context, { name, ...where }) => {
    const { screen, host } = context;
    const { keys } = await openKeys(context, where);
    if (!(await keys.revoke(name, host.now()))) {
      const hint = "list the keys with `rollcall serve keys list`";
      throw new Failure("not_found", "key-unknown", `no valid key has the name ${name}`, { hint });
    }
    screen.notice(`revoked the key of ${name}, so every service that shares the store refuses it`);
    if (screen.isForProgram) await printDocument(screen, { revoked: name });
  },
});

const keys = cli.command({
  words: "serve keys",
  about: "manage keys for other people (the store has only digests of the keys)",
  options: locationOptions,
  examples: ["rollcall serve keys list", "rollcall serve keys add ann --project research/kimi"],
  subcommands: [addKey, listKeys, revokeKey],
});

export const serve = cli.command({
  words: "serve",
  loadOutputs: () => import("./serve-keys-output.ts"),
  summary: "run the local service in the foreground",
  about: "run the local service in the foreground, and store logged data on disk",
  options,
  examples: ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"],
  run: runService,
  subcommands: [keys],
});
