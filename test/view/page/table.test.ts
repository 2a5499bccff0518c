import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { fileOf, groupLine } from "../viewing.ts";
import { closePage, formatHtml, openPage, settle, writePage } from "./open-page.ts";

afterEach(closePage);

/** A group of rollouts of one step. */
const atStep = (step: number, rewards: readonly number[], finish = "stop", exceptions: readonly string[] = []) =>
  groupLine(rewards, { prompt: `step ${step}` })
    .replaceAll('"reward"', `"metadata":{"step":${step}},"reward"`)
    .replaceAll('"stop"', `"${finish}"`)
    .replace(/}$/, `,"exceptions":${JSON.stringify(exceptions)}}`);

const steps = [
  ...[atStep(9, [0, 1, 0.5]), atStep(10, [0.25, 1], "length"), atStep(10, [0.75, 0.5], "stop", ["a", "b"])],
  ...[atStep(11, [1, 1]), groupLine([0.5, 0])],
].join("\n");

describe("the table and charts of the page", () => {
  let html = "";
  beforeAll(async () => {
    html = await writePage([fileOf("steps.jsonl", steps)]);
  });

  it("show the selected groups, and those of all in gray", async () => {
    const page = await openPage(html, { query: { truncated: true } });
    expect(page.textsOf(".facts dd").slice(0, 4)).toEqual([
      "0.625 sd 0.375 all: 0.591 ± 0.311, sd 0.373",
      "0 all: 2",
      "1 of 1 all: 4 of 5",
      "2 all: 11",
    ]);
    // Problems and notes do not follow the filter.
    expect(page.textsOf(".facts dt").slice(4)).toEqual(["all problems", "notes on all"]);
    await expect(formatHtml(page.find(".charts").outerHTML)).toMatchFileSnapshot("golden/steps.txt");
  });

  it("cover everything that was read also with a filter, if the page contains a part of it", async () => {
    const part = html.replace('"groups":{"read":5,', '"groups":{"read":9,');
    const page = await openPage(part, { query: { truncated: true } });
    expect(page.textsOf(".facts dd").slice(0, 2)).toEqual([
      "0.591 ± 0.311, sd 0.373 all: 0.591 ± 0.311, sd 0.373",
      "2 all: 2",
    ]);
    expect([page.attributesOf(".facts .all", "hidden").includes(null), page.textsOf(".rest")]).toEqual([false, []]);
    expect(page.textsOf(".count")).toEqual(["1 of 5 groups"]);
  });

  it("filter by bars, steps and words, and remove a filter by the same link", async () => {
    const page = await openPage(html);
    const count = () => page.textsOf(".count")[0];
    for (const [name, filter, groups, chip = name] of [
      ["3 trajectories with a reward of 0.5", { reward: [0.5, 0.5] }, 3, "a reward of 0.5 ×"],
      ["step 10: a mean of 0.625, ", { step: "10" }, 2, "step 10 ×"],
      ["trainable", { trainable: true }, 4],
      ["not trainable", { trainable: false }, 1],
      ["truncated", { truncated: true }, 1],
      ["failed", { failed: true }, 1],
      ["with problems", { rule: "any" }, 2],
    ] as const) {
      await page.click(name, ".charts a, .filters a");
      expect([name, page.query(), count()]).toEqual([name, filter, `${groups} of 5 groups`]);
      expect(page.attributesOf(".charts [aria-current]", "href")).toHaveLength(chip === name ? 0 : 1);
      expect(page.textsOf(".filters [aria-current]")).toEqual([chip]);
      await page.click(page.textsOf(".filters [aria-current]")[0] ?? "", ".filters [aria-current]");
      expect([name, page.query(), count()]).toEqual([name, {}, "5 of 5 groups"]);
    }
  });

  it("sort by each column, from the highest or the worst first, and in the other direction by a second click", async () => {
    const page = await openPage(html);
    const groups = () => page.textsOf("tbody td:first-child").join("");
    const orders: Record<string, readonly string[]> = {};
    for (const name of ["group", "mean", "spread", "size", "step", "failed", "trainable", "problems"]) {
      await page.click(name, "th .sort");
      const first = groups();
      await page.click(name, "th .sort");
      const second = [name === "mean" ? "descending" : "ascending"];
      expect(page.attributesOf("[aria-sort]", "aria-sort").filter((sort) => sort !== "none")).toEqual(second);
      orders[name] = [
        first,
        groups(),
        ...page.textsOf("[aria-sort=ascending]"),
        ...page.textsOf("[aria-sort=descending]"),
      ];
    }
    await page.click("group", "th .sort");
    expect([groups(), page.textsOf("[aria-sort=ascending]")]).toEqual(["12345", ["group ↑"]]);
    expect(orders).toEqual({
      group: ["54321", "12345", "group ↑"],
      mean: ["51234", "42315", "mean ↓"],
      spread: ["12534", "43521", "spread ↑"],
      size: ["12345", "23451", "size ↑"],
      step: ["42315", "12345", "step ↑"],
      failed: ["31245", "12453", "failed ↑"],
      trainable: ["12354", "41235", "trainable ↑"],
      problems: ["24135", "13542", "problems ↑"],
    });
  });

  it("name the columns that a narrow screen hides, also with another name of steps", async () => {
    const named = steps.replaceAll('"step":', '"policy_version":');
    const narrow = await openPage(await writePage([fileOf("steps.jsonl", named)]), { width: 240 });
    const hidden = "trainable, problems, spread, size, finish reason, failed, policy_version, rewards";
    expect(narrow.textsOf(".parts")).toEqual([`hidden columns: ${hidden}`]);
    expect(narrow.attributesOf(".parts button", "title")).toContain("sort by policy_version");
  });

  it("search for a text, and keep a filter", async () => {
    const page = await openPage(html, { query: { trainable: true } });
    await page.type("search text", "nobody says this");
    expect([page.textsOf(".count"), page.textsOf(".rows .quiet")]).toEqual([
      ["0 of 5 groups"],
      ["no group matches the filters and contains “nobody says this”"],
    ]);
    await page.type("search text", "4 2");
    expect([page.query(), page.textsOf(".snippet")]).toEqual([{ trainable: true, text: "4 2" }, ["trajectory 3: 4 2"]]);
    await page.press("Escape");
    expect([page.query(), page.textsOf(".count")]).toEqual([{}, ["5 of 5 groups"]]);
    await page.type("search text", "4 2", "4 25");
    expect([page.query(), page.find('input[type="search"]')]).toMatchObject([{ text: "4 2" }, { value: "4 25" }]);
  });

  it("search for a text 250 ms after it is typed", async () => {
    const page = await openPage(html);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    page.write("search text", "step 9");
    await vi.advanceTimersByTimeAsync(249);
    const early = page.query();
    await vi.advanceTimersByTimeAsync(9);
    vi.useRealTimers();
    await settle();
    expect([early, page.query()]).toEqual([{}, { text: "step 9" }]);
  });

  it("show no direction overrides of labels, and no mean below 1 as 1", async () => {
    const line = groupLine([0.99967, 0.99967], { prompt: "a\u202egpj.exe" })
      .replace(/}$/, ',"task_id":"k\u202e1","exceptions":[{"message":"e\u202em"}]}')
      .replaceAll('"turns"', '"turns\u202e"');
    const page = await openPage(await writePage([fileOf("g.jsonl", line)]), { query: { text: "gpj" } });
    const shown = [...page.textsOf("td").slice(1, 3), ...page.textsOf(".why span").slice(0, 1)];
    expect(shown).toEqual(["agpj.exetrajectory 1: agpj.exe", "0.99967", "k1"]);
    await page.show({ group: 1 });
    expect([...page.textsOf("h1"), ...page.textsOf("pre").slice(0, 1)]).toEqual([
      "agpj.exe 2 trajectories · equal rewards · key k1",
      "message: em",
    ]);
    expect(page.textsOf("th")).toContain("turns");
    await page.show({ group: 1, trajectory: 1 });
    expect(page.textsOf("pre")[0]).toBe("a\u202egpj.exe");
  });

  it("find texts outside of trajectories", async () => {
    const env = { ROLLCALL_API_KEY: "key-of-1234-5678-9012" };
    const lines = [
      groupLine([0, 1], { prompt: env.ROLLCALL_API_KEY }).replaceAll('"stop"', '"length"'),
      groupLine([0]).replace(/}$/, ',"exceptions":[{"message":"bo\\u00e9m"}],"task_id":"k\\/10"}'),
      groupLine([0], { answer: "a\nb" }).replace('"reward":0', '"reward":1e400'),
    ];
    const page = await openPage(await writePage([fileOf("g.jsonl", lines.join("\n"))], env));
    for (const [sought, groups] of [
      ["k/10", "2"],
      ["boém", "2"],
      ["", "123"],
    ] as const) {
      await page.type("search text", sought);
      expect([sought, page.textsOf("tbody td:first-child").join("")]).toEqual([sought, groups]);
    }
    await page.type("search text", "b 0");
    expect(page.textsOf(".snippet")).toEqual(["trajectory 1: a b 0"]);
  });

  it("count what is invalid, or is not in the page", async () => {
    const invalid = [1, 2].map((count) => groupLine(Array(count).fill(0)).replaceAll('"reward":0', '"reward":"0"'));
    const files = [[groupLine([0, 1]), ...invalid].join("\n"), "\n"].map((lines, at) => fileOf(`${at}.jsonl`, lines));
    const html = await writePage(files);
    const page = await openPage(html.replace(/("written":\{"at":"[^"]*","groups":)\d+/, "$11"));
    expect(page.textsOf(".facts dd").at(-1)).toMatch(
      /^this page contains 1 of 3 groups; the numbers and plots are those of all; /,
    );
    expect(page.textsOf(".facts dl div")[1]).toBe("invalid2 groups, 3 trajectories");
    expect(page.textsOf("h1")[0]).toMatch(/0\.jsonl and 1 more$/);
  });

  it("label the bars whose labels fit, count bars if all counts fit, and draw few rewards of many", async () => {
    const drawn = async (width: number, ...groups: readonly (readonly number[])[]) => {
      const lines = groups.map((rewards) => groupLine(rewards));
      return await openPage(await writePage([fileOf("a.jsonl", lines.join("\n"))]), { width });
    };
    const labels = (page: Awaited<ReturnType<typeof drawn>>) =>
      ["svg > .axis.x", "a text"].map((found) => page.textsOf(`figure:first-child ${found}`).join());
    const counts = Array(9).fill(1).join();
    expect(labels(await drawn(1600, [...Array(9).keys()]))).toEqual(["0,1,2,3,4,5,6,7,8", counts]);
    expect(labels(await drawn(80, [...Array(9).keys()]))).toEqual(["0,1,3,4,6,8", counts]);
    expect(labels(await drawn(60, [...Array(9).keys()]))).toEqual(["0,2,4,6,8", ""]);
    expect(labels(await drawn(300, [...Array(480).keys()]))).toEqual(["0,479", ""]);
    const rare = await drawn(1600, ...Array(99).fill([0]), [1]);
    expect(rare.attributesOf(".bar", "height")).toEqual(["84%", "1.5%"]);
  });

  it("hide columns that do not fit, but not the column that sorts", async () => {
    const page = await openPage(html, { width: 800, query: { sort: "trainable" } });
    const hidden = () => page.textsOf(".parts")[0];
    const seen = [hidden()];
    await page.show({ sort: "group" });
    seen.push(hidden());
    await page.click("trainable", ".parts button");
    expect([...seen, hidden(), page.query()]).toEqual([
      ...["problems, spread", "trainable", "problems, spread"].map((name) => `hidden columns: ${name}`),
      { sort: "trainable", descending: true },
    ]);
  });

  it("draw at most 16 rewards of a group in the order of their numbers, with the lowest and the highest", async () => {
    const shuffle = (count: number) => Array.from({ length: count }, (_, at) => (at * 7) % count);
    const groups = [[10, 9, -2, -10, 0.5, 100], shuffle(16), shuffle(17), shuffle(31), [-1, -1], [3]];
    const page = await openPage(await writePage([fileOf("a.jsonl", groups.map((one) => groupLine(one)).join("\n"))]));
    const labels = [
      "rewards −10, −2, 0.5, 9, 10, 100",
      "rewards 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
      "16 of 17 rewards 0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15, 16",
      "16 of 31 rewards 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30",
      "rewards −1, −1",
      "rewards 3",
    ];
    expect(page.attributesOf("tbody .strip", "aria-label")).toEqual(labels);
    expect(page.attributesOf("tbody .strip", "title")).toEqual(labels);
    const shares = ["0.000", "0.200", "0.263", "0.475", "0.500", "1.000"].map((share) => `--share:${share}`);
    expect(page.attributesOf("tbody tr:first-child .strip i", "style")).toEqual(shares);
    await page.show({ group: 1 });
    expect(page.attributesOf(".position .strip", "aria-label")).toEqual(labels.slice(0, 1));
  });

  it("have pages of 100 groups, and draw many rewards in 24 bars, with the ends of outliers", async () => {
    const lines = Array.from({ length: 201 }, (_, at) => groupLine([at === 200 ? 1e6 : at / 200, 0]));
    const page = await openPage(await writePage([fileOf("many.jsonl", lines.join("\n"))]), { query: { page: 2 } });
    expect(page.textsOf(".pages")).toEqual(["‹ previouspage 2 of 3next ›"]);
    expect(page.textsOf("tbody td:first-child").at(0)).toBe("101");
    await page.click("next");
    expect([page.textsOf(".pages"), page.textsOf("tbody td:first-child")]).toEqual([
      ["‹ previouspage 3 of 3"],
      ["201"],
    ]);
    const width = (100 / 24) * 0.84;
    expect([...new Set(page.attributesOf(".bar", "width"))]).toEqual([`${width}%`]);
    await page.click("trainable", ".filters a");
    expect(page.query()).toEqual({ trainable: true });
    for (const act of [() => page.type("search text", "4 1"), () => page.click("size", "th .sort")]) {
      await page.show({ page: 3 });
      await act();
      expect(page.textsOf(".pages")).toEqual(["page 1 of 3next ›"]);
    }
    await page.show({ reward: [0.5, 0.995] });
    expect([page.textsOf(".count"), page.textsOf(".pages")]).toEqual([["100 of 201 groups"], []]);
    await page.show({ group: 100 });
    const pages = [];
    for (const key of ["n", "p"]) {
      await page.press(key);
      pages.push(page.query());
    }
    expect(pages).toEqual([{ page: 2, group: 101 }, { group: 100 }]);
    await page.show({});
    expect(page.textsOf(".pages")).toEqual(["page 1 of 3next ›"]);
    expect(page.textsOf("svg > .axis.x")).toEqual(["0", "≥ 0.995"]);
    expect(page.attributesOf(".charts figure:first-child a", "href")).toHaveLength(24);
    await page.click("mean", "th .sort");
    expect(page.textsOf("tbody .mean, tbody .reward")[0]).toBe("0");
  });

  it("name files below the folder of all files, count errors of tools, and mark the end of low outliers", async () => {
    const tool_calls = [{ id: "1", type: "function", function: { name: "f", arguments: "{}" } }];
    const call = { finish_reason: "tool_calls", index: 0, message: { role: "assistant", content: null, tool_calls } };
    const calling = (result: string) =>
      groupLine([0, 1]).replaceAll(
        '{"role":"user","content":"2 + 2?"}',
        (user) => `${user},${JSON.stringify(call)},{"role":"tool","tool_call_id":"1","content":"${result}"}`,
      );
    const folder = dirname(fileOf("a.jsonl", ""));
    const lines = [
      calling("Error: no"),
      calling("ok"),
      groupLine([-1e6, ...Array.from({ length: 99 }, (_, at) => at)]),
    ];
    const files = ["runs/a/1.jsonl", "runs/b/1.jsonl", "runs/b/c/1.jsonl"].map((name) => join(folder, name));
    for (const [at, file] of files.entries()) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, lines[at] ?? "");
    }
    const page = await openPage(await writePage(files), { width: 2000 });
    expect(page.textsOf("td[data-name=file]")).toEqual(["a/1.jsonl", "b/1.jsonl", "b/c/1.jsonl"]);
    expect(page.textsOf('td[data-name="tool errors"]')).toEqual(["2", "0", ""]);
    expect(page.textsOf("figure:first-child .axis.x")).toEqual(["≤ 0", "98"]);
  });

  it("filter by the counts of rules, and name the problems that concern no group", async () => {
    const lines = [groupLine([0, 1]).replace('"user"', '"robot"'), '{"trajectories":7}', groupLine([1])];
    const [file, flat] = [lines.join("\n"), '{"messages_and_choices":[],"reward":1}'].map((text) =>
      fileOf("z.jsonl", text),
    );
    const page = await openPage(await writePage([file ?? "", flat ?? ""]), { query: { sort: "size" } });
    expect(page.textsOf(".facts dd span").join("")).toContain("unknown-role 1");
    expect(page.textsOf(".facts .problem .quiet")).toEqual(["[mixed-shapes]"]);
    await page.click("unknown-role", ".facts a");
    expect([page.query(), page.textsOf("tbody td:first-child"), page.textsOf(".facts [aria-current]")]).toEqual([
      { sort: "size", rule: "unknown-role" },
      ["1"],
      ["unknown-role"],
    ]);
    await page.click("unknown-role", ".facts a");
    expect(page.query()).toEqual({ sort: "size" });
  });
});
