import { afterEach, describe, expect, it } from "vitest";
import { fileOf } from "../viewing.ts";
import { addressOf, closePage, openPage, writePage } from "./open-page.ts";

afterEach(closePage);

type Trajectory = Readonly<{ reward: number; metrics?: object; messages?: readonly object[] }>;

const toLine = (trajectories: readonly Trajectory[]) =>
  JSON.stringify({
    trajectories: trajectories.map(({ messages = [{ role: "user", content: "q" }], ...others }) => ({
      messages_and_choices: messages,
      ...others,
    })),
  });

const answer = (finishReason: string, content = "a") => [
  { role: "user", content: "q" },
  { finish_reason: finishReason, index: 0, message: { role: "assistant", content } },
];

const openGroup = async (line: string, query: object = {}) =>
  await openPage(await writePage([fileOf("g.jsonl", line)]), { query: { group: 1, ...query } });

describe("a group on the page", () => {
  it("has the numbers of its trajectories with three or six digits", async () => {
    const values = [0, 0.12345, -0.5, 0.001, 0.000999, 1, 12.3456789, -1234.5, 999_999, 1e6, -1.5e7, true, false];
    const metrics = Object.fromEntries(values.map((value, at) => [`m${at}`, value]));
    const page = await openGroup(toLine([{ reward: 0.5, metrics }]));
    expect(page.textsOf("h1")).toEqual(["q 1 trajectory"]);
    const cells = values.map((_, at) => page.textsOf(`td[data-name=m${at}]`)[0]);
    const small = ["0", "0.123", "−0.5", "0.001", "9.99e-4"];
    expect(cells).toEqual([...small, "1", "12.346", "−1,234.5", "999,999", "1.00e+6", "−1.50e+7", "true", "false"]);
  });

  it("sorts by each column: numbers by value, texts in natural order, unknown values last", async () => {
    const members = [
      { reward: 1, metrics: { cost: 10, depth: 1 }, messages: answer("stop") },
      { reward: 2, metrics: { cost: 9 }, messages: answer("length") },
      { reward: 2, metrics: { cost: 100, depth: 2 } },
    ];
    const page = await openGroup(toLine(members));
    const orders: Record<string, string> = {};
    for (const name of ["trajectory", "reward", "advantage", "finish reason", "cost", "depth", "messages", "size"]) {
      const order = () => page.textsOf("tbody td:first-child").join("").replaceAll(/\D/g, "");
      await page.click(name, "th .sort");
      const first = order();
      await page.click(name, "th .sort");
      orders[name] = `${first} ${order()} ${page.textsOf("[aria-sort]:not([aria-sort=none])")}`;
    }
    expect(orders).toEqual({
      trajectory: "321 123 trajectory ↑",
      reward: "231 123 reward ↑",
      advantage: "231 123 advantage ↑",
      "finish reason": "123 213 finish reason ↑",
      cost: "312 213 cost ↑",
      depth: "312 132 depth ↑",
      messages: "123 312 messages ↑",
      size: "123 321 size ↑",
    });
  });

  it("shows the first four trajectories side by side, another on request, and that of the first match", async () => {
    const members = ["one", "two", "three", "four", "five", "six"].map((content, at) => {
      return { reward: 6 - at, messages: answer("stop", content) };
    });
    const page = await openGroup(toLine(members));
    const shown = () => [
      page.textsOf(".column .entry pre").join(),
      page.attributesOf("[aria-label^=show]", "aria-label"),
    ];
    const seen = [shown()];
    await page.click("show", "button[aria-label='show trajectory 5']");
    seen.push(shown());
    await page.show({ group: 1, text: "four" });
    expect([...seen, shown()]).toEqual([
      ["one,six,two,three", ["show trajectory 4", "show trajectory 5"]],
      ["one,six,two,three,five", ["show trajectory 4"]],
      ["one,six,two,three,four", ["show trajectory 5"]],
    ]);
    expect(page.textsOf("mark")).toEqual(["four", "four"]);
    expect(page.textsOf(".way").at(-1)).toBe("first match: trajectory 4: four");
    expect(page.attributesOf(".way a", "href").at(-1)).toBe(addressOf({ text: "four", group: 1, trajectory: 4 }));
    const tied = await openGroup(toLine([0.5, 0, 1, 0].map((reward) => ({ reward, messages: [] }))));
    expect(tied.textsOf(".column h2 a")).toEqual([3, 2, 1, 4].map((number) => `trajectory ${number}`));
    expect(tied.textsOf(".column .parts")).toEqual([]);
  });

  it("marks results with an error: by its text, by an error, and by a status", async () => {
    const results = [
      { content: "Error: no file" },
      { content: "no error" },
      { content: "x", is_error: true },
      { content: "x", is_error: false },
      { content: "x", status: "error" },
      { content: "x", status: "success" },
      { content: "x", state: "error" },
      { content: null, error: { code: 1 } },
      { content: "x", error: {}, isError: false },
      { content: "x", isError: true },
    ];
    const messages: object[] = results.flatMap((result, at) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: `${at}`, function: { name: `t${at}`, arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: `${at}`, ...result },
    ]);
    const blocks = [{ is_error: true }, { status: "error" }, { is_error: false, status: "success" }].map((mark) => {
      return { type: "tool_result", tool_use_id: "1", content: "x", ...mark };
    });
    messages.push({ role: "user", content: blocks });
    const page = await openGroup(toLine([{ reward: 1, messages }, { reward: 0 }]), { trajectory: 1 });
    expect(page.textsOf(".outline button.trouble")).toEqual([
      "1 assistant error: calls t0",
      "5 assistant error: calls t2",
      "9 assistant error: calls t4",
      "15 assistant error: calls t7",
      "19 assistant error: calls t9",
    ]);
    const ofResults = ["error", "result", "error", "result", "error", "result", "result", "error", "result", "error"];
    const marks = [...ofResults, "error", "error", "result"];
    expect(page.textsOf(".result > .who")).toEqual(marks);
    expect(page.textsOf(".talk > .problem > .quiet")).toEqual(["[no-prompt]", "[no-sampled-turns]"]);
    await page.press("r");
    expect([page.textsOf("section pre").length, page.textsOf(".more")]).toEqual([1, []]);
  });

  it("has a call that all trajectories share next to its result, if the results differ", async () => {
    const tool_calls = ["1", "2"].map((id) => ({ id, function: { name: `t${id}`, arguments: "{}" } }));
    const calling = [
      { role: "user", content: "q" },
      { role: "assistant", content: null, tool_calls },
      { role: "tool", tool_call_id: "1", content: "found" },
    ];
    const failed = (at: number) => ({ role: "tool", tool_call_id: "2", content: `Error: no file ${at}` });
    const page = await openGroup(toLine([1, 0].map((reward) => ({ reward, messages: [...calling, failed(reward)] }))));
    expect(page.textsOf(".common summary")).toEqual(["1 message at the start of all trajectories"]);
    expect(page.textsOf(".result > .who")).toEqual(["result", "error", "result", "error"]);
    expect(page.textsOf(".call .who").filter((text) => text === "no result")).toEqual([]);
  });

  it("has messages once that differ by ids of calls and log probabilities alone", async () => {
    const messages = (id: string, said: string) => [
      { role: "user", content: "q" },
      {
        finish_reason: "tool_calls",
        logprobs: { content: [{ token: id, logprob: -1 }] },
        message: { role: "assistant", content: "", tool_calls: [{ id, function: { name: "t", arguments: "{}" } }] },
      },
      { role: "tool", tool_call_id: id, content: "found" },
      ...answer("stop", said),
    ];
    const members = ["a", "b"].map((id) => ({ reward: 1, messages: messages(id, "done") }));
    const page = await openGroup(toLine([...members, { reward: 0, messages: messages("c", "gave up") }]));
    expect(page.textsOf(".common summary")).toEqual(["4 messages at the start of all trajectories"]);
  });

  it("has the messages that all trajectories share once, and ends a trajectory without other messages", async () => {
    const [one, two] = [answer("stop", "one"), answer("stop", "two")];
    const longer = [...one, { role: "user", content: "more" }];
    const page = await openGroup(toLine([longer, one, longer].map((messages, at) => ({ reward: 3 - at, messages }))));
    const seen = () => [page.textsOf(".common summary"), page.textsOf(".column .parts"), page.textsOf(".column pre")];
    const common = "2 messages at the start of all trajectories";
    expect(seen()).toEqual([[common], ["ends here"], ["more", "more"]]);
    const other = await openGroup(toLine([longer, longer, two].map((messages, at) => ({ reward: 3 - at, messages }))));
    expect(other.textsOf(".common summary")).toEqual(["1 message at the start of all trajectories"]);
  });

  it("has, for a trajectory, short values beside its facts, and others in folds", async () => {
    const metadata = { turns: 1, seed: 12345678901234567890n.toString(), tags: ["a"] };
    const others = { logs: ["x"], metrics: { turns: 2, note: "slow" }, metadata, id: 7 };
    const messages = answer("stop");
    const members = [
      { reward: 1, messages, ...others },
      { reward: 0, messages, metrics: { turns: 1 } },
    ];
    const page = await openGroup(toLine(members), { trajectory: 1 });
    const folds = () => page.textsOf(".talk > details");
    const facts = () => page.textsOf(".metrics > div").slice(3);
    expect(facts()).toEqual(["metrics.turns2", "noteslow", `seed${metadata.seed}`, "id7"]);
    expect(folds()).toEqual(['logs[ "x" ]', `metadata{ "turns": 1, "seed": "${metadata.seed}", "tags": [ "a" ] }`]);
    await page.press("n");
    expect([facts(), folds()]).toEqual([[], []]);
  });
});
