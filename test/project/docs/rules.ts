/** The page of the rules, generated from `rollcall explain`. */
import type { Topic } from "../../../src/commands/explain/code-topics.ts";
import { describeTopic, topics } from "../../../src/commands/explain/topics.ts";

/** Returns the page, with the rules in the order of `rollcall explain`. */
export const rulesPage = async (): Promise<string> => {
  const rows = await Promise.all(topics.filter(({ kind }) => kind === "rule").map(rowOf));
  return `${[intro, "", "| rule | severity | why it matters | fix |", "|---|---|---|---|", ...rows].join("\n")}\n`;
};

const intro = `# Rules

rollcall checks trajectories and settings for these rules. A group with an error cannot be logged.
\`--strict\` treats a warning as an error, and \`--allow <rule>\` silences it. \`rollcall explain <rule>\` explains a
rule, mostly with an example. The fix in this table is the fix of that example, so its
names and numbers are examples too.`;

const rowOf = async (topic: Topic): Promise<string> => {
  const problem = await topic.example?.();
  const cells = [`\`${topic.name}\``, topic.severity ?? "", await describeTopic(topic), problem?.advice ?? ""];
  return `| ${cells.map(cell).join(" | ")} |`.replace("|  |", "| |");
};

/** Escapes a text for a cell. In code, only `|` needs it. */
const cell = (text: string): string =>
  text
    .split(/(`[^`]*`)/)
    .map((part, at) => (at % 2 === 0 ? part.replaceAll(/[<*\\]/g, "\\$&") : part).replaceAll("|", "\\|"))
    .join("");
