/** Failures of settings, profiles and credentials. */
import type { CredentialUse } from "../contract/endpoint.ts";
import { type About, Failure, type Problem, type Where } from "../failure.ts";
import { didYouMean, systemWords } from "../sentences.ts";

/** @param setting its name; `example` is a value of its form, and `local` whether the local service needs none */
export const settingUnset = ({
  setting,
  environment,
  option,
  example = "…",
  local,
  profile,
}: {
  setting: string;
  environment: string;
  option: string | undefined;
  example: string | undefined;
  local: boolean;
  /** The profile in force, if it is not the default. */
  profile: string | undefined;
}): Failure => {
  const ways = [
    ...(option === undefined ? [] : [`${option} ${example}`]),
    `${environment}=${example}`,
    `or \`rollcall config set ${setting} ${example}${profile === undefined ? "" : ` --profile ${profile}`}\``,
  ];
  return new Failure("usage", "setting-missing", `no ${setting} is set`, {
    hint: ways.join(", ").concat(local ? "; with --local, the service inside this program needs none" : ""),
    where: { setting },
  });
};

/** @param value without what may not be shown @param profile the one that it is saved in */
export const settingWrong = ({
  setting,
  value,
  wanted,
  suggestion,
  where,
  profile,
}: {
  setting: string;
  value: string;
  wanted: string;
  suggestion?: string | undefined;
  where: Where;
  profile?: string | undefined;
}): Failure => {
  const from = origin(where, profile);
  const message = `${setting} can't be "${value}"${from === "" ? "" : ` (${from})`}: it takes ${wanted}`;
  return new Failure("usage", "setting-wrong", message, { ...didYouMean(suggestion), where });
};

/** @param secret whether it is the name of something secret */
export const settingUnknown = ({
  name,
  secret,
  suggestion,
}: {
  name: string;
  secret: boolean;
  suggestion: string | undefined;
}): Failure =>
  secret
    ? new Failure("usage", "setting-unknown", `${name} is a secret, not a setting`, {
        hint: "`rollcall auth login` saves a key",
      })
    : new Failure("usage", "setting-unknown", `there is no setting "${name}"`, {
        ...didYouMean(suggestion, "`rollcall config list` lists what there is"),
      });

export const importUnreadable = ({ from, code, cause }: { from: string; code: string; cause?: unknown }): Failure =>
  new Failure("invalid_input", "import-unreadable", `can't read ${from}: ${systemWords(code)}`, {
    hint: "give a file that `rollcall config export` wrote, or - for standard input",
    where: { file: from },
    cause,
  });

/** What is to be imported is no JSON object. */
export const importBroken = ({ wrong, where }: { wrong: string; where: Where }): Failure =>
  new Failure("invalid_input", "import-broken", `${origin(where)} can't be imported: ${wrong}`, {
    hint: "give a file that `rollcall config export` wrote; nothing was saved",
    where,
  });

/** Some of what is to be imported can't be saved. */
export const importRefused = (from: string, problems: readonly Problem[]): Failure => {
  const count = problems.length === 1 ? "one setting" : `${problems.length} settings`;
  return new Failure("invalid_input", "import-refused", `${from} can't be imported: ${count} can't be used`, {
    hint: "correct the file; nothing was saved",
    problems,
  });
};

export const profileExists = (profile: string): Failure =>
  new Failure("usage", "profile-exists", `there is a profile "${profile}" already`, {
    hint: `give another name, or \`rollcall profile delete ${profile}\` first`,
  });

/** @param how a login makes it, `--create` does, or the saved choice of it has to go */
export const profileUnknown = ({
  profile,
  known,
  how,
  suggestion,
  where,
}: {
  profile: string;
  known: readonly string[];
  how: "login" | "create" | "use";
  suggestion: string | undefined;
  where: Where;
}): Failure => {
  const hints = {
    login: `\`rollcall auth login --profile ${profile}\` makes it`,
    create: "--create makes it",
    use: "`rollcall profile use default` goes back to the default",
  };
  const message = `there is no profile "${profile}"; there are ${known.join(", ")}`;
  return new Failure("usage", "profile-unknown", message, {
    ...didYouMean(suggestion, hints[how]),
    detail: profile,
    where,
  });
};

/** A saved file that can't be understood; it stays as it is. */
export const settingsBroken = ({ wrong, where }: { wrong: string; where: Where }): Failure =>
  new Failure("usage", "settings-broken", `${origin(where)} can't be used: ${wrong}`, {
    hint: "correct it, or move it away; rollcall leaves it as it is",
    where,
  });

export const credentialTwice = ({ variable, fileVariable }: { variable: string; fileVariable: string }): Failure =>
  new Failure("usage", "credential-twice", `${variable} and ${fileVariable} are both set`, {
    hint: "unset one of them",
  });

export const credentialFileUnreadable = (
  { variable, file, code }: { variable: string; file: string; code: string },
  about: About = {},
): Failure => {
  const message = `the file that ${variable} names can't be read: ${file} (${systemWords(code)})`;
  return new Failure("usage", "credential-file-unreadable", message, {
    hint: `let ${variable} name a file that holds the key`,
    ...about,
  });
};

