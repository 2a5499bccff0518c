import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { type RunOptions, runRollcall } from "../../support/run.ts";
import { json, scriptedServer } from "../../support/server.ts";

const samples = {
  analysis: readFileSync("test/samples/catalog.analysis.json", "utf8"),
  router: readFileSync("test/samples/catalog.router.json", "utf8"),
};

/** Both catalogs, at a service of their own. */
const plot = async (
  args: readonly string[],
  { catalogs = samples, env = {} }: { catalogs?: Partial<typeof samples>; env?: RunOptions["env"] } = {},
) => {
  const server = await scriptedServer(
    Object.entries(catalogs).map(([name, body]) => ({
      when: ({ path }) => path.includes(`/${name}/`),
      answer: json(body),
    })),
  );
  const names = Object.keys(catalogs).map((name) => [`ROLLCALL_${name.toUpperCase()}_PROVIDER`, "any"]);
  return await runRollcall(["catalog", "plot", ...args], {
    env: { ROLLCALL_BASE_URL: server.url, ...Object.fromEntries(names), ...env },
  });
};

const router = (data: readonly object[]) => ({ router: JSON.stringify({ data }) });

const model = (id: string, context_length: unknown, prompt: unknown) => ({ id, context_length, pricing: { prompt } });

describe("rollcall catalog plot", () => {
  it.each([60, 100])("is a picture that fits %i columns", async (columns) => {
    const { code, stdout } = await plot(["-o", "table"], { env: { COLUMNS: String(columns) } });
    expect(code).toBe(0);
    expect(stdout.split("\n").filter((line) => line.length > columns)).toEqual([]);
    await expect(stdout).toMatchFileSnapshot(`golden/catalog-plot.${columns}.txt`);
  });

  it("is drawn with ASCII where the terminal has nothing else", async () => {
    const { stdout } = await plot(["-o", "table", "--price", "completion"], { env: { COLUMNS: "100", LC_ALL: "C" } });
    expect(stdout).toMatch(/^[\n -~]*$/);
    await expect(stdout).toMatchFileSnapshot("golden/catalog-plot.ascii.txt");
  });

  it("gives only the models of note where there is no room for a picture", async () => {
    const { stdout } = await plot(["-o", "table", "--catalog", "router"], {
      catalogs: { router: samples.router },
      env: { COLUMNS: "30" },
    });
    expect(stdout.split("\n").filter((line) => line.length > 30)).toEqual([]);
    expect(stdout).toContain("a  ");
    expect(stdout).not.toContain("│");
  });

  it("gives the points to a pipe, and nothing of the picture", async () => {
    const catalogs = router([model("a", 1000, "0.000001"), model("b", 2000, "1e-7"), model("c", 500, "0.0000001")]);
    expect((await plot([], { catalogs })).stdout).toBe(
      ["a\trouter\t1000\t1\t", "b\trouter\t2000\t0.1\tbest", "c\trouter\t500\t0.1\t", ""].join("\n"),
    );
    expect((await plot(["--json"], { catalogs })).stdout).toBe(
      `${JSON.stringify({
        price: "prompt",
        data: [
          { id: "a", name: null, catalog: "router", context_length: 1000, price: "0.000001", best: false },
          { id: "b", name: null, catalog: "router", context_length: 2000, price: "0.0000001", best: true },
          { id: "c", name: null, catalog: "router", context_length: 500, price: "0.0000001", best: false },
        ],
      })}\n`,
    );
  });

  it("draws what is free below the axis, and does not call what costs something beaten by it", async () => {
    const catalogs = router([
      model("free-one", 100_000, "0"),
      model("dear-one", 1000, "0.1"),
      model("m", 10, "0.00001"),
    ]);
    const { stdout } = await plot(["-o", "table"], { catalogs, env: { COLUMNS: "60" } });
    expect(stdout).toMatch(/^ {2}free ┤ +free-one c$/m);
    expect(stdout).toMatch(/^a {2}m +10 +\$10$/m);
  });

  it("names a few of many that are alike, and how many there are", async () => {
    const catalogs = router(Array.from({ length: 70 }, (_, at) => model(`m${at}`, 4096, "0.000001")));
    const { stdout } = await plot(["-o", "table"], { catalogs, env: { COLUMNS: "60" } });
    expect(stdout).toMatch(/^a {2}m3 +4096 +\$1\n {3}and 66 more\n$/m);
  });

  it("leaves out what states no context or no price, and says so once", async () => {
    const catalogs = router([
      model("a", 1000, "0.000001"),
      model("b", 0, "0.000001"),
      model("c", 1000, "free"),
      model("d", "128k", "1"),
      { id: "e" },
      model("f", 1000, "-1"),
      model("g", 1.5, "1"),
    ]);
    const { stdout, stderr } = await plot(["--fields", "id"], { catalogs });
    expect(stdout).toBe("a\n");
    expect(stderr).toContain("note: 6 of 7 models state no context length or no prompt price: they are left out\n");
    expect(stderr.match(/not of the interface's types/g)).toHaveLength(1);
  });

  it("takes the filters", async () => {
    const { stdout } = await plot(["kimi", "--country", "US", "--fields", "id", "--catalog", "router"], {
      catalogs: { router: samples.router },
    });
    const ids = stdout.split("\n").slice(0, -1);
    expect(ids.length).toBeGreaterThan(0);
    expect(ids.filter((id) => !/kimi/i.test(id))).toEqual([]);
  });

  it("says that nothing matches", async () => {
    const { code, stdout, stderr } = await plot(["nothing-like-it", "-o", "table"], {
      catalogs: router([model("a", 1, "1")]),
    });
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "", stderr: "note: no model matches\n" });
  });

  it.each([
    [["--price", "promt"], "did you mean prompt?"],
    [["--catalog", "rooter"], "did you mean router?"],
    [["--html", "-"], '--html can\'t be "-": it takes the name of a file'],
  ])("%j says what is meant instead", async (args, hint) => {
    const { code, stderr } = await runRollcall(["catalog", "plot", ...args]);
    expect(code).toBe(2);
    expect(stderr).toContain(hint);
  });

  it.each([
    ["one model", [model("only", 4096, "0.000001")]],
    ["models all alike", Array.from({ length: 70 }, (_, at) => model(`m${at}`, 4096, "0.000001"))],
    ["the widest of numbers", [model("a", 1, "1e-34"), model("b", 9007199254740991, "1e30")]],
    ["only free ones", [model("a", 1, "0"), model("b", 2, "0.0")]],
    [
      "a front longer than the alphabet",
      Array.from({ length: 80 }, (_, at) => model(`m${at}`, at + 1, `${at + 1}e-7`)),
    ],
    ["names that could do harm", [model("\u001b[31m\u202e鍵/\n👩‍🚀 x", 4096, "0.000001")]],
  ])("draws %s", async (_, data) => {
    for (const columns of [36, 61, 250]) {
      const { code, stdout } = await plot(["-o", "table"], {
        catalogs: router(data),
        env: { COLUMNS: String(columns) },
      });
      expect(code).toBe(0);
      expect(stdout).toMatch(/^[^\u0000-\u0009\u000b-\u001f\u202e]+$/);
      expect(stdout.split("\n").filter((line) => line.length > columns + 4)).toEqual([]);
      expect(stdout).toMatch(/^a {2}/m);
    }
  });
});
