/** Finds the marks with which the chat templates of ChatML, Llama 3, Gemma and Llama 2 begin a turn. */

const marks = /<\|im_start\|>|<\|start_header_id\|>|<start_of_turn>|\[INST\]/;

/** Three bytes that end near the start of each mark (src/json/kernel/endings.ts). Their bytes are never escaped. */
export const markEndings = ["rt|", "id|", "rt_", "[IN"];

const nearMark = /im_start\||header_id\||[<c]start_of|\[INST/;
const [bytesBefore, bytesAfter] = [9, 3];

/** False if the bytes at one of `markEndings` are of other text. */
export const canHaveMark = (bytes: Buffer, at: number) =>
  nearMark.test(bytes.toString("latin1", Math.max(0, at - bytesBefore), at + bytesAfter));

export const findChatMark = (text: string) => marks.exec(text)?.[0];

const foreignTurn =
  /(?:<\|im_start\|>|<start_of_turn>)(?:system|user|tool)\n|<\|start_header_id\|>(?:system|user|tool|ipython)<\|end_header_id\|>|\nuser\n<tool_response>/;

/** A turn between these texts remains if the text was decoded without special tokens, or is in Llama 2's template. */
const turnEnds = [
  ["[INST]", "[/INST]"],
  ["\nuser\n", "\nassistant\n"],
] as const;

/** Returns the start of a turn of another role, as decoded text of several turns contains it. */
export const findForeignTurn = (text: string) => {
  const [turn] = foreignTurn.exec(text) ?? [];
  const isIn = ([start, end]: (typeof turnEnds)[number]) => {
    const at = text.indexOf(start);
    return at >= 0 && text.includes(end, at);
  };
  return (turn ?? turnEnds.find(isIn)?.[0])?.trim();
};
