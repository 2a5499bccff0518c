/** Defines `rollcall auth`. */

import { command } from "../cli/command.ts";
import { choice, flag, text } from "../cli/kinds.ts";
import { Failure, type Problem, toFailure } from "../failure.ts";
import { checkKeys, printDocument, printObjects } from "../output/list.ts";
import { askForLines } from "../output/prompt.ts";
import { noteDefects } from "../output/sort-rows.ts";
import type { KeyColumn } from "../output/views.ts";
import { checkRequest, openServiceClient } from "../session/connect.ts";
import type { Context } from "../session/context.ts";
import { logout } from "../settings/changes.ts";
import { credentialUses, findSecretVariables } from "../settings/credentials.ts";
import { loginCommand } from "../settings/failures.ts";
import { findOrigin, type Login, startLogin } from "../settings/login.ts";
import { readSettings, type Settings } from "../settings/read.ts";
import { inProfile } from "../text/sentences.ts";
import { nameProgram } from "../text/shell-words.ts";
import type { Client } from "../wire/client/client.ts";
import type { CredentialUse } from "../wire/contract/endpoint.ts";

const useOption = (about: string) => choice(`${about}: log, inference or calls`, credentialUses, "use");

const exampleUrlOption = "--base-url https://api.example.com";

const login = command({
  words: "auth login",
  about: "save a key in the profile, with the URLs, project and providers that you pass",
  options: {
    for: useOption("save the key only for this use"),
    username: text("user name for `rollcall call read`", "name", { default: "api" }),
    "analysis-provider": text("save the provider for `rollcall catalog analysis`", "name"),
    "router-provider": text("save the provider for `rollcall catalog router`", "name"),
    "with-token": flag("read the key from standard input"),
    "no-check": flag("do not test the key"),
  },
  examples: ["rollcall auth login", `rollcall auth login ${exampleUrlOption} --with-token < key.txt`],
  run: async (context, { for: only, username, withToken, noCheck, analysisProvider, routerProvider }) => {
    const { host, screen } = context;
    checkKeys(screen, ["profile", "saved", "checked", "next"]);
    const ask = (label: string, isHidden: boolean) => askForLines(host, label, isHidden);
    const flags = { ...context.flags, analysis_provider: analysisProvider, router_provider: routerProvider };
    const started = await startLogin({ ...context, flags }, ask, {
      only,
      username,
      withToken,
      checkTest: async (settings, uses) => {
        const test = noCheck ? undefined : await findTest(context, settings, uses);
        if (test) await checkRequest(context, settings, test.endpoint, { parameters: {}, isSent: false });
      },
    });
    const { profile } = started.settings;
    const uses = started.logins.map(({ use }) => use);
    const state = noCheck ? "not tested" : await testKey(context, started);
    const file = await started.save();
    screen.notice(`saved the key for ${uses.join(", ")} in the profile ${profile} (${file})`);
    if (!noCheck && state === "not tested") screen.warn(untestedKeyProblem(...untestedReason(uses, profile)));
    const exampleCommand = uses.includes("log") ? "log <model-id> <file> --split <name>" : "call read <call-id>";
    const next = inProfile(`rollcall ${uses.includes("inference") ? "models" : exampleCommand}`, profile);
    for (const name of findSecretVariables(context.host, uses))
      screen.notice(`${name} is set and overrides the saved key`);
    screen.notice(`next: \`${next}\``);
    if (screen.isJson)
      await printDocument(screen, {
        ...{ profile, saved: started.logins, checked: state === "accepted" },
        next: nameProgram(`\`${next}\``).slice(1, -1),
      });
  },
});

