/** Finds files of datasets on the Hugging Face Hub: `hf://datasets/<owner>/<name>[@revision]/<path>`. */
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { isObject, parseJson } from "../../json/json-bytes.ts";
import { readUpTo } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { invalidRemoteUrl, type RemoteLocation, unsafeRedirect } from "./failures.ts";
import { isAllowed, isSafeTarget, type RemoteAccess, type RemoteContext, requestFile } from "./remote-file.ts";

/** @throws Failure `invalid-remote-url` */
export const openHub = async (access: RemoteAccess) => {
  const endpoint = (access.host.env.HF_ENDPOINT || "https://huggingface.co").replace(/\/+$/, "");
  if (!URL.canParse(endpoint) || !isAllowed(new URL(endpoint), access)) throw invalidRemoteUrl(endpoint, "endpoint");
  const { origin } = new URL(endpoint);
  const token = await findToken(access.host);
  if (token) access.hide(token.value);
  const locationAt = (name: string, url: URL): RemoteLocation => ({
    name,
    store: "hub",
    credentialSource: token?.from,
    url,
    // The link to the next page of a list can point to another origin.
    headers: token && url.origin === origin ? [["Authorization", `Bearer ${token.value}`]] : [],
  });
  return {
    locate: (name: string, hubUrl: string) => {
      const { dataset, revision, path } = parseHubUrl(name, hubUrl);
      return locationAt(name, new URL(`${endpoint}/datasets/${dataset}/resolve/${revision}/${encodePath(path)}`));
    },
    /** Returns paths relative to the folder. @throws the errors of `requestFile`; Failure `invalid-remote-url` */
    listFiles: async (name: string, hubUrl: string, context: RemoteContext) => {
      const { dataset, revision, path } = parseHubUrl(name, hubUrl);
      const folderPath = path.replace(/\/+$/, "");
      const paths: string[] = [];
      const seen = new Set<string>();
      const tree = `${endpoint}/api/datasets/${dataset}/tree/${revision}/${encodePath(folderPath)}?recursive=true`;
      for (let url = new URL(tree); !seen.has(url.href); ) {
        seen.add(url.href);
        const { headers, chunks } = await requestFile(locationAt(name, url), context);
        const entries: unknown = parseJson(await text(chunks()))?.value;
        for (const entry of Array.isArray(entries) ? entries : []) {
          if (isObject(entry) && entry.type === "file" && typeof entry.path === "string")
            paths.push(folderPath === "" ? entry.path : entry.path.slice(folderPath.length + 1));
        }
        url = findNextPage(url, headers.link, name, context);
      }
      return paths;
    },
  };
};

/** Returns `url` if it is the last page. @throws as `unsafeRedirect` */
const findNextPage = (url: URL, link: string | undefined, name: string, context: RemoteContext) => {
  const [, next] = /<([^>]+)>\s*;\s*rel="?next"?/i.exec(link ?? "") ?? [];
  const target = next && URL.canParse(next, url.href) ? new URL(next, url) : url;
  if (!isSafeTarget(url, target, context)) throw unsafeRedirect(name, 200, target);
  return target;
};

const hubUrlPattern = /^hf:\/\/datasets\/([\w.-]+\/[\w.-]+)(?:@(refs\/(?:convert|pr)\/[^/]+|[^/@]+))?\/(.*)$/is;

const parseHubUrl = (name: string, url: string) => {
  const [, dataset, revision = "main", path = ""] = hubUrlPattern.exec(url) ?? [];
  // `URL` resolves `..`, so `..` could lead to another dataset.
  const hasDots = path.split("/").some((segment) => /^\.\.?$/.test(segment));
  if (!dataset || hasDots) throw invalidRemoteUrl(name, "dataset");
  return { dataset, revision: encodeURIComponent(revision), path };
};

const encodePath = (path: string) => path.split("/").map(encodeURIComponent).join("/");

const maxTokenBytes = 64 * 1024;

const findToken = async (host: Host) => {
  const { env, platform } = host;
  for (const from of ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]) {
    const value = env[from]?.trim();
    if (value) return { value, from };
  }
  const home = platform === "win32" ? env.USERPROFILE : env.HOME;
  const cache = env.XDG_CACHE_HOME || (home && join(home, ".cache"));
  const folder = env.HF_HOME || (cache && join(cache, "huggingface"));
  const from = env.HF_TOKEN_PATH || (folder && join(folder, "token"));
  if (!from) return undefined;
  const bytes = await readUpTo(from, maxTokenBytes, host).catch(() => host.signal.throwIfAborted());
  const value = bytes?.toString("utf8").trim();
  return value ? { value, from } : undefined;
};
