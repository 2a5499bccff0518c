/** The output of one run: the format of its result, its colors, and both streams. */
import { type Failure, type Problem, toProblemDocument } from "../failure.ts";
import { conflictingOptions, invalidOptionValue } from "../failures.ts";
import { type Host, listSecrets } from "../host.ts";
import { type Cleaner, isBuildSystem, openCleaner, toOneLine } from "./cleaner.ts";
import {
  type Meter,
  type MeterFormat,
  noProgress,
  openMeter,
  openSpinner,
  type ProgressIndicator,
} from "./progress.ts";
import { findSecrets } from "./secrets.ts";
import { openSink, type Pieces, type Sink } from "./sink.ts";
import { hasColor, loadPaint, type Paint } from "./style.ts";
import type { Format } from "./views.ts";

export const colorModes = ["auto", "always", "never"] as const;
export type ColorMode = (typeof colorModes)[number];

export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const satisfies readonly Format[];

/** The global options for output. `color` is false for `--no-color`. */
export type TypedScreenOptions = { readonly [Flag in "json" | "header" | "quiet" | "pager"]?: boolean | undefined } & {
  readonly output?: Format | undefined;
  readonly fields?: string | undefined;
  readonly color?: string | boolean | undefined;
};

export interface ScreenOptions {
  /** Default: a table on a terminal, else tsv. */
  readonly format: Format | undefined;
  readonly fields: readonly string[] | undefined;
  readonly header: boolean;
  readonly quiet: boolean;
  readonly color: ColorMode;
  readonly pager: boolean;
  /** True if each message on standard error is a line of JSON: `--progress json`. */
  readonly hasJsonEvents?: boolean;
}

/** Parses the global options. @throws Failure `invalid-option-value`, `conflicting-options` */
export const parseScreenOptions = (typed: TypedScreenOptions): ScreenOptions => {
  const { json = false, output = json ? "json" : undefined, color } = typed;
  if (json && output !== "json") {
    throw conflictingOptions({ first: "--json", second: `-o ${output}`, why: "--json means -o json" });
  }
  const fields = typed.fields?.split(",").map((name) => name.trim());
  if (typed.fields !== undefined && fields?.includes("") === true) {
    const wanted = "names separated by commas, such as id,name";
    throw invalidOptionValue({ option: "--fields", value: typed.fields, wanted });
  }
  return {
    format: output,
    fields,
    header: typed.header === true,
    quiet: typed.quiet === true,
    color: colorModes.find((when) => when === color) ?? (color === false ? "never" : "auto"),
    pager: typed.pager !== false,
  };
};

interface PrintOptions {
  /** `lines` and `json` are cleaned text. `verbatim` is only redacted. */
  readonly kind: "lines" | "json" | "verbatim";
  /** True if a pager may show it. Default: true. */
  readonly isPaged?: boolean;
}

/** Columns of the spinner next to its label. */
const spinnerColumns = 4;

interface ScreenSetup {
  readonly host: Host;
  readonly options: ScreenOptions;
  /** The arguments of the process. Secrets in them are redacted in all output, even if the arguments are invalid. */
  readonly argv?: readonly string[];
}

/** Opens the screen of one run. Writes nothing. */
export const openScreen = (setup: ScreenSetup): Screen => new Screen(setup);

/** The screen of one run. Other functions print lists, pages and charts on it. */
export class Screen {
  readonly host: Host;
  readonly format: Format;
  readonly fields: readonly string[] | undefined;
  readonly options: ScreenOptions;
  readonly safe: Cleaner;
  /** True if each call of `print` may open a pager. */
  readonly canPage: boolean;
  /** True if a program reads the output, so that text for people is omitted. */
  readonly isForProgram: boolean;
  /** True if each message on standard error is a line of JSON. */
  readonly printsEvents: boolean;
  /** True if problems are drawn with their lines of input. */
  readonly drawsFrames: boolean;
  /** The argument after `--json`, which takes no value. */
  readonly argumentAfterJson: string | undefined;
  readonly #isInBuild: boolean;
  readonly #output: Sink;
  readonly #errors: Sink;
  readonly #errorColor: boolean;
  #errorPaint: Promise<Paint> | undefined;
  /** Resolves when everything for standard error was written. */
  #errorQueue: Promise<void> = Promise.resolve();
  #activeSpinner: ProgressIndicator | undefined;
  /** True if a pager was closed before the end. */
  #isPagerClosed = false;