const testKey = async (context: Context, { settings, logins, replacedOrigin: replaced }: Login) => {
  const uses = logins.map((each) => each.use);
  const { state, use, failure } = await testCredential(context, settings, uses);
  if (!failure) return state;
  const origin = logins.find((each) => each.use === use)?.origin ?? "";
  const { http, where } = failure.details;
  if (state === "refused") {
    const reason = http?.said === undefined ? "" : ` (${http.status ?? "refused"}: ${http.said})`;
    const checks =
      settings.get("project") === undefined
        ? "the key and the URL, pass --project <team/project>"
        : "the key, the URL and the project";
    const ownKeys = uses.length > 1 ? "pass --for <use> if each use has its own key, " : "";
    const hint = `check ${checks}, ${ownKeys}or save the key untested with --no-check`;
    const message = `${origin} refused the key for ${use}${reason}, so it was not saved`;
    throw new Failure("auth", "login-refused", message, { hint, http, where, cause: failure });
  }
  const setting = failure.code === "unavailable" ? undefined : where?.setting;
  const [why, first] =
    setting === undefined ? ["is unavailable", "later, "] : ["does not answer as expected", `check ${setting}, then `];
  const problem = untestedKeyProblem(`${origin} ${why}`, `${first}run \`${retestCommand(settings.profile)}\``);
  if (replaced !== undefined) {
    const message = `${problem.message}, so the key for ${replaced} was not replaced`;
    const hint = `check ${setting ?? "the URL"}, log in to another profile with --profile <name>, or pass --no-check to replace the saved key`;
    throw new Failure(failure.code, "login-unanswered", message, { hint, http, where, cause: failure });
  }
  context.screen.warn(problem);
  return state;
};

const untestedKeyProblem = (why: string, advice: string): Problem => {
  return { rule: "key-not-verified", severity: "warning", message: `the key was not tested: ${why}`, advice };
};

const retestCommand = (profile: string) => inProfile("rollcall auth status --check", profile);

const untestedReason = (uses: readonly CredentialUse[], profile: string): [why: string, advice: string] =>
  uses.includes("calls")
    ? ["a test needs a project", `run \`${retestCommand(profile)} --project <team/project>\``]
    : ["only `rollcall log` sends it", "run `rollcall log` to test it"];

type KeyState = "accepted" | "refused" | "unclear" | "not tested";

const testCredential = async (
  context: Context,
  settings: Settings,
  uses: readonly CredentialUse[],
): Promise<{ state: KeyState; use?: CredentialUse; failure?: Failure }> => {
  const test = await findTest(context, settings, uses);
  if (!test) return { state: "not tested" };
  const { use, send, sendWithoutKey } = test;
  const opening = openServiceClient(context, settings);
  try {
    await send(await opening);
    return { state: "accepted" };
  } catch (failure) {
    if (!(failure instanceof Failure) || failure.code === "usage" || failure.code === "interrupted") throw failure;
    if (sendWithoutKey && failure.code === "not_found") {
      // A service that has no such path gives the same answer without a look at the key.
      const open = await sendWithoutKey(await opening).then(() => undefined, toFailure);
      if (open?.code === "interrupted") throw open;
      if (open?.code === "auth") return { state: "accepted" };
    }
    return { state: failure.code === "auth" ? "refused" : "unclear", use, failure };
  }
};

/** Returns the request that tests the key of one of the uses. */
const findTest = async ({ screen }: Context, settings: Settings, uses: readonly CredentialUse[]) => {
  const project = settings.get("project");
  const use = uses.find((each) => each === "inference" || (each === "calls" && project !== undefined));
  if (use === undefined) return undefined;
  const parameters = {};
  if (use === "inference") {
    const { listModels: endpoint } = await import("../wire/contract/reads.ts");
    const send = async (client: Client) =>
      noteDefects(screen, await client.send(endpoint, { parameters, body: undefined }), "the list of models");
    return { use, endpoint, send };
  }
  const { readCall: endpoint } = await import("../wire/contract/reads.ts");
  // No call has this id, so the request only tests the credential.
  const body = { project_id: project ?? "", id: "00000000-0000-0000-0000-000000000000" };
  const { use: _, ...publicRead } = endpoint;
  return {
    use,
    endpoint,
    send: (client: Client) => client.send(endpoint, { parameters, body }),
    sendWithoutKey: (client: Client) => client.send(publicRead, { parameters, body }),
  };
};

const logOut = command({
  words: "auth logout",
  about: "delete the saved keys of the profile",
  options: { for: useOption("only the key for one use") },
  examples: ["rollcall auth logout", "rollcall auth logout --for log --profile work"],
  run: async (context, { for: only }) => {
    const { screen } = context;
    checkKeys(screen, ["profile", "removed"]);
    const { profile, removed, left } = await logout(context, only);
    const none = `no key is saved${only === undefined ? "" : ` for ${only}`}`;
    screen.notice(`profile ${profile}: ${removed.length === 0 ? none : `deleted the key for ${removed.join(", ")}`}`);
    if (left.length > 0) screen.notice(`still set in the environment: ${left.join(", ")}`);
    if (screen.isJson) await printDocument(screen, { profile, removed });
  },
});

