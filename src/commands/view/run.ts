/** What `rollcall view` does: shows what it reads, or what was logged; or writes what it read as a page. */

import type { Context } from "../../context.ts";
import { openStamp } from "../../input/index.ts";
import { tellConversion } from "../convert/foreign.ts";
import { viewCalls, wantsCalls } from "./calls.ts";
import { type Asked, askedFor, readerOf } from "./read.ts";
import { servePage } from "./serve.ts";

/** Serves until a signal, or writes a file. @throws Failure `input-invalid`, `address-unusable`; what reading and writing end with */
export const view = async (context: Context, asked: Asked): Promise<void> => {
  const { files, typed } = asked;
  if (wantsCalls(context, asked)) return await viewCalls(context, asked);
  if (typed.html !== undefined)
    return await (await import("./written.ts")).writeView(context, { ...asked, html: typed.html });
  const read = await readerOf(context, asked);
  await servePage(context, typed, async (viewer, onOpened) => {
    for (;;) {
      // Taken first: what is written while it is read is a change.
      const hasChanged = openStamp(files, context.host);
      const whole = await read({ onRead: viewer.reading, onOpened });
      tellConversion(context, whole);
      await viewer.show(whole, { asked: askedFor(asked) });
      await viewer.reloaded(hasChanged);
    }
  });
};
