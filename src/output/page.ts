/** Prints pages of titled sections. */
import { Failure } from "../failure.ts";
import { countCharacters, cutText } from "../text/sentences.ts";
import type { Screen } from "./screen.ts";
import type { Line, Page, Section } from "./views.ts";

type Pages = Iterable<Page> | AsyncIterable<Page>;

/** In a pipe, a page is plain text. @throws Failure `not-rows` if the command line asks for rows without columns */
export const requirePage = ({ options, fields }: Screen) => {
  if (options.format !== "tsv" || fields) return;
  const message = "--output tsv needs rows, but this result is a page";
  const hint = "pass -o json or -o table, or choose columns with --fields";
  throw new Failure("usage", "not-rows", message, { hint });
};

export const printPage = (screen: Screen, page: Page) => printPages(screen, [page]);

export const printPages = (screen: Screen, pages: Pages) => screen.print(formatPages(screen, pages), "lines");

async function* formatPages(screen: Screen, pages: Pages) {
  let isEmpty = true;
  for await (const page of pages) {
    const layout = await createLayout(screen, page);
    if (!isEmpty) yield `\n${layout.paint("faint", "─".repeat(Math.min(screen.width, ruleColumns)))}\n`;
    for (const section of page.sections) {
      if (section.lines?.length === 0 && section.block === undefined) continue;
      let lead = isEmpty ? "" : "\n";
      for (const lines of formatSection(section, layout)) {
        if (lines.length === 0) continue;
        yield `${lead}${lines.join("\n")}\n`;
        lead = "";
        isEmpty = false;
      }
    }
  }
}

type PageLayout = Awaited<ReturnType<typeof createLayout>>;

const ruleColumns = 80;

const minColumns = 16;
/** The widest character takes two columns. */
const minListColumns = 2;

const createLayout = async ({ host, width, cleaner, paint }: Screen, { isFull = true, isFolded }: Page) => {
  const widths = host.terminal.stdout || isFolded ? await import("./width.ts") : undefined;
  return {
    paint: await paint(),
    clean: cleaner.outside,
    width: widths ? width : Number.POSITIVE_INFINITY,
    widthOf: widths?.widthOf ?? ((line: string) => line.length),
    omitsMiddle: widths && !isFull,
    fold: (line: string, indent: number, kind?: Line["kind"]) => {
      if (!widths || kind === "command") return [line];
      const columns = Math.max(isFolded ? minListColumns : minColumns, width - indent);
      return kind === "sentence"
        ? widths.foldSentence(line, columns, 0)
        : widths.foldLine(line.replaceAll("\t", "    "), columns);
    },
  };
};

function* formatSection(section: Section, layout: PageLayout) {
  const { title, level = 1, lines = [], block } = section;
  const titleIndent = indentStep.repeat(level - 1);
  // Indented content cannot look like a title.
  const indent = titleIndent + (title === undefined ? "" : indentStep);
  if (title !== undefined) {
    const titleLine = layout.clean(title).replaceAll("\n", " ");
    yield layout.fold(titleLine, titleIndent.length).map((part) => titleIndent + layout.paint("strong", part));
  }
  yield formatLines(lines, indent, layout);
  if (block === undefined) return;
  if (title !== undefined && lines.length > 0) yield [""];
  yield* formatBlock(section, indent, layout);
}

const indentStep = "  ";

const formatLines = (lines: readonly Line[], indent: string, { paint, clean, fold, width, widthOf }: PageLayout) => {
  const nameOf = (label: string) => clean(label).replaceAll("\n", " ");
  const labelWidth = lines.reduce((max, { label }) => Math.max(max, widthOf(nameOf(label))), 0);
  const besideIndent = indent.length + labelWidth + 2;
  const belowIndent = indent.length + 2;
  const isBetterBelow = (text: string) => {
    if (besideIndent + widthOf(text) <= width) return false;
    const longest = text.split(/\s+/).reduce((max, word) => Math.max(max, widthOf(word)), 0);
    return width - besideIndent < minColumns || (besideIndent + longest > width && belowIndent + longest <= width);
  };
  return lines.flatMap(({ label, text, tone, kind }) => {
    const [name, shown] = [nameOf(label), clean(text)];
    const isBelow = isBetterBelow(shown);
    const rest = " ".repeat(isBelow ? belowIndent : besideIndent);
    const folded = shown.split("\n").flatMap((line) => fold(line, rest.length, kind));
    const padded = `${name}${" ".repeat(labelWidth - widthOf(name))}`;
    const first = isBelow
      ? fold(name, indent.length).map((line) => indent + paint("faint", line))
      : [`${indent}${paint("faint", padded)}  ${paint(tone, folded.shift() ?? "")}`.trimEnd()];
    return [...first, ...folded.map((line) => `${rest}${paint(tone, line)}`.trimEnd())];
  });
};

/** The number of lines that remain if the middle is omitted. */
const defaultBlockLines = 24;
const tailLines = 4;
const minOmittedLines = 8;

/** A portion ends at the first line end after this number of characters. */
const maxPortion = 64 * 1024;

/** Yields portions, because a block can have 50 MB. */
function* formatBlock(
  { block = "", isQuoted = false, maxBlockLines = defaultBlockLines }: Section,
  indent: string,
  { clean, fold, paint, omitsMiddle }: PageLayout,
): Generator<readonly string[], void> {
  const takenColumns = indent.length + (isQuoted ? 2 : 0);
  const indentLine = (line: string) => {
    if (isQuoted) return `${indent}${paint("faint", "│")} ${line}`.trimEnd();
    return line.trim() === "" ? "" : indent + line;
  };
  const toLines = (text: string) => text.split("\n").flatMap((line) => fold(line, takenColumns).map(indentLine));
  const text = block.replace(/\n$/, "");
  if (!omitsMiddle) {
    // Cleans the whole text, because a harmful sequence can cross the end of a portion.
    const whole = clean(text);
    for (let from = 0, end = 0; end < whole.length || from === 0; from = end + 1) {
      const lineEnd = whole.indexOf("\n", from + maxPortion);
      end = lineEnd < 0 ? whole.length : lineEnd;
      yield toLines(whole.slice(from, end));
    }
    return;
  }
  const isHuge = text.length > 2 * maxPortion;
  const head = toLines(clean(isHuge ? cutText(text, maxPortion) : text));
  if (!isHuge && head.length <= maxBlockLines + minOmittedLines) return yield head;
  const tail = isHuge ? toLines(clean(text.slice(-maxPortion).toWellFormed())) : head;
  const lineCount = groupDigits(String(text.split("\n").length));
  const lines = lineCount === "1" ? "" : ` on ${lineCount} lines`;
  const note = `… folded: ${groupDigits(String(countCharacters(text)))} characters${lines} (a pipe shows all)`;
  const noteLines = fold(note, indent.length, "sentence").map((line) => indent + paint("faint", line));
  yield [...head.slice(0, maxBlockLines - tailLines), ...noteLines, ...tail.slice(-tailLines)];
}

export const groupDigits = (digits: string) =>
  /^-?\d{4,30}$/.test(digits) ? digits.replaceAll(/\B(?=(\d{3})+$)/g, ",") : digits;
