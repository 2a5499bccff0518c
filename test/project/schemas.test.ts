import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { documentSchema, lineSchema } from "../../src/output/document-schemas.ts";
import { runHere } from "../support/here.ts";
import { commandIn, faultsIn, findOutputFaults, outputs } from "../support/outputs.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { json, scriptedServer } from "../support/server.ts";
import { commandPaths } from "./docs/commands.ts";

/** Commands without a document for --json. They print nothing, or text for another program. */
const withoutDocument = ["config set", "config unset", "serve", "completion"];

const leaves = commandPaths()
  .map((path) => path.slice(1).join(" "))
  .filter((name) => commandIn(name.split(" ")) === name);

describe("every command", () => {
  it("has a schema for its output with --json, or no output", () => {
    const named = outputs.map(({ name }) => name);
    const without = leaves.filter((name) => !withoutDocument.includes(name) && !named.includes(name));
    expect(without, "add them to output.ts of the noun, or to withoutDocument in this test").toEqual([]);
    const others = ["error", "problem", "rejected", "event"];
    expect(named.filter((name) => !leaves.includes(name) && !others.includes(name))).toEqual([]);
  });
});

describe("a schema", () => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, validateFormats: false });

  it.each(outputs.map((output) => [output.name, output] as const))("is valid in draft 2020-12: %s", (_, output) => {
    const schemas = output.line === undefined ? [documentSchema(output)] : [documentSchema(output), lineSchema(output)];
    for (const { schema } of schemas) expect(() => ajv.compile(schema)).not.toThrow();
  });
});

describe("rollcall schema", () => {
  it("prints the recorded keys, types and descriptions", async () => {
    const schemas = outputs.flatMap((output) => [documentSchema(output), ...(output.line ? [lineSchema(output)] : [])]);
    const lines = schemas.map((one) => `${JSON.stringify(one)}\n`).join("");
    await expect(lines).toMatchFileSnapshot("golden/schemas.jsonl");
  });

  it("prints the schema of a document or of its lines, and lists both files", async () => {
    const run = async (...words: string[]) => JSON.parse((await runHere(["schema", ...words])).stdout);
    const listed = outputs.map((output) => {
      const { name, about, line } = output;
      return { name, about, file: documentSchema(output).file, line_file: line ? lineSchema(output).file : null };
    });
    expect(await run("--json")).toEqual({ schemas: listed });
    for (const output of outputs.filter(({ name }) => /^(models|ledger forget)$/.test(name))) {
      expect(await run(...output.name.split(" "), "--json")).toEqual(documentSchema(output).schema);
      expect(await run(...output.name.split(" "), "--line")).toEqual(lineSchema(output).schema);
    }
    expect((await runHere(["schema", "ledger", "forget"])).stdout).toMatch(/^\{\n {2}"\$schema": /);
  });

  it("suggests the nearest output for an unknown name", async () => {
    const said = async (...words: string[]) => (await runRollcall(["schema", ...words])).stderr;
    expect(await said("modles")).toContain("did you mean models?");
    expect(await said("--line")).toContain("--line requires <command>");
  });
});

const trajectory = (reward: number): string => `{"messages_and_choices":[],"reward":${reward}}`;
const folder = mkdtempSync(join(tmpdir(), "outputs-"));
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const good = file("good.jsonl", `{"trajectories":[${trajectory(0)},${trajectory(1)}]}\n`);
const mixed = file("mixed.jsonl", `${trajectory(1)}\n{"reward":"x"}\n`);
const id = "019a3b1e-6f42-7c1d-9a55-2f0b7d9c4e11";

/** Runs in one home with documents and lines that no other test prints, and objects of the local service. */
const runs: readonly string[] = [
  `log my-model ${good} --split train --local --json`,
  "ledger status -o jsonl",
  "ledger calls -o jsonl",
  "models --local -o jsonl",
  "catalog analysis --local --json",
  "catalog router qwen --local -o jsonl",
  "auth status --local -o jsonl",
  "config list -o jsonl",
  "config set split train --profile work --create --json",
  "profile list -o jsonl",
  "profile delete work --yes --json",
  "commands -o jsonl",
  "doctor --local -o jsonl",
  "schema --json",
  "schema -o jsonl",
];

const samples = (name: string): unknown => JSON.parse(readFileSync(`test/samples/${name}`, "utf8"));

describe("the output with --json", () => {
  it("matches its schema for command lines that no other test runs", async () => {
    const env = newHome();
    for (const words of runs) {
      const args = words.split(" ");
      const ran = await runRollcall(args, { env });
      expect({ words, ...ran }).toMatchObject({ words, code: 0, stderr: "" });
      expect(findOutputFaults({ args, ...ran })).toEqual([]);
    }
  });

  it("matches its schema for resolved requests", async () => {
    const { url } = await scriptedServer([{ answer: (_, response) => void response.socket?.destroy() }]);
    const env = { ...newHome(), ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-1234" };
    expect((await runRollcall(["log", "m", good, "--split", "train", "--json"], { env })).code).toBe(8);
    const ran = await runRollcall(["ledger", "resolve", "r1", "--resend", "--json"], { env });
    expect(ran).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(ran.stdout)).toEqual({ resolved: ["r1"], state: "released" });
  });

  it.each(["call.json", "call.exception.json"])("matches its schema for the call in %s", async (name) => {
    const reply = json(samples(name));
    const { url } = await scriptedServer(Array.from({ length: 4 }, () => ({ answer: reply })));
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_API_KEY: "key-1234", ROLLCALL_PROJECT: "alpha/beta" };
    for (const words of [
      [id, "--json"],
      [id, id, "--json"],
      [id, "-o", "jsonl"],
    ]) {
      const args = ["call", "read", ...words];
      const ran = await runRollcall(args, { env });
      expect(ran).toMatchObject({ code: 0, stderr: "" });
      expect(findOutputFaults({ args, ...ran })).toEqual([]);
    }
  });

  it.each([
    ["models --json", '{"object":7,"data":[{"id":1,"created":"2026-01-01","owned_by":null},null]}'],
    ["models --json", '{"data":null}'],
    ["models -o jsonl", '{"data":[{"id":["a"],"created":1.5}]}'],
    ["catalog router --json", '{"data":[{"id":"m","context_length":1.5,"pricing":7,"datacenters":{"a":1}},null]}'],
    ["catalog router -o jsonl", '{"data":[{"id":"m","created":"x","supported_features":"tools"}]}'],
    ["call read a --json", '{"call":{"id":7,"attributes":[],"summary":"x","started_at":1,"vendor_run_step":"x"}}'],
    ["call read a --json --path id", '{"call":{"id":7}}'],
  ])("of %s matches its schema for the reply %s", async (words, reply) => {
    const { url } = await scriptedServer([{ answer: json(JSON.parse(reply)) }]);
    const names = { ROLLCALL_ANALYSIS_PROVIDER: "a", ROLLCALL_ROUTER_PROVIDER: "r", ROLLCALL_PROJECT: "a/b" };
    const env = { ROLLCALL_BASE_URL: url, ROLLCALL_INFERENCE_BASE_URL: url, ROLLCALL_API_KEY: "key-1234", ...names };
    const args = words.split(" ");
    const { code, stdout } = await runRollcall(args, { env });
    expect([code, stdout]).toEqual([0, expect.stringMatching(/./)]);
    const form = words.includes("jsonl") ? "jsonl" : "json";
    const name = commandIn(args) ?? "";
    for (const text of form === "json" ? [stdout] : stdout.trimEnd().split("\n"))
      expect(faultsIn({ text, name, form })).toEqual([]);
  });

  it("does not match its schema with an additional or a missing key", () => {
    const args = ["ledger", "forget", "--json"];
    const faults = (value: unknown) => findOutputFaults({ args, code: 0, stdout: JSON.stringify(value), stderr: "" });
    expect(faults({ forgotten: 1, left: 0 })).toEqual([]);
    expect(faults({ forgotten: 1, left: 0, kept: 2 })).toHaveLength(1);
    expect(faults({ forgotten: 1 })).toHaveLength(1);
    expect(faults({ forgotten: -1, left: "0" })).toHaveLength(2);
  });
});

