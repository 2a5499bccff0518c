import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runHere } from "../../support/here.ts";
import { newHome } from "../../support/run.ts";
import { type Exchange, json, scriptedServer } from "../../support/server.ts";

const router = readFileSync("test/commands/catalog/catalog.json", "utf8");
const analysis = JSON.stringify({
  data: [
    { id: "maker/small", context_length: 8000, pricing: { prompt: "0.0000001", completion: "0.0000004" } },
    {
      id: "maker/free",
      name: "Free",
      pricing: { prompt: "0", completion: "0", input_cache_read: "0", request: "0.001" },
    },
    {
      id: "alpha/large-instruct",
      pricing: { prompt: "0.00000025", completion: "0.0000012", input_cache_reads: "0.00000002" },
    },
  ],
});

const catalogs: readonly Exchange[] = [
  { when: ({ path }) => path.includes("/analysis/"), answer: json(analysis) },
  { when: ({ path }) => path.includes("/router/"), answer: json(router) },
];

const asking = async (...exchanges: readonly Exchange[]) => {
  const server = await scriptedServer(exchanges);
  const env = {
    ROLLCALL_BASE_URL: server.url,
    ROLLCALL_ANALYSIS_PROVIDER: "x",
    ROLLCALL_ROUTER_PROVIDER: "y",
    ROLLCALL_PROJECT: "team/project",
    ROLLCALL_API_KEY: "key-1234",
  };
  return (args: readonly string[], more: Readonly<Record<string, string>> = {}) =>
    runHere(["catalog", "cost", ...args], { env: { ...env, ...more } });
};

it.each([
  ["5", 0],
  ["6", 2],
])("of 5 prompt tokens, %s can be cached (exit code %i)", async (cached, code) => {
  const env = newHome();
  expect(
    (await runHere(["catalog", "cost", "--local", "--prompt-tokens", "5", "--cached", cached], { env })).code,
  ).toBe(code);
});

