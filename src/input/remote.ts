/** Inputs that are named by their addresses: https:// and hf://. None of it is loaded by runs without such a name. */
import { Readable } from "node:stream";
import { type DownloadOptions, downloadDoor } from "../client/index.ts";
import { Failure } from "../failure.ts";
import { rolloutFile } from "./folder.ts";
import { isAllowed, type Place, type Reach, RemoteFile, type Store } from "./remote-file.ts";
import { plainName } from "./remote-names.ts";

/** How inputs at addresses are reached. */
export interface RemoteAccess extends DownloadOptions {
  /** Whether they may come over plain http from other machines. */
  readonly insecureHttp: boolean;
  /** Has a secret blotted out of everything that is printed. */
  readonly hide: (secret: string) => void;
  /** Told how far the reading of an input is; of how many bytes, where the server says it. */
  readonly onFetched: (fetched: Fetched) => void;
}

/** How far an input is read. */
export interface Fetched {
  readonly name: string;
  readonly bytes: number;
  readonly of: number | undefined;
}

/** The inputs of a run that are addresses. Must be closed. */
export interface Remotes {
  /** What the file at an address is called, which must be unlike all others of the run; it is opened by that. @throws Failure */
  nameOf(address: string): Promise<string>;
  /**
   * Files that rollouts may be in below an address, by name, called as those of `nameOf` are; undefined where it is none of a folder.
   * @throws NothingThere; Failure
   */
  filesBelow(address: string): Promise<readonly string[] | undefined>;
  /** The bytes of a file. What it throws is that of `RemoteFile.bytes`. */
  open(name: string): Readable;
  close(): void;
}

/** Opens the addresses of a run. Nothing is asked for yet. */
export const openRemotes = async (access: RemoteAccess): Promise<Remotes> => {
  const downloads = (await downloadDoor()).openDownloads(access);
  const places = new Map<string, Place>();
  const { insecureHttp } = access;
  const reachOf = (name: string): Reach => ({
    downloads,
    insecureHttp,
    onBytes: (bytes, of) => access.onFetched({ name, bytes, of }),
  });
  /** All names, in the order in which they are opened, and where each stands there. */
  const order: string[] = [];
  const positions = new Map<string, number>();
  const begun = new Map<string, RemoteFile>();
  const fileOf = (name: string): RemoteFile | undefined => {
    const place = places.get(name);
    if (place !== undefined && !begun.has(name)) begun.set(name, new RemoteFile(place, reachOf(name)));
    return begun.get(name);
  };
  const storeOf = openStores(access);
  const names = new Map<string, string>();
  const take = async (address: string): Promise<string> => {
    const name = names.get(address) ?? unlike(plainName(address), places);
    if (!names.has(address)) positions.set(name, order.push(name) - 1);
    names.set(address, name);
    places.set(name, (await storeOf(name)).place(name, address));
    return name;
  };
  return {
    nameOf: take,
    filesBelow: async (address) => {
      const name = plainName(address);
      if (!address.endsWith("/") || /^http/.test(name)) return undefined;
      const below = await (await storeOf(name)).list(name, address, reachOf(name));
      const fit = below.filter((path) => rolloutFile.test(path) && !/(?:^|\/)\./.test(path)).sort();
      const files: string[] = [];
      for (const path of fit) files.push(await take(`${address}${path}`));
      return files;
    },
    open: (name) => {
      const at = positions.get(name) ?? 0;
      for (const next of order.slice(at, at + filesAhead)) fileOf(next)?.begin();
      const file = fileOf(name);
      begun.delete(name);
      return Readable.from(file === undefined ? [] : endedBytes(file));
    },
    close: () => {
      for (const file of begun.values()) file.end();
      downloads.close();
    },
  };
};

/** Gives the store that an address is of; each is opened once. */
const openStores = (access: RemoteAccess) => {
  const opened = new Map<string, Promise<Store>>();
  const open = async (scheme: string): Promise<Store> => {
    if (scheme === "hf") return (await import("./hub.ts")).openHub(access);
    return { place: (name, address) => webPlace(name, address, access), list: async () => [] };
  };
  return async (name: string): Promise<Store> => {
    const scheme = name.slice(0, name.indexOf(":"));
    if (scheme === "s3" || scheme === "gs") throw new Failure("remote-address-wrong", { name, why: scheme });
    const store = opened.get(scheme) ?? open(scheme);
    opened.set(scheme, store);
    return await store;
  };
};

/** Files that are asked for at once, so that many small ones do not each wait for their server: what comes early waits unread. */
const filesAhead = 8;

async function* endedBytes(file: RemoteFile): AsyncGenerator<Uint8Array, void> {
  try {
    yield* file.bytes();
  } finally {
    file.end();
  }
}

/** Addresses that differ in their queries alone are files of one name: the second has a number. */
const unlike = (name: string, taken: ReadonlyMap<string, Place>): string => {
  if (!taken.has(name)) return name;
  for (let number = 2; ; number++) if (!taken.has(`${name}#${number}`)) return `${name}#${number}`;
};

const webPlace = (name: string, address: string, access: RemoteAccess): Place => {
  const wrong = (why: "malformed" | "user" | "http") => new Failure("remote-address-wrong", { name, why });
  if (!URL.canParse(address)) throw wrong("malformed");
  const url = new URL(address);
  for (const secret of [url.password, ...secretsIn(url)]) access.hide(secret);
  if (`${url.username}${url.password}` !== "") throw wrong("user");
  if (!isAllowed(url, access)) throw wrong("http");
  return { name, store: "web", credential: undefined, ask: (headers) => ({ url, headers }) };
};

/** Parameters of signed addresses, by their names; and any other value that is long and is no path. */
const secretParameter = /sig|token|cred|secret|key|pass|auth|policy/i;
const longestPlain = 24;

const secretsIn = ({ searchParams }: URL): readonly string[] =>
  [...searchParams]
    .filter(([name, value]) => secretParameter.test(name) || (value.length > longestPlain && !/[./]/.test(value)))
    .map(([, value]) => value);
