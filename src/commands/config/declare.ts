/** `rollcall config`: the settings of a profile, never secrets. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples, verbsIn } from "../help.ts";

interface Typed {
  readonly create?: boolean;
}

const createAbout = "make the profile where it is not there";

/** Declares `config` and its verbs. */
export const declareConfig = (parent: Command, start: Start): void => {
  const config = parent.command("config").description("read and change the settings of a profile");
  const verb = verbsIn(config);
  const site = "https://api.example.com";
  examples(config, ["rollcall config list", `rollcall config set base_url ${site}`]);
  verb("list", "every setting: its value, and where that comes from", [
    "rollcall config list",
    "rollcall config list --json --fields name,value",
  ]).action(async (_: unknown, command: Command) => await (await verbs()).list(start(command)));
  verb("get", "print the value of one setting", ["rollcall config get max_request_size"])
    .argument("<name>", "a setting, such as base_url")
    .action(async (name: string, _: unknown, command: Command) => await (await verbs()).get(start(command), { name }));
  verb("set", "save one setting in the profile", [
    `rollcall config set base_url ${site}`,
    "rollcall config set split train --profile work --create",
  ])
    .argument("<name>", "a setting, such as base_url; config list lists them")
    .argument("<value>", "its value")
    .option("--create", createAbout)
    .action(async (name: string, value: string, { create }: Typed, command: Command) => {
      await (await verbs()).set(start(command), { name, value, create: create === true });
    });
  verb("unset", "take settings out of the profile", ["rollcall config unset split batch"])
    .argument("<name...>", "settings, such as split")
    .action(
      async (names: string[], _: unknown, command: Command) => await (await verbs()).unset(start(command), { names }),
    );
  verb("path", "print where the settings are saved", ["rollcall config path"]).action(
    async (_: unknown, command: Command) => await (await verbs()).path(start(command)),
  );
  verb("export", "print the profile's settings as one JSON document, without secrets", [
    "rollcall config export > team.json",
  ]).action(async (_: unknown, command: Command) => await (await verbs()).exportAll(start(command)));
  verb("import", "save what `config export` printed in the profile: all of it, or nothing", [
    "rollcall config export | rollcall config import - --profile copy --create",
  ])
    .argument("<file>", "a file, or - for standard input")
    .option("--create", createAbout)
    .action(
      async (from: string, { create }: Typed, command: Command) =>
        await (await verbs()).importAll(start(command), { from, create: create === true }),
    );
};

/** What the verbs do is loaded with the first of them. */
const verbs = () => import("./run.ts");
