import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { linkProgram } from "../support/program.ts";
import { newHome } from "../support/run.ts";
import { type Answer, json, scriptedServer } from "../support/server.ts";
import { type LineOptions, runOnTerminal, type TerminalResult } from "../support/terminal.ts";

const sample = readFileSync("test/samples/models.json", "utf8");
const rollcall = `'${process.execPath}' '${linkProgram()}'`;

const onTerminal = async (
  args: string,
  { answer = json(sample), env = {}, ...options }: Partial<LineOptions> & { readonly answer?: Answer } = {},
): Promise<TerminalResult> => {
  const server = await scriptedServer([{ answer }]);
  return await runOnTerminal(
    `env ${Object.entries(env)
      .map(([name, value]) => `${name}='${value}'`)
      .join(" ")} ${rollcall} ${args}`,
    {
      env: {
        PATH: process.env.PATH,
        ...newHome(),
        ROLLCALL_INFERENCE_BASE_URL: server.url,
        ROLLCALL_API_KEY: "key-1234",
      },
      ...options,
    },
  );
};

const slowly: Answer = (_, response) => {
  setTimeout(() => response.setHeader("content-type", "application/json").end(sample), 600);
};

/** The table that fits 60 columns. */
const table = readFileSync("test/commands/models/golden/models.txt", "utf8").trimEnd();

/** The lines without the fold of a notice, which only a terminal gets. */
const unfolded = (lines: readonly string[]): string => lines.join("\n").replace(/(note: .*)\n {2}(?=\S)/, "$1 ");

describe("rollcall on a terminal", () => {
  it("prints the table that fits the terminal", async () => {
    const { code, lines } = await onTerminal("models q", { columns: 60 });
    expect({ code, table: unfolded(lines) }).toEqual({ code: 0, table });
  });

  it.each([
    ["a note", "catalog router --local", /^note: /, 0],
    ["a hint", "catalog router --max-price promt=1 --local", /^hint: /, 2],
    ["an error", "catalog router --max-price prices=1 --local", /^rollcall: /, 2],
    ["the help", "log -h", /^All options/, 0],
  ])("breaks no word of %s at 40 columns", { tags: "slow" }, async (_, args, there, code) => {
    const env = { PATH: process.env.PATH, ...newHome() };
    const seen = await runOnTerminal(`${rollcall} ${args}`, { env, columns: 40 });
    expect(seen.code).toBe(code);
    expect(seen.lines).toContainEqual(expect.stringMatching(there));
    // rollcall does not fold text that users copy, such as an example or a path.
    const said = seen.lines.filter((line) => !/^ {2,4}(?:(?:rollcall|echo) |\S+$)/.test(line));
    expect(said.filter((line) => line.length > 40)).toEqual([]);
    expect(seen.lines.join("\n")).not.toContain("`rollcall catalog\n");
  });

  it("writes 80 columns on a terminal without a size", { tags: "slow" }, async () => {
    const line = `echo '{"reward":1}' | ${rollcall} check`;
    const options = { env: { PATH: process.env.PATH, ...newHome() }, columns: 80 };
    const { lines } = await runOnTerminal(line, options);
    expect((await runOnTerminal(`stty rows 0 cols 0; ${line}`, options)).lines).toEqual(lines);
  });

  it("shows no spinner on a terminal without a size", { tags: "slow" }, async () => {
    const server = await scriptedServer([{ answer: slowly }]);
    const { code, lines, written } = await runOnTerminal(`stty rows 0 cols 0; ${rollcall} models q`, {
      env: {
        PATH: process.env.PATH,
        ...newHome(),
        ROLLCALL_INFERENCE_BASE_URL: server.url,
        ROLLCALL_API_KEY: "key-1234",
      },
    });
    expect({ code, first: lines[0] }).toEqual({ code: 0, first: expect.stringMatching(/^id /) });
    expect(written).not.toMatch(/\u001b\[(?:\d*[AGKJ]|\?2026)/);
  });

  it("shows a spinner during a wait, and removes the spinner", async () => {
    let show: () => void = () => undefined;
    const shown = new Promise<void>((resolve) => {
      show = resolve;
    });
    const { code, lines, written } = await onTerminal("models q", {
      answer: (_, response) =>
        void shown.then(() => response.setHeader("content-type", "application/json").end(sample)),
      columns: 60,
      typed: [{ when: "listing the models", keys: "", meanwhile: show }],
    });
    expect(code).toBe(0);
    expect(written).not.toContain("\u001b[?25l");
    expect(unfolded(lines)).toBe(table);
  });

  it.each(["--quiet", "--json"])("shows no spinner with %s", { tags: "slow" }, async (option) => {
    const { written } = await onTerminal(`models q ${option}`, { answer: slowly });
    expect(written).not.toContain("listing the models");
  });

  it("ends at Ctrl-C with one line, a hint and exit code 130", async () => {
    const { code, lines } = await onTerminal("models", {
      answer: () => undefined,
      typed: [{ when: /listing the models/, keys: "\x03" }],
    });
    expect(code).toBe(130);
    expect(lines).toEqual(["rollcall: interrupted by SIGINT", "hint: rerun the same command"]);
  });
});
