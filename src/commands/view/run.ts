/** The run of `rollcall view`: shows what it reads, or what was logged; or writes what it read as a page. */
import { contradiction } from "../../cli/index.ts";
import { settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import type { Reading } from "../../groups/index.ts";
import { openStamp } from "../../input/index.ts";
import type { AskedFor } from "../../view/index.ts";
import { openInputs, sayConversion } from "../inputs/read.ts";
import { viewCalls } from "./calls.ts";
import type { TypedView } from "./command.ts";
import { servePage } from "./serve.ts";

/** Serves until a signal, or writes a file. @throws Failure `input-invalid`, `address-unusable`; what reading and writing end with */
export const view = async (context: Context, typed: TypedView): Promise<void> => {
  const { file: files, html } = typed;
  if (files.length === 0 && (context.flags.local || context.flags.profile === "local"))
    return await viewCalls(context, typed);
  if (html !== undefined) {
    if (typed.port !== 0) throw contradiction("--html", "--port", "a page in a file is served by nobody");
    const { writeView } = await import("./write.ts");
    return await writeView(context, {
      html,
      asked: askedFor(typed),
      open: (told) => openReading(context, typed, told),
    });
  }
  await servePage(context, typed, async (viewer, onOpened) => {
    const read = await openReading(context, typed, { onRead: viewer.reading, onOpened });
    for (;;) {
      // Taken before reading, so that a change while it is read counts.
      const hasChanged = openStamp(files, context.host);
      const reading = await read();
      sayConversion(context, reading);
      await viewer.show(reading, { asked: askedFor(typed) });
      await viewer.reloaded(hasChanged);
    }
  });
};

/** Functions that are called with the bytes read so far, and when all inputs are open. */
export interface ReadingTold {
  onRead(bytes: number, of: number): void;
  onOpened(): void;
}

/** Checks what was typed. Returns what then reads. */
const openReading = async (
  context: Context,
  typed: TypedView,
  { onRead, onOpened }: ReadingTold,
): Promise<() => Promise<Reading>> => {
  const settings = await settingsInForce(context);
  return await openInputs(context, {
    settings,
    typed,
    files: typed.file,
    split: settings.get("split"),
    goesOn: true,
    groupBy: typed.groupBy,
    onProgress: ({ bytes, of }) => onRead(bytes, of),
    onFetched: ({ bytes, of = 0 }) => onRead(bytes, of),
    onOpened,
  });
};

/** The options that a command needs to log what is shown; sampled groups and shards are named by their numbers. */
const askedFor = ({
  file: files,
  where,
  best,
  groupBy,
  from,
  rewardFrom,
  rewards,
  lossy,
  histories,
}: TypedView): AskedFor => {
  const valued = {
    "--group-by": groupBy,
    "--best": best,
    "--from": from,
    "--reward-from": rewardFrom,
    "--rewards": rewards,
  };
  return {
    files: files.length === 0 ? ["-"] : files,
    options: [
      ...Object.entries(valued).flatMap(([option, value]) => (value === undefined ? [] : [option, String(value)])),
      ...(lossy ? ["--lossy"] : []),
      ...(histories ? ["--histories"] : []),
    ],
    where,
  };
};
