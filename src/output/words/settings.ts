/** The words of what settings and credentials can end with. */
import { basename, dirname } from "node:path";
import type { ReasonData, ReasonsOf, Where } from "../../failure.ts";
import { commandLine } from "../../shell-words.ts";
import { didYouMean, systemWords, type Words } from "./sentences.ts";

export const settingsWords: Words<ReasonsOf["settings"]> = {
  "setting-missing": ({ setting, environment, option, example = "…", local = false, profile }) => ({
    message: `no ${setting} is set`,
    hint: [
      ...(option === undefined ? [] : [`${option} ${example}`]),
      `${environment}=${example}`,
      `or \`rollcall config set ${setting} ${example}${profile === undefined ? "" : ` --profile ${profile}`}\``,
    ]
      .join(", ")
      .concat(local ? "; with --local, the service inside this program needs none" : ""),
  }),
  "setting-wrong": ({ setting, value, wanted, suggestion, where, profile }) => ({
    message: `${setting} can't be "${value}"${bracketed(origin(where, profile))}: it takes ${wanted}`,
    ...didYouMean(suggestion),
  }),
  "setting-unknown": ({ name, secret, suggestion }) => ({
    message: secret ? `${name} is a secret, not a setting` : `there is no setting "${name}"`,
    ...(secret
      ? { hint: "`rollcall auth login` saves a key" }
      : didYouMean(suggestion, "`rollcall config list` lists what there is")),
  }),
  "import-unreadable": ({ from, code }) => ({
    message: `can't read ${from}: ${systemWords(code)}`,
    hint: "give a file that `rollcall config export` wrote, or - for standard input",
  }),
  "import-broken": ({ wrong, where }) => ({
    message: `${origin(where)} can't be imported: ${wrong}`,
    hint: "give a file that `rollcall config export` wrote; nothing was saved",
  }),
  "import-refused": ({ from, count }) => ({
    message: `${from} can't be imported: ${count === 1 ? "one setting" : `${count} settings`} can't be used`,
    hint: "correct the file; nothing was saved",
  }),
  "profile-exists": ({ profile }) => ({
    message: `there is a profile "${profile}" already`,
    hint: `give another name, or \`rollcall profile delete ${profile}\` first`,
  }),
  "profile-unknown": ({ profile, known, how, suggestion }) => ({
    message: `there is no profile "${profile}"; there are ${known.join(", ")}`,
    ...didYouMean(
      suggestion,
      {
        login: `\`rollcall auth login --profile ${profile}\` makes it`,
        create: "--create makes it",
        use: "`rollcall profile use default` goes back to the default",
      }[how],
    ),
  }),
  "settings-broken": ({ wrong, where }) => ({
    message: `${origin(where)} can't be used: ${wrong}`,
    hint: "correct it, or move it away; rollcall leaves it as it is",
  }),
  "credential-twice": ({ variable, fileVariable }) => ({
    message: `${variable} and ${fileVariable} are both set`,
    hint: `unset one of them`,
  }),
  "credential-file-unreadable": ({ variable, file, code }) => ({
    message: `the file that ${variable} names can't be read: ${file} (${systemWords(code)})`,
    hint: `let ${variable} name a file that holds the key`,
  }),
  "credential-unusable": ({ from, wrong }) => ({
    message: `the key from ${from} can't be used: ${keyWrong[wrong]}`,
    hint:
      wrong === "control" || wrong === "white-space" || wrong === "not-ascii"
        ? "give the key alone; such characters can be in a password for call read: ROLLCALL_PASSWORD, or `rollcall auth login --for calls`"
        : "give the key alone, on one line",
  }),
  "credential-missing": ({ use, origin: at, profile }) => ({
    message: `there is no credential for ${use} at ${at} (profile ${profile})`,
    hint: `\`${login(profile)}\`, or ROLLCALL_API_KEY=…`,
  }),
  "credentials-none": ({ profile, uses }) => ({
    message: `there is no credential in the profile ${profile} for ${uses.join(", ")}`,
    hint: `\`${login(profile)}\`, or ROLLCALL_API_KEY=…`,
  }),
  "login-key-missing": ({ how }) => ({
    message: how === "empty" ? "no key was given" : "there is no terminal to ask for the key on",
    hint: "give it on standard input: `rollcall auth login --with-token < key-file`",
  }),
  "login-refused": ({ use, origin: at, others = [] }, { http }) => ({
    message: `${at} refused the key for ${use}${http?.said === undefined ? "" : ` (${http.status ?? "refused"}: ${http.said})`}; it was not saved`,
    hint: `check the key, the address and the project; ${others.length === 0 ? "" : `where the key is not for ${use}, ${others.map((other) => `--for ${other}`).join(" or ")} saves it for that use alone; `}--no-check saves a key without trying it`,
  }),
  "credential-elsewhere": ({ use, origin: at, boundTo, profile }) => ({
    message: `the credential for ${use} in the profile ${profile} belongs to ${boundTo} and does not go to ${at}`,
    hint: `to log in there: ${login(profile, use, at)}`,
  }),
  "credential-command-failed": ({ program, end }) => ({
    message: `the credential_command ${program} gave no key: ${commandEnd(end)}`,
    hint: "run it by hand to see what it says: rollcall shows nothing of it",
  }),
  "place-missing": ({ what, variable }) => ({
    message: `there is no folder for ${what}: neither ${variable} nor a home is set`,
    hint: `${variable}=<folder>`,
  }),
  "place-unusable": ({ place, doing, code }) => ({
    message: `can't ${doing} ${place}: ${systemWords(code)}`,
    hint: "ROLLCALL_CONFIG_DIR=<folder> names another place",
  }),
  "place-foreign": ({ place, part, why, owner, mode, user }) => ({
    message: {
      owner: `${part} belongs to another user (uid ${owner})${part === place ? "" : `, so that ${place} is not used`}`,
      link: `${part} is a link of another user (uid ${owner}), which is not followed`,
      writable: `other users may write to ${part} (mode ${mode.toString(8).padStart(4, "0")}), and could replace ${place}`,
    }[why],
    hint: `${foreignFix({ place, part, why, owner, user })}; ROLLCALL_CONFIG_DIR, ROLLCALL_DATA_DIR and --ledger name other places`,
  }),
  "place-busy": ({ lock }) => ({
    message: `other processes keep holding the lock ${lock}`,
    hint: "run it again when they are done",
  }),
  "home-missing": () => ({
    message: "the system knows no home of this user, so nothing can be saved",
    hint: "HOME=<folder> names one",
  }),
};

