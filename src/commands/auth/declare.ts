/** `rollcall auth`: the credentials of a profile. */
import { type Command, Option } from "commander";
import type { Start } from "../../context.ts";
import type { CredentialUse } from "../../contract/endpoint.ts";
import { examples } from "../help.ts";

/** What a credential is for (interface 5). */
const credentialUses: readonly CredentialUse[] = ["log", "inference", "calls"];

interface Typed {
  readonly for?: CredentialUse;
  readonly username?: string;
  readonly withToken?: boolean;
  readonly check?: boolean;
  readonly analysisProvider?: string;
  readonly routerProvider?: string;
}

/** Declares `auth` and its verbs. */
export const declareAuth = (parent: Command, start: Start): void => {
  const auth = parent.command("auth").description("save, forget and look at the keys of a profile");
  const login = auth
    .command("login")
    .description("save a key in the profile, and the addresses, project and providers given with it")
    .addOption(new Option("--for <use>", "save it for one use only: log, inference or calls").choices(credentialUses))
    .option("--username <name>", "the user name for call read, where it is not api")
    .option("--analysis-provider <name>", "save the provider's name of catalog analysis")
    .option("--router-provider <name>", "save the provider's name of catalog router")
    .option("--with-token", "read the key from standard input")
    .option("--no-check", "do not try the key")
    .action(
      async (typed: Typed, command: Command) =>
        await (await import("./run.ts")).logIn(start(command), {
          only: typed.for,
          username: typed.username,
          withToken: typed.withToken === true,
          check: typed.check !== false,
          providers: { analysis_provider: typed.analysisProvider, router_provider: typed.routerProvider },
        }),
    );
  const logout = auth
    .command("logout")
    .description("forget the saved keys of the profile")
    .addOption(
      new Option("--for <use>", "forget that of one use only: log, inference or calls").choices(credentialUses),
    )
    .action(
      async (typed: Typed, command: Command) =>
        await (await import("./run.ts")).logOut(start(command), { only: typed.for }),
    );
  const status = auth
    .command("status")
    .description("which credential goes with which use, from where, to which origin")
    .addOption(new Option("--for <use>", "look at one use only: log, inference or calls").choices(credentialUses))
    .option("--check", "ask the service whether it takes them")
    .action(
      async (typed: Typed, command: Command) =>
        await (await import("./run.ts")).showStatus(start(command), {
          only: typed.for,
          check: typed.check === true,
        }),
    );
  const site = "--base-url https://api.example.com";
  examples(auth, [`rollcall auth login ${site}`, "rollcall auth status"]);
  examples(login, [`rollcall auth login ${site}`, "rollcall auth login --profile work --with-token < key.txt"]);
  examples(logout, ["rollcall auth logout", "rollcall auth logout --for log --profile work"]);
  examples(status, ["rollcall auth status", "rollcall auth status --check --json"]);
};
