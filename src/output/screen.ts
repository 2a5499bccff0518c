/** The screen of one run: which form a result takes, and which stream it goes to. */
import type { Failure, Problem } from "../failure.ts";
import type { Host } from "../host.ts";
import { failureDocument, failureText, problemLines } from "./failures.ts";
import { shownColumns } from "./fields.ts";
import { bytesOf, type JsonView, jsonOf, jsonPieces } from "./objects.ts";
import type { ScreenWords } from "./options.ts";
import { type PageLayout, pageText } from "./page.ts";
import { hasColor, openPaint, type Paint } from "./paint.ts";
import { csvLine, tsvLine } from "./rows.ts";
import { isBuildSystem, jsonWithoutCommands, safeJson, safeLine, safeText, withoutCommands } from "./safe.ts";
import { openSecrets } from "./secrets.ts";
import { openSink } from "./sink.ts";
import type { Format, ListView, Page } from "./view.ts";
import { openRows, placesOf } from "./wire.ts";

/** The screen of one run: standard output and standard error, and how to write to them. */
export interface Screen {
  readonly format: Format;
  /** Names given with `--fields`. */
  readonly fields: readonly string[] | undefined;
  /** Whether whoever reads standard output left: a command that reads can stop, with exit code 0. */
  readonly readerGone: boolean;
  /** Prints a list in the form asked for. @throws Failure `option-value-wrong` for a field that there is not */
  list<Row>(view: ListView<Row>): Promise<void>;
  /** Prints a page (through the pager where it is longer than the terminal). */
  page(page: Page): Promise<void>;
  /** Prints a JSON document made by rollcall; `member` names the array whose objects `jsonl` and `--fields` mean. */
  document(value: unknown, member?: string): Promise<void>;
  /**
   * Prints JSON bytes of the service's own, with control and bidi characters escaped; `member` names the object, or the
   * array of objects, in it that `jsonl` and `--fields` mean.
   */
  raw(bytes: Uint8Array, member?: string): Promise<void>;
  /** Prints plain text that is meant as it is (a completion script, a setting's value). */
  text(text: string): Promise<void>;
  /** For the person in front of the screen; left out with `--json` and `--quiet`. */
  notice(sentence: string): void;
  /** Left out with `--json`, where the result document carries it. */
  warn(problem: Problem): void;
  /** A line of `--debug`. */
  trace(line: string): void;
  /** Prints what a run ended with. */
  failure(end: { readonly failure: Failure; readonly exitCode: number }): Promise<void>;
  /** From now on, this text is blotted out of everything printed. */
  hide(secret: string): void;
  /** A spinner on standard error, only where that is a terminal. */
  progress(label: string): Progress;
}

/** A running spinner. */
export interface Progress {
  update(label: string): void;
  stop(): void;
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
  let errorPaint: Promise<Paint> | undefined;

  /** Writes to standard error after all that was said before; that nobody can read it is no reason to fail. */
  const say = (text: (paint: Paint) => string): Promise<void> => {
    errorPaint ??= openPaint(hasColor({ host, stream: "stderr", color: words.color }));
    const paint = errorPaint;
    said = said.then(async () => await stderr.write(lines(text(await paint)))).catch(() => undefined);
    return said;
  };

  const print = async (pieces: Iterable<string>): Promise<void> => {
    await said;
    for (const piece of pieces) {
      if (stdout.gone) return;
      await stdout.write(piece);
    }
  };

  const printJson = async (view: JsonView): Promise<void> => {
    const pieces = jsonPieces(view, {
      format: format === "jsonl" ? "jsonl" : "json",
      fields: words.fields,
      indented: host.terminal.stdout,
    });
    await print(mapped(pieces, cleanJson));
  };