  constructor({ host, options, argv = [] }: ScreenSetup) {
    this.host = host;
    this.options = options;
    this.format = options.format ?? (host.terminal.stdout ? "table" : "tsv");
    this.fields = options.fields;
    this.safe = openCleaner(host.env);
    const urls = Object.entries(host.env).filter(([name]) => /_(?:proxy|url|endpoint|ledger|store)$/i.test(name));
    const found = findSecrets([...argv, ...urls.map(([, value]) => value ?? "")]);
    for (const secret of [...found, ...listSecrets(host.env)]) this.safe.addSecret(secret);
    this.argumentAfterJson = argv.includes("--json") ? argv[argv.indexOf("--json") + 1] : undefined;
    this.isForProgram = options.format === "json" || options.format === "jsonl";
    this.printsEvents = options.hasJsonEvents === true;
    this.drawsFrames = !this.printsEvents && host.terminal.stderr && !this.isForProgram;
    this.#isInBuild = isBuildSystem(host.env);
    this.canPage = options.pager && host.terminal.stdout && !this.#isInBuild;
    this.#output = openSink({ stream: host.stdout, signal: host.signal });
    this.#errors = openSink({ stream: host.stderr });
    this.#errorColor = hasColor(host, "stderr", options.color);
  }

  /** True if the reader of standard output left. A command that reads can then stop with exit code 0. */
  get isReaderGone(): boolean {
    return this.#output.isReaderGone || this.#isPagerClosed;
  }

  /** Columns of the terminal. Without a terminal: `COLUMNS`, or infinite. */
  get width(): number {
    const { terminal, env } = this.host;
    if (terminal.stdout) return terminal.columns > 0 ? terminal.columns : 80;
    const columns = Number(env.COLUMNS);
    return Number.isInteger(columns) && columns > 0 ? columns : Number.POSITIVE_INFINITY;
  }

  readonly paint = (): Promise<Paint> => loadPaint(hasColor(this.host, "stdout", this.options.color));

