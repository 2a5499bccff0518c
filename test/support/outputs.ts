/** Compares the JSON output of a run with the schema of its command. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { listCommands, listOutputs, loadTree } from "../../src/cli/command.ts";
import { program } from "../../src/commands/program.ts";
import { documentSchema, lineSchema, type Output } from "../../src/output/document-schemas.ts";

export const outputs = await listOutputs(program);

export interface RunOutput {
  readonly args: readonly string[];
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Compares the JSON of a run with the schemas; returns the differences. */
export const findOutputFaults = (printed: RunOutput): readonly string[] => {
  const { args, code, stdout, stderr } = printed;
  const form = formOf(args);
  if (form === undefined || code === null) return [];
  const said = code === 0 ? undefined : stderr.trimEnd().split("\n").at(-1);
  const faults = said === undefined || said === "" ? [] : faultsIn({ text: said, name: "error" });
  // Selected keys and other formats have no schema, and help is not a document.
  if (stdout === "" || ["--fields", "--path", "--help", "-h", "help"].some((word) => args.includes(word)))
    return faults;
  const name = commandIn(args);
  if (name === undefined || unstructured.has(name)) return faults;
  const texts = form === "json" ? [stdout] : stdout.trimEnd().split("\n");
  return [...faults, ...texts.flatMap((text) => faultsIn({ text, name, form }))];
};

/** Commands that print text for another program, whatever `--output` is. */
const unstructured: ReadonlySet<string> = new Set(["completion", "__complete", "serve"]);

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
}: {
  readonly text: string;
  readonly name: string;
  readonly form?: "json" | "jsonl";
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
  const validate = validatorOf(output, form);
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message, params }) =>
      `rollcall ${name} --json: ${instancePath || "the document"} ${message} ${JSON.stringify(params)}: output.ts of its noun says otherwise`,
  );
};

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
const validators = new Map<string, ReturnType<typeof ajv.compile>>();

const validatorOf = (output: Output, form: "json" | "jsonl") => {
  const { file, schema } = form === "json" ? documentSchema(output) : lineSchema(output);
  const known = validators.get(file);
  if (known !== undefined) return known;
  const { $id: _, ...own } = schema;
  const validate = ajv.compile(own);
  validators.set(file, validate);
  return validate;
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
