/** Programs as trees, and changes of their text. */

/** A node of the tree: what stands from one place of the text to another. */
export interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** Text that takes the place of other text. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** The text after its changes, which do not overlap. */
export const edited = (code: string, edits: readonly Edit[]): string => {
  let [text, at] = ["", 0];
  for (const edit of edits.toSorted((a, b) => a.start - b.start)) {
    text += code.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return text + code.slice(at);
};

/** What a node consists of. */
export const childrenOf = (node: Node): readonly Node[] => Object.values(node).flatMap(nodesIn);

/** The nodes that a member of a node holds: one, several or none. */
export const nodesIn = (value: unknown): readonly Node[] => {
  if (Array.isArray(value)) return value.flatMap(nodesIn);
  return isNode(value) ? [value] : [];
};

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && "type" in value && "start" in value && "end" in value;
