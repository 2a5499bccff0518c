/** The parameters of a tool: what a client is told of each, and how what it sends is read. */
import { Failure } from "../failure.ts";
import { nearest } from "../nearest.ts";

/** A JSON Schema, or a part of one. */
export type Schema = Readonly<Record<string, unknown>>;

/** One parameter, and what its value is read as. */
export interface Parameter<Value> {
  readonly name: string;
  readonly schema: Schema;
  readonly needed: boolean;
  /** @throws Failure `option-value-wrong` */
  parse(value: unknown): Value;
}

/** What every parameter says of itself. */
interface About {
  readonly name: string;
  readonly about: string;
}

/** Longest text of a parameter, in UTF-16 units: ids, names and paths are shorter. */
const longestText = 1024;

/** A text of one to 1024 characters; undefined where it is left out. */
export const text = (about: About): Parameter<string | undefined> =>
  optional(about, textSchema, (value) => (isText(value) ? value : wrong(about, value, textWanted)));

/** A text that has to be there. */
export const neededText = (about: About): Parameter<string> =>
  needed(about, textSchema, (value) => (isText(value) ? value : wrong(about, value, textWanted)));

/** One of some words; undefined where it is left out. */
export const choice = <Word extends string>(about: About, words: readonly Word[]): Parameter<Word | undefined> =>
  optional(about, { type: "string", enum: words }, (value) => oneOf(about, words, value));

/** One of some words, which has to be there. */
export const neededChoice = <Word extends string>(about: About, words: readonly Word[]): Parameter<Word> =>
  needed(about, { type: "string", enum: words }, (value) => oneOf(about, words, value));

/** Texts, each as `text`; none where they are left out. */
export const texts = (about: About, most: number): Parameter<readonly string[]> => ({
  ...shapeOf(about, { type: "array", items: textSchema, maxItems: most }),
  needed: false,
  parse: (value) => (value === undefined ? [] : listOf(about, value, { least: 0, most })),
});

/** At least one text. */
export const neededTexts = (about: About, most: number): Parameter<readonly string[]> =>
  needed(about, { type: "array", items: textSchema, minItems: 1, maxItems: most }, (value) =>
    listOf(about, value, { least: 1, most }),
  );

/** A whole number; the usual one where it is left out. */
export const count = (
  about: About,
  { least, most, usual }: { readonly least: number; readonly most: number; readonly usual: number },
): Parameter<number> => ({
  ...shapeOf(about, { type: "integer", minimum: least, maximum: most, default: usual }),
  needed: false,
  parse: (value) => {
    if (value === undefined) return usual;
    const fits = typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most;
    return fits ? value : wrong(about, value, `a whole number from ${least} to ${most}`);
  },
});

/** A whole number of at least 1; undefined where it is left out. */
export const whole = (about: About, most = Number.MAX_SAFE_INTEGER): Parameter<number | undefined> =>
  optional(about, { type: "integer", minimum: 1, maximum: most }, (value) =>
    typeof value === "number" && Number.isSafeInteger(value) && value >= 1 && value <= most
      ? value
      : wrong(about, value, `a whole number from 1 to ${most}`),
  );

/** An amount, as a decimal; undefined where it is left out. */
export const amount = (about: About): Parameter<string | undefined> =>
  optional(about, { type: "number", minimum: 0 }, (value) =>
    typeof value === "number" && Number.isFinite(value) && value >= 0
      ? String(value)
      : wrong(about, value, "a number of at least 0"),
  );

/** True or false; undefined where it is left out. */
export const yesOrNo = (about: About): Parameter<boolean | undefined> =>
  optional(about, { type: "boolean" }, (value) =>
    typeof value === "boolean" ? value : wrong(about, value, "true or false"),
  );

/** True or false; false where it is left out. */
export const flag = (about: About): Parameter<boolean> => ({
  ...shapeOf(about, { type: "boolean", default: false }),
  needed: false,
  parse: (value) => {
    if (value === undefined) return false;
    return typeof value === "boolean" ? value : wrong(about, value, "true or false");
  },
});

/** What a client sent for a tool's parameters, checked: asked for one by one. */
export type Given = <Value>(parameter: Parameter<Value>) => Value;

/** Reads what a client sent. @throws Failure `option-value-wrong`, `words-wrong` for a name that there is not */
export const givenOf = (
  tool: string,
  parameters: readonly Parameter<unknown>[],
  sent: Readonly<Record<string, unknown>>,
): Given => {
  const names = parameters.map(({ name }) => name);
  const unknown = Object.keys(sent).find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const near = nearest(unknown, names);
    throw new Failure("words-wrong", {
      text: `${tool} has no parameter "${short(unknown)}"`,
      suggestion: near === undefined ? `it takes ${names.join(", ") || "none"}` : `did you mean ${near}?`,
      command: "rollcall mcp",
    });
  }
  const sentFor = (name: string): unknown => (Object.hasOwn(sent, name) ? sent[name] : undefined);
  for (const parameter of parameters) parameter.parse(sentFor(parameter.name));
  return (parameter) => parameter.parse(sentFor(parameter.name));
};

/** The JSON Schema of a tool's parameters. */
export const inputSchemaOf = (parameters: readonly Parameter<unknown>[]) => ({
  type: "object" as const,
  properties: Object.fromEntries(parameters.map(({ name, schema }): [string, object] => [name, schema])),
  required: parameters.filter((one) => one.needed).map(({ name }) => name),
  additionalProperties: false,
});

const textSchema = { type: "string", minLength: 1, maxLength: longestText };

const textWanted = `a text of 1 to ${longestText} characters`;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= longestText;

const shapeOf = ({ name, about }: About, schema: Schema) => ({ name, schema: { ...schema, description: about } });

const optional = <Value>(about: About, schema: Schema, parse: (value: unknown) => Value) => ({
  ...shapeOf(about, schema),
  needed: false,
  parse: (value: unknown) => (value === undefined ? undefined : parse(value)),
});

const needed = <Value>(about: About, schema: Schema, parse: (value: unknown) => Value): Parameter<Value> => ({
  ...shapeOf(about, schema),
  needed: true,
  parse,
});

const oneOf = <Word extends string>(about: About, words: readonly Word[], value: unknown): Word => {
  const found = words.find((word) => word === value);
  return found ?? wrong(about, value, words.join(", "), typeof value === "string" ? nearest(value, words) : undefined);
};

const listOf = (
  about: About,
  value: unknown,
  { least, most }: { readonly least: number; readonly most: number },
): readonly string[] => {
  const list: readonly unknown[] = Array.isArray(value) ? value : wrong(about, value, "a list of texts");
  const all = list.filter(isText);
  if (list.length >= least && list.length <= most && all.length === list.length) return all;
  return wrong(about, value, `a list of ${least} to ${most} texts, each of 1 to ${longestText} characters`);
};

/** Longest value that is quoted back. */
const longestQuoted = 100;

const short = (value: string): string => (value.length > longestQuoted ? `${value.slice(0, longestQuoted)}…` : value);

const wrong = ({ name }: About, value: unknown, wanted: string, suggestion?: string): never => {
  const said = value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);
  throw new Failure("option-value-wrong", {
    option: name,
    value: short(said),
    wanted,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
};
