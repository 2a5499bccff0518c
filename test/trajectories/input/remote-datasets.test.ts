/** Inputs in stores that speak S3, and in datasets of the Hub. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fileServer } from "../../support/file-server.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { newFolder } from "../inputs.ts";
import { hasSwift, startSwift, swiftKey } from "../swift-store.ts";

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

const key = swiftKey;

describe.skipIf(!hasSwift)("a file in a store that speaks S3 (skipped without OpenStack Swift)", () => {
  let endpoint = "";
  let stop: () => void;

  beforeAll(async () => {
    const store = await startSwift();
    ({ endpoint, stop } = store);
    await store.put("large.jsonl", large);
    await store.put("train/step%201%2B%C3%BC.jsonl.gz", gzipSync(group("one")));
    for (let step = 2; step <= 25; step++) await store.put(`train/deep/${step}.jsonl`, group(`step ${step}`));
    await store.put("train/notes.txt", "nothing");
    await store.put("train/.hidden/x.jsonl", group("hidden"));
  }, 120_000);
  afterAll(() => stop());

  const env = (more: Env = {}): Env => ({ ...newHome(), AWS_ENDPOINT_URL_S3: endpoint, ...key, ...more });

  it("is read with the key of the environment", async () => {
    const { code, document } = await checked(["s3://runs/large.jsonl"], env());
    expect([code, document.groups.read]).toEqual([0, 200]);
  });

  it("is read with a profile's key, region and endpoint", async () => {
    const home = newHome();
    mkdirSync(join(home.HOME, ".aws"));
    const config = `[default]\nregion = eu-west-1\n[profile work]\nendpoint_url = ${endpoint}\nregion=us-east-1\ns3 =\n  max_queue_size = 5\n`;
    writeFileSync(join(home.HOME, ".aws/config"), config);
    writeFileSync(
      join(home.HOME, ".aws/credentials"),
      "[work]\naws_access_key_id = runs:reader\naws_secret_access_key=the-right-secret\n",
    );
    const { code, document } = await checked(["s3://runs/large.jsonl"], { ...home, AWS_PROFILE: "work" });
    expect([code, document.groups.read]).toEqual([0, 200]);
  });

  it("is one of a prefix: all below it are read, however many lists that takes", async () => {
    const { code, document } = await checked(["s3://runs/train/"], env());
    expect([code, document.groups.read]).toEqual([0, 25]);
  });

  it("has a name with letters that addresses can't hold", async () => {
    const { code, document } = await checked(["s3://runs/train/step 1+ü.jsonl.gz"], env());
    expect([code, document.groups.read]).toEqual([0, 1]);
  });

  it("is logged once, wherever it is read from", async () => {
    const home = env();
    const folder = newFolder();
    writeFileSync(join(folder, "2.jsonl"), group("step 2"));
    const words = ["log", "m", "--split", "train", "--local", "--json", "--batch", "b"];
    const far = await runRollcall([...words, "s3://runs/train/deep/2.jsonl"], { env: home });
    const near = await runRollcall([...words, join(folder, "2.jsonl")], { env: home });
    expect([far.code, JSON.parse(near.stdout).status]).toEqual([0, "already_logged"]);
  });

  it.each([
    ["s3://runs/no-such.jsonl", 3, "remote-missing", "NoSuchKey"],
    ["s3://no-such-bucket/x.jsonl", 3, "remote-missing", "NoSuchBucket"],
    ["s3://no-such-bucket/x/", 3, "remote-missing", "NoSuchBucket"],
    ["s3://runs/nothing-below/", 3, "folder-without-rollouts", "no file in this folder"],
  ])("is not there: %s", async (name, exit, rule, says) => {
    const { code, error } = await checked([name], env());
    expect([code, error.problems[0]]).toMatchObject([exit, { rule, file: name }]);
    expect(error.problems[0].message).toContain(says);
  });

  it("is not given to a wrong key, which nothing shows", async () => {
    const secret = { AWS_SECRET_ACCESS_KEY: "not-the-right-secret" };
    const ran = await runRollcall(["check", "--json", "--debug", "s3://runs/large.jsonl"], { env: env(secret) });
    expect(ran.code).toBe(4);
    expect(ran.stderr).toContain("SignatureDoesNotMatch");
    expect(ran.stderr).toContain("to the credential from AWS_ACCESS_KEY_ID (403)");
    expect(ran.stderr).not.toMatch(/not-the-right-secret|Signature=/);
  });

  it("is told of a profile that is not there, or that asks somebody else for its key", async () => {
    const home = newHome();
    mkdirSync(join(home.HOME, ".aws"));
    writeFileSync(join(home.HOME, ".aws/config"), "[profile sso]\nsso_session = company\n");
    const missing = await checked(["s3://runs/large.jsonl"], { ...home, AWS_PROFILE: "none" });
    const asking = await checked(["s3://runs/large.jsonl"], { ...home, AWS_PROFILE: "sso" });
    expect([missing.code, missing.error.message]).toEqual([2, expect.stringContaining("no profile none")]);
    expect([asking.code, asking.error.message]).toEqual([2, expect.stringContaining("sso_session")]);
    expect(asking.error.hint).toContain("aws configure export-credentials");
  });
});

describe("an answer of an S3 store", () => {
  it("that names another region is asked again there, signed for it", async () => {
    const { url, asked } = await fileServer({
      files: { "/runs/step.jsonl": group("a") },
      instead: ({ headers }, response) => {
        if (/\/eu-west-3\/s3\//.test(headers.authorization ?? "")) return false;
        response
          .writeHead(301, { "x-amz-bucket-region": "eu-west-3" })
          .end("<Error><Code>PermanentRedirect</Code></Error>");
        return true;
      },
    });
    const { code, document } = await checked(["s3://runs/step.jsonl"], { ...key, AWS_ENDPOINT_URL: url });
    expect([code, document.groups.read, asked.length]).toEqual([0, 1, 2]);
  });

  it("that redirects to no region is told with what says where a bucket is", async () => {
    const { url } = await fileServer({
      files: {},
      instead: (_, response) => {
        response.writeHead(301).end("<Error><Code>PermanentRedirect</Code><Message>elsewhere</Message></Error>");
        return true;
      },
    });
    const { code, error } = await checked(["s3://runs/step.jsonl"], { ...key, AWS_ENDPOINT_URL: url });
    expect([code, error.message]).toEqual([6, expect.stringContaining("PermanentRedirect: elsewhere")]);
    expect(error.hint).toContain("AWS_REGION");
  });

  it("is asked for without a signature where there is no key, with the token of a session where there is one", async () => {
    const { url, asked } = await fileServer({ files: { "/runs/step.jsonl": group("a") } });
    await checked(["s3://runs/step.jsonl"], { AWS_ENDPOINT_URL: url });
    await checked(["s3://runs/step.jsonl"], { ...key, AWS_SESSION_TOKEN: "of-a-session", AWS_ENDPOINT_URL: url });
    const [without, signed] = asked.map(({ headers }) => headers);
    expect([without?.authorization, signed?.["x-amz-security-token"]]).toEqual([undefined, "of-a-session"]);
  });
});

/** A hub with one dataset, private or not; its files are given by another origin, which must not see the token. */
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

