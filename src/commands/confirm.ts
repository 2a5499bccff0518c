import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { askLine } from "../settings/index.ts";

/** @param action such as "delete the profile work". @throws Failure `not-confirmed` */
export const requireConfirmation = async (
  { host, screen }: Context,
  { action, effect = "", option, yes }: { action: string; effect?: string; option: string; yes: boolean },
) => {
  if (yes) return;
  let reason = "rollcall cannot ask for confirmation without a terminal";
  if (host.terminal.stdin) {
    await screen.flushErrors();
    if (/^y(es)?$/i.test((await askLine(host, `${action}${effect}? [y/N] `)) ?? "")) return;
    reason = "you did not confirm";
  }
  throw new Failure("usage", "not-confirmed", `cannot ${action}: ${reason}`, {
    hint: `pass ${option}`,
  });
};
