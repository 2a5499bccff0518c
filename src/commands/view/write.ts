/** `rollcall view --html`: the page as one file, for people without rollcall. */

import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import type { Reading } from "../../groups/index.ts";
import { modeOf } from "../../input/index.ts";
import { printDocument } from "../../output/index.ts";
import { checkResult } from "../../send/index.ts";
import { type AskedFor, mostHeld, pageOf, requirePageFile, type WrittenPage, writePageFile } from "../../view/index.ts";
import { withFrames } from "../inputs/findings.ts";
import { percentText, sayConversion } from "../inputs/read.ts";
import type { ReadingTold } from "./run.ts";

/** What is written, and where. */
interface WriteAsked {
  readonly html: string;
  readonly asked: AskedFor;
  open(told: ReadingTold): Promise<() => Promise<Reading>>;
}

/** Reads, and writes the page. @throws Failure `input-invalid`, once what is valid was written; `page-exists`, `page-unwritable`; what reading ends with */
export const writeView = async (context: Context, { html: file, asked, open }: WriteAsked): Promise<void> => {
  const { host, screen } = context;
  requirePageFile(file);
  const progress = screen.progress("reading");
  const onRead = (bytes: number, of: number) => progress.update(percentText("reading", { bytes, of }));
  try {
    const reading = await (await open({ onRead, onOpened: () => undefined }))();
    try {
      sayConversion(context, reading);
      const { groups, trajectories, failure } = checkResult(reading);
      const invalid = failure === undefined ? undefined : await withFrames(context, reading, failure);
      // A page that is there is worth more than one of nothing that is valid.
      if (invalid !== undefined && groups.read === groups.rejected) throw invalid;
      progress.update("writing the page");
      const made = await pageOf(reading, {
        asked,
        at: host.now(),
        safe: screen.safe.json,
        signal: host.signal,
      });
      const bytes = writePageFile(file, made.pieces, modeOf(reading.sources));
      progress.stop();
      const rejected = { groups: groups.rejected, trajectories: trajectories.rejected };
      await tell(context, { file, bytes, made, rejected, leftOut: reading.leftOut });
      if (invalid !== undefined) throw invalid;
    } finally {
      await reading.close();
    }
  } finally {
    progress.stop();
  }
};

/** What was written. */
interface Told {
  readonly file: string;
  readonly bytes: number;
  readonly made: WrittenPage;
  /** How many are not valid. */
  readonly rejected: Readonly<Record<"groups" | "trajectories", number>>;
  readonly leftOut: Reading["leftOut"];
}

const tell = async ({ screen }: Context, { file, bytes, made, rejected, leftOut }: Told): Promise<void> => {
  const groups = { ...made.groups, rejected: rejected.groups };
  const trajectories = { ...made.trajectories, rejected: rejected.trajectories };
  if (screen.isForProgram) {
    await printDocument(screen, { status: "written", file, bytes, groups, trajectories, not_chosen: leftOut });
  }
  const isAll = groups.written === groups.read;
  const all = counted(groups.read, "group");
  const held = isAll ? all : `${groups.written} of the ${all}`;
  const wrong = rejected.groups === 0 ? "" : `, ${rejected.groups} of ${isAll ? "which" : "those read"} not valid,`;
  screen.notice(`${file} has ${held}${wrong} as a page of ${(bytes / 1e6).toFixed(1)} MB: open it in a browser`);
  if (isAll) return;
  screen.notice(
    `a page in a file holds at most ${mostHeld.groups} groups, and ${mostHeld.bytes / 1e6} MB of them: the others are left out; --where, --best and --sample choose`,
  );
};
