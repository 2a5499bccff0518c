import { command } from "../../cli/command.ts";
import { flag } from "../../cli/kinds.ts";

export const doctor = command({
  words: "doctor",
  loadOutputs: () => import("./output.ts"),
  group: "more",
  about:
    "check settings, credentials, URLs, ledger and local store, and print fixes, without changing anything or showing a secret",
  options: { offline: flag("send no request") },
  examples: ["rollcall doctor", "rollcall doctor --profile work --json", "rollcall doctor --offline --local"],
  run: async (context, typed) => await (await import("./run-doctor.ts")).runDoctor(context, typed),
});
