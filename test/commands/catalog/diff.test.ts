import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type HereOptions, runHere } from "../../support/here.ts";
import { newHome, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

const entry = (id: string, more: object = {}) => ({
  id,
  context_length: 131072,
  pricing: { prompt: "0.0000003", completion: "0.0000012" },
  supported_features: ["tools"],
  datacenters: [{ country_code: "FI" }, { country_code: "US" }],
  ...more,
});

/** A model for each kind of change. */
const before = [
  entry("maker/same"),
  entry("maker/gone"),
  entry("maker/dearer", { quantization: "fp8" }),
  entry("maker/smaller"),
  entry("maker/moved", { supported_features: ["tools", "json_mode", "reasoning"] }),
  entry("maker/odd", { pricing: { prompt: "free" } }),
];
const after = [
  entry("maker/same"),
  entry("maker/new"),
  entry("maker/dearer", {
    quantization: "int4",
    pricing: { prompt: "0.0000004", completion: "0.0000011", input_cache_read: "3e-8", image: "0.00125" },
  }),
  entry("maker/smaller", { context_length: 32768, deprecation_date: "2027-01-31" }),
  entry("maker/moved", { supported_features: ["tools", "logprobs"], datacenters: [{ country_code: "SE" }] }),
  entry("maker/odd", { pricing: { prompt: "-1" } }),
];

const files = () => {
  const folder = mkdtempSync(join(tmpdir(), "diff-"));
  const [older, newer] = [join(folder, "older.json"), join(folder, "newer.json")];
  writeFileSync(older, JSON.stringify({ data: before }));
  writeFileSync(newer, JSON.stringify({ data: after }));
  return { older, newer, folder };
};

const diff = (args: readonly string[], options: HereOptions = {}) => runHere(["catalog", "diff", ...args], options);

describe("rollcall catalog diff", () => {
  it("prints the changes since a date from the cached history", async () => {
    const answers = [before, after, after].map((data) => ({ answer: json({ data }) }));
    const server = await scriptedServer(answers);
    const env = { ...newHome(), ROLLCALL_BASE_URL: server.url, ROLLCALL_ROUTER_PROVIDER: "y" };
    await runRollcall(["catalog", "router"], { env });
    const between = new Date().toISOString();
    await runRollcall(["catalog", "router"], { env });
    const since = await runRollcall(["catalog", "diff", "--since", between, "--json"], { env });
    expect(JSON.parse(since.stdout).compared[0]).toMatchObject({
      from: { catalog: "router", provider: "y" },
      models: { same: 1 },
    });
    expect(JSON.parse(since.stdout).changes.length).toBe(12);
    const past = await runRollcall(
      ["catalog", "diff", "--since", between, "--until", new Date().toISOString(), "--catalog", "router"],
      { env },
    );
    expect(past.stdout.split("\n").length).toBe(13);
    const none = await runRollcall(["catalog", "diff", "--since", "1d", "--until", between], { env });
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(none.stderr).toMatch(
      /^note: no saved router catalog is as old as --since, so rollcall uses the oldest one, from .* UTC\nnote: no differences\n$/,
    );
  });

  it.each([
    [
      "JSON lines with a byte order mark",
      (data: object[]) => `\ufeff${data.map((one) => JSON.stringify(one)).join("\n")}\n`,
    ],
    ["a whole reply", (data: object[]) => JSON.stringify({ data, note: 1 }, null, 2)],
  ])("reads %s from standard input", async (_, spelled) => {
    const { older } = files();
    expect(await diff([older, "--with", "-", "--exit-code"], { stdin: spelled(before) })).toMatchObject({
      code: 0,
      stdout: "",
    });
  });

  it.each([
    ["missing", undefined, "cannot read"],
    ["not JSON", '{"data":\n [,]}', "it is not JSON"],
    ["no catalog", '{"models":[]}', "it has no list of models"],
    ["empty", "", "it is not JSON"],
  ])("exits with 3 for a file that is %s", async (_, text, words) => {
    const { older, folder } = files();
    const path = join(folder, "broken.json");
    if (text !== undefined) writeFileSync(path, text);
    const ran = await diff([older, "--with", path]);
    expect(ran).toMatchObject({ code: 3, stdout: "" });
    expect(ran.stderr).toContain(words);
  });
});
