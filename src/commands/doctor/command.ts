/** `rollcall doctor`: examines settings, credentials, addresses, ledger and store, and says how to fix what is wrong. */
import { command, flag } from "../../cli/index.ts";

/** `doctor`. */
export const doctor = command({
  words: "doctor",
  summary: "look for what is wrong, and say how to fix it",
  about:
    "look at settings, credentials, addresses, ledger and local store, and say how to fix what is wrong; nothing is changed, and no secret is shown",
  options: { offline: flag("ask nothing of the network") },
  examples: ["rollcall doctor", "rollcall doctor --profile work --json", "rollcall doctor --offline --local"],
  run: async (context, typed) => await (await import("./run.ts")).runDoctor(context, typed),
});
