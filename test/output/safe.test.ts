import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Failure } from "../../src/failure.ts";
import {
  type Column,
  openScreen,
  printDocument,
  printFailure,
  printList,
  printPage,
  printReport,
  type Screen,
  screenWords,
  type TypedScreen,
} from "../../src/output/index.ts";
import { openAgent } from "../mcp/agent.ts";
import { type TestHost, testHost } from "../support/host.ts";
import { newHome, runRollcall } from "../support/run.ts";
import { type Answer, json, scriptedServer } from "../support/server.ts";
import { seeLine } from "../support/terminal.ts";

const screenOn = (host: TestHost, typed: TypedScreen = {}) => openScreen({ host, words: screenWords(typed) });

const columns: readonly Column<{ readonly id: string }>[] = [
  { name: "id", heading: "id", rank: 0, cell: ({ id }) => id, value: ({ id }) => id },
];

const listOf = (id: string) => ({
  columns,
  rows: [{ id }],
  wire: { bytes: Buffer.from(JSON.stringify({ data: [{ id }] })), member: "data" },
});

/** What must never reach a terminal: C0 but tab and line end, DEL, C1, and what changes the direction of text. */
const harmful = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/;

const hostile = [
  ["colour codes", "a\u001b[31mred\u001b[0mb", "aredb"],
  ["a window title", "a\u001b]0;evil\u0007b", "ab"],
  ["a link", "\u001b]8;;https://evil.example\u001b\\text\u001b]8;;\u001b\\", "text"],
  ["a sequence that is never ended", "a\u001b]0;evil", "a]0;evil"],
  ["a sequence inside of another", "a\u001b\u001b[0m[2Jb", "a[2Jb"],
  ["one-byte control sequences", "a\u009b2Jb\u0090x\u009cc", "abc"],
  ["NUL, BEL and backspaces", "a\u0000\u0007\u0008b", "ab"],
  ["direction overrides", "a\u202egnp.exe\u2066b", "agnp.exeb"],
  ["invisible letters", "a\u{e0041}\u200b\u2060b", "ab"],
  ["half of a surrogate pair", "a\ud800b", "ab"],
  ["a joiner that an emoji needs", "👩‍🚀", "👩‍🚀"],
] as const;

