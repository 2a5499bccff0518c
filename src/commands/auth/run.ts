/** What the verbs of `rollcall auth` do. */

import { settingsSources } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { Failure, type Problem } from "../../failure.ts";
import { type Column, printDocument, printList, textColumn } from "../../output/index.ts";
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
  type SettingFlags,
  type SettingName,
  type Settings,
  saveLogin,
  triedFor,
  usernameGiven,
  withKey,
} from "../../settings/index.ts";
import { tryRead } from "./try.ts";

/** What `auth login` was asked for. */
interface LoginOptions {
  /** The only use to save the key for; undefined for all. */
  readonly only: CredentialUse | undefined;
  readonly username: string | undefined;
  readonly withToken: boolean;
  readonly check: boolean;
  /** The providers' names, where they were given. */
  readonly providers: Pick<SettingFlags, "analysis_provider" | "router_provider">;
}

/** Saves a key, and says which command to try. @throws Failure `login-refused`, and what `planLogin` ends with */
export const logIn = async (
  context: Context,
  { only, username, withToken, check, providers }: LoginOptions,
): Promise<void> => {
  const { host, screen } = context;
  const name = username === undefined ? undefined : usernameGiven(username, { only });
  const sources = settingsSources(context);
  const { plan, key } = await planLogin(
    { ...sources, flags: { ...sources.flags, ...providers } },
    { only, takeKey: (targets) => takeKey(context, targets, { withToken }) },
  );
  const uses = plan.targets.map(({ use }) => use);
  const login = { key, username: name };
  const checked = check && (await isTaken(context, plan, login));
  const saved = await saveLogin(host, plan, login);
  const { profile } = plan.settings;
  const next = inProfile(nextCommand(plan), plan);
  for (const sentence of [
    `saved in ${saved}, profile ${profile}: the key for ${uses.join(", ")}`,
    ...(plan.without.length === 0 ? [] : [withoutAddress(plan.without)]),
    ...plan.overriding.map((variable) => `${variable} is set, and goes before what is saved`),
    ...plan.lacking.map((setting) => lackingSetting(setting, plan)),
    `next: ${next}`,
  ]) {
    screen.notice(sentence);
  }
  if (context.screen.isForProgram) await printDocument(screen, { profile, saved: plan.targets, checked, next });
};

const takeKey = async (
  { host, screen }: Context,
  targets: LoginPlan["targets"],
  { withToken }: { readonly withToken: boolean },
): Promise<string> => {
  const label = `key for ${targets.map(({ use, origin }) => `${use} at ${origin}`).join(", ")}: `;
  return await readKey({ host, hide: screen.hide }, { withToken, label, uses: targets.map(({ use }) => use) });
};

const withoutAddress = (uses: readonly CredentialUse[]): string =>
  `not saved for ${uses.join(", ")}, which has no address yet: give it, and log in again`;

const lackingSetting = (name: SettingName, plan: LoginPlan): string =>
  `no ${name} is set, ${describeSetting(name)}: ${inProfile(`rollcall config set ${name} ${exampleOf(name) ?? "…"}`, plan)}`;

/** The command that shows that a login works. */
const nextCommand = ({ targets }: LoginPlan): string => {
  const uses = targets.map(({ use }) => use);
  return uses.includes("inference")
    ? "rollcall models"
    : uses.includes("log")
      ? "rollcall log <model-id> <file> --split <name>"
      : "rollcall call read <call-id>";
};

const inProfile = (command: string, { settings: { profile } }: LoginPlan): string =>
  profile === "default" ? command : `${command} --profile ${profile}`;

/**
 * Tries a key with a read, where there is one; false where that said nothing of it.
 * @throws Failure `login-refused`, and `usage` where the key may not travel
 */
