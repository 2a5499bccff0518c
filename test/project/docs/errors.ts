/** The page of everything a run can end with, made of what `rollcall explain` says. */
import { type CodeTopic, codeTopics, topics } from "../../../src/commands/explain/pages.ts";
import { ruleSections, told } from "./rule-page.ts";

/** The page, in the order of the exit codes. */
export const errorsPage = async (): Promise<string> => {
  const codes = codeTopics.map((code) => `| ${exitsOf(code)} | \`${code.name}\` | ${code.about} |`);
  const sections = await Promise.all(codeTopics.map(sectionOf));
  return [
    "# What a run can end with",
    'Every failure has a code, which a script can rely on, and an exit code. With `--json` both are in the one line on standard\nerror: `{"error":{"code":"usage","message":"…","exit_code":2,…}}`. `rollcall explain <code|rule>` prints what stands here of one.',
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

const exitsOf = ({ exitCodes }: CodeTopic): string => exitCodes.join(", ");

const sectionOf = async (code: CodeTopic): Promise<string> => {
  const own = topics.flatMap((topic) => (topic.kind === "reason" && topic.code === code.name ? [topic] : []));
  const entries = await Promise.all(
    own.map(async ({ name, example }) => `### ${name}\n\n\`\`\`text\n${await told(example)}\n\`\`\``),
  );
  return [`## ${exitsOf(code)}: ${code.name}`, code.about, ...entries].join("\n\n");
};
