/** The screen of one run: which form a result takes, and which stream it goes to. */
import { Failure, type Problem } from "../../failure.ts";
import type { Host } from "../../host.ts";
import type { Draw } from "../frame/failures.ts";
import type { Report } from "../frame/report.ts";
import { bytesOf, type JsonView, jsonOf, jsonPieces } from "../json/objects.ts";
import { pageText } from "../page/page.ts";
import { pageLayout } from "../page/page-layout.ts";
import type { Picture } from "../picture/histogram.ts";
import type { Plot } from "../picture/plot-area.ts";
import type { WebPageFile } from "../picture/web-page.ts";
import { listPieces, widthOfTerminal } from "../table/lists.ts";
import { inOrder } from "../table/rows.ts";
import type { Format, ListView, Page } from "../view.ts";
import { type Meter, type MeterForm, openMeter } from "./meter.ts";
import type { ScreenWords } from "./options.ts";
import { hasColor, openPaint, type Paint, plain } from "./paint.ts";
import { openProgress, type Progress, silent } from "./progress.ts";
import { isBuildSystem, jsonWithoutCommands, oneLine, safeJson, safeLine, safeText, withoutCommands } from "./safe.ts";
import { openSecrets } from "./secrets.ts";
import { openSink } from "./sink.ts";

/** The screen of one run: standard output and standard error, and how to write to them. */
export interface Screen {
  readonly format: Format;
  /** Names given with `--fields`. */
  readonly fields: readonly string[] | undefined;
  /** Whether every printing may open a pager: what belongs together is better printed at once. */
  readonly paged: boolean;
  /** Whether whoever reads standard output left: a command that reads can stop, with exit code 0. */
  readonly readerGone: boolean;
  /** Prints a list in the form asked for. @throws Failure `option-value-wrong` for a field that there is not */
  list<Row>(view: ListView<Row>): Promise<void>;
  /** Prints a page (through the pager where it is longer than the terminal). */
  page(page: Page): Promise<void>;
  /** Prints pages that come one by one, all of them through one pager where one is opened. */
  pages(pages: AsyncIterable<Page>): Promise<void>;
  /** Prints a report for a build system, or writes it to its file. @throws Failure `report-unwritable` */
  report(report: Report): Promise<void>;
  /** What a person at a terminal is told of a failure or a problem, without colour; `indent` columns are left to whoever prints it. */
  drawn(said: Failure | Problem, indent?: number): Promise<string>;
  /** Draws distributions below a page: on a terminal, and nowhere else. `picture` is asked for only there. */
  picture(picture: () => Picture): Promise<void>;
  /** Draws a plot on a terminal, or, where a table was asked for, as wide as one is elsewhere. */
  plot(plot: Plot): Promise<void>;
  /**
   * Opens the file of a web page, which is written as a whole.
   * @throws Failure `page-exists` where something stands there that rollcall did not write, `page-unwritable`
   */
  webPage(file: string): Promise<WebPageFile>;
  /** Prints a JSON document made by rollcall; `member` names the array whose objects `jsonl` and `--fields` mean. */
  document(value: unknown, member?: string): Promise<void>;
  /**
   * Prints JSON bytes of the service's own, with control and bidi characters escaped; `member` names the object, or the
   * array of objects, in it that `jsonl` and `--fields` mean.
   */
  raw(bytes: Uint8Array, member?: string): Promise<void>;
  /** Prints plain text that is meant as it is (a completion script, a setting's value). */
  text(text: string): Promise<void>;
  /**
   * Prints what came from outside as it stands, for a program or a file; a terminal gets it made safe, and of JSON also a
   * build system, by escapes that change nothing for who parses it.
   */
  verbatim(text: string, kind: "text" | "json"): Promise<void>;
  /** For the person in front of the screen; left out with `--json` and `--quiet`. */
  notice(sentence: string): void;
  /** Whether problems are drawn for a person, with what stands around their places where they carry it. */
  readonly frames: boolean;
  /** Left out with `--json`, where the result document carries it. */
  warn(problem: Problem): void;
  /** A line of `--debug`. */
  trace(line: string): void;
  /** Prints what a run ended with. */
  failure(end: { readonly failure: Failure; readonly exitCode: number }): Promise<void>;
  /** The document of a failure, as a program is given it. */
  failureDocument(end: { readonly failure: Failure; readonly exitCode: number }): Promise<unknown>;
  /** Valid JSON with control and bidi characters as escapes, and without secrets: for who writes it by himself. */
  cleanJson(json: string): string;
  /** From now on a signal that came keeps nothing from being printed: the run is over, and says what it came to. */
  lastWords(): void;
  /** From now on, this text is blotted out of everything printed. */
  hide(secret: string): void;
  /** A spinner on standard error, only where that is a terminal. */
  progress(label: string): Progress;
  /** Progress of a long run, in the form asked for: else a bar on a terminal, lines in a build, nothing elsewhere. */
  meter(form: MeterForm | undefined): Meter;
}

