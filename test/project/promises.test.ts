/**
 * The golden file is what `rollcall commands --json` printed at 6109313. Lines that left it were retired on purpose.
 */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { runRollcall } from "../support/run.ts";

interface Option {
  readonly name: string;
  readonly short?: string | null;
  readonly value?: { readonly kind: string; readonly choices: readonly string[] | null } | null;
  readonly default?: string | null;
  readonly required?: boolean;
  readonly repeatable: boolean;
}

interface Commands {
  readonly options: readonly Option[];
  readonly exit_codes: readonly { readonly exit_code: number; readonly code: string | null }[];
  readonly commands: readonly {
    readonly name: string;
    readonly arguments: readonly (Option & NonNullable<Option["value"]>)[];
    readonly options: readonly Option[];
    readonly schema: string | null;
  }[];
}

/** One promise per line, without its description. */
const promisesIn = ({ options, exit_codes, commands }: Commands): readonly string[] => [
  ...options.map(promiseOf),
  ...exit_codes.map(({ exit_code, code }) => `exit ${exit_code} ${code}`),
  ...commands.flatMap((command) => [
    command.name,
    ...(command.schema === null ? [] : [`${command.name} --json`]),
    ...command.arguments.map((one) => `${command.name} ${promiseOf({ ...one, value: one })}`),
    ...command.options.map((one) => `${command.name} ${promiseOf(one)}`),
  ]),
];

const promiseOf = ({ name, short, value, default: preset, required, repeatable }: Option): string =>
  [
    name,
    short ?? "",
    value === null || value === undefined ? "" : (value.choices?.join("|") ?? value.kind),
    preset === null || preset === undefined ? "" : `= ${preset}`,
    required === true ? "required" : "",
    repeatable ? "repeatable" : "",
  ]
    .filter((word) => word !== "")
    .join(" ");

const retiredCommands = /^(?:ledger copy|catalog plot|serve store)\b/;

const retiredOptions: readonly string[] = [
  "convert --to groups|parquet = groups",
  "view --calls",
  "view --follow",
  "call read --web",
  "call read --port number",
  "call read --no-open",
  "catalog cost --from-file file repeatable",
  "catalog cost --like text",
];

describe("rollcall commands --json", () => {
  it("lists every command, argument, option, value and exit code of 6109313, except retired ones", async () => {
    const promised = promisesIn(JSON.parse(readFileSync("test/project/golden/commands.json.golden", "utf8")));
    const today = new Set(promisesIn(JSON.parse((await runRollcall(["commands", "--json"])).stdout)));
    expect(promised.length).toBeGreaterThan(400);
    // An option that became repeatable still accepts one value.
    const missing = promised.filter((one) => !today.has(one) && !today.has(`${one} repeatable`));
    expect(missing.filter((one) => !retiredCommands.test(one))).toEqual(retiredOptions);
    expect([...today].filter((one) => retiredCommands.test(one))).toEqual([]);
  });
});
