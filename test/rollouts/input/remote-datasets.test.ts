/** Inputs in datasets of the Hub, and bucket URLs. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openHub, Remotes } from "../../../src/rollouts/input/remote.ts";
import type { Host } from "../../../src/system/host.ts";
import type { DownloadReply, Downloads } from "../../../src/wire/client/download.ts";
import { fileServer } from "../../support/file-server.ts";
import { testHost } from "../../support/host.ts";
import { newFolder } from "../../support/inputs.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { scriptedServer } from "../../support/server.ts";

const trajectory = (reward: number, text: string) =>
  `{"messages_and_choices":[{"role":"user","content":"2+2?"},{"role":"assistant","content":"${text}"}],"reward":${reward}}`;
const group = (text: string) => `{"trajectories":[${trajectory(0, text)},${trajectory(1, text)}]}\n`;
const large = Array.from({ length: 200 }, (_, at) => group(`${at} ${"x".repeat(50_000)}`)).join("");

type Env = Readonly<Record<string, string>>;

const checked = async (args: readonly string[], env: Env) => {
  const { code, stdout, stderr } = await runRollcall(["check", "--json", ...args], { env });
  const error = stderr === "" ? undefined : JSON.parse(stderr).error;
  return { code, document: stdout === "" ? undefined : JSON.parse(stdout), error };
};

const hubAccess = (host: Host): Parameters<typeof openHub>[0] => ({
  host,
  timeoutMs: undefined,
  maxWaitMs: 0,
  waitsForHost: false,
  trace: undefined,
  insecureHttp: false,
  hide: () => undefined,
  onFetched: () => undefined,
});

/** Opens a hub with one public or private dataset. Its files are at another origin, which must not get the token. */
const hub = async ({
  token,
  files: contents = { "data/step 1.jsonl": large, "data/deep/2.jsonl": group("b") },
}: {
  readonly token?: string;
  readonly files?: Readonly<Record<string, string>>;
} = {}) => {
  const files = await fileServer({
    files: Object.fromEntries(Object.values(contents).map((content, at) => [`/blob/${at}`, content])),
    instead: ({ headers }, response) => {
      if (headers.authorization === undefined) return false;
      response.writeHead(500).end();
      return true;
    },
  });
  const blobs: Readonly<Record<string, string>> = Object.fromEntries(
    Object.keys(contents).map((name, at) => [name, `/blob/${at}`]),
  );
  const server = await fileServer({
    files: {},
    instead: ({ path, headers }, response) => {
      if (token !== undefined && headers.authorization !== `Bearer ${token}`) {
        response.writeHead(401, { "x-error-message": "Invalid username or password." }).end();
        return true;
      }
      const { pathname, searchParams } = new URL(path, "http://hub");
      const [, revision, name = ""] = /^\/datasets\/o\/n\/resolve\/([^/]+)\/(.*)$/.exec(pathname) ?? [];
      const blob = blobs[decodeURIComponent(name)];
      if (/^\/api\/datasets\/o\/n\/tree\/main\/(data)?$/.test(pathname)) {
        const entries = Object.keys(blobs).map((own) => ({ type: "file", path: own, size: 1 }));
        const page = Number(searchParams.get("cursor") ?? 0);
        const link =
          page + 1 < entries.length
            ? { link: `<${server.url}${pathname}?recursive=true&cursor=${page + 1}>; rel="next"` }
            : {};
        const folders = [
          { type: "directory", path: "data" },
          { type: "file", path: "data/README.md" },
        ];
        response.writeHead(200, link).end(JSON.stringify([...folders, entries[page]]));
      } else if (blob !== undefined && (revision === "main" || revision === "refs%2Fconvert%2Fparquet")) {
        response.writeHead(302, { location: `${files.url}${blob}`, "x-repo-commit": "c0ffee" }).end();
      } else response.writeHead(404, { "x-error-message": "Entry not found" }).end();
      return true;
    },
  });
  return { env: { ...newHome(), HF_ENDPOINT: server.url }, asked: server.asked };
};

