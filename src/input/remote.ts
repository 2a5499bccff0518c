/** Opens inputs at https:// and hf:// URLs. Loaded on demand. */

import { Readable } from "node:stream";
import { type DownloadOptions, loadDownloads } from "../client/index.ts";
import { invalidRemoteUrl } from "./failures.ts";
import { plainUrl, rolloutFileName } from "./names.ts";
import { isAllowed, openRemoteFile, type RemoteContext, type RemoteFile, type RemoteLocation } from "./remote-file.ts";

export interface RemoteAccess extends DownloadOptions {
  /** True if plain http is allowed. This machine needs no permission. */
  readonly insecureHttp: boolean;
  /** Redacts a secret in everything that is printed. */
  readonly hide: (secret: string) => void;
  readonly onFetched: (fetched: FetchProgress) => void;
}

/** The progress of an input; `of` is its size if it is known. */
export interface FetchProgress {
  readonly name: string;
  readonly bytes: number;
  readonly of: number | undefined;
}

/** The remote inputs of a run. The caller closes them. */
export interface Remotes {
  /** Returns a unique name for a file. @throws Failure `invalid-remote-url` */
  register(url: string): Promise<string>;
  /**
   * Returns the sorted names of the rollout files in and below a folder; undefined if the URL is not a folder.
   * @throws UnusableInput; Failure
   */
  filesBelow(url: string): Promise<readonly string[] | undefined>;
  /** Opens a file by its name. The stream throws as `RemoteFile.bytes`. */
  open(name: string): Readable;
  close(): void;
}

/** Files that are requested ahead, so that small files do not wait for each other. */
const maxFilesAhead = 8;

/** Opens the URLs of a run, without a request. */
export const openRemotes = async (access: RemoteAccess): Promise<Remotes> => {
  const { insecureHttp } = access;
  const downloads = (await loadDownloads()).openDownloads(access);
  const names = new Map<string, string>();
  /** In the order in which the files are opened. */
  const locations = new Map<string, RemoteLocation>();
  const started = new Map<string, RemoteFile>();
  let hub: ReturnType<typeof import("./hub.ts").openHub> | undefined;
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
    const file = started.get(name) ?? (location === undefined ? undefined : openRemoteFile(location, contextFor(name)));
    if (file !== undefined) started.set(name, file);
    void file?.begin();
    return file;
  };
  const register = async (url: string): Promise<string> => {
    const known = names.get(url);
    if (known !== undefined) return known;
    const plain = plainUrl(url);
    let name = plain;
    // URLs that differ only in their queries have the same plain URL.
    for (let number = 2; locations.has(name); number++) name = `${plain}#${number}`;
    const isWeb = /^https?:/.test(name);
    locations.set(name, isWeb ? webLocation(name, url, access) : (await loadHub(name)).locate(name, url));
    names.set(url, name);
    return name;
  };
  return {
    register,
    filesBelow: async (url) => {
      const name = plainUrl(url);
      if (!url.endsWith("/") || /^https?:/.test(name)) return undefined;
      const paths = await (await loadHub(name)).listFiles(name, url, contextFor(name));
      const files: string[] = [];
      for (const path of paths.filter((path) => rolloutFileName.test(path) && !/(?:^|\/)\./.test(path)).toSorted())
        files.push(await register(`${url}${path}`));
      return files;
    },
    open: (name) => {
      const order = [...locations.keys()];
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

const webLocation = (name: string, text: string, access: RemoteAccess): RemoteLocation => {
  if (!URL.canParse(text)) throw invalidRemoteUrl(name, "malformed");
  const url = new URL(text);
  for (const secret of [url.password, ...findSecrets(url)]) access.hide(secret);
  if (`${url.username}${url.password}` !== "") throw invalidRemoteUrl(name, "user");
  if (!isAllowed(url, access)) throw invalidRemoteUrl(name, "http");
  return { name, store: "web", credential: undefined, url, headers: [] };
};

/** Parameters of signed URLs. Other values are secret if they are long and not a path. */
const secretParameter = /sig|token|cred|secret|key|pass|auth|policy/i;
const maxPlainLength = 24;

const findSecrets = ({ searchParams }: URL): readonly string[] =>
  [...searchParams]
    .filter(([name, value]) => secretParameter.test(name) || (value.length > maxPlainLength && !/[./]/.test(value)))
    .map(([, value]) => value);