  /** Writes to standard output, after everything that was queued for standard error. */
  readonly print = async (pieces: Pieces, { kind, isPaged = true }: PrintOptions): Promise<void> => {
    this.#activeSpinner?.stop();
    await this.#errorQueue;
    const { breakCommands, json, verbatim } = this.safe;
    const printed = mapPieces(pieces, { lines: breakCommands, json, verbatim }[kind]);
    if (this.canPage && isPaged) {
      const { printPaged } = await import("./pager.ts");
      const onMissing = (pager: string) => this.notice(`cannot start the pager ${pager} (set PAGER to another one)`);
      const output = { host: this.host, pieces: printed, fallback: this.#output, onMissing };
      this.#isPagerClosed ||= !(await printPaged(output));
      return;
    }
    for await (const piece of printed) {
      if (this.#output.isReaderGone) return;
      await this.#output.write(piece);
    }
  };

  /** Prints rollcall's own text, such as a completion script or the value of a setting. */
  readonly printText = (text: string): Promise<void> => this.print([text], { kind: "verbatim", isPaged: false });

  /** Prints text from outside unchanged in a pipe, and safe on a terminal. In JSON, escapes make it safe everywhere. */
  readonly printVerbatim = async (pieces: readonly string[], kind: "text" | "json"): Promise<void> => {
    if (kind === "json") return await this.print(pieces, { kind, isPaged: false });
    if (!this.host.terminal.stdout) return await this.print(pieces, { kind: "verbatim", isPaged: false });
    await this.print(pieces.map(this.safe.text), { kind: "lines", isPaged: false });
  };

  /** Writes bytes to standard output, not even redacted. */
  readonly printBytes = async (bytes: Uint8Array): Promise<void> => {
    await this.#errorQueue;
    await this.#output.write(bytes);
  };

  /** Writes to standard error, in the order of the calls. Ignores errors, because nothing else could report them. */
  readonly writeError = (text: (paint: Paint) => string | Promise<string>): Promise<void> => {
    this.#errorPaint ??= loadPaint(this.#errorColor);
    const paint = this.#errorPaint;
    this.#errorQueue = this.#errorQueue
      .then(async () => await this.#errors.write(this.safe.breakCommands(await text(await paint))))
      .catch(() => undefined);
    return this.#errorQueue;
  };

  readonly flushErrors = (): Promise<void> => this.#errorQueue;

  /** Prints a note for a person; omitted with `--json` and `--quiet`. */
  readonly notice = (sentence: string): void => {
    if (!this.isForProgram) this.noticeAlways(sentence);
  };

  /** Prints a note and commands to paste, each on one line, because a folded command cannot be pasted. */
  readonly noticeCommands = (sentence: string, commands: readonly string[]): void => {
    this.notice(sentence);
    if (this.isForProgram || this.options.quiet) return;
    for (const command of commands) void this.writeError(() => `${toOneLine(this.safe.text(command))}\n`);
  };

  /** Prints why rollcall retries, and for how long at most. */
  readonly noticeRetry = async (why: Failure, maxWaitMs: number): Promise<void> => {
    this.notice(`${why.message}; retrying for up to ${Math.round(maxWaitMs / 1000)} s (--max-wait)`);
  };

  /** Prints a note, also with `--json`. */
  readonly noticeAlways = (sentence: string): void => {
    if (this.options.quiet) return;
    if (this.printsEvents) this.#writeEvent({ event: "notice", message: sentence });
    else void this.writeError(async (paint) => await this.#formatNote(sentence, paint));
  };

  readonly #formatNote = async (sentence: string, paint: Paint): Promise<string> => {
    const line = `note: ${toOneLine(this.safe.text(sentence))}`;
    const { columns } = this.host.terminal;
    const lines = this.drawsFrames ? (await import("./width.ts")).foldSentence(line, columns) : [line];
    return `${paint("faint", "note:")}${lines.join("\n").slice("note:".length)}\n`;
  };

  /** Prints a warning; omitted with `--quiet`, and with `--json`, because the result contains it. */
  readonly warn = (problem: Problem): void => {
    if (this.isForProgram || this.options.quiet) return;
    if (this.printsEvents) this.#writeEvent({ event: "warning", ...toProblemDocument(problem) });
    else void this.writeError(async (paint) => (await import("./failure.ts")).warningText(this, problem, paint));
  };

  readonly trace = (line: string): void => {
    if (this.printsEvents) this.#writeEvent({ event: "debug", message: line });
    else void this.writeError((paint) => `${paint("faint", this.safe.text(line))}\n`);
  };

  readonly #writeEvent = (event: object): void =>
    void this.writeError(() => `${this.safe.json(JSON.stringify(event))}\n`);

  readonly hideSecret = (secret: string): void => this.safe.addSecret(secret);

  /** Prints from now on even if a signal came, because the run is over. */
  readonly ignoreSignal = (): void => this.#output.ignoreSignal();

  get #hasSpinner(): boolean {
    return this.drawsFrames && !this.options.quiet && !this.#isInBuild && this.host.env.TERM !== "dumb";
  }

  readonly startProgress = (label: string): ProgressIndicator =>
    this.#hasSpinner ? this.#openSpinner(label) : noProgress;

  readonly #openSpinner = (label: string): ProgressIndicator => {
    this.stopProgress();
    const { host } = this;
    const clean = (text: string) => this.safe.line(text).slice(0, this.#labelColumns);
    const options = { host, label, color: this.#errorColor, clean };
    // Without a size, the spinner could not clear its lines.
    this.#activeSpinner = host.terminal.isSizeUnknown ? noProgress : openSpinner(options);
    return this.#activeSpinner;
  };

  get #labelColumns(): number {
    return Math.max(0, this.host.terminal.columns - spinnerColumns);
  }

  readonly stopProgress = (): void => this.#activeSpinner?.stop();

  /** Starts the progress of a long run. Default: a bar on a terminal, lines in a build, otherwise nothing. */
  readonly startMeter = (wanted: MeterFormat | undefined): Meter => {
    const inLines = this.#isInBuild && !this.isForProgram && !this.options.quiet;
    const format = wanted ?? (this.#hasSpinner ? "bar" : inLines ? "lines" : "none");
    const { json, text: clean } = this.safe;
    return openMeter({
      format,
      elapsed: this.host.elapsed,
      columns: this.#labelColumns,
      spinner: this.#openSpinner,
      line: (text) =>
        void this.writeError((paint) => `${format === "json" ? json(text) : paint("faint", clean(text))}\n`),
    });
  };
}

async function* mapPieces(pieces: Pieces, change: (piece: string) => string): AsyncGenerator<string, void> {
  for await (const piece of pieces) yield change(piece);
}