describe("the file of reasons next to a rejects file", () => {
  it("matches its schema on each line", async () => {
    const rejects = join(folder, "rejects-2");
    await runRollcall(["log", "m", mixed, "--split", "train", "--local", "--on-invalid", "skip", "--rejects", rejects]);
    const reasons = readFileSync(`${rejects}.reasons`, "utf8").trimEnd().split("\n");
    expect(reasons.flatMap((text) => faultsIn({ name: "rejected", text }))).toEqual([]);
  });
});

describe("rollcall", () => {
  it.each<[what: string, code: number, words: string, events: readonly string[]]>([
    [
      "with rejected groups",
      7,
      `m ${mixed} --split train --on-invalid skip --rejects ${folder}/a`,
      ["checking", "warning", "request_logged"],
    ],
    [
      "with a document",
      7,
      `m ${mixed} --split train --on-invalid skip --rejects ${folder}/b --json`,
      ["checking", "request_logged"],
    ],
    ["with invalid groups", 3, `m ${mixed} --split train --debug`, ["checking"]],
    ["with an unknown option", 2, `m ${mixed} --split train --nonsense`, []],
    [
      "with debug lines",
      0,
      `m test/samples/airline.groups.jsonl --split train --debug`,
      ["checking", "sending", "request_logged", "debug"],
    ],
  ])("prints only events and a last error document for a log %s", async (_, code, words, events) => {
    const env = { ROLLCALL_BASE_URL: "http://127.0.0.1:1", ROLLCALL_API_KEY: "key-1234" };
    const ran = await runRollcall(["log", "--local", "--progress", "json", ...words.split(" ")], { env });
    const lines = ran.stderr.split("\n").slice(0, -1);
    const error = code === 0 ? undefined : lines.pop();
    expect([ran.code, lines.flatMap((text) => faultsIn({ name: "event", text }))]).toEqual([code, []]);
    expect(error === undefined ? [] : faultsIn({ name: "error", text: error })).toEqual([]);
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(expect.arrayContaining([...events]));
  });
});
