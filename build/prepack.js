/**
 * Writes the files of the package that are generated from the built program: a man page for each top-level command,
 * the JSON Schemas and the list of licenses.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { Writable } from "node:stream";
import program from "../dist/main.cjs";
import { parseHelp } from "./help.js";

/** Environment variables that are not settings (configuration.md). */
const credentialVariables = [
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
];

const writePackageFiles = async () => {
  for (const folder of ["man", "schemas"]) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder);
  }
  const { version, commands, exit_codes: exitCodes } = JSON.parse(await printed("commands", "--json"));
  const names = commands.map(({ name }) => name);
  const nouns = names.filter((name) => !name.includes(" "));
  const start = { version, commands: [""], more: programSections(exitCodes, await settingVariables()), related: nouns };
  writeFileSync("man/rollcall.1", await manPage(start));
  for (const noun of nouns) {
    const own = names.filter((name) => name === noun || name.startsWith(`${noun} `));
    writeFileSync(`man/${pageName(noun)}.1`, await manPage({ version, commands: own, more: [], related: [""] }));
  }
  for (const { name, file, line_file: lineFile } of JSON.parse(await printed("schema", "--json")).schemas) {
    writeFileSync(file, await printed("schema", ...name.split(" ")));
    if (lineFile !== null) writeFileSync(lineFile, await printed("schema", ...name.split(" "), "--line"));
  }
  cpSync("dist/THIRD-PARTY-LICENSES", "THIRD-PARTY-LICENSES");
};

/** The page of commands, named after the first; `related` commands have their own pages. */
const manPage = async ({ version, commands, more, related }) => {
  const helps = [];
  for (const name of commands) helps.push(parseHelp(await printed(...wordsOf(name), "--help")));
  const page = pageName(commands[0]);
  return [
    `.TH ${quoted(page.toUpperCase())} 1 "" ${quoted(`rollcall ${version}`)} rollcall`,
    // Text that is typed keeps its hyphens and spaces.
    ".nh",
    ".ad l",
    ...section("NAME", [`${roff(page)} \\- ${roff(uncapitalized(helps[0].about))}`]),
    ...section("SYNOPSIS", [".nf", ...helps.map(({ usage }) => roff(usage)), ".fi"]),
    ...helps.flatMap((help, at) => section(at === 0 ? "DESCRIPTION" : `rollcall ${commands[at]}`, bodyOf(help))),
    ...(commands[0] === "" ? [] : [".PP", "The global options are in", ".BR rollcall (1)."]),
    ...more,
    ...section("SEE ALSO", [related.map((name) => `${bold(pageName(name))}(1)`).join(",\n")]),
    "",
  ].join("\n");
};

/** The description of a command and its own sections. */
const bodyOf = ({ about, sections }) => [
  roff(about),
  ...sections
    .filter(({ title }) => title !== "Global options")
    .flatMap(({ title, lines, items }) => [
      `.SS ${quoted(title)}`,
      ...(title === "Examples" ? [".EX", ...lines.map(roff), ".EE"] : items.flatMap(item)),
    ]),
];

/** Sections that only the page of the program has. */
const programSections = (exitCodes, variables) => [
  ...section(
    "EXIT STATUS",
    exitCodes.flatMap(({ exit_code: term, code, when }) =>
      item({ term: String(term), about: code === null ? when : `${when} (${code})` }),
    ),
  ),
  ...section(
    "ENVIRONMENT",
    [...variables, ...credentialVariables].flatMap(([term, about]) => item({ term, about })),
  ),
];

/** The variables of the settings, as completion describes them. */
const settingVariables = async () => {
  const [, ...lines] = (await printed("__complete", "zsh", "--", ":", "config", "get")).trimEnd().split("\n");
  return lines.map((line) => {
    const [name, about] = line.split("\t");
    return [`ROLLCALL_${name.toUpperCase()}`, `${name}: ${about}`];
  });
};

/** Runs a command line in this process. Resolves with its standard output. @throws Error if it fails */
const printed = async (...words) => {
  const [stdout, stderr] = [collector(), collector()];
  const replaced = { argv: [process.execPath, "rollcall", ...words], stdout: stdout.stream, stderr: stderr.stream };
  for (const [name, value] of Object.entries(replaced))
    Object.defineProperty(process, name, { value, configurable: true });
  const code = await program.main(process);
  if (code !== 0) throw new Error(`rollcall ${words.join(" ")}: ${stderr.text()}`);
  return stdout.text();
};

const collector = () => {
  const chunks = [];
  const stream = new Writable({ write: (chunk, _encoding, done) => done(void chunks.push(chunk)) });
  return { stream, text: () => Buffer.concat(chunks).toString("utf8") };
};

const wordsOf = (name) => name.split(" ").filter((word) => word !== "");
const pageName = (name) => ["rollcall", ...wordsOf(name)].join("-");
const uncapitalized = (text) => text.charAt(0).toLowerCase() + text.slice(1).replace(/\.$/, "");

const section = (title, lines) => [`.SH ${quoted(title)}`, ...lines];
const item = ({ term, about }) => [".TP", term.split(" ").map(termWord).join(" "), roff(about)];
const termWord = (word) => (word.startsWith("<") ? `\\fI${roff(word)}\\fR` : bold(word));
const bold = (text) => `\\fB${roff(text)}\\fR`;

/** Characters that roff would interpret or print as another character. */
const escapes = { "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq" };

/** Escapes text, so that roff prints it as it is. */
const roff = (text) =>
  text
    .replace(/[\\'`^~"-]/g, (character) => escapes[character])
    .replace(
      /[^\n -~]/gu,
      (character) => `\\[u${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^\./, "\\&.");

/** Text as one argument of a macro. */
const quoted = (text) => `"${roff(text)}"`;

await writePackageFiles();