describe("a dataset on the Hub as input", () => {
  it("is read through a redirect that gets no token", async () => {
    const { env, asked } = await hub({ token: "hf_secret_token" });
    const names = ["hf://datasets/o/n/data/step 1.jsonl"];
    const { code, document } = await checked(names, { ...env, HF_TOKEN: "hf_secret_token" });
    expect([code, document.groups.read, asked.length]).toEqual([0, 200, 1]);
  });

  it("sends its token to no other origin, even if the origin begins like the Hub's", async () => {
    const asked: (readonly [origin: string, hasToken: boolean])[] = [];
    const next = "https://huggingface.co.evil.example/next";
    const downloads: Pick<Downloads, "get"> = {
      get: async (url, headers): Promise<DownloadReply> => {
        asked.push([url.origin, headers.some(([name]) => name === "Authorization")]);
        const link = { link: `<${next}>; rel="next"` };
        const chunks = async function* () {
          yield Buffer.from("[]");
        };
        return { status: 200, headers: link, retryAfterMs: undefined, chunks, cancel: () => undefined };
      },
    };
    const hub = await openHub(hubAccess(testHost({ env: { HF_TOKEN: "hf_secret_token" } })));
    const address = "hf://datasets/o/n/data/";
    await hub.listFiles(address, address, { downloads, insecureHttp: false });
    expect(asked).toEqual([
      ["https://huggingface.co", true],
      ["https://huggingface.co.evil.example", false],
    ]);
  });

  it("is refused after 20 redirects, and after one from https to http, also with --insecure-http", async () => {
    const hub = await openHub(hubAccess(testHost()));
    const asked: string[] = [];
    const list = async (location: string) => {
      const get = async (url: URL): Promise<DownloadReply> => {
        asked.push(url.href);
        const chunks = async function* () {};
        return { status: 302, headers: { location }, retryAfterMs: undefined, chunks, cancel: () => undefined };
      };
      const address = "hf://datasets/o/n/data/";
      await hub.listFiles(address, address, { downloads: { get }, insecureHttp: true });
    };
    await expect(list("/again")).rejects.toThrow("302");
    expect([asked.length, asked.at(-1)]).toEqual([21, "https://huggingface.co/again"]);
    await expect(list("http://other.example/")).rejects.toThrow(
      "redirects to http://other.example/, which is not https",
    );
    expect(asked.length).toBe(22);
  });

  it("is refused with dot segments, and with a list that continues on plain http", async () => {
    const { env } = await hub();
    const dots = await checked(["hf://datasets/o/n/data/../../../other/x.jsonl"], env);
    expect([dots.code, dots.error.message]).toEqual([2, expect.stringContaining("does not name a file of a dataset")]);
    const server = await scriptedServer([
      { answer: { body: "[]", headers: { link: '<http://data.example/>; rel="next"' } } },
    ]);
    const list = await checked(["hf://datasets/o/n/data/"], { ...env, HF_ENDPOINT: server.url });
    expect([list.code, list.error.message]).toEqual([6, expect.stringContaining("which is not https")]);
  });

  it.each([
    ["saved by the Hub's client", {}],
    ["in HUGGING_FACE_HUB_TOKEN rather than the saved one", { HUGGING_FACE_HUB_TOKEN: "hf_old" }],
    ["in HF_TOKEN rather than HUGGING_FACE_HUB_TOKEN", { HUGGING_FACE_HUB_TOKEN: "hf_old", HF_TOKEN: "hf_new" }],
  ])("is read with the token %s", async (_, tokens: Env) => {
    const { env } = await hub({ token: tokens.HF_TOKEN ?? tokens.HUGGING_FACE_HUB_TOKEN ?? "hf_saved" });
    mkdirSync(join(env.HOME, ".cache/huggingface"), { recursive: true });
    writeFileSync(join(env.HOME, ".cache/huggingface/token"), "hf_saved\n");
    const { document } = await checked(["hf://datasets/o/n/data/deep/2.jsonl"], { ...env, ...tokens });
    expect(document.groups.read).toBe(1);
  });

  it.each([
    ["saved", {}, "home/.cache/huggingface/token"],
    ["in the cache folder of XDG_CACHE_HOME", { XDG_CACHE_HOME: "xdg" }, "xdg/huggingface/token"],
    ["in HF_HOME rather than XDG_CACHE_HOME", { XDG_CACHE_HOME: "xdg", HF_HOME: "hub" }, "hub/token"],
    ["in HF_TOKEN_PATH rather than HF_HOME", { HF_HOME: "hub", HF_TOKEN_PATH: "own" }, "own"],
    ["saved if HF_TOKEN is blank", { HF_TOKEN: " ", HUGGING_FACE_HUB_TOKEN: "" }, "home/.cache/huggingface/token"],
  ])("is read with the token %s, which is hidden", async (_, env: Env, file) => {
    const folder = newFolder();
    for (const path of ["home/.cache/huggingface/token", "xdg/huggingface/token", "hub/token", "own"]) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), ` hf_${path}\n`);
    }
    const paths = Object.entries({ HOME: "home", USERPROFILE: "none", ...env });
    const full = paths.map(([key, value]) => [key, /TOKEN$/.test(key) ? value : join(folder, value)]);
    const hidden: string[] = [];
    const host = testHost({ env: { ...Object.fromEntries(full), HF_ENDPOINT: "https://hub.example//" } });
    const opened = await openHub({ ...hubAccess(host), hide: (secret) => hidden.push(secret) });
    const location = opened.locate("f", "hf://datasets/o/n/a b/1.jsonl");
    expect([location.url.href, location.credentialSource, location.headers, hidden]).toEqual([
      "https://hub.example/datasets/o/n/resolve/main/a%20b/1.jsonl",
      join(folder, file),
      [["Authorization", `Bearer hf_${file}`]],
      [`hf_${file}`],
    ]);
  });

  it.each(["no URL", "http://hub.example"])("gives exit 2 if HF_ENDPOINT is invalid (row %$)", async (endpoint) => {
    const { code, error } = await checked(["hf://datasets/o/n/1.jsonl"], { ...newHome(), HF_ENDPOINT: endpoint });
    expect([code, error.message]).toEqual([2, `invalid HF_ENDPOINT ${endpoint}: expected an https:// URL`]);
  });

  it("ends at a signal while the pipe with its token has no writer", async () => {
    const pipe = join(newFolder(), "token");
    execFileSync("mkfifo", [pipe]);
    const stop = new AbortController();
    const host = {
      ...testHost({ env: { HF_TOKEN_PATH: pipe } }),
      signal: stop.signal,
      sleep: async () => setImmediate(),
    };
    const opening = openHub(hubAccess(host));
    setTimeout(() => stop.abort(new Error("stopped")), 20);
    await expect(opening).rejects.toThrow("stopped");
  });

  it("is read at the given revision", async () => {
    const { env } = await hub();
    const { code } = await checked(["hf://datasets/o/n@refs/convert/parquet/data/deep/2.jsonl"], env);
    const other = await checked(["hf://datasets/o/n@v2/data/deep/2.jsonl"], env);
    expect([code, other.code, other.error.problems[0].rule]).toEqual([0, 3, "remote-not-found"]);
  });

  it.each(["hf://datasets/o/n/", "hf://datasets/o/n/data/"])(
    "is listed page by page if it is a folder (row %$)",
    async (name) => {
      const { env } = await hub();
      const { code, document } = await checked([name], env);
      expect([code, document.groups.read]).toEqual([0, 201]);
    },
  );

  it("is read without the hidden files and folders of a folder", async () => {
    const hidden = ["data/.cache/1.jsonl", "data/.draft.jsonl", "data/deep/.old.jsonl", "data/deep/.tmp/1.jsonl"];
    const files: Readonly<Record<string, string>> = Object.fromEntries(hidden.map((name) => [name, group(name)]));
    const { env } = await hub({ files: { ...files, "data/deep/2.jsonl": group("b") } });
    const { document } = await checked(["hf://datasets/o/n/data/"], env);
    expect(document.groups.read).toBe(1);
  });

  it("is read with the documents next to a file of another tool", async () => {
    const row =
      '{"example_id":1,"prompt":[{"role":"user","content":"q"}],"completion":[{"role":"assistant","content":"a"}],"reward":1,"metrics":{},"is_completed":true}';
    const { env } = await hub({
      files: { "data/metadata.json": '{"env_id":"sums","model":"m"}', "data/results.jsonl": row },
    });
    const out = join(newFolder(), "groups.jsonl");
    const ran = await runRollcall(["convert", "hf://datasets/o/n/data/", "--from", "verifiers-v0", "--out", out], {
      env,
    });
    expect({ ...ran, stdout: "" }).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(out, "utf8")).trajectories[0].metadata).toMatchObject({
      env_id: "sums",
      model: "m",
    });
  });

  it("can have more files than a run keeps open", async () => {
    const steps = Array.from({ length: 100 }, (_, at) => [
      `data/${String(at).padStart(3, "0")}.jsonl`,
      group(`step ${at}`),
    ]);
    const files: Readonly<Record<string, string>> = Object.fromEntries(steps);
    const { env } = await hub({ files });
    const { code, document } = await checked(["hf://datasets/o/n/data/"], env);
    expect([code, document.groups.read]).toEqual([0, 100]);
    const words = ["log", "m", "--split", "train", "--local", "--json", "--batch", "b"];
    const ran = await runRollcall([...words, "hf://datasets/o/n/data/"], { env });
    expect(JSON.parse(ran.stdout).groups.logged).toBe(100);
  });

  it("gives exit 4 and a hint with HF_TOKEN if the Hub asks for a token", async () => {
    const { env } = await hub({ token: "hf_secret_token" });
    const { code, error } = await checked(["hf://datasets/o/n/data/step 1.jsonl"], env);
    expect([code, error.message]).toEqual([
      4,
      expect.stringContaining("(401; rollcall sent no credential): Invalid username"),
    ]);
    expect(error.hint).toContain("HF_TOKEN");
  });

  it.each(["hf://o/n/x.jsonl", "hf://datasets/o"])("gives exit 2 without a dataset (row %$)", async (name) => {
    const { code, error } = await checked([name], newHome());
    expect([code, error.code]).toEqual([2, "usage"]);
  });
});

