/** Keeps commander from loading `node:child_process`, which it needs only for subcommands that are programs of their own. */
import type { Plugin } from "rolldown";

const stub = "\0unspawned";

/** A rolldown plugin; rollcall has no such subcommand, and the module costs every start two milliseconds. */
export const unspawned = (): Plugin => ({
  name: "unspawned",
  resolveId: (source, importer) =>
    source === "node:child_process" && importer?.includes("/commander/") === true ? stub : undefined,
  load: (id) => (id === stub ? "export default {};" : undefined),
});
