import { describe, expect, it } from "vitest";
import {
  findForeignTurn,
  hasUnknownMark,
  isCutInTurn,
  removeTurnEnd,
  removeTurnStart,
  splitTemplate,
} from "../../../src/rollouts/messages/chat-marks.ts";
import { Value } from "../../../src/rollouts/messages/value.ts";

/** An answer, a turn of another role, and an answer, as each family of templates writes them. */
const foreignTurns = {
  ChatML: "a<|im_end|>\n<|im_start|>user\n<tool_response>\n4\n</tool_response><|im_end|>\n<|im_start|>assistant\nok",
  "ChatML that ends in a result": "a<|im_end|>\n<|im_start|>user\n<tool_response>\n4",
  "Phi-4": "a<|im_end|><|im_start|>user<|im_sep|>b<|im_end|>",
  "Llama 2": "a</s>[INST] b [/INST] c",
  "Llama 2 with a space after a token": "a [/INST] [INST] b",
  "Llama 3": "a<|eot_id|><|start_header_id|>ipython<|end_header_id|>\n\n4<|eot_id|>",
  "Llama 4": "a<|eot|><|header_start|>user<|header_end|>\n\nb",
  Gemma: "a<end_of_turn>\n<start_of_turn>user\nb<end_of_turn>\n<start_of_turn>model\nc",
  "Gemma 4": "a<turn|>\n<|turn>user\nb",
  Mistral: '[TOOL_CALLS][{"name":"f"}]</s>[TOOL_RESULTS]{"content":4}[/TOOL_RESULTS]c',
  GLM: "a</tool_call><|observation|>\n<tool_response>\n4\n</tool_response><|assistant|>\nc",
  "Phi-3": "a<|end|><|user|>b<|end|><|assistant|>c",
  harmony: "a<|call|><|start|>functions.f to=assistant<|channel|>commentary<|message|>4<|end|>",
  "harmony's user": "a<|end|><|start|>user<|message|>b<|end|>",
  DeepSeek:
    "a```json\n{}\n```<｜tool▁call▁end｜><｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>4<｜tool▁outputs▁end｜>c",
  "DeepSeek's user": "a<｜end▁of▁sentence｜><｜User｜>b<｜Assistant｜>c",
  Kimi: "a<|im_end|><|im_system|>f<|im_middle|>## Return of functions.f:0\n4<|im_end|>",
  "Command-R": "a<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>b",
  Granite: "a<|end_of_text|>\n<|start_of_role|>tool_response<|end_of_role|>4<|end_of_text|>",
  Nemotron: "a\n<extra_id_1>User\nb\n<extra_id_1>Assistant\nc",
  "Nemotron-H": "a\n<SPECIAL_11>User\nb\n<SPECIAL_11>Assistant\nc",
  EXAONE: "a[|endofturn|]\n[|user|]b\n[|assistant|]c",
  MiniMax: "a[e~[\n]~b]tool\n4[e~[\n]~b]ai\nc",
  Seed: "a<seed:eos><seed:bos>user\nb",
  "MiniMax-Text-01":
    "a<end_of_sentence>\n<beginning_of_sentence>tool name=tools\n4<end_of_sentence>\n<beginning_of_sentence>ai name=assistant\nc",
  "Hunyuan-A13B": "a<|eos|><|startoftext|>b<|extra_0|>c<|eos|>",
  "Hunyuan-4B": "a<｜hy_place▁holder▁no▁2｜><｜hy_User｜>b<｜hy_Assistant｜>c",
  "ERNIE 4.5": "a<|end_of_sentence|>User: b\nAssistant: c",
  "Grok-2": "a<|separator|>\n\nHuman: b<|separator|>\n\nAssistant: c<|separator|>",
  Step3: "a<|EOT|><|BOT|>user\nb<|EOT|><|BOT|>assistant\nc<|EOT|>",
  dots: "a<|endofresponse|><|userprompt|>b<|endofuserprompt|><|response|>c",
  LongCat: "a</longcat_s><longcat_user>b <longcat_assistant>c",
  openPangu: "a[unused10][unused9]用户：b[unused10][unused9]助手：c",
  Baichuan: "a</s><reserved_106>b<reserved_107>c",
  MiniCPM: "a</s><用户>b<AI>c",
  "Kimi-K3":
    'a<|close|>response<|sep|><|end_of_msg|><|open|>message role="tool" tool="f"<|sep|>4<|close|>message<|sep|>',
  Megrez: "a<|turn_end|><|role_start|>user<|role_end|>b<|turn_end|>",
  GigaChat: "a<|message_sep|>user<|role_sep|>b<|message_sep|>",
  OpenChat: "a<|end_of_turn|>GPT4 Correct User: b<|end_of_turn|>GPT4 Correct Assistant: c",
  Vicuna: "a</s>USER: b ASSISTANT: c</s>",
  "Vicuna without special tokens": "a.USER: b ASSISTANT: c",
  Ling: "a<role>OBSERVATION</role>4<role>ASSISTANT</role>c",
  "an unknown family": "a<|new_user_start|>b<|new_assistant_start|>c",
  "Qwen's user after one in code": "```\nuser\na\n```\nassistant\nb\nuser\nc\nassistant\nd",
  "Qwen without special tokens": "</tool_call>\nuser\n<tool_response>\n4\n</tool_response>\nassistant\nc",
  "Qwen's user without special tokens": "a\nuser\nb\nassistant\nc",
  "Llama 3 without special tokens": "Hello!user\n\nbassistant\n\nc",
  "Gemma without special tokens": "a\nuser\nb\nmodel\nc",
  "Search-R1": "<search>q</search>\n\n<information>4</information>\n\nc",
  ReTool: "<code>\n1\n</code>\n<interpreter>\n4\n</interpreter>\nc",
  ReSearch: "<search> q </search> <result> 4 </result> c",
  "SkyRL's SQL": "<sql>1</sql>\n\n<observation>4</observation>\nc",
  ToolRL: "<tool_call>f</tool_call>\n<obs>4</obs>",
  "other results": "`</sql><obs>` is a mark.\n<python>1</python><execution_results>4</execution_results>",
  "GLM without special tokens": "a</tool_call>\n<tool_response>\n4\n</tool_response>\nc",
  "Mistral without special tokens": '[{"name":"f"}]{"content": 4, "call_id": "a1b2c3d4e"}c',
  "harmony without special tokens": "a json{}functions.f to=assistantcommentary4assistantfinalc",
  "Kimi without special tokens": "a## Return of functions.f:0\n4assistantc",
};

