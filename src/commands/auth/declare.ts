/** `rollcall auth`: the credentials of a profile. */

import { type Command, Option } from "commander";
import { settingsSources } from "../../connect.ts";
import type { Context, Start } from "../../context.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { Failure } from "../../failure.ts";
import { printDocument } from "../../output/index.ts";
import type { LoginKey, LoginPlan } from "../../settings/index.ts";
import { examples } from "../help.ts";
import { isForProgram } from "../lists/form.ts";
import { showStatus } from "./status.ts";
import { tryRead } from "./try.ts";

/** What `auth login` was asked for. */
interface LoginOptions {
  /** The only use to save the key for; undefined for all. */
  readonly only: CredentialUse | undefined;
  readonly username: string | undefined;
  readonly withToken: boolean;
  readonly check: boolean;
}

/** What a credential is for (interface 5). */
const credentialUses: readonly CredentialUse[] = ["log", "inference", "calls"];

interface Typed {
  readonly for?: CredentialUse;
  readonly username?: string;
  readonly withToken?: boolean;
  readonly check?: boolean;
}

/** Declares `auth` and its verbs. */
export const declareAuth = (parent: Command, start: Start): void => {
  const auth = parent.command("auth").description("save, forget and look at the keys of a profile");
  const login = auth
    .command("login")
    .description("save a key in the profile; it goes only to the addresses that the profile has now")
    .addOption(new Option("--for <use>", "save it for one use only: log, inference or calls").choices(credentialUses))
    .option("--username <name>", "the user name for call read, where it is not api")
    .option("--with-token", "read the key from standard input")
    .option("--no-check", "do not try the key")
    .action(async (typed: Typed, command: Command) => {
      await logIn(start(command), {
        only: typed.for,
        username: typed.username,
        withToken: typed.withToken === true,
        check: typed.check !== false,
      });
    });
  const logout = auth
    .command("logout")
    .description("forget the saved keys of the profile")
    .addOption(
      new Option("--for <use>", "forget that of one use only: log, inference or calls").choices(credentialUses),
    )
    .action(async (typed: Typed, command: Command) => await logOut(start(command), { only: typed.for }));
  const status = auth
    .command("status")
    .description("which credential goes with which use, from where, to which origin")
    .addOption(new Option("--for <use>", "look at one use only: log, inference or calls").choices(credentialUses))
    .option("--check", "ask the service whether it takes them")
    .action(async (typed: Typed, command: Command) => {
      await showStatus(start(command), { only: typed.for, check: typed.check === true });
    });
  const site = "--base-url https://api.example.com";
  examples(auth, [`rollcall auth login ${site}`, "rollcall auth status"]);
  examples(login, [`rollcall auth login ${site}`, "rollcall auth login --profile work --with-token < key.txt"]);
  examples(logout, ["rollcall auth logout", "rollcall auth logout --for log --profile work"]);
  examples(status, ["rollcall auth status", "rollcall auth status --check --json"]);
};

/**
 * Saves a key. In JSON `{"profile","saved":[{"use","origin"}],"checked","next"}`; `checked` says whether the service took
 * the key, `next` is the command to try.
 */
const logIn = async (context: Context, { only, username, withToken, check }: LoginOptions): Promise<void> => {
  const { host, screen } = context;
  const room = await context.settingsRoom();
  const name = username === undefined ? undefined : room.usernameGiven(username, { only });
  const plan = await room.planLogin(settingsSources(context), { only });
  const label = `key for ${plan.targets.map(({ use, origin }) => `${use} at ${origin}`).join(", ")}: `;
  const login = { key: await room.readKey({ host, hide: screen.hide }, { withToken, label }), username: name };
  const checked = check && (await isTaken(context, plan, login));
  const saved = await room.saveLogin(host, plan, login);
  const { profile } = plan.settings;
  const next = inProfile(nextCommand(plan), plan);
  const { project } = context.flags;
  for (const sentence of [
    `saved in ${saved}, profile ${profile}: the key for ${plan.targets.map(({ use }) => use).join(", ")}`,
    ...(plan.without.length === 0 ? [] : [withoutAddress(plan.without)]),
    ...plan.overriding.map((variable) => `${variable} is set, and goes before what is saved`),
    ...(typeof project === "string"
      ? [`--project is not saved; to save it: ${inProfile(`rollcall config set project ${project}`, plan)}`]
      : []),
    `next: ${next}`,
  ]) {
    screen.notice(sentence);
  }
  if (isForProgram(context)) await printDocument(screen, { profile, saved: plan.targets, checked, next });
};

const withoutAddress = (uses: readonly CredentialUse[]): string =>
  `not saved for ${uses.join(", ")}, which has no address yet: give it, and log in again`;

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
  const { withKey } = await context.settingsRoom();
  const tried = await tryRead(
    context,
    withKey(settings, login),
    targets.map(({ use }) => use),
  );
  const target = targets.find(({ use }) => use === tried.use);
  if (tried.kind === "refused" && target !== undefined) {
    const { http, where } = tried.failure.about;
    const about = { ...(http === undefined ? {} : { http }), ...(where === undefined ? {} : { where }) };
    throw new Failure("login-refused", target, { ...about, cause: tried.failure });
  }
  if (tried.kind === "taken") return true;
  const down = tried.kind === "silent" && tried.failure.code === "unavailable";
  const why =
    target === undefined
      ? "no operation that only reads takes it"
      : `${target.origin} ${down ? "can't be reached now" : "did not answer as the service does"}`;
  context.screen.warn({
    rule: "key-not-tried",
    severity: "warning",
    message: `the key was not tried: ${why}`,
    advice: "rollcall auth status --check asks again",
  });
  return false;
};

/** In JSON `{"profile","removed":["log",…]}`. */
const logOut = async (context: Context, { only }: { readonly only: CredentialUse | undefined }): Promise<void> => {
  const { logout } = await context.settingsRoom();
  const { profile, removed, left } = await logout(settingsSources(context), { only });
  const what = removed.length === 0 ? "nothing was saved" : `the key for ${removed.join(", ")} is forgotten`;
  context.screen.notice(`profile ${profile}: ${what}`);
  if (left.length > 0) context.screen.notice(`still in the environment: ${left.join(", ")}`);
  if (isForProgram(context)) await printDocument(context.screen, { profile, removed });
};
