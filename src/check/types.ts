/** Defines types of objects by their fields, and checks values against them. */
import { nodeSize } from "../json/reader.ts";
import { childrenOf, countNumbers, type JsonTable, nodeAfter, parseNode, startOf } from "../json/table.ts";
import { hintForMissingField, hintForWrongType, isNotTrajectory } from "./hints.ts";
import type { Path } from "./rules/positions.ts";
import type { RuleData, RuleName } from "./rules/rules.ts";
import { type DeriveFacts, describeValue, Kind, kindAt, kindNames, kindOf, Shape } from "./shape.ts";

/** Receives a problem of the node, or of the value at the path `steps` from it. That value can be absent. */
export type Report = <Name extends RuleName>(rule: Name, data: RuleData<Name>, node: number, ...steps: Path) => void;

/** Reports problems of a value; true if the value is valid, perhaps with warnings. */
export type Check = (text: JsonTable, node: number, report: Report) => boolean;

/** A field: accepted kinds, their description, and a further check of values that are not null. */
type Field = { readonly takes: number; readonly expected: string; readonly check?: Check | undefined };

export const absentOrNull = Kind.absent | Kind.null;

export const required = (takes: number, check?: Check): Field => ({ takes, expected: kindNames[takes] ?? "", check });
export const optional = (takes: number, check?: Check) => ({ ...required(takes, check), takes: takes | absentOrNull });

export const anyValue: Field = { takes: 255, expected: "anything" };

/** Defines a type by its fields, in the interface's order, and derives `more` facts from its shape. */
export const defineObjectType = <Name extends string, More>(
  fields: Readonly<Record<Name, Field>>,
  deriveMore: DeriveFacts<Name, More>,
) => {
  const names = Object.keys(fields).filter((name): name is Name => Object.hasOwn(fields, name));
  const shape = new Shape(names, (kinds, text, object) => ({
    kinds,
    nulls: names.filter((name) => kinds[name] === Kind.null && fields[name] !== anyValue),
    isTyped: names.every((name) => (kinds[name] & fields[name].takes) !== 0),
    fieldChecks: names.flatMap((name, at) => {
      const { check: further } = fields[name];
      return further === undefined || (kinds[name] & absentOrNull) !== 0 ? [] : [{ slot: at + 1, check: further }];
    }),
    more: deriveMore(kinds, text, object),
  }));
  const checkField = (text: JsonTable, object: number, field: Name, report: Report): void => {
    const { takes, expected: wanted, check: further } = fields[field];
    const node = shape.at(text, shape.slots[field]);
    const kind = kindOf(text, node);
    if ((kind & takes & ~absentOrNull) !== 0) further?.(text, node, report);
    if ((kind & takes) !== 0) return;
    if (node > 0) return void reportWrongType(text, { node, field, wanted }, report);
    // If an object is not a trajectory, its missing messages (slot 1) are reported, but not its missing reward.
    if (field === "reward" && shape.at(text, 1) === 0 && isNotTrajectory(parseNode(text, object))) return;
    const instead = () => hintForMissingField(field, parseNode(text, object), isElement(text, startOf(text, object)));
    report("missing-field", { field, instead }, object, field);
  };
  const check: Check = (text, object, report) => {
    const { isTyped, fieldChecks } = shape.read(text, object);
    let fits = isTyped;
    if (!isTyped) for (const name of names) checkField(text, object, name, report);
    else for (const field of fieldChecks) fits = field.check(text, shape.at(text, field.slot), report) && fits;
    return fits;
  };
  return { shape, check };
};

const maxIndent = 64;

/** True if the bytes before a value show that it is in an array. */
const isElement = ({ bytes }: JsonTable, start: number): boolean =>
  /[[,]\s*$/.test(bytes.toString("latin1", Math.max(0, start - maxIndent), start));

export const reportWrongType = (
  text: JsonTable,
  { node, field, wanted, isElement = false }: { node: number; field: string; wanted: string; isElement?: boolean },
  report: Report,
): false => {
  const instead = () => hintForWrongType(parseNode(text, node), { field, wanted, isElement });
  report("wrong-type", { field, wanted, found: describeValue(text, node), instead }, node);
  return false;
};

/** Kind of the elements of a list, and the rule for other elements. Default: `wrong-type` of `<field>.<index>`. */
type ElementType = { kind: number; rule?: "message-type" | "history-type" | "log-type"; field?: string };

/** Reports elements of another kind; true if there are none. */
export const checkElements = (text: JsonTable, list: number, type: ElementType, report: Report): boolean => {
  const { kind, rule } = type;
  // A list of numbers is one node, and numbers never fit.
  let fits = countNumbers(text, list) === 0;
  const end = nodeAfter(text, list);
  for (let node = list + nodeSize; node < end && fits; node = nodeAfter(text, node)) fits = kindAt(text, node) === kind;
  if (fits) return true;
  for (const [at, { text: elementText, node }] of childrenOf({ text, node: list })) {
    if (kindAt(elementText, node) === kind) continue;
    if (rule !== undefined) report(rule, { found: describeValue(elementText, node) }, list, at);
    else {
      const element = { node, field: `${type.field}.${at}`, wanted: "an object", isElement: true };
      reportWrongType(elementText, element, (name, data) => report(name, data, list, at));
    }
  }
  return false;
};
