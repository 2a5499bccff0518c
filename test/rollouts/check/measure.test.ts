import { expect, it } from "vitest";
import { openMeasurer } from "../../../src/rollouts/check/measure.ts";
import { Scanner } from "../../../src/rollouts/dataset/scan.ts";
import { Parts } from "../../../src/rollouts/index/parts.ts";
import { ScanResult } from "../../../src/rollouts/index/scan-result.ts";
import { openMemoryBytes } from "../../../src/rollouts/input/source.ts";
import { Problems } from "../../../src/rollouts/rules/problems.ts";
import { runHere } from "../../support/here.ts";

const countsOf = (turns: readonly unknown[], more: object = {}) => {
  const bytes = Buffer.from(JSON.stringify({ messages_and_choices: turns, reward: 1, ...more }));
  const result = new ScanResult(new Problems(), new Parts({ hasDigests: false, hasFacts: true }));
  const source = { name: "a.jsonl", bytes: openMemoryBytes(bytes) };
  const scanner = new Scanner(source, { index: 0, groupBy: undefined, result, measure: openMeasurer({}) });
  scanner.scanLines({ kind: "lines", bytes, start: 0, isLast: true });
  return result.parts.facts?.at(0).counts;
};

const call = (id: string, text = "") => ({ id, type: "function", function: { name: "find", arguments: text } });
const calling = (...ids: readonly string[]) => ({ role: "assistant", tool_calls: ids.map((id) => call(id)) });
const choice = (message: object, more: object = {}) => ({ finish_reason: "stop", index: 0, message, ...more });
const answer = { role: "assistant", content: "four" };

const contents = (errors: number, ...texts: readonly unknown[]) =>
  texts.map((content) => [errors, { content }] as const);
it.each<readonly [errors: number, result: object]>([
  ...contents(1, "Error: x", " \n\tError: x", "error: x", 'requests.HTTPError("503")', "java.io.IOException: x"),
  ...contents(
    1,
    `${"a.".repeat(96)}IOError: x`,
    "IOException",
    "Uncaught Error: x",
    "Traceback (most recent call last):",
    "<tool_use_error>x",
  ),
  ...contents(1, ' {"error":{"code":1}}', '{"isError":true}', '{"is_error":true}', '{"is_error":"True"}', {
    error: "x",
  }),
  ...contents(1, [{ text: "Error: x" }], [{ type: "image_url" }, { text: "Error: x" }]),
  ...contents(0, "found", "Errors: none", "It says Error: x", "java.io.IOException in x", [], null, { errors: 0 }),
  ...contents(0, '{"error":null,"is_error":false}', '{"error":false}', '{"error":""}', '{"a":{"error":"x"}}'),
  ...contents(0, `${"a.".repeat(98)}IOError: x`, '{"error":"x"', [{ text: "found" }, { text: "Error: x" }]),
  ...contents(0, '{"error":0}', '{"error":[],"result":{"a":1}}', '{"error":{}}', { error: {} }),
  ...contents(0, '{"error":{"message":null,"code":null}}', { error: { message: "" } }),
  ...contents(0, '{"error":"None"}', '{"error":"No error"}', { error: "null" }),
  ...contents(0, '{"error":[""]}', '{"error":{"code":0}}'),
  ...contents(1, '{"error":["x"]}', '{"error":{"code":1}}', { error: true }),
  ...[{ status: "failed" }, { status: "Error" }, { is_error: true }].map((result) => [1, result] as const),
  ...[{ is_error: "True" }, { is_error: 1 }, { isError: true }, { error: "x" }].map((result) => [1, result] as const),
  ...[{ status: "success" }, { is_error: false }, { is_error: "false" }, { is_error: 0 }].map(
    (result) => [0, result] as const,
  ),
  ...[{ isError: false }, { error: null }, { error: "" }, { status: "timeout" }].map((result) => [0, result] as const),
])("counts %i errors for a result (row %$)", (errors, result) => {
  const turns = [choice(calling("a")), { role: "tool", tool_call_id: "a", ...result }, answer];
  expect(countsOf(turns)).toMatchObject({ tool_calls: 1, tool_errors: errors });
});

const older = (name: string, text = "") => ({
  role: "assistant",
  content: "",
  function_call: { name, arguments: text },
});
const failed = (id?: string) => ({ role: "tool", content: "Error: x", ...(id && { tool_call_id: id }) });
it.each<[what: string, turns: readonly unknown[], counts: readonly number[]]>([
  ["a result without a call", [choice(answer), failed("z"), choice(answer)], [0, 1, 0]],
  ["calls of choices only, if there is a choice", [calling("a"), failed("a"), choice(calling("b"))], [1, 0, 0]],
  ["calls of messages without a choice", [calling("a", "b"), failed("b"), answer], [2, 1, 1]],
  ["no call of the user", [{ role: "user", tool_calls: [call("a")] }, failed("a"), answer], [0, 0, 0]],
  ["older calls", [choice(older("f")), { ...failed(), role: "function" }, choice(older("f")), answer], [2, 1, 1]],
  ["a last call, which needs no result", [choice(calling("a")), failed(), choice(calling("b", "c"))], [3, 1, 0]],
])("counts %s", (_, turns, [tool_calls, tool_errors, unanswered]) => {
  expect(countsOf(turns)).toMatchObject({ tool_calls, tool_errors, unanswered });
});

