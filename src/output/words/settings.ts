/** The words of what settings and credentials can end with. */
import type { ReasonsOf } from "../../failure.ts";
import type { Words } from "./sentences.ts";

export const settingsWords: Words<ReasonsOf["settings"]> = {
  "setting-missing": ({ setting, environment, option }) => ({
    message: `no ${setting} is set`,
    hint: `${option === undefined ? "" : `${option} …, or `}${environment}=…, or \`rollcall config set ${setting} …\``,
  }),
};
