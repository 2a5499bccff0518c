/** `rollcall serve`: the local service in the foreground, and the keys of people for it. */
import {
  choice,
  choices,
  command,
  port,
  repeated,
  required,
  text,
  type Values,
  withDefault,
  wrongValue,
} from "../cli/index.ts";
import { localSettings } from "../connect.ts";
import type { Context } from "../context.ts";
import { isFailure, type Problem } from "../failure.ts";
import { interrupted } from "../failures.ts";
import { type Host, isLoopback, waitForAbort } from "../host.ts";
import { findNearest } from "../nearest.ts";
import { printDocument } from "../output/index.ts";
import type { EndedExchange, Store } from "../service/index.ts";
import { credentialUses, parseProject, type ServiceSettings } from "../settings/index.ts";
import { formatCommandLine } from "../shell-words.ts";
import { keyExists, keyUnknown } from "./failures.ts";
import { printObjects } from "./lists/object-list.ts";

const locationOptions = {
  "data-dir": text("the folder of its key, its catalogs and its store", "dir"),
  store: text("where it keeps what is logged: a file, or postgres://…", "place"),
};

const options = {
  host: withDefault(text("the address to listen on", "address"), "127.0.0.1"),
  port: port("8700"),
  ...locationOptions,
  "allow-host": repeated("a name beside loopback that it goes by; may be given again", "name"),
  "max-body-size": text("the largest request that it takes, such as 64MiB", "size"),
  log: withDefault(choice("what is said of requests: text or json", ["text", "json"], "form"), "text"),
};

type ServeOptions = Values<typeof options>;

/** Serves until a signal: answers what is in flight then, and ends well. @throws Failure `interrupted` where it can't */
const runService = async (context: Context, typed: ServeOptions): Promise<void> => {
  const { host, screen } = context;
  const { host: address, port, allowHost: allowHosts, dataDir, store, maxBodySize } = typed;
  const invalidHost = allowHosts.find((name) => !/^[\w.-]+$|^[\da-f:.]+$/i.test(name));
  if (invalidHost !== undefined)
    throw wrongValue("--allow-host", invalidHost, "a name or an address, without a scheme and a port");
  if (address === "") throw wrongValue("--host", address, "an address");
  // Warnings wait until there is somebody to tell.
  const earlyProblems: Problem[] = [];
  let report = (problem: Problem): void => void earlyProblems.push(problem);
  const warn = (problem: Problem): void => report(problem);
  const flags = { data_dir: dataDir, store, max_body_size: maxBodySize };
  const settings = (await localSettings(context, flags, { warn })).service();
  const trace = context.flags.debug ? screen.trace : undefined;
  const log = typed.log === "json" ? openLog(host) : undefined;
  const onEnd = log && ((ended: EndedExchange) => log("request", requestFacts(ended)));
  const { openService } = await import("../service/index.ts");
  const service = context.closeAtEnd(
    await openService({ ...settings, host, address, port, allowHosts, trace, warn, onEnd }),
  );
  screen.hideSecret(service.key);
  // A promise to programs that wait for it: this line first, whatever else there is to say.
  if (log === undefined) host.stderr.write(`rollcall service at ${service.url}\n`);
  else log("listening", { url: service.url });
  report = log === undefined ? screen.warn : ({ rule, message }) => log("warning", { rule, message });
  for (const problem of earlyProblems) report(problem);
  if (log === undefined) printUsage(context, service.keyFile, settings, clientUrl(service.url, typed));
  await waitForAbort(host.signal);
  log?.("stopping");
  const isWhole = await service.close();
  log?.("stopped", { whole: isWhole });
  if (isWhole) return;
  const reason: unknown = host.signal.reason;
  throw isFailure(reason, "interrupted")
    ? interrupted({ signal: reason.details.signal ?? "SIGTERM", broken: true })
    : reason;
};

const printUsage = ({ screen }: Context, keyFile: string | undefined, settings: ServiceSettings, url: string): void => {
  const { dataDir, store, project } = settings;
  const storedIn = store === undefined ? `everything in ${dataDir}` : `what is logged in ${store.path}`;
  const key = keyFile === undefined ? "its key is the one in ROLLCALL_LOCAL_KEY" : `its key is in ${keyFile}`;
  screen.notice(`it keeps ${storedIn}; ${key}`);
  const variables = [
    `ROLLCALL_BASE_URL=${url} ROLLCALL_INFERENCE_BASE_URL=${url} ROLLCALL_PROJECT=${project}`,
    "ROLLCALL_ANALYSIS_PROVIDER=local ROLLCALL_ROUTER_PROVIDER=local",
    ...(isLoopback(new URL(url).hostname) ? [] : ["ROLLCALL_INSECURE_HTTP=true"]),
    keyFile === undefined
      ? 'ROLLCALL_API_KEY="$ROLLCALL_LOCAL_KEY"'
      : `ROLLCALL_API_KEY_FILE=${formatCommandLine([keyFile])}`,
  ];
  screen.notice(`to use it from another shell: export ${variables.join(" ")}`);
};

/** Addresses that mean all of a machine's, and the one of them that this machine itself asks. */
const wildcardHosts: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

/** The address that the service answers to: not every one that it listens on is a name it goes by. */
const clientUrl = (url: string, { host, allowHost }: ServeOptions): string => {
  const { port, hostname } = new URL(url);
  return `http://${wildcardHosts[host] ?? (isLoopback(host) ? hostname : (allowHost[0] ?? hostname))}:${port}`;
};