describe("text from outside", () => {
  it.each(hostile)("%s is harmless in a cell, on a page, in a notice and in a failure", async (_, text, seen) => {
    const host = testHost();
    const screen = screenOn(host);
    await printList(screen, listOf(text));
    expect(host.printed()).toBe(`${seen}\n`);
    await printPage(screen, { sections: [{ title: text, lines: [{ label: text, text }], block: text }] });
    expect(host.printed()).not.toMatch(harmful);
    screen.notice(text);
    screen.trace(text);
    screen.warn({ rule: "odd", severity: "warning", message: text, file: text, line: 1 });
    await printFailure(screen, { failure: new Failure("defect", { text, stack: undefined }), exitCode: 1 });
    expect(host.said().split("\n").slice(0, 2)).toEqual([`note: ${seen}`, seen]);
    expect(host.said()).not.toMatch(harmful);
  });

  it.each(hostile)("%s is an escape in JSON, which says the same", async (_, text) => {
    const host = testHost();
    await printList(screenOn(host, { json: true }), listOf(text));
    expect(host.printed().trimEnd()).not.toMatch(harmful);
    expect(JSON.parse(host.printed())).toEqual({ data: [{ id: text }] });
  });

  it("stays on its line in a cell, and keeps its lines on a page", async () => {
    const host = testHost();
    const screen = screenOn(host);
    await printList(screen, listOf(" a\tb\r\nc\u2028d  e "));
    expect(host.printed()).toBe("a b c d e\n");
    await printPage(screen, { sections: [{ block: "a\r\nb\rc" }] });
    expect(host.printed()).toBe("a b c d e\na\nb\nc\n");
  });

  it("takes no time to speak of, however long it is", async () => {
    const long = `\u001b]${"\u001b[3".repeat(1_000_000)}${" ".repeat(1_000_000)}${"\n".repeat(100_000)}`;
    const host = testHost({ env: { CI: "true" }, terminal: { stdout: true } });
    const screen = screenOn(host, { pager: false });
    await printList(screen, listOf(long));
    await printPage(screen, { sections: [{ lines: [{ label: "l", text: long }], block: long.slice(0, 1_000_000) }] });
    expect(host.printed()).not.toMatch(/\u001b(?!\[\d+m)/);
  });
});

describe("workflow commands", () => {
  const said = "::error::x\n  ::warning::y\na::b\nx ##[group]z ##vso[task.setvariable]v";
  const broken = ": :error::x\n  : :warning::y\na::b\nx # #[group]z # #vso[task.setvariable]v";

  it.each(["CI", "GITHUB_ACTIONS", "TF_BUILD"])(
    "are broken up where %s says that a build system reads",
    async (name) => {
      const host = testHost({ env: { [name]: "True" } });
      const screen = screenOn(host);
      await printPage(screen, { sections: [{ block: said }] });
      expect(host.printed()).toBe(`${broken}\n`);
      screen.trace(said);
      await printFailure(screen, {
        failure: new Failure("defect", { text: "x", stack: said }),
        exitCode: 1,
      });
      expect(host.said()).toContain(`${broken}\n`);
      expect(host.said()).not.toMatch(/^\s*::|##\[|##vso\[/m);
    },
  );

  it("are broken up in JSON by an escape", async () => {
    const host = testHost({ env: { CI: "true" } });
    await printList(screenOn(host, { json: true }), listOf("##vso[task]x ##[y]"));
    expect(host.printed()).toBe('{"data":[{"id":"\\u0023#vso[task]x \\u0023#[y]"}]}\n');
  });

  it("are nothing special anywhere else", async () => {
    const host = testHost({ env: { CI: "false" } });
    await printPage(screenOn(host), { sections: [{ block: said }] });
    expect(host.printed()).toBe(`${said}\n`);
  });
});

/** The ways in which a secret is written. */
const encodings: readonly (readonly [string, (text: string) => string])[] = [
  ["as it is", (text) => text],
  ["in capitals", (text) => text.toUpperCase()],
  ["with a line end inside", (text) => `${text.slice(0, 7)}\n    ${text.slice(7)}`],
  ["as base64", (text) => Buffer.from(text).toString("base64")],
  ["as base64 without padding", (text) => Buffer.from(text).toString("base64").replaceAll("=", "")],
  ["as url-safe base64", (text) => Buffer.from(text).toString("base64url")],
  ["as a header in base64", (text) => Buffer.from(`Authorization: Bearer ${text}\r\n`).toString("base64")],
  ["with a user in base64", (text) => Buffer.from(`api:${text}`).toString("base64")],
  ["as hex", (text) => Buffer.from(text).toString("hex")],
  ["as hex in capitals", (text) => Buffer.from(text).toString("hex").toUpperCase()],
  ["in an address", encodeURIComponent],
  ["as percent", (text) => Buffer.from(text).toString("hex").replace(/../g, "%$&")],
  ["as percent in capitals", (text) => Buffer.from(text).toString("hex").toUpperCase().replace(/../g, "%$&")],
  ["as JSON", (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/")],
  ["as escapes of JSON", (text) => text.replace(/./gs, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)],
  ["as HTML", (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;")],
  ["as numbers of HTML", (text) => Array.from(text, (c) => `&#${c.codePointAt(0)};`).join("")],
  [
    "as hexadecimal numbers of HTML",
    (text) => Array.from(text, (c) => `&#x${c.codePointAt(0)?.toString(16)};`).join(""),
  ],
  ["as Markdown", (text) => text.replaceAll(/[^a-z0-9]/gi, "\\$&")],
];

describe("a secret", () => {
  const secret = 'sk-"quoted\\1234567890';

  it.each([
    ["as it is", secret],
    ["in JSON", JSON.stringify(secret)],
    ["in an address", encodeURIComponent(secret)],
    ["as base64", Buffer.from(secret).toString("base64")],
    ["with invisible letters inside", secret.replace("1", "\u200b1\u0000")],
  ])("is blotted out %s", async (_, spelling) => {
    const host = testHost();
    const screen = screenOn(host);
    screen.hide(secret);
    await printList(screen, listOf(`echo ${spelling} end`));
    await printPage(screen, {
      sections: [{ title: spelling, lines: [{ label: spelling, text: spelling }], block: spelling }],
    });
    await screen.text(`${spelling}\n`.replaceAll(/[\u200b\u0000]/g, ""));
    screen.notice(spelling);
    screen.trace(spelling);
    const said = { method: "GET", url: `https://h.example/${spelling}`, said: spelling };
    await printFailure(screen, {
      failure: new Failure("defect", { text: spelling, stack: spelling }, { http: said }),
      exitCode: 1,
    });
    expect(host.printed()).toContain("***");
    expect(host.printed() + host.said()).not.toContain("1234567890");
    expect(host.printed() + host.said()).not.toContain(Buffer.from(secret).toString("base64"));
  });

  const places: readonly (readonly [string, TypedScreen, (screen: Screen, text: string) => Promise<void>])[] = [
    ["a cell", {}, async (screen, text) => await printList(screen, listOf(text))],
    ["a cell of CSV", { output: "csv" }, async (screen, text) => await printList(screen, listOf(text))],
    ["JSON", { json: true }, async (screen, text) => await printList(screen, listOf(text))],
    ["a line of JSON", { output: "jsonl" }, async (screen, text) => await printList(screen, listOf(text))],
    ["a page", {}, async (screen, text) => await printPage(screen, { sections: [{ title: text, block: text }] })],
    ["text as it is", {}, async (screen, text) => await screen.text(text)],
    [
      "a report",
      {},
      async (screen, text) => {
        const problems = [{ rule: "odd", severity: "error" as const, message: text, file: text, line: 1 }];
        await printReport(screen, { form: "junit", file: undefined, inputs: [text], problems });
        await printReport(screen, { form: "github", file: undefined, inputs: [text], problems });
      },
    ],
    [
      "a failure",
      {},
      async (screen, text) =>
        await printFailure(screen, { failure: new Failure("defect", { text, stack: text }), exitCode: 1 }),
    ],
    [
      "a failure's document",
      { json: true },
      async (screen, text) =>
        await printFailure(screen, { failure: new Failure("defect", { text, stack: text }), exitCode: 1 }),
    ],
  ];

  it.each(places)("is blotted out of %s, however it is spelled", async (_, typed, print) => {
    const letters = fc.string({ unit: fc.constantFrom(..."abkZ019", ...'/+&<"\\%=_-.é'), minLength: 8, maxLength: 40 });
    const run = async (text: string, encode: (text: string) => string, before: string): Promise<void> => {
      const host = testHost();
      const screen = screenOn(host, typed);
      const [spelled, shown] = [encode(text), `${before} ${encode(text)} end`];
      screen.hide(text);
      await print(screen, shown);
      expect(host.printed() + host.said()).toContain("***");
      const seen = (host.printed() + host.said()).replaceAll(/\s/g, "");
      expect(seen).not.toContain(spelled.replaceAll(/\s/g, ""));
      expect(seen).not.toContain(text);
    };
    for (const [, encode] of encodings) await run('sk-/a&"\\Zé+1234567890', encode, "x");
    await fc.assert(
      fc.asyncProperty(letters, fc.constantFrom(...encodings), fc.string(), async (text, [, encode], before) => {
        await run(`k${text}9`, encode, before.replaceAll("*", ""));
      }),
    );
  });

  it("is what was typed as one, or stands in an address that can't be parsed", () => {
    const host = testHost({ env: { https_proxy: "http://me:proxy-pass@[::bad" } });
    const argv = ["--my-token=typed-word", "--base-url", "http://u:p%40ss-word@:::", "--prompt-tokens=4000"];
    const screen = openScreen({ host, words: screenWords({}), argv });
    screen.trace("proxy-pass typed-word p%40ss-word p@ss-word 4000");
    return screen.say(() => "").then(() => expect(host.said()).toBe("*** *** *** *** 4000\n"));
  });

  it.each([
    "https:/user:pass-w0rd@host",
    "https:user:pass-w0rd@host",
    "https:\\\\user:pass-w0rd@host",
    "https//user:pass-w0rd@host",
    "https://ho st/user:pass-w0rd@x",
    "https://host:99999/user:pass-w0rd@x",
    "https://user:1/pass-w0rd@host",
    "postgres:/user:pass-w0rd@host/db",
    "hf://ho st/user:pass-w0rd@x",
  ])("is the password of an address that is malformed, wherever the address is given: %s", async (address) => {
    for (const argv of [["check", address], [`--base-url=${address}`]]) {
      const host = testHost();
      await openScreen({ host, words: screenWords({}), argv }).say(() => address);
      expect([host.said().includes("pass-w0rd"), host.said().includes("***")]).toEqual([false, true]);
    }
    for (const name of ["https_proxy", "HF_ENDPOINT", "ROLLCALL_BASE_URL", "ROLLCALL_LEDGER", "ROLLCALL_STORE"]) {
      const host = testHost({ env: { [name]: address } });
      await openScreen({ host, words: screenWords({}) }).say(() => address);
      expect([name, host.said().includes("pass-w0rd")]).toEqual([name, false]);
    }
  });

  it("is nothing of the path of an address that is whole", async () => {
    const host = testHost();
    const argv = ["check", "https://host.example/qwen:7b-long@main", "hf://datasets/owner/name@revision"];
    await openScreen({ host, words: screenWords({}), argv }).say(() => argv.join(" "));
    expect(host.said()).toBe(argv.join(" "));
  });

  it("is blotted out of what a terminal gets the beginning of, before it is cut", async () => {
    const host = testHost({ terminal: { stdout: true, columns: 100 } });
    const screen = screenOn(host, { pager: false });
    screen.hide(secret);
    const long = (length: number): string => `${"x".repeat(length)} ${secret}`;
    const lines = [{ label: "a", text: long(1990) }];
    await printPage(screen, { sections: [{ title: long(290), lines }], full: false });
    expect(host.printed()).toContain("***");
    expect(host.printed()).not.toContain(secret.slice(0, 6));
  });

  it("is blotted out of JSON, which stays JSON", async () => {
    const host = testHost();
    const screen = screenOn(host, { json: true });
    for (const one of [secret, "12345678", "data", "null"]) screen.hide(one);
    await printList(screen, listOf(`echo ${secret} 12345678 data null`));
    expect(host.printed()).toBe('{"data":[{"id":"echo *** *** *** ***"}]}\n');
    await printDocument(screen, { count: 12345678, [secret]: null, data: [secret] });
    expect(host.printed().split("\n")[1]).toBe('{"count":12345678,"***":null,"data":["***"]}');
    await printFailure(screen, { failure: new Failure("defect", { text: secret, stack: undefined }), exitCode: 1 });
    expect(JSON.parse(host.said()).error.message).toBe("a defect of rollcall: ***");
  });

  it("of three letters or fewer hides nothing and shreds nothing", async () => {
    const host = testHost();
    const screen = screenOn(host);
    for (const one of ["", " ", "a", "abc"]) screen.hide(one);
    await printList(screen, listOf("abc a"));
    expect(host.printed()).toBe("abc a\n");
  });
});

describe("a run of the built program", () => {
  const secret = 'sk-/a&"\\Zé+1234567890';
  const spelled = encodings.map(([, encode]) => encode(secret));
  const commands = [
    "::error::owned",
    "  ::set-env name=x::owned",
    "##[group]owned",
    "##vso[task]owned",
    "##teamcity[owned]",
    "##TeamCity[owned]",
    "##VSO[task]owned",
  ];
  const controls = ["\u001b]0;owned\u0007", "\u009b31m", "a\u202eb\u2066c", "x\u0085y\u2028z"];
  /** Whole, and with each spelling where something may be cut. */
  const lines = [...spelled.map((one) => `begin ${one} end`), ...commands, ...controls];
  const text = lines.join("\n");
  const atCut = (length: number): readonly string[] =>
    [0, 3, 11, 16].flatMap((at) => (spelled[at] === undefined ? [] : [`${"x".repeat(length - 8)} ${spelled[at]} end`]));
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
  const models = lines.map((id) => ({
    id,
    name: id,
    owned_by: id,
    object: "model",
    created: 1,
    root: id,
    quantization: id,
    context_length: 9,
    pricing: { prompt: "0.1" },
  }));
  const callReply = { call };
  const listReply = { object: "list", data: models };
  const errorReply = (status: number, message: string): Answer => json({ message }, status);
  const metadata = Object.fromEntries(lines.map((key) => [key, { nested: key }]));
  const trajectory = { messages_and_choices: [{ role: text, content: text }], reward: 1, [text]: 1, metadata };

  /** The spellings of the secret, or beginnings of one that was cut, that stand in what was written, over line ends too. */
  const toldIn = (written: string): readonly string[] => {
    const seen = written.replaceAll(/\u001b\[[0-9;?]*[a-zA-Z]|\s|\\n|&#10;|│/g, "").toLowerCase();
    return encodings.flatMap(([name], at) => {
      const letters = spelled[at]?.replaceAll(/\s/g, "").toLowerCase() ?? "";
      // Of a header, or of a user, the beginning is no part of the secret.
      const part = /header|user/.test(name) ? letters : letters.slice(0, 12);
      return seen.includes(part) ? [name] : [];
    });
  };

  /** What is run, what the service answers, and the files that are written. */
  type Run = readonly [args: readonly string[], answer: Answer | undefined, files?: readonly string[]];
  const runs: readonly Run[] = [
    [["call", "read", "c"], json(callReply)],
    [["call", "read", "c", "--json"], json(callReply)],
    [["call", "read", "c", "-o", "jsonl"], json(callReply)],
    [["call", "read", "c", "-o", "csv"], json(callReply)],
    [["call", "read", "c", "--as", "markdown"], json(callReply)],
    [["call", "read", "c", "--as", "messages"], json({ call: { ...call, exception: null } })],
    [["call", "read", "c", "--summary", "--json"], json(callReply)],
    [["models"], json(listReply)],
    [["models", "--json"], json(listReply)],
    [["models", "-o", "csv"], json(listReply)],
    [["models"], errorReply(400, text)],
    [["models", "--json"], errorReply(400, text)],
    [
      ["models"],
      {
        status: 200,
        headers: { "content-type": "text/html" },
        body: `<html><title>${"x".repeat(190)} ${secret}</title>`,
      },
    ],
    ...atCut(1960).map((said): Run => [["models", "--json"], errorReply(400, said)]),
    [["catalog", "router", "--json"], json({ data: models })],
    [["catalog", "lock", "*", "--file", file("lock.json")], json({ data: models }), [file("lock.json")]],
    [["catalog", "lock", "*", "--json", "--file", file("lock-2.json")], json({ data: models }), [file("lock-2.json")]],
    [["check", file("t.jsonl")], undefined],
    [["check", file("t.jsonl"), "--json"], undefined],
    [["check", file("t.jsonl"), "--report", "junit"], undefined],
    [
      ["check", file("t.jsonl"), "--report", `junit=${file("j.xml")}`, "--report", `github=${file("g.txt")}`],
      undefined,
      [file("j.xml"), file("g.txt")],
    ],
    [["models", `--api-token=${secret}`], undefined],
  ];

  it.each(runs.map((one) => [one[0].join(" "), one] as const))(
    "%s says no secret, no command of a build system, and controls nothing",
    async (_, [args, answer, files = []]) => {
      writeFileSync(file("t.jsonl"), `${JSON.stringify(trajectory)}\n`);
      const server = await scriptedServer(answer === undefined ? [] : [{ answer }]);
      const address = {
        ROLLCALL_BASE_URL: server.url,
        ROLLCALL_INFERENCE_BASE_URL: server.url,
        ROLLCALL_ROUTER_PROVIDER: "any",
      };
      const env = {
        ...address,
        CI: "true",
        ROLLCALL_PASSWORD: secret,
        ROLLCALL_API_KEY: "sk-other-key",
        ROLLCALL_PROJECT: "a/b",
      };
      const { stdout, stderr } = await runRollcall(args, { env, damaged: true });
      const written = [stdout, stderr, ...files.map((name) => readFileSync(name, "utf8"))].join("\n");
      expect(written).toContain("***");
      expect(toldIn(written)).toEqual([]);
      const log = args.includes("--html") ? stdout + stderr : written;
      expect(log).not.toMatch(
        /^\s*::(?!error file|error title|warning file|warning title)|##\[|##vso\[|##teamcity\[/im,
      );
      expect(written).not.toMatch(new RegExp(harmful.source.replace("\\u001f", "\\u000c\\u000e-\\u001f")));
    },
  );

  const secretEnv = (url: string) => ({
    ROLLCALL_BASE_URL: url,
    ROLLCALL_INFERENCE_BASE_URL: url,
    ROLLCALL_ROUTER_PROVIDER: "any",
    ROLLCALL_PASSWORD: secret,
    ROLLCALL_API_KEY: "sk-other-key",
    ROLLCALL_PROJECT: "a/b",
  });

  /** A call with each spelling where an agent's answer is cut at so many characters. */
  const cutCall = (most: number) => ({ call: { ...call, attributes: { lines, texts: atCut(most) } } });

  it.each<[tool: string, given: Readonly<Record<string, unknown>>, answer: Answer | undefined]>([
    ["call_read", { call_id: ["c"] }, json(callReply)],
    ["call_read", { call_id: ["c"], include_content: true }, json(callReply)],
    ...[100, 101, 250, 2000].map((most): [string, Readonly<Record<string, unknown>>, Answer] => [
      "call_read",
      { call_id: ["c"], include_content: true, max_characters: most },
      json(cutCall(most)),
    ]),
    ["models", {}, json(listReply)],
    ["models", {}, errorReply(400, text)],
    ["catalog", { catalog: "router" }, json({ data: models })],
    ["check", { file: ["t.jsonl"] }, undefined],
  ])("%s with %j tells an agent no secret", async (tool, given, answer) => {
    writeFileSync(file("t.jsonl"), `${JSON.stringify(trajectory)}\n`);
    const server = await scriptedServer(answer === undefined ? [] : [{ answer }]);
    const agent = await openAgent({ args: ["--content", "--root", folder], env: secretEnv(server.url) });
    const { text: told, isError } = await agent.call(tool, given);
    expect(isError).toBe(JSON.stringify(answer)?.includes('"status":400') ?? false);
    // Without its content a call, and of a file its values, are not given at all.
    if (tool !== "check" && (tool !== "call_read" || given.include_content === true)) expect(told).toContain("***");
    expect(toldIn(`${told}\n${agent.said()}`)).toEqual([]);
  });

  it.each(runs.filter(([, , files]) => files === undefined).map((one) => [one[0].join(" "), one] as const))(
    "%s shows no secret on a terminal of any width, which JSON has none of",
    async (_, [args, answer]) => {
      writeFileSync(file("t.jsonl"), `${JSON.stringify(trajectory)}\n`);
      for (const columns of args.includes("--json") ? [40] : [40, 100]) {
        const server = await scriptedServer(answer === undefined ? [] : [{ answer }]);
        const line = `"${process.execPath}" bin/rollcall.js ${args.map((word) => `'${word}'`).join(" ")} --no-pager`;
        const env = { PATH: process.env.PATH, ...newHome(), ...secretEnv(server.url) };
        const { written } = await seeLine(line, { env, columns, rows: 4000 });
        expect(written).toContain("***");
        expect({ columns, told: toldIn(written) }).toEqual({ columns, told: [] });
      }
    },
  );
});