/** Answers with a mark that can be of a template, or of the model. */
const unknownMarks = {
  "an unknown token": ["a<|next_speaker|>b", "<|next_speaker|>"],
  "an unknown token of another width": ["a<｜next▁speaker｜>b", "<｜next▁speaker｜>"],
  "an unknown role": ["a<|im_end|>\n<|im_start|>critic\nb", "<|im_start|>"],
  "text after the end of a turn": ["a<|im_end|>\nb", "<|im_end|>"],
  ...Object.fromEntries(
    ["Assistant:", "Falcon:", "Bot:", "AI:", "GPT:"].map((name) => [name, [`a\nUser: b\n${name} c`, "User:"]]),
  ),
  ...Object.fromEntries(
    ["Human:", "<human>:", "### Input:", "### Human:", "### User:"].map((user) => [
      user,
      [`a\n${user} b\n### Response: c`, user],
    ]),
  ),
  Pythia: ["a\n<human>: b\n<bot>: c", "<human>:"],
  Alpaca: ["a\n\n### Instruction:\nb\n\n### Response:\nc", "### Instruction:"],
  "Vicuna on one line": ["a USER: b ASSISTANT: c", "USER:"],
  "an output of code": ["<code>1</code>\n<output>4</output>", "</code>\n<output>"],
  "an output in HTML": ["<search>\n</search>\n<output>1</output>", "</search>\n<output>"],
  ReAct: ["Action: f\nAction Input: {\n}\nObservation: 4\nThought: c", "Observation:"],
  "a dialog on one line": ["a. User: b Assistant: c", "User:"],
  Falcon: ["a\nUser: b\nFalcon: c", "User:"],
  "a bot": ["a\n\nHuman: b\nBot: c", "Human:"],
  "an AI": ["a\nHuman: b\nAI: c", "Human:"],
  GPT: ["a\nUser: b\nGPT: c", "User:"],
  RedPajama: ["a\n<human>: b\n<bot>: c", "<human>:"],
  "DeepSeek-V2 without special tokens": ["a\n\nUser: b\n\nAssistant: c", "User:"],
};

