/** Moves a `require` of a bundled package to the uses of its module, which few runs need. */
import type { Plugin } from "rolldown";

/** The variable and the module of a `require`, by the end of the path of its file. */
const requires = {
  "/commander/lib/command.js": ["childProcess", "node:child_process"],
  "/undici/lib/dispatcher/client.js": ["connectH2", "./client-h2.js"],
} as const;

export const lateRequires = (): Plugin => ({
  name: "late-requires",
  transform(code, id) {
    const [, moved] = Object.entries(requires).find(([path]) => id.endsWith(path)) ?? [];
    if (!moved) return undefined;
    const [variable, module] = moved;
    const declaration = `const ${variable} = require('${module}')`;
    if (!code.includes(declaration)) throw new Error(`${id} does not contain ${declaration}`);
    return code.replace(declaration, "").replaceAll(variable, `require('${module}')`);
  },
});
