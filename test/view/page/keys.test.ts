import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { fileOf, groupLine } from "../viewing.ts";
import { addressOf, closePage, openPage, settle, writePage } from "./open-page.ts";

afterEach(closePage);

describe("the keys of the page", () => {
  let html = "";
  beforeAll(async () => {
    const lines = [[0, 1, 0.5], [1], [0, 0]].map((rewards, at) => groupLine(rewards, { prompt: `prompt ${at + 1}` }));
    html = await writePage([fileOf("g.jsonl", lines.join("\n"))]);
  });

  it("move the focus in the table from its first visible row, and stop at its ends", async () => {
    const page = await openPage(html);
    const focused: (string | null)[] = [];
    for (const key of "jjjjkkkk") {
      await page.press(key);
      focused.push(page.focusedText());
    }
    const [one, two, three] = [1, 2, 3].map((number) => `prompt ${number}`);
    expect(focused).toEqual([one, two, three, three, two, one, one, one]);
  });

  it("move the focus in a chart by arrows", async () => {
    const page = await openPage(html);
    page.find(".charts svg").focus();
    const focused: (string | undefined)[] = [];
    const arrows = ["Left", "Left", "", "Left", "Down", "Right", "Right", "Left", "Up", "Up"];
    for (const key of arrows.map((side) => (side === "" ? "Home" : `Arrow${side}`))) {
      await page.press(key);
      focused.push(/reward of (\S+)$/.exec(page.state.focused()?.getAttribute("aria-label") ?? "")?.[1]);
    }
    expect(focused).toEqual(["1", "0.5", "0.5", "0", "0.5", "1", "1", "0.5", "0", "0"]);
  });

  it("go to the next and previous group and trajectory, and up to the parent view", async () => {
    const page = await openPage(html, { query: { group: 1, sort: "size", descending: true } });
    const titles: (string | undefined)[] = [];
    for (const key of ["n", "n", "n", "p", "Escape"]) {
      await page.press(key);
      titles.push(`${page.find("main").getAttribute("aria-label")} ${page.textsOf("button[disabled]")}`);
    }
    expect(titles).toEqual(["group 3 ", "group 2 next › n", "group 2 next › n", "group 3 ", "groups "]);
    await page.show({ group: 1, trajectory: 2 });
    const names = [];
    for (const key of ["n", "n", "p", "p", "p", "Escape", "Escape"]) {
      await page.press(key);
      names.push(page.find("main").getAttribute("aria-label"));
    }
    const [first, second, third] = [1, 2, 3].map((number) => `trajectory ${number} of group 1`);
    expect(names).toEqual([third, third, second, first, first, "group 1", "groups"]);
    // The table lacks the group.
    for (const [key, group] of [
      ["n", 3],
      ["p", 1],
    ] as const) {
      await page.show({ trainable: true, group: 2 });
      await page.press(key);
      expect(page.query()).toEqual({ trainable: true, group });
    }
  });

  it("search by /, leave the field by Escape, show the keys by ?, and act on no key with Ctrl, Alt or Meta", async () => {
    const page = await openPage(html);
    await page.press("/");
    expect(page.state.focused()?.getAttribute("aria-label")).toBe("search text");
    await page.press("?");
    expect(page.textsOf(".help")).toEqual([]);
    await page.press("Escape");
    expect(page.state.focused()?.className).toBe("rows");
    await page.press("?");
    expect(page.textsOf(".help dt")).toContain("n p");
    for (const modifier of ["ctrlKey", "metaKey", "altKey"]) {
      page.dispatch("keydown", { key: "?", [modifier]: true });
      await settle();
    }
    expect(page.textsOf(".help")).toHaveLength(1);
    await page.press("Escape");
    expect(page.textsOf(".help")).toEqual([]);
  });

  it("sort the trajectories of this and the next groups, and sort them side by side", async () => {
    const page = await openPage(html, { query: { group: 1 } });
    const shown = () => [page.textsOf("tbody td:first-child").join(), page.textsOf(".column h2 a").join()];
    const orders = [shown()];
    for (const name of ["reward", "trajectory", "trajectory"]) {
      await page.click(name, "th .sort");
      orders.push(shown());
    }
    await page.press("n", "n");
    const [one, two, three] = [1, 2, 3].map((number) => `trajectory ${number}`);
    expect([...orders, shown()]).toEqual([
      [`${two},${three},${one}`, `${two},${one},${three}`],
      [`${one},${three},${two}`, `${one},${three},${two}`],
      [`${three},${two},${one}`, `${three},${two},${one}`],
      [`${one},${two},${three}`, `${one},${two},${three}`],
      [`${one},${two}`, `${one},${two}`],
    ]);
  });

  it("copy the file and line and the JSON", async () => {
    const page = await openPage(html, { query: { group: 2, trajectory: 1 } });
    await page.click("copy the file and line");
    expect(page.state.copied).toMatch(/g\.jsonl:2$/);
    expect(page.textsOf(".copied button")).toEqual(["copied"]);
    await page.click("copy the JSON");
    expect(JSON.parse(page.state.copied)).toMatchObject({ reward: 1, metrics: { turns: 0 } });
    const writeText = async () => await Promise.reject(new Error("denied"));
    vi.stubGlobal("navigator", { clipboard: { writeText } });
    await page.click("copied", ".tools > button");
    expect(page.textsOf(".tools > button").at(-1)).toBe("cannot copy");
  });

  it("keep the focus of a message that is shown as JSON, and unfold and fold its texts by Enter", async () => {
    const long = groupLine([1], { prompt: "line\n".repeat(60), answer: "word\n".repeat(60) });
    const page = await openPage(await writePage([fileOf("g.jsonl", long)]), { query: { group: 1, trajectory: 1 } });
    const texts = () => page.textsOf(".more").map((text) => text.replace(/\d+/, "N"));
    await page.press("j", "j", "Enter");
    expect(page.state.focused()?.getAttribute("aria-label")).toBe("message 2, assistant");
    expect(texts()).toEqual(["show all N characters", "show less"]);
    await page.press("Enter");
    expect(texts()).toEqual(["show all N characters", "show all N characters"]);
    await page.press("r", "r");
    expect(page.state.focused()?.getAttribute("aria-label")).toBe("message 2, assistant");
  });

  it("return from a group to its link in the table, and name each view in the title of the tab", async () => {
    const page = await openPage(html);
    const seen = [page.title()];
    await page.click("prompt 1");
    await page.press("n");
    seen.push(page.title());
    await page.click("trajectory 1", "tbody a");
    seen.push(page.title());
    await page.press("Escape", "Escape");
    expect([...seen, page.focusedText()]).toEqual([
      "rollcall view",
      ...["group 2", "trajectory 1 of group 2"].map((name) => `${name} · rollcall view`),
      "prompt 2",
    ]);
    await page.show({ group: 1 });
    await page.click("next", "button");
    expect(page.focusedText()).toMatch(/^next/);
  });

  it.each(["#/%7B", "#/[]", "#/%7B%22group%22%3A0%7D"])("ignore the invalid address %s", async (hash) => {
    const page = await openPage(html, { hash });
    expect(page.textsOf(".count")).toEqual(["3 of 3 groups"]);
  });
});

