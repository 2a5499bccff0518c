import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Charts, Findings, GroupDetail, Rows } from "../../src/view/index.ts";
import { runRollcall, startRollcall } from "../support/run.ts";
import { asked, fileOf, groupLine, servedBy, serving, type Viewing, viewing, whenRead } from "./viewing.ts";

/** The words of a command line, as a shell takes them apart that knows single quotes alone. */
const shellWords = (line: string): readonly string[] =>
  Array.from(line.matchAll(/(?:'[^']*'|[^\s'])+/g), ([word]) => word.replaceAll("'", ""));

const airline = "test/samples/airline.groups.jsonl";

describe("rollcall view", () => {
  it("prints nothing but its address, and ends with Ctrl-C well", async () => {
    const page = await viewing([airline]);
    expect(page.printed()).toBe(`${page.address}\n`);
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
    expect(page.said()).toContain("until Ctrl-C");
  });

  it("prints its address as one document with --json", async () => {
    const page = await viewing([airline, "--json"]);
    expect(JSON.parse(page.printed())).toEqual({ status: "serving", url: page.address });
    page.child.kill("SIGTERM");
    expect(await page.ended).toBe(0);
    expect(page.said()).toBe("");
  });

  it.each<[words: string[], code: number, says: string]>([
    [["no-such-file.jsonl"], 3, "no-such-file.jsonl"],
    [[airline, "--port", "70000"], 2, "--port"],
    [[airline, "--where", "reward >"], 2, "--where"],
    [[airline, "--from", "verifier"], 2, "--from"],
  ])("ends %j with exit code %i before anything is served", async (words, code, says) => {
    const ran = await runRollcall(["view", "--no-open", ...words]);
    expect(ran).toMatchObject({ code, stdout: "" });
    expect(ran.stderr).toContain(says);
  });

  it("says that a port is taken", async () => {
    const page = await viewing([airline]);
    const ran = await runRollcall(["view", "--no-open", airline, "--port", new URL(page.url).port]);
    expect(ran).toMatchObject({ code: 2, stdout: "" });
    expect(ran.stderr).toContain("the page can't listen on 127.0.0.1");
    expect(ran.stderr).not.toMatch(/service|--host/);
  });
});

describe("the browser that rollcall view opens", () => {
  it("is started with a file that nobody else can read, which leads to the page and goes once it is there", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    const script = '#!/bin/sh\ncp -p "$1" "$OPENED/page.html"\nprintf "%s\\n" "$0" "$@" > "$OPENED/words"\n';
    writeFileSync(join(folder, "xdg-open"), script, { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ":0", OPENED: folder };
    const page = await serving(["view", airline], { env });
    await expect.poll(() => existsSync(join(folder, "words"))).toBe(true);
    const [, file = "", ...others] = readFileSync(join(folder, "words"), "utf8").trimEnd().split("\n");
    expect(others).toEqual([]);
    expect(file).not.toContain(page.token);
    expect([statSync(join(folder, "page.html")).mode & 0o777, statSync(dirname(file)).mode & 0o777]).toEqual([
      0o600, 0o700,
    ]);
    const copy = readFileSync(join(folder, "page.html"), "utf8");
    expect(copy).toContain(`url=${page.address}"`);
    expect(readFileSync(file, "utf8")).toBe(copy);
    await page.ask("/page.js");
    expect(existsSync(file)).toBe(true);
    await page.ask("/api/state");
    await expect.poll(() => existsSync(dirname(file))).toBe(false);
  });

  it.each<[what: string, script: string | undefined]>([
    ["what opens addresses is not there", undefined],
    ["what opens addresses finds none", "#!/bin/sh\nexit 3\n"],
  ])("is said to be none where %s, and the page is there", async (_, script) => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    if (script !== undefined) writeFileSync(join(folder, "xdg-open"), script, { mode: 0o755 });
    const page = await serving(["view", airline], { env: { PATH: folder, DISPLAY: ":0", TMPDIR: folder } });
    await expect.poll(() => page.said()).toContain("no browser could be started");
    expect(page.said()).not.toContain("display");
    await whenRead(page);
    expect(readdirSync(folder).filter((name) => name !== "xdg-open")).toEqual([]);
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
  });

  it("leaves no file behind where nobody came", async () => {
    const folder = mkdtempSync(join(tmpdir(), "opener-"));
    writeFileSync(join(folder, "xdg-open"), '#!/bin/sh\nprintf "%s" "$1" > "$OPENED/file"\n', { mode: 0o755 });
    const env = { PATH: `${folder}:${process.env.PATH}`, DISPLAY: ":0", OPENED: folder };
    const page = await serving(["view", airline], { env });
    await expect.poll(() => existsSync(join(folder, "file"))).toBe(true);
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
    expect(existsSync(readFileSync(join(folder, "file"), "utf8"))).toBe(false);
  });
});

