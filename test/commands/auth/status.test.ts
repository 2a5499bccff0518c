import { describe, expect, it } from "vitest";
import { json } from "../../support/server.ts";
import { key, openHome } from "./home.ts";

describe("rollcall auth status", () => {
  it("exits with 5 with --check if the service does not answer", async () => {
    const { auth } = await openHome();
    const closed = "http://127.0.0.1:1";
    await auth(`login --with-token --no-check --base-url ${closed} --inference-base-url ${closed}`, { stdin: key });
    const { code, stdout } = await auth("status --check --for inference --max-wait 0s");
    expect([code, stdout]).toEqual([5, `inference\tready\t${closed}\tthe login of the profile default\t\tunclear\n`]);
  });

  it("advises for a key of another URL, and for none, a login for the URL of the command line", async () => {
    const { auth } = await openHome();
    const other = "--base-url http://127.0.0.1:2";
    const hintOf = async (args: string) => JSON.parse((await auth(`status --json ${args}`)).stderr).error.hint;
    expect(await hintOf(other)).toBe(`run \`rollcall auth login ${other}\`, or set ROLLCALL_API_KEY`);
    await auth("login --with-token --no-check --profile work --base-url http://127.0.0.1:1", { stdin: key });
    expect(await hintOf(`--profile work ${other}`)).toBe(
      `check --base-url, or save a key for http://127.0.0.1:2: \`rollcall auth login --profile <name> ${other}\``,
    );
  });

  it("does not test a key that is missing or belongs to another URL", async () => {
    const { auth } = await openHome();
    const urls = "--inference-base-url http://127.0.0.1:1 --log-base-url http://127.0.0.1:2";
    await auth("login --with-token --no-check --for log --base-url http://127.0.0.1:1 --project a/b", { stdin: key });
    const { code, stdout } = await auth(`status --check ${urls} -o tsv --fields use,state,from,check`);
    const rows = [
      "log\telsewhere\tthe login of the profile default\t\n",
      "inference\tmissing\t\t\n",
      "calls\tmissing\t\t\n",
    ];
    expect([code, stdout]).toEqual([4, rows.join("")]);
  });

  it("exits with 4 with --check if the service refuses one key and accepts a later one", async () => {
    const refused = { status: 401, body: "{}" };
    const { auth, site } = await openHome([
      { when: ({ path }) => path.endsWith("/models"), answer: refused },
      { when: ({ path }) => path.endsWith("/call/read"), answer: json({ call: null }) },
    ]);
    await auth(`login --with-token --no-check ${site} --project a/b`, { stdin: key });
    const { code, stdout } = await auth("status --check -o tsv --fields use,check");
    expect([code, stdout]).toEqual([4, "log\tnot tested\ninference\trefused\ncalls\taccepted\n"]);
  });

  it.each([
    ["accepted", 401],
    ["unclear", 404],
  ])("reports a key as %s if a read is not found, and gives %i without the key", async (state, status) => {
    const when = ({ path }: { path: string }) => path.endsWith("/call/read");
    const answers = [404, status].map((each) => ({ when, answer: json({ detail: "Not Found" }, each) }));
    const { auth, server } = await openHome(answers);
    await auth(`login --with-token --no-check --base-url ${server.url} --project a/b`, { stdin: key });
    expect((await auth("status --check -o tsv --fields check --for calls")).stdout).toBe(`${state}\n`);
    expect(server.received.map(({ headers }) => "authorization" in headers)).toEqual([true, false]);
  });

  it("prints a notice with --check if the list of models is incomplete", async () => {
    const { auth, site } = await openHome([{ answer: json({ object: "list", data: [], has_more: true }) }]);
    await auth(`login --with-token --no-check ${site}`, { stdin: key });
    const { stderr } = await auth("status --check --for inference");
    expect(stderr).toContain("the list of models is incomplete: the service sent only a part of it (has_more)");
  });
});
