/** Defines types of objects, and checks values. */

import { nodeSize } from "../../json/reader.ts";
import {
  describeValue,
  type FactsDeriver,
  Kind,
  kindAt,
  kindNames,
  kindOf,
  Shape,
  type SharedMembers,
} from "../../json/shape.ts";
import { childrenOf, countNumbers, type JsonTable, nodeAfter, parseNode, startOf } from "../../json/table.ts";
import { isNotTrajectory, suggestForMissingField, suggestForWrongType } from "../rules/hints.ts";
import type { RuleReporter } from "../rules/rules.ts";
import type { ElementName } from "../rules/trajectory-rules.ts";

export type Check = (table: JsonTable, node: number, report: RuleReporter) => boolean;

type Field = {
  acceptedKinds: number;
  expected: string;
  check?: Check | undefined;
  /** The name of a field with an object or a list that can replace this field and the first one together. */
  instead?: string;
};

export const absentOrNull = Kind.absent | Kind.null;

export const requiredField = (acceptedKinds: number, check?: Check): Field => ({
  acceptedKinds,
  expected: kindNames[acceptedKinds] ?? "",
  check,
});
export const optionalField = (acceptedKinds: number, check?: Check) => ({
  ...requiredField(acceptedKinds, check),
  acceptedKinds: acceptedKinds | absentOrNull,
});

export const anyValue: Field = { acceptedKinds: 255, expected: "anything" };

export const defineObjectType = <Name extends string, Derived>(
  fields: Readonly<Record<Name, Field>>,
  derive: FactsDeriver<Name, Derived>,
) => {
  const names = Object.keys(fields).filter((name): name is Name => Object.hasOwn(fields, name));
  const shape = new Shape(names, (members: SharedMembers<Name>) => {
    const { kinds } = members;
    const [first] = names;
    const isReplaced = (name: Name) =>
      [first ?? name, name].every((one) => (kinds[one] & absentOrNull) !== 0) &&
      names.some((other) => other === fields[name].instead && (kinds[other] & (Kind.object | Kind.array)) !== 0);
    return {
      kinds,
      isReplaced,
      nulls: names.filter((name) => kinds[name] === Kind.null && fields[name] !== anyValue),
      isTyped: names.every((name) => (kinds[name] & fields[name].acceptedKinds) !== 0 || isReplaced(name)),
      fieldChecks: names.flatMap((name, at) => {
        const { check: further } = fields[name];
        return !further || (kinds[name] & absentOrNull) !== 0 ? [] : [{ slot: at + 1, check: further }];
      }),
      derived: derive(members),
    };
  });
  const checkField = (table: JsonTable, object: number, field: Name, report: RuleReporter) => {
    const { acceptedKinds, expected: wanted, check: further } = fields[field];
    const node = shape.at(table, shape.slots[field]);
    const kind = kindOf(table, node);
    if ((kind & acceptedKinds & ~absentOrNull) !== 0) further?.(table, node, report);
    if ((kind & acceptedKinds) !== 0 || shape.read(table, object).isReplaced(field)) return;
    if (node > 0) return void reportWrongType(table, { node, field, wanted }, report);
    // If the object has no messages (slot 1) and is not a trajectory, a problem of the reward is not reported.
    if (field === "reward" && shape.at(table, 1) === 0 && isNotTrajectory(parseNode(table, object))) return;
    const instead = () => {
      const place = { isElement: isElement(table, startOf(table, object)), mayBeMixed: true };
      return suggestForMissingField(field, parseNode(table, object), place);
    };
    report("missing-field", { field, instead }, object, field);
  };
  const check: Check = (table, object, report) => {
    const { isTyped, fieldChecks } = shape.read(table, object);
    let fits = isTyped;
    if (!isTyped) for (const name of names) checkField(table, object, name, report);
    else for (const field of fieldChecks) fits = field.check(table, shape.at(table, field.slot), report) && fits;
    return fits;
  };
  return { shape, check };
};

const maxIndent = 64;

const isElement = ({ bytes }: JsonTable, start: number) =>
  /[[,]\s*$/.test(bytes.toString("latin1", Math.max(0, start - maxIndent), start));

export const reportWrongType = (
  table: JsonTable,
  { node, field, wanted, isElement = false }: { node: number; field: string; wanted: string; isElement?: boolean },
  report: RuleReporter,
) => {
  const instead = () => suggestForWrongType(parseNode(table, node), { field, wanted, isElement });
  report("wrong-type", { field, wanted, found: describeValue(table, node), instead }, node);
  return false;
};

/** An element of another kind violates `element-type`. With `field`, it violates `wrong-type`. */
type ElementType = { kind: number; element?: ElementName; field?: string };

export const checkElements = (table: JsonTable, list: number, type: ElementType, report: RuleReporter) => {
  const { kind, element: name } = type;
  // A list of numbers has no element nodes, so the loop cannot find the wrong kind.
  let fits = countNumbers(table, list) === 0;
  const end = nodeAfter(table, list);
  for (let at = list + nodeSize; at < end && fits; at = nodeAfter(table, at)) fits = kindAt(table, at) === kind;
  if (fits) return true;
  for (const [at, { table: elementText, node }] of childrenOf({ table, node: list })) {
    if (kindAt(elementText, node) === kind) continue;
    if (name !== undefined)
      report("element-type", { element: name, found: describeValue(elementText, node) }, list, at);
    else {
      const element = { node, field: `${type.field}.${at}`, wanted: "an object", isElement: true };
      reportWrongType(elementText, element, (rule, data) => report(rule, data, list, at));
    }
  }
  return false;
};