it.each<[more: object, tokens: number | null]>([
  [{ usage: { prompt_tokens: 9 }, metadata: { output_tokens: 3 } }, 3],
  [{ usage: { completion_tokens: -1 }, token_usage: { total: 2 }, metrics: { completion_tokens: 5 } }, 5],
  [{ metadata: { note: "x", token_usage: { completion_tokens: 4 } }, metrics: {} }, 4],
  [{ usage: { completion_tokens: 1.5 } }, null],
])("finds the stated tokens of %j", (more, tokens) => {
  expect(countsOf([answer], more)?.tokens).toBe(tokens);
});

it("adds the calls and errors of each tool, of results without a call by the name in the result", async () => {
  const named = (name: string, ...ids: readonly string[]) => ids.map((id) => ({ ...call(id), function: { name } }));
  const calls = choice({ role: "assistant", tool_calls: [...named("find", "a", "b"), ...named("open", "c")] });
  const turns = [calls, failed("a"), { ...failed("z"), name: "open" }, failed("y"), choice(answer)];
  const stdin = JSON.stringify({ messages_and_choices: turns, reward: 1 });
  const { stdout } = await runHere(["stats", "--json", "--fields", "tools"], { stdin: `${stdin}\n${stdin}` });
  expect(JSON.parse(stdout).tools).toEqual([
    { name: "find", calls: 4, errors: 2, unanswered: 2 },
    { name: "open", calls: 2, errors: 2, unanswered: 2 },
    { name: null, calls: 0, errors: 2, unanswered: 0 },
  ]);
});

const numbers = [...Array(80).keys()];
const reversed = numbers.toReversed();
it.each<[what: string, order: readonly number[], ids: (at: number) => object]>([
  ["in their order", numbers, (at) => ({ id: `c${at}` })],
  ["in another order", reversed, (at) => ({ id: `c${at}` })],
  ["with escaped ids", reversed, (at) => ({ id: `"${at}` })],
  ["with equal ids", numbers, () => ({ id: "c" })],
  ["without ids", numbers, () => ({})],
])("pairs 80 calls of a turn with their results %s", async (_, order, idOf) => {
  const calls = numbers.map((at) => ({ ...idOf(at), function: { name: `t${at}`, arguments: "" } }));
  const results = order.slice(0, 78).map((at) => {
    const [id] = Object.values(idOf(at));
    return { role: "tool", ...(id && { tool_call_id: id }), content: at % 3 === 0 ? "Error: x" : "ok" };
  });
  const turns = [choice({ role: "assistant", tool_calls: calls }), ...results, choice(answer)];
  const stdin = JSON.stringify({ messages_and_choices: turns, reward: 1 });
  const { stdout } = await runHere(["stats", "--json", "--fields", "tools"], { stdin });
  const found = JSON.parse(stdout).tools.map(({ name, calls, errors, unanswered }: Record<string, unknown>) =>
    [name, calls, errors, unanswered].join(" "),
  );
  const answered = order.slice(0, 78);
  const toRow = (at: number) =>
    [`t${at}`, 1, Number(answered.includes(at) && at % 3 === 0), Number(!answered.includes(at))].join(" ");
  expect(found.toSorted()).toEqual(numbers.map(toRow).toSorted());
});

it.each<[more: object, characters: number]>([
  [{ reasoning_content: "wé" }, 6],
  [{ reasoning: "wé", reasoning_content: "wé𝄞" }, 7],
  [{ thinking: "wé" }, 6],
  [{ reasoning_details: [{ type: "reasoning.text", text: "w" }, { type: "reasoning.encrypted" }, { text: "é" }] }, 6],
  [{ reasoning: "w", thinking: true, reasoning_details: null }, 5],
])("counts the characters of reasoning under each name once (row %$)", (more, characters) => {
  expect(countsOf([choice({ ...answer, ...more })])).toMatchObject({ characters });
});

it("counts the characters of arguments that are not serialized as those of their JSON", () => {
  const count = (text: unknown) => {
    const sampled = { role: "assistant", tool_calls: [{ function: { name: "find", arguments: text } }] };
    return countsOf([{ role: "user", content: "q" }, sampled])?.characters;
  };
  const values = [{ q: "wé𝄞" }, [1, 2]];
  expect(values.map(count)).toEqual(values.map((value) => count(JSON.stringify(value))));
  expect([count({ q: "wé𝄞" }), count({}), count(null), count(12)]).toEqual([11, 2, 0, 0]);
});

it("counts the name and the characters of older and custom calls", async () => {
  const custom = { role: "assistant", tool_calls: [{ id: "a", type: "custom", custom: { name: "py", input: "1+1" } }] };
  const turns = [choice(older("f", "{}")), { role: "function", name: "f", content: "" }, choice(custom)];
  expect(countsOf(turns)).toMatchObject({ tool_calls: 2, characters: 5 });
  const stdin = JSON.stringify({ messages_and_choices: turns, reward: 1 });
  const { stdout } = await runHere(["stats", "--json", "--fields", "tools"], { stdin });
  expect(JSON.parse(stdout).tools.map(({ name }: { name: string }) => name)).toEqual(["f", "py"]);
});