describe("an expression in the page", () => {
  const selectedBy = async (page: Viewing, where: string): Promise<readonly number[]> => {
    for (;;) {
      const { status, body } = await page.ask(`/api/rows?where=${encodeURIComponent(where)}`);
      if (status !== 200) throw new Error(body);
      const { rows, searched }: Rows = JSON.parse(body);
      if (searched?.share === 1) return rows.map(({ group }) => group);
    }
  };

  it("sees what it sees on the command line, however little of the groups is read for it", async () => {
    const flat = (reward: number) => ({
      messages_and_choices: [{ role: "user", content: "flat" }],
      ...{ reward, group_id: "f", start_time: "2026-01-02T03:04:05Z", metadata: { env: { name: "a" } } },
    });
    const lines = [
      groupLine([0, 1]),
      groupLine([1, 1]).replace(/}$/, ',"exceptions":[{"type":"E","message":"m"}]}'),
      JSON.stringify(flat(0.25)),
      JSON.stringify(flat(0.5)),
      groupLine([0]).replace('"reward":0', '"reward":0,"reward":3'),
    ];
    const page = await viewing([fileOf("g.jsonl", lines.join("\n"))]);
    await whenRead(page);
    const found: Record<string, readonly number[]> = {
      "reward == 1.0": [0, 1],
      "reward == 3.0": [3],
      "group.size == 2 && group.reward_mean < 0.4": [2],
      "group.number == 2 || group.reward_max > 2.0": [1, 3],
      "group.exceptions > 0": [1],
      'group["exceptions"] > 0': [1],
      "has(metrics.turns) && metrics.turns > 0.5": [0, 1],
      'has(metadata.env) && metadata.env.name == "a"': [2],
      "start_time != null": [2],
      'messages.exists(m, m.content == "4 1")': [0, 1],
      'reward > 2.0 && messages.size() == 2 || reward == 0.5 && messages[0].content == "flat"': [2, 3],
    };
    for (const [where, groups] of Object.entries(found)) {
      expect([where, await selectedBy(page, where)]).toEqual([where, groups]);
    }
  });

  it("reads nothing once more that was measured", async () => {
    const file = fileOf("g.jsonl", `${groupLine([0, 1])}\n${groupLine([0, 0])}\n`);
    const page = await viewing([file]);
    await whenRead(page);
    truncateSync(file);
    const where = encodeURIComponent("reward > 0.5 && group.reward_mean < 1.0");
    const asked = async () => JSON.parse((await page.ask(`/api/rows?count=0&where=${where}`)).body);
    await expect.poll(asked).toMatchObject({ selected: 1, of: 2, searched: { share: 1 } });
  });
});

