/** Finds the marks with which chat templates begin turns, also in text without special tokens. */

const roleWords =
  "system|developer|user|human|userprompt|assistant|response|model|chatbot|bot|ai|ipython|observation|environment|function(?:[_▁](?:response|result|output)s?)?|tools?(?:[_▁](?:response|result|output)s?)?";

/** The role follows a token: ChatML, Llama 3 and 4, Gemma, harmony, Granite, Nemotron, Seed, MiniMax, Ling, Step. */
const openings =
  "<\\|(?:im_start|start_header_id|header_start|role_start|start|start_of_role|begin|turn|bot)\\|?>|<start_of_turn>|<beginning_of_sentence>|<extra_id_[01]>|<SPECIAL_\\d+>|<seed:bos>|\\]~b\\]|<role>";
const tokenAndRole = `(?:${openings})[ ]?(?:(?<after>${roleWords})(?=[\\n<]| \\w+=|$)|(?<named>[\\w.]+) to=assistant)(?:</role>)?(?: \\w+=[^\\n<]*\\n|[^\\n<]*<\\|(?:end_header_id|header_end|role_end|end_of_role|im_sep|message|content)\\|>|<\\|channel\\|>[^\\n<]*<\\|message\\|>)?`;

/** The role is in the token: GLM, Phi-3, Zephyr, DeepSeek, Kimi, Command-R, EXAONE, Apertus, Hunyuan, dots, LongCat. */
const anyToken = `[<[](?:[|｜]|longcat_)(?:[A-Za-z]+[_▁])*?(?<inside>${roleWords})(?:[_▁](?:token|start|begin|turn|message|prompt))?[|｜]?[>\\]](?:[\\w.:-]+<\\|im_middle\\|>)?|<\\|open\\|>message role="(?<opened>\\w+)"[^<\\n]*<\\|sep\\|>`;

/** Mistral, Llama 2, Hunyuan-A13B, Baichuan, MiniCPM, openPangu, OpenChat, and the results of tools in DeepSeek's. */
const pairs =
  "(?<user>\\[INST\\]|<\\|startoftext\\|>|<\\|extra_4\\|>|<reserved_10[26]>|<用户>|\\[unused9\\]用户：|GPT4 Correct User: ?)|(?<assistant>\\[/INST\\]|\\[/TOOL_RESULTS\\]|<｜tool▁outputs▁end｜>|<\\|extra_0\\|>|<reserved_10[37]>|<AI>(?<=<用户>[^<]*<AI>)|\\[unused9\\]助手：|GPT4 Correct Assistant: ?)|(?<tool>\\[TOOL_RESULTS\\]|\\[unused9\\](?:工具|方法)：)|(?<system>\\[(?:SYSTEM_PROMPT|AVAILABLE_TOOLS)\\]|\\[unused9\\]系统：)";

/** The words in the tokens of an answer, and in tokens that are parts of other marks. */
const ownToken =
  "<[|｜](?:[a-z\\d]+[_▁.])*?(?:calls?|function|tool|sep|argument|channel|message|constrain|python|plugin|interpreter|action|think|thinking|thought|solution|answer|reasoning|analysis|final|text|box|quad|ref|vision|image|video|audio|speech|fim|suffix|repo|file|cite|code|im_middle|open|close|(?:start|end)ofthink|(?:start|end)_response)(?:[_▁](?!results?|outputs?|responses?)[a-z\\d]+)*[|｜]?>";

const endToken =
  "<\\|(?:im_end|eot_id|eom_id|eot|eom|eos|bom|end|return|call|end_of_text|endoftext|separator|(?:message|role)_sep|role_end|end_of_msg|(?:END|START)_OF_TURN_TOKEN|turn_end|end_?of(?!_?(?:thought|think|solution|answer|reasoning|box|image|audio|video|cite))\\w+|(?:finetune_right_)?pad(?:_token|_id)?)\\|>|<end_of_(?:turn|sentence|utterance)>|<turn\\|>|<pad>|</s>|</longcat_s>|<eos>|<seed:eos>|<｜(?:end▁of▁sentence|hy_place▁holder▁no▁\\d)｜>|\\[\\|endofturn\\|\\]|\\[e~\\[|\\[unused10\\]|\\[/(?:SYSTEM_PROMPT|AVAILABLE_TOOLS)\\]";

/** Any other token has an unknown meaning. */
const unknownToken = "<[|｜][^\\s<>|｜]{3,40}[|｜]>";

