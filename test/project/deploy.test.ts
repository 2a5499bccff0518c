import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import { parse } from "yaml";
import { hasPostgres, newDatabase } from "../support/postgres.ts";
import { newHome, runRollcall, startRollcall } from "../support/run.ts";

/** The parts of a service of the compose file that start rollcall. */
interface ComposeService {
  readonly image: string;
  readonly build?: { readonly dockerfile: string };
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
}

const compose = parse(readFileSync("deploy/compose.yaml", "utf8")) as {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly secrets: Readonly<Record<string, unknown>>;
};
const own = Object.entries(compose.services).filter(([, { build }]) => build !== undefined);
const proxy = readFileSync("deploy/haproxy.cfg", "utf8");

/** The instructions of the Dockerfile, in their order. */
const instructions = Array.from(
  readFileSync("deploy/Dockerfile", "utf8").matchAll(/^([A-Z]+) (.*)$/gm),
  ([, name = "", words = ""]) => ({ name, words }),
);
const wordsOf = (name: string): readonly string[] =>
  instructions.filter((one) => one.name === name).map(({ words }) => words);

const usual = JSON.parse(wordsOf("CMD").at(-1) ?? "[]") as readonly string[];
const commands: readonly (readonly string[])[] = [usual, ...own.map(([, { command = [] }]) => command)];

describe("deploy/", () => {
  it("names only commands and options that exist", async () => {
    const { stdout } = await runRollcall(["commands", "--json"]);
    const described = JSON.parse(stdout).commands as readonly { name: string; options: readonly { long: string }[] }[];
    expect(commands).toHaveLength(3);
    for (const [name = "", ...words] of commands) {
      const options = described.find((one) => one.name === name)?.options.map((one) => JSON.stringify(one)) ?? [];
      for (const word of words.filter((one) => one.startsWith("--"))) {
        expect(
          options.some((option) => option.includes(`"${word}"`) || option.includes(`"${word.slice(2)}"`)),
          word,
        ).toBe(true);
      }
    }
  });

  it("names images without a registry, and keeps every secret in a file", () => {
    const images = [...wordsOf("FROM"), ...Object.values(compose.services).map(({ image }) => image)];
    expect(images.filter((image) => image.includes("/"))).toEqual([]);
    const secrets = Object.values(compose.services).flatMap((service) => service.secrets ?? []);
    expect(secrets.filter((name) => !Object.hasOwn(compose.secrets, name))).toEqual([]);
    const values = Object.values(compose.services).flatMap(({ environment = {} }) => Object.entries(environment));
    const files = values.filter(([name]) => /_FILE$/.test(name)).map(([, value]) => value.split("/").at(-1));
    expect(files.toSorted()).toEqual([...new Set(secrets), "store_address"].toSorted());
  });

  it("runs as an unprivileged user, and has its health check on the port of the service", () => {
    const names = instructions.map(({ name }) => name);
    expect(wordsOf("USER")).toEqual(["node"]);
    expect(names.lastIndexOf("RUN")).toBeLessThan(names.indexOf("USER"));
    const [health = ""] = wordsOf("HEALTHCHECK");
    expect([health.includes(":8700/healthz"), wordsOf("EXPOSE")]).toEqual([true, ["8700"]]);
    const servers = Array.from(proxy.matchAll(/^ {4}server (\S+) (\S+):8700$/gm), ([, name, machine]) => [
      name,
      machine,
    ]);
    expect(servers).toEqual(own.map(([name]) => [name, name]));
  });
});

describe.skipIf(!hasPostgres)("the services of the compose file", { timeout: 90_000, tags: "database" }, () => {
  /** Starts a service as the compose file does, but on a free port. */
  const started = async (command: readonly string[], store: string) => {
    const env = { ...newHome(), ROLLCALL_STORE: store };
    const child = startRollcall([...command, "--port", "0"], { env });
    onTestFinished(() => void child.kill("SIGKILL"));
    let said = "";
    const port = await new Promise<number>((resolve) =>
      child.stderr.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        const found = /http:\/\/[^\s"/]+:(\d+)/.exec(said)?.[1];
        if (found !== undefined) resolve(Number(found));
      }),
    );
    return { child, port };
  };

  const statusOf = async (port: number, path: string): Promise<number | undefined> =>
    await new Promise((resolve, reject) => {
      request({ port, host: "127.0.0.1", path, headers: { Host: "localhost" } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .once("error", reject)
        .end();
    });

  it("start at once on one store, answer the proxy's check, and exit with 0 after SIGTERM", async () => {
    const asked = /http-check send meth GET uri (\S+) .* hdr Host localhost/.exec(proxy)?.[1] ?? "";
    const store = await newDatabase();
    const services = await Promise.all(own.map(async ([, { command = [] }]) => await started(command, store)));
    for (const { port } of services) {
      expect([await statusOf(port, asked), await statusOf(port, "/healthz")]).toEqual([200, 200]);
    }
    const [, check = "[]"] = /CMD (\[.*\])$/.exec(wordsOf("HEALTHCHECK")[0] ?? "") ?? [];
    const [program = "", ...args] = JSON.parse(check) as readonly string[];
    const health = (port: number) =>
      spawnSync(
        program,
        args.map((word) => word.replace("8700", String(port))),
      ).status;
    expect(services.map(({ port }) => health(port))).toEqual([0, 0]);
    for (const { child, port } of services) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      expect([await ended, health(port)]).toEqual([0, 1]);
    }
  });
});
