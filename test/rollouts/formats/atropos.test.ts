import { describe, expect, it } from "vitest";
import { convertHere, notesHere, turnsHere } from "./converting.ts";

const roles: Readonly<Record<string, string>> = {
  s: "system",
  u: "user",
  a: "assistant",
  g: "agent",
  e: "environment",
};
const fitNone = "the tokens that masks does not mask fit no turns of the assistant";

/** A trajectory of turns and tokens: `.` is masked, and other tokens are sampled. */
const groupOf = (turns: string, tokens: string) => {
  const masks = [...tokens].map((token, at) => (token === "." ? -100 : at));
  const messages = [...turns].map((turn, at) => ({ role: roles[turn], content: `${at}` }));
  return { tokens: [masks.map((_, at) => at)], masks: [masks], scores: [1], messages: [messages] };
};

describe("a group of Atropos", () => {
  it.each([
    ["ua", ".xx", "u A"],
    ["sua", "..x", "s u A"],
    ["ua", "..", "u a"],
    ["uu", "..", "u u"],
    ["uaua", ".x.x", "u A u A"],
    ["uaua", "...x", "u a u A"],
    ["uauaua", ".....x", "u a u a u A"],
    ["uau", ".x.........", "u A u"],
    ["ua", ".x........", "u A"],
    ["eg", ".x", "u A"],
    ["ua", ".x.........", fitNone],
    ["uau", ".x........", fitNone],
    ["uaua", ".x.x.x", fitNone],
    ["uauaua", "...x.x", fitNone],
    ["uauau", ".x.........", fitNone],
    ["ua", "xxx", fitNone],
    ["uu", ".x", "no message is a turn of the assistant"],
  ])("with the turns %s and the tokens %s has the choices (in capitals) %s", async (turns, tokens, expected) => {
    expect(await turnsHere({ "a.jsonl": [groupOf(turns, tokens)] })).toContain(expected);
  });

  it("has the log probabilities of the sampled tokens of each choice, and the overrides as metadata", async () => {
    const more = { inference_logprobs: [[1, -0.5, 1, -0.25, -0.125]], overrides: [{ temperature: 0.5, list: [] }] };
    const [{ trajectories }] = await convertHere({ "a.jsonl": [{ ...groupOf("uaua", ".x.xx"), ...more }] });
    const contentOf = (tokens: Readonly<Record<string, number>>) =>
      Object.entries(tokens).map(([token, logprob]) => ({
        token: `token_id:${token}`,
        logprob,
        bytes: null,
        top_logprobs: [],
      }));
    expect(trajectories).toMatchObject([
      {
        messages_and_choices: [
          {},
          { logprobs: { content: contentOf({ 1: -0.5 }) } },
          {},
          { logprobs: { content: contentOf({ 3: -0.25, 4: -0.125 }) } },
        ],
        metadata: { temperature: 0.5 },
      },
    ]);
    expect(trajectories[0].metadata).toEqual({ temperature: 0.5 });
  });

  it.each([
    ["ids from 0 with equal log probabilities", ".xxx", [0, 1, 2, 3], [-0.5, -0.5, -0.5, -0.5], [undefined]],
    ["a log probability of 1", ".x.xx", [5, 6, 7, 8, 9], [1, -0.5, 1, -0.25, 1], [1, undefined]],
    ["other ids", ".xxx", [1, 2, 3, 4], [-0.5, -0.5, -0.5, -0.5], [3]],
    ["other log probabilities", ".xxx", [0, 1, 2, 3], [1, -0.5, -0.5, -0.5], [3]],
  ])("with %s has log probabilities only if they are not placeholders", async (_, masks, tokens, logprobs, counts) => {
    const ids = tokens.map((token, at) => (masks[at] === "." ? -100 : token));
    const group = { ...groupOf("ua".repeat(counts.length), masks), tokens: [tokens], masks: [ids] };
    const row = { ...group, inference_logprobs: [logprobs] };
    const [{ trajectories }] = await convertHere({ "a.jsonl": [row] });
    const turns: readonly { message?: object; logprobs?: { content: object[] } }[] =
      trajectories[0].messages_and_choices;
    expect(turns.flatMap((turn) => (turn.message ? [turn.logprobs?.content.length] : []))).toEqual(counts);
    const note = "left out placeholders that Atropos writes for unknown log probabilities";
    expect((await notesHere([row])).includes(note)).toBe(counts.includes(undefined));
  });

  it.each([
    ["messages", [[]], "messages is not a list of 2 values, one for each score"],
    ["tokens", [[1]], "tokens is not a list of 2 values, one for each score"],
    ["masks", [[1]], "masks is not a list of 2 values, one for each score"],
    ["masks", [[0], [1]], "a mask is neither -100 nor its token, so the sampled turns are unknown"],
    ["messages", undefined, "messages are missing, so only token ids are recorded"],
    ["messages", ["a", "b"], "the messages are decoded tokens without roles"],
  ])("is refused for other %s", async (key, value, fault) => {
    const row = { tokens: [[1], [1]], masks: [[1], [1]], scores: [1, 0], messages: [[], []], [key]: value };
    expect(await convertHere({ "a.jsonl": [row] })).toContain(fault);
  });

  it("that is broken does not reject other lines", async () => {
    const [line] = [{ tokens: [[1]], masks: [[1]], scores: [1], messages: [[{ role: "assistant", content: "a" }]] }];
    const text = `${JSON.stringify(line)}\n{"tokens":[[1]],"masks":[[1]],"scores":[`;
    expect(await convertHere({ "a.jsonl": text }, ["--on-invalid", "skip"])).toHaveLength(1);
  });
});