/** What makes a place its user's own. Nobody is told to take a folder that may hold more than rollcall's files. */
const foreignFix = ({ place, part, why, owner, user }: Omit<ReasonData<"place-foreign">, "mode">): string => {
  const asRoot = user === 0 ? [] : ["sudo"];
  const command = (...words: readonly string[]): string => `\`${commandLine(words)}\``;
  if (why === "link") return `remove it: ${command(...asRoot, "rm", part)}`;
  if (why === "writable") {
    return `keep them out: ${command(...(owner === user ? [] : asRoot), "chmod", "go-w", part)}`;
  }
  if (part === place || (part === dirname(place) && basename(part) === "rollcall")) {
    return `look at what is in it, then make it yours: ${command(...asRoot, "chown", String(user), part)}`;
  }
  return `run rollcall as the user ${owner}`;
};

const login = (profile: string, use?: string, at?: string): string => {
  const option = use === "inference" ? "--inference-base-url" : use === "log" ? "--log-base-url" : "--base-url";
  const options = [
    ...(profile === "default" ? [] : [`--profile ${profile}`]),
    ...(use === undefined ? [] : [`--for ${use}`]),
    ...(at === undefined ? [] : [`${option} ${at}`]),
  ];
  return ["rollcall auth login", ...options].join(" ");
};

const commandEnd = (end: ReasonData<"credential-command-failed">["end"]): string => {
  switch (end.kind) {
    case "not-started":
      return `it could not be started (${systemWords(end.code)})`;
    case "status":
      return `it ended with exit status ${end.status}`;
    case "signal":
      return `it was ended by ${end.signal}`;
    case "time-out":
      return "it took more than 60 seconds";
    case "unusable":
      return `what it printed is no key: ${keyWrong[end.wrong]}`;
  }
};

const origin = (where: Where, profile?: string): string => {
  if (where.option !== undefined) return where.option;
  if (where.environment !== undefined) return where.environment;
  if (where.file === undefined) return "";
  const line = where.line === undefined ? "" : `:${where.line}:${where.column ?? 1}`;
  return `${where.file}${line}${profile === undefined ? "" : `, profile ${profile}`}`;
};

const bracketed = (text: string): string => (text === "" ? "" : ` (${text})`);

const keyWrong = {
  empty: "it is empty",
  "line-end": "it has more than one line",
  control: "it holds control characters",
  "white-space": "it holds white space",
  "not-ascii": "it holds characters that no header can carry",
  long: "it is longer than 64 KiB",
};
