/** Opens inputs at https:// and hf:// addresses. Only runs with such an input load it. */

import { Readable } from "node:stream";
import { type DownloadOptions, downloadDoor } from "../client/index.ts";
import { remoteAddressWrong } from "./failures.ts";
import { rolloutFile } from "./folder.ts";
import { isAllowed, type Place, type Reach, RemoteFile } from "./remote-file.ts";
import { plainName } from "./remote-names.ts";

/** How inputs at addresses are reached. */
export interface RemoteAccess extends DownloadOptions {
  /** True if they may come over plain http from other machines. */
  readonly insecureHttp: boolean;
  /** Redacts a secret in everything that is printed. */
  readonly hide: (secret: string) => void;
  readonly onFetched: (fetched: Fetched) => void;
}

/** The progress of an input; `of` is its size if the server says it. */
export interface Fetched {
  readonly name: string;
  readonly bytes: number;
  readonly of: number | undefined;
}

/** The inputs of a run that are addresses. The caller closes them. */
export interface Remotes {
  /** Returns the name of the file at an address, which no other file of the run has. @throws Failure `remote-address-wrong` */
  nameOf(address: string): Promise<string>;
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
const filesAhead = 8;

/** Opens the addresses of a run. It requests nothing yet. */
export const openRemotes = async (access: RemoteAccess): Promise<Remotes> => {
  const { insecureHttp } = access;
  const downloads = (await downloadDoor()).openDownloads(access);
  const names = new Map<string, string>();
  const places = new Map<string, Place>();
  /** Names in the order in which files are opened. */
  const order: string[] = [];
  const begun = new Map<string, RemoteFile>();
  let hub: Promise<ReturnType<typeof import("./hub.ts").openHub>> | undefined;
  const hubOf = async (name: string) => {
    if (/^(?:s3|gs):/.test(name)) throw remoteAddressWrong(name, name.startsWith("s3") ? "s3" : "gs");
    hub ??= import("./hub.ts").then(({ openHub }) => openHub(access));
    return await hub;
  };
  const reachOf = (name: string): Reach => ({
    downloads,
    insecureHttp,
    onBytes: (bytes, of) => access.onFetched({ name, bytes, of }),
  });
  const begin = (name: string): RemoteFile | undefined => {
    const place = places.get(name);
    const file = begun.get(name) ?? (place === undefined ? undefined : new RemoteFile(place, reachOf(name)));
    if (file !== undefined) begun.set(name, file);
    void file?.begin();
    return file;
  };
  const nameOf = async (address: string): Promise<string> => {
    const known = names.get(address);
    if (known !== undefined) return known;
    const plain = plainName(address);
    let name = plain;
    // Addresses that differ only in their queries have the same plain name.
    for (let number = 2; places.has(name); number++) name = `${plain}#${number}`;
    const isWeb = /^https?:/.test(name);
    places.set(name, isWeb ? webPlace(name, address, access) : (await hubOf(name)).place(name, address));
    names.set(address, name);
    order.push(name);
    return name;
  };
  return {
    nameOf,
    filesBelow: async (address) => {
      const name = plainName(address);
      if (!address.endsWith("/") || /^https?:/.test(name)) return undefined;
      const paths = await (await hubOf(name)).list(name, address, reachOf(name));
      const files: string[] = [];
      for (const path of paths.filter((path) => rolloutFile.test(path) && !/(?:^|\/)\./.test(path)).toSorted())
        files.push(await nameOf(`${address}${path}`));
      return files;
    },
    open: (name) => {
      const position = order.indexOf(name);
      const [file] = order.slice(position, position + filesAhead).map(begin);
      begun.delete(name);
      return Readable.from(file?.bytes() ?? []);
    },
    close: () => {
      for (const file of begun.values()) file.end();
      downloads.close();
    },
  };
};

const webPlace = (name: string, address: string, access: RemoteAccess): Place => {
  const wrong = (why: "malformed" | "user" | "http") => remoteAddressWrong(name, why);
  if (!URL.canParse(address)) throw wrong("malformed");
  const url = new URL(address);
  for (const secret of [url.password, ...secretsIn(url)]) access.hide(secret);
  if (`${url.username}${url.password}` !== "") throw wrong("user");
  if (!isAllowed(url, access)) throw wrong("http");
  return { name, store: "web", credential: undefined, url, headers: [] };
};

/** Names of parameters of signed addresses. Any other value is secret if it is long and not a path. */
const secretParameter = /sig|token|cred|secret|key|pass|auth|policy/i;
const maxPlainLength = 24;

const secretsIn = ({ searchParams }: URL): readonly string[] =>
  [...searchParams]
    .filter(([name, value]) => secretParameter.test(name) || (value.length > maxPlainLength && !/[./]/.test(value)))
    .map(([, value]) => value);
