/** What several commands ask of their context. */
import type { Context } from "../../context.ts";
import type { SettingsSources } from "../../settings/index.ts";

/** Whether a program reads the result: it gets JSON, and what is only for a person is left out. */
export const isForProgram = ({ screen: { format } }: Context): boolean => format === "json" || format === "jsonl";

/** What the settings room needs of a run. */
export const sourcesOf = ({ host, flags, screen }: Context): SettingsSources => ({
  host,
  flags,
  hide: screen.hide,
  notice: screen.notice,
  warn: screen.warn,
});
