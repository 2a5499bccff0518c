/** Asks for confirmation before an action that cannot be undone. */
import type { Context } from "../context.ts";
import { askLine, canAsk } from "../settings/index.ts";
import { notConfirmed } from "./failures.ts";

/** Throws unless the action, such as "rename the profile work", is confirmed. @throws Failure `not-confirmed` */
export const requireConfirmation = async (
  { host, screen }: Pick<Context, "host" | "screen">,
  { what, option, yes }: { readonly what: string; readonly option: string; readonly yes: boolean },
): Promise<void> => {
  if (yes) return;
  if (!canAsk(host)) throw notConfirmed({ what, option }, false);
  await screen.flushErrors();
  const answer = await askLine(host, `${what}? [y/N] `);
  if (!/^y(es)?$/i.test(answer ?? "")) throw notConfirmed({ what, option }, true);
};