  const printLines = async <Row>({ columns, rows, wire }: ListView<Row>): Promise<void> => {
    const objects = wire === undefined ? undefined : openRows(wire.bytes, placesOf(wire).objects);
    const shown = shownColumns({ columns, wire: objects, fields: words.fields });
    if (format === "table") {
      const { tablePieces } = await import("./table.ts");
      const paint = await openPaint(hasColor({ host, stream: "stdout", color: words.color }));
      const pieces = tablePieces({ columns: shown, rows, width: widthOfTerminal(host), paint, clean: cleanCell });
      return await print(mapped(pieces, lines));
    }
    if (format === "csv") {
      const header = csvLine(shown.map(({ name }) => clean(name)));
      const line = (row: Row, position: number) => csvLine(shown.map(({ text }) => clean(text(row, position))));
      return await print(mapped(inPieces([header], rows, line), lines));
    }
    const header = words.header ? [tsvLine(shown.map(({ heading }) => cleanCell(heading)))] : [];
    const line = (row: Row, position: number) => tsvLine(shown.map(({ cell }) => cleanCell(cell(row, position))));
    await print(mapped(inPieces(header, rows, line), lines));
  };

  return {
    format,
    fields: words.fields,
    get readerGone() {
      return stdout.gone;
    },
    async list(view) {
      if (format !== "json" && format !== "jsonl") return await printLines(view);
      const known = view.columns.map(({ name }) => name);
      await printJson({ ...jsonOf(view.wire, () => madeList(view)), known });
    },
    async page(page) {
      const paint = await openPaint(hasColor({ host, stream: "stdout", color: words.color }));
      await print([lines(pageText(page, { paint, clean, fold: await folding(host) }))]);
    },
    async document(value, member) {
      await printJson({ bytes: bytesOf(value), ...(member === undefined ? {} : { member }) });
    },
    async raw(bytes, member) {
      await printJson({ bytes, ...(member === undefined ? {} : { member }) });
    },
    async text(text) {
      await print([secrets.blot(text)]);
    },
    notice(sentence) {
      if (!forProgram && !words.quiet) void say((paint) => `${paint("faint", "note:")} ${clean(sentence)}\n`);
    },
    warn(problem) {
      if (!forProgram) void say((paint) => `${problemLines(problem, clean, paint).join("\n")}\n`);
    },
    trace(line) {
      void say((paint) => `${paint("faint", clean(line))}\n`);
    },
    async failure({ failure, exitCode }) {
      if (!forProgram) return await say((paint) => failureText({ failure, clean, paint }));
      const json = JSON.stringify(failureDocument({ failure, exitCode, clean }));
      await say(() => `${cleanJson(json)}\n`);
    },
    hide: secrets.hide,
    progress: () => ({ update: () => undefined, stop: () => undefined }),
  };
};

/** Columns that a folded line keeps, however deep it is indented. */
const narrowest = 16;

/** Folds lines to the terminal; a pipe gets them whole. */
const folding = async (host: Host): Promise<PageLayout["fold"]> => {
  if (!host.terminal.stdout) return (line) => [line];
  const { folded } = await import("./width.ts");
  const width = widthOfTerminal(host);
  return (line, indent) => folded(line.replaceAll("\t", "    "), Math.max(narrowest, width - indent));
};

/** Columns of the terminal; where none reads it, those that `COLUMNS` asks for, else as many as it takes. */
const widthOfTerminal = ({ terminal, env }: Host): number => {
  const asked = Number(env.COLUMNS);
  if (terminal.stdout) return terminal.columns > 0 ? terminal.columns : 80;
  return Number.isInteger(asked) && asked > 0 ? asked : Number.POSITIVE_INFINITY;
};

/** A list made by rollcall, as objects of its columns' names and values. */
const madeList = <Row>({ columns, rows }: ListView<Row>): unknown => ({
  data: rows.map((row) => Object.fromEntries(columns.map(({ name, value }) => [name, value(row)]))),
});

function* mapped(pieces: Iterable<string>, change: (piece: string) => string): Generator<string, void> {
  for (const piece of pieces) yield change(piece);
}

/** Rows of one piece of output. */
const pieceOf = 500;

function* inPieces<Row>(
  header: readonly string[],
  rows: readonly Row[],
  line: (row: Row, position: number) => string,
): Generator<string, void> {
  yield* header;
  for (let from = 0; from < rows.length; from += pieceOf) {
    yield rows
      .slice(from, from + pieceOf)
      .map((row, at) => line(row, from + at))
      .join("");
  }
}
