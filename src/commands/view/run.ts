/** What `rollcall view` does: shows what it reads, or calls; or writes what it read as a page. */
import type { Context } from "../../context.ts";
import type { TypedChoosing } from "../convert/choosing.ts";
import { type TypedForeign, tellConversion } from "../convert/foreign.ts";
import { viewCalls, wantsCalls } from "./calls.ts";
import { followerOf } from "./follow.ts";
import { askedFor, readerOf } from "./read.ts";
import { servePage, type TypedServing } from "./serve.ts";

/** The options as commander gives them. */
export interface TypedView extends TypedForeign, TypedChoosing, TypedServing {
  readonly groupBy?: string;
  readonly calls?: boolean;
  readonly follow?: boolean;
  /** The file of a page that holds what it shows. */
  readonly html?: string;
}

/** What was asked for. */
export interface Asked {
  readonly files: readonly string[];
  readonly typed: TypedView;
}

/** Serves until a signal, or writes a file. @throws Failure `input-invalid`, `address-unusable`; what reading and writing end with */
export const view = async (context: Context, asked: Asked): Promise<void> => {
  const { html, follow } = asked.typed;
  if (wantsCalls(context, asked)) return await viewCalls(context, asked);
  if (follow === true) return await servePage(context, asked.typed, await followerOf(context, asked));
  if (html !== undefined) return await (await import("./written.ts")).writeView(context, { ...asked, html });
  const read = await readerOf(context, asked);
  await servePage(context, asked.typed, async (viewer, onOpened) => {
    const whole = await read({ onRead: viewer.reading, onOpened });
    tellConversion(context, whole);
    await viewer.show(whole, { asked: askedFor(asked) });
  });
};
