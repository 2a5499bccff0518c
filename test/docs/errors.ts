/** The page of everything a run can end with, made of the exit-code table, the reasons and their words. */
import { PassThrough } from "node:stream";
import { exitCodes } from "../../src/exit-codes.ts";
import { Failure, type FailureCode, type Reason, reasons } from "../../src/failure.ts";
import type { Host } from "../../src/host.ts";
import { openScreen, screenWords } from "../../src/output/index.ts";
import { examples } from "./examples.ts";
import { ruleSections } from "./rule-page.ts";

/** When a run ends with a code (cli.md, "Exit codes"). */
const when: Readonly<Record<FailureCode, string>> = {
  internal: "A defect of rollcall.",
  usage: "Wrong arguments, or a setting that is missing or can't be used.",
  invalid_input: "Bad input. Nothing was sent.",
  auth: "No credential, or the service refused it.",
  unavailable: "The network or the service is down for now. Running the same command again is safe.",
  refused: "The service refused the request, or answered with something else than its interface says.",
  partial: "Some of it was logged; the rest was refused, rejected or not sent.",
  unknown_outcome: "A request may or may not have been logged.",
  not_found: "There is no such call, model or catalog entry.",
  differs: "What was compared differs.",
  storage: "A file or folder of rollcall's own can't be used.",
  interrupted: "SIGHUP, SIGINT or SIGTERM. Running the same command again goes on.",
};

/** The page, in the order of the exit codes. */
export const errorsPage = async (): Promise<string> => {
  const codes = codeNames.map(([code, exits]) => `| ${exits} | \`${code}\` | ${when[code]} |`);
  const sections = await Promise.all(codeNames.map(([code, exits]) => sectionOf(code, exits)));
  return [
    "# What a run can end with",
    'Every failure has a code, which a script can rely on, and an exit code. With `--json` both are in the one line on standard\nerror: `{"error":{"code":"usage","message":"…","exit_code":2,…}}`.',
    [
      "| exit code | `error.code` | when |",
      "|---|---|---|",
      "| 0 | | All of it is done, or nothing was left to do. |",
      ...codes,
    ].join("\n"),
    ...sections,
    "# Rules",
    rulesText,
    await ruleSections(),
  ]
    .join("\n\n")
    .concat("\n");
};

const rulesText = `What is wrong with an input is a problem, and every problem has a rule, named in brackets: \`[role-unknown]\`.
Errors are what the interface asks for: nothing with one is sent. Warnings are what services in the field are stricter about, and
what costs training runs their signal: \`--strict\` makes them errors, \`--allow <rule>\` silences one by its name.
On a terminal a problem is shown in its line; in a pipe it is one line, \`file:line:column: severity: message [rule]\`.`;

const isCode = (name: string): name is FailureCode => name in exitCodes;

const codeNames = Object.entries(exitCodes).flatMap(([name, exit]): (readonly [FailureCode, string])[] =>
  isCode(name) ? [[name, typeof exit === "number" ? String(exit) : Object.values(exit).join(", ")]] : [],
);

const isReason = (name: string): name is Reason => name in reasons;

const reasonNames: readonly Reason[] = Object.keys(reasons).filter(isReason);

const sectionOf = async (code: FailureCode, exits: string): Promise<string> => {
  const own = reasonNames.filter((reason) => reasons[reason].code === code);
  const entries = await Promise.all(own.map(async (reason) => `### ${reason}\n\n${await said(reason)}`));
  return [`## ${exits}: ${code}`, when[code], ...entries].join("\n\n");
};

/** What a person is told, for the reason's example. */
const said = async (reason: Reason): Promise<string> => {
  const example = examples[reason];
  const host = quietHost();
  const screen = openScreen({ host, words: screenWords({}) });
  await screen.failure({ failure: new Failure(reason, example.data, example.about), exitCode: 1 });
  host.stderr.end();
  const text: unknown = host.stderr.read();
  return `\`\`\`text\n${String(text).trimEnd()}\n\`\`\``;
};

const quietHost = (): Host & { readonly stderr: PassThrough } => ({
  env: {},
  platform: "linux",
  words: [],
  nodeVersion: "20.18.1",
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  terminal: { stdin: false, stdout: false, stderr: false, columns: 80, rows: 24 },
  now: () => 0,
  elapsed: () => 0,
  sleep: async () => undefined,
  random: () => 0,
  signal: new AbortController().signal,
  urgent: new AbortController().signal,
  lendTerminal: () => () => undefined,
});