/** Opens the screen of one run. */
export const openScreen = ({ host, words }: { readonly host: Host; readonly words: ScreenWords }): Screen => {
  const format = words.format ?? (host.terminal.stdout ? "table" : "tsv");
  // Programs read both streams then: what is only for a person is left out.
  const forProgram = words.format === "json" || words.format === "jsonl";
  const secrets = openSecrets();
  const inBuild = isBuildSystem(host.env);
  const clean = (text: string) => secrets.blot(safeText(text));
  const cleanCell = (text: string) => secrets.blot(safeLine(text));
  const cleanJson = (json: string) => {
    const safe = secrets.blotJson(safeJson(json));
    return inBuild ? jsonWithoutCommands(safe) : safe;
  };
  const lines = (text: string) => (inBuild ? withoutCommands(text) : text);
  const stdout = openSink({ stream: host.stdout, signal: host.signal });
  const stderr = openSink({ stream: host.stderr });
  let said: Promise<void> = Promise.resolve();
  const errorColor = hasColor({ host, stream: "stderr", color: words.color });
  const hasSpinner = host.terminal.stderr && !forProgram && !words.quiet && !inBuild && host.env.TERM !== "dumb";
  const progressLabel = (label: string) =>
    cleanCell(label).slice(0, Math.max(0, host.terminal.columns - spinnerColumns));
  let errorPaint: Promise<Paint> | undefined;
  let waiting: Progress | undefined;
  /** Whether whoever looked at a pager closed it before the end. */
  let pagerLeft = false;

  /** Writes to standard error after all that was said before; that nobody can read it is no reason to fail. */
  const say = (text: (paint: Paint) => string | Promise<string>): Promise<void> => {
    errorPaint ??= openPaint(errorColor);
    const paint = errorPaint;
    said = said.then(async () => await stderr.write(lines(await text(await paint)))).catch(() => undefined);
    return said;
  };

  const frames = host.terminal.stderr && !forProgram;

  /** Frames on a terminal, a line each elsewhere. */
  const drawing = async (paint: Paint): Promise<Draw> => {
    if (frames) return await framing(paint);
    const { problemLines } = await failures();
    return (problem, isSaid) => (isSaid ? [] : problemLines(problem, clean, paint));
  };

  const framing = async (paint: Paint, indent = 0): Promise<Draw> => {
    const [{ frameLines }, { glyphsOf }] = await Promise.all([import("../frame/problem.ts"), import("./glyphs.ts")]);
    const layout = { clean, paint, width: host.terminal.columns - indent, glyphs: glyphsOf(host) };
    return (problem, isSaid) => frameLines(problem, { ...layout, isSaid });
  };

  const paged = words.pager && host.terminal.stdout && !inBuild;

  const print = async (pieces: Iterable<string> | AsyncIterable<string>, { plain = false } = {}): Promise<void> => {
    waiting?.stop();
    await said;
    if (paged && !plain) {
      const { printPaged } = await import("./pager.ts");
      const missing = (pager: string) => notice(pagerMissing(pager));
      if (!(await printPaged({ host, pieces, direct: stdout, missing }))) pagerLeft = true;
      return;
    }
    for await (const piece of pieces) {
      if (stdout.gone) return;
      await stdout.write(piece);
    }
  };

  const notice = (sentence: string): void => {
    if (!forProgram && !words.quiet) void say((paint) => `${paint("faint", "note:")} ${oneLine(clean(sentence))}\n`);
  };

  const printJson = async (view: JsonView): Promise<void> => {
    const pieces = jsonPieces(view, {
      format: format === "jsonl" ? "jsonl" : "json",
      fields: words.fields,
      indented: host.terminal.stdout,
    });
    await print(mapped(pieces, cleanJson));
  };

  const stdoutPaint = () => openPaint(hasColor({ host, stream: "stdout", color: words.color }));

  const textOfPage = async (page: Page): Promise<string> => {
    const layout = { paint: await stdoutPaint(), clean, ...(await pageLayout(host)) };
    return lines(pageText(page, { ...layout, isBounded: host.terminal.stdout && page.full === false }));
  };

  return {
    format,
    fields: words.fields,
    paged,
    get readerGone() {
      return stdout.gone || pagerLeft;
    },
    async list(view) {
      if (format === "json" || format === "jsonl") {
        const known = view.columns.map(({ name }) => name);
        return await printJson({ ...jsonOf(view.wire, () => madeList(view)), known });
      }
      const [width, paint] = [widthOfTerminal(host), await stdoutPaint()];
      const { fields, header } = words;
      await print(mapped(await listPieces(view, { format, fields, header, width, paint, clean, cleanCell }), lines));
    },
    async page(page) {
      await print([await textOfPage(page)]);
    },
    async pages(pages) {
      await print(mappedLater(pages, textOfPage));
    },
    async report(report) {
      const { reportText, writeReport } = await import("../frame/report.ts");
      const text = reportText(report, clean);
      await (report.file === undefined ? print([text], { plain: true }) : writeReport(report.file, text));
    },
    async drawn(said, indent = 0) {
      const draw = await framing(plain, indent);
      if (!(said instanceof Failure)) return draw(said, false).join("\n");
      const { failureText } = await failures();
      return failureText({ failure: said, clean, paint: plain, draw }).trimEnd();
    },
    async picture(picture) {
      if (!host.terminal.stdout || format !== "table" || words.quiet) return;
      const [{ pictureLines }, { glyphsOf }] = await Promise.all([
        import("../picture/histogram.ts"),
        import("./glyphs.ts"),
      ]);
      const layout = {
        width: widthOfTerminal(host),
        glyphs: glyphsOf(host),
        paint: await stdoutPaint(),
        clean: cleanCell,
      };
      const drawn = pictureLines(picture(), layout);
      if (drawn.length > 0) await print([lines(`\n${drawn.join("\n")}\n`)], { plain: true });
    },
    async plot(plot) {
      const [{ plotLines, plotSize }, { glyphsOf }] = await Promise.all([
        import("../picture/plot.ts"),
        import("./glyphs.ts"),
      ]);
      const look = { glyphs: glyphsOf(host), paint: await stdoutPaint(), clean: cleanCell };
      const drawn = plotLines(plot, {
        ...look,
        ...plotSize({ width: widthOfTerminal(host), rows: host.terminal.rows }),
      });
      if (drawn.length > 0) await print([lines(`${drawn.join("\n")}\n`)]);
    },
    async webPage(file) {
      const { requirePlace, writePage } = await import("../picture/web-file.ts");
      requirePlace(file);
      return {
        async write(page) {
          const { webPagePieces } = await import("../picture/web-page.ts");
          writePage(file, webPagePieces(page, cleanCell));
        },
      };
    },
    async document(value, member) {
      await printJson({ bytes: bytesOf(value), ...(member === undefined ? {} : { member }) });
    },
    async raw(bytes, member) {
      await printJson({ bytes, ...(member === undefined ? {} : { member }) });
    },
    async text(text) {
      await print([secrets.blot(text)], { plain: true });
    },
    async verbatim(text, kind) {
      const isSeen = host.terminal.stdout;
      if (kind === "text") return await print([isSeen ? lines(clean(text)) : secrets.blot(text)], { plain: true });
      const json = isSeen ? cleanJson(text) : secrets.blotJson(text);
      await print([inBuild ? jsonWithoutCommands(json) : json], { plain: true });
    },
    notice,
    frames,
    warn(problem) {
      if (!forProgram) void say(async (paint) => `${(await drawing(paint))(problem, false).join("\n")}\n`);
    },
    trace(line) {
      void say((paint) => `${paint("faint", clean(line))}\n`);
    },
    async failure({ failure, exitCode }) {
      waiting?.stop();
      if (!forProgram) {
        return await say(async (paint) => {
          const { failureText } = await failures();
          return failureText({ failure, clean, paint, draw: await drawing(paint) });
        });
      }
      await say(async () => {
        const { failureDocument } = await failures();
        return `${cleanJson(JSON.stringify(failureDocument({ failure, exitCode, clean })))}\n`;
      });
    },
    async failureDocument(end) {
      const { failureDocument } = await failures();
      return failureDocument({ ...end, clean });
    },
    cleanJson,
    lastWords: stdout.ignoreSignal,
    hide: secrets.hide,
    progress(label) {
      waiting?.stop();
      waiting = hasSpinner ? openProgress({ host, label, color: errorColor, clean: progressLabel }) : silent;
      return waiting;
    },
    meter(asked) {
      const form = asked ?? (hasSpinner ? "bar" : inBuild && !forProgram && !words.quiet ? "lines" : "none");
      return openMeter({
        form,
        elapsed: host.elapsed,
        columns: host.terminal.columns - spinnerColumns,
        spinner: (label) => {
          waiting?.stop();
          waiting = openProgress({ host, label, color: errorColor, clean: progressLabel });
          return waiting;
        },
        line: (text) =>
          void say((paint) => (form === "json" ? `${cleanJson(text)}\n` : `${paint("faint", clean(text))}\n`)),
      });
    },
  };
};

/** What failures say: all the words there are, which a run that goes well never needs. */
const failures = () => import("../frame/failures.ts");

/** Columns that the spinner itself takes beside its label. */
const spinnerColumns = 4;

const pagerMissing = (pager: string): string => `the pager ${pager} can't be started: see PAGER`;

/** A list made by rollcall, as objects of its columns' names and values. */
const madeList = <Row>({ columns, rows }: ListView<Row>): unknown => ({
  data: Array.from(inOrder(rows), (row) => Object.fromEntries(columns.map(({ name, value }) => [name, value(row)]))),
});

function* mapped(pieces: Iterable<string>, change: (piece: string) => string): Generator<string, void> {
  for (const piece of pieces) yield change(piece);
}

async function* mappedLater<Value>(
  values: AsyncIterable<Value>,
  change: (value: Value) => Promise<string>,
): AsyncGenerator<string, void> {
  for await (const value of values) yield await change(value);
}