const marks = new RegExp(
  `${tokenAndRole}|${anyToken}|${pairs}|(?<end>${endToken})|(?<own>${ownToken})|(?<unknown>${unknownToken})`,
  "gi",
);

const firstTokens =
  /^(?:\s|<s>|<bos>|<BOS_TOKEN>|<begin_of_document>|<\|(?:begin_of_text|startoftext|endoftext|START_OF_TURN_TOKEN|bom)\|>|<｜(?:hy_)?begin▁of▁sentence｜>|\[gMASK\]|<sop>|\]~!b\[)*/;

const lastEnd = new RegExp(`(?:${endToken}|<\\|\\w+_end\\|>)$`);
/** The last characters of these tokens. */
const lastCharacters = ">[]";
const maxEndLength = 40;

/** Removes the tokens with which templates end a turn. */
export const removeTurnEnd = (text: string) => {
  for (let rest = text; ; ) {
    const trimmed = rest.trimEnd();
    // The regular expression takes longer than all other work on a short row.
    if (!lastCharacters.includes(trimmed.at(-1) ?? "\0")) return rest;
    const [end] = lastEnd.exec(trimmed.slice(-maxEndLength)) ?? [];
    if (end === undefined) return rest;
    rest = trimmed.slice(0, -end.length);
  }
};

/** Removes the mark with which a template begins an answer. */
export const removeTurnStart = (text: string) => {
  const [first] = listMarks(text);
  const isStart = first?.role === "assistant" && text.slice(0, first.start).trim() === "";
  return isStart ? text.slice(first.end).replace(/^\n+/, "") : text;
};

/** Words of elements that an environment writes after the end of a call (Search-R1, ReTool, ReSearch, SkyRL). */
const resultWords =
  "information|interpreter|observations?|obs|(?:tool|function|execution)_(?:response|result|output)s?";
/** A call and its result as these environments write them. Models write other pairs, too, such as in HTML. */
const resultElements = [
  "</search>\\s*<(?:information|result)>",
  "</(?:code|python)>\\s*<(?:information|interpreter|execution_results?)>",
  "</sql>\\s*<observation>",
  "</(?:tool|function)_calls?>\\s*<(?:obs|(?:tool|function)_(?:response|result|output)s?)>",
];
const otherElement = `</(?:search|python|sql|query|code|(?:tool|function)_calls?)>\\s*<(?:${resultWords}|results?|documents?|output)>`;

/** What remains without special tokens: roles in lines of their own, and results of tools. */
const bareRole =
  /(?:^|\n)(?:user|human|tool|ipython|observation|environment|system)\n(?!\n)|(?<=\S)(?:user|human|tool|ipython)\n\n/gi;
const bareAnswer = /\n(?:assistant|model)\n(?!\n)|\S(?:assistant|model)\n\n/gi;
const bareResults = new RegExp(
  [
    "\\n(?:user|tool)\\n<tool_response>",
    ...resultElements,
    "\\bfunctions\\.\\w+ to=assistant",
    "## Return of functions\\.\\w+:\\d+\\n",
    '(?<=\\}\\])\\{"content": ?',
    `(?<doubtful>${otherElement}|\\nObservation:(?<=(?:^|\\n)Action(?: Input)?:[^]{0,500}))`,
  ].join("|"),
  "g",
);
const onlyRoles = /^(?:\s|system|user|human|assistant|model|tool|ipython|observation|environment)*$/i;

