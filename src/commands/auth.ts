/** `rollcall auth`: the credentials of a profile. */

import { choice, command, flag, text, type Values } from "../cli/index.ts";
import { openClient, settingsSources } from "../connect.ts";
import type { Context } from "../context.ts";
import type { CredentialUse } from "../contract/endpoint.ts";
import { Failure, type Problem } from "../failure.ts";
import { printDocument } from "../output/index.ts";
import {
  credentialUses,
  describeSetting,
  exampleOf,
  type LoginKey,
  type LoginPlan,
  logout,
  originOf,
  planLogin,
  readKey,
  readSettings,
  type SettingName,
  type Settings,
  saveLogin,
  triedFor,
  usernameGiven,
  withKey,
} from "../settings/index.ts";
import { credentialsNone, loginRefused } from "./failures.ts";
import { printOwn } from "./lists/own.ts";

const use = (about: string) => choice(`${about}: log, inference or calls`, ["log", "inference", "calls"], "use");

const loginOptions = {
  for: use("save it for one use only"),
  username: text("the user name for call read, where it is not api", "name"),
  "analysis-provider": text("save the provider's name of catalog analysis", "name"),
  "router-provider": text("save the provider's name of catalog router", "name"),
  "with-token": flag("read the key from standard input"),
  "no-check": flag("do not try the key"),
};

const site = "--base-url https://api.example.com";

const login = command({
  words: "auth login",
  about: "save a key in the profile, and the addresses, project and providers given with it",
  options: loginOptions,
  examples: [`rollcall auth login ${site}`, "rollcall auth login --profile work --with-token < key.txt"],
  run: async (context, typed) => await logIn(context, typed),
});

/** Saves a key, and names the command to try. @throws Failure `login-refused`, and what `planLogin` ends with */
const logIn = async (context: Context, typed: Values<typeof loginOptions>): Promise<void> => {
  const { host, screen } = context;
  const { for: only, username, withToken, analysisProvider, routerProvider } = typed;
  const name = username === undefined ? undefined : usernameGiven(username, { only });
  const sources = settingsSources(context);
  const flags = { ...sources.flags, analysis_provider: analysisProvider, router_provider: routerProvider };
  const takeKey = async (targets: LoginPlan["targets"]): Promise<string> => {
    const label = `key for ${targets.map(({ use, origin }) => `${use} at ${origin}`).join(", ")}: `;
    return await readKey({ host, hide: screen.hide }, { withToken, label, uses: targets.map(({ use }) => use) });
  };
  const { plan, key } = await planLogin({ ...sources, flags }, { only, takeKey });
  const uses = plan.targets.map(({ use }) => use);
  const checked = !typed.noCheck && (await isTaken(context, plan, { key, username: name }));
  const saved = await saveLogin(host, plan, { key, username: name });
  const { profile } = plan.settings;
  const next = inProfile(nextCommand(uses), plan);
  for (const sentence of [
    `saved in ${saved}, profile ${profile}: the key for ${uses.join(", ")}`,
    ...(plan.without.length === 0
      ? []
      : [`not saved for ${plan.without.join(", ")}, which has no address yet: give it, and log in again`]),
    ...plan.overriding.map((variable) => `${variable} is set, and goes before what is saved`),
    ...plan.lacking.map((setting) => lackingSetting(setting, plan)),
    `next: ${next}`,
  ]) {
    screen.notice(sentence);
  }
  if (screen.isForProgram) await printDocument(screen, { profile, saved: plan.targets, checked, next });
};

const lackingSetting = (name: SettingName, plan: LoginPlan): string =>
  `no ${name} is set, ${describeSetting(name)}: ${inProfile(`rollcall config set ${name} ${exampleOf(name) ?? "…"}`, plan)}`;

/** The command that shows that a login works. */
const nextCommand = (uses: readonly CredentialUse[]): string => {
  if (uses.includes("inference")) return "rollcall models";
  return uses.includes("log") ? "rollcall log <model-id> <file> --split <name>" : "rollcall call read <call-id>";
};

const inProfile = (line: string, { settings: { profile } }: LoginPlan): string =>
  profile === "default" ? line : `${line} --profile ${profile}`;

/**
 * Tries a key with a read, if there is one; false if that said nothing about it.
 * @throws Failure `login-refused`, and `usage` if the key may not be sent
 */
const isTaken = async (context: Context, { settings, targets }: LoginPlan, key: LoginKey): Promise<boolean> => {
  const uses = targets.map(({ use }) => use);
  const tried = await tryRead(context, withKey(settings, key), uses);
  const target = targets.find(({ use }) => use === tried.use);
  if (tried.kind === "refused" && target !== undefined) {
    const { http, where } = tried.failure.about;
    const about = { ...(http === undefined ? {} : { http }), ...(where === undefined ? {} : { where }) };
    const others = uses.filter((use) => use !== target.use);
    throw loginRefused({ ...target, others }, { ...about, cause: tried.failure });
  }
  if (tried.kind === "taken") return true;
  const down = tried.kind === "silent" && tried.failure.code === "unavailable";
  context.screen.warn(target === undefined ? notTried(untried(uses)) : unanswered(target.origin, { down }));
  return false;
};

/** Why a key was not tried, and what to do about it. */
type Untried = readonly [why: string, advice: string];

const notTried = ([why, advice]: Untried): Problem => ({
  rule: "key-not-tried",
  severity: "warning",
  message: `the key was not tried: ${why}`,
  advice,
});

/** The problem of a key that a service gave no answer to. */
export const unanswered = (origin: string, { down }: { readonly down: boolean }): Problem => {
  const why = `${origin} ${down ? "can't be reached now" : "did not answer as the service does"}`;
  return notTried([why, "rollcall auth status --check asks again"]);
};

