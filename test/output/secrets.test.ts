import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defect } from "../../src/failure.ts";
import { printReport } from "../../src/output/ci-report.ts";
import { printDocument, printList } from "../../src/output/list.ts";
import { printPage } from "../../src/output/page.ts";
import { printFailure } from "../../src/output/print-failure.ts";
import { openRunCleaner, openScreen, type Screen } from "../../src/output/screen.ts";
import { readSavedSecrets } from "../../src/settings/saved-files.ts";
import { testHost } from "../support/host.ts";
import { itHolds } from "../support/property.ts";
import { listOf, type ScreenFlags, screenOn } from "./printed-text.ts";
import { encodings } from "./secret-spellings.ts";

const hidden = /\*{3}|text omitted(?::|%3A) it contains a credential/;
const omitted = "[text omitted: it contains a credential]";

describe("the redaction of a secret", () => {
  const secret = 'sk-"quoted\\1234567890';

  it.each([
    ["as it is", secret],
    ["in JSON", JSON.stringify(secret)],
    ["in a URL", encodeURIComponent(secret)],
    ["as base64", Buffer.from(secret).toString("base64")],
    ["with invisible letters inside", secret.replace("1", "\u200b1\u0000")],
  ])("covers a secret %s", async (_, spelling) => {
    const host = testHost();
    const screen = screenOn(host);
    screen.hideSecret(secret);
    await printList(screen, listOf(`echo ${spelling} end`));
    await printPage(screen, {
      sections: [{ title: spelling, lines: [{ label: spelling, text: spelling }], block: spelling }],
    });
    await screen.printText(`${spelling}\n`.replaceAll(/[\u200b\u0000]/g, ""));
    screen.notice(spelling);
    screen.trace(spelling);
    const said = { method: "GET", url: `https://h.example/${spelling}`, said: spelling };
    await printFailure(screen, defect(spelling, { stack: spelling, http: said }));
    expect(host.printed()).toMatch(hidden);
    expect(host.printed() + host.said()).not.toContain("1234567890");
    expect(host.printed() + host.said()).not.toContain(Buffer.from(secret).toString("base64"));
  });

  const places: readonly (readonly [string, ScreenFlags, (screen: Screen, text: string) => Promise<void>])[] = [
    ["a cell", {}, async (screen, text) => await printList(screen, listOf(text))],
    ["a cell of CSV", { output: "csv" }, async (screen, text) => await printList(screen, listOf(text))],
    ["JSON", { json: true }, async (screen, text) => await printList(screen, listOf(text))],
    ["a line of JSON", { output: "jsonl" }, async (screen, text) => await printList(screen, listOf(text))],
    ["a page", {}, async (screen, text) => await printPage(screen, { sections: [{ title: text, block: text }] })],
    ["text as it is", {}, async (screen, text) => await screen.printText(text)],
    [
      "a report",
      {},
      async (screen, text) => {
        const problems = [{ rule: "odd", severity: "error" as const, message: text, file: text, line: 1 }];
        await printReport(screen, { title: "check", inputs: [text], problems });
      },
    ],
    ["a failure", {}, async (screen, text) => await printFailure(screen, defect(text, { stack: text }))],
    [
      "a failure's document",
      { json: true },
      async (screen, text) => await printFailure(screen, defect(text, { stack: text })),
    ],
  ];

  type Place = (typeof places)[number];
  const expectNoSpelling = async ([, typed, print]: Place, { numRuns }: { readonly numRuns: number }) => {
    const letters = fc.string({
      unit: fc.constantFrom(..."abkZ019'", ...'/+&<"\\%=_-.é'),
      minLength: 8,
      maxLength: 40,
    });
    const run = async (text: string, encode: (text: string) => string, before: string): Promise<void> => {
      const host = testHost();
      const screen = screenOn(host, typed);
      const [spelled, shown] = [encode(text), `${before} ${encode(text)} end`];
      screen.hideSecret(text);
      await print(screen, shown);
      expect(host.printed() + host.said()).toMatch(hidden);
      const seen = (host.printed() + host.said()).replaceAll(/\s/g, "");
      expect(seen).not.toContain(spelled.replaceAll(/\s/g, ""));
      expect(seen).not.toContain(text);
    };
    for (const [, encode] of encodings) await run(`sk-/a&"'\\Zé+1234567890`, encode, "x");
    await fc.assert(
      fc.asyncProperty(letters, fc.constantFrom(...encodings), fc.string(), async (text, [, encode], before) => {
        await run(`k0Za1b${text}9`, encode, before.replaceAll("*", ""));
      }),
      { numRuns },
    );
  };

  it.each(places)("covers the spellings in %s", async (...place) => await expectNoSpelling(place, { numRuns: 5 }));
  it.each(places)(
    "covers the spellings of many generated secrets in %s",
    { tags: "slow" },
    async (...place) => await expectNoSpelling(place, { numRuns: 100 }),
  );

  const characterSpellings: readonly ((code: number) => string)[] = [
    (code) => String.fromCharCode(code),
    (code) => `\\u00${code.toString(16)}`,
    (code) => `\\\\u00${code.toString(16).toUpperCase()}`,
    (code) => `\\x${code.toString(16)}`,
    (code) => `\\${code.toString(8).padStart(3, "0")}`,
    (code) => `%${code.toString(16)}`,
    (code) => `%25${code.toString(16)}`,
    (code) => `=${code.toString(16).toUpperCase()}`,
    (code) => `%25252525252525${code.toString(16)}`,
    (code) => `\\U000000${code.toString(16)}`,
    (code) => `&#${code};`,
    (code) => `&#0000000000${code} `,
    (code) => `&amp;amp;#x${code.toString(16)};`,
  ];
  const dividers = ["", "", "", " ", "\r\n", "<b>", "</b >", "\u200b", "\u001b[1m", ":", "\\n", "&ZeroWidthSpace;"];
  const wholeSpellings: readonly ((text: string) => string)[] = [
    String,
    (text) => Buffer.from(text).toString("base64"),
    (text) => Buffer.from(`ab:${text}`).toString("base64url"),
    (text) => Buffer.from(text).toString("hex"),
  ];
  const key = fc.string({ unit: fc.constantFrom(..."abcdefxuABCXYZ0123789-_"), minLength: 16, maxLength: 40 });
  const numbers = fc.array(fc.nat({ max: 119 }), { minLength: 1, maxLength: 60 });

  itHolds(
    "omits a text from outside with any spelling of each character and any breaks",
    fc.asyncProperty(
      key,
      fc.constantFrom(...wholeSpellings),
      numbers,
      fc.string(),
      async (secret, whole, choices, before) => {
        const spelled = Array.from(whole(`k3y-${secret}-z`), (letter, at) => {
          const choice = choices[at % choices.length] ?? 0;
          const spell = characterSpellings[choice % characterSpellings.length] ?? String;
          return spell(letter.charCodeAt(0)) + (dividers[choice % dividers.length] ?? "");
        }).join("");
        for (const [typed, shown] of [
          [{}, `${omitted}\n`],
          [{ json: true }, `${JSON.stringify({ data: [{ id: omitted }] })}\n`],
        ] as const) {
          const host = testHost();
          const screen = screenOn(host, typed);
          screen.hideSecret(`k3y-${secret}-z`);
          await printList(screen, listOf(`${before.replaceAll(/[<\\%&=]/g, "")} ${spelled} end`));
          expect(host.printed()).toBe(shown);
        }
      },
    ),
    { quick: 40, slow: 1000 },
  );

  it.each([
    ["as it is", "a-?!"],
    ["in JSON", JSON.stringify('"-?\\a')],
    ["in percent", "%61%2d?%21"],
    ["in escapes", "\\u0061-?\\u0021"],
  ])("omits a text with a secret of few letters %s, and no similar text", async (_, spelled) => {
    const host = testHost();
    const screen = screenOn(host);
    for (const secret of ["a-?!", '"-?\\a']) screen.hideSecret(secret);
    await printList(screen, listOf(`x ${spelled} y`));
    await printList(screen, listOf("a - ? !"));
    expect(host.printed()).toBe(`${omitted}\na - ? !\n`);
  });

  it("takes linear time for escapes without an end", { tags: "slow" }, async () => {
    const host = testHost();
    const screen = screenOn(host);
    screen.hideSecret(secret);
    for (const part of [
      "\\",
      "<",
      "&#",
      "%",
      "=",
      "&#x",
      "…",
      " <",
      "\\u{",
      "& a ",
      "= ",
      "=<a",
      "&<a",
      "0<a",
      "=4\\n",
      "= 34 ",
    ])
      await printList(screen, listOf(part.repeat(300_000)));
    expect(host.printed()).not.toContain(omitted);
  });

  it("covers secret options, passwords in malformed URLs, files in variables, and saved keys", () => {
    const folder = mkdtempSync(join(tmpdir(), "secrets-"));
    const save = (name: string, text: string) => writeFileSync(join(folder, name), text);
    save("credentials.json", '\ufeff{"profiles":{"p":{"log":{"key":"saved-key"},"calls":0}}}');
    save("token", "file-key\n");
    save("ledger", "postgres://me:file-pass@[::bad\n");
    const files = { ROLLCALL_TOKEN_FILE: join(folder, "token"), ROLLCALL_LEDGER_FILE: join(folder, "ledger") };
    const unreadable = { ROLLCALL_API_KEY_FILE: folder, ROLLCALL_PASSWORD_FILE: join(folder, "missing") };
    const proxy = { https_proxy: "http://me:proxy-pass@[::bad" };
    const host = testHost({ env: { ...files, ...unreadable, ...proxy, ROLLCALL_CONFIG_DIR: folder } });
    const argv = ["--my-token=typed-word", "--base-url", "http://u:p%40ss-word@:::", "--prompt-tokens=4000"];
    const cleaner = openRunCleaner({ ...host, argv }, readSavedSecrets(host));
    const screen = openScreen({ host, options: {} }, cleaner);
    screen.trace("proxy-pass typed-word p%40ss-word p@ss-word saved-key file-key file-pass 4000");
    return screen.writeError(() => "").then(() => expect(host.said()).toBe(`${"*** ".repeat(7)}4000\n`));
  });

  it("covers a secret before a long text is cut", async () => {
    const host = testHost({ terminal: { stdout: true, columns: 100 } });
    const screen = screenOn(host, { pager: false });
    screen.hideSecret(secret);
    const long = (length: number): string => `${"x".repeat(length)} ${secret}`;
    const lines = [{ label: "a", text: long(1990) }];
    await printPage(screen, { sections: [{ title: long(290), lines }], isFull: false });
    expect(host.printed()).toMatch(hidden);
    expect(host.printed()).not.toContain(secret.slice(0, 6));
  });

  it("reads a number beyond Unicode as no letter", async () => {
    const host = testHost();
    const screen = screenOn(host);
    screen.hideSecret("secret-12345678");
    await printList(screen, listOf("&#x110000;s&#x65;cret-12345678"));
    await printList(screen, listOf("&#x110000; &#x65; end"));
    expect(host.printed()).toBe(`${omitted}\n&#x110000; &#x65; end\n`);
  });

  it("keeps JSON valid", async () => {
    const host = testHost();
    const screen = screenOn(host, { json: true });
    for (const one of [secret, "12345678", "data", "null"]) screen.hideSecret(one);
    await printList(screen, listOf(`echo ${secret} 12345678 data null`));
    expect(host.printed()).toBe(`{"data":[{"id":"${omitted}"}]}\n`);
    await printDocument(screen, { count: 12345678, [secret]: null, data: [secret] });
    expect(host.printed().split("\n")[1]).toBe(`{"count":12345678,"${omitted}":null,"data":["${omitted}"]}`);
    await printFailure(screen, defect(secret));
    expect(JSON.parse(host.said()).error.message).toBe("internal error: ***");
  });

  it("omits a name in JSON only if it has the 8 letters of a secret", async () => {
    const host = testHost();
    const screen = screenOn(host, { json: true });
    for (const one of ["dataset", "database"]) screen.hideSecret(one);
    await printDocument(screen, { dataset: 1, database: "dataset" });
    expect(host.printed()).toBe(`{"dataset":1,"${omitted}":"${omitted}"}\n`);
  });

  it.each(["api-key", "TOKEN", "password", "passwd", "client-secret", "credential", "Auth"])(
    "covers the value of an option like --%s, also as a URL escapes it",
    async (name) => {
      for (const option of [`--${name}`, `-${name}`]) {
        const host = testHost();
        const argv = ["check", `${option}=%40-?!`];
        await openScreen({ host: { ...host, argv }, options: {} }).writeError(() => "%40-?! @-?!");
        expect(host.said()).toBe("*** ***");
      }
    },
  );

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
  ])("covers the password of a malformed URL in arguments and variables (row %$)", async (address) => {
    for (const argv of [["check", address], [`--base-url=${address}`]]) {
      const host = testHost();
      await openScreen({ host: { ...host, argv }, options: {} }).writeError(() => address);
      expect([host.said().includes("pass-w0rd"), host.said().includes("***")]).toEqual([false, true]);
    }
    for (const name of ["https_proxy", "HF_ENDPOINT", "ROLLCALL_BASE_URL", "ROLLCALL_LEDGER", "ROLLCALL_STORE"]) {
      const host = testHost({ env: { [name]: address } });
      await openScreen({ host, options: {} }).writeError(() => address);
      expect([name, host.said().includes("pass-w0rd")]).toEqual([name, false]);
    }
  });

  it("does not cover the path of a valid URL, and takes linear time", async () => {
    const host = testHost();
    const longName = "a".repeat(300_000);
    const argv = ["check", "https://host.example/qwen:7b-long@main", "hf://datasets/owner/name@revision", longName];
    await openScreen({ host: { ...host, argv }, options: {} }).writeError(() => argv.join(" "));
    expect(host.said()).toBe(argv.join(" "));
  });

  const long = `eyJ${"hbGci0iJ-".repeat(2000)}`;
  const several = "-----BEGIN KEY-----\nfirst-line-1234\nsecond-line-5678\n";
  it.each([
    ["covers the url-safe base64 of a secret, with - and _", ["sk-???>>>1234"], "c2stPz8_Pj4-MTIzNA", "***"],
    ["covers each line of a secret of several lines", [several], "a first-line-1234\nsecond-line-5678", "a ***\n***"],
    ["covers the start of a secret at a cut", ["sk/-1234"], "a sk/-12…", "a ***"],
    ["covers a long key, and its start at a cut", [long], `a ${long.slice(0, 3000)}… ${long} end`, "a *** *** end"],
    ["covers the start of a secret after other text that begins like it", ["abcd-efgh-ijkl"], "abcdabcde…", "***"],
    ["covers a secret with the long s", ["sk/-1234"], "\u017fk/-1234 end", "*** end"],
    ["shows three letters at a cut", ["sk/-1234"], "a sk/-1…", "a sk/-1…"],
    ["covers the longer of two secrets completely", ["skz-1234", "skz-1234-5678"], "a skz-1234-5678", "a ***"],
    [
      "covers other forms of letters",
      ["skz-1234"],
      "ｓｋｚ１２３４ ⓢⓚⓩ①②③④ 𝐬𝐤𝐳𝟏𝟐𝟑𝟒 ₛₖz₁₂₃₄ &#x1d42c;kz-1234",
      "*** *** *** *** ***",
    ],
    ["covers letters that were escaped four times", ["skz-1234"], "&#37;5Cu0026#115;kz-1234", "***"],
    [
      "covers a secret at the edge of a window",
      ["skz-1234"],
      `${"\n".repeat(65_532)}skz-1234\n`,
      `${"\n".repeat(65_532)}***\n`,
    ],
    [
      "covers a secret at the edge of a later window",
      ["skz-1234"],
      `${"\n".repeat(114_684)}skz-1234\n`,
      `${"\n".repeat(114_684)}***\n`,
    ],
    ["covers five letters only as they are", ["ab-c?de"], "abcde ab-c?de", "abcde ***"],
    ["covers a secret of few letters in entities", ["<\"&>'"], "&lt;&QUOT;&amp;&gt;&apos; &lt;&gt;", "*** &lt;&gt;"],
    ["ignores a secret of three letters or fewer", ["", " ", "a", "abc"], "abc a", "abc a"],
  ])("%s", async (_, secrets, text, shown) => {
    const host = testHost();
    const screen = screenOn(host);
    for (const one of secrets) screen.hideSecret(one);
    await screen.printText(text);
    expect(host.printed()).toBe(shown);
  });
});
