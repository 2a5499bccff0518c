/** The run of `rollcall view`: serves a page of what it reads, or writes it to a file. */
import { contradiction } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import type { TypedView } from "./command.ts";
import { openViewed } from "./read.ts";
import { servePage } from "./serve.ts";

/** Serves until a signal, or writes a file. @throws Failure `input-invalid`, `address-unusable`; as reading and writing */
export const view = async (context: Context, typed: TypedView): Promise<void> => {
  const { html } = typed;
  if (html !== undefined) {
    if (typed.port !== 0) throw contradiction("--html", "--port", "a page in a file is served by nobody");
    const { writeView } = await import("./write.ts");
    return await writeView(context, html, async (told) => await openViewed(context, typed, told));
  }
  await servePage(context, typed, async (viewer, onOpened) => {
    const viewed = await openViewed(context, typed, { onRead: viewer.reading, onOpened });
    for (;;) {
      // Taken before reading, so that a change while it is read counts.
      const hasChanged = await viewed.stamp();
      await viewer.show(await viewed.read());
      await viewer.reloaded(hasChanged);
    }
  });
};
