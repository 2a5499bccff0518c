/** Runs `rollcall check` for its tests. */
import { type RunOptions, runRollcall } from "../../support/run.ts";

/** A trajectory without messages, on one line. */
export const line = (reward: unknown, more = "") => `{"messages_and_choices":[],"reward":${reward}${more}}`;

export const check = async (args: readonly string[], options: RunOptions = {}) => {
  return await runRollcall(["check", ...args], options);
};

export const document = async (args: readonly string[], options: RunOptions = {}) => {
  const { code, stdout } = await check([...args, "--json"], options);
  return { code, document: JSON.parse(stdout) as Record<string, unknown> };
};