describe("rollcall catalog cost", () => {
  it("prices the usage of a traced call", async () => {
    const call = {
      when: ({ path }: { path: string }) => path === "/call/read",
      answer: json(readFileSync("test/samples/call.json", "utf8")),
    };
    const cost = await asking(...catalogs, call);
    const ran = await cost(["--from-call", "019a3b1e", "--fields", "id,total"]);
    expect(ran.code).toBe(0);
    expect(ran.stdout.split("\n").slice(0, 4)).toEqual([
      "alpha/large-instruct\t0.00011073",
      "maker/free\t0.001",
      "gamma/nothing-known\t",
      "delta/odd\t",
    ]);
    expect(ran.stderr).toContain(
      "note: usage of the call: 1873 prompt tokens (1664 cached), 21 completion tokens, 1 request\n",
    );
  });

  it("lists models that state their end last, also without a date", async () => {
    const data = ["deprecated", "other"].map((id, at) => ({ id, deprecated: at === 0, pricing: { prompt: `${at}` } }));
    const cost = await asking({
      when: ({ path }) => path.includes("/router/"),
      answer: json(JSON.stringify({ data })),
    });
    const { stdout } = await cost(["--prompt-tokens", "1", "--catalog", "router", "--json"]);
    const { models } = JSON.parse(stdout);
    expect(models.map(({ id, ended }: { id: string; ended: boolean }) => [id, ended])).toEqual([
      ["other", false],
      ["deprecated", true],
    ]);
  });

  it.each([
    ["large-instruct", 0.25, ""],
    ["large-instruct", 0.00025, "0.00025"],
    ["alpha/large-instruct", 0.25, ""],
    ["instruct", 0.25, "0.00025"],
  ])("knows the cost of the own model %s only if the call states no other cost (%s)", async (model, cost, total) => {
    const usage = { prompt_tokens: 1000, completion_tokens: 0, cost };
    const answer = json({ call: { output: { model, usage } } });
    const run = await asking(...catalogs, { when: ({ path }) => path === "/call/read", answer });
    const { stdout } = await run(["--from-call", "c", "--fields", "id,total"]);
    for (const line of ["maker/free\t0.001", `alpha/large-instruct\t${total}`]) expect(stdout).toContain(`${line}\n`);
  });

  it("has no total if a count of the call is invalid", async () => {
    const usage = { prompt_tokens: 5, completion_tokens: 2, requests: -1 };
    const answer = json({ call: { output: { usage } } });
    const run = await asking(...catalogs.slice(0, 1), { when: ({ path }) => path === "/call/read", answer });
    const { stdout, stderr } = await run(["--from-call", "c", "--catalog", "analysis", "--fields", "id,total"]);
    expect(stdout).toContain("maker/small\t\n");
    expect(stderr).toContain("3 of 3 models, because the count requests of the call is -1\n");
  });

  it("says that no model matches, and names the known features if no model has one", async () => {
    const run = await asking(...catalogs.slice(0, 1), ...catalogs.slice(0, 1));
    const args = ["--prompt-tokens", "1", "--catalog", "analysis", "--feature"];
    expect(await run([...args, "tools"])).toEqual({ code: 0, stdout: "", stderr: "note: no model matches\n" });
    const { code, stderr } = await run([...args, "odd"]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("one of tools, json_mode, structured_outputs")]);
  });

  it.each([json({}, 404), json({ call: null })])("fails for a missing call (row %$)", async (answer) => {
    const run = await asking({ when: ({ path }) => path === "/call/read", answer });
    const { code, stderr } = await run(["--from-call", "c"]);
    expect([code, stderr]).toEqual([9, expect.stringContaining("cannot find call `c` in project team/project\n")]);
  });

  const two = { m: { prompt_tokens: 5, completion_tokens: 6, requests: 2 }, n: { prompt_tokens: 1, total_tokens: 4 } };
  it.each<[object, number, string]>([
    [
      { output: { usage: { prompt_tokens: 1000, completion_tokens: 7 } } },
      0,
      "usage of the call: 1000 prompt tokens (0 cached), 7 completion tokens, 1 request",
    ],
    [
      { output: { usage: { input_tokens: 5, output_tokens: 2, cache_creation_input_tokens: 3 } } },
      0,
      "usage of the call: 8 prompt tokens (0 cached, 3 written to a cache), 2 completion tokens, 1 request",
    ],
    [{ summary: { usage: two } }, 0, "usage of the call: 6 prompt tokens (0 cached), 9 completion tokens, 3 requests"],
    [
      { output: { usage: { prompt_tokens: 5, completion_tokens: 2, requests: -1 } } },
      0,
      "usage of the call: 5 prompt tokens (0 cached), 2 completion tokens, 1 request",
    ],
    [{}, 3, "the call c has no usage with prompt_tokens and completion_tokens"],
    [
      { output: { usage: { prompt_tokens: -1, completion_tokens: 7 } } },
      3,
      "the call c has no usage with prompt_tokens and completion_tokens, because the count prompt_tokens of the call is -1",
    ],
  ])("states the usage of the call %j (exit code %i)", async (call, code, said) => {
    const read: Exchange = { when: ({ path }) => path === "/call/read", answer: json({ call }) };
    const run = await asking(read, ...(code === 0 ? catalogs : []));
    const ran = await run(["--from-call", "c", "--fields", "id,total"]);
    expect([ran.code, ran.stderr.split("\n")[0]]).toEqual([code, `${code === 0 ? "note" : "rollcall"}: ${said}`]);
    expect(ran.stderr.includes("hint: pass --prompt-tokens and --completion-tokens instead\n")).toBe(code === 3);
  });

  it("reports a service that cannot read the call, without calling the call missing", async () => {
    const run = await asking({ when: ({ path }) => path === "/call/read", answer: json({}, 403) });
    const { code, stderr } = await run(["--from-call", "c"]);
    expect([code, stderr.includes("cannot find call")]).toEqual([4, false]);
  });
});
