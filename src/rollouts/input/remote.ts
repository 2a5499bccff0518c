/** Opens inputs at http://, https:// and hf:// URLs. */
import { Readable } from "node:stream";
import { withSignal } from "../../system/host.ts";
import type { DownloadReply } from "../../wire/client/download.ts";
import { invalidRemoteUrl, type RemoteLocation } from "./failures.ts";
import { openHub } from "./hub.ts";
import { skipByName } from "./list-folder.ts";
import { isRolloutName, plainUrl } from "./names.ts";
import { isAllowed, type RemoteAccess, requestFile } from "./remote-file.ts";

export type Remotes = Awaited<ReturnType<typeof openRemotes>>;

/** Small files arrive earlier if their requests overlap. */
const maxFilesAhead = 8;
/** Servers drop connections that stall, so a larger file is requested again when it is read. */
const maxBytesAhead = 2 ** 17;

export const openRemotes = async (access: RemoteAccess) => {
  const { openDownloads } = await import("../../wire/client/download.ts");
  const abort = new AbortController();
  const downloads = openDownloads({ ...access, host: withSignal(access.host, abort.signal) });
  const context = { downloads, insecureHttp: access.insecureHttp, clean: access.clean };
  const names = new Map<string, string>();
  const locations = new Map<string, RemoteLocation>();
  const repliesAhead = new Map<string, Promise<DownloadReply | undefined>>();
  let hub: ReturnType<typeof openHub> | undefined;
  const loadHub = async (name: string) => {
    if (/^(?:s3|gs):/.test(name)) throw invalidRemoteUrl(name, "bucket");
    hub ??= openHub(access);
    return await hub;
  };
  const requestAhead = (location: RemoteLocation) => {
    if (repliesAhead.has(location.name)) return;
    const reply = requestFile(location, context).then((received) => {
      if (Number(received.headers["content-length"]) <= maxBytesAhead) return received;
      received.cancel();
      return undefined;
    });
    // This handler prevents an unhandled rejection.
    reply.catch(() => undefined);
    repliesAhead.set(location.name, reply);
  };
  const request = async (location: RemoteLocation) =>
    (await repliesAhead.get(location.name)) ?? (await requestFile(location, context));
  const readChunks = async function* (reply: Promise<DownloadReply>) {
    const { headers, chunks } = await reply;
    const size = headers["content-length"];
    let bytes = 0;
    for await (const chunk of chunks()) {
      bytes += chunk.length;
      access.onFetched({ bytes, of: size === undefined ? undefined : Number(size) });
      yield chunk;
    }
  };
  /** Returns a name that no other URL has. @throws Failure `invalid-remote-url` */
  const assignName = async (url: string) => {
    const known = names.get(url);
    if (known) return known;
    const plain = plainUrl(url);
    let name = plain;
    // URLs that differ in the query have the same plain URL.
    for (let number = 2; locations.has(name); number++) name = `${plain}#${number}`;
    if (!/^(?:https?|s3|gs|hf):/.test(name)) throw invalidRemoteUrl(name, "malformed");
    const isWeb = /^https?:/.test(name);
    locations.set(name, isWeb ? webLocation(name, url, access) : (await loadHub(name)).locate(name, url));
    names.set(url, name);
    return name;
  };
  return {
    assignName,
    /** @throws UnusableInput; Failure */
    filesBelow: async (url: string) => {
      const name = plainUrl(url);
      if (!url.endsWith("/") || /^https?:/.test(name)) return undefined;
      const paths = await (await loadHub(name)).listFiles(name, url, context);
      const visible = paths.filter((path) => !/(?:^|\/)\./.test(path)).toSorted();
      const files: string[] = [];
      for (const path of visible.filter(isRolloutName)) files.push(await assignName(`${url}${path}`));
      const others = visible.filter((path) => !isRolloutName(path));
      return { files, unreadable: [], skipped: others.flatMap((path) => skipByName(`${name}${path}`)) };
    },
    /** Expects a name from `assignName`. The stream throws the errors of `requestFile`. */
    open: (name: string) => {
      const order = [...locations.values()];
      const position = order.findIndex((location) => location.name === name);
      const [location, ...next] = order.slice(position, position + maxFilesAhead);
      const reply = location && request(location);
      reply?.catch(() => undefined);
      for (const one of next) requestAhead(one);
      return Readable.from(reply ? readChunks(reply) : []);
    },
    close() {
      abort.abort();
      downloads.close();
    },
  };
};

const webLocation = (name: string, text: string, access: RemoteAccess): RemoteLocation => {
  if (!URL.canParse(text)) throw invalidRemoteUrl(name, "malformed");
  const url = new URL(text);
  for (const secret of [url.password, ...findUrlSecrets(url)]) access.hide(secret);
  if (`${url.username}${url.password}` !== "") throw invalidRemoteUrl(name, "user");
  if (!isAllowed(url, access)) throw invalidRemoteUrl(name, "http");
  return { name, store: "web", credentialSource: undefined, url, headers: [] };
};

const secretParameter = /sig|token|cred|secret|key|pass|auth|policy/i;
const maxPlainLength = 24;

const findUrlSecrets = ({ searchParams }: URL) =>
  [...searchParams]
    .filter(([name, value]) => secretParameter.test(name) || (value.length > maxPlainLength && !/[./]/.test(value)))
    .map(([, value]) => value);
