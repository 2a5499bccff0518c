/** Checks the types of a trajectory's fields (interface 2.1), as tables say them. */
import { isDateTime } from "../contract/date-time.ts";
import { nodeSize } from "../json/reader.ts";
import { afterOf, numberAt, numbersIn, numbersOf, type Place, parsedNode, type Tabled, textOf } from "../json/table.ts";
import { isObject, type JsonObject } from "../json/walk.ts";
import {
  absent,
  arrayKind,
  booleanKind,
  describe,
  kindAt,
  kindOf,
  nullKind,
  numberKind,
  objectKind,
  stringKind,
} from "./kinds.ts";
import { insteadOf, isNoTrajectory } from "./other-tools.ts";
import { none, type Report } from "./report.ts";
import { Shape } from "./shape.ts";

/** A field: the kinds of its values, what they are called in a sentence, and what else is asked of them. */
interface Field {
  readonly takes: number;
  readonly wanted: string;
  /** Reports what is wrong with a value of the right kind, which is not null. */
  readonly check?: (text: Tabled, node: number, report: Report) => void;
}

const optional = absent | nullKind;
const wantedNames = new Map([
  [stringKind, "a string"],
  [arrayKind, "an array"],
  [objectKind, "an object"],
  [booleanKind, "a boolean"],
]);

const required = (takes: number): Field => ({ takes, wanted: wantedNames.get(takes) ?? "a number" });
const perhaps = (takes: number): Field => ({ ...required(takes), takes: takes | optional });

/** What follows from the keys and kinds of an object: true if they are right, and the fields that are then looked at. */
interface Typed {
  readonly isTyped: boolean;
  readonly further: readonly { readonly slot: number; readonly check: NonNullable<Field["check"]> }[];
}

/** Findings that were counted instead of reported. */
let counted = 0;
const count: Report = () => {
  counted++;
};

/** A kind of object: the fields that the interface knows, in its order. */
class ObjectType<Name extends string> {
  readonly shape: Shape<Name, Typed>;
  readonly #fields: readonly (readonly [Name, Field])[];

  constructor(fields: readonly (readonly [Name, Field])[]) {
    this.#fields = fields;
    this.shape = new Shape(
      fields.map(([name]) => name),
      (kinds) => ({
        isTyped: fields.every(([name, { takes }]) => (kinds[name] & takes) !== 0),
        further: fields.flatMap(([name, { check }], at) =>
          check === undefined || (kinds[name] & optional) !== 0 ? [] : [{ slot: at + 1, check }],
        ),
      }),
    );
  }

  /** True if an object has the types; it is the one that was read last then. */
  fits(text: Tabled, object: number): boolean {
    const before = counted;
    this.check(text, object, count);
    return counted === before;
  }

  /** Reports each field of an object that has not its type. */
  check(text: Tabled, object: number, report: Report): void {
    const { isTyped, further } = this.shape.read(text, object);
    if (!isTyped) this.#reportFields(text, object, report);
    else for (const { slot, check } of further) check(text, this.shape.at(text, slot), report);
  }

  #reportFields(text: Tabled, object: number, report: Report): void {
    const values = this.#fields.map((_, at) => this.shape.at(text, at + 1));
    for (const [at, [field, { takes, wanted, check }]] of this.#fields.entries()) {
      const value = values[at] ?? 0;
      const kind = kindOf(text, value);
      if ((kind & takes) === 0 && value === 0) reportMissing(text, { holder: object, field }, report);
      else if ((kind & takes) === 0) reportWrongType(text, { node: value, field, wanted }, report);
      else if ((kind & optional) === 0) check?.(text, value, report);
    }
  }
}

const functionType = new ObjectType([
  ["name", perhaps(stringKind)],
  ["description", perhaps(stringKind)],
  ["parameters", perhaps(objectKind)],
  ["strict", perhaps(booleanKind)],
]);

/** A tool that was offered to the model. Assumed: all but the function may be absent. */
export const toolType = new ObjectType([
  ["type", perhaps(stringKind)],
  [
    "function",
    {
      ...required(objectKind),
      check: (text, node, report) => functionType.check(text, node, report),
    },
  ],
]);

/** Checks the elements of a list, which are called after it. */
export const checkElements = <Name extends string>(
  text: Tabled,
  { list, field, type }: { readonly list: number; readonly field: string; readonly type: ObjectType<Name> },
  report: Report,
): void => {
  reportNumbers(text, list, (found, at) =>
    report("wrong-type", () => ({ field: `${field}[${at}]`, wanted: "an object", found }), list, at),
  );
  let at = 0;
  for (let node = list + nodeSize; node < afterOf(text, list); node = afterOf(text, node), at++) {
    if (kindAt(text, node) === objectKind) type.check(text, node, report);
    else reportWrongType(text, { node, field: `${field}[${at}]`, wanted: "an object" }, report);
  }
};

