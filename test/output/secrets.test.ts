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
import { openRunCleaner, Screen } from "../../src/output/screen.ts";
import { readSavedSecrets } from "../../src/settings/saved-files.ts";
import { testHost } from "../support/host.ts";
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
    ["JSON", { json: true }, async (screen, text) => await printList(screen, listOf(text))],
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

  it.each(places)("covers the spellings in %s", async (_, typed, print) => {
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
      { numRuns: 5 },
    );
  });

  it("omits a text from outside in JSON whatever escapes its letters have", async () => {
    const host = testHost();
    const screen = screenOn(host, { json: true });
    screen.hideSecret("k3y-12345678");
    await screen.print(['{"a":"x \\u006b3y-1234\\u0035678","b":"\\u0071"}\n'], "json");
    expect(host.printed()).toBe(`{"a":"${omitted}","b":"\\u0071"}\n`);
  });

  it.each(["key-of-the-c", "-of-the-cases'", "key-of-the-case..."])(
    "omits a text from outside with %s, a part of key-of-the-cases",
    async (part) => {
      const host = testHost();
      const screen = screenOn(host, { json: true });
      screen.hideSecret("key-of-the-cases");
      await screen.print([`{"a":"invalid key '${part}","b":"key-of-the"}\n`], "json");
      expect(host.printed()).toBe(`{"a":"${omitted}","b":"key-of-the"}\n`);
      expect(screen.cleaner.outside(`invalid key '${part}`)).toBe(omitted);
    },
  );

  it("names a variable that nothing replaced by its value", () => {
    const { redact } = openRunCleaner(testHost({ env: { ROLLCALL_API_KEY: "ROLLCALL_API_KEY" } }));
    expect(redact("the key from ROLLCALL_API_KEY")).toBe("the key from ROLLCALL_API_KEY");
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
    const screen = new Screen({ host, options: {} }, cleaner);
    screen.trace("proxy-pass typed-word p%40ss-word p@ss-word saved-key file-key file-pass 4000");
    return screen.writeError(() => "").then(() => expect(host.said()).toBe(`${"*** ".repeat(7)}4000\n`));
  });

  it("covers a secret before a long text is cut", async () => {
    const host = testHost({ terminal: { stdout: true, columns: 100 } });
    const screen = screenOn(host);
    screen.hideSecret(secret);
    const long = (length: number): string => `${"x".repeat(length)} ${secret}`;
    const lines = [{ label: "a", text: long(1990) }];
    await printPage(screen, { sections: [{ title: long(290), lines }], isFull: false });
    expect(host.printed()).toMatch(hidden);
    expect(host.printed()).not.toContain(secret.slice(0, 6));
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
        await new Screen({ host: { ...host, argv }, options: {} }).writeError(() => "%40-?! @-?!");
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
  ])("covers the password of a malformed URL in arguments and variables (row %$)", async (address) => {
    for (const argv of [["check", address], [`--base-url=${address}`]]) {
      const host = testHost();
      await new Screen({ host: { ...host, argv }, options: {} }).writeError(() => address);
      expect([host.said().includes("pass-w0rd"), host.said().includes("***")]).toEqual([false, true]);
    }
    for (const name of ["https_proxy", "ROLLCALL_BASE_URL", "ROLLCALL_LEDGER", "ROLLCALL_STORE"]) {
      const host = testHost({ env: { [name]: address } });
      await new Screen({ host, options: {} }).writeError(() => address);
      expect([name, host.said().includes("pass-w0rd")]).toEqual([name, false]);
    }
  });

  it("does not cover the path of a valid URL, and takes linear time", async () => {
    const host = testHost();
    const longName = "a".repeat(300_000);
    const argv = ["check", "https://host.example/qwen:7b-long@main", longName];
    await new Screen({ host: { ...host, argv }, options: {} }).writeError(() => argv.join(" "));
    expect(host.said()).toBe(argv.join(" "));
  });

  const several = "-----BEGIN KEY-----\nfirst-line-1234\nsecond-line-5678\n";
  it.each([
    ["covers the url-safe base64 of a secret, with - and _", ["sk-???>>>1234"], "a c2stPz8_Pj4-MTIzNA b", "a *** b"],
    ["covers each line of a secret of several lines", [several], "a first-line-1234\nsecond-line-5678", "a ***\n***"],
    ["covers the longer of two secrets completely", ["skz-1234", "skz-1234-5678"], "a skz-1234-5678", "a ***"],
    ["covers a part of a word", ["skz-1234"], "key=skz-1234;", "key=***;"],
    ["ignores a secret of three letters or fewer", ["", " ", "a", "abc"], "abc a", "abc a"],
  ])("%s", async (_, secrets, text, shown) => {
    const host = testHost();
    const screen = screenOn(host);
    for (const one of secrets) screen.hideSecret(one);
    await screen.printText(text);
    expect(host.printed()).toBe(shown);
  });
});
