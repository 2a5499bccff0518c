/** Finds the marks with which chat templates begin turns, also in text that was decoded without special tokens. */

/**
 * The marks of known families of templates. A mark of a family that is not here has the shape of a token with a role
 * (`anyToken`), or is unknown and counts as text.
 */
const roleWords =
  "system|developer|user|human|assistant|model|chatbot|bot|ai|ipython|observation|environment|function(?:[_▁](?:response|result|output)s?)?|tools?(?:[_▁](?:response|result|output)s?)?";

/** The role is in the token: GLM, Phi-3, Zephyr, DeepSeek, Kimi, Command-R, EXAONE, Apertus, Hunyuan. */
const anyToken = `[<[][|｜](?:[A-Za-z]+[_▁])*?(?<inside>${roleWords})(?:[_▁](?:token|start|begin))?[|｜][>\\]](?:[\\w.:-]+<\\|im_middle\\|>)?`;

/** The role follows a token: ChatML, Llama 3 and 4, Gemma, harmony, Granite, Nemotron, Seed, MiniMax, Ling. */
const openingTokens =
  "<\\|(?:im_start|start_header_id|header_start|start|start_of_role|begin|turn)\\|?>|<start_of_turn>|<extra_id_[01]>|<SPECIAL_\\d+>|<seed:bos>|\\]~b\\]|<role>";
const tokenAndRole = `(?:${openingTokens})[ ]?(?:(?<after>${roleWords})(?=[\\n<]| name=|$)|(?<named>[\\w.]+) to=assistant)(?:</role>)?(?:[^\\n<]*<\\|(?:end_header_id|header_end|end_of_role|im_sep|message|content)\\|>|<\\|channel\\|>[^\\n<]*<\\|message\\|>)?`;

/** Mistral and Llama 2, whose assistant has no mark of its own, and the results of tools in DeepSeek's. */
const pairs =
  "(?<user>\\[INST\\])|(?<assistant>\\[/INST\\]|\\[/TOOL_RESULTS\\]|<｜tool▁outputs▁end｜>)|(?<tool>\\[TOOL_RESULTS\\])|(?<system>\\[(?:SYSTEM_PROMPT|AVAILABLE_TOOLS)\\])";

const turnStarts = new RegExp(`${anyToken}|${tokenAndRole}|${pairs}`, "gi");

const firstTokens =
  /^(?:\s|<s>|<bos>|<BOS_TOKEN>|<\|(?:begin_of_text|startoftext|endoftext|START_OF_TURN_TOKEN|bom)\|>|<｜begin▁of▁sentence｜>|\[gMASK\]|<sop>|\]~!b\[)*/;

