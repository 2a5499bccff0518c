/** `rollcall profile`: the profiles that are saved. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples, verbsIn } from "../help.ts";

/** Declares `profile` and its verbs. */
export const declareProfile = (parent: Command, start: Start): void => {
  const profile = parent.command("profile").description("the profiles that are saved: settings and keys by name");
  const verb = verbsIn(profile);
  examples(profile, ["rollcall profile list", "rollcall profile use work"]);
  verb("list", "every profile, its address and what it has keys for", [
    "rollcall profile list",
    "rollcall profile list --json",
  ]).action(async (_: unknown, command: Command) => await (await verbs()).list(start(command)));
  verb("use", "use a profile wherever none is named", ["rollcall profile use work", "rollcall profile use default"])
    .argument("<name>", "a profile; profile list lists them")
    .action(async (name: string, _: unknown, command: Command) => await (await verbs()).use(start(command), { name }));
  verb("delete", "forget the settings and the keys of a profile", ["rollcall profile delete work --yes"])
    .argument("<name>", "a profile")
    .option("--yes", "do not ask")
    .action(async (name: string, { yes }: { readonly yes?: boolean }, command: Command) => {
      await (await verbs()).remove(start(command), { name, yes: yes === true });
    });
  verb("rename", "give a profile another name; what it logged stays known", ["rollcall profile rename work staging"])
    .argument("<from>", "a profile")
    .argument("<to>", "its new name")
    .action(async (from: string, to: string, _: unknown, command: Command) => {
      await (await verbs()).rename(start(command), { from, to });
    });
};

/** What the verbs do is loaded with the first of them. */
const verbs = () => import("./run.ts");