/** Answers with the model's own words. */
const ownWords = {
  "the end of a turn": "4<|im_end|>",
  "the role after the end": "4<|user|>",
  "several channels": "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>4<|return|>",
  "calls of Kimi": "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_end|>",
  "calls of DeepSeek": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f<｜tool▁call▁end｜>",
  "calls of Mistral": '[TOOL_CALLS][{"name":"f"}]</s>',
  "marks in code": "ChatML uses `<|im_start|>user` and `<|im_end|>`.",
  "marks in a block of code": "```\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n```\nSo it is.",
  "marks in another block of code": "~~~\n<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n~~~\nSo it is.",
  "marks within code": "It is `a<|user|>b` there.",
  "results in code": "It is `a</tool_call><tool_response>b` there.",
  "named roles in code": "```\nUser: a\nAssistant: b\n```\nSo it is.",
  "marks in prose": "The tokens are <|user|> and <|assistant|>. In Llama 2, [INST] begins a turn.",
  "a list of marks": "- <|user|>\n- <|assistant|>\n",
  "a list of roles": "Roles:\nsystem\nuser\nassistant\n",
  "roles in paragraphs": "List:\n\nuser\n\nname\n\nmodel\n",
  "an unknown end of a turn": "4<|im_end|><|done|>\n<|padding_1|>",
  "an unknown token in prose": "The token <|next_speaker|> is new.",
  "thoughts and boxes": "<|begin_of_thought|>a<|end_of_thought|><|begin_of_box|>4<|end_of_box|>",
  "thoughts of ether0": "<|think_start|>a<|think_end|><|answer_start|>4<|answer_end|>",
  "calls of Kimi-K3": "<|open|>think<|sep|>a<|close|>think<|sep|><|open|>response<|sep|>b<|close|>response<|sep|>",
  "calls of Gemma 4": "<|channel>thought\na<channel|><|tool_call>call:f{}<tool_call|>",
  "a pad in HTML": "<s>3</s> 4",
  "a list of names": "Human: 3 legs\nRobot: 4 legs\nOpenAI: a company",
  "observations without actions": "\nObservation: 4 <b>a</b> <output>",
  "the name of a user": "User: ada\nDB_USER: x",
  "other text in brackets": "int a[INSTANCE]; x[|y|]; if (a<|b|>c) <b>user</b>",
};