describe("a file of a dataset on the Hub", () => {
  it("is read where the Hub leads to, without the token", async () => {
    const { env, asked } = await hub({ token: "hf_secret_token" });
    const names = ["hf://datasets/o/n/data/step 1.jsonl"];
    const { code, document } = await checked(names, { ...env, HF_TOKEN: "hf_secret_token" });
    expect([code, document.groups.read, asked.length]).toEqual([0, 200, 1]);
  });

  it("is read with the token that a login has saved", async () => {
    const { env } = await hub({ token: "hf_saved_token" });
    mkdirSync(join(env.HOME, ".cache/huggingface"), { recursive: true });
    writeFileSync(join(env.HOME, ".cache/huggingface/token"), "hf_saved_token\n");
    expect((await checked(["hf://datasets/o/n/data/deep/2.jsonl"], env)).document.groups.read).toBe(1);
  });

  it("is read at a revision", async () => {
    const { env } = await hub();
    const { code } = await checked(["hf://datasets/o/n@refs/convert/parquet/data/deep/2.jsonl"], env);
    const other = await checked(["hf://datasets/o/n@v2/data/deep/2.jsonl"], env);
    expect([code, other.code, other.error.problems[0].rule]).toEqual([0, 3, "remote-missing"]);
  });

  it.each(["hf://datasets/o/n/", "hf://datasets/o/n/data/"])("is one of a folder, page by page: %s", async (name) => {
    const { env } = await hub();
    const { code, document } = await checked([name], env);
    expect([code, document.groups.read]).toEqual([0, 201]);
  });

  it("of another tool is read with the documents beside it, as on a disk", async () => {
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

  it("is one of more than a run keeps open, all of which are kept in one place", async () => {
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

  it("is told as private, or not there, where no token may read it", async () => {
    const { env } = await hub({ token: "hf_secret_token" });
    const { code, error } = await checked(["hf://datasets/o/n/data/step 1.jsonl"], env);
    expect([code, error.message]).toEqual([
      4,
      expect.stringContaining("no credential went along (401): Invalid username"),
    ]);
    expect(error.hint).toContain("HF_TOKEN");
  });

  it.each(["hf://o/n/x.jsonl", "hf://datasets/o", "gs://runs/x.jsonl", "s3://", "s3://runs"])(
    "is refused by an address that is none: %s",
    async (name) => {
      const { code, error } = await checked([name], newHome());
      expect([code, error.code]).toEqual([2, "usage"]);
    },
  );
});
