/** Runs the `console` blocks of a page in their order, and gives the page with what the commands really print. */
import { copyFileSync, mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { linkProgram } from "../../support/program.ts";
import { newHome } from "../../support/run.ts";
import { findClosedPort } from "../../support/server.ts";
import { runOnTerminal } from "../../support/terminal.ts";

/** Masks output that differs between runs: a part of a line, or, alone on a line, any number of lines. */
const mask = "…";

/**
 * A page's text with each block's output as it is now. Output that fits what the page shows, masks included, is left
 * as the page has it. All blocks share one home folder; the default port of the local service becomes a free one.
 */
export const withRealOutput = async (page: string): Promise<string> => {
  const port = String(await findClosedPort());
  const env = {
    HOME: newHome().HOME,
    PATH: pathWithRollcall(),
    TMPDIR: process.env.TMPDIR,
    NO_COLOR: "1",
  };
  const cwd = checkoutToWriteIn();
  const parts = page.split(/^(```console\n.*?^```)$/ms);
  for (const [at, part] of parts.entries()) {
    if (at % 2 === 0) continue;
    const exchanges = part.slice("```console\n".length, -"```".length).split(/^(?=\$ )/m);
    const shown = exchanges.map((exchange) => {
      const [command = "", ...expected] = exchange.trimEnd().split("\n");
      return { command, line: lineOf(command), expected };
    });
    const script = shown.map(({ line }) => `${mark}${line.replaceAll(usualPort, port)}`).join("\n");
    const { lines } = await runOnTerminal(script, { env, cwd });
    const printed = lines
      .join("\n")
      .replaceAll(port, usualPort)
      .split(/\u241e\n?/)
      .slice(1);
    const block = shown.map(({ command, expected }, position) => {
      const now = (printed[position] ?? "").trimEnd();
      const seen = now === "" ? [] : now.split("\n");
      return [command, ...(fits(expected, seen) ? expected : masked(seen, expected))].join("\n");
    });
    parts[at] = `\`\`\`console\n${block.join("\n")}\n\`\`\``;
  }
  return parts.join("");
};

/** Prints the separator of two commands' outputs, and keeps `$?`. */
const mark = "s=$?; printf '\u241e\\n'; (exit $s); ";

/** Removes the parts of a command that ran before the tests, or that would run the tests again. */
const lineOf = (command: string): string => {
  const line = command.slice("$ ".length).replace(/^npm ci && /, "");
  return line === "npm test" ? ":" : line;
};

/** A folder for the commands of a page: the checkout, the file `rollouts.jsonl`, and what the commands write. */
export const checkoutToWriteIn = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "checkout-"));
  for (const name of ["bin", "dist", "test"]) symlinkSync(resolve(name), join(folder, name));
  copyFileSync("test/samples/airline.groups.jsonl", join(folder, "rollouts.jsonl"));
  return folder;
};

const usualPort = "8700";

/** A search path on which `rollcall` is the built program and `node` the one that runs the tests. */
export const pathWithRollcall = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "bin-"));
  linkProgram(folder);
  return [folder, dirname(process.execPath), process.env.PATH].join(delimiter);
};

/** True if lines match a pattern with masks. */
const fits = (pattern: readonly string[], lines: readonly string[]): boolean => {
  const [first, ...rest] = pattern;
  if (first === undefined) return lines.length === 0;
  if (first.trim() === mask) return lines.some((_, at) => fits(rest, lines.slice(at + 1)));
  const [line, ...others] = lines;
  return line !== undefined && fitsLine(first, line) && fits(rest, others);
};

/** Lines as they are now, but for those that a masked line of the page fits. */
const masked = (lines: readonly string[], pattern: readonly string[]): readonly string[] => {
  const masks = pattern.filter((line) => line.includes(mask) && line.trim() !== mask);
  return lines.map((line) => masks.find((one) => fitsLine(one, line)) ?? line);
};

const fitsLine = (pattern: string, line: string): boolean => {
  if (!pattern.includes(mask)) return pattern === line;
  const parts = pattern
    .split(mask)
    .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(/ +/g, " +"));
  return new RegExp(`^${parts.join(".+?")}$`).test(line);
};
