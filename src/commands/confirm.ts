/** Asks before something is done that nobody should do by a slip. */

import type { Context } from "../context.ts";
import { askLine, canAsk } from "../settings/index.ts";
import { notConfirmed } from "./failures.ts";

/**
 * Goes on where the person at the terminal says yes, or where `yes` was given as an option.
 * @param what is about to be done: "make the profile work"
 * @param option that says yes, for scripts
 * @throws Failure `not-confirmed`
 */
export const requireConfirmation = async (
  { host, screen }: Pick<Context, "host" | "screen">,
  { what: action, option, yes }: { readonly what: string; readonly option: string; readonly yes: boolean },
): Promise<void> => {
  if (yes) return;
  if (!canAsk(host)) throw notConfirmed({ what: action, option }, false);
  await screen.flushErrors();
  const answer = await askLine(host, `${action}? [y/N] `);
  if (!/^y(es)?$/i.test(answer ?? "")) throw notConfirmed({ what: action, option }, true);
};
