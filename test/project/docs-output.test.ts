/** Compares the keys of the documents in docs/reference/output.md with those that the commands print. */
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newHome, runRollcall } from "../support/run.ts";

const [a, b, tools] = [
  "test/samples/wordle.gpt-4.1-mini.groups.jsonl",
  "test/samples/wordle.gpt-5-mini.groups.jsonl",
  "test/samples/airline.groups.jsonl",
];
const folder = mkdtempSync(join(tmpdir(), "output-"));
/** The commands of the documents, in the order of the page. An empty list is a document that no run below prints. */
const commands: readonly (readonly string[])[] = [
  ["log", "m", b, "--split", "train", "--local"],
  ["check", b],
  ["convert", b, "--out", join(folder, "groups.jsonl")],
  ["stats", tools],
  ["stats", b, "--each", "trajectory"],
  ["compare", a, b],
  [],
  ["view", b, "--html", join(folder, "page.html")],
  ["models", "--local"],
  [],
  [],
  [],
  ["ledger", "status", "--local"],
  [],
  ["ledger", "verify", b, "--model", "m", "--local"],
  ["auth", "login", "--with-token", "--no-check", "--base-url", "https://train.example"],
  ["auth", "logout", "--for", "calls"],
  ["auth", "status"],
  ["config", "list"],
  ["profile", "list"],
  ["profile", "delete", "default", "--yes"],
];

const documents: readonly unknown[] = Array.from(
  readFileSync("docs/reference/output.md", "utf8")
    .replace(/^.*^## Documents$/ms, "")
    .matchAll(/^```json\n(.*?)\n```$/gms),
  ([, block = ""]) => block.split(/\n(?=\{)/).map((text): unknown => JSON.parse(text)),
).flat();

/** Objects of the service, and objects whose keys are names in the data. */
const isOpen = (path: string, shown: object): boolean =>
  ["metrics", "responses[].body"].includes(path) || (path === "data[]" && "id" in shown);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The keys that one of two values has and the other lacks, in objects that both have. */
const differences = (shown: unknown, printed: unknown, path = ""): readonly string[] => {
  if (Array.isArray(shown) && Array.isArray(printed))
    return shown.length > 0 && printed.length > 0 ? differences(shown[0], printed[0], `${path}[]`) : [];
  if (!isObject(shown) || !isObject(printed) || isOpen(path, shown)) return [];
  const names = [...new Set([...Object.keys(shown), ...Object.keys(printed)])];
  return names.flatMap((name) => {
    const at = path === "" ? name : `${path}.${name}`;
    if (!(name in printed)) return [`${at} is not printed`];
    return name in shown ? differences(shown[name], printed[name], at) : [`${at} is not on the page`];
  });
};

describe("docs/reference/output.md", { tags: "slow" }, () => {
  it("shows each document with its keys", async () => {
    expect(documents).toHaveLength(commands.length);
    const env = newHome();
    const different: unknown[] = [];
    for (const [at, command] of commands.entries()) {
      if (command.length === 0) continue;
      const { stdout, stderr } = await runRollcall([...command, "--json"], { env, stdin: "key-of-the-service-1234" });
      const names = stdout === "" ? [stderr] : differences(documents[at], JSON.parse(stdout));
      if (names.length > 0) different.push({ command, names });
    }
    expect(different).toEqual([]);
  });

  it("has only keys that --fields accepts", async () => {
    for (const [at, command] of commands.slice(0, 8).entries()) {
      if (command.length === 0 || command.includes("--each")) continue;
      const keys = Object.keys(documents[at] ?? {}).join(",");
      const { stderr } = await runRollcall([...command, "--json", "--fields", keys], { env: newHome() });
      expect(stderr, command[0]).not.toContain("invalid --fields");
    }
  });
});
