/** What `rollcall view` does: shows what it reads, or calls; or writes what it read as a page. */

import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { type FollowEvent, watchFiles } from "../../trajectories/index.ts";
import { tellConversion } from "../convert/foreign.ts";
import { requireGrowing } from "../convert/growing.ts";
import { viewCalls, wantsCalls } from "./calls.ts";
import { type Asked, askedFor, readerOf } from "./read.ts";
import { type Show, servePage } from "./serve.ts";

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

/** Understands all that was typed; gives what then shows what is written meanwhile. @throws Failure `options-contradict` */
const followerOf = async (context: Context, { files, typed }: Asked): Promise<Show> => {
  requireGrowing(typed);
  const { host, screen } = context;
  const { groupBy } = typed;
  const asked = askedFor({ files, typed });
  const settings = await settingsInForce(context);
  return async (viewer, onOpened) => {
    const waitingFor = new Set<string>();
    const onEvent = (event: FollowEvent, file: string) => {
      if (event === "waiting") waitingFor.add(file);
      const text = sayings[event](file);
      viewer.tell(text);
      screen.notice(text);
    };
    await watchFiles({
      host,
      files,
      groupBy,
      onEvent,
      split: settings.get("split"),
      onRead: (bytes, of) => {
        onOpened();
        viewer.reading(bytes, of);
      },
      onGrown: async (reading) => {
        const come = reading.sources.filter(({ name }) => waitingFor.delete(name));
        for (const { name } of come) viewer.tell(`${name} is there now`);
        await viewer.grow(reading, { asked });
      },
    });
  };
};

const sayings: Readonly<Record<FollowEvent, (file: string) => string>> = {
  waiting: (file) => `${file} is not there yet: waiting for it`,
  moved: (file) => `another file is called ${file} now: both are read`,
  rewritten: (file) => `${file} was written anew: what it held before can't be shown any more`,
};
