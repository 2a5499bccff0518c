/** `rollcall view --follow`: shows what is written meanwhile. */
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { type FollowEvent, watchFiles } from "../../trajectories/index.ts";
import { requireGrowing } from "../convert/growing.ts";
import { askedFor } from "./read.ts";
import type { Asked } from "./run.ts";
import type { Show } from "./serve.ts";

/** Understands all that was typed; gives what then follows the files. @throws Failure `options-contradict` */
export const followerOf = async (context: Context, { files, typed }: Asked): Promise<Show> => {
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
