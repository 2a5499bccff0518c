/** The screen of one run: the form of its result, its colors, and both streams. */
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
import { openSink, type Pieces } from "./sink.ts";
import { hasColor, loadPaint, type Paint } from "./style.ts";
import type { Format } from "./views.ts";

export const colorModes = ["auto", "always", "never"] as const;
export type ColorMode = (typeof colorModes)[number];

/** Every form by its name, in the order of `--help`. */
export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const satisfies readonly Format[];

/** The global options that are about the screen, as typed; `color` is false for `--no-color`. */
export type TypedScreenOptions = { readonly [Flag in "json" | "header" | "quiet" | "pager"]?: boolean | undefined } & {
  readonly output?: Format | undefined;
  readonly fields?: string | undefined;
  readonly color?: string | boolean | undefined;
};

/** What they mean. */
export interface ScreenOptions {
  /** Default: a table on a terminal, else tsv. */
  readonly format: Format | undefined;
  readonly fields: readonly string[] | undefined;
  readonly header: boolean;
  readonly quiet: boolean;
  readonly color: ColorMode;
  readonly pager: boolean;
  /** True if standard error is a line of JSON for everything that is said: `--progress json`. */
  readonly hasJsonEvents?: boolean;
}

/** Parses the global options. @throws Failure `invalid-option-value`, `conflicting-options` */
export const parseScreenOptions = (typed: TypedScreenOptions): ScreenOptions => {
  const { json = false, output = json ? "json" : undefined, color } = typed;
  if (json && output !== "json") {
    throw conflictingOptions({ first: "--json", second: `-o ${output}`, why: "--json is -o json" });
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
  /** Cleaned lines, cleaned JSON, or text that is meant as it is. */
  readonly kind: "lines" | "json" | "verbatim";
  /** True if a pager may show it. Default: true. */
  readonly isPaged?: boolean;
}

/** Columns that the spinner itself takes next to its label. */
const spinnerColumns = 4;

interface ScreenSetup {
  readonly host: Host;
  readonly options: ScreenOptions;
  /** Everything typed: a secret in it is never printed, whether or not the word means anything. */
  readonly argv?: readonly string[];
}

/** Opens the screen of one run. Nothing is written yet. */
export const openScreen = (opened: ScreenSetup): Screen => new Screen(opened);

/** The screen of one run. Lists, pages and pictures are printed on it by functions of their own. */
export class Screen {
  readonly host: Host;
  readonly format: Format;
  /** Names given with `--fields`. */
  readonly fields: readonly string[] | undefined;
  readonly options: ScreenOptions;
  readonly safe: Cleaner;
  /** True if every printing may open a pager: what belongs together is better printed at once. */
  readonly canPage: boolean;
  /** True if programs read both streams: what is only for a person is left out. */
  readonly isForProgram: boolean;
  /** True if standard error is a line of JSON for everything that is said. */
  readonly printsEvents: boolean;
  /** True if problems are drawn for a person, with their lines. */
  readonly drawsFrames: boolean;
  /** The word after `--json`, which takes none. */
  readonly argumentAfterJson: string | undefined;
  readonly #isInBuild: boolean;
  readonly #output: ReturnType<typeof openSink>;
  readonly #errors: ReturnType<typeof openSink>;
  readonly #errorColor: boolean;
  #errorPaint: Promise<Paint> | undefined;
  /** All that was said on standard error before. */
  #errorQueue: Promise<void> = Promise.resolve();
  #activeSpinner: ProgressIndicator | undefined;
  /** True if a pager was closed before the end. */
  #isPagerClosed = false;

  constructor({ host, options: words, argv = [] }: ScreenSetup) {
    this.host = host;
    this.options = words;
    this.format = words.format ?? (host.terminal.stdout ? "table" : "tsv");
    this.fields = words.fields;
    this.safe = openCleaner(host.env);
    const addresses = Object.entries(host.env).filter(([name]) => /_(?:proxy|url|endpoint|ledger|store)$/i.test(name));
    const typed = findSecrets([...argv, ...addresses.map(([, value]) => value ?? "")]);
    for (const secret of [...typed, ...listSecrets(host.env)]) this.safe.addSecret(secret);
    this.argumentAfterJson = argv.includes("--json") ? argv[argv.indexOf("--json") + 1] : undefined;
    this.isForProgram = words.format === "json" || words.format === "jsonl";
    this.printsEvents = words.hasJsonEvents === true;
    this.drawsFrames = !this.printsEvents && host.terminal.stderr && !this.isForProgram;
    this.#isInBuild = isBuildSystem(host.env);
    this.canPage = words.pager && host.terminal.stdout && !this.#isInBuild;
    this.#output = openSink({ stream: host.stdout, signal: host.signal });
    this.#errors = openSink({ stream: host.stderr });
    this.#errorColor = hasColor(host, "stderr", words.color);
  }

  /** True if the reader of standard output left: a command that reads can stop, with exit code 0. */
  get isReaderGone(): boolean {
    return this.#output.isReaderGone || this.#isPagerClosed;
  }

  /** Columns of the terminal; without one, those of `COLUMNS`, else as many as it takes. */
  get width(): number {
    const { terminal, env } = this.host;
    if (terminal.stdout) return terminal.columns > 0 ? terminal.columns : 80;
    const asked = Number(env.COLUMNS);
    return Number.isInteger(asked) && asked > 0 ? asked : Number.POSITIVE_INFINITY;
  }

  /** The colors of standard output. */
  readonly paint = (): Promise<Paint> => loadPaint(hasColor(this.host, "stdout", this.options.color));

  /** Writes to standard output, after all that was said on standard error. */
  readonly print = async (pieces: Pieces, { kind, isPaged: paged = true }: PrintOptions): Promise<void> => {
    this.#activeSpinner?.stop();
    await this.#errorQueue;
    const { breakCommands: lines, json, verbatim } = this.safe;
    const printed = mapPieces(pieces, { lines, json, verbatim }[kind]);
    if (this.canPage && paged) {
      const { printPaged } = await import("./pager.ts");
      const missing = (pager: string) => this.notice(`the pager ${pager} can't be started: see PAGER`);
      this.#isPagerClosed ||= !(await printPaged({
        host: this.host,
        pieces: printed,
        fallback: this.#output,
        onMissing: missing,
      }));
      return;
    }
    for await (const piece of printed) {
      if (this.#output.isReaderGone) return;
      await this.#output.write(piece);
    }
  };

  /** Prints text that is meant as it is (a completion script, a setting's value). */
  readonly printText = (text: string): Promise<void> => this.print([text], { kind: "verbatim", isPaged: false });

  /** Prints text from outside as it stands, for a program or a file; a terminal gets it made safe. JSON is made safe by escapes. */
  readonly printVerbatim = async (pieces: readonly string[], kind: "text" | "json"): Promise<void> => {
    if (kind === "json") return await this.print(pieces, { kind, isPaged: false });
    if (!this.host.terminal.stdout) return await this.print(pieces, { kind: "verbatim", isPaged: false });
    await this.print(pieces.map(this.safe.text), { kind: "lines", isPaged: false });
  };

  /** Writes bytes to standard output as they are: somebody asked for them to the byte. */
  readonly printBytes = async (bytes: Uint8Array): Promise<void> => {
    await this.#errorQueue;
    await this.#output.write(bytes);
  };

  /** Writes to standard error after all that was said before; that nobody can read it is no reason to fail. */
  readonly writeError = (text: (paint: Paint) => string | Promise<string>): Promise<void> => {
    this.#errorPaint ??= loadPaint(this.#errorColor);
    const paint = this.#errorPaint;
    this.#errorQueue = this.#errorQueue
      .then(async () => await this.#errors.write(this.safe.breakCommands(await text(await paint))))
      .catch(() => undefined);
    return this.#errorQueue;
  };

  readonly flushErrors = (): Promise<void> => this.#errorQueue;

  /** For the person in front of the screen; left out with `--json` and `--quiet`. */
  readonly notice = (sentence: string): void => {
    if (!this.isForProgram) this.noticeAlways(sentence);
  };

  /** Says why something is tried again, and for how long at most. */
  readonly noticeRetry = async (why: Failure, maxWaitMs: number): Promise<void> => {
    const seconds = Math.round(maxWaitMs / 1000);
    this.notice(`${why.message}: trying again for up to ${seconds} s (--max-wait)`);
  };

  /** A notice that is said with `--json` too. */
  readonly noticeAlways = (sentence: string): void => {
    if (this.options.quiet) return;
    if (this.printsEvents) this.#writeEvent({ event: "notice", message: sentence });
    else {
      void this.writeError(async (paint) => {
        const line = `note: ${toOneLine(this.safe.text(sentence))}`;
        const lines = this.drawsFrames
          ? (await import("./width.ts")).foldSentence(line, this.host.terminal.columns)
          : [line];
        return `${paint("faint", "note:")}${lines.join("\n").slice("note:".length)}\n`;
      });
    }
  };

  /** Left out with `--json`, because the document of the result has it. */
  readonly warn = (problem: Problem): void => {
    if (this.isForProgram) return;
    if (this.printsEvents) this.#writeEvent({ event: "warning", ...toProblemDocument(problem) });
    else void this.writeError(async (paint) => (await import("./failure.ts")).warningText(this, problem, paint));
  };

  /** A line of `--debug`. */
  readonly trace = (line: string): void => {
    if (this.printsEvents) this.#writeEvent({ event: "debug", message: line });
    else void this.writeError((paint) => `${paint("faint", this.safe.text(line))}\n`);
  };

  readonly #writeEvent = (event: object): void =>
    void this.writeError(() => `${this.safe.json(JSON.stringify(event))}\n`);

  readonly hideSecret = (secret: string): void => this.safe.addSecret(secret);

  /** From now on a signal that came keeps nothing from being printed: the run is over. */
  readonly ignoreSignal = (): void => this.#output.ignoreSignal();

  /** True if a person waits in front of a terminal that can show a spinner. */
  get #hasSpinner(): boolean {
    return this.drawsFrames && !this.options.quiet && !this.#isInBuild && this.host.env.TERM !== "dumb";
  }

  /** A spinner on standard error, if that is a terminal. */
  readonly startProgress = (label: string): ProgressIndicator => (this.#hasSpinner ? this.#spinner(label) : noProgress);

  readonly #spinner = (label: string): ProgressIndicator => {
    this.stopProgress();
    const { host } = this;
    const clean = (text: string) => this.safe.line(text).slice(0, this.#labelColumns);
    // A spinner counts the lines it clears by the columns: of none, it would never have cleared them all.
    this.#activeSpinner = host.terminal.sizeless
      ? noProgress
      : openSpinner({ host, label, color: this.#errorColor, clean });
    return this.#activeSpinner;
  };

  get #labelColumns(): number {
    return Math.max(0, this.host.terminal.columns - spinnerColumns);
  }

  /** Ends the spinner, before something else is written in its place. */
  readonly stopProgress = (): void => this.#activeSpinner?.stop();

  /** Progress of a long run. Default: a bar on a terminal, lines in a build, nothing elsewhere. */
  readonly startMeter = (asked: MeterFormat | undefined): Meter => {
    const inLines = this.#isInBuild && !this.isForProgram && !this.options.quiet;
    const form = asked ?? (this.#hasSpinner ? "bar" : inLines ? "lines" : "none");
    return openMeter({
      format: form,
      elapsed: this.host.elapsed,
      columns: this.#labelColumns,
      spinner: this.#spinner,
      line: (text) =>
        void this.writeError((paint) =>
          form === "json" ? `${this.safe.json(text)}\n` : `${paint("faint", this.safe.text(text))}\n`,
        ),
    });
  };
}

async function* mapPieces(pieces: Pieces, change: (piece: string) => string): AsyncGenerator<string, void> {
  for await (const piece of pieces) yield change(piece);
}