const status = command({
  words: "auth status",
  about: "show the state, source and URL of the key for each use (log, inference, calls)",
  options: { for: useOption("only one use"), check: flag("test the credentials with the service") },
  examples: ["rollcall auth status", "rollcall auth status --check --json"],
  run: async (context, { for: only, check: shouldCheck }) => {
    const { screen } = context;
    const settings = await readSettings(context);
    const { profile, local } = settings;
    let firstFailure: Failure | undefined;
    const hints = new Map<KeyStatus["state"], string | undefined>();
    const readStatus = async (use: CredentialUse) => {
      const { failure: unusable, ...row } = await describeCredential(settings, use);
      if (!hints.has(row.state)) hints.set(row.state, unusable?.details.hint);
      const { state: check = null, failure } =
        shouldCheck && isUsable(row) ? await testCredential(context, settings, [use]) : {};
      firstFailure ??= failure;
      if (check === "not tested")
        screen.notice(`the key for ${use} was not tested: ${untestedReason([use], profile).join("; ")}`);
      return { ...row, check };
    };
    const rows: KeyStatus[] = [];
    for (const use of only === undefined ? credentialUses : [only]) rows.push(await readStatus(use));
    if (!rows.some(isUsable)) {
      const hasUrl = rows.some(({ origin }) => origin !== null);
      const states = rows.map(({ use, state }) => `${use}: ${unusableStates[state] ?? state}`).join(", ");
      const hint = hasUrl
        ? (hints.get("elsewhere") ?? hints.get("missing"))
        : `run \`${loginCommand(profile, undefined, exampleUrlOption)}\` with the URL of the service`;
      const message = `no usable key in profile ${profile} (${hasUrl ? states : "no service URL is set"})`;
      firstFailure ??= new Failure("auth", "credentials-missing", message, { hint });
    } else if (!shouldCheck && !local)
      screen.notice("the keys were not tested (test them with `rollcall auth status --check`)");
    const columns = shouldCheck ? [...credentialColumns, checkColumn] : credentialColumns;
    await printObjects(screen, { profile, credentials: rows }, { member: "credentials", columns });
    if (firstFailure) throw firstFailure;
  },
});

/** An entry of the document of `auth status`. */
type KeyStatus = Readonly<{
  use: CredentialUse;
  /** Null without a URL. */
  origin: string | null;
  state: "ready" | "elsewhere" | "missing" | "no URL";
  from: string | null;
  username: string | null;
  /** `not tested` if no read can test the credential. Null without --check. */
  check: KeyState | null;
}>;

const credentialColumns: readonly KeyColumn<KeyStatus>[] = [
  { name: "use", rank: 0 },
  { name: "state", rank: 0 },
  { name: "origin", rank: 1 },
  { name: "from", rank: 2 },
  { name: "username", rank: 3 },
];

const checkColumn: KeyColumn<KeyStatus> = { name: "check", rank: 0 };

const unusableStates: Readonly<Record<string, string>> = { missing: "no key", elsewhere: "key of another URL" };

const isUsable = ({ state }: { state: string }) => state === "ready";

type CredentialRow = Omit<KeyStatus, "check"> & { readonly failure?: Failure | undefined };

const describeCredential = async (settings: Settings, use: CredentialUse): Promise<CredentialRow> => {
  const missing = { use, origin: null, state: "no URL", from: null, username: null } as const;
  if (settings.local) {
    const username = use === "calls" ? "api" : null;
    return { ...missing, state: "ready", from: "the local service's own key", username };
  }
  const origin = findOrigin(settings, use);
  if (origin === undefined) return missing;
  const { state, from = null, username = null, failure } = await settings.credentialSource(use, origin);
  return { use, origin, state, from, username, failure };
};

export const auth = command({
  words: "auth",
  about: "save, delete and show the keys of a profile",
  examples: [`rollcall auth login ${exampleUrlOption}`, "rollcall auth status"],
  subcommands: [login, logOut, status],
});
