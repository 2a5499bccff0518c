import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redactSecrets, redactText } from "../../../src/rollouts/rules/known-secrets.ts";
import { Redactor } from "../../../src/rollouts/rules/redact-json.ts";
import { runHere } from "../../support/here.ts";
import { itHolds } from "../../support/property.ts";
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

/** The rules about secrets that the check reports for a message. */
const rulesOf = async (content: string): Promise<readonly string[]> => {
  const line = JSON.stringify({ messages_and_choices: [{ role: "assistant", content }], reward: 1 });
  const { stdout } = await runHere(["check", "--json"], { stdin: line });
  const { problems } = JSON.parse(stdout);
  return problems.map(({ rule }: { rule: string }) => rule).filter((rule: string) => rule.startsWith("secret"));
};

describe("the redaction of JSON", () => {
  it("replaces secrets that touch, and a secret in another once", () => {
    const token = "ghp_0aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP3lO";
    const key = (line: string) => `-----BEGIN PRIVATE KEY-----\\n${line}\\n-----END PRIVATE KEY-----`;
    const [line, mark] = ["m5Lq8Zt2Xw7Rv4Kc9Jd1Hg6Fs3", "[redacted: a private key]"];
    expect(redact(`"${key(line)}${key(line)}"`)).toBe(`"${mark}${mark}"`);
    expect(redact(`"${key(token)}"`)).toBe(`"${mark}"`);
    const parts = ["a", key(line), key(token), "b", key(line)];
    expect(redact(`"${parts.join("")}"`)).toBe(`"a${mark}${mark}b${mark}"`);
  });

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
    { quick: 40, slow: 1000 },
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
    { quick: 6, slow: 40 },
  );

  it("counts secrets by kind and path", () => {
    const redactor = new Redactor();
    redactor.redact(Buffer.from(`{"a":["ghp_${random}","ghp_${random}"],"b":"ghp_${random}","c":"hf_${random}"}`));
    expect(redactor.counts.map(({ path, count }) => [path, count])).toEqual([
      ["a[]", 2],
      ["b", 1],
      ["c", 1],
    ]);
  });

  it("keeps a name that only looks like a token, and replaces a token of random letters", () => {
    const name = '"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"';
    expect([redact(name), redact('"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"')]).toEqual([
      name,
      expect.stringMatching(/^"\[redacted: /),
    ]);
  });

  it("keeps JSON valid if a number is a secret", () => {
    const digits = "4040404040404040404040404040123569788882";
    const mark = "[redacted: an API key of Weights & Biases]";
    expect(redact(`{"wandb_api_key":${digits},"b":1.0}`)).toBe(`{"wandb_api_key":"${mark}","b":1.0}`);
  });

  const lines = "MIIEpAIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJ\n".repeat(30);
  it.each([
    ["an end", `-----BEGIN PRIVATE KEY-----\n${lines}-----END PRIVATE KEY-----`],
    [
      "line ends of Windows and headers",
      `-----BEGIN RSA PRIVATE KEY-----\r\nProc-Type: 4,ENCRYPTED\r\n\r\n${lines}-----END RSA PRIVATE KEY-----`,
    ],
    [
      "indents and line numbers",
      `-----BEGIN EC PRIVATE KEY-----\n${lines.replaceAll("\n", "\n  12 | ")}-----END EC PRIVATE KEY-----`,
    ],
    [
      "quotes",
      `-----BEGIN OPENSSH PRIVATE KEY-----\\n"\n  "${lines.replaceAll("\n", '\\n"\n  "')}-----END OPENSSH PRIVATE KEY-----`,
    ],
    [
      "a block of PGP",
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n${lines}=aB3d\n-----END PGP PRIVATE KEY BLOCK-----`,
    ],
  ])("redacts a whole private key with %s, also of JSON in a string", async (_, key) => {
    for (const text of [`a ${key} b`, JSON.stringify({ key: `a ${key} b` })]) {
      expect(redact(JSON.stringify([text]))).toContain("a [redacted: a private key] b");
      expect(await rulesOf(text)).toEqual(["secret-in-content"]);
    }
  });

  it("redacts a private key without an end up to the end of its string, and no mention of one", async () => {
    const head = "-----BEGIN PRIVATE KEY-----";
    expect(redact(JSON.stringify([`a ${head}\n${lines}`, "b"]))).toBe('["a [redacted: a private key]","b"]');
    const mention = JSON.stringify([`if "${head}" in text`, "b"]);
    expect(redact(mention)).toBe(mention);
    expect(redact(JSON.stringify([`${head} or ${head}\n${lines}`]))).toBe(`["${head} or [redacted: a private key]"]`);
  });

  const random = "bIJgCDdqpnffFICvUYT0PqNHDWfKFQao4RFs";
  const letters = "bIJgCDdqpnffFICvUYTsPqNHDWfKFQaoRFs";
  it.each([
    ["after a letter", `xghp_${random}`, `ghp_${random}`],
    ["after a point", `x.hf_${random}`, `hf_${random}`],
    ["after a dash", `x-AKIAKTTCDN6QDMZNIMPI`, "AKIAKTTCDN6QDMZNIMPI"],
    ["after an underscore", `x_sk-${random}`, `sk-${random}`],
    ["after a backslash", `C:\\keys\\sk-${random}`, `sk-${random}`],
    ["after an escape", `\u0085sk-${random}`, `sk-${random}`],
    ["of letters", `x.hf_${letters}`, `hf_${letters}`],
    ["in a header", `curl -H "Authorization: Bearer ${random}+/=" x`, `${random}+/=`],
    ["in a header of another name", `{'X-API-Key': '${random}'}`, random],
    ["in code that sets a header", `headers["x-goog-api-key"] = "${random}"`, random],
    ["in a formatted string of Python", `"Authorization": f"Bearer ${random}"`, random],
    ["on the line after its header", `x-api-key:\n${random}`, random],
    [
      "with the form of another key in a header",
      `X-API-Key: a_sntrys_${random}+${random}=`,
      `a_sntrys_${random}+${random}=`,
    ],
    ["with a user in a header", `Authorization: Basic ${random}`, random],
    ["in the URL of a database", `postgres://admin:${random}@db:5432/app`, random],
    ["in the URL of a webhook", `https://hooks.slack.com/services/T01ABCDEF/B01ABCDEFGH/${random}`, random],
    [
      "named in the environment",
      "EXA_API_KEY=0b1f7c52-9d3e-4a86-b5c0-2f6e8d7a9b14",
      "0b1f7c52-9d3e-4a86-b5c0-2f6e8d7a9b14",
    ],
  ])("finds a secret %s, as the check does", async (_, text, secret) => {
    for (const content of [text, JSON.stringify([text])]) {
      const json = JSON.stringify([content]);
      for (const line of [json, json.replaceAll(/[\u0080-\uffff]/g, "\\u0085"), json.replaceAll("/", "\\/")]) {
        expect(JSON.parse(redact(line))[0]).not.toContain(secret);
        expect(JSON.parse(redact(line))[0]).toContain("[redacted: ");
      }
      expect(await rulesOf(content)).toEqual(["secret-in-content"]);
    }
  });

  it.each([
    "task-implementation-of-the-thing-2024, me@example.com, postgres://postgres:postgres@localhost/db, https://x.com/@a1b2c3d4e5f6",
    ...[letters.toLowerCase(), letters.toUpperCase()].map((word) => `hf_${word}`),
    ...["Example", "EXAMPLE", "xxxx", "XxXx", "1234567", "AbcdEfgh", "Your", "..."].map(
      (word) => `ghp_${word}${random}`,
    ),
  ])("finds no secret in words, names, addresses and placeholders: %s", async (text) => {
    expect(redact(JSON.stringify(text))).toBe(JSON.stringify(text));
    expect(await rulesOf(text)).toEqual([]);
  });
});

/** `#` stands for 40 digits and letters, and `#16` for 16. */
const named = `an API key of Anthropic: sk-ant-#; an API key of OpenRouter: sk-or-#; an API key of OpenAI: sk-#;
  an API key of ElevenLabs: sk_#48; a secret key of Stripe: rk_live_#;
  an API key of Google: AIza#35; a token of GitHub: gho_#; a token of GitHub: github_pat_#; a token of GitLab: glpat-#;
  a token of Slack: xoxe-#; a token of Hugging Face: hf_#; a token of npm: npm_#; a token of PyPI: pypi-AgE#;
  an API key of Groq: gsk_#; an API key of xAI: xai-#; an API key of NVIDIA: nvapi-#; an API key of Together: tgp_v1_#;
  a token of Replicate: r8_#; an API key of Weights & Biases: wandb_v1_#; a JSON Web Token: eyJ#.eyJ#.#;
  an API key of SendGrid: SG.#.#; an API key of Daytona: dtn_#; an API key of E2B: e2b_#;
  an API key of LangSmith: lsv2_sk_#32_#10; an API key of Tavily: tvly-#; an API key of Prime Intellect: pit_#;
  an API key of Cerebras: csk-#; an API key of Perplexity: pplx-#48; an API key of Fireworks: fw_#;
  a token of Databricks: dapi#32; a token of Modal: as-#22; an API key of Weights & Biases: wandb_api_key=#;
  an API key of Exa: exa_api_key: #36; an API key in a header: x-api-key: #; an API key in a header: X_API_KEY = #;
  an API key in a header: api-key: #; a token in a header: Authorization: Bearer #; a token in a header: authorization=token #;
  a token in a header: authorization: Basic #; the URL of a Slack webhook: https://hooks.slack.com/services/T0/B000000/#;
  a password in a URL: https://user:#20@host; a secret key of Stripe: sk_test_#; a token of Slack: xapp-1-A0-12-#;
  a token of DigitalOcean: dop_v1_#64; a token of Vault: hvs.##64; a token of Grafana: glsa_#32_#8;
  a token of Sentry: sntrys_#; an API key of Postman: PMAK-#24-#34; a token of Shopify: shpat_#32;
  a password of PlanetScale: pscale_pw_#; a token of Notion: ntn_#; a token of Docker: dckr_pat_#27;
  a client secret of Google: GOCSPX-#28; an API key of Pinecone: pcsk_#64; an API key of Jina: jina_#64;
  an API key: COHERE_API_KEY=#; an API key: {"apikey": "#32"}; a secret key of AWS: aws_secret_access_key = #40`.split(
  /;\s+/,
);

describe("a known secret", () => {
  it.each(named)("has its name (row %$)", async (row) => {
    const [, kind = "", form = ""] = /^(.*?): (.*)$/.exec(row) ?? [];
    const content = form.replace(/#(\d*)/g, (_, length) => "9f8e7d6c5b4a3021".repeat(4).slice(0, Number(length || 40)));
    const line = JSON.stringify({ messages_and_choices: [{ role: "user", content }], reward: 1 });
    const { stdout } = await runHere(["check", "--json", "--fields", "warnings"], { stdin: line });
    expect(stdout).toContain(`this text looks like ${kind}"`);
    expect(redactText(content)).toContain("***");
  });
});

describe("a redacted text", () => {
  it.each(["amqp://a:", "amqp:\\/\\/a:"])("has no short password in a URL that begins with %s", (start) => {
    expect(redactText(`${start}9f8e7d6c@b`)).toBe(`${start}***@b`);
  });

  const key = "ghp_0aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP3lO";
  const privateKey = "-----BEGIN PRIVATE KEY-----\nm5Lq8Zt2Xw7Rv4Kc9Jd1Hg6Fs3\n-----END PRIVATE KEY-----";
  const [one, two] = [`α ${key} β`, `α ${privateKey} β ${key} γ`];
  it.each([
    [one, "[α] *** β"],
    [one, "α *** [β]"],
    [one, "[α *** β]"],
    [two, "α *** [β] *** γ"],
    [two, "α *** β *** [γ]"],
    [two, "[α *** β] *** γ"],
    [two, "α *** [β *** γ]"],
    ["α", "[α]"],
  ])("has the range of the text, moved by the secrets before it (row %$)", (text, marked) => {
    const plain = marked.replace(/[[\]]/g, "");
    const [first, last] = [marked.indexOf("["), marked.indexOf("]") - 1];
    const [from, to] = [first, last - 1].map((at) => text.indexOf(plain[at] ?? ""));
    expect(redactSecrets({ text, from: from ?? 0, to: (to ?? 0) + 1 })).toEqual({ text: plain, from: first, to: last });
  });

  it.each([
    [4, 9, 2, 5],
    [2, 42, 2, 5],
    [9, 44, 2, 7],
    [0, 5, 0, 5],
    [43, 44, 6, 7],
  ])("has the whole redaction if its range, from %i to %i, begins or ends in a secret", (from, to, first, last) => {
    expect(redactSecrets({ text: `a ${key} b`, from, to })).toEqual({ text: "a *** b", from: first, to: last });
  });
});
