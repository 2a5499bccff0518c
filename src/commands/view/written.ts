/** `rollcall view --html`: the page as one file, for whoever has no rollcall. */
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { openWebPage, printDocument } from "../../output/index.ts";
import type { Reading } from "../../trajectories/index.ts";
import { mostHeld, pageOf, type WrittenPage } from "../../view/index.ts";
import { tellConversion } from "../convert/foreign.ts";
import { askedFor, readerOf } from "./read.ts";
import type { Asked } from "./run.ts";

/** What `view --html --json` prints. */
export interface WrittenDocument extends Pick<WrittenPage, "groups" | "trajectories"> {
  readonly status: "written";
  readonly file: string;
  readonly bytes: number;
  readonly not_chosen?: NonNullable<Reading["leftOut"]>;
}

/** Reads, and writes the page. @throws Failure `input-invalid`, `page-exists`, `page-unwritable`; what reading ends with */
export const writeView = async (context: Context, asked: Asked & { readonly html: string }): Promise<void> => {
  const { host, screen } = context;
  const { html: file, typed } = asked;
  if (typed.port !== "0") {
    const why = "a page in a file is served by nobody";
    throw new Failure("options-contradict", { first: "--html", second: "--port", why });
  }
  const page = await openWebPage(screen, file, "view");
  const read = await readerOf(context, asked);
  const progress = screen.progress("reading");
  const onRead = (bytes: number, of: number) =>
    progress.update(`reading, ${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`);
  try {
    const reading = await read({ onRead, onOpened: () => undefined });
    try {
      tellConversion(context, reading);
      progress.update("writing the page");
      const made = await pageOf(reading, {
        asked: askedFor(asked),
        at: host.now(),
        safe: screen.safe.json,
        signal: host.signal,
      });
      const bytes = page.writePieces(made.pieces);
      progress.stop();
      await tell(context, { file, bytes, made, leftOut: reading.leftOut });
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
  readonly leftOut: Reading["leftOut"];
}

const tell = async ({ screen }: Context, { file, bytes, made, leftOut }: Told): Promise<void> => {
  const { groups, trajectories } = made;
  if (screen.format === "json" || screen.format === "jsonl") {
    const chosen = leftOut === undefined ? {} : { not_chosen: leftOut };
    const document: WrittenDocument = { status: "written", file, bytes, groups, trajectories, ...chosen };
    await printDocument(screen, document);
  }
  const isAll = groups.written === groups.read;
  const held = isAll ? `${groups.read} groups` : `${groups.written} of the ${groups.read} groups`;
  screen.notice(`${file} has ${held} as a page of ${(bytes / 1e6).toFixed(1)} MB: open it in a browser`);
  if (isAll) return;
  screen.notice(
    `a page in a file holds at most ${mostHeld.groups} groups, and ${mostHeld.bytes / 1e6} MB of them: the others are left out; --where, --best and --sample choose`,
  );
};
