import { afterEach, describe, expect, it } from "vitest";
import { fileOf, groupLine } from "../viewing.ts";
import { closePage, openPage, writePage } from "./open-page.ts";

afterEach(closePage);

type Message = Readonly<Record<string, unknown>>;

const choice = (message: Message, others: object = {}) => {
  return { finish_reason: "stop", index: 0, message: { role: "assistant", ...message }, ...others };
};

const toGroup = (...conversations: readonly (readonly object[])[]) =>
  JSON.stringify({
    trajectories: conversations.map((said, reward) => ({
      messages_and_choices: [{ role: "user", content: "q" }, ...said],
      reward,
    })),
  });

/** Opens the only group, or a trajectory of it. */
const openGroup = async (line: string, query: object = {}, width = 1600) =>
  await openPage(await writePage([fileOf("g.jsonl", line)]), { query: { group: 1, ...query }, width });

describe("a conversation on the page", () => {
  it("has code and tables in a fixed-width font, and marks matches in them", async () => {
    const table = "| a | b |\n|---|---|\n| 1 | 2 |\n";
    const fences = ["```js\ncode | x\n```", "~~~\nmore", "````\n```\ninner\n````"];
    const content = `Say |this|\n${table}or\n${fences[0]}\nand \`42\`\n${fences[2]}\nend\n${fences[1]}`;
    const page = await openGroup(toGroup([choice({ content })], []), { trajectory: 1 });
    const codes = () => page.textsOf(".entry:last-child pre > code");
    const expected = [table, ...[0, 2, 1].map((at) => fences[at] ?? "")].map((text) =>
      text.replaceAll(/\s+/g, " ").trim(),
    );
    expect([page.find(".entry:last-child pre").textContent, codes()]).toEqual([content, expected]);
    await page.show({ group: 1, trajectory: 1, text: "inner" });
    expect([page.textsOf("code mark"), codes()]).toEqual([["inner"], expected]);
    await page.show({ group: 1, trajectory: 1, text: "or\n```js" });
    expect([page.textsOf("mark"), codes()]).toEqual([["or ```js"], []]);
  });

  it("folds long prompts to 3 lines, results to 10 and other texts to 40, and shows all on request", async () => {
    const lines = (count: number) => Array.from({ length: count }, (_, at) => `line ${at}`).join("\n");
    const said = [60, 41, 48].flatMap((count) => [
      { role: "system", content: lines(4) },
      { role: "tool", content: lines(13) },
      { role: "user", content: lines(count) },
    ]);
    const page = await openGroup(toGroup(said, said), { trajectory: 1 });
    const heights = page.textsOf(".entry pre").map((text = "") => text.split(" line ").length);
    expect(heights).toEqual([1, 3, 10, 40, 3, 10, 41, 3, 10, 40]);
    expect(page.textsOf(".more").slice(0, 3)).toEqual([27, 93, 469].map((count) => `show all ${count} characters`));
    await page.click("show all 469");
    expect(page.textsOf(".more")[2]).toBe("show less");
    expect(page.textsOf(".entry pre")[3]?.split(" line ")).toHaveLength(60);
    await page.show({ group: 1, trajectory: 1, text: "line 59" });
    expect([page.textsOf("mark"), page.textsOf(".more")[2]]).toEqual([["line 59"], "show less"]);
  });

  it("counts code points of folded texts", async () => {
    const said = `<think>${"🙂".repeat(100)}</think>${"🙂".repeat(9000)}`;
    const page = await openGroup(toGroup([choice({ content: said })], []), { trajectory: 1 });
    expect(page.textsOf("summary, .more")).toEqual(
      expect.arrayContaining(["reasoning, 100 characters", "show all 9,000 characters"]),
    );
  });

  it("folds reasoning in tags and fields", async () => {
    const answers = [
      { content: "<think>two ways</think>\n\nfour" },
      { reasoning: "one way", content: "say <reasoning>x</reasoning> five <think>cut" },
      { content: "earlier</thinking>\n<thinking>x</thinking>two" },
    ].map((message) => [choice(message)]);
    const page = await openGroup(toGroup(...answers));
    expect(page.textsOf(".column")).toEqual([
      "trajectory 3 2+1 assistantsampled · stop2copy reasoning, 7 charactersearlierreasoning, 1 charactersxtwo",
      "trajectory 1 0−1 assistantsampled · stop2copy reasoning, 8 characterstwo waysfour",
      "trajectory 2 10 assistantsampled · stop2copy reasoning, 7 charactersone waysay reasoning, 1 charactersx five reasoning, 3 characterscut",
    ]);
  });

  it("lists problems at their messages, and those of a result at the message with its call", async () => {
    const call = (id: string) => ({ id, type: "function", function: { name: "look", arguments: "{}" } });
    const result = (id: string) => ({ role: "tool", tool_call_id: id, content: [{ type: "odd" }] });
    const said = [
      { role: "robot", content: "beep" },
      choice({ content: "two calls", tool_calls: [call("a"), call("b")] }, { finish_reason: "odd" }),
      ...[result("a"), result("b")],
      choice({ content: "one call", tool_calls: [call("c")] }),
      ...[result("c"), result("of no call")],
      choice({ content: "end" }),
    ];
    const page = await openGroup(toGroup([], said), { trajectory: 2 });
    const problems = () => {
      const names = page.attributesOf("li.entry", "aria-label").map(String);
      return names.map((name) => [name, ...page.textsOf(`li.entry[aria-label="${name}"] .problem .quiet`)]);
    };
    const ofTrajectory = [
      ["message 2, robot", "[unknown-role]"],
      ["message 3, assistant", "[unknown-finish-reason]"],
      ["message 6, assistant"],
      ["message 8, tool"],
      ["message 9, assistant"],
    ];
    expect(problems()).toEqual([["message 1, user"], ...ofTrajectory]);
    await page.show({ group: 1 });
    expect(problems()).toEqual([["message 1, user"], ...ofTrajectory]);
  });

  it("lists problems of the messages that all trajectories share", async () => {
    const said = [{ role: "robot", content: "beep" }, choice({ content: "a" })];
    const page = await openGroup(toGroup(said, [...said, choice({ content: "b" })]));
    expect(page.textsOf(".common summary")).toEqual(["3 messages at the start of all trajectories"]);
    expect(page.textsOf(".common .problem .quiet")).toEqual(["[unknown-role]"]);
  });

  it("shows JSON in a message as it was said, lines of arguments, and indented results unless a match would disappear", async () => {
    const [said, result] = ['{"a":1, "b":[1,2]}\n\n', '{"x":"\\u00e9"}'];
    const call = { id: "1", type: "function", function: { name: "f", arguments: said } };
    const messages = [
      choice({ content: said }),
      choice({ content: null, tool_calls: [call] }),
      { role: "tool", tool_call_id: "1", content: result },
    ];
    const page = await openGroup(toGroup(messages, []), { trajectory: 1 });
    const texts = () => page.textsOf(".entry pre").slice(1);
    const shown = '{"a":1, "b":[1,2]}';
    expect([page.find(".entry:nth-child(2) pre").textContent, texts()]).toEqual([
      said,
      [shown, "a: 1", "b: [1, 2]", '{ "x": "é" }'],
    ]);
    await page.show({ group: 1, trajectory: 1, text: "u00e9" });
    expect([texts(), page.textsOf("mark")]).toEqual([[shown, "a: 1", "b: [1, 2]", result], ["u00e9"]]);
    await page.show({ group: 1, trajectory: 1, text: '"b":[' });
    expect([texts().slice(1, 2), page.textsOf("mark")]).toEqual([[shown], ['"b":[', '"b":[']]);
  });

  it("marks a failed result without a call, names files by their name, and expects no result of calls in the content", async () => {
    const url = "data:application/pdf;base64,AAAA";
    const blocks = [{ type: "tool_use", id: "1", name: "f", input: {} }];
    const messages = [
      choice({ content: blocks }),
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "found" }] },
      { role: "tool", tool_call_id: "2", content: "Error: unmatched" },
      { role: "user", content: [{ type: "file", file: { filename: "a.pdf", file_data: url } }] },
    ];
    const page = await openGroup(toGroup(messages, []), { trajectory: 1 });
    expect(page.textsOf(".call .who")).toEqual(["calls f"]);
    expect(page.textsOf("h3 .trouble, .outline .trouble")).toEqual(["4 tool error: Error: unmatched", "error"]);
    expect(page.textsOf(".entry pre").at(-1)).toBe("file: a.pdf");
  });

  it("folds the fields of a choice that it does not show elsewhere", async () => {
    const line = toGroup([choice({ content: "a" }, { stop_reason: "end", logprobs: null })], []);
    const page = await openGroup(line, { trajectory: 1 });
    expect(page.textsOf(".entry details")).toEqual(["other fieldsstop_reason: end"]);
  });

  it("shows images of the file alone, other media by their name, empty messages, and errors in the outline", async () => {
    const png = "data:image/png;base64,AAAA";
    const media = (url: string) => ({ type: "image_url", image_url: { url } });
    const page = await openGroup(
      toGroup(
        [
          { role: "user", content: [media(png), media("https://x/y.png"), { type: "text", text: '{"a":[1]}' }] },
          { role: "user", content: "" },
          choice({ content: null, refusal: "never" }),
        ],
        [],
      ),
      { trajectory: 1 },
      800,
    );
    expect(page.attributesOf("img", "src")).toEqual([png]);
    expect(page.textsOf(".entry pre")).toEqual(["q", "image: https://x/y.png", '{"a":[1]}', "refusal: never"]);
    expect(page.textsOf(".entry p.quiet")).toEqual(["empty"]);
    expect(page.textsOf(".outline button.trouble")).toEqual(["4 assistant error: never"]);
    expect(page.attributesOf(".outline details", "open")).toEqual([null]);
  });

  it("shows images in each format that browsers draw, and names other media by their file or format", async () => {
    const types = "png jpeg jpg gif webp avif bmp svg+xml".split(" ");
    const urls = [...types.map((type) => `data:image/${type};base64,AAAA`), "DATA:image/gif;charset=utf-8;base64,AA"];
    const images = urls.map((url) => ({ type: "image_url", image_url: { url } }));
    const source = (data: string) => ({ type: "image", source: { type: "base64", media_type: "image/gif", data } });
    const others = [
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
      { type: "file", file: { filename: "a.pdf", format: "pdf" } },
    ];
    const said = (data: string) => [{ role: "user", content: [...images, source(data), ...others] }];
    const page = await openGroup(toGroup(said("BBBB"), said("CCCC")));
    const shown = [...urls.filter((url) => !url.includes("svg")), "data:image/gif;base64,CCCC"];
    expect(page.attributesOf(".column:first-child img", "src")).toEqual(shown);
    expect(page.textsOf(".column:first-child .entry pre")).toEqual([`image: ${urls[7]}`, "audio: wav", "file: a.pdf"]);
  });

  it("folds a long line", async () => {
    const said = ["system", "tool", "user"].map((role) => ({ role, content: "x".repeat(5000) }));
    const page = await openGroup(toGroup(said, []), { trajectory: 1 });
    const lengths = page.textsOf(".entry pre").map(({ length }) => length);
    expect(lengths.slice(1, 4)).toEqual([3, 10, 40].map((lines) => lines * 95 + 2));
    expect(page.textsOf(".outline button")[1]).toBe(`2 system ${"x".repeat(200)}`);
  });

  it("of an invalid group and of an unreadable line has its JSON or its text", async () => {
    const html = await writePage([fileOf("g.jsonl", `${groupLine([1, 0])}\n{"trajectories":[{"reward":"x"}]}\n{"a`)]);
    const page = await openPage(html, { query: { group: 2 } });
    expect(page.textsOf("h1")[0]).toBe("no prompt 1 trajectory · invalid");
    await page.show({ group: 3 });
    expect([page.textsOf("h1")[0], page.textsOf(".column h2 a"), page.textsOf("pre")]).toEqual([
      "unreadable line · invalid",
      ["the line"],
      ['{"a'],
    ]);
    await page.show({ group: 9 });
    expect(page.textsOf("[role=alert]")).toEqual(["this page does not contain the group"]);
  });
});
