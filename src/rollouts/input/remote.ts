/** Opens inputs at http://, https:// and hf:// URLs. */
import { Readable } from "node:stream";
import { withSignal } from "../../system/host.ts";
import { type DownloadReply, Downloads } from "../../wire/client/download.ts";
import { invalidRemoteUrl, type RemoteLocation } from "./failures.ts";
import { openHub } from "./hub.ts";
import { skipByName } from "./list-folder.ts";
import { isRolloutName, plainUrl } from "./names.ts";
import { isAllowed, type RemoteAccess, type RemoteContext, requestFile } from "./remote-file.ts";

/** Small files arrive earlier if their requests overlap. */
const maxFilesAhead = 8;
/** Servers drop connections that stall, so a larger file is requested again when it is read. */
const maxBytesAhead = 2 ** 17;

export class Remotes {
  readonly #access: RemoteAccess;
  readonly #abort = new AbortController();
  readonly #downloads: Downloads;
  readonly #context: RemoteContext;
  readonly #names = new Map<string, string>();
  /** The last numbers of names, by plain URL. */
  readonly #numbers = new Map<string, number>();
  readonly #locations: RemoteLocation[] = [];
  /** The indexes of the locations, by name. */
  readonly #positions = new Map<string, number>();
  readonly #repliesAhead = new Map<string, Promise<DownloadReply | undefined>>();
  #hub: ReturnType<typeof openHub> | undefined;

  constructor(access: RemoteAccess) {
    const { insecureHttp, clean } = access;
    this.#access = access;
    this.#downloads = new Downloads({ ...access, host: withSignal(access.host, this.#abort.signal) });
    this.#context = { downloads: this.#downloads, insecureHttp, clean };
  }

  /** Returns a name that no other URL has. @throws Failure `invalid-remote-url` */
  async assignName(url: string) {
    const known = this.#names.get(url);
    if (known) return known;
    const plain = plainUrl(url);
    let [name, number] = [plain, this.#numbers.get(plain) ?? 1];
    // URLs that differ in the query have the same plain URL.
    while (this.#positions.has(name)) name = `${plain}#${++number}`;
    this.#numbers.set(plain, number);
    if (!/^(?:https?|s3|gs|hf):/.test(name)) throw invalidRemoteUrl(name, "malformed");
    const isWeb = /^https?:/.test(name);
    const location = isWeb ? webLocation(name, url, this.#access) : (await this.#loadHub(name)).locate(name, url);
    this.#positions.set(name, this.#locations.push(location) - 1);
    this.#names.set(url, name);
    return name;
  }

  /** @throws UnusableInput; Failure */
  async filesBelow(url: string) {
    const name = plainUrl(url);
    if (!url.endsWith("/") || /^https?:/.test(name)) return undefined;
    const paths = await (await this.#loadHub(name)).listFiles(name, url, this.#context);
    const visible = paths.filter((path) => !/(?:^|\/)\./.test(path)).toSorted();
    const files: string[] = [];
    for (const path of visible.filter(isRolloutName)) files.push(await this.assignName(`${url}${path}`));
    const others = visible.filter((path) => !isRolloutName(path));
    return { files, unreadable: [], skipped: others.flatMap((path) => skipByName(`${name}${path}`)) };
  }

  /** Expects a name from `assignName`. The stream throws the errors of `requestFile`. */
  open(name: string) {
    const position = this.#positions.get(name) ?? this.#locations.length;
    const [location, ...next] = this.#locations.slice(position, position + maxFilesAhead);
    const reply = location && this.#request(location);
    reply?.catch(() => undefined);
    for (const one of next) this.#requestAhead(one);
    return Readable.from(reply ? this.#readChunks(reply) : []);
  }

  close() {
    this.#abort.abort();
    this.#downloads.close();
  }

  async #loadHub(name: string) {
    if (/^(?:s3|gs):/.test(name)) throw invalidRemoteUrl(name, "bucket");
    this.#hub ??= openHub(this.#access);
    return await this.#hub;
  }

  #request = async (location: RemoteLocation) =>
    (await this.#repliesAhead.get(location.name)) ?? (await requestFile(location, this.#context));

  #requestAhead(location: RemoteLocation) {
    if (this.#repliesAhead.has(location.name)) return;
    const reply = requestFile(location, this.#context).then((received) => {
      if (Number(received.headers["content-length"]) <= maxBytesAhead) return received;
      received.cancel();
      return undefined;
    });
    // This handler prevents an unhandled rejection.
    reply.catch(() => undefined);
    this.#repliesAhead.set(location.name, reply);
  }

  async *#readChunks(reply: Promise<DownloadReply>) {
    const { headers, chunks } = await reply;
    const size = headers["content-length"];
    let bytes = 0;
    for await (const chunk of chunks()) {
      bytes += chunk.length;
      this.#access.onFetched({ bytes, of: size === undefined ? undefined : Number(size) });
      yield chunk;
    }
  }
}

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
