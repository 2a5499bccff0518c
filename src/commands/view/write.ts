/** `rollcall view --html`: the page as one file, for people without rollcall. */
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument } from "../../output/index.ts";
import { checkResult } from "../../send/index.ts";
import { maxWritten, pageOf, requirePageFile, writePageFile } from "../../view/index.ts";
import { withFrames } from "../inputs/problems.ts";
import { percentText } from "../inputs/read.ts";
import type { ReadingTold, Viewed } from "./read.ts";

/**
 * Reads, and writes the page.
 * @throws Failure `input-invalid`, after what is valid was written; `page-exists`, `page-unwritable`; as reading
 */
export const writeView = async (
  context: Context,
  file: string,
  open: (told: ReadingTold) => Promise<Viewed>,
): Promise<void> => {
  const { host, screen } = context;
  requirePageFile(file);
  const progress = screen.progress("reading");
  const onRead = (bytes: number, of: number) => progress.update(percentText("reading", { bytes, of }));
  try {
    const viewed = await open({ onRead, onOpened: () => undefined });
    const shown = await viewed.read();
    const { reading } = shown;
    try {
      const { groups, trajectories, failure } = checkResult(reading);
      const invalid = failure === undefined ? undefined : await withFrames(context, reading.sources, failure);
      // An existing page is worth more than one without anything valid.
      if (invalid !== undefined && groups.read === groups.rejected) throw invalid;
      progress.update("writing the page");
      const made = await pageOf(shown, { at: host.now(), safe: screen.safe.json, signal: host.signal });
      // The store of the local service is its user's alone.
      const mode = shown.logged === undefined ? modeOf(reading.sources) : 0o600;
      const bytes = writePageFile(file, made.pieces, mode);
      progress.stop();
      if (screen.isForProgram) {
        await printDocument(screen, {
          ...{ status: "written", file, bytes },
          groups: { ...made.groups, rejected: groups.rejected },
          trajectories: { ...made.trajectories, rejected: trajectories.rejected },
          not_chosen: reading.leftOut,
        });
      }
      const isAll = made.groups.written === made.groups.read;
      const all = counted(made.groups.read, "group");
      const has = isAll ? all : `${made.groups.written} of the ${all}`;
      const wrong = groups.rejected === 0 ? "" : `, ${groups.rejected} of ${isAll ? "which" : "those read"} not valid,`;
      screen.notice(`${file} has ${has}${wrong} as a page of ${(bytes / 1e6).toFixed(1)} MB: open it in a browser`);
      if (!isAll) {
        const limits = `at most ${maxWritten.groups} groups, and ${maxWritten.bytes / 1e6} MB of them`;
        screen.notice(`a page in a file holds ${limits}: the others are left out; --where, --best and --sample choose`);
      }
      if (invalid !== undefined) throw invalid;
    } finally {
      await reading.close();
    }
  } finally {
    progress.stop();
  }
};
