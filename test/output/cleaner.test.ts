import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defect } from "../../src/failure.ts";
import { unindentJson } from "../../src/json/output-json.ts";
import { printReport, quoteCode } from "../../src/output/ci-report.ts";
import { toOneLine } from "../../src/output/cleaner.ts";
import { printList } from "../../src/output/list.ts";
import { printPage } from "../../src/output/page.ts";
import { printFailure } from "../../src/output/print-failure.ts";
import { sanitizeText } from "../../src/text/sanitize.ts";
import { testHost } from "../support/host.ts";
import { newFolder } from "../support/inputs.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { type Answer, json, scriptedServer } from "../support/server.ts";
import { runOnTerminal } from "../support/terminal.ts";
import { listOf, screenOn } from "./printed-text.ts";
import { encodings } from "./secret-spellings.ts";

/** Characters that must not reach a terminal: C0 except tab and line end, DEL, C1, and changes of direction. */
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

const hostile = [
  ["color codes", "a\u001b[31mred\u001b[0mb", "aredb"],
  ["a window title", "a\u001b]0;evil\u0007b", "ab"],
  ["a link", "\u001b]8;;https://evil.example\u001b\\text\u001b]8;;\u001b\\", "text"],
  ["a sequence that is never ended", "a\u001b]0;evil", "a]0;evil"],
  ["a sequence inside of another", "a\u001b\u001b[0m[2Jb", "a[2Jb"],
  ["one-byte control sequences", "a\u009b2Jb\u0090x\u009cc", "abc"],
  [
    "other control strings",
    "a\u001bPb\u001b\\\u001b_c\u0007\u001b^d\u009c\u001bXe\u0007\u009df\u0007\u009fg\u009c\u009eh\u009c\u0098i\u009cj",
    "aj",
  ],
  ["NUL, BEL and backspaces", "a\u0000\u0007\u0008b", "ab"],
  ["direction overrides and marks", "a\u202egnp.exe\u2066b\u061c\u200e\u200fc", "agnp.exebc"],
  ["invisible letters", "a\u{e0041}\u200b\u2060b", "ab"],
  ["half of a surrogate pair", "a\ud800b", "ab"],
  ["a joiner that an emoji needs", "👩‍🚀", "👩‍🚀"],
] as const;

