/** How a trajectory of ART becomes of its exchanges with an API. */
import { describe, expect, it } from "vitest";
import { itTells, type Row, tell } from "./converting.ts";
import { art, exchange, said, turn, user } from "./records.ts";

const reply = { output: [{ type: "message", ...said("a") }] };
const blocks =
  "thinking redacted_thinking search_result container_upload tool_use server_tool_use web_search_tool_result";
const source = (content: unknown) => ({ type: "document", source: { type: "content", content } });
const ofApi = (api: string, request: object, own: object) => [art({ [api]: [{ request, response: own }] })];
const timed = (second: number, messages: readonly object[], answer: string) =>
  exchange(messages, answer, { start_time: `2026-01-01T00:00:0${second}+02:00` });
const generation = [{ output_indices: [], output_tokens: [{ token_id: 1, logprob: -1 }] }];

const message = (text: string) => ({ type: "message", ...said([{ type: "output_text", text }]) });
const stored = (input: string, text: string, conversation: unknown) => ({
  request: { input, conversation },
  response: { output: [message(text)] },
});
const lacking = "the first prompts of stored conversations lack earlier turns if the service had some (2 times)";
const tokens = [11, 12, 13].map((token_id, at) => ({
  output_indices: [at],
  output_tokens: [{ token_id, logprob: [-0.5, -0.25, null][at], text: "a" }],
}));
const scored = (id: number, logprob: number) =>
  `{"token":"token_id:${id}","logprob":${logprob},"bytes":null,"top_logprobs":[]}`;
const generated = {
  responses: [
    { request: { input: "r" }, response: { output: ["a", "b", "c"].map(message), token_generations: tokens } },
  ],
  messages: [
    {
      request: { messages: [user("q")] },
      response: {
        content: [{ type: "text", text: "a" }],
        stop_reason: "end_turn",
        token_ids: [11, 12],
        logprobs: [-0.5, 0],
      },
    },
  ],
};
const exceptions = [{ type: "<class 'TimeoutError'>", message: "t", traceback: "b" }];

itTells("a trajectory of ART with %s", [
  [
    "only exceptions, because ART omits an empty list of trajectories",
    [{ trajectories: [art({ chat_completions: [exchange([user("q")])] })] }, { exceptions, metadata: { s: 2 } }],
    `(u:q A:a) =1\n & {"trajectories":[],"exceptions":${JSON.stringify(exceptions)},"metadata":{"s":2}}`,
  ],
  ...["conv_1", { id: "conv_1" }].map((own): Row => {
    const responses = [stored("q", "a", own), stored("other", "x", "conv_2"), stored("r", "b", own)];
    const told = `(u:q A:a u:r A:b / u:other A:x) =0\n & ${lacking}`;
    return ["a stored conversation", [{ trajectories: [{ exchanges: { responses } }] }], told];
  }),
  [
    "token ids and log probabilities",
    [{ trajectories: [art(generated)] }],
    `(u:q A:a / u:r A:a A:b A:c) =1\n & "logprobs":{"content":[${scored(11, -0.5)}]} & not converted & ` +
      `"logprobs":{"content":[${scored(12, -0.25)}]} & "logprobs":{"content":[${scored(11, -0.5)},${scored(12, 0)}]}`,
  ],
  ["instructions", ofApi("responses", { input: "q", instructions: "s" }, reply), "(s:s u:q A:a) =1"],
  [
    "a cut reply",
    ofApi("messages", { messages: [user("q")] }, said("a", { stop_reason: "max_tokens" })),
    "A:a.length)",
  ],
  [
    "documents in a message",
    ofApi("messages", { messages: [user([source("b"), source([{ type: "text", text: "c" }])])] }, {}),
    '[{"type":"text","text":"b"},{"type":"text","text":"c"}]',
  ],
  ...blocks
    .split(" ")
    .map(
      (type): Row => [
        `a block of type ${type}`,
        ofApi("messages", { messages: [user([{ type }])] }, {}),
        `left out a block of type ${type}`,
      ],
    ),
  [
    "several models",
    [
      art({
        chat_completions: ["a", "b"].map((model) => ({ request: { model, messages: [] }, response: { choices: [] } })),
      }),
    ],
    "the exchanges of a trajectory have several models",
  ],
  ["other tokens", ofApi("responses", { input: "q" }, { ...reply, token_generations: generation }), "(u:q A:a) =1"],
  [
    "times, in their order, each after the longest one that it continues",
    [
      art({
        chat_completions: [
          timed(3, [user("q"), said("a"), user("r"), said("b"), user("s")], "c"),
          timed(1, [user("q"), said("a"), user("r")], "b"),
          timed(2, [user("q")], "a"),
        ],
      }),
    ],
    '(u:q a:a u:r A:b u:s A:c / u:q A:a) =1 & "start_time":"2026-01-01T00:00:01+02:00"',
  ],
  [
    "no exception",
    [art({ chat_completions: [exchange([user("q")])] }, { exceptions: [] })],
    '(u:q A:a) =1 & {"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"a"}}]',
  ],
]);

