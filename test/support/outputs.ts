/** Compares the JSON output of a run with the schema of its command. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { listCommands, listOutputs, loadTree } from "../../src/cli/index.ts";
import { program } from "../../src/commands/index.ts";
import { documentSchema, lineSchema, type Output, passthroughNote } from "../../src/document-schemas.ts";
import type { JsonObject } from "../../src/json/json-bytes.ts";

export const outputs = await listOutputs(program);

export interface RunOutput {
  readonly args: readonly string[];
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Compares the JSON of a run with the schemas; returns the differences. Objects of a service are compared only if
 * `service` is true, because many tests send invalid objects.
 */
export const findOutputFaults = (printed: RunOutput, { service = false } = {}): readonly string[] => {
  const { args, code, stdout, stderr } = printed;
  const form = formOf(args);
  if (form === undefined || code === null) return [];
  const said = code === 0 ? undefined : stderr.trimEnd().split("\n").at(-1);
  const faults = said === undefined || said === "" ? [] : faultsIn({ text: said, name: "error", service });
  // Selected keys and other formats have no schema, and help is not a document.
  if (stdout === "" || ["--fields", "--path", "--as", "--help", "-h", "help"].some((word) => args.includes(word)))
    return faults;
  const name = commandIn(args);
  if (name === undefined || unstructured.has(name)) return faults;
  const texts = form === "json" ? [stdout] : stdout.trimEnd().split("\n");
  return [...faults, ...texts.flatMap((text) => faultsIn({ text, name, form, service }))];
};

/** Commands that print text for another program, whatever `--output` is. */
const unstructured: ReadonlySet<string> = new Set(["completion", "__complete", "serve", "mcp"]);

const formOf = (args: readonly string[]): "json" | "jsonl" | undefined => {
  const words = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  const [, form] = / (?:-o ?|--output[ =])(jsonl?)(?= |$)/.exec(` ${words.join(" ")}`) ?? [];
  return words.includes("--json") || form === "json" ? "json" : form === "jsonl" ? "jsonl" : undefined;
};

/** Returns the differences of a document, or a line of jsonl, from its schema. */
export const faultsIn = ({
  text,
  name,
  form = "json",
  service = false,
}: {
  readonly text: string;
  readonly name: string;
  readonly form?: "json" | "jsonl";
  readonly service?: boolean;
}): readonly string[] => {
  const output = outputs.find((one) => one.name === name);
  if (output === undefined) {
    return [`rollcall ${name} prints JSON that has no schema: add it to output.ts of its noun`];
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return [`rollcall ${name} did not print JSON: ${text.slice(0, 200)}`];
  }
  const validate = validatorOf(output, form, service);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `rollcall ${name} --json: ${instancePath || "the document"} ${message} ${JSON.stringify(params)}: output.ts of its noun says otherwise`,
  );
};

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const validators = new Map<string, ReturnType<typeof ajv.compile>>();

const validatorOf = (output: Output, form: "json" | "jsonl", service: boolean) => {
  const { file, schema } = form === "json" ? documentSchema(output) : lineSchema(output);
  const key = `${file} ${service}`;
  const known = validators.get(key);
  if (known !== undefined) return known;
  const { $id: _, ...own } = schema;
  const validate = ajv.compile(service ? own : withoutServiceTypes(own));
  validators.set(key, validate);
  return validate;
};

/** The schema with any content in objects of the service. */
const withoutServiceTypes = (schema: JsonObject): JsonObject => {
  const loosened = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(loosened);
    if (typeof value !== "object" || value === null) return value;
    const entries = Object.entries(value);
    const isService = entries.some(([key, one]) => key === "description" && String(one).includes(passthroughNote));
    return isService ? {} : Object.fromEntries(entries.map(([key, one]) => [key, loosened(one)]));
  };
  return Object.fromEntries(Object.entries(schema).map(([key, one]) => [key, loosened(one)]));
};

const tree = await loadTree(program);

/** The words of each command that can be run. */
const commands = [...listCommands(tree), ...tree.subcommands].flatMap(({ words, run }) =>
  run === undefined ? [] : [words],
);

export const commandIn = (args: readonly string[]): string | undefined => {
  for (const at of args.keys()) {
    for (const length of [3, 2, 1]) {
      const words = args.slice(at, at + length).join(" ");
      if (commands.includes(words)) return words;
    }
  }
  return undefined;
};
