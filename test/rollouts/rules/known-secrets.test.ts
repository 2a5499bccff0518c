import { describe, expect, it } from "vitest";
import { redactSecrets, redactText } from "../../../src/rollouts/rules/known-secrets.ts";
import { messages, problemsIn, question } from "../../support/problems.ts";

const random = "0aZ3bY4cX5dW6eV7fU8gT9hS0iR1jQ2kP3lO";

/** The kinds of secrets that are reported in the content of an answer. */
const kindsIn = async (content: string) => {
  const problems = await problemsIn(messages(question, JSON.stringify({ role: "assistant", content })));
  return problems.flatMap(({ rule, message }) =>
    rule === "secret-in-content" ? message.replace("this text looks like ", "") : [],
  );
};

/** `#` stands for 40 letters and digits, and `#16` for 16. */
const forms = `an API key of Anthropic: sk-ant-#; an API key of OpenRouter: sk-or-#; an API key of OpenAI: sk-#;
  an API key of OpenAI: sk-proj-#; a secret key of Stripe: rk_live_#; a secret key of Stripe: sk_test_#;
  an access key of AWS: AKIA2H3J4K5L6M7N8P9Q; an access key of AWS: ASIA2H3J4K5L6M7N8P9Q;
  an API key of Google: AIza#35; a token of GitHub: ghp_#; a token of GitHub: gho_#; a token of GitHub: ghu_#;
  a token of GitHub: ghs_#; a token of GitHub: ghr_#; a token of GitHub: github_pat_#; a token of GitLab: glpat-#;
  a token of Slack: xoxa-#; a token of Slack: xoxb-#; a token of Slack: xoxe-#; a token of Slack: xoxo-#;
  a token of Slack: xoxp-#; a token of Slack: xoxr-#; a token of Slack: xoxs-#; a token of Hugging Face: hf_#;
  a token of npm: npm_#36; a token of PyPI: pypi-AgE#; an API key of Groq: gsk_#; an API key of xAI: xai-#;
  an API key of NVIDIA: nvapi-#; an API key of Together: tgp_v1_#; an API key of Weights & Biases: wandb_v1_#;
  a token of Replicate: r8_#; a private key: -----BEGIN RSA PRIVATE KEY-----\n#;
  a private key: -----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n#`.split(/;\s+/);

describe("secret-in-content", () => {
  it.each(forms)("knows each form of a key (row %$)", async (row) => {
    const [, kind = "", form = ""] = /^(.*?): (.*)$/s.exec(row) ?? [];
    const key = form.replace(/#(\d*)/, (_, length) => `${random}9f8e`.slice(0, Number(length || 40)));
    for (const content of [key, `KEY=${key} x`, `a\n${key}`, JSON.stringify([`x\n${key}`]), `x-${key}`])
      expect([content, ...(await kindsIn(content))]).toEqual([content, kind]);
    expect(redactText(`a ${key} b`)).toMatch(/^a \*\*\*/);
  });

  it.each([
    "task-implementation-of-the-thing-2024, format_string_of_the_thing_2024, flat-earth_0123456789abcdef",
    ...["hf_bijgcddqpnfffvcvuytspqnhdwfkfqaorfs", "hf_BIJGCDDQPNFFFICVUYTSPQNHDWFKFQAORFS"],
    ...["Example", "xxxx", "1234567", "AbcdEfgh", "Your", "..."].map((word) => `ghp_${word}${random}`),
    `xghp_${random}`,
    `commit ${"4f0c9b1d7a3e5826".repeat(2)}4f0c9b1d`,
    "-----BEGIN PRIVATE KEY----- begins a private key",
  ])("is not reported for words, names and placeholders: %s", async (text) => {
    expect(await kindsIn(text)).toEqual([]);
  });

  it("is reported once for each of several keys of a text", async () => {
    const text = `sk-ant-${random} sk-${random}-sk-${random}, hf_${random}`;
    const problems = await problemsIn(messages(question, JSON.stringify({ role: "assistant", content: text })));
    const [first] = problems.filter(({ rule }) => rule === "secret-in-content");
    expect(first).toMatchObject({ message: "this text looks like an API key of Anthropic", others: { count: 2 } });
  });

  it.each(["sk-", "-----BEGIN PRIVATE KEY-----\n"])("accepts %s before six million letters", async (start) => {
    const content = start + "Ab3dEfGh1JkLmN0p".repeat(400_000);
    expect(await kindsIn(content)).toHaveLength(1);
  });

  it("takes linear time for heads of private keys without a key", async () => {
    expect(await kindsIn("-----BEGIN PRIVATE KEY-----".repeat(20_000))).toEqual([]);
  });
});

describe("a redacted text", () => {
  const key = `ghp_${random}`;
  const [one, two] = [`α ${key} β`, `α ${key} β sk-${random} γ`];
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
