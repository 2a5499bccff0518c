/** Failures of settings, profiles and credentials. */
import type { CredentialUse } from "../contract/endpoint.ts";
import { Failure, type FailureDetails, type FailureLocation, type Problem } from "../failure.ts";
import { findNearest } from "../nearest.ts";
import { describeSystemCode, didYouMean } from "../sentences.ts";

/** The location of a value in a sentence; empty if it has none. */
const formatWhere = ({ option, environment, file, line, column }: FailureLocation, profile?: string): string => {
  const named = option ?? environment;
  if (named !== undefined || file === undefined) return named ?? "";
  const position = line === undefined ? "" : `:${line}:${column ?? 1}`;
  return `${file}${position}${profile === undefined ? "" : `, profile ${profile}`}`;
};

/** @param ways to set it @param isLocal true if the local service needs none */
export const settingUnset = (setting: string, ways: readonly string[], isLocal: boolean): Failure => {
  const without = isLocal ? "; with --local, the service inside this program needs none" : "";
  const about = { hint: `${ways.join(", ")}${without}`, where: { setting } };
  return new Failure("usage", "setting-missing", `no ${setting} is set`, about);
};

/** A value that a setting does not take, without its secrets, and the profile that it is saved in. */
interface InvalidValue {
  setting: string;
  value: string;
  wanted: string;
  suggestion?: string | undefined;
  where: FailureLocation;
  profile?: string | undefined;
}

export const invalidSetting = ({ setting, value, wanted, suggestion, where, profile }: InvalidValue): Failure => {
  const from = formatWhere(where, profile);
  const message = `${setting} can't be "${value}"${from === "" ? "" : ` (${from})`}: it takes ${wanted}`;
  return new Failure("usage", "setting-invalid", message, { ...didYouMean(suggestion), where });
};

export const unknownSetting = (name: string, suggestion: string | undefined): Failure => {
  const hint = didYouMean(suggestion, "`rollcall config list` lists what there is");
  return new Failure("usage", "setting-unknown", `there is no setting "${name}"`, hint);
};

export const secretAsSetting = (name: string): Failure =>
  new Failure("usage", "setting-unknown", `${name} is a secret, not a setting`, {
    hint: "`rollcall auth login` saves a key",
  });

export const unreadableImport = (file: string, code: string, cause?: unknown): Failure =>
  new Failure("invalid_input", "unreadable-import", `can't read ${file}: ${describeSystemCode(code)}`, {
    hint: "give a file that `rollcall config export` wrote, or - for standard input",
    where: { file },
    cause,
  });

export const invalidImportFile = (wrong: string, where: FailureLocation): Failure =>
  new Failure("invalid_input", "invalid-import-file", `${formatWhere(where)} can't be imported: ${wrong}`, {
    hint: "give a file that `rollcall config export` wrote; nothing was saved",
    where,
  });

export const invalidImportSettings = (from: string, problems: readonly Problem[]): Failure => {
  const count = problems.length === 1 ? "one setting" : `${problems.length} settings`;
  const about = { hint: "correct the file; nothing was saved", problems };
  return new Failure(
    "invalid_input",
    "invalid-import-settings",
    `${from} can't be imported: ${count} can't be used`,
    about,
  );
};

export const invalidSettingsFile = (wrong: string, where: FailureLocation): Failure =>
  new Failure("usage", "invalid-settings-file", `${formatWhere(where)} can't be used: ${wrong}`, {
    hint: "correct it, or move it away; rollcall leaves it as it is",
    where,
  });

export const profileExists = (profile: string): Failure =>
  new Failure("usage", "profile-exists", `there is a profile "${profile}" already`, {
    hint: `give another name, or \`rollcall profile delete ${profile}\` first`,
  });

/** @param where it is named: if that is a file, the saved choice has to go @param way to make it */
export const unknownProfile = (
  profile: string,
  { known, where, way }: { known: readonly string[]; where: FailureLocation; way?: string },
): Failure => {
  const make = way ?? `\`rollcall auth login --profile ${profile}\` makes it`;
  const hint = where.file === undefined ? make : "`rollcall profile use default` goes back to the default";
  const message = `there is no profile "${profile}"; there are ${known.join(", ")}`;
  const about = { ...didYouMean(findNearest(profile, known), hint), subject: profile, where };
  return new Failure("usage", "unknown-profile", message, about);
};

/** Why a text cannot be sent as a secret. */
export const secretFaults = {
  empty: "it is empty",
  "line-end": "it has more than one line",
  control: "it holds control characters",
  "white-space": "it holds white space",
  "not-ascii": "it holds characters that no header can carry",
  long: "it is longer than 64 KiB",
};

