/** The man pages, made of what the program says of its commands. */
import { version } from "../../../package.json" with { type: "json" };
import { aboutArgument, aboutOption, groupsOf } from "../../../src/commands/commands/manual.ts";
import { type CommandFacts, describeTree, type OptionFacts } from "../../../src/commands/commands/tree.ts";
import { codeTopics } from "../../../src/commands/explain/pages.ts";
import { program } from "../../../src/program.ts";
import { describeSetting, settingNames } from "../../../src/settings/index.ts";

/** The pages by their files below the checkout, that of the program first. */
export const manPages = async (): Promise<ReadonlyMap<string, string>> => {
  const all = describeTree(
    await program(() => {
      throw new Error("no command is run here");
    }),
  );
  return new Map(all.map((command) => [`man/${pageName(command)}.1`, page(command, all)]));
};

/** Name of the page of a command: `rollcall-ledger-status`. */
const pageName = ({ name }: Pick<CommandFacts, "name">): string => ["rollcall", ...words(name)].join("-");

const words = (name: string): readonly string[] => name.split(" ").filter((word) => word !== "");

const page = (command: CommandFacts, all: readonly CommandFacts[]): string =>
  [
    '.\\" Written by `npm run docs`.',
    `.TH ${macro(pageName(command).toUpperCase())} 1 "" ${macro(`rollcall ${version}`)} rollcall`,
    // Neither hyphens nor wider spaces: what is typed is shown as it is typed.
    ".nh",
    ".ad l",
    ...section("NAME", [`${roff(pageName(command))} \\- ${roff(uncapitalised(command.about))}`]),
    ...section("SYNOPSIS", synopsis(command)),
    ...section("DESCRIPTION", [`${roff(capitalised(command.about).replace(/\.$/, ""))}.`]),
    ...section("COMMANDS", commandItems(command, all)),
    ...section(
      "ARGUMENTS",
      command.arguments.flatMap((argument) => item(italic(argument.name), aboutArgument(argument))),
    ),
    ...section(command.name === "" ? "GLOBAL OPTIONS" : "OPTIONS", optionItems(command)),
    ...(command.name === "" ? wholeProgram() : []),
    ...section("EXAMPLES", exampleLines(command)),
    ...section("SEE ALSO", [related(command, all).map(reference).join(",\n")]),
    "",
  ].join("\n");

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`.SH ${macro(title)}`, ...lines];

const synopsis = ({ name, usage }: CommandFacts): readonly string[] => {
  const typed = ["rollcall", ...words(name)].join(" ");
  return [`.B ${roff(typed)}`, roff(usage.slice(typed.length).trim())];
};

const commandItems = ({ name, verbs }: CommandFacts, all: readonly CommandFacts[]): readonly string[] =>
  verbs.flatMap((verb) => {
    const child = all.find((one) => one.name === [...words(name), verb].join(" "));
    return child === undefined ? [] : item(reference(child), child.about);
  });

/** Options under the headings of the help. */
const optionItems = ({ name, options }: CommandFacts): readonly string[] => {
  const items = groupsOf(options).flatMap(([group, listed]) => [
    ...(group === null ? [] : [`.SS ${macro(group)}`]),
    ...listed.flatMap(optionItem),
  ]);
  if (name === "") return items;
  return [
    ...items,
    ".PP",
    `The global options, such as ${bold("--profile")} and ${bold("--json")}, are in`,
    ".BR rollcall (1).",
  ];
};

const optionItem = (option: OptionFacts): readonly string[] => {
  const { name, short, value } = option;
  const names = [short, name].filter((one) => one !== null).map(bold);
  const term = value === null ? names.join(", ") : `${names.join(", ")} ${italic(`<${value.name}>`)}`;
  return item(term, aboutOption(option));
};

const exampleLines = ({ examples }: CommandFacts): readonly string[] =>
  examples.length === 0 ? [] : [".EX", ...examples.flatMap((line) => line.split("\n")).map(roff), ".EE"];