/** Templates without tokens, such as Vicuna, Alpaca and Falcon. Only capital letters are unlike other text. */
const textRole =
  /GPT4 Correct User: |USER: (?<![A-Z_"'`]USER: )|(?:User|Human|<human>|### (?:Instruction|Input|Human|User)): ?(?<=(?:^|[\n ])(?:User|Human|<human>|###[ \w]+): ?)/g;
const textAnswer = /[\n ](?:Assistant|Falcon|Bot|AI|GPT|<bot>|### (?:Response|Assistant)):|ASSISTANT:/g;
const roleAfterEnd =
  /\s*(?:\[Round \d+\] ?)?(?:### )?(?:user|human|system|tool|instruction|function[\w ]*)(?: ?:|<\|role_sep\|>)/iy;

type Role = "system" | "user" | "assistant" | "tool";

interface Mark {
  readonly mark: string;
  readonly role: Role | "end" | "unknown";
  readonly start: number;
  readonly end: number;
}

/** Most texts contain none of these starts. */
const markStart =
  /[<[\]](?:[|｜~用]|\/(?:s>|longcat|INST|TOOL_)|INST|TOOL_|unused|SYSTEM_|AVAIL|e~|AI>|start|end_|turn|extra_id|SPECIAL_|seed:|role>|longcat_|reserved_|begin|pad>|eos>)/;

/** A row's prompt is read several times: on its own, and with its answer. */
let recent: readonly Readonly<{ text: string; marks: readonly Mark[] }>[] = [];

const listMarks = (text: string): readonly Mark[] => {
  const known = recent.find((one) => one.text === text);
  if (known) return known.marks;
  if (!markStart.test(text)) return [];
  const isMention = openMentions(text);
  const found: Mark[] = [];
  for (const { 0: mark, index, groups = {} } of text.matchAll(marks))
    if (groups.own === undefined && !isMention(index))
      found.push({ mark, role: toRole(groups, mark), start: index, end: index + mark.length });
  recent = [{ text, marks: found }, ...recent.slice(0, 1)];
  return found;
};

const toRole = (groups: Readonly<Record<string, string | undefined>>, mark: string): Mark["role"] => {
  const word = (groups.inside ?? groups.after ?? groups.opened ?? "").toLowerCase();
  if (groups.end) return "end";
  if (groups.unknown) return "unknown";
  if (groups.user || /^(?:user|human|userprompt)$/.test(word)) return "user";
  if (groups.assistant || /^(?:assistant|response|model|chatbot|bot|ai)$/.test(word)) return "assistant";
  if (groups.tool || groups.named !== undefined) return "tool";
  // Kimi's results of tools are turns of the system with another name.
  if (/im_system\|>(?!system|tool_declare)/i.test(mark)) return "tool";
  return groups.system || /^(?:system|developer)$/.test(word) ? "system" : "tool";
};

const maxLineStart = 200;

/** A mark in code, or after a space or quote in prose, belongs to the text. Expects ascending positions. */
const openMentions = (text: string) => {
  const hasFences = text.includes("```") || text.includes("~~~");
  const fences = hasFences ? Array.from(text.matchAll(/^ *(?:```|~~~)/gm), ({ index }) => index) : [];
  let fencesBefore = 0;
  return (at: number) => {
    while ((fences[fencesBefore] ?? at) < at) fencesBefore++;
    if (isOdd(fencesBefore) && fencesBefore < fences.length) return true;
    const before = text.slice(Math.max(0, at - maxLineStart), at);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    if (text[at + 1] !== "/" && /\S\s+$/.test(line) && !/[>\]]\s+$/.test(line)) return true;
    return /[`"'(“‘]$/.test(line) || isOdd(line.replaceAll("```", "").split("`").length - 1);
  };
};

const isOdd = (count: number) => count % 2 === 1;

export interface ForeignTurn {
  readonly mark: string;
  /** False if the mark is not of a known template, so that the model can have sampled what follows. */
  readonly isKnown: boolean;
}

/**
 * Returns the first mark in the text of an answer with which a turn of another role begins, or else a mark that is not
 * of a known template. Marks at the end are the tokens with which models end an answer.
 */
export const findForeignTurn = (text: string): ForeignTurn | undefined => {
  const found = listMarks(text);
  let inner = found.length;
  while (inner > 0 && text.slice(found[inner - 1]?.end, found[inner]?.start).trim() === "") inner--;
  let unknown: string | undefined;
  for (let at = 0; at < inner; at++) {
    const { mark, role, end } = found[at] ?? { mark: "", role: "end", end: 0 };
    if (role === "assistant") continue;
    if (role !== "end" && role !== "unknown") return { mark: mark.trim(), isKnown: true };
    roleAfterEnd.lastIndex = end;
    if (role === "end" && roleAfterEnd.test(text)) return { mark: mark.trim(), isKnown: true };
    // The next mark decides. `</s>` can be HTML.
    if (mark !== "</s>" && (role === "unknown" || text.slice(end, found[at + 1]?.start).trim() !== ""))
      unknown ??= mark;
  }
  return findBareTurn(text) ?? (unknown === undefined ? undefined : { mark: unknown, isKnown: false });
};

const openingAtEnd = new RegExp(`(?:${openings})$`, "i");

/** True if the prompt ends within a mark or a turn of another role, so that the answer has the rest. */
export const isCutInTurn = (prompt: string, answer: string) => {
  const [opening] = openingAtEnd.exec(prompt.slice(-maxEndLength)) ?? [];
  if (opening !== undefined && listMarks(`${opening}${answer}`)[0]?.start === 0) return true;
  const role = listMarks(answer).some((mark) => mark.role === "assistant") && listMarks(prompt).at(-1)?.role;
  return role === "user" || role === "tool" || role === "system";
};

/** Most texts contain none of these, and a search for a fixed text is fast. */
const bareResultParts = ["</", "<tool_response>", "\nObservation:", " to=assistant", "## Return of functions.", "}]{"];
const bareAnswerParts = ["ssistant\n", "odel\n"];
const textAnswerParts = ["ssistant:", "SSISTANT:", "### Response:", "Falcon:", "\nBot:", "\nAI:", "\nGPT:", "<bot>:"];

const findBareTurn = (text: string): ForeignTurn | undefined => {
  const includesSome = (parts: readonly string[]) => parts.some((part) => text.includes(part));
  const result = includesSome(bareResultParts) ? findResult(text) : undefined;
  if (result?.isKnown) return result;
  const bare = includesSome(bareAnswerParts) ? findPair(text, bareRole, bareAnswer) : undefined;
  if (bare) return { mark: bare[0].trim(), isKnown: true };
  const named = includesSome(textAnswerParts) ? findPair(text, textRole, textAnswer) : undefined;
  if (!named) return result;
  return {
    mark: named[0].trim(),
    isKnown: /USER|GPT4/.test(named[0]) && !/[ \t]/.test(text[named.index - 1] ?? ""),
  };
};

/** Finds a result of a tool. A result in an unknown form can be the model's words. */
const findResult = (text: string) => {
  const isMention = openMentions(text);
  let unknown: ForeignTurn | undefined;
  for (const { 0: mark, index, groups = {} } of text.matchAll(bareResults)) {
    if (isMention(index)) continue;
    const result = { mark: mark.trim(), isKnown: groups.doubtful === undefined };
    if (result.isKnown) return result;
    unknown ??= result;
  }
  return unknown;
};

/** Finds a role of others before an answer. */
const findPair = (text: string, role: RegExp, answer: RegExp) => {
  const isMention = openMentions(text);
  let [isFound, answerAt] = [false, 0];
  for (const match of text.matchAll(role)) {
    const end = match.index + match[0].length;
    if (!isFound || answerAt < end) {
      answer.lastIndex = end;
      const next = answer.exec(text);
      if (!next) return undefined;
      [isFound, answerAt] = [true, next.index];
    }
    if (!onlyRoles.test(text.slice(end, answerAt + 1)) && !isMention(match.index + 1)) return match;
  }
  return undefined;
};

/** The start of an answer at the end of a prompt. */
const textOpening = /(?:\b(?:Assistant|ASSISTANT|Falcon)|<bot>|### Response):\s*(?:<think>\s*)?$/;

/** True if a prompt has a mark of an unknown template. */
export const hasUnknownMark = (text: string, isSplit: boolean) =>
  isSplit
    ? listMarks(text).some(({ role }) => role === "unknown")
    : textOpening.test(text) || listMarks(text).length > 0;

export interface TemplateTurn {
  readonly role: Role;
  readonly text: string;
}

const isStart = (mark: Mark): mark is Mark & { readonly role: Role } => mark.role !== "end" && mark.role !== "unknown";

/** Splits a prompt that begins with a mark into its turns. Returns undefined for other text. */
export const splitTemplate = (text: string): readonly TemplateTurn[] | undefined => {
  const starts = listMarks(text).filter(isStart);
  const [first] = starts;
  if (!first) return undefined;
  const [opening = ""] = firstTokens.exec(text) ?? [];
  const before = removeTurnEnd(text.slice(opening.length, first.start)).trim();
  // DeepSeek's system prompt has no mark.
  if (before !== "" && !opening.includes("｜")) return undefined;
  const turns: TemplateTurn[] = before === "" ? [] : [{ role: "system", text: before }];
  for (const [at, { mark, role, end }] of starts.entries()) {
    const next = starts[at + 1];
    const within = removeTurnEnd(text.slice(end, next?.start).replace(/^\n+/, ""));
    // Llama 2 has the system prompt in the first turn of the user.
    const [, system, rest] = /^\s*<<SYS>>([\s\S]*?)<<\/SYS>>([\s\S]*)$/.exec(within) ?? [];
    if (system !== undefined) turns.push({ role: "system", text: system.trim() });
    const content = mark.startsWith("[") ? (rest ?? within).trim() : within;
    const isSystem = next?.mark === "<|extra_4|>";
    if (content.trim() !== "") turns.push({ role: isSystem ? "system" : role, text: content });
  }
  return turns;
};
