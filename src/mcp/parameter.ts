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

/** What values fit, for a client and in words. */
interface Kind<Value> {
  readonly schema: Schema;
  readonly wanted: string;
  readonly fits: (value: unknown) => value is Value;
}

/** Longest text of a parameter, in UTF-16 units: ids, names and paths are shorter. */
const longestText = 1024;

const isText = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= longestText;

const textKind: Kind<string> = {
  schema: { type: "string", minLength: 1, maxLength: longestText },
  wanted: `a text of 1 to ${longestText} characters`,
  fits: isText,
};

const isAmount = (value: unknown): value is number => Number.isFinite(value) && Number(value) >= 0;

/** A text. */
export const text = (about: About) => optional(about, textKind);

/** A text, or a number that stands for its own. */
export const textOrNumber = (about: About) =>
  optional<string | number>(about, {
    schema: { type: ["string", "number"] },
    wanted: `${textKind.wanted}, or a number of at least 0`,
    fits: (value): value is string | number => isText(value) || isAmount(value),
  });

/** A number of at least 0. */
export const amount = (about: About) =>
  optional(about, { schema: { type: "number", minimum: 0 }, wanted: "a number of at least 0", fits: isAmount });

/** True or false. */
export const flag = (about: About) =>
  optional(about, {
    schema: { type: "boolean" },
    wanted: "true or false",
    fits: (value) => typeof value === "boolean",
  });

/** A whole number. */
export const count = (about: About, { least, most }: { readonly least: number; readonly most: number }) =>
  optional(about, {
    schema: { type: "integer", minimum: least, maximum: most },
    wanted: `a whole number from ${least} to ${most}`,
    fits: (value): value is number => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  });

/** One of some words. */
export const choice = <Word extends string>(about: About, words: readonly Word[]) =>
  optional(about, {
    schema: { type: "string", enum: words },
    wanted: words.join(", "),
    fits: (value): value is Word => words.some((word) => word === value),
  });

/** Texts. */
export const texts = (
  about: About,
  { least = 0, most }: { readonly least?: number; readonly most: number },
): Parameter<readonly string[] | undefined> => {
  const parameter = optional(about, {
    schema: { type: "array", items: textKind.schema, minItems: least, maxItems: most },
    wanted: `a list of ${least} to ${most} texts, each of 1 to ${longestText} characters`,
    fits: (value): value is readonly string[] =>
      Array.isArray(value) && value.length >= least && value.length <= most && value.every(isText),
  });
  return {
    ...parameter,
    parse(value) {
      if (value === undefined || Array.isArray(value)) return parameter.parse(value);
      throw wrong(about.name, value, "a list of texts");
    },
  };
};

const optional = <Value>(
  { name, about }: About,
  { schema, wanted, fits }: Kind<Value>,
): Parameter<Value | undefined> => ({
  name,
  schema: { ...schema, description: about },
  needed: false,
  parse(value) {
    if (value === undefined || fits(value)) return value;
    const words = schema.enum;
    const suggestion = typeof value === "string" && Array.isArray(words) ? nearest(value, words) : undefined;
    throw wrong(name, value, wanted, suggestion);
  },
});

/** The same parameter, which has to be there. */
export const needed = <Value>(parameter: Parameter<Value | undefined>): Parameter<Value> => ({
  ...parameter,
  needed: true,
  parse(value) {
    // Null is read as everything else that does not fit.
    const parsed = parameter.parse(value === undefined ? null : value);
    if (parsed === undefined) throw wrong(parameter.name, value, "given");
    return parsed;
  },
});

/** Values as they were sent, read through the parameters they are for. */
export type Given = <Value>(parameter: Parameter<Value>) => Value;

/** Reads what a client sent. @throws Failure `words-wrong` for a parameter that there is not, `option-value-wrong` */
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
  const given: Given = ({ name, parse }) => parse(Object.hasOwn(sent, name) ? sent[name] : undefined);
  for (const parameter of parameters) given(parameter);
  return given;
};

/** The JSON Schema of a tool's parameters. */
export const inputSchemaOf = (parameters: readonly Parameter<unknown>[]) => ({
  type: "object" as const,
  properties: Object.fromEntries(parameters.map(({ name, schema }): [string, object] => [name, schema])),
  required: parameters.filter((one) => one.needed).map(({ name }) => name),
  additionalProperties: false,
});

/** Longest value that is quoted back. */
const longestQuoted = 100;

const short = (value: string): string => (value.length > longestQuoted ? `${value.slice(0, longestQuoted)}…` : value);

const wrong = (option: string, value: unknown, wanted: string, suggestion?: string): Failure => {
  const sent = value === undefined || value === null ? "" : typeof value === "string" ? value : JSON.stringify(value);
  const about = suggestion === undefined ? {} : { suggestion };
  return new Failure("option-value-wrong", { option, value: short(sent), wanted, ...about });
};
