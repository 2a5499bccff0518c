/** Keeps the turns of others out of answers, and splits prompts that a chat template formatted. */
import * as marks from "./chat-marks.ts";
import type { Notes } from "./finish-reason.ts";
import { addition, type Json, literal } from "./output-json.ts";
import type { Value } from "./value.ts";

/** The role of a text that states no role. */
export const textRole = (role: "user" | "assistant") => addition(role, "the text has no role");

/** Returns the content of a sampled turn. @throws ConversionError if it contains a turn of another role */
export const requireOwnWords = <Content extends Value | undefined>(content: Content): Content => {
  if (!content?.canHaveTurnMarks) return content;
  for (const part of content.isList ? content.items() : [content]) {
    const value = part?.isObject ? part.get("text") : part;
    const turn = value?.isText ? marks.findForeignTurn(value.text ?? "") : undefined;
    if (value && turn?.isKnown)
      throw value.error(
        `${value.path.join(".")} contains a turn that the model did not sample, after \`${turn.mark}\` (write each turn to a message of its own)`,
      );
  }
  return content;
};

/** The start of an answer of any name at the end of a prompt, such as `Tutor:`. */
const openingLabel = /(?:^|\n)([^\s:][^\n:]{0,40}:)\s*$/;
const maxLabelEnd = 60;

/**
 * Notes an answer with another start of an answer, because a model can also sample the turns of others.
 * @throws ConversionError if a prompt ends in a turn whose rest is in the answer, as in AReaL's rows of several turns
 */
export const checkAnswer = (run: Notes, prompt: string, answer: Value) => {
  const { text = "" } = answer;
  const [, label] = openingLabel.exec(prompt.slice(-maxLabelEnd)) ?? [];
  if (label !== undefined && (text.includes(`\n${label}`) || text.includes(` ${label}`)))
    run.note("kept answers that can contain turns of others, because they contain the label at the end of the prompt");
  if (answer.canHaveTurnMarks && marks.isCutInTurn(prompt, text))
    throw answer.error(
      `${answer.path.join(".")} begins with the rest of another turn, because the prompt ends within it (write each turn to a message of its own)`,
    );
};

/** A template adds the start and the end of a turn, so a message has neither. `</s>` can be HTML. */
export const omitTurnMarks = (run: Notes, content: Value): Json => {
  const text = (content.canHaveTurnMarks && content.text) || "";
  const own = text.includes("<s>") ? text : marks.removeTurnEnd(marks.removeTurnStart(text));
  if (own === text) return content;
  run.note("removed the tokens with which a template begins and ends a turn from answers");
  return literal(own, content);
};

/** Returns the turns of a prompt, which is one of the user if no template formatted it. */
export const toPromptTurns = (run: Notes, prompt: Value): readonly Json[] => {
  const { text = "" } = prompt;
  const turns = marks.splitTemplate(text);
  if (marks.hasUnknownMark(text, turns !== undefined))
    run.note("kept marks of a chat template in the prompts, because rollcall does not know the template");
  if (!turns) return [{ role: textRole("user"), content: prompt }];
  run.note("split the prompts at the marks of their chat template");
  return turns.map(({ role, text }) => {
    if (role === "tool") run.note("converted tool results to user messages, because their calls are not recorded");
    return { role: literal(role === "tool" ? "user" : role, prompt), content: literal(text, prompt) };
  });
};
