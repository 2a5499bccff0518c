/** Keeps undici from loading what a client of HTTP/1.1 with bodies of bytes never uses: half of what loading it takes. */
import { createRequire } from "node:module";
import type { Plugin } from "rolldown";

const { ERROR, TYPE } = createRequire(import.meta.url)("undici/lib/llhttp/constants.js");

/** What undici's client asks for, and what it gets instead. */
const replacements: readonly { readonly asked: RegExp; readonly given: string }[] = [
  // HTTP/2 is never offered to the other side (src/client/socket.ts).
  { asked: /\/client-h2\.js$/, given: "module.exports = () => { throw new Error('HTTP/2 is left out'); };" },
  // Of all that its parser could be told and could say, no more is used; the rest is made anew at every start.
  { asked: /\/llhttp\/constants\.js$/, given: `module.exports = ${JSON.stringify({ ERROR, TYPE })};` },
  // A tree of names of headers, planted at every start: without it they are put into lower case one by one.
  { asked: /\/tree$/, given: "module.exports = { tree: { lookup: () => null } };" },
  // Only bodies that are forms need it.
  { asked: /\/web\/fetch\/body\.js$/, given: "module.exports = {};" },
  // For the size of headers, which is given (src/client/connection.ts), and for bodies that are requests.
  { asked: /^node:http$/, given: "module.exports = { IncomingMessage: class {} };" },
  // Node's own loads what compares and prints values.
  {
    asked: /^node:assert$/,
    given:
      "module.exports = (value, message) => { if (!value) throw new Error(message ?? 'undici: assertion failed'); };",
  },
];

const prefix = "\0lean-undici:";

/** A rolldown plugin. The build fails where undici no longer asks for what is replaced. */
export const leanUndici = (): Plugin => {
  const used = new Set<number>();
  return {
    name: "lean-undici",
    resolveId(source, importer) {
      if (importer?.includes("/undici/") !== true) return undefined;
      const at = replacements.findIndex(({ asked }) => asked.test(source));
      if (at < 0) return undefined;
      used.add(at);
      return `${prefix}${at}`;
    },
    load: (id) => (id.startsWith(prefix) ? replacements[Number(id.slice(prefix.length))]?.given : undefined),
    buildEnd() {
      for (const [at, { asked }] of replacements.entries()) {
        if (!used.has(at)) this.error(`undici does not ask for ${asked} any more`);
      }
    },
  };
};