/** What is said once, for all commands. */
const wholeProgram = (): readonly string[] => [
  ...section("EXIT STATUS", [
    ...item("0", "All of it is done, or nothing was left to do."),
    ...codeTopics.flatMap(({ name, exitCodes, about }) => item(roff(exitCodes.join(", ")), `${about} (${name})`)),
  ]),
  ...section("ENVIRONMENT", [
    ...settingNames.flatMap((name) =>
      item(bold(`ROLLCALL_${name.toUpperCase()}`), `${name}: ${describeSetting(name)}`),
    ),
    ...credentials.flatMap(([name, about]) => item(bold(name), about)),
  ]),
];

/** Variables that are no settings (promises.md, "Settings and credentials"). */
const credentials = [
  ["ROLLCALL_API_KEY", "the key; ROLLCALL_API_KEY_FILE names a file that holds it"],
  ["ROLLCALL_TOKEN", "the token to log with, where it is not the key; ROLLCALL_TOKEN_FILE names a file that holds it"],
  ["ROLLCALL_USERNAME", "the user name to read calls with, where it is not api"],
  [
    "ROLLCALL_PASSWORD",
    "the password to read calls with, where it is not the key; ROLLCALL_PASSWORD_FILE names a file",
  ],
  ["ROLLCALL_LOCAL_KEY", "the key of the local service, where it is not the one in its data folder"],
  ["ROLLCALL_PROFILE", "the profile, where --profile names none"],
  ["ROLLCALL_CONFIG_DIR", "the folder of settings and saved keys"],
  ["ROLLCALL_DATA_DIR", "the folder of the ledger, of fetched catalogs and of the local service"],
  ["ROLLCALL_LEDGER", "the ledger's file, or the address of a database: postgres://…"],
  ["ROLLCALL_LEDGER_FILE", "a file that holds that address"],
  ["ROLLCALL_STORE", "where the local service keeps what is logged: a file, or postgres://…"],
  ["ROLLCALL_STORE_FILE", "a file that holds that address"],
  ["ROLLCALL_USE, ROLLCALL_ORIGIN", "given to credential_command: what the key is for, and where it goes"],
] as const;

/** The noun above, the commands below, those beside. */
const related = (command: CommandFacts, all: readonly CommandFacts[]): readonly CommandFacts[] => {
  const path = words(command.name);
  if (path.length === 0) return all.filter(({ name }) => words(name).length === 1);
  const above = path.slice(0, -1).join(" ");
  const family = all.filter(({ name }) => {
    const other = words(name);
    return (
      other.slice(0, -1).join(" ") === (path.length === 1 ? command.name : above) &&
      name !== command.name &&
      name !== ""
    );
  });
  const [program] = all;
  const noun = path.length === 1 ? [] : all.filter(({ name }) => name === above);
  return [...(program === undefined ? [] : [program]), ...noun, ...family];
};

const reference = (command: CommandFacts): string => `\\fB${roff(pageName(command))}\\fR(1)`;

const item = (term: string, about: string): readonly string[] => [".TP", term, roff(about)];

const bold = (text: string): string => `\\fB${roff(text)}\\fR`;
const italic = (text: string): string => `\\fI${roff(text)}\\fR`;

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const uncapitalised = (text: string): string =>
  (/^[A-Z][a-z]/.test(text) ? text.charAt(0).toLowerCase() + text.slice(1) : text).replace(/\.$/, "");

/** Characters that roff reads as something else, or prints as a typographer's. */
const spellings: Readonly<Record<string, string>> = {
  "\\": "\\e",
  "-": "\\-",
  "'": "\\(aq",
  "`": "\\(ga",
  "^": "\\(ha",
  "~": "\\(ti",
  '"': "\\(dq",
};

/** Text that stands for itself, on one line, wherever it stands in it. */
const roff = (text: string): string =>
  text
    .replace(/[\\'`^~"-]/g, (character) => spellings[character] ?? character)
    .replace(
      /[^\n -~]/gu,
      (character) => `\\[u${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^\./, "\\&.");

/** Text as one argument of a macro. */
const macro = (text: string): string => `"${roff(text)}"`;