describe("untrusted text", () => {
  it.each(hostile)(
    "has no effect with %s in a cell, on a page, in a notice and in a failure",
    async (_, text, seen) => {
      const host = testHost();
      const screen = screenOn(host);
      await printList(screen, listOf(text));
      expect(host.printed()).toBe(`${seen}\n`);
      await printPage(screen, { sections: [{ title: text, lines: [{ label: text, text }], block: text }] });
      expect(host.printed()).not.toMatch(harmful);
      screen.notice(text);
      screen.trace(text);
      screen.warn({ rule: "odd", severity: "warning", message: text, file: text, line: 1 });
      await printFailure(screen, defect(text));
      expect(host.said().split("\n").slice(0, 2)).toEqual([`note: ${seen}`, seen]);
      expect(host.said()).not.toMatch(harmful);
    },
  );

  it("has single spaces in a cell", async () => {
    const host = testHost();
    await printList(screenOn(host), listOf("a  b   c"));
    expect(host.printed()).toBe("a b c\n");
  });

  it.each(hostile)("keeps %s in JSON, as escapes", async (_, text) => {
    const host = testHost();
    await printList(screenOn(host, { json: true }), listOf(text));
    expect(host.printed().trimEnd()).not.toMatch(harmful);
    expect(JSON.parse(host.printed())).toEqual({ data: [{ id: text }] });
  });

  it("loses characters that hide or reverse adjacent text, in text and in JSON", async () => {
    const letters =
      "\u00ad\u061c\u180e\u200b\u200e\u200f\u2028\u202a\u202e\u2060\u2064\u2066\u206f\ufeff\ufff9\u{e0001}\u{e007f}";
    for (const letter of letters) {
      const [host, ofJson] = [testHost(), testHost()];
      await printList(screenOn(host), listOf(`a${letter}b`));
      // U+2028 is a line end, so it becomes a space.
      expect([letter, host.printed()]).toEqual([letter, letter === "\u2028" ? "a b\n" : "ab\n"]);
      await printList(screenOn(ofJson, { json: true }), listOf(`a${letter}b`));
      expect(ofJson.printed()).toMatch(/^[ -~]*\n$/);
      expect(JSON.parse(ofJson.printed())).toEqual({ data: [{ id: `a${letter}b` }] });
    }
  });

  it("stays on its line in a cell, and keeps its lines on a page", async () => {
    const host = testHost();
    const screen = screenOn(host);
    await printList(screen, listOf(" a\tb\r\nc\u2028d\u2029e\u0085f\u000bg\u000ch  i "));
    expect(host.printed()).toBe("a b c d e f g h i\n");
    await printPage(screen, { sections: [{ block: "a\r\nb\rc" }] });
    expect(host.printed()).toBe("a b c d e f g h i\na\nb\nc\n");
  });

  it("loses 20,000 unfinished escape sequences", async () => {
    const count = 20_000;
    const long = `\u001b]${"\u001b[3".repeat(count)}${" ".repeat(count)}${"\n".repeat(count / 10)}`;
    const host = testHost({ env: { CI: "true" }, terminal: { stdout: true } });
    const screen = screenOn(host);
    await printList(screen, listOf(long));
    await printPage(screen, { sections: [{ lines: [{ label: "l", text: long }], block: long.slice(0, count) }] });
    expect(host.printed()).not.toMatch(/\u001b(?!\[\d+m)/);
  });
});

describe("the output for a build system", () => {
  const said = "::error::x\n  ::warning::y\na::b\nx ##[group]z ##vso[task.setvariable]v";
  const broken = ": :error::x\n  : :warning::y\na::b\nx # #[group]z # #vso[task.setvariable]v";

  const buildSystems = ["CI", "GITHUB_ACTIONS", "TF_BUILD", "BUILD_BUILDID", "TEAMCITY_VERSION", "GITLAB_CI"];

  it.each(buildSystems)("breaks up workflow commands if %s is set", async (name) => {
    const host = testHost({ env: { [name]: "True" } });
    const screen = screenOn(host);
    await printPage(screen, { sections: [{ block: said }] });
    expect(host.printed()).toBe(`${broken}\n`);
    screenOn(host, { color: "always" }).trace("::error::x");
    screen.trace(said);
    await printFailure(screen, defect("x", { stack: said }));
    expect(host.said()).toContain(`${broken}\n`);
    expect(host.said()).not.toMatch(/^(\s|\u001b\[\dm)*::|##\[|##vso\[/m);
  });

  it("breaks up workflow commands in JSON with an escape", async () => {
    const host = testHost({ env: { CI: "true" } });
    await printList(screenOn(host, { json: true }), listOf("##vso[task]x ##[y]"));
    expect(host.printed()).toBe('{"data":[{"id":"\\u0023#vso[task]x \\u0023#[y]"}]}\n');
  });

  it("breaks up workflow commands in annotations and in the summary", async () => {
    const summary = join(newFolder(), "summary.md");
    const host = testHost({ env: { CI: "true", GITHUB_STEP_SUMMARY: summary } });
    const text = "##vso[task]x \u202ey";
    const problems = [{ rule: "odd", severity: "error" as const, message: text, file: text, line: 1 }];
    await printReport(screenOn(host), { title: "check", inputs: [text], problems });
    for (const written of [host.printed(), readFileSync(summary, "utf8")]) {
      expect(written).toContain("# #vso[task]x y");
      expect(written).not.toMatch(/##vso|\u202e/);
    }
  });

  it.each(["False", "0", ""])("keeps workflow commands if CI is false or empty (row %$)", async (value) => {
    const host = testHost({ env: { CI: value } });
    await printPage(screenOn(host), { sections: [{ block: said }] });
    expect(host.printed()).toBe(`${said}\n`);
  });
});

describe("a run of the built program", () => {
  const secret = 'sk-/a&"\\Zé+1234567890';
  const spelled = encodings.map(([, encode]) => encode(secret));
  const marked = ["[group]", "vso[task]", "teamcity[owned]", "TeamCity[owned]", "VSO[task]"];
  const commands = ["::error::owned", "  ::set-env name=x::owned", ...marked.map((mark) => `##${mark}owned`)];
  const controls = ["\u001b]0;owned\u0007", "\u009b31m", "a\u202eb\u2066c", "x\u0085y\u2028z"];
  const lines = [...spelled.map((one) => `begin ${one} end`), ...commands, ...controls];
  const text = lines.join("\n");
  const atCut = (length: number): readonly string[] => spelled.map((one) => `${"x".repeat(length - 8)} ${one} end`);
  const folder = mkdtempSync(join(tmpdir(), "secret-"));
  const file = (name: string): string => join(folder, name);
  const call = {
    id: "c",
    op_name: text,
    display_name: text,
    inputs: {
      messages: [
        { role: "user", content: text },
        { role: "assistant", tool_calls: [{ id: "t", function: { name: text, arguments: text } }] },
      ],
      [text]: text,
    },
    output: { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: text } }] },
    exception: text,
    attributes: { lines, texts: atCut(2000) },
    summary: { [text]: lines },
  };
  const models = lines.map((id) => {
    const texts = { id, name: id, owned_by: id, root: id, quantization: id };
    return { ...texts, object: "model", created: 1, context_length: 9, pricing: { prompt: "0.1" } };
  });
  const callReply = { call };
  const listReply = { object: "list", data: models };
  const errorReply = (status: number, message: string): Answer => json({ message }, status);
  const metadata = Object.fromEntries(lines.map((key) => [key, { nested: key }]));
  const trajectory = { messages_and_choices: [{ role: spelled[0], content: text }], reward: 1, [text]: 1, metadata };

  const toldIn = (written: string): readonly string[] => {
    const seen = written.replaceAll(/\u001b\[[0-9;?]*[a-zA-Z]|\s|\\n|&#10;|│/g, "").toLowerCase();
    return encodings.flatMap(([name], at) => {
      const letters = spelled[at]?.replaceAll(/\s/g, "").toLowerCase() ?? "";
      // The first letters of a header or a user name are not secret, so all letters are compared.
      const isWhole = /header|user/.test(name);
      // A cut text may end with three letters of the secret, so with its first eight characters.
      const part = isWhole ? letters : letters.slice(0, Math.max(12, Math.ceil((9 * letters.length) / secret.length)));
      return seen.includes(part) ? [name] : [];
    });
  };

  const secretEnv = (url: string) => ({
    ROLLCALL_BASE_URL: url,
    ROLLCALL_INFERENCE_BASE_URL: url,
    ROLLCALL_ROUTER_PROVIDER: "any",
    ROLLCALL_PASSWORD: secret,
    ROLLCALL_API_KEY: "sk-other-key",
    ROLLCALL_PROJECT: "a/b",
  });

  type Run = readonly [args: readonly string[], answer: Answer | undefined, files?: readonly string[]];
  const runs: readonly Run[] = [
    [["call", "read", "c"], json(callReply)],
    [["call", "read", "c", "--json"], json(callReply)],
    [["call", "read", "c", "--fields", "id,attributes"], json(callReply)],
    [["models"], json(listReply)],
    [["models", "--json"], json(listReply)],
    [["models", "-o", "tsv"], json(listReply)],
    [["models"], errorReply(400, text)],
    [["models", "--json"], errorReply(400, text)],
    [["models"], { headers: { "content-type": "text/html" }, body: `<title>${"x".repeat(190)} ${secret}</title>` }],
    ...atCut(1960).map((said): Run => [["models", "--json"], errorReply(400, said)]),
    [["catalog", "router", "--json"], json({ data: models })],
    [["catalog", "router", "-o", "tsv"], json({ data: models })],
    [["check", file("t.jsonl")], undefined],
    [["check", file("t.jsonl"), "--json"], undefined],
    [["check", file("t.jsonl"), "--report", "github"], undefined, [file("summary.md")]],
  ];

  it.for(runs)(
    "prints no secret, workflow command or control character (run %$)",
    async ([args, answer, files = []]) => {
      writeFileSync(file("t.jsonl"), `${JSON.stringify(trajectory)}\n`);
      const server = await scriptedServer(answer === undefined ? [] : [{ answer }]);
      const env = { ...secretEnv(server.url), CI: "true", GITHUB_STEP_SUMMARY: file("summary.md") };
      const { stdout, stderr } = await runRollcall(args, { env });
      const written = [stdout, stderr, ...files.map((name) => readFileSync(name, "utf8"))].join("\n");
      expect(written).toMatch(/\*{3}|text omitted/);
      expect(toldIn(written)).toEqual([]);
      expect(written).not.toMatch(
        /^\s*::(?!error file|error title|warning file|warning title)|##\[|##vso\[|##teamcity\[/im,
      );
      expect(written).not.toMatch(new RegExp(harmful.source.replace("\\u001f", "\\u000c\\u000e-\\u001f")));
    },
  );

  it("shows no secret on a terminal", async () => {
    const server = await scriptedServer([{ answer: json(listReply) }]);
    const env = { PATH: process.env.PATH, ...newHome(), ...secretEnv(server.url) };
    const line = `"${process.execPath}" bin/rollcall.js models`;
    const { written } = await runOnTerminal(line, { env, columns: 40, rows: 4000 });
    expect(written).toMatch(/\*{3}|text omitted/);
    expect(toldIn(written)).toEqual([]);
  });
});

// With quadratic time, each of these texts would take minutes.
it("cleans long texts in linear time", { tags: "slow" }, () => {
  expect(sanitizeText("\u009d".repeat(500_000))).toBe("");
  const spaces = " ".repeat(500_000);
  expect(toOneLine(`${spaces}a \n\n b`)).toBe(`${spaces}a b`);
  expect(unindentJson(`["${spaces}",\n 1]`)).toBe(`["${spaces}", 1]`);
  expect(quoteCode("\\".repeat(500_000))).toHaveLength(500_002);
});