describe("a bucket URL", () => {
  it.each([
    ["s3://runs/step 1.jsonl", "aws s3 cp <url> <file>"],
    ["s3://", "aws s3 cp <url> <file>"],
    ["gs://runs/x.jsonl", "gcloud storage cp <url> <file>"],
  ])("gives exit 2 and a hint with the pipe that reads the file (row %$)", async (name, pipe) => {
    const { code, error } = await checked([name], newHome());
    expect([code, error.code, error.message]).toEqual([2, "usage", expect.stringContaining(name)]);
    expect(error.hint).toContain(pipe);
  });
});

it("URLs have a name of their own without secrets, which are hidden", async () => {
  const hidden: string[] = [];
  const remotes = new Remotes({ ...hubAccess(testHost()), hide: (secret) => hidden.push(secret) });
  const [url, other] = ["https://x.invalid/a.jsonl", "https://x.invalid/b.jsonl"];
  const queries = [
    "?token=hush&page=2",
    "?page=3",
    "?token=hush&page=2",
    "",
    `?q=${"h".repeat(25)}&r=${"a.".repeat(20)}`,
  ];
  const names: string[] = [];
  for (const query of queries) names.push(await remotes.assignName(`${url}${query}`));
  names.push(await remotes.assignName(other));
  remotes.close();
  expect(names).toEqual([url, `${url}#2`, url, `${url}#3`, `${url}#4`, other]);
  expect(hidden.filter(Boolean)).toEqual(["hush", "h".repeat(25)]);
  const refused = [
    "http://x.invalid/a",
    "https://me:pass@x.invalid/a",
    "ftp://x.invalid/a",
    "s3://bucket/a",
    "https://[/a",
  ];
  for (const wrong of refused)
    await expect(remotes.assignName(wrong)).rejects.toHaveProperty("kind", "invalid-remote-url");
  expect(hidden.at(-1)).toBe("pass");
});
