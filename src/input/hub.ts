/** Files of datasets on the Hugging Face Hub: `hf://datasets/<owner>/<name>[@revision]/<path>`. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../failure.ts";
import { isObject, parsedJson } from "../json/walk.ts";
import type { RemoteAccess } from "./remote.ts";
import { endpointAt, type Place, type Reach, remoteAnswer, type Store } from "./remote-file.ts";

/** A file of a dataset, or a folder. */
interface Spot {
  readonly dataset: string;
  readonly revision: string;
  readonly path: string;
}

/** Opens the Hub. @throws Failure `remote-address-wrong` */
export const openHub = (access: RemoteAccess): Store => {
  const { env } = access.host;
  const endpoint = endpointAt(env.HF_ENDPOINT || "https://huggingface.co", access);
  const token = tokenIn(access);
  if (token !== undefined) access.hide(token.value);
  const { origin } = new URL(endpoint);
  const placeAt = (name: string, url: URL): Place => ({
    name,
    store: "hub",
    credential: token?.from,
    ask: (headers) => {
      // A list's next page is where the Hub says, and the token is the Hub's alone.
      const isOwn = token !== undefined && url.origin === origin;
      return { url, headers: isOwn ? [["Authorization", `Bearer ${token.value}`], ...headers] : headers };
    },
  });
  return {
    place: (name, address) => {
      const { dataset, revision, path } = spotOf(name, address);
      return placeAt(name, new URL(`${endpoint}/datasets/${dataset}/resolve/${revision}/${encoded(path)}`));
    },
    list: async (name, address, reach) => {
      const { dataset, revision, path } = spotOf(name, address);
      const folder = path.replace(/\/+$/, "");
      const first = `${endpoint}/api/datasets/${dataset}/tree/${revision}/${encoded(folder)}?recursive=true`;
      return await listed(new URL(first), { folder, reach, placeOf: (url) => placeAt(name, url) });
    },
  };
};

/** A revision may hold a slash where it is a reference, as that of the converted files is. */
const pattern = /^hf:\/\/datasets\/([\w.-]+\/[\w.-]+)(?:@(refs\/(?:convert|pr)\/[^/]+|[^/@]+))?\/(.*)$/is;

const spotOf = (name: string, address: string): Spot => {
  const [, dataset, revision = "main", path = ""] = pattern.exec(address) ?? [];
  if (dataset === undefined) throw new Failure("remote-address-wrong", { name, why: "dataset" });
  return { dataset, revision: encodeURIComponent(revision), path };
};

const encoded = (path: string): string => path.split("/").map(encodeURIComponent).join("/");

/** Paths of the files below a folder, from there on, page by page. */
const listed = async (
  first: URL,
  { folder, reach, placeOf }: { readonly folder: string; readonly reach: Reach; readonly placeOf: (url: URL) => Place },
): Promise<readonly string[]> => {
  const paths: string[] = [];
  const seen = new Set<string>();
  for (let url: URL | undefined = first; url !== undefined && !seen.has(url.href); ) {
    seen.add(url.href);
    const { text, headers } = await remoteAnswer(placeOf(url), reach);
    const entries: unknown = parsedJson(text)?.value;
    for (const entry of Array.isArray(entries) ? entries : []) {
      if (!isObject(entry) || entry.type !== "file" || typeof entry.path !== "string") continue;
      paths.push(folder === "" ? entry.path : entry.path.slice(folder.length + 1));
    }
    const next: string | undefined = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(headers.link ?? "")?.[1];
    url = next === undefined || !URL.canParse(next, url.href) ? undefined : new URL(next, url);
  }
  return paths;
};

/** The token in force, and where it is from. */
const tokenIn = ({
  host: { env, platform },
}: RemoteAccess): { readonly value: string; readonly from: string } | undefined => {
  for (const from of ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]) {
    const value = env[from]?.trim();
    if (value !== undefined && value !== "") return { value, from };
  }
  const home = platform === "win32" ? env.USERPROFILE : env.HOME;
  const cache = env.XDG_CACHE_HOME || (home === undefined ? undefined : join(home, ".cache"));
  const folder = env.HF_HOME || (cache === undefined ? undefined : join(cache, "huggingface"));
  const path = env.HF_TOKEN_PATH || (folder === undefined ? undefined : join(folder, "token"));
  const value = path === undefined ? "" : textAt(path);
  return value === "" || path === undefined ? undefined : { value, from: path };
};

/** What stands in a file that may not be there. */
const textAt = (path: string): string => {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return "";
  }
};
