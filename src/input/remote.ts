/** Opens inputs at https:// and hf:// addresses. Only runs with such an input load it. */

import { Readable } from "node:stream";
import { type DownloadOptions, loadDownloads } from "../client/index.ts";
import { invalidRemoteUrl } from "./failures.ts";
import { rolloutFileName } from "./folder.ts";
import { isAllowed, type RemoteContext, RemoteFile, type RemoteLocation } from "./remote-file.ts";
import { plainUrl } from "./remote-urls.ts";

/** How inputs at addresses are reached. */
export interface RemoteAccess extends DownloadOptions {
  /** True if they may come over plain http from other machines. */
  readonly insecureHttp: boolean;
  /** Redacts a secret in everything that is printed. */
  readonly hide: (secret: string) => void;
  readonly onFetched: (fetched: FetchProgress) => void;
}

/** The progress of an input; `of` is its size if the server says it. */
export interface FetchProgress {
  readonly name: string;
  readonly bytes: number;
  readonly of: number | undefined;
}

/** The inputs of a run that are addresses. The caller closes them. */
export interface Remotes {
  /** Returns the name of the file at an address, which no other file of the run has. @throws Failure `invalid-remote-url` */
  register(address: string): Promise<string>;
  /**
   * Returns the names of the rollout files below an address, sorted; undefined if it is not that of a folder.
   * @throws NothingThere; Failure
   */
  filesBelow(address: string): Promise<readonly string[] | undefined>;
  /** Opens a file by its name. The stream throws as `RemoteFile.bytes`. */
  open(name: string): Readable;
  close(): void;
}

/** Files that are requested at once, so that small files do not wait for each other. */
const maxFilesAhead = 8;

/** Opens the addresses of a run. It requests nothing yet. */
export const openRemotes = async (access: RemoteAccess): Promise<Remotes> => {
  const { insecureHttp } = access;
  const downloads = (await loadDownloads()).openDownloads(access);
  const names = new Map<string, string>();
  const locations = new Map<string, RemoteLocation>();
  /** Names in the order in which files are opened. */
  const order: string[] = [];
  const started = new Map<string, RemoteFile>();
  let hub: Promise<ReturnType<typeof import("./hub.ts").openHub>> | undefined;
  const loadHub = async (name: string) => {
    if (/^(?:s3|gs):/.test(name)) throw invalidRemoteUrl(name, name.startsWith("s3") ? "s3" : "gs");
    hub ??= import("./hub.ts").then(({ openHub }) => openHub(access));
    return await hub;
  };
  const contextFor = (name: string): RemoteContext => ({
    downloads,
    insecureHttp,
    onBytes: (bytes, of) => access.onFetched({ name, bytes, of }),
  });
  const begin = (name: string): RemoteFile | undefined => {
    const location = locations.get(name);
    const file = started.get(name) ?? (location === undefined ? undefined : new RemoteFile(location, contextFor(name)));
    if (file !== undefined) started.set(name, file);
    void file?.begin();
    return file;
  };
  const nameOf = async (address: string): Promise<string> => {
    const known = names.get(address);
    if (known !== undefined) return known;
    const plain = plainUrl(address);
    let name = plain;
    // Addresses that differ only in their queries have the same plain name.
    for (let number = 2; locations.has(name); number++) name = `${plain}#${number}`;
    const isWeb = /^https?:/.test(name);
    locations.set(name, isWeb ? webLocation(name, address, access) : (await loadHub(name)).place(name, address));
    names.set(address, name);
    order.push(name);
    return name;
  };
  return {
    register: nameOf,
    filesBelow: async (address) => {
      const name = plainUrl(address);
      if (!address.endsWith("/") || /^https?:/.test(name)) return undefined;
      const paths = await (await loadHub(name)).list(name, address, contextFor(name));
      const files: string[] = [];
      for (const path of paths.filter((path) => rolloutFileName.test(path) && !/(?:^|\/)\./.test(path)).toSorted())
        files.push(await nameOf(`${address}${path}`));
      return files;
    },
    open: (name) => {
      const position = order.indexOf(name);
      const [file] = order.slice(position, position + maxFilesAhead).map(begin);
      started.delete(name);
      return Readable.from(file?.bytes() ?? []);
    },
    close: () => {
      for (const file of started.values()) file.abort();
      downloads.close();
    },
  };
};

const webLocation = (name: string, address: string, access: RemoteAccess): RemoteLocation => {
  const wrong = (why: "malformed" | "user" | "http") => invalidRemoteUrl(name, why);
  if (!URL.canParse(address)) throw wrong("malformed");
  const url = new URL(address);
  for (const secret of [url.password, ...findSecrets(url)]) access.hide(secret);
  if (`${url.username}${url.password}` !== "") throw wrong("user");
  if (!isAllowed(url, access)) throw wrong("http");
  return { name, store: "web", credential: undefined, url, headers: [] };
};

/** Names of parameters of signed addresses. Any other value is secret if it is long and not a path. */
const secretParameter = /sig|token|cred|secret|key|pass|auth|policy/i;
const maxPlainLength = 24;

const findSecrets = ({ searchParams }: URL): readonly string[] =>
  [...searchParams]
    .filter(([name, value]) => secretParameter.test(name) || (value.length > maxPlainLength && !/[./]/.test(value)))
    .map(([, value]) => value);
