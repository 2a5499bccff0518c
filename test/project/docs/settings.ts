/** The tables of the settings and of the exit codes, generated from their records. */
import { settingNames, settings, toVariableName } from "../../../src/settings/values.ts";
import { codeTopics } from "./exit-codes.ts";

const defaultOf = ({
  derivedFrom,
  commandDefaults,
  fallback = commandDefaults,
  localFallback,
}: (typeof settings)[keyof typeof settings]): string => {
  if (localFallback !== undefined) return `\`${localFallback}\` in the profile \`local\``;
  if (typeof fallback !== "function") return fallback === undefined ? "" : `\`${fallback}\``;
  if (derivedFrom === undefined) return "the profile's name";
  const source = settings[derivedFrom].fallback;
  return `\`${fallback({ profile: "", text: typeof source === "string" ? source : derivedFrom })}\``;
};

export const settingsPage = (): string => `# Settings

[Configuration](../operate/configuration.md) describes how to set them, and which value applies. Durations have a unit (\`500ms\`, \`30s\`,
\`2m\`, \`1h\`). Sizes are \`500KB\`, \`8MiB\`, or a number of bytes.

| setting | environment | meaning | default |
|---|---|---|---|
${settingNames
  .map((name) => {
    const about = settings[name].about.replaceAll("<", "\\<");
    return `| \`${name}\` | \`${toVariableName(name)}\` | ${about} | ${defaultOf(settings[name])} |`;
  })
  .join("\n")}
`;

export const exitCodesPage = (): string => `# Exit codes

With \`--json\`, \`error.code\` of [the error document](output.md#errors) has the name, and \`error.retryable\` is true if a rerun of the
same command can get further.

| code | \`error.code\` | meaning |
|---|---|---|
${codeTopics.map(({ code, exits, about }) => `| ${exits.join(", ")} | ${code === null ? "none" : `\`${code}\``} | ${about} |`).join("\n")}

If several codes apply, 8 wins over 129, 130 and 143. These three win over 7, and 7 wins over the others. \`error.cause\` then has the
code of the failure that stopped the run. If the next program of a pipe ends early (\`| head\`), a command that
changes nothing ends with 0. \`log\` continues and keeps its code.
`;
