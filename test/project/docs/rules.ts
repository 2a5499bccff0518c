/** The table of the rules, generated from their records. */
import { ruleNames, rules } from "../../../src/rollouts/rules/rules.ts";

/** Returns the page, with the rules in the order of their files. */
export const rulesPage = (): string =>
  `${[intro, "", "| rule | severity | about |", "|---|---|---|", ...ruleNames.map(rowOf)].join("\n")}\n`;

const intro = `# Rules

A group with an error cannot be logged. \`--strict\` treats a warning as an error, and \`--allow <rule>\` silences it. Each
problem ends with the name of its rule and a fix. Other warnings are about settings and keys: \`insecure-permissions\`,
\`setting-invalid\`, \`key-not-verified\` and \`exposed-address\`.`;

const rowOf = (name: (typeof ruleNames)[number]): string => {
  const { severity, about } = rules[name];
  return `| \`${name}\` | ${severity} | ${cell(about)} |`;
};

/** Escapes a text for a cell. In code, only `|` needs it. */
const cell = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 0 ? part.replaceAll(/[<*\\]/g, "\\$&") : part).replaceAll("|", "\\|"))
    .join("");
