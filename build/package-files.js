/** Writes the files of the package that are generated from the built program: man pages, and the list of licenses. */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Writable } from "node:stream";
import program from "../dist/main.cjs";
import { parseHelp } from "./help.js";

/** Environment variables that are not settings (configuration.md). */
const credentialVariables = [
  ["ROLLCALL_API_KEY", "the API key; ROLLCALL_API_KEY_FILE: a file with the key"],
  ["ROLLCALL_TOKEN", "the token for log (default: the API key); ROLLCALL_TOKEN_FILE: a file with the token"],
  ["ROLLCALL_USERNAME", "the user name for call read (default: api)"],
  [
    "ROLLCALL_PASSWORD",
    "the password for call read (default: the API key); ROLLCALL_PASSWORD_FILE: a file with the password",
  ],
  ["ROLLCALL_LOCAL_KEY", "the key of the local service (default: the key in its data folder)"],
  ["ROLLCALL_PROFILE", "the profile (default: default)"],
  ["ROLLCALL_CONFIG_DIR", "the folder for settings and saved keys"],
  ["ROLLCALL_DATA_DIR", "the folder for the ledger and the local service"],
  ["ROLLCALL_LEDGER", "the ledger: a file, or postgres://…"],
  ["ROLLCALL_LEDGER_FILE", "a file that contains the postgres:// URL of the ledger"],
  ["ROLLCALL_STORE", "the store of the local service, a file"],
];

const writePackageFiles = async () => {
  rmSync("man", { recursive: true, force: true });
  mkdirSync("man");
  const version = (await printed("--version")).trim();
  const nouns = await commandsBelow();
  const more = programSections();
  writeFileSync("man/rollcall.1", await manPage({ version, commands: [""], more, related: nouns }));
  for (const noun of nouns) {
    const commands = [noun, ...(await commandsBelow(noun))];
    writeFileSync(`man/${pageName(noun)}.1`, await manPage({ version, commands, more: [], related: [""] }));
  }
  listManPages(["", ...nouns].map((noun) => `man/${pageName(noun)}.1`));
  cpSync("dist/THIRD-PARTY-LICENSES", "THIRD-PARTY-LICENSES");
};

/** Returns the commands of a noun, or of the program. */
const commandsBelow = async (...words) => {
  const { sections } = parseHelp(await printed(...words, "--help"));
  return sections.find(({ title }) => title === "Commands")?.items.map(({ term }) => term) ?? [];
};

/** Returns the cells of the first table of a page, without marks of Markdown. */
const readTable = (page) => {
  const [, ...rows] = readFileSync(page, "utf8")
    .split(/^(?:\|-+)+\|$/m)[1]
    .split("\n");
  return rows.slice(0, rows.indexOf("")).map((row) => row.slice(2, -2).replaceAll(/[`\\]/g, "").split(" | "));
};

/** npm links only the man pages that package.json lists. */
const listManPages = (man) => {
  const listed = JSON.parse(readFileSync("package.json", "utf8"));
  if (listed.man.join() === man.join()) return;
  writeFileSync("package.json", `${JSON.stringify({ ...listed, man }, undefined, 2)}\n`);
};

/** Returns a man page of commands with the name of the first command. `related` commands have their own pages. */
const manPage = async ({ version, commands, more, related }) => {
  const helps = [];
  for (const name of commands) helps.push(parseHelp(await printed(...wordsOf(name), "--help")));
  const page = pageName(commands[0]);
  return [
    `.TH ${quoted(page.toUpperCase())} 1 "" ${quoted(`rollcall ${version}`)} rollcall`,
    // These two macros keep the hyphens and spaces of commands.
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

const bodyOf = ({ about, sections }) => [
  roff(about),
  ...sections
    .filter(({ title }) => !title.startsWith("Global options"))
    .flatMap(({ title, lines, items }) => [
      `.SS ${quoted(title)}`,
      ...(title === "Examples" ? [".EX", ...lines.map(roff), ".EE"] : items.flatMap(item)),
    ]),
];

/** Returns the sections that only the page of the whole program has. */
const programSections = () => {
  const codes = readTable("docs/reference/exit-codes.md").map(([term, code, about]) => {
    return { term, about: code === "none" ? about : `${about} (${code})` };
  });
  const settings = readTable("docs/reference/settings.md").map(([, variable, about]) => [variable, about]);
  const variables = [...settings, ...credentialVariables].map(([term, about]) => ({ term, about }));
  return [...section("EXIT STATUS", codes.flatMap(item)), ...section("ENVIRONMENT", variables.flatMap(item))];
};

/** Runs a command line in this process. Resolves with standard output. @throws Error if the command fails */
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

/** Characters that roff interprets or replaces. */
const escapes = { "\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti", '"': "\\(dq" };

const roff = (text) =>
  text
    .replace(/[\\'`^~"-]/g, (character) => escapes[character])
    .replace(
      /[^\n -~]/gu,
      (character) => `\\[u${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`,
    )
    .replace(/^\./, "\\&.");

/** Formats text as one argument of a roff macro. */
const quoted = (text) => `"${roff(text)}"`;

await writePackageFiles();