export const invalidCredential = (
  from: string,
  wrong: keyof typeof secretFaults,
  where: FailureLocation = {},
): Failure => {
  const isPassword = wrong === "control" || wrong === "white-space" || wrong === "not-ascii";
  const forCalls = "ROLLCALL_PASSWORD, or `rollcall auth login --for calls`";
  const hint = isPassword
    ? `give the key alone; such characters can be in a password for call read: ${forCalls}`
    : "give the key alone, on one line";
  const message = `the key from ${from} can't be used: ${secretFaults[wrong]}`;
  return new Failure("usage", "invalid-credential", message, { hint, where });
};

export const duplicateCredential = (variable: string, fileVariable: string): Failure =>
  new Failure("usage", "duplicate-credential", `${variable} and ${fileVariable} are both set`, {
    hint: "unset one of them",
  });

export const unreadableCredentialFile = (
  variable: string,
  file: string,
  code: string,
  about: FailureDetails = {},
): Failure => {
  const message = `the file that ${variable} names can't be read: ${file} (${describeSystemCode(code)})`;
  const hint = `let ${variable} name a file that holds the key`;
  return new Failure("usage", "unreadable-credential-file", message, { hint, ...about });
};

export const credentialCommandFailed = (program: string, why: string): Failure =>
  new Failure("auth", "credential-command-failed", `the credential_command ${program} gave no key: ${why}`, {
    hint: "run it by hand to see what it says: rollcall shows nothing of it",
  });

/** The requests of a use. */
interface CredentialTarget {
  use: CredentialUse;
  origin: string;
  profile: string;
}

export const credentialMissing = ({ use, origin, profile }: CredentialTarget): Failure =>
  new Failure("auth", "credential-missing", `there is no credential for ${use} at ${origin} (profile ${profile})`, {
    hint: `\`${loginCommand(profile)}\`, or ROLLCALL_API_KEY=…`,
  });

/** @param boundTo the origin of the saved credential */
export const credentialWrongOrigin = ({ use, origin, profile }: CredentialTarget, boundTo: string): Failure => {
  const message = `the credential for ${use} in the profile ${profile} belongs to ${boundTo} and does not go to ${origin}`;
  const hint = `to log in there: ${loginCommand(profile, use, origin)}`;
  return new Failure("auth", "credential-wrong-origin", message, { hint });
};

export const loginKeyMissing = (how: "no-terminal" | "empty"): Failure => {
  const message = how === "empty" ? "no key was given" : "there is no terminal to ask for the key on";
  const hint = "give it on standard input: `rollcall auth login --with-token < key-file`";
  return new Failure("usage", "login-key-missing", message, { hint });
};

/** The only password that fits is in a file that others may read. */
export const passwordFileNotPrivate = ({
  path,
  title,
  file,
}: {
  path: string;
  title: string;
  file: string;
}): Failure => {
  const message = `${title}, ${path}, asks for a password, and the one in ${file} is not used: others may read that file`;
  return new Failure("auth", "password-file-not-private", message, { hint: `chmod 600 ${file}` });
};

export const folderUnknown = (what: "settings" | "data"): Failure => {
  const variable = what === "settings" ? "ROLLCALL_CONFIG_DIR" : "ROLLCALL_DATA_DIR";
  const message = `there is no folder for ${what}: neither ${variable} nor a home is set`;
  return new Failure("storage", "folder-unknown", message, { hint: `${variable}=<folder>` });
};

export const inaccessibleFile = (doing: "read" | "write", file: string, code: string, cause?: unknown): Failure =>
  new Failure("storage", "inaccessible-file", `can't ${doing} ${file}: ${describeSystemCode(code)}`, {
    hint: "ROLLCALL_CONFIG_DIR=<folder> names another place",
    where: { file },
    cause,
  });

/** Others write to the same file all the time. */
export const settingsLocked = (file: string): Failure =>
  new Failure("storage", "settings-locked", `other processes keep holding the lock ${file}`, {
    hint: "run it again when they are done",
    where: { file },
    retryable: true,
  });

/** The system knows no home of the user, and what writes settings asks for one. */
export const homeMissing = (cause: unknown): Failure =>
  new Failure("storage", "home-missing", "the system knows no home of this user, so nothing can be saved", {
    hint: "HOME=<folder> names one",
    where: { environment: "HOME" },
    cause,
  });

/** The command line that logs in. */
export const loginCommand = (profile: string, use?: CredentialUse, at?: string): string => {
  const option = use === "inference" ? "--inference-base-url" : use === "log" ? "--log-base-url" : "--base-url";
  return [
    "rollcall auth login",
    ...(profile === "default" ? [] : [`--profile ${profile}`]),
    ...(use === undefined ? [] : [`--for ${use}`]),
    ...(at === undefined ? [] : [`${option} ${at}`]),
  ].join(" ");
};
