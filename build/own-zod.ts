/** Gives the MCP SDK a copy of zod of its own, and keeps what it never uses out of the bundle. */
import { readFileSync } from "node:fs";
import type { Plugin } from "rolldown";

/** Marks a module of the SDK's copy. */
const own = "?mcp";

/** What the SDK asks for, and what it gets instead. */
const replacements: readonly { readonly asked: RegExp; readonly given: string }[] = [
  // It is given a validator (src/mcp/server.ts): results are made by rollcall, and nothing else is validated.
  { asked: /\/ajv-provider\.js$/, given: "export class AjvJsonSchemaValidator {}" },
  // Only for schemas that a program wrote with an older zod.
  { asked: /^zod\/v3$/, given: "export const object = undefined;" },
];

const prefix = "\0own-zod:";

/**
 * A rolldown plugin. A module that two rooms use is bundled once, with all that either uses: without a copy of its own the
 * SDK would have every command that checks a reply load all of zod. The build fails where the SDK no longer asks for what
 * is replaced.
 */
export const ownZod = (): Plugin => {
  const used = new Set<number>();
  return {
    name: "own-zod",
    async resolveId(source, importer, options) {
      if (importer?.includes("/@modelcontextprotocol/sdk/") !== true && importer?.endsWith(own) !== true)
        return undefined;
      const at = replacements.findIndex(({ asked }) => asked.test(source));
      if (at >= 0) {
        used.add(at);
        return `${prefix}${at}`;
      }
      const resolved = await this.resolve(source, importer.replace(own, ""), { ...options, skipSelf: true });
      return resolved?.id.includes("/zod/") === true
        ? { id: `${resolved.id}${own}`, moduleSideEffects: false }
        : undefined;
    },
    load(id) {
      if (id.startsWith(prefix)) return replacements[Number(id.slice(prefix.length))]?.given;
      return id.endsWith(own) ? readFileSync(id.slice(0, -own.length), "utf8") : undefined;
    },
    buildEnd() {
      for (const [at, { asked }] of replacements.entries()) {
        if (!used.has(at)) this.error(`the MCP SDK does not ask for ${asked} any more`);
      }
    },
  };
};