/** Why a text can't be sent as a secret. */
export type SecretFault = "empty" | "line-end" | "control" | "white-space" | "not-ascii" | "long";

const secretFaults: Readonly<Record<SecretFault, string>> = {
  empty: "it is empty",
  "line-end": "it has more than one line",
  control: "it holds control characters",
  "white-space": "it holds white space",
  "not-ascii": "it holds characters that no header can carry",
  long: "it is longer than 64 KiB",
};

export const credentialUnusable = ({ from, wrong }: { from: string; wrong: SecretFault }, about: About = {}): Failure =>
  new Failure("usage", "credential-unusable", `the key from ${from} can't be used: ${secretFaults[wrong]}`, {
    hint:
      wrong === "control" || wrong === "white-space" || wrong === "not-ascii"
        ? "give the key alone; such characters can be in a password for call read: ROLLCALL_PASSWORD, or `rollcall auth login --for calls`"
        : "give the key alone, on one line",
    ...about,
  });

export const credentialMissing = ({
  use,
  origin: at,
  profile,
}: {
  use: CredentialUse;
  origin: string;
  profile: string;
}): Failure =>
  new Failure("auth", "credential-missing", `there is no credential for ${use} at ${at} (profile ${profile})`, {
    hint: `\`${loginCommand(profile)}\`, or ROLLCALL_API_KEY=…`,
  });

export const loginKeyMissing = (how: "no-terminal" | "empty"): Failure => {
  const message = how === "empty" ? "no key was given" : "there is no terminal to ask for the key on";
  return new Failure("usage", "login-key-missing", message, {
    hint: "give it on standard input: `rollcall auth login --with-token < key-file`",
  });
};

/** The saved credential belongs to another origin than the request's. */
export const credentialElsewhere = ({
  use,
  origin: at,
  boundTo,
  profile,
}: {
  use: CredentialUse;
  origin: string;
  boundTo: string;
  profile: string;
}): Failure => {
  const message = `the credential for ${use} in the profile ${profile} belongs to ${boundTo} and does not go to ${at}`;
  return new Failure("auth", "credential-elsewhere", message, {
    hint: `to log in there: ${loginCommand(profile, use, at)}`,
  });
};

/** How a `credential_command` ended that gave no key. */
export type CommandEnd =
  | { readonly kind: "not-started"; readonly code: string }
  | { readonly kind: "status"; readonly status: number }
  | { readonly kind: "signal"; readonly signal: string }
  | { readonly kind: "time-out" }
  | { readonly kind: "unusable"; readonly wrong: SecretFault };

export const credentialCommandFailed = (program: string, end: CommandEnd): Failure => {
  const why = (): string => {
    if (end.kind === "not-started") return `it could not be started (${systemWords(end.code)})`;
    if (end.kind === "status") return `it ended with exit status ${end.status}`;
    if (end.kind === "signal") return `it was ended by ${end.signal}`;
    if (end.kind === "time-out") return "it took more than 60 seconds";
    return `what it printed is no key: ${secretFaults[end.wrong]}`;
  };
  return new Failure("auth", "credential-command-failed", `the credential_command ${program} gave no key: ${why()}`, {
    hint: "run it by hand to see what it says: rollcall shows nothing of it",
  });
};

/** The only password that fits is in a file that others may read. */
export const passwordFileOpen = ({ path, title, file }: { path: string; title: string; file: string }): Failure => {
  const message = `${title}, ${path}, asks for a password, and the one in ${file} is not used: others may read that file`;
  return new Failure("auth", "password-file-open", message, { hint: `chmod 600 ${file}` });
};

/** There is no folder for what must be kept. */
export const placeMissing = (what: "settings" | "data"): Failure => {
  const variable = what === "settings" ? "ROLLCALL_CONFIG_DIR" : "ROLLCALL_DATA_DIR";
  return new Failure(
    "storage",
    "place-missing",
    `there is no folder for ${what}: neither ${variable} nor a home is set`,
    {
      hint: `${variable}=<folder>`,
    },
  );
};

export const placeUnusable = ({
  place,
  doing,
  code,
  cause,
}: {
  place: string;
  doing: "read" | "write";
  code: string;
  cause?: unknown;
}): Failure =>
  new Failure("storage", "place-unusable", `can't ${doing} ${place}: ${systemWords(code)}`, {
    hint: "ROLLCALL_CONFIG_DIR=<folder> names another place",
    where: { file: place },
    cause,
  });

/** Others write to the same file all the time. */
export const placeBusy = (lock: string): Failure =>
  new Failure("storage", "place-busy", `other processes keep holding the lock ${lock}`, {
    hint: "run it again when they are done",
    where: { file: lock },
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

const origin = ({ option, environment, file, line, column }: Where, profile?: string): string => {
  const named = option ?? environment;
  if (named !== undefined || file === undefined) return named ?? "";
  const position = line === undefined ? "" : `:${line}:${column ?? 1}`;
  return `${file}${position}${profile === undefined ? "" : `, profile ${profile}`}`;
};