describe("who asks the page's server", () => {
  it("is told nothing of what was read without the token, or with another", async () => {
    const page = await viewing([airline]);
    await whenRead(page);
    for (const path of [
      "/api/state",
      "/api/rows",
      "/api/charts",
      "/api/problems",
      "/api/groups/0",
      "/api/groups/0/0",
    ]) {
      for (const headers of [
        {},
        { Authorization: `Bearer ${page.token}x` },
        { Authorization: `Basic ${page.token}` },
      ]) {
        const { status, body } = await asked(page.url, path, { headers });
        expect([path, status, body]).toEqual([path, 401, expect.stringContaining("token")]);
      }
      expect((await page.ask(path)).status).toBe(200);
    }
  });

  it.each([
    ["another name", { Host: "rebound.example" }],
    ["another origin", { Origin: "https://elsewhere.example" }],
    ["a page of elsewhere", { "Sec-Fetch-Site": "cross-site" }],
  ])("is refused by %s, the page and its script too", async (_, headers) => {
    const page = await viewing([airline]);
    for (const path of ["/", "/page.js", "/api/state"]) {
      const own = { ...headers, Authorization: `Bearer ${page.token}` };
      expect((await asked(page.url, path, { headers: own })).status).toBe(403);
    }
  });

  it("may be led to the page from elsewhere, in a tab of its own, and from there to nothing else", async () => {
    const page = await viewing([airline]);
    const led = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate" };
    const own = { ...led, Authorization: `Bearer ${page.token}` };
    const to = async (path: string, dest: string) =>
      (await asked(page.url, path, { headers: { ...own, "Sec-Fetch-Dest": dest } })).status;
    expect(await to("/", "document")).toBe(200);
    expect([await to("/", "iframe"), await to("/page.js", "document"), await to("/api/state", "document")]).toEqual([
      403, 403, 403,
    ]);
  });

  it("can only read", async () => {
    const page = await viewing([airline]);
    const headers = { Authorization: `Bearer ${page.token}` };
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      expect((await asked(page.url, "/api/state", { headers, method })).status).toBe(405);
    }
    expect((await page.ask("/../package.json")).status).toBe(404);
    expect((await page.ask("/api/groups/../../package.json")).status).toBe(404);
  });

  it("is given a policy that lets the page load its own and nothing else, with every answer", async () => {
    const page = await viewing([airline]);
    for (const path of ["/", "/page.js", "/page.css", "/api/state", "/nothing"]) {
      const { headers } = await page.ask(path);
      expect(headers).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "cross-origin-resource-policy": "same-origin",
      });
      expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self'; /);
      expect(headers["content-security-policy"]).not.toContain("unsafe");
    }
  });

  it("is given a page of at most 200 kB that names no other address", async () => {
    const page = await viewing([airline]);
    const files = await Promise.all(["/", "/page.js", "/page.css"].map(async (path) => (await page.ask(path)).body));
    expect(Buffer.byteLength(files.join(""))).toBeLessThan(200_000);
    // Names of XML, which nobody asks for.
    const named = files.join("").match(/https?:\/\/[^\s"'`]+/g) ?? [];
    expect(named.filter((address) => !address.startsWith("http://www.w3.org/"))).toEqual([]);
  });
});