/** Writes what `--log json` says on standard error: a line of JSON for each request, and for what happens to the service. */
const openLog =
  ({ stderr, now }: Host) =>
  (event: string, members: object = {}): void =>
    void stderr.write(`${JSON.stringify({ time: new Date(now()).toISOString(), event, ...members })}\n`);

/** A request as it is logged: nothing comes from a body, a path or a credential. */
const requestFacts = ({ id, operation, method, status, ms, bytes, stored, key }: EndedExchange) => ({
  id,
  operation,
  method,
  status: status ?? null,
  duration_ms: Math.round(ms * 10) / 10,
  bytes,
  stored_bytes: stored,
  key: key ?? null,
});

/** The keys of the store that is meant, and where it is. */
const openKeys = async (
  context: Context,
  { dataDir, store }: Values<typeof locationOptions>,
): Promise<Pick<Store, "keys"> & { readonly path: string }> => {
  const { openStore, storePath } = await import("../service/index.ts");
  // The projects that were typed are the key's, not the service's.
  const settings = await localSettings(context, { data_dir: dataDir, store, project: undefined });
  const maxWaitMs = settings.require("max_wait");
  const storeSettings = settings.service();
  const { keys } = context.closeAtEnd(
    await openStore(storeSettings, { host: context.host, maxWaitMs, onAway: () => undefined }),
  );
  return { keys, path: storePath(storeSettings) };
};

const parseProjectOption = (typed: string): string => {
  const parsed = parseProject(typed);
  if (parsed.ok) return parsed.value;
  throw wrongValue("--project", typed, parsed.wanted);
};

const toIsoTime = (ms: number | undefined): string | null => (ms === undefined ? null : new Date(ms).toISOString());

/** @throws Failure `key-exists`, `invalid-option-value` */
const addKey = command({
  words: "serve keys add",
  about: "make a key, for the projects of --project and the uses of --use, or for all; it is printed this once",
  args: { name: required(text("whose key it is")) },
  options: {
    // What everywhere else is one project of the run may be several of a key.
    project: repeated("a project that it is for; may be given again", "team/project"),
    use: choices(
      "a use that it is for: log, inference or calls; may be given again",
      ["log", "inference", "calls"],
      "use",
    ),
  },
  above: locationOptions,
  examples: ["rollcall serve keys add ann", "rollcall serve keys add ci --project research/kimi --use log"],
  run: async (context, { name, project, use, ...where }) => {
    const { screen, host } = context;
    if (!/^[\w.@-]{1,64}$/.test(name)) {
      throw wrongValue("<name>", name, "a name of letters, digits and . @ _ -, at most 64");
    }
    const projects = [...new Set(project.flatMap((typed) => typed.split(",")).map(parseProjectOption))];
    const uses = use.length === 0 ? credentialUses : use;
    const { keys } = await openKeys(context, where);
    const { key, digest } = (await import("../service/index.ts")).createKey();
    const isNew = await keys.add({ name, digest, projects, uses, created: host.now(), revoked: undefined });
    if (!isNew) throw keyExists(name);
    screen.notice(`this is the only time that the key of ${name} is shown: only a digest of it is stored`);
    if (screen.isForProgram) await printDocument(screen, { name, key, projects, uses });
    else await screen.printText(`${key}\n`);
  },
});

/** Lists the keys that were revoked too. */
const listKeys = command({
  words: "serve keys list",
  about: "the keys, what each is for, and which were revoked",
  above: locationOptions,
  examples: ["rollcall serve keys list", "rollcall serve keys list --json"],
  run: async (context, typed) => {
    const { keys, path } = await openKeys(context, typed);
    const rows = (await keys.list()).map(({ name, projects, uses, created, revoked }) => {
      return { name, projects, uses, created: toIsoTime(created), revoked: toIsoTime(revoked) };
    });
    if (rows.length === 0) context.screen.notice(`there are no keys in ${path}`);
    const ofKey = ({ projects }: (typeof rows)[number]) => (projects.length === 0 ? "all" : projects.join(", "));
    const columns = { name: 0, projects: { rank: 0, text: ofKey }, uses: 0, created: 1, revoked: 0 };
    await printObjects(context.screen, { member: "keys", rows, columns });
  },
});

/** @throws Failure `key-unknown` */
const revokeKey = command({
  words: "serve keys revoke",
  about: "refuse a key from now on, on every service of the store",
  args: { name: required(text("whose key")) },
  above: locationOptions,
  examples: ["rollcall serve keys revoke ann"],
  run: async (context, { name, ...where }) => {
    const { screen, host } = context;
    const { keys } = await openKeys(context, where);
    if (!(await keys.revoke(name, host.now()))) {
      const known = (await keys.list()).flatMap((key) => (key.revoked === undefined ? [key.name] : []));
      throw keyUnknown(name, findNearest(name, known));
    }
    screen.notice(`the key of ${name} is revoked: every service refuses it within a few seconds`);
    if (screen.isForProgram) await printDocument(screen, { revoked: name });
  },
});

const keys = command({
  words: "serve keys",
  about: "the keys of people, kept in the store as digests",
  above: locationOptions,
  examples: ["rollcall serve keys list", "rollcall serve keys add ann --project research/kimi"],
  verbs: [addKey, listKeys, revokeKey],
});

/** `serve`, and the verbs of `serve keys`. */
export const serve = command({
  words: "serve",
  summary: "run the local service in the foreground",
  about: "run the local service in the foreground; what is logged to it is kept on disk",
  options,
  examples: ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"],
  run: runService,
  verbs: [keys],
});