describe("findForeignTurn", () => {
  it.each(Object.entries(foreignTurns))("finds a turn of another role in %s", (_, text) => {
    expect(findForeignTurn(text)?.isKnown).toBe(true);
  });

  it.each(Object.entries(unknownMarks))("names a mark of no known template: %s", (_, [text = "", mark]) => {
    expect(findForeignTurn(text)).toEqual({ mark, isKnown: false });
  });

  it.each(Object.entries(ownWords))("finds no turn in %s", (_, text) => {
    expect(findForeignTurn(text)).toBeUndefined();
  });

  it("receives each text with a mark, because `canHaveTurnMarks` is true", () => {
    const texts = [...Object.values(foreignTurns), ...Object.values(unknownMarks).map(([text]) => text)];
    const ascii = (json: string) => json.replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
    const spellings = texts.map((text) => JSON.stringify(text)).flatMap((json) => [json, ascii(json)]);
    expect(spellings.filter((json) => !Value.parse(Buffer.from(json))?.canHaveTurnMarks)).toEqual([]);
    expect(Value.parse(Buffer.from('{"id":12,"text":["2+2=4: yes"]}'))?.canHaveTurnMarks).toBe(false);
    const anywhere = Array.from({ length: 130 }, (_, at) => `"${"x".repeat(at)}</s>${"y".repeat(130 - at)}"`);
    expect(anywhere.filter((json) => !Value.parse(Buffer.from(json))?.canHaveTurnMarks)).toEqual([]);
  });

  it("takes linear time for any text", { tags: "slow" }, () => {
    const pieces = [
      "<|a_",
      "\n```\n<|user|>",
      "a<|im_start|>user ",
      '}]{"content"',
      "\nuser\n",
      "\nAction:\nObservation:",
      "a".repeat(99),
      " ",
      "[INST",
    ];
    for (const piece of pieces) {
      const text = piece.repeat(2e6 / piece.length);
      findForeignTurn(text);
      splitTemplate(`<|im_start|>user\n${text}`);
    }
  });
});

describe("removeTurnEnd", () => {
  const ends = `<|im_end|> <|eot_id|> <|eom_id|> <|eot|> <|eom|> <|eos|> <|bom|> <|end|> <|return|> <|call|> <|end_of_text|>
    <|endoftext|> <|separator|> <|message_sep|> <|role_sep|> <|role_end|> <|end_of_msg|> <|END_OF_TURN_TOKEN|> <|other_end|>
    <|START_OF_TURN_TOKEN|> <|turn_end|> <|endofresponse|> <|end_of_turn|> <|finetune_right_pad_id|> <|pad|> <|pad_token|>
    <end_of_turn> <end_of_sentence> <end_of_utterance> <turn|> <pad> </s> </longcat_s> <eos> <seed:eos> <｜end▁of▁sentence｜>
    <｜hy_place▁holder▁no▁2｜> [|endofturn|] [e~[ [unused10] [/SYSTEM_PROMPT] [/AVAILABLE_TOOLS]`;

  it.each(ends.split(/\s+/))("removes %s, also with white space and another end", (end) => {
    expect(
      ["4\n", " \n<|im_end|>"].map((more, at) => removeTurnEnd(at === 0 ? `${more}${end}\n` : `4${end}${more}`)),
    ).toEqual(["4\n", "4"]);
  });
});

describe("removeTurnStart", () => {
  const start = "<|im_start|>assistant\n";

  it.each([`${start}4`, ` \n${start}\n4`, "4"])("removes the mark before an answer only (row %$)", (text) => {
    expect([removeTurnStart(text), removeTurnStart(`a${start}4`)]).toEqual(["4", `a${start}4`]);
  });
});

describe("isCutInTurn", () => {
  const answer = "b<|im_end|>\n<|im_start|>assistant\nc";

  it.each(["user", "tool", "system"])("is true if the answer begins in a turn of the role %s", (role) => {
    const prompt = `<|im_start|>${role}\na`;
    expect([isCutInTurn(prompt, answer), isCutInTurn(prompt, "b"), isCutInTurn("a", answer)]).toEqual([
      ...[true, false, false],
    ]);
  });

  it("is true if a mark is half in the prompt, but not after the start of an answer", () => {
    expect(isCutInTurn("a<|im_start|>", "user\nb")).toBe(true);
    expect(isCutInTurn("a<|im_start|>assistant\n", answer)).toBe(false);
  });
});