describe("an exchange of ART", () => {
  const mark = { cache_control: { type: "ephemeral" } };
  const text = (own: string, more: object = {}) => ({ type: "text", text: own, ...more });
  const [first, second] = [text("1"), text("2")];
  const turned = [{ text: "1", type: "text" }];

  it.each<[continues: boolean, difference: string, object, object]>([
    [true, "a cache mark of a message", { content: "q", ...mark }, { content: "q" }],
    [true, "a cache mark", { content: [text("a", mark), second] }, { content: [text("a"), second] }],
    [true, "the part with a mark", { content: [first, text("a", mark)] }, { content: [first, text("a")] }],
    [true, "a cache mark of its only part", { content: [text("a", mark)] }, { content: "a" }],
    [true, "annotations", { content: "q", annotations: [{ type: "a" }] }, { content: "q" }],
    [true, "null", { content: "q", name: null }, { content: "q" }],
    [true, "an empty text", { content: "q", refusal: "" }, { content: "q" }],
    [true, "an empty list", { content: "q", tool_calls: [] }, { content: "q" }],
    [true, "the order of members of a part", { content: [first, second] }, { content: [...turned, second] }],
    [true, "the order of members", { content: [first] }, { content: turned }],
    [false, "its text", { content: "q" }, { content: "r" }],
    [false, "a member", { content: "q", name: "n" }, { content: "q" }],
    [false, "a part", { content: [first, second] }, { content: [first] }],
    [false, "the order of parts", { content: [first, second] }, { content: [second, first] }],
  ])("continues (%j) the one before if a message differs in %s", async (continues, _, ...contents) => {
    const [a, b] = contents.map((own) => ({ role: "user", ...own }));
    for (const [before = {}, after = {}] of [
      [a, b],
      [b, a],
    ]) {
      const list = [timed(0, [before], "a"), timed(1, [after, said("a"), user("r")], "b")];
      const shown = await tell([art({ chat_completions: list })]);
      expect(shown).toMatch(continues ? /^\(u\S* A:a u:r A:b\) =1/ : /^\(u\S* a:a u:r A:b \/ u\S* A:a\) =1/);
    }
  });

  it.each(['""', "null", "[]"])("continues an answer with the refusal %s, and keeps it", async (empty) => {
    const own = { choices: [{ ...turn("a"), message: said("a", { refusal: JSON.parse(empty) }) }] };
    const requests = [[user("q")], [user("q"), said("a"), user("no")]];
    const list = requests.map((messages) => ({ request: { messages }, response: own }));
    expect(await tell([art({ chat_completions: list })])).toContain(
      `"refusal":${empty}}},{"role":"user","content":"no"}`,
    );
  });

  it("continues the one before if the client of Anthropic moved its cache mark", async () => {
    const marked = (own: string) => user([text(own, mark)]);
    const list = [[marked("q")], [user("q"), said([text("a")]), marked("r")]].map((messages, at) => ({
      start_time: `2026-01-01T00:00:0${at}Z`,
      request: { messages },
      response: said([text(at === 0 ? "a" : "b")], { stop_reason: "end_turn" }),
    }));
    expect(await tell([art({ messages: list })])).toMatch(/^\(u A:a u A:b\) =1/);
  });
});
