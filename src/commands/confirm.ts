/** Asks for confirmation before an action that cannot be undone. */
import type { Context } from "../context.ts";
import { Failure } from "../failure.ts";
import { askLine, canAsk } from "../settings/index.ts";

/** Throws unless the action, such as "rename the profile work", is confirmed. @throws Failure `not-confirmed` */
export const requireConfirmation = async (
  { host, screen }: Pick<Context, "host" | "screen">,
  { action, option, yes }: { readonly action: string; readonly option: string; readonly yes: boolean },
): Promise<void> => {
  if (yes) return;
  let message = `refusing to ${action} without confirmation: stdin is not a terminal`;
  if (canAsk(host)) {
    await screen.flushErrors();
    const answer = await askLine(host, `${action}? [y/N] `);
    if (/^y(es)?$/i.test(answer ?? "")) return;
    message = `not confirmed: ${action}`;
  }
  throw new Failure("usage", "not-confirmed", message, { hint: `confirm with ${option}` });
};