describe("hasUnknownMark", () => {
  it.each([
    [true, false, "Q: 2+2?\nAssistant: <think>\n"],
    [true, false, "<|im_start|>user\nq"],
    [false, false, "The Assistant: is named"],
    [true, true, "<|next_speaker|>q"],
    [false, true, "<|im_start|>user\nq"],
  ])("is %s if a template was found: %s (row %$)", (expected, isSplit, text) => {
    expect(hasUnknownMark(text, isSplit)).toBe(expected);
  });
});

describe("splitTemplate", () => {
  const [system, user] = [
    { role: "system", text: "Add." },
    { role: "user", text: "2+2?" },
  ];
  it.each([
    ["<|im_start|>system\nAdd.<|im_end|>\n<|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"],
    ["<s>[INST] <<SYS>>\nAdd.\n<</SYS>>\n\n2+2? [/INST]"],
    ["<s>[SYSTEM_PROMPT]Add.[/SYSTEM_PROMPT][INST]2+2?[/INST]"],
    ["<｜begin▁of▁sentence｜>Add.<｜User｜>2+2?<｜Assistant｜>"],
    [
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nAdd.<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n2+2?<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    ],
    [
      "<beginning_of_sentence>system ai_setting=assistant\nAdd.<end_of_sentence>\n<beginning_of_sentence>user name=user\n2+2?<end_of_sentence>\n<beginning_of_sentence>ai name=assistant\n",
    ],
    ["<|startoftext|>Add.<|extra_4|>2+2?<|extra_0|>"],
    ["<｜hy_begin▁of▁sentence｜>Add.<｜hy_place▁holder▁no▁3｜><｜hy_User｜>2+2?<｜hy_Assistant｜>"],
    ["<|system|>Add.<|endofsystem|><|userprompt|>2+2?<|endofuserprompt|><|response|>"],
    ["<longcat_system>Add.<longcat_user>2+2?<longcat_assistant>"],
    ["[unused9]系统：Add.[unused10][unused9]用户：2+2?[unused10][unused9]助手："],
    ["[gMASK]<sop><|system|>\nAdd.<|user|>\n2+2?<|assistant|>"],
    ["<|start|>developer<|message|>Add.<|end|><|start|>user<|message|>2+2?<|end|><|start|>assistant"],
    [
      "<|im_system|>system<|im_middle|>Add.<|im_end|><|im_user|>user<|im_middle|>2+2?<|im_end|><|im_assistant|>assistant<|im_middle|>",
    ],
    [
      "<BOS_TOKEN><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>Add.<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>2+2?<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>",
    ],
  ])("splits a prompt into its turns (row %$)", (text) => {
    expect(splitTemplate(text)).toEqual([system, user]);
    const opened = /<\|start\|>assistant$/.test(text) ? `${text}<|message|>` : text;
    expect(splitTemplate(`${opened}4`)).toEqual([system, user, { role: "assistant", text: "4" }]);
  });

  const results = "response responses result results output outputs".split(" ");
  const words = {
    system: "system developer",
    user: "user human userprompt",
    assistant: "assistant response model chatbot bot ai",
    tool: `ipython observation environment function tool tools ${["function_", "tool▁", "tools_"].flatMap((start) => results.map((end) => start + end)).join(" ")}`,
  };

  it.each(Object.entries(words).flatMap(([role, names]) => names.split(" ").map((name) => [name, role])))(
    "knows the name %s of the role %s",
    (name, role) => {
      for (const text of [`<|im_start|>${name}\na<|im_end|>`, `<|${name}|>a`, `<|${name.toUpperCase()}_TOKEN|>a`])
        expect(splitTemplate(text)).toEqual([{ role, text: "a" }]);
    },
  );

  it("returns the start of an answer that the template wrote", () => {
    expect(splitTemplate("<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n")?.at(-1)).toEqual({
      role: "assistant",
      text: "<think>\n",
    });
  });

  it.each(["2+2?", "What is <|im_start|>user?", "user\n2+2?\nassistant\n"])(
    "leaves other text whole (row %$)",
    (text) => {
      expect(splitTemplate(text)).toBeUndefined();
    },
  );
});
