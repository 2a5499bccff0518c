import { Failure, type FailureLocation } from "../failure.ts";
import { findNearest } from "../text/nearest.ts";
import { describeSystemCode, formatPosition, formatSuggestion, inProfile } from "../text/sentences.ts";
import type { CredentialUse } from "../wire/contract/endpoint.ts";
import { useTargets } from "./values.ts";

const formatWhere = (where: FailureLocation, profile?: string) => {
  const name = where.option ?? where.environment;
  if (name !== undefined || where.file === undefined) return name ?? "";
  return `${formatPosition(where)}${profile ? `, profile ${profile}` : ""}`;
};

/** The caller redacts `value`. */
export const invalidSetting = (
  invalid: Record<"setting" | "value" | "wanted", string> & { where: FailureLocation; profile?: string | undefined },
) => {
  const { setting, value, wanted, where, profile } = invalid;
  const from = formatWhere(where, profile);
  const message = `invalid ${setting} "${value}"${from === "" ? "" : ` (${from})`}: expected ${wanted}`;
  return new Failure("usage", "setting-invalid", message, { where });
};

const fileHint = "correct the file, or move it away";

export const invalidSettingsFile = (fault: string, where: FailureLocation, hint = fileHint) =>
  new Failure("usage", "invalid-settings-file", `cannot use ${formatWhere(where)}: ${fault}`, { hint, where });

type UnknownProfile = Readonly<{ known: readonly string[]; where: FailureLocation; hint?: string }>;

export const unknownProfile = (profile: string, { known, where, hint }: UnknownProfile) => {
  const usualHint = `create it with \`rollcall auth login --profile ${profile} --base-url <url>\``;
  const message = `unknown profile "${profile}" (profiles: ${known.join(", ")})`;
  const details = { ...formatSuggestion(findNearest(profile, known), hint ?? usualHint), subject: profile, where };
  return new Failure("usage", "unknown-profile", message, details);
};

const secretFaults = {
  empty: "it is empty",
  "line-end": "it has more than one line",
  characters: "it contains white space or characters that headers cannot contain",
  "utf-16": "it is UTF-16 text",
  quoted: "it is in quotes",
  placeholder: "it is a placeholder, not a key",
  long: "it is longer than 64 KiB",
  setting: "it is also the value of a setting",
};

type SecretFault = keyof typeof secretFaults;

export const invalidCredential = (from: string, fault: SecretFault, where: FailureLocation = {}) => {
  const hints: Partial<Record<SecretFault, string>> = {
    "utf-16": "write the file as UTF-8 (in PowerShell: `Set-Content -Encoding ascii -NoNewline`)",
    quoted: "give the key without quotes",
    placeholder: "replace it with your own key",
    setting: "log in again, and answer only the last question with the key",
  };
  const hint =
    fault === "characters"
      ? "give only the key, or give the password for `rollcall call read` with ROLLCALL_PASSWORD or `rollcall auth login --for calls`"
      : (hints[fault] ?? "give only the key, on one line");
  const message = `cannot use the key from ${from}: ${secretFaults[fault]}`;
  return new Failure("usage", "invalid-credential", message, { hint, where });
};

export const unreadableCredentialFile = (
  where: Record<"environment" | "file", string>,
  code: string,
  cause: unknown,
) => {
  const message = `cannot read ${where.file}, the file that ${where.environment} names: ${describeSystemCode(code)}`;
  const hint = `set ${where.environment} to a file that contains the key`;
  return new Failure("usage", "unreadable-credential-file", message, { hint, where, cause });
};

type LoginAdvice = Readonly<Record<"profile" | "origin" | "login", string> & { use: CredentialUse }>;

export const credentialMissing = ({ use, origin, profile, login }: LoginAdvice) => {
  const message = `${useTargets[use].command} needs a key for ${origin}, but profile ${profile} has no such key`;
  return new Failure("auth", "credential-missing", message, { hint: `run \`${login}\`, or set ROLLCALL_API_KEY` });
};

/** `urlFrom` is the option, variable or setting with the URL. */
export const credentialWrongOrigin = (advice: LoginAdvice, saved: Record<"boundOrigin" | "urlFrom", string>) => {
  const { use, origin, profile, login } = advice;
  const { boundOrigin, urlFrom } = saved;
  const message = `the key for ${use} in the profile "${profile}" belongs to ${boundOrigin}, so rollcall does not send it to ${origin}`;
  return new Failure("auth", "credential-wrong-origin", message, {
    hint: `check ${urlFrom}, or save a key for ${origin}: \`${login}\``,
  });
};

export const loginKeyMissing = (why: "no-terminal" | "empty") => {
  const message = why === "empty" ? "no key was given" : "cannot ask for the key: standard input is not a terminal";
  const hint = "to give the key on standard input, run the same command with `--with-token < key-file`";
  return new Failure("usage", "login-key-missing", message, { hint });
};

export const folderUnknown = (kind: "settings" | "data") => {
  const variable = kind === "settings" ? "ROLLCALL_CONFIG_DIR" : "ROLLCALL_DATA_DIR";
  const message = `cannot locate the folder for ${kind}: neither ${variable} nor an absolute HOME is set`;
  return new Failure("storage", "folder-unknown", message, { hint: `set ${variable} to a folder` });
};

export const inaccessibleFile = (action: "read" | "write", file: string, code: string, cause?: unknown) => {
  const details = { hint: "choose another folder with ROLLCALL_CONFIG_DIR", where: { file }, cause };
  const message = `cannot ${action} ${file}: ${describeSystemCode(code)}`;
  return new Failure("storage", "inaccessible-file", message, details);
};

/** `option` passes a URL that the profile lacks. */
export const loginCommand = (profile: string, use?: CredentialUse, option?: string) =>
  [inProfile("rollcall auth login", profile), use && `--for ${use}`, option].filter(Boolean).join(" ");
