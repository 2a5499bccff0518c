/** Arbitrary secrets of well-known services that are not placeholders. */
import fc from "fast-check";

const formats = [
  ...[/^sk-ant-[\w-]{30}$/, /^sk-or-[\w-]{30}$/, /^sk-[\w-]{30}$/, /^[sr]k_live_[A-Za-z0-9]{24}$/],
  ...[/^A[KS]IA[A-Z0-9]{16}$/, /^AIza[\w-]{35}$/, /^gh[pousr]_[A-Za-z0-9]{36}$/, /^github_pat_\w{30}$/],
  ...[/^glpat-[\w-]{20}$/, /^xox[abeoprs]-[A-Za-z0-9-]{20}$/, /^hf_[A-Za-z0-9]{34}$/, /^npm_[A-Za-z0-9]{36}$/],
  ...[/^gsk_[A-Za-z0-9]{52}$/, /^xai-[A-Za-z0-9]{80}$/, /^nvapi-[\w-]{64}$/, /^tgp_v1_[\w-]{43}$/],
  ...[/^r8_[A-Za-z0-9]{37}$/, /^wandb_v1_[\w-]{70}$/, /^eyJ[\w-]{17}\.eyJ[\w-]{30,900}\.[\w-]{43}$/],
  ...[/^dtn_[a-f0-9]{64}$/, /^e2b_[a-f0-9]{40}$/, /^lsv2_pt_[a-f0-9]{32}_[a-f0-9]{10}$/, /^tvly-[A-Za-z0-9]{32}$/],
  ...[/^sk_[a-f0-9]{48}$/, /^pit_[a-f0-9]{64}$/, /^csk-[a-z0-9]{48}$/, /^pplx-[A-Za-z0-9]{48}$/, /^dapi[a-f0-9]{32}$/],
  ...[/^fw_[A-Za-z0-9]{22}$/, /^ak-[A-Za-z0-9]{22}$/],
  ...[/^pypi-AgE[\w-]{30}$/, /^SG\.[\w-]{16}\.[\w-]{16}$/],
];

const isMadeUp = /example|x{4}|1234567|abcdefgh|your|\.\.\./i;

/** The text that precedes a secret, and the secret. */
export const secretKeys = fc
  .oneof(
    ...formats.map((format) => fc.stringMatching(format).map((secret) => ({ before: "", secret }))),
    fc.stringMatching(/^[0-9a-f]{40}$/).map((secret) => ({ before: "WANDB_API_KEY=", secret })),
    fc.stringMatching(/^[A-Za-z0-9]{64}$/).map((line) => ({
      before: "",
      secret: `-----BEGIN RSA PRIVATE KEY-----\n${line}\n-----END RSA PRIVATE KEY-----`,
    })),
  )
  // A short text, or one without a digit, is a placeholder in a document.
  .filter(({ secret }) => new Set(secret).size > 14 && /\d/.test(secret.slice(8)) && !isMadeUp.test(secret));
