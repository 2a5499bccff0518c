/** `rollcall doctor`: looks at everything that has to be right, and says how to fix what is not. */
import type { Command } from "commander";
import type { Start } from "../../context.ts";
import { examples } from "../help.ts";

/** Declares `doctor`. */
export const declareDoctor = (parent: Command, start: Start): void => {
  const command = parent
    .command("doctor")
    .summary("look for what is wrong, and say how to fix it")
    .description(
      "look at settings, credentials, addresses, folders, ledger and versions, and say how to fix what is wrong; nothing is changed, and no secret is shown",
    )
    .option("--offline", "ask nothing of the network")
    .action(
      async ({ offline }: { readonly offline?: boolean }, own: Command) =>
        await (await import("./run.ts")).examine(start(own), { offline: offline === true }),
    );
  examples(command, ["rollcall doctor", "rollcall doctor --profile work --json", "rollcall doctor --offline --local"]);
};
