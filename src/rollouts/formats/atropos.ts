/** Converts groups that Atropos writes to `data_path_to_save_groups`. */

import { pluralize } from "../../text/sentences.ts";
import { choice, hasCalls, toLogprobs, toTurns } from "../messages/chat.ts";
import { decideFinish } from "../messages/finish-reason.ts";
import { type Json, literal, replaceMembers } from "../messages/output-json.ts";
import type { Value } from "../messages/value.ts";
import { buildTrajectory, findReward } from "./build-trajectory.ts";
import type { Format, FormatRun, SourceRecord } from "./format.ts";

export const atropos: Format = {
  name: "atropos",
  title: "groups of Atropos",
  keys: { group: "a line", reward: "`scores`", sampled: "the assistant's turns whose tokens `masks` does not mask" },
  records: { text: "lines" },
  hasGroupPerRecord: true,
  recognizes: ({ value }) =>
    ["tokens", "masks", "scores"].every((key) => value.get(key)?.isList) && value.get("tokens", 0)?.isList,
  open: (run) => ({ convert: (record) => convertGroup(run, record) }),
};

const convertGroup = (run: FormatRun, record: SourceRecord) => {
  const { value, position } = record;
  record.group = `row ${position}`;
  const scores = value.requireItems("scores");
  const messages = value.get("messages");
  if (!messages)
    throw value.error("messages are missing, so only token ids are recorded (write the groups with include_messages)");
  for (const key of ["messages", "tokens", "masks"]) {
    const list = value.require(key);
    if (list.items().length !== scores.length)
      throw list.error(`${key} is not a list of ${pluralize(scores.length, "value")}, one for each score`);
  }
  return scores.map((score, at) => {
    const readOwn = () => {
      if (score.canBeMetric) return score;
      throw score.error("a score is not a number");
    };
    return buildTrajectory({
      reward: findReward(run, { record: value, ids: [`${position}/${at}`], readOwn }),
      turns: convertTurns(run, value, at),
      metrics: [],
      metadata: value.flatMembers("overrides", at),
    });
  });
};

/** Roles of environments that are not chat templates. */
const roles: Readonly<Record<string, string>> = { agent: "assistant", environment: "user" };

const roleOf = (message: Value) => {
  const role = message.textAt("role") ?? "";
  return roles[role] ?? role;
};

const renameRole = (message: Value | undefined, turn: Json) => {
  const role = message?.get("role");
  const name = roles[role?.text ?? ""];
  return message && name !== undefined ? replaceMembers(message, { role: literal(name, role) }) : turn;
};

/** Atropos masks the tokens of turns that a trainer must not learn. */
const masked = -100;

/** Atropos writes this value for a token without a log probability. */
const noLogprob = 1;

const convertTurns = (run: FormatRun, group: Value, at: number): readonly Json[] => {
  const list = group.require("messages").items()[at] ?? group.require("messages");
  if (!list.isList)
    throw list.error(
      "the messages are decoded tokens without roles, so the sampled turns are unknown (omit the group)",
    );
  const messages = list.items();
  const turns = toTurns(run, list, { name: `messages.${at}` }).map((turn, index) => renameRole(messages[index], turn));
  const answers = messages.flatMap((message, index) => (roleOf(message) === "assistant" ? index : []));
  const [masks, tokens] = [group.items("masks", at), group.items("tokens", at)];
  const unknown = masks.find(({ number }, index) => number !== masked && number !== tokens[index]?.number);
  if (unknown)
    throw unknown.error(`a mask is neither ${masked} nor its token, so the sampled turns are unknown (omit the group)`);
  const spans = findSampledSpans(masks);
  if (spans.length > 0 && answers.length === 0)
    throw list.error("no message is a turn of the assistant, so the sampled text is unknown (omit the group)");
  if (!fitTurns(spans, { answers, turns: messages.length, tokens: masks.length }))
    throw list.error(
      "the tokens that masks does not mask fit no turns of the assistant, so the sampled turns are unknown (omit the group)",
    );
  // A trainer that masks all answers but one keeps the last answer.
  const spanOf = new Map(answers.slice(answers.length - spans.length).map((index, at) => [index, spans[at]]));
  const logprobs = group.get("inference_logprobs", at);
  const scores = logprobs?.items() ?? [];
  // For services without token ids, Atropos writes the ids 0, 1, 2, … with equal log probabilities.
  const areAllPlaceholders =
    tokens.every(({ number }, id) => number === id) && new Set(scores.map(({ raw }) => raw)).size === 1;
  return turns.map((turn, index) => {
    const message = messages[index];
    const span = spanOf.get(index);
    if (!message || !span) return turn;
    const finish = decideFinish(run, { callsTools: hasCalls(message), message });
    const [ids, own] = [tokens.slice(...span), scores.slice(...span)];
    const areKnown = !areAllPlaceholders && own.every(({ number }) => number !== noLogprob);
    if (logprobs && !areKnown) run.note("left out placeholders that Atropos writes for unknown log probabilities");
    return choice(turn, finish, logprobs && areKnown ? toLogprobs(logprobs, ids, ids, own) : undefined);
  });
};

type Span = [start: number, end: number];

/** Chat templates end a turn with up to this many tokens. */
const maxTokensAfterTurn = 8;

/** Spans have no turns, so their number and the end of the last span must agree with the turns. */
const fitTurns = (spans: readonly Span[], counts: { answers: readonly number[]; turns: number; tokens: number }) => {
  const { answers, turns, tokens } = counts;
  const [[start] = [0], [, end] = [0, 0]] = [spans[0], spans.at(-1)];
  const isLastSampled = answers.at(-1) === turns - 1;
  if (spans.length === 0) return true;
  // Tokens of the prompt are never sampled.
  if (start === 0 && answers[0] !== 0) return false;
  const isAtEnd = tokens - end <= maxTokensAfterTurn;
  return isAtEnd === isLastSampled && (spans.length === answers.length || (spans.length === 1 && isLastSampled));
};

const findSampledSpans = (masks: readonly Value[]) => {
  const spans: Span[] = [];
  for (const [at, { number }] of masks.entries()) {
    const last = spans.at(-1);
    if (number === masked) continue;
    if (last?.[1] === at) last[1] = at + 1;
    else spans.push([at, at + 1]);
  }
  return spans;
};
