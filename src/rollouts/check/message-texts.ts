/** Finds and measures the texts of messages. */
import { nodeSize } from "../../json/reader.ts";
import { Kind, kindAt, kindOf, kindsAsFacts, Shape } from "../../json/shape.ts";
import type { JsonTable } from "../../json/table.ts";
import * as json from "../../json/table.ts";

const partShape = new Shape(["type", "text"], kindsAsFacts);

/** Returns the nodes of the texts in a list of parts. */
export const listTexts = (table: JsonTable, list: number) => {
  const texts: number[] = [];
  const end = json.nodeAfter(table, list);
  for (let part = list + nodeSize; part < end; part = json.nodeAfter(table, part)) {
    const kinds = kindAt(table, part) === Kind.object ? partShape.read(table, part) : undefined;
    if (kinds?.text === Kind.string) texts.push(partShape.at(table, partShape.slots.text));
  }
  return texts;
};

/** Counts the code points of a string or of a list's texts; 0 for another value. */
export const countCharacters = (table: JsonTable, node: number) => {
  const kind = kindOf(table, node);
  if (kind === Kind.array) return listTexts(table, node).reduce((sum, text) => sum + json.detailOf(table, text), 0);
  return kind === Kind.string ? json.detailOf(table, node) : 0;
};

/** Some writers do not serialize the arguments. */
export const countArguments = (table: JsonTable, node: number) => {
  const isSerialized = (kindOf(table, node) & (Kind.object | Kind.array)) === 0;
  return isSerialized ? countCharacters(table, node) : [...json.textOf({ table, node })].length;
};
