/** `rollcall serve`: the local service in the foreground. */
import type { Command } from "commander";
import type { Context, Start } from "../../context.ts";
import { Failure, type Problem } from "../../failure.ts";
import type { ServiceSettings } from "../../settings/index.ts";
import { examples } from "../help.ts";

/** What `serve` was asked for. */
interface ServeOptions {
  readonly address: string;
  readonly port: number;
  readonly allowHosts: readonly string[];
  readonly dataDir: string | undefined;
  readonly maxBodySize: string | undefined;
}

interface TypedServe {
  readonly host: string;
  readonly port: string;
  readonly allowHost: readonly string[];
  readonly dataDir?: string;
  readonly maxBodySize?: string;
}

/** Declares `serve`. */
export const declareServe = (parent: Command, start: Start): void => {
  const command = parent
    .command("serve")
    .summary("run the local service in the foreground")
    .description("run the local service in the foreground; what is logged to it is kept on disk")
    .option("--host <address>", "the address to listen on", "127.0.0.1")
    .option("--port <number>", "the port to listen on; 0 is any free one", "8700")
    .option("--data-dir <dir>", "the folder of its key, its store and its catalogs")
    .option("--allow-host <name>", "a name beside loopback that it goes by; may be given again", also, [])
    .option("--max-body-size <size>", "the largest request that it takes, such as 64MiB")
    .action(async (typed: TypedServe, own: Command) => {
      await serve(start(own), meant(typed));
    });
  examples(command, ["rollcall serve", "rollcall serve --port 0 --data-dir ./service"]);
};

const also = (name: string, before: readonly string[]): readonly string[] => [...before, name];

/** @throws Failure `option-value-wrong` */
const meant = ({ host, port, allowHost, dataDir, maxBodySize }: TypedServe): ServeOptions => {
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) {
    throw new Failure("option-value-wrong", { option: "--port", value: port, wanted: "a number from 0 to 65535" });
  }
  const odd = allowHost.find((name) => !/^[\w.-]+$|^[\da-f:.]+$/i.test(name));
  if (odd !== undefined) {
    const wanted = "a name or an address, without a scheme and a port";
    throw new Failure("option-value-wrong", { option: "--allow-host", value: odd, wanted });
  }
  if (host === "") throw new Failure("option-value-wrong", { option: "--host", value: host, wanted: "an address" });
  return { address: host, port: Number(port), allowHosts: allowHost, dataDir, maxBodySize };
};

/** Serves until a signal: answers what is in flight then, and ends well. @throws Failure `interrupted` where it can't */
const serve = async (context: Context, options: ServeOptions): Promise<void> => {
  const { host, screen } = context;
  const { address, port, allowHosts } = options;
  const warnings = openWarnings();
  const settings = await settingsOf(context, options, warnings.warn);
  const service = await context.service({ ...settings, address, port, allowHosts, warn: warnings.warn });
  // A promise to programs that wait for it: this line first, whatever else there is to say.
  host.stderr.write(`rollcall service at ${service.url}\n`);
  warnings.to(screen.warn);
  for (const sentence of howToUse(service, settings, reachedAt(service.url, options))) screen.notice(sentence);
  await aborted(host.signal);
  if (!(await service.close())) throw host.signal.reason;
};

/** The settings of the profile `local`. What the environment says of other services is nobody's concern here. */
const settingsOf = async (
  { host, screen, flags, settingsRoom }: Context,
  { dataDir, maxBodySize }: ServeOptions,
  warn: (problem: Problem) => void,
): Promise<ServiceSettings> => {
  const { readSettings } = await settingsRoom();
  const settings = await readSettings({
    host,
    flags: { ...flags, local: true, data_dir: dataDir, max_body_size: maxBodySize },
    hide: screen.hide,
    notice: () => undefined,
    warn,
  });
  return settings.service;
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
  { dataDir, project }: ServiceSettings,
  url: string,
): readonly string[] => [
  `it keeps everything in ${dataDir}; ${keyFile === undefined ? "its key is the one in ROLLCALL_LOCAL_KEY" : `its key is in ${keyFile}`}`,
  `to use it from another shell: export ROLLCALL_BASE_URL=${url} ROLLCALL_INFERENCE_BASE_URL=${url} ROLLCALL_PROJECT=${project} ` +
    "ROLLCALL_ANALYSIS_PROVIDER=local ROLLCALL_ROUTER_PROVIDER=local " +
    (isLoopback(new URL(url).hostname) ? "" : "ROLLCALL_INSECURE_HTTP=true ") +
    (keyFile === undefined ? 'ROLLCALL_API_KEY="$ROLLCALL_LOCAL_KEY"' : `ROLLCALL_API_KEY_FILE=${shellWord(keyFile)}`),
];

/** Addresses that mean all of a machine's, and the one of them that this machine itself asks. */
const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };

/** The address that the service answers to: not every one that it listens on is a name it goes by. */
const reachedAt = (url: string, { address, allowHosts }: ServeOptions): string => {
  const { port, hostname } = new URL(url);
  const name = everywhere[address] ?? (isLoopback(address) ? hostname : (allowHosts[0] ?? hostname));
  return `http://${name}:${port}`;
};

const isLoopback = (hostname: string): boolean => /^(localhost|\[?::1\]?|127(\.\d{1,3}){3})$/.test(hostname);

const shellWord = (word: string): string => (/^[\w/.:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
