import { describe, expect, it } from "vitest";
import type { GroupDetail, GroupRows } from "../../src/view/answers.ts";
import { runRollcall } from "../support/run.ts";
import { fileOf, groupLine, startView, whenRead } from "./viewing.ts";

const airline = "test/samples/airline.groups.jsonl";

describe("the API of the page for groups", () => {
  const lines = [groupLine([0, 1, 0.5]), groupLine([1, 1], { prompt: "say hi" }), groupLine([3])];
  const rowsOf = (body: string): GroupRows => JSON.parse(body);

  it("gives the reason for an untrainable group: no trajectories, or no sampled turn", async () => {
    const spoken = groupLine([0, 1]).replaceAll(
      /\{"finish_reason":"stop","index":0,"message":(\{[^}]*\})\}/g,
      (_, message) => message,
    );
    const page = await startView([fileOf("g.jsonl", ['{"trajectories":[]}', spoken, groupLine([0, 1])].join("\n"))]);
    expect((await whenRead(page)).summary?.all.trainable).toBe(1);
    const { rows } = rowsOf((await page.ask("/api/rows")).body);
    expect(rows.map(({ untrainable }) => untrainable)).toEqual(["no trajectories", "no sampled turn", null]);
    expect(rowsOf((await page.ask("/api/rows", { trainable: true })).body).rows.map(({ group }) => group)).toEqual([2]);
  });

  it("excludes infinite rewards from the numbers of groups, as check and stats do", async () => {
    const rewards = ["1e400,0.5", "-1e400,0.5,0.5", "1e400,0,1", "1e400,1e400"].map((row) => row.split(","));
    const rows = rewards.map((row) =>
      row.reduce(
        (line, reward, at) => line.replace(`"reward":${100 + at}`, `"reward":${reward}`),
        groupLine(row.map((_, at) => 100 + at)),
      ),
    );
    const file = fileOf("g.jsonl", rows.join("\n"));
    const page = await startView([file]);
    const { trainable, mean, spread } = (await whenRead(page)).summary?.all ?? {};
    const { reward } = JSON.parse((await runRollcall(["stats", file, "--json"])).stdout);
    expect([trainable, mean, spread]).toEqual([1, reward.mean, reward.std_dev]);
    const shown = rowsOf((await page.ask("/api/rows")).body).rows;
    expect(shown.map((row) => [row.mean, row.spread, row.untrainable])).toEqual([
      [0.5, 0, "infinite rewards"],
      [0.5, 0, "equal rewards"],
      [0.5, 0.5, null],
      [null, null, "infinite rewards"],
    ]);
  });

  it("searches for a text in any spelling of JSON", async () => {
    const calls = JSON.stringify({ name: 'say "grüße"' });
    const call = { id: "1", type: "function", function: { name: "speak", arguments: calls } };
    const spelled = groupLine([0, 1], { prompt: "grüße" }).replaceAll("ü", "\\u00fc").replaceAll("ß", "\\u00df");
    const called = groupLine([0, 1]).replace(
      '"content":"4 0"',
      `"content":null,"tool_calls":${JSON.stringify([call])}`,
    );
    const long = groupLine([0], { prompt: `${"a".repeat(60)}middle${"z".repeat(200)}` });
    const prompts = [spelled, groupLine([0, 1], { prompt: "grüße" }), called, long];
    const encoded = ["<b>\\/<\\/think> 'é", "\\u003cb\\u003e/\\u003C/think\\u003E \\u0027\\u00E9"].map((prompt) =>
      groupLine([0.25], { prompt: "TEXT" }).replace("TEXT", prompt),
    );
    const file = fileOf("groups.jsonl", [...lines, ...prompts, ...encoded].join("\n"));
    const page = await startView([file]);
    await whenRead(page);
    const found = async (query: object): Promise<readonly number[]> => {
      for (;;) {
        const answer = await page.ask("/api/rows", query);
        expect([answer.status, answer.body]).toEqual([200, expect.any(String)]);
        const { rows, searched } = rowsOf(answer.body);
        if (searched === 1) return rows.map(({ group }) => group);
      }
    };
    expect(await found({ text: "say hi" })).toEqual([1]);
    expect(await found({ text: "grüße" })).toEqual([3, 4, 5]);
    expect(await found({ text: 'say "grüße"' })).toEqual([5]);
    expect(await found({ text: "Grüße" })).toEqual([]);
    expect(await found({ text: "</think> 'é" })).toEqual([7, 8]);
    const matchOf = async (text: string) => rowsOf((await page.ask("/api/rows", { text })).body).rows[0]?.match;
    for (const [text, trajectory, before, after] of [
      ["+ 2", 0, "2 ", "?"],
      ["4 1", 1, "", ""],
      ['"grüße', 0, '{"name":"say ', '""}'],
      ["/think> 'é", 0, "<b>/<", ""],
      ["middle", 0, `…${"a".repeat(40)}`, "z".repeat(120)],
    ] as const) {
      await found({ text });
      expect(await matchOf(text)).toEqual({ trajectory, before, text, after });
    }
  });

  it("serves trajectories byte for byte", async () => {
    const odd =
      '{"messages_and_choices": [ {"role":"user","content":"\\u003cb\\u003e"} ],"reward":1.50,"id":9007199254740993}';
    const page = await startView([
      fileOf("odd.jsonl", `{"trajectories":[${odd},{"messages_and_choices":[],"reward":0}]}\n`),
    ]);
    await whenRead(page);
    const { status, headers, body } = await page.ask("/api/trajectory", { group: 1, trajectory: 1 });
    expect([status, headers["content-type"], body]).toEqual([200, "text/plain; charset=utf-8", odd]);
    expect((await page.ask("/api/trajectory", { group: 1, trajectory: 3 })).status).toBe(404);
    expect((await page.ask("/api/group", { group: 2 })).status).toBe(404);
    expect((await page.ask("/api/group")).status).toBe(404);
  });

  it("gives the positions, metrics and the number of shared messages of a group's trajectories", async () => {
    const file = fileOf("it's.jsonl", `${groupLine([1, 0])}\n${groupLine([0, 1])}\n`);
    const page = await startView([file, "--no-open"]);
    await whenRead(page);
    const group: GroupDetail = JSON.parse((await page.ask("/api/group", { group: 2 })).body);
    expect(group).toMatchObject({
      group: 1,
      of: 2,
      untrainable: null,
      common: 1,
      position: { file, line: 2 },
      members: [
        { position: { file, line: 2 }, reward: 0, facts: { advantage: -0.5 }, metrics: { turns: 0 }, messages: 2 },
        { position: { file, line: 2 }, reward: 1, facts: { advantage: 0.5 }, metrics: { turns: 1 }, messages: 2 },
      ],
    });
  });

  it.each([airline, "test/samples/formats/tau2.results.json"])(
    "gives the facts and positions that stats lists for each trajectory of %s",
    async (file) => {
      const page = await startView([file]);
      const { summary } = await whenRead(page);
      const { data } = JSON.parse((await runRollcall(["stats", file, "--each", "trajectory", "--json"])).stdout);
      const shown: object[] = [];
      for (let group = 1; group <= (summary?.groups.read ?? 0); group++) {
        const { members }: GroupDetail = JSON.parse((await page.ask("/api/group", { group })).body);
        shown.push(...members.map(({ facts, position }) => expect.objectContaining({ ...facts, ...position })));
      }
      expect(data).toEqual(shown);
    },
  );

  it("gives the steps, finish reasons and tool errors of groups, and filters by length", async () => {
    const call = { id: "c", type: "function", function: { name: "look", arguments: "{}" } };
    const choice = (finish_reason: string, message: object) => ({ finish_reason, index: 0, message });
    const asking = choice("tool_calls", { role: "assistant", content: null, tool_calls: [call] });
    const answer = { role: "assistant", content: "a" };
    const line = (step: number | undefined, reasons: readonly (string | undefined)[], result: string) => {
      const told = { role: "tool", tool_call_id: "c", content: result };
      const trajectories = reasons.map((reason, at) => ({
        messages_and_choices: [
          { role: "user", content: "q" },
          ...(step === undefined ? [told] : [asking, told]),
          reason === undefined ? answer : choice(reason, answer),
        ],
        reward: at,
        metadata: { step: step === undefined ? null : `s-${step}` },
      }));
      return JSON.stringify({ trajectories });
    };
    const known = [
      line(undefined, ["stop"], "Error: no"),
      line(10, ["stop", "length", "stop"], "Error: no"),
      line(9, ["stop"], "ok"),
      line(undefined, ["stop", undefined, "stop"], "ok"),
      line(undefined, ["stop", "length", undefined], "ok"),
      line(undefined, [undefined], "ok"),
    ];
    const page = await startView([
      fileOf("g.jsonl", [...known, groupLine([0]).replace("reward", "rewards")].join("\n")),
    ]);
    await whenRead(page);
    const rows = async (query: object) =>
      rowsOf((await page.ask("/api/rows", query)).body).rows.map(({ step, finish, toolErrors }) => [
        step,
        finish,
        toolErrors,
      ]);
    const [none, failed, fine, partly, tied, unknown, invalid] = [
      [null, "stop", 1],
      ["s-10", "2 stop, 1 length", 3],
      ["s-9", "stop", 0],
      [null, "2 stop", null],
      [null, "1 length, 1 stop", null],
      [null, null, null],
      [null, null, null],
    ];
    expect(await rows({})).toEqual([none, failed, fine, partly, tied, unknown, invalid]);
    expect(await rows({ truncated: true })).toEqual([failed, tied]);
  });

  it("gives the lines of trajectories that --group-by gathers", async () => {
    const page = await startView(["test/samples/wordle.trajectories.jsonl", "--group-by", "prompt_id"]);
    await whenRead(page);
    const group: GroupDetail = JSON.parse((await page.ask("/api/group", { group: 2 })).body);
    expect(group.members.map(({ position }) => position?.line)).toEqual(group.members.map((_, at) => 2 + at * 5));
  });

  it("gives the problems of gathered lines and other tools' files at their messages", async () => {
    const prompt = [{ role: "user", content: "hi" }];
    const said = [
      { role: "assistant", content: "hi" },
      { role: "robot", content: "beep" },
    ];
    const linesOf = (toRow: (completion: typeof said) => object): string =>
      [said, said, said.slice(0, 1)]
        .map((completion, at) => `${JSON.stringify({ reward: Math.min(1, at), ...toRow(completion) })}\n`)
        .join("");
    const results = linesOf((completion) => ({ prompt, completion, example_id: 0, task: "t" }));
    const lines = linesOf((completion) => ({ messages_and_choices: [...prompt, ...completion], group_id: "a" }));
    const other = [fileOf("results.jsonl", results), "--from", "verifiers-v0"];
    for (const words of [other, [fileOf("lines.jsonl", lines)]]) {
      const page = await startView(words);
      await whenRead(page);
      const { findings }: GroupDetail = JSON.parse((await page.ask("/api/group", { group: 1 })).body);
      const roles = findings.filter(({ rule }) => rule === "unknown-role");
      expect(roles.map(({ trajectory, message_at }) => [trajectory, message_at])).toEqual([
        [0, 2],
        [1, 2],
      ]);
    }
  });

  it("stops a search that other searches have replaced", { tags: "slow" }, async () => {
    const lines = Array.from({ length: 5_000 }, (_, at) => groupLine([at % 2, 1]));
    const page = await startView([fileOf("many.jsonl", lines.join("\n"))]);
    await whenRead(page);
    const share = async (query: object): Promise<number> =>
      rowsOf((await page.ask("/api/rows", query)).body).searched ?? -1;
    const asked = { text: "nobody says this" };
    const shares = [await share(asked)];
    while (shares.at(-1) === 0) shares.push(await share(asked));
    expect(shares[0]).toBe(0);
    expect(shares.at(-1)).toBeLessThan(1);
    // The searches of four other tabs replace the search, so it starts again.
    for (const text of ["a", "b", "c", "d"]) expect(await share({ text })).toBeGreaterThanOrEqual(0);
    expect(await share(asked)).toBe(0);
  });
});