const turnEnd =
  /(?:<\|(?:im_end|eot_id|eom_id|eot|end|return|call|end_of_text|endoftext|(?:END|START)_OF_TURN_TOKEN|bom|eom|\w+_end)\|>|<end_of_turn>|<turn\|>|<\/s>|<eos>|<seed:eos>|<｜end▁of▁sentence｜>|\[\|endofturn\|\]|\[e~\[|\[\/(?:SYSTEM_PROMPT|AVAILABLE_TOOLS)\])$/;
const maxEndLength = 40;

/** Removes the tokens with which templates end a turn. */
export const removeTurnEnd = (text: string) => {
  for (let rest = text; ; ) {
    const trimmed = rest.trimEnd();
    const [end] = turnEnd.exec(trimmed.slice(-maxEndLength)) ?? [];
    if (end === undefined) return rest;
    rest = trimmed.slice(0, -end.length);
  }
};

/** What remains of turns without special tokens: roles in lines of their own, and results of tools. */
const bareRole =
  /(?:^|\n)(?:user|human|tool|ipython|observation|environment|system)\n(?!\n)|(?<=\S)(?:user|human|tool|ipython)\n\n/gi;
const bareAnswer = /\n(?:assistant|model)\n(?!\n)|\S(?:assistant|model)\n\n/gi;
const bareResults =
  /\n(?:user|tool)\n<tool_response>|<\/tool_call>\s*<tool_response>|\bfunctions\.\w+ to=assistant|## Return of functions\.\w+:\d+\n|(?<=\}\])\{"content": ?/;
const onlyRoles = /^(?:\s|system|user|human|assistant|model|tool|ipython|observation|environment)*$/i;

type Role = "system" | "user" | "assistant" | "tool";

interface TurnStart {
  readonly mark: string;
  readonly role: Role;
  readonly start: number;
  readonly end: number;
}

/** True if the text can contain a mark. */
const canHaveMark = /[|｜][>\]]|\[INST|\[TOOL_|_turn>|<extra_id|<SPECIAL_|<seed:|\]~b\]|<role>|<\|turn>/i;

const listTurnStarts = (text: string): readonly TurnStart[] => {
  if (!canHaveMark.test(text)) return [];
  const isMention = openMentions(text);
  const starts: TurnStart[] = [];
  for (const { 0: mark, index, groups = {} } of text.matchAll(turnStarts))
    if (!isMention(index)) starts.push({ mark, role: toRole(groups, mark), start: index, end: index + mark.length });
  return starts;
};

const toRole = (groups: Readonly<Record<string, string | undefined>>, mark: string): Role => {
  const word = (groups.inside ?? groups.after ?? "").toLowerCase();
  if (groups.user) return "user";
  if (groups.assistant || /^(?:assistant|model|chatbot|bot|ai)$/.test(word)) return "assistant";
  if (groups.tool || groups.named !== undefined) return "tool";
  if (/^(?:user|human)$/.test(word)) return "user";
  // Kimi's results of tools are turns of the system with another name.
  if (/im_system\|>(?!system|tool_declare)/i.test(mark)) return "tool";
  return groups.system || /^(?:system|developer)$/.test(word) ? "system" : "tool";
};

const maxLineStart = 200;

/** A mark in code, or after a space or a quote in a line of prose, belongs to the text. Expects ascending positions. */
const openMentions = (text: string) => {
  const fences = Array.from(text.matchAll(/^ *(?:```|~~~)/gm), ({ index }) => index);
  let fencesBefore = 0;
  return (at: number) => {
    while ((fences[fencesBefore] ?? at) < at) fencesBefore++;
    if (isOdd(fencesBefore) && fencesBefore < fences.length) return true;
    const line = text.slice(Math.max(text.lastIndexOf("\n", at - 1) + 1, at - maxLineStart), at);
    if (text[at + 1] !== "/" && /\S\s+$/.test(line) && !/[>\]]\s+$/.test(line)) return true;
    return /[`"'(“‘]$/.test(line) || isOdd(line.replaceAll("```", "").split("`").length - 1);
  };
};

const isOdd = (count: number) => count % 2 === 1;

/**
 * Returns the first mark in the text of an answer with which a turn of another role begins.
 * A mark at the end is the token with which some models end an answer.
 */
export const findForeignTurn = (text: string): string | undefined => {
  const foreign = listTurnStarts(text).find(({ role, end }) => role !== "assistant" && text.slice(end).trim() !== "");
  return foreign?.mark.trim() ?? findBareTurn(text);
};

/** Most texts contain none of these, and a search for a fixed text is fast. */
const bareResultParts = ["<tool_response>", " to=assistant", "## Return of functions.", "}]{"];
const bareAnswerEnd = /(?:assistant|model)\n/i;

const findBareTurn = (text: string) => {
  const result = bareResultParts.some((part) => text.includes(part)) ? bareResults.exec(text) : null;
  if (result && !openMentions(text)(result.index)) return result[0].trim();
  if (!bareAnswerEnd.test(text)) return undefined;
  const isMention = openMentions(text);
  let [answer, answerAt] = [false, 0];
  for (const { 0: role, index } of text.matchAll(bareRole)) {
    const end = index + role.length;
    if (!answer || answerAt < end) {
      bareAnswer.lastIndex = end;
      const found = bareAnswer.exec(text);
      if (!found) return undefined;
      [answer, answerAt] = [true, found.index];
    }
    if (!onlyRoles.test(text.slice(end, answerAt + 1)) && !isMention(index + 1)) return role.trim();
  }
  return undefined;
};

export interface TemplateTurn {
  readonly role: Role;
  readonly text: string;
}

/** Splits a prompt that begins with a mark into its turns. Returns undefined for other text. */
export const splitTemplate = (text: string): readonly TemplateTurn[] | undefined => {
  const starts = listTurnStarts(text);
  const [first] = starts;
  if (!first) return undefined;
  const [opening = ""] = firstTokens.exec(text) ?? [];
  const before = removeTurnEnd(text.slice(opening.length, first.start)).trim();
  // DeepSeek's system prompt has no mark.
  if (before !== "" && !opening.includes("｜")) return undefined;
  const turns: TemplateTurn[] = before === "" ? [] : [{ role: "system", text: before }];
  for (const [at, { mark, role, end }] of starts.entries()) {
    const within = removeTurnEnd(text.slice(end, starts[at + 1]?.start).replace(/^\n+/, ""));
    // Llama 2 has the system prompt in the first turn of the user.
    const [, system, rest] = /^\s*<<SYS>>([\s\S]*?)<<\/SYS>>([\s\S]*)$/.exec(within) ?? [];
    if (system !== undefined) turns.push({ role: "system", text: system.trim() });
    const content = mark.startsWith("[") ? (rest ?? within).trim() : within;
    if (content.trim() !== "") turns.push({ role, text: content });
  }
  return turns;
};