/** Why there is no read that takes the key of some uses. */
const untried = (uses: readonly CredentialUse[]): Untried =>
  uses.includes("calls")
    ? ["only a call read takes it, and that needs a project", "give a --project"]
    : ["nothing but logging takes it", "the first log says whether the service takes it"];

/** The answer of a read to a credential. */
type Tried =
  | { readonly kind: "taken"; readonly use: CredentialUse }
  | { readonly kind: "refused" | "silent"; readonly use: CredentialUse; readonly failure: Failure }
  | { readonly kind: "no-read"; readonly use: undefined };

/** The id of no call: the answer to it tells whether the credential was taken. */
const noCall = "00000000-0000-0000-0000-000000000000";

/**
 * Reads with the credential of the first use that has a read: the models, or a call that does not exist if a project is
 * set. Nothing but logging takes the credential for log.
 * @throws Failure `usage` if the credential may not be sent
 */
export const tryRead = async (context: Context, settings: Settings, uses: readonly CredentialUse[]): Promise<Tried> => {
  const project = settings.get("project");
  const use = uses.find((each) => each === "inference" || (each === "calls" && project !== undefined));
  if (use === undefined) return { kind: "no-read", use };
  const [{ listModels }, { readCall }] = await Promise.all([
    import("../contract/models.ts"),
    import("../contract/call.ts"),
  ]);
  const client = await openClient(context, settings);
  try {
    if (use === "inference") await client.send(listModels, { parameters: {}, body: undefined });
    else await client.send(readCall, { parameters: {}, body: { project_id: project ?? "", id: noCall } });
    return { kind: "taken", use };
  } catch (failure) {
    if (!(failure instanceof Failure) || failure.code === "usage" || failure.code === "interrupted") throw failure;
    if (failure.code === "auth") return { kind: "refused", use, failure };
    return use === "calls" && failure.code === "not_found" ? { kind: "taken", use } : { kind: "silent", use, failure };
  }
};

const logOut = command({
  words: "auth logout",
  about: "forget the saved keys of the profile",
  options: { for: use("forget that of one use only") },
  examples: ["rollcall auth logout", "rollcall auth logout --for log --profile work"],
  run: async (context, { for: only }) => {
    const { screen } = context;
    const { profile, removed, left } = await logout(settingsSources(context), { only });
    const what = removed.length === 0 ? "nothing was saved" : `the key for ${removed.join(", ")} is forgotten`;
    screen.notice(`profile ${profile}: ${what}`);
    if (left.length > 0) screen.notice(`still in the environment: ${left.join(", ")}`);
    if (screen.isForProgram) await printDocument(screen, { profile, removed });
  },
});

/** The credential of one use. */
interface StatusRow {
  readonly use: CredentialUse;
  /** Null if the use has no address. */
  readonly origin: string | null;
  readonly state: "ready" | "command" | "elsewhere" | "missing" | "no address";
  /** Where the credential comes from. */
  readonly from: string | null;
  readonly username: string | null;
  /** Whether the service took it; `untried` if it has no read to ask with, null if it was not asked. */
  readonly check: "taken" | "refused" | "silent" | "untried" | null;
}

const status = command({
  words: "auth status",
  about: "which credential goes with which use, from where, to which origin",
  options: { for: use("look at one use only"), check: flag("ask the service whether it takes them") },
  examples: ["rollcall auth status", "rollcall auth status --check --json"],
  run: async (context, { for: only, check }) => {
    const { screen } = context;
    const settings = await readSettings({ ...settingsSources(context), defaults: { max_wait: triedFor } });
    const rows: StatusRow[] = [];
    let failed: Failure | undefined;
    for (const use of only === undefined ? credentialUses : [only]) {
      const row = await statusOf(settings, use);
      const tried = check && isUsable(row) ? await tryRead(context, settings, [use]) : undefined;
      if (tried !== undefined && "failure" in tried) failed ??= tried.failure;
      if (tried?.kind === "no-read") {
        const [why, advice] = untried([use]);
        screen.notice(`the credential for ${use} was not tried: ${why}; ${advice}`);
      }
      rows.push({ ...row, check: tried === undefined ? null : tried.kind === "no-read" ? "untried" : tried.kind });
    }
    const { profile, local } = settings;
    if (!rows.some(isUsable)) {
      const uses = rows.map(({ use, state }) => `${use} (${state})`);
      failed ??= credentialsNone(profile, uses);
    } else if (!check && !local) screen.notice("the credentials were not tried: --check asks the service");
    // If something is wrong, the use without a credential matters most.
    const columns = { use: 0, state: 0, origin: 1, from: 2, username: 3, ...(check ? { check: 0 } : {}) };
    await printOwn(screen, { others: { profile }, member: "credentials", rows, columns });
    if (failed !== undefined) throw failed;
  },
});

const isUsable = ({ state }: Pick<StatusRow, "state">): boolean => state === "ready" || state === "command";

const statusOf = async (settings: Settings, use: CredentialUse): Promise<Omit<StatusRow, "check">> => {
  if (settings.local) {
    const username = use === "calls" ? "api" : null;
    return { use, origin: null, state: "ready", from: "the local service's own key", username };
  }
  const origin = originOf(settings, use);
  if (origin === undefined) return { use, origin: null, state: "no address", from: null, username: null };
  const { state, from = null, username = null } = await settings.credentialSource(use, origin);
  return { use, origin, state, from, username };
};

/** `auth` and its verbs. */
export const auth = command({
  words: "auth",
  about: "save, forget and look at the keys of a profile",
  examples: [`rollcall auth login ${site}`, "rollcall auth status"],
  verbs: [login, logOut, status],
});
