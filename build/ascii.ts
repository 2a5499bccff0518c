/**
 * Writes what is not ASCII as escapes: V8 keeps a file's text in half of the memory then, and Node reads it in half of the
 * time.
 */
import type { Plugin } from "rolldown";
import { childrenOf, edited, type Node } from "./syntax.ts";

/** A rolldown plugin. Comments stay as they are. */
export const ascii = (): Plugin => ({
  name: "ascii",
  // Last: whatever prints the program anew would undo it.
  generateBundle(_options, bundle) {
    for (const output of Object.values(bundle)) {
      if (output.type === "chunk" && foreign.test(output.code)) {
        const tree = this.parse(output.code, { lang: "js", sourceType: "script" });
        output.code = inAscii(output.code, tree);
      }
    }
  },
});

const inAscii = (code: string, tree: Node): string =>
  edited(
    code,
    textsIn(tree).flatMap(({ start, end }) => {
      const text = code.slice(start, end);
      return foreign.test(text) ? [{ start, end, text: text.replaceAll(eachForeign, escaped) }] : [];
    }),
  );

const foreign = /[^\0-\x7f]/;
const eachForeign = /[^\0-\x7f]/g;

/** A UTF-16 unit: two of them are what a pair means, in texts and in regular expressions. */
const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/** Strings, regular expressions and templates; but not what a tag may look at as it was written. */
const textsIn = (node: Node): readonly Node[] => {
  if (node.type === "Literal" || node.type === "TemplateElement") return [node];
  return childrenOf(node).flatMap((child) =>
    node.type === "TaggedTemplateExpression" && child.type === "TemplateLiteral"
      ? childrenOf(child).flatMap((part) => (part.type === "TemplateElement" ? [] : textsIn(part)))
      : textsIn(child),
  );
};