/** Tells of each number of an array that is one node. */
export const reportNumbers = (text: Tabled, list: number, tell: (found: string, at: number) => void): void => {
  const count = numbersIn(text, list);
  if (count === 0) return;
  const numbers = numbersOf(text, list);
  for (let at = 0; at < count; at++) tell(describe(numbers, (at + 1) * nodeSize), at);
};

const version = (field: string): Field => ({
  ...perhaps(numberKind),
  wanted: "a whole number",
  // Of any size: above 2^53 its digits are kept by whoever passes its bytes on.
  check: (text, node, report) => {
    if (Number.isInteger(numberAt(text, node))) return;
    reportWrongType(text, { node, field, wanted: "a whole number" }, report);
  },
});

/** A recorded trajectory. Assumed: the messages and the reward are required, every other field may be absent or null. */
export const trajectoryType = new ObjectType([
  ["messages_and_choices", required(arrayKind)],
  [
    "tools",
    {
      ...perhaps(arrayKind),
      check: (text, list, report) => checkElements(text, { list, field: "tools", type: toolType }, report),
    },
  ],
  ["additional_histories", perhaps(arrayKind)],
  ["reward", required(numberKind)],
  ["initial_policy_version", version("initial_policy_version")],
  ["final_policy_version", version("final_policy_version")],
  ["metrics", perhaps(objectKind)],
  ["metadata", perhaps(objectKind)],
  ["logs", perhaps(arrayKind)],
  [
    "start_time",
    {
      ...perhaps(stringKind),
      check: (text, node, report) => {
        if (!isDateTime(textOf(text, node))) report("start-time-wrong", none, node);
      },
    },
  ],
]);

/** True if a value has the types of a trajectory. */
export const isTrajectory = ({ text, node }: Place): boolean =>
  kindAt(text, node) === objectKind && trajectoryType.fits(text, node);

/** The fields of a trajectory that the interface knows. */
export const trajectoryFields: readonly string[] = trajectoryType.shape.names;

/** Reports a value of the wrong type. */
export const reportWrongType = (
  text: Tabled,
  { node, field, wanted }: { readonly node: number; readonly field: string; readonly wanted: string },
  report: Report,
): void =>
  report(
    "wrong-type",
    () => ({
      field,
      wanted,
      found: describe(text, node),
      instead: () => fixOf(parsedNode(text, node), { field, wanted }),
    }),
    node,
  );

/** Reports a field that an object lacks. */
export const reportMissing = (
  text: Tabled,
  { holder, field }: { readonly holder: number; readonly field: string },
  report: Report,
): void => {
  // What is plainly not a trajectory lacks more than the reward.
  if (field === "reward" && trajectoryType.shape.at(text, 1) === 0 && isNoTrajectory(parsedNode(text, holder))) return;
  report("missing-field", () => ({ field, instead: () => insteadOf(field, parsedNode(text, holder)) }), holder, field);
};

/** How a value of the wrong type becomes one of the right type, if it looks like one. */
const fixOf = (
  found: unknown,
  { field, wanted }: { readonly field: string; readonly wanted: string },
): string | undefined => {
  if (field === "reward" && found === null)
    return "a reward can't be left out: write a number, or leave out the trajectory";
  if (field === "reward" && typeof found === "object") return "it is one number for the whole trajectory";
  if (isObject(found) && wanted === "an array") return nestingFix(found, field);
  if (Array.isArray(found)) return wanted === "an object" ? "there is one array too many around it" : undefined;
  if (typeof found === "boolean" && wanted.endsWith("number")) return `write ${Number(found)}`;
  if (typeof found !== "string") return undefined;
  if (wanted.endsWith("number") && found.trim() !== "" && Number.isFinite(Number(found))) {
    return `write it without quotes: ${Number(found)}`;
  }
  return /^\s*[[{]/.test(found) && !wanted.endsWith("string")
    ? "it holds JSON as text, written twice: parse the string once more"
    : undefined;
};

/** What to do with an object where an array should be. */
const nestingFix = (found: JsonObject, field: string): string | undefined => {
  if (field === "trajectories" && Object.hasOwn(found, "messages_and_choices")) {
    return 'one trajectory is an array of one: "trajectories": [{…}]';
  }
  if (field === "messages_and_choices" && (Object.hasOwn(found, "role") || Object.hasOwn(found, "message"))) {
    return 'one message is an array of one: "messages_and_choices": [{…}]';
  }
  return undefined;
};