const isTaken = async (context: Context, { settings, targets }: LoginPlan, login: LoginKey): Promise<boolean> => {
  const tried = await tryRead(
    context,
    withKey(settings, login),
    targets.map(({ use }) => use),
  );
  const target = targets.find(({ use }) => use === tried.use);
  if (tried.kind === "refused" && target !== undefined) {
    const { http, where } = tried.failure.about;
    const about = { ...(http === undefined ? {} : { http }), ...(where === undefined ? {} : { where }) };
    const others = targets.map(({ use }) => use).filter((use) => use !== target.use);
    throw new Failure("login-refused", { ...target, others }, { ...about, cause: tried.failure });
  }
  if (tried.kind === "taken") return true;
  const down = tried.kind === "silent" && tried.failure.code === "unavailable";
  context.screen.warn(
    target === undefined ? notTried(untried(targets.map(({ use }) => use))) : unanswered(target.origin, { down }),
  );
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

/** What is said of a key that a service gave no answer to. */
export const unanswered = (origin: string, { down }: { readonly down: boolean }): Problem => {
  const why = `${origin} ${down ? "can't be reached now" : "did not answer as the service does"}`;
  return notTried([why, "rollcall auth status --check asks again"]);
};

/** Why there is no read that takes the key of some uses. */
const untried = (uses: readonly CredentialUse[]): Untried =>
  uses.includes("calls")
    ? ["only a call read takes it, and that needs a project", "give a --project"]
    : ["nothing but logging takes it", "the first log says whether the service takes it"];

/** Forgets saved keys. */
export const logOut = async (
  context: Context,
  { only }: { readonly only: CredentialUse | undefined },
): Promise<void> => {
  const { profile, removed, left } = await logout(settingsSources(context), { only });
  const what = removed.length === 0 ? "nothing was saved" : `the key for ${removed.join(", ")} is forgotten`;
  context.screen.notice(`profile ${profile}: ${what}`);
  if (left.length > 0) context.screen.notice(`still in the environment: ${left.join(", ")}`);
  if (context.screen.isForProgram) await printDocument(context.screen, { profile, removed });
};

/** What is known of the credential of one use. */
interface StatusRow {
  readonly use: CredentialUse;
  /** Null where the use has no address. */
  readonly origin: string | null;
  readonly state: "ready" | "command" | "elsewhere" | "missing" | "no address";
  /** Where the credential comes from. */
  readonly from: string | null;
  readonly username: string | null;
  /** Whether the service took it; `untried` where it has no read to ask with, null where nobody asked. */
  readonly check: "taken" | "refused" | "silent" | "untried" | null;
}

/**
 * Shows which credential goes with which use.
 * @throws Failure `credentials-none` where no use has one, and what a check ended with
 */
export const showStatus = async (
  context: Context,
  { only, check }: { readonly only: CredentialUse | undefined; readonly check: boolean },
): Promise<void> => {
  const settings = await readSettings({ ...settingsSources(context), defaults: { max_wait: triedFor } });
  const uses = only === undefined ? credentialUses : [only];
  const rows: StatusRow[] = [];
  let failed: Failure | undefined;
  for (const use of uses) {
    const row = await statusOf(settings, { use, origin: settings.local ? undefined : originOf(settings, use) });
    const asked = check && (row.state === "ready" || row.state === "command");
    const tried = asked ? await tryRead(context, settings, [use]) : undefined;
    if (tried !== undefined && "failure" in tried) failed ??= tried.failure;
    if (tried?.kind === "no-read") {
      const [why, advice] = untried([use]);
      context.screen.notice(`the credential for ${use} was not tried: ${why}; ${advice}`);
    }
    rows.push({ ...row, check: tried === undefined ? null : tried.kind === "no-read" ? "untried" : tried.kind });
  }
  const none = rows.every(({ state }) => state !== "ready" && state !== "command");
  if (!none && !check && !settings.local)
    context.screen.notice("the credentials were not tried: --check asks the service");
  failed ??= none ? noneFailure(settings.profile, rows) : undefined;
  // Which use lacks its credential is wanted most where something is wrong.
  const bytes = Buffer.from(JSON.stringify({ profile: settings.profile, credentials: rows }));
  const columns = statusColumns.filter(({ name }) => name !== "check" || check);
  await printList(context.screen, { columns, rows, wire: { bytes, member: "credentials" } });
  if (failed !== undefined) throw failed;
};

const statusOf = async (
  settings: Settings,
  { use, origin }: { readonly use: CredentialUse; readonly origin: string | undefined },
): Promise<Omit<StatusRow, "check">> => {
  if (settings.local) {
    const username = use === "calls" ? "api" : null;
    return { use, origin: null, state: "ready", from: "the local service's own key", username };
  }
  if (origin === undefined) return { use, origin: null, state: "no address", from: null, username: null };
  const { state, from = null, username = null } = await settings.credentialSource(use, origin);
  return { use, origin, state, from, username };
};

const noneFailure = (profile: string, rows: readonly StatusRow[]): Failure =>
  new Failure("credentials-none", { profile, uses: rows.map(({ use, state }) => `${use} (${state})`) });

const statusColumns: readonly Column<StatusRow>[] = [
  textColumn("use", { rank: 0, text: ({ use }) => use }),
  textColumn("state", { rank: 0, text: ({ state }) => state }),
  textColumn("origin", { rank: 1, text: ({ origin }) => origin }),
  textColumn("from", { rank: 2, text: ({ from }) => from }),
  textColumn("username", { rank: 3, text: ({ username }) => username }),
  // It is there where it was asked for.
  textColumn("check", { rank: 0, text: ({ check }) => check }),
];
