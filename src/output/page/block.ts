/** Lays out blocks of text: marked at every line where it came from outside, folded, cut in the middle, side by side. */

/** How blocks are laid out. */
export interface BlockLayout {
  /** Makes text of several lines safe. */
  readonly clean: (text: string) => string;
  /** Folds a line to what is left of the terminal behind an indent; keeps it whole in a pipe. */
  readonly fold: (line: string, indent: number, width?: number) => readonly string[];
  readonly widthOf: (line: string) => number;
  readonly paint: (tone: "faint", text: string) => string;
  /** What every line of text from outside begins with; no such text can stand in front of it. */
  readonly rail: string;
  /** Columns of the terminal; infinite in a pipe. */
  readonly width: number;
  /** Whether the middle of long text is left out. */
  readonly isBounded: boolean;
}

/** Where a block stands, and whether it is text from outside. */
interface BlockPlace {
  readonly indent: string;
  readonly quoted: boolean;
  /** Lines that are shown at most where not all is shown. */
  readonly most: number | undefined;
}

/** Lines of a long block that are shown, and how many of them are its last. */
const usualMost = 24;
const lastLines = 4;

/** So few more lines are not worth folding. */
const slack = 8;

const blockLines = (block: string, { indent, quoted, most }: BlockPlace, layout: BlockLayout): readonly string[] => {
  const mark = quoted ? layout.rail : "";
  const { lines, note } = laidOut(block, { taken: indent.length + (quoted ? 2 : 0), most }, layout);
  return lines.map((line, at) => {
    if (at === note) return `${indent}${layout.paint("faint", line)}`;
    return quoted
      ? `${indent}${layout.paint("faint", mark)} ${line}`.trimEnd()
      : line.trim() === ""
        ? ""
        : indent + line;
  });
};

/** Lines of a block, folded; `note` is the position of the one that says what was left out. */
interface LaidOut {
  readonly lines: readonly string[];
  readonly note: number | undefined;
}

const laidOut = (
  block: string,
  {
    taken,
    most = usualMost,
    width,
  }: { readonly taken: number; readonly most?: number | undefined; readonly width?: number },
  layout: BlockLayout,
): LaidOut => {
  const text = withoutEnd(block);
  if (!layout.isBounded) return { lines: foldedLines(text, taken, width, layout), note: undefined };
  // No terminal shows more of a few lines: the rest of a text of megabytes is not looked at.
  const isHuge = text.length > 2 * longestLooked;
  const head = foldedLines(isHuge ? text.slice(0, longestLooked) : text, taken, width, layout);
  if (!isHuge && head.length <= most + slack) return { lines: head, note: undefined };
  const tail = isHuge ? foldedLines(text.slice(-longestLooked), taken, width, layout) : head;
  const first = head.slice(0, most - lastLines);
  return { lines: [...first, leftOut(text), ...tail.slice(-lastLines)], note: first.length };
};

const withoutEnd = (block: string): string => block.replace(/\n$/, "");

/** Characters of a block that are laid out at the same time where all of it is shown. */
const pieceLength = 64 * 1024;

/** The lines of a block, some at a time: one of 50 MB is never there in lines as a whole. */
export function* blockPieces(
  block: string,
  place: BlockPlace,
  layout: BlockLayout,
): Generator<readonly string[], void> {
  if (layout.isBounded || block.length <= pieceLength) return yield blockLines(block, place, layout);
  // Made safe as a whole: nothing that is looked for stands in two pieces.
  const text = withoutEnd(layout.clean(block));
  const laid = { ...layout, clean: (piece: string) => piece };
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf("\n", from + pieceLength);
    const to = end < 0 ? text.length : end;
    // The line end that is taken off a block is not that of an empty line here.
    yield blockLines(`${text.slice(from, to)}\n`, place, laid);
    from = to + 1;
  }
}

/** Characters of either end of a long text that are looked at. */
const longestLooked = 64 * 1024;

const leftOut = (text: string): string => {
  const lines = linesIn(text);
  const on = lines === 1 ? "" : ` on ${grouped(String(lines))} lines`;
  return `… folded: ${grouped(String(text.length))} characters${on} (--full)`;
};

const linesIn = (text: string): number => {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
};

const foldedLines = (
  text: string,
  taken: number,
  width: number | undefined,
  { clean, fold }: BlockLayout,
): readonly string[] =>
  clean(text)
    .split("\n")
    .flatMap((line) => {
      const own = ownIndent(line);
      return fold(line.slice(own.length), taken + own.length, width).map((part) => own + part);
    });

/** Widest indent that the rest of a folded line keeps: deeper ones would leave no room on a narrow terminal. */
const widestIndent = 16;

const ownIndent = (line: string): string => {
  const own = /^ */.exec(line)?.[0] ?? "";
  return own.length <= widestIndent ? own : "";
};

interface Titled {
  readonly title: string;
  readonly block: string;
}

/** Between two blocks side by side. */
const gap = "  ";

/** Two titled blocks of text from outside, side by side. */
export const besideLines = (
  {
    left,
    right,
    indent,
    held,
  }: { readonly left: Titled; readonly right: Titled; readonly indent: string; readonly held: string },
  { title, ...layout }: BlockLayout & { readonly title: (text: string) => string },
): readonly string[] => {
  const { rail, width, fold, widthOf, paint } = layout;
  const half = Math.floor((width - indent.length - gap.length) / 2);
  const column = ({ title: name, block }: Titled): readonly { readonly text: string; readonly shown: string }[] => {
    const { lines, note } =
      block === "" ? { lines: [], note: undefined } : laidOut(block, { taken: held.length + 2, width: half }, layout);
    return [
      ...fold(name, 0, half).map((text) => ({ text, shown: title(text) })),
      ...lines.map((line, at) => {
        const mark = at === note ? "" : `${rail} `;
        return {
          text: `${held}${mark}${line}`,
          shown: at === note ? `${held}${paint("faint", line)}` : `${held}${paint("faint", rail)} ${line}`,
        };
      }),
    ];
  };
  const [first, second] = [column(left), column(right)];
  return Array.from({ length: Math.max(first.length, second.length) }, (_, at) => {
    const { text, shown } = first[at] ?? { text: "", shown: "" };
    const other = second[at];
    const padded =
      other === undefined ? shown : `${shown}${" ".repeat(Math.max(0, half - widthOf(text)))}${gap}${other.shown}`;
    return `${indent}${padded}`.trimEnd();
  });
};

/** Digits in groups of three: `1,873`. Anything but a whole number of a readable length stays as it is. */
export const grouped = (digits: string): string =>
  /^-?\d{4,30}$/.test(digits) ? digits.replaceAll(/\B(?=(\d{3})+$)/g, ",") : digits;
