import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Redactor } from "../../src/problems/redact-json.ts";
import { runHere } from "../support/here.ts";
import { itHolds } from "../support/property.ts";
import { secretKeys } from "./secret-keys.ts";

/** Writes a text as JSON. Each number decides the spelling of a character. */
const spell = (text: string, numbers: readonly number[]): string => {
  const units = Array.from(text, (character, at) => {
    const number = numbers[at % numbers.length] ?? 0;
    if (number === 0 && character === "/") return "\\/";
    if (number < 3) return JSON.stringify(character).slice(1, -1);
    const codes = character.split("").map((unit) => unit.charCodeAt(0).toString(16).padStart(4, "0"));
    return codes.map((code) => `\\u${number === 3 ? code : code.toUpperCase()}`).join("");
  });
  return `"${units.join("")}"`;
};

const numbers = fc.array(fc.nat({ max: 4 }), { minLength: 1, maxLength: 50 });
const starts = fc.oneof(
  fc.constant(""),
  fc
    .tuple(
      fc.string({ unit: "grapheme", maxLength: 20 }),
      fc.constantFrom(" ", "\n", ": ", "é", "/", '"', "\u0001", "😀"),
    )
    .map((parts) => parts.join("")),
);
const ends = fc.constantFrom("", " ", "é", '"', "; end", "\\ x", "😀");
/** The spellings of a string at each depth of JSON in strings. */
const depths = fc.array(numbers, { minLength: 1, maxLength: 3 });

const redact = (json: string) => new Redactor().redact(Buffer.from(json)).toString();

describe("the redaction of JSON", () => {
  itHolds(
    "replaces a secret in any spelling, in values, keys and JSON in strings, and keeps all other bytes",
    fc.property(starts, secretKeys, ends, depths, fc.boolean(), (start, { before, secret }, end, spellings, isKey) => {
      const texts = [`${start}${before}`, end];
      const [first = [], ...outer] = spellings;
      const inner = spell(texts.join(secret), first);
      const string = outer.reduce((json, each) => spell(`{"a\\/": [${json}, 1.0]}`, each), inner);
      const around = ['{"a":9007199254740993, ', isKey ? ': 1e400,"b":"\\u0041"}' : ',"b":"\\u0041"}'] as const;
      const redacted = redact(`${around[0]}${isKey ? "" : '"c" : '}${string}${around[1]}`);
      expect(redacted.startsWith(around[0]) && redacted.endsWith(around[1])).toBe(true);
      let value: unknown = JSON.parse(
        redacted.slice(around[0].length + (isKey ? 0 : '"c" : '.length), -around[1].length),
      );
      for (const _ of outer) value = JSON.parse(String(value))["a/"][0];
      expect(String(value).replace(/\[redacted: [^\]]+\]/, "◆")).toBe(texts.join("◆"));
    }),
    { quick: 100, slow: 3000 },
  );

  itHolds(
    "leaves no secret for the check",
    fc.asyncProperty(
      fc.array(secretKeys, { minLength: 1, maxLength: 4 }),
      fc.constantFrom("", ".", "a", "\n"),
      async (keys, glue) => {
        const content = keys.map(({ before, secret }) => before + secret).join(glue);
        const line = JSON.stringify({ messages_and_choices: [{ role: "assistant", content }], reward: 1 });
        const { stdout } = await runHere(["convert", "--redact", "-q"], { stdin: line });
        const checked = await runHere(["check", "--json"], { stdin: stdout });
        expect(checked.stdout).not.toContain("secret-in-content");
      },
    ),
    { quick: 10, slow: 100 },
  );

  it("keeps JSON valid if a number is a secret", () => {
    const digits = "4040404040404040404040404040123569788882";
    const mark = "[redacted: an API key of Weights & Biases]";
    expect(redact(`{"wandb_api_key":${digits},"b":1.0}`)).toBe(`{"wandb_api_key":"${mark}","b":1.0}`);
  });

  it("redacts a whole private key, also of JSON in a string", () => {
    const key = `-----BEGIN PRIVATE KEY-----\n${"MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJ\n".repeat(30)}-----END PRIVATE KEY-----\nbye`;
    for (const text of [key, JSON.stringify({ key })])
      expect(redact(JSON.stringify([text])).replaceAll("\\", "")).toMatch(/KEY-----n\[redacted: a private key\]nbye/);
  });
});