describe("what was read", () => {
  const lines = [groupLine([0, 1, 0.5]), groupLine([1, 1], { prompt: "say hi" }), groupLine([3])];
  const rowsOf = (body: string): Rows => JSON.parse(body);

  it("is counted, with the problems of check", async () => {
    const page = await viewing([airline]);
    expect((await whenRead(page)).summary).toMatchObject({
      files: [airline],
      groups: { read: 20, rejected: 0 },
      trajectories: { read: 80, rejected: 0 },
      withSignal: 10,
      rules: expect.arrayContaining([{ rule: "group-no-signal", severity: "warning", count: 10 }]),
      reward: { mean: 0.25, least: 0, most: 1 },
    });
  });

  it("is a row for each group, in any order, with nothing where there is no number", async () => {
    const page = await viewing([fileOf("groups.jsonl", lines.join("\n"))]);
    await whenRead(page);
    const { rows, selected, of } = rowsOf((await page.ask("/api/rows?sort=spread&descending=true")).body);
    expect([selected, of]).toEqual([3, 3]);
    expect(rows).toEqual([
      expect.objectContaining({ group: 0, words: "2 + 2?", size: 3, mean: 0.5, least: 0, most: 1, untrainable: null }),
      expect.objectContaining({ group: 1, words: "say hi", size: 2, spread: 0, untrainable: "equal rewards" }),
      expect.objectContaining({ group: 2, size: 1, mean: 3, untrainable: "a group of one" }),
    ]);
  });

  it("has tokens and cost where trajectories record them, and nothing where they don't", async () => {
    const choice = (usage: object) => ({
      finish_reason: "stop",
      index: 0,
      message: { role: "assistant", content: "4" },
      usage,
    });
    const trajectory = (own: object) => ({
      messages_and_choices: [{ role: "user", content: "cost?" }],
      reward: 1,
      ...own,
    });
    const used = { prompt_tokens: 10, completion_tokens: 5 };
    const groups = [
      [trajectory({}), trajectory({ metrics: { turns: 1 } })],
      [trajectory({ usage: { ...used, total_tokens: 16, cost: 0.5 }, metrics: { total_tokens: 99 } }), trajectory({})],
      [trajectory({ messages_and_choices: [choice(used), choice({ input_tokens: 1, output_tokens: 2, cost: 0.25 })] })],
      [trajectory({ metrics: { total_tokens: 7, cost: 0 } }), trajectory({ metrics: { prompt_tokens: 3, cost: "1" } })],
    ];
    const lines = groups.map((trajectories) => JSON.stringify({ trajectories }));
    const single = (task: number) => JSON.stringify({ ...trajectory({ usage: used }), group_id: `${task}` });
    const page = await viewing([fileOf("used.jsonl", [...lines, single(1), single(2), single(2)].join("\n"))]);
    expect((await whenRead(page)).recorded).toEqual(["tokens", "cost"]);
    const { rows } = rowsOf((await page.ask("/api/rows")).body);
    expect(rows.map(({ tokens, cost }) => [tokens, cost])).toEqual([
      [null, null],
      [16, 0.5],
      [18, 0.25],
      [7, 0],
      [15, null],
      [30, null],
    ]);
    const sorted = rowsOf((await page.ask("/api/rows?sort=tokens&descending=true")).body).rows;
    expect(sorted.map(({ group }) => group)).toEqual([5, 2, 1, 4, 3, 0]);
    const none = await viewing([airline]);
    expect((await whenRead(none)).recorded).toEqual([]);
  });

  it("is filtered by rewards, by mean and spread, by what is trainable, by rules", async () => {
    const page = await viewing([fileOf("groups.jsonl", lines.join("\n"))]);
    await whenRead(page);
    const groupsOf = async (query: string) =>
      rowsOf((await page.ask(`/api/rows?${query}`)).body).rows.map(({ group }) => group);
    expect(await groupsOf("reward=0.4,0.6")).toEqual([0]);
    expect(await groupsOf("reward=1,1")).toEqual([0, 1]);
    expect(await groupsOf("reward=0.5,1,below")).toEqual([0]);
    expect(await groupsOf("mean=0,1&spread=0,0")).toEqual([1]);
    expect(await groupsOf("trainable=false&descending=true")).toEqual([2, 1]);
    expect(await groupsOf("rule=group-of-one")).toEqual([2]);
    expect(await groupsOf("rule=any&from=1&count=1")).toHaveLength(1);
    for (const query of ["sort=words", "reward=1", "reward=a,b", "reward=0,1,above", "from=-1", "count=x"]) {
      expect((await page.ask(`/api/rows?${query}`)).status).toBe(400);
    }
  });

  it("has why nothing is learned from groups without trajectories, and from those without a sampled turn", async () => {
    const spoken = groupLine([0, 1]).replaceAll(
      /\{"finish_reason":"stop","index":0,"message":(\{[^}]*\})\}/g,
      (_, message) => message,
    );
    const page = await viewing([fileOf("g.jsonl", ['{"trajectories":[]}', spoken, groupLine([0, 1])].join("\n"))]);
    expect((await whenRead(page)).summary?.withSignal).toBe(1);
    const { rows } = rowsOf((await page.ask("/api/rows")).body);
    expect(rows.map(({ untrainable }) => untrainable)).toEqual(["no trajectories", "no sampled turn", null]);
    expect(rowsOf((await page.ask("/api/rows?trainable=true")).body).rows.map(({ group }) => group)).toEqual([2]);
  });

  it("is searched for a text as it is written, however JSON spells it, and for what an expression says", async () => {
    const calls = JSON.stringify({ name: 'say "grüße"' });
    const call = { id: "1", type: "function", function: { name: "speak", arguments: calls } };
    const spelled = groupLine([0, 1], { prompt: "grüße" }).replaceAll("ü", "\\u00fc").replaceAll("ß", "\\u00df");
    const called = groupLine([0, 1]).replace(
      '"content":"4 0"',
      `"content":null,"tool_calls":${JSON.stringify([call])}`,
    );
    const file = fileOf("groups.jsonl", [...lines, spelled, groupLine([0, 1], { prompt: "grüße" }), called].join("\n"));
    const page = await viewing([file]);
    await whenRead(page);
    const found = async (query: Readonly<Record<string, string>>): Promise<readonly number[]> => {
      for (;;) {
        const answer = await page.ask(`/api/rows?${new URLSearchParams(query)}`);
        expect([answer.status, answer.body]).toEqual([200, expect.any(String)]);
        const { rows, searched } = rowsOf(answer.body);
        if (searched?.share === 1) return rows.map(({ group }) => group);
      }
    };
    expect(await found({ text: "say hi" })).toEqual([1]);
    expect(await found({ text: "grüße" })).toEqual([3, 4, 5]);
    expect(await found({ text: 'say "grüße"' })).toEqual([5]);
    expect(await found({ text: "Grüße" })).toEqual([]);
    expect(await found({ where: "reward == 0.5" })).toEqual([0]);
    expect(await found({ where: "group.size == 2", text: "2 + 2?" })).toEqual([5]);
    expect(await found({ where: "group.size == 2", sort: "group", descending: "true", reward: "0,0" })).toEqual([
      5, 4, 3,
    ]);
    expect((await page.ask("/api/rows?where=reward+%3E")).status).toBe(400);
    const wrong = JSON.parse((await page.ask("/api/rows?where=nothing+%3E+1")).body);
    expect(wrong.detail).toContain("nothing");
  });

  it("is drawn as bars of rewards and dots of groups, which a filter finds again", async () => {
    const page = await viewing([airline]);
    await whenRead(page);
    const { rewards, dots }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(rewards).toEqual([
      { range: [0, 0], count: 60 },
      { range: [1, 1], count: 20 },
    ]);
    expect(dots.reduce((sum, { groups }) => sum + groups, 0)).toBe(20);
    for (const { mean, spread, groups } of dots) {
      const { selected } = rowsOf((await page.ask(`/api/rows?mean=${mean}&spread=${spread}`)).body);
      expect(selected).toBe(groups);
    }
  });

  it.each<[what: string, rewards: readonly number[]]>([
    ["whole numbers, which lie on the edges", Array.from({ length: 25 }, (_, at) => at)],
    ["more different ones than a sketch keeps", Array.from({ length: 200 }, (_, at) => Math.sin(at))],
    ["as far apart as doubles go", [...Array.from({ length: 20 }, (_, at) => at * 1e306), -1.7e308, 1.7e308]],
  ])("has bars that a filter lists exactly, of rewards that are %s", async (_, rewards) => {
    const page = await viewing([fileOf("g.jsonl", rewards.map((reward) => groupLine([reward])).join("\n"))]);
    await whenRead(page);
    const { rewards: bars }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(bars.reduce((sum, { count }) => sum + count, 0)).toBe(rewards.length);
    expect([bars[0]?.range[0], bars.at(-1)?.range[1]]).toEqual([Math.min(...rewards), Math.max(...rewards)]);
    for (const { range, count } of bars) {
      expect([
        range,
        rowsOf((await page.ask(`/api/rows?reward=${encodeURIComponent(range.join())}`)).body).selected,
      ]).toEqual([range, count]);
    }
  });

  it("is drawn file by file where there are several, in the order of their numbers, and filtered by one", async () => {
    const file = fileOf("step-10.jsonl", lines.join("\n"));
    const first = join(dirname(file), "step-9.jsonl");
    writeFileSync(first, `${groupLine([0, 0])}\n${groupLine([0, 1])}\n`);
    const page = await viewing([dirname(file)]);
    await whenRead(page);
    const { runs }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(runs).toEqual([
      { file: first, run: "", step: 9, groups: 2, withSignal: 1, mean: 0.25 },
      { file, run: "", step: 10, groups: 3, withSignal: 1, mean: 1.5 },
    ]);
    expect(rowsOf((await page.ask(`/api/rows?${new URLSearchParams({ file: first })}`)).body).selected).toBe(2);
  });

  it("is drawn as a line for each run, over its steps by number", async () => {
    const folder = dirname(fileOf("notes.txt", ""));
    for (const file of ["run-a/step-2", "run-a/step-10", "run-b/step-2", "run-b/train-1-of-3"]) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      writeFileSync(join(folder, `${file}.jsonl`), groupLine([0, 1]));
    }
    const page = await viewing([folder]);
    await whenRead(page);
    const { runs }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect(runs.map(({ run, step }) => [run, step])).toEqual([
      ["run-a/step-*.jsonl", 2],
      ["run-a/step-*.jsonl", 10],
      ["run-b/step-*.jsonl", 2],
      ["run-b/train-*-of-3.jsonl", 1],
    ]);
  });

  it("draws the first thousand of more files, and says how many there are", async () => {
    const folder = dirname(fileOf("step-0.jsonl", groupLine([0, 1])));
    for (let at = 1; at <= 1000; at++) writeFileSync(join(folder, `step-${at}.jsonl`), groupLine([0, 1]));
    const page = await viewing([folder]);
    const { summary } = await whenRead(page);
    const { runs }: Charts = JSON.parse((await page.ask("/api/charts")).body);
    expect([summary?.runs, runs.length, runs.at(-1)?.step]).toEqual([1001, 1000, 999]);
  });

  it("is given byte for byte, digits and escapes included", async () => {
    const odd =
      '{"messages_and_choices": [ {"role":"user","content":"\\u003cb\\u003e"} ],"reward":1.50,"id":9007199254740993}';
    const page = await viewing([
      fileOf("odd.jsonl", `{"trajectories":[${odd},{"messages_and_choices":[],"reward":0}]}\n`),
    ]);
    await whenRead(page);
    const { status, headers, body } = await page.ask("/api/groups/0/0");
    expect([status, headers["content-type"], body]).toEqual([200, "text/plain; charset=utf-8", odd]);
    expect((await page.ask("/api/groups/0/2")).status).toBe(404);
    expect((await page.ask("/api/groups/1")).status).toBe(404);
    expect((await page.ask("/api/groups/x")).status).toBe(404);
  });

  it("has a group's trajectories with their places, metrics, and how many messages they share", async () => {
    const file = fileOf("it's.jsonl", `${groupLine([1, 0])}\n${groupLine([0, 1])}\n`);
    const page = await viewing([file, "--no-open"]);
    await whenRead(page);
    const group: GroupDetail = JSON.parse((await page.ask("/api/groups/1")).body);
    expect(group).toMatchObject({
      group: 1,
      of: 2,
      valid: true,
      common: 1,
      place: { file, line: 2 },
      members: [
        { place: { file, line: 2 }, reward: 0, metrics: { turns: 0 }, messages: 2 },
        { place: { file, line: 2 }, reward: 1, metrics: { turns: 1 }, messages: 2 },
      ],
    });
    const quoted = file.replace("'", "'\\''");
    expect(group.command).toBe(`sed -n 2p '${quoted}' | rollcall log my-model --split train -`);
  });

  it("names the lines of trajectories that stand by themselves, and those of each problem", async () => {
    const page = await viewing(["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"]);
    await whenRead(page);
    const group: GroupDetail = JSON.parse((await page.ask("/api/groups/1")).body);
    expect(group.members.map(({ place }) => place.line)).toEqual(group.members.map((_, at) => 2 + at * 5));
    expect(group.command).toMatch(/^sed -n '2p;7p;.*42p' .* \| rollcall log .* --group-by prompt_id -$/);
    const broken = `${groupLine([0, 1])}\n{"trajectories":[{"messages_and_choices":[{"role":"user","content":7}],"reward":1},{"messages_and_choices":[],"reward":"x"}]}\n`;
    const other = await viewing([fileOf("broken.jsonl", broken)]);
    await whenRead(other);
    const { findings }: Findings = JSON.parse((await other.ask("/api/problems?rule=wrong-type")).body);
    expect(findings).toEqual([expect.objectContaining({ group: 1, trajectory: 1, message_at: null })]);
    const all: Findings = JSON.parse((await other.ask("/api/problems")).body);
    expect(all.findings).toContainEqual(expect.objectContaining({ group: 1, trajectory: 0, message_at: 0 }));
  });

  it("is whatever check reads: packed, of other tools, from standard input, chosen", async () => {
    const packed = await viewing([fileOf("groups.jsonl.gz", gzipSync(readFileSync(airline)))]);
    expect((await whenRead(packed)).summary?.groups.read).toBe(20);
    const other = await viewing(["test/samples/formats/verifiers-v0.wordle.results.jsonl"]);
    expect((await whenRead(other)).summary?.trajectories.read).toBe(6);
    const group: GroupDetail = JSON.parse((await other.ask("/api/groups/0")).body);
    expect(group.place.file).toBe("test/samples/formats/verifiers-v0.wordle.results.jsonl");
    const piped = await viewing([], readFileSync(airline, "utf8"));
    expect((await whenRead(piped)).summary?.groups.read).toBe(20);
    // What standard input had nobody can read again.
    const fromInput: GroupDetail = JSON.parse((await piped.ask("/api/groups/0")).body);
    expect(fromInput).toMatchObject({ command: null });
    const chosen = await viewing([airline, "--where", "reward == 1.0"]);
    expect((await whenRead(chosen)).summary?.trajectories.read).toBe(20);
  });

  it("has problems of other tools' files at the message that they are about, also of what was chosen", async () => {
    const message = { role: "robot", content: "beep" };
    const row = (reward: number, completion: unknown) =>
      JSON.stringify({ prompt: [{ role: "user", content: "hi" }], completion, reward, example_id: 0, task: "t" });
    const said = [{ role: "assistant", content: "hi" }, message];
    const file = fileOf("results.jsonl", `${row(0, said)}\n${row(1, said)}\n${row(1, said.slice(0, 1))}\n`);
    for (const [words, expected] of [
      [[], [0, 1]],
      [["--where", "reward > 0.5"], [0]],
    ] as const) {
      const page = await viewing([file, "--from", "verifiers-v0", ...words]);
      await whenRead(page);
      const { findings }: Findings = JSON.parse((await page.ask("/api/problems?rule=role-unknown")).body);
      expect(findings.map(({ group, trajectory, message_at }) => [group, trajectory, message_at])).toEqual(
        expected.map((trajectory) => [0, trajectory, 2]),
      );
    }
  });

  it.each([
    [["test/samples/formats/tau2.results.json"]],
    [["test/samples/formats/verifiers-v0.wordle.results.jsonl", "--from", "verifiers-v0"]],
    [[airline, "--where", "reward > 0.5", "--best", "1"]],
    [[airline, "--sample", "5"]],
  ])("has a command that logs a group and no other of %j", async (words) => {
    const page = await viewing(words);
    const { summary } = await whenRead(page);
    const last = (summary?.groups.read ?? 0) - 1;
    const { command, members }: GroupDetail = JSON.parse((await page.ask(`/api/groups/${last}`)).body);
    const [, ...log] = shellWords(command ?? "");
    const ran = await runRollcall([...log, "--dry-run", "--json", "--no-ledger"]);
    const document = JSON.parse(ran.stdout);
    expect([command, document.groups.read, document.trajectories.read]).toEqual([command, 1, members.length]);
    const rewards = members.map(({ reward }) => reward ?? 0);
    expect(document.metrics["train/reward"]).toBeCloseTo(rewards.reduce((sum, one) => sum + one, 0) / rewards.length);
  });

  it("is not searched on for what nobody asks for any more", async () => {
    const lines = Array.from({ length: 20_000 }, (_, at) => groupLine([at % 2, 1]));
    const page = await viewing([fileOf("many.jsonl", lines.join("\n"))]);
    await whenRead(page);
    const share = async (query: Readonly<Record<string, string>>): Promise<number> =>
      rowsOf((await page.ask(`/api/rows?${new URLSearchParams({ ...query, count: "1" })}`)).body).searched?.share ?? -1;
    const asked = { where: "messages.exists(m, m.content == 'nobody says this')" };
    const shares = [await share(asked)];
    while (shares.at(-1) === 0) shares.push(await share(asked));
    expect(shares[0]).toBe(0);
    expect(shares.at(-1)).toBeLessThan(1);
    // Those of four other tabs end it: it begins anew.
    for (const text of ["a", "b", "c", "d"]) expect(await share({ text })).toBeGreaterThanOrEqual(0);
    expect(await share(asked)).toBe(0);
  });

  it("is what was read: of a file that changed since then, that is said", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await viewing([file]);
    await whenRead(page);
    appendFileSync(file, `${groupLine([0, 1])}\n`);
    expect((await page.ask("/api/groups/0")).status).toBe(200);
    writeFileSync(file, `${groupLine([1, 0])}\n`);
    const { status, body } = await page.ask("/api/groups/0");
    expect([status, JSON.parse(body).detail]).toEqual([409, expect.stringContaining("reload the page")]);
  });

  it("is read again when the page is reloaded and a file has grown, was written anew, or was added to a folder", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await viewing([dirname(file)]);
    const reloaded = async () => {
      expect((await asked(page.url, "/")).status).toBe(200);
      const { summary } = await whenRead(page);
      const { rows } = rowsOf((await page.ask("/api/rows")).body);
      return [summary?.groups.read, rows.map(({ mean }) => mean)];
    };
    expect(await reloaded()).toEqual([1, [0.5]]);
    appendFileSync(file, `${groupLine([1, 1])}\n`);
    expect((await whenRead(page)).summary?.groups.read).toBe(1);
    expect(await reloaded()).toEqual([2, [0.5, 1]]);
    writeFileSync(file, `${groupLine([0, 0])}\n`);
    expect(await reloaded()).toEqual([1, [0]]);
    writeFileSync(join(dirname(file), "later.jsonl"), `${groupLine([0.25])}\n`);
    expect(await reloaded()).toEqual([2, [0, 0.25]]);
    page.child.kill("SIGINT");
    expect(await page.ended).toBe(0);
  });

  it("is not read again when nothing changed, or when its file is gone or empty", async () => {
    const file = fileOf("groups.jsonl", `${groupLine([0, 1])}\n`);
    const page = await viewing([file]);
    await whenRead(page);
    for (const change of [() => undefined, () => truncateSync(file), () => rmSync(file)]) {
      change();
      await asked(page.url, "/");
      expect(JSON.parse((await page.ask("/api/state")).body)).toMatchObject({ progress: { phase: "read", of: 1 } });
    }
  });

  it("shows progress first: the server answers before what is slow to come was read", async () => {
    const child = startRollcall(["view", "--no-open", "-"]);
    const page = await servedBy(child);
    expect(JSON.parse((await page.ask("/api/state")).body)).toMatchObject({ progress: { phase: "opening" } });
    expect((await page.ask("/api/rows")).status).toBe(404);
    child.stdin.end(`${groupLine([0, 1])}\n`);
    expect((await whenRead(page)).summary?.groups.read).toBe(1);
  });
});