describe("a served page", () => {
  it("keeps its token from the URL, asks until the input is read, and reports refusals, another read and the end", async () => {
    const reading = { progress: { phase: "reading", done: 1, of: 4 } };
    const lists = { notes: [], files: ["a.jsonl"], rules: [], series: [], findings: [], filteredOut: [] };
    const counts = { groups: 0, trajectories: 0, failures: 0, trainable: 0, truncated: 0 };
    const summary = {
      ...{ ...lists, fileCount: 1, groupFiles: 1, stepName: "step", scale: [0, 1] },
      ...{ groups: { read: 0, rejected: 0 }, trajectories: { read: 0, rejected: 0 } },
      all: { ...counts, mean: null, spread: null, ci95: null },
    };
    const asked: string[] = [];
    let state: object = reading;
    const respond = async (path: string, { headers }: { headers: Record<string, string> }) => {
      asked.push(`${decodeURIComponent(path)} ${headers.Authorization}`);
      if (path.startsWith("api/charts")) {
        const charts = { selected: null, rewards: [], series: [], searched: 1 };
        return Response.json(charts, { headers: { "Rollcall-Read": "1" } });
      }
      if (path.startsWith("api/state")) return Response.json(state, { headers: { "Rollcall-Read": "1" } });
      if (path.includes("%22group%22%3A3")) return Response.json({}, { headers: { "Rollcall-Read": "2" } });
      if (path.includes("%22group%22%3A4")) throw new Error("ended");
      if (path.startsWith("api/group")) return Response.json({ detail: "g.jsonl changed" }, { status: 409 });
      throw new Error("ended");
    };
    const page = await openPage("<body></body>", { hash: "#token=a-b_c", fetch: respond });
    expect([page.state.hash, asked]).toEqual(["#/", ["api/state?query={} Bearer a-b_c"]]);
    const shown = () => [page.textsOf(".reading"), page.attributesOf(".reading", "role")];
    expect([...shown(), page.textsOf("main")]).toEqual([["reading, 25%"], [null], ["reading…"]]);
    state = { progress: { phase: "read", done: 1, of: 1 }, summary };
    await expect.poll(() => page.textsOf(".facts h1")).toEqual(["a.jsonl"]);
    expect([...shown(), page.textsOf("main > p")]).toEqual([[""], ["status"], ["the input contains no groups"]]);
    await page.show({ group: 2 });
    expect([page.textsOf("[role=alert]"), asked.at(-1)]).toEqual([
      ["g.jsonl changed"],
      'api/group?query={"group":2} Bearer a-b_c',
    ]);
    await page.show({ group: 3 });
    expect(page.textsOf("[role=alert]")[0]).toMatch(/^the input has changed and was read again. Reload the page/);
    await page.show({ group: 4 });
    expect(page.textsOf("[role=alert]")[0]).toMatch(/^rollcall view has ended, so the page shows its last data/);
    page.state.hash = "#token=later";
    page.dispatch("hashchange");
    expect([page.state.loads, page.state.hash, addressOf({})]).toEqual([1, "#/", "#/%7B%7D"]);
  });
});
