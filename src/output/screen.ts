/** The screen of one run: the form of its result, its colors, and both streams. */
import { type Failure, type Problem, problemFacts } from "../failure.ts";
import { optionsContradict, optionValueWrong } from "../failures.ts";
import { type Host, secretsOf } from "../host.ts";
import { type Meter, type MeterForm, openMeter, openProgress, type Progress, silent } from "./progress.ts";
import { type Cleaner, isBuildSystem, oneLine, openCleaner } from "./safe.ts";
import { secretsIn } from "./secrets.ts";
import { openSink, type Pieces } from "./sink.ts";
import { hasColor, openPaint, type Paint } from "./style.ts";
import type { Format } from "./view.ts";

export const colorWhens = ["auto", "always", "never"] as const;
export type ColorWhen = (typeof colorWhens)[number];

/** Every form by its name, in the order of `--help`. */
export const formats = ["table", "tsv", "json", "jsonl", "csv"] as const satisfies readonly Format[];

/** The global options that are about the screen, as typed; `color` is false for `--no-color`. */
export type TypedScreen = { readonly [Flag in "json" | "header" | "quiet" | "pager"]?: boolean | undefined } & {
  readonly output?: Format | undefined;
  readonly fields?: string | undefined;
  readonly color?: string | boolean | undefined;
};

/** What they mean. */
export interface ScreenWords {
  /** Default: a table on a terminal, else tsv. */
  readonly format: Format | undefined;
  readonly fields: readonly string[] | undefined;
  readonly header: boolean;
  readonly quiet: boolean;
  readonly color: ColorWhen;
  readonly pager: boolean;
  /** True if standard error is a line of JSON for everything that is said: `--progress json`. */
  readonly events?: boolean;
}

/** Parses the global options. @throws Failure `option-value-wrong`, `options-contradict` */
export const screenWords = (typed: TypedScreen): ScreenWords => {
  const { json = false, output = json ? "json" : undefined, color } = typed;
  if (json && output !== "json") {
    throw optionsContradict({ first: "--json", second: `-o ${output}`, why: "--json is -o json" });
  }
  const fields = typed.fields?.split(",").map((name) => name.trim());
  if (typed.fields !== undefined && fields?.includes("") === true) {
    const wanted = "names separated by commas, such as id,name";
    throw optionValueWrong({ option: "--fields", value: typed.fields, wanted });
  }
  return {
    format: output,
    fields,
    header: typed.header === true,
    quiet: typed.quiet === true,
    color: colorWhens.find((when) => when === color) ?? (color === false ? "never" : "auto"),
    pager: typed.pager !== false,
  };
};

interface Printing {
  /** Cleaned lines, cleaned JSON, or text that is meant as it is. */
  readonly kind: "lines" | "json" | "verbatim";
  /** True if a pager may show it. Default: true. */
  readonly paged?: boolean;
}

/** Columns that the spinner itself takes next to its label. */
const spinnerColumns = 4;

interface Opened {
  readonly host: Host;
  readonly words: ScreenWords;
  /** Everything typed: a secret in it is never printed, whether or not the word means anything. */
  readonly argv?: readonly string[];
}

/** Opens the screen of one run. Nothing is written yet. */
export const openScreen = (opened: Opened): Screen => new Screen(opened);

/** The screen of one run. Lists, pages and pictures are printed on it by functions of their own. */
export class Screen {
  readonly host: Host;
  readonly format: Format;
  /** Names given with `--fields`. */
  readonly fields: readonly string[] | undefined;
  readonly words: ScreenWords;
  readonly safe: Cleaner;
  /** True if every printing may open a pager: what belongs together is better printed at once. */
  readonly paged: boolean;
  /** True if programs read both streams: what is only for a person is left out. */
  readonly isForProgram: boolean;
  /** True if standard error is a line of JSON for everything that is said. */
  readonly tellsEvents: boolean;
  /** True if problems are drawn for a person, with their lines. */
  readonly frames: boolean;
  /** The word after `--json`, which takes none. */
  readonly behindJson: string | undefined;
  readonly #inBuild: boolean;
  readonly #out: ReturnType<typeof openSink>;
  readonly #errors: ReturnType<typeof openSink>;
  readonly #errorColor: boolean;
  #errorPaint: Promise<Paint> | undefined;
  /** All that was said on standard error before. */
  #said: Promise<void> = Promise.resolve();
  #waiting: Progress | undefined;
  /** True if a pager was closed before the end. */
  #pagerLeft = false;

  constructor({ host, words, argv = [] }: Opened) {
    this.host = host;
    this.words = words;
    this.format = words.format ?? (host.terminal.stdout ? "table" : "tsv");
    this.fields = words.fields;
    this.safe = openCleaner(host.env);
    const addresses = Object.entries(host.env).filter(([name]) => /_(?:proxy|url|endpoint|ledger|store)$/i.test(name));
    const typed = secretsIn([...argv, ...addresses.map(([, value]) => value ?? "")]);
    for (const secret of [...typed, ...secretsOf(host.env)]) this.safe.hide(secret);
    this.behindJson = argv.includes("--json") ? argv[argv.indexOf("--json") + 1] : undefined;
    this.isForProgram = words.format === "json" || words.format === "jsonl";
    this.tellsEvents = words.events === true;
    this.frames = !this.tellsEvents && host.terminal.stderr && !this.isForProgram;
    this.#inBuild = isBuildSystem(host.env);
    this.paged = words.pager && host.terminal.stdout && !this.#inBuild;
    this.#out = openSink({ stream: host.stdout, signal: host.signal });
    this.#errors = openSink({ stream: host.stderr });
    this.#errorColor = hasColor(host, "stderr", words.color);
  }

  /** True if the reader of standard output left: a command that reads can stop, with exit code 0. */
  get readerGone(): boolean {
    return this.#out.gone || this.#pagerLeft;
  }

  /** Columns of the terminal; without one, those of `COLUMNS`, else as many as it takes. */
  get width(): number {
    const { terminal, env } = this.host;
    if (terminal.stdout) return terminal.columns > 0 ? terminal.columns : 80;
    const asked = Number(env.COLUMNS);
    return Number.isInteger(asked) && asked > 0 ? asked : Number.POSITIVE_INFINITY;
  }

  /** The colors of standard output. */
  readonly paint = (): Promise<Paint> => openPaint(hasColor(this.host, "stdout", this.words.color));

  /** Writes to standard output, after all that was said on standard error. */
  readonly print = async (pieces: Pieces, { kind, paged = true }: Printing): Promise<void> => {
    this.#waiting?.stop();
    await this.#said;
    const { lines, json, verbatim } = this.safe;
    const printed = changed(pieces, { lines, json, verbatim }[kind]);
    if (this.paged && paged) {
      const { printPaged } = await import("./pager.ts");
      const missing = (pager: string) => this.notice(`the pager ${pager} can't be started: see PAGER`);
      this.#pagerLeft ||= !(await printPaged({ host: this.host, pieces: printed, direct: this.#out, missing }));
      return;
    }
    for await (const piece of printed) {
      if (this.#out.gone) return;
      await this.#out.write(piece);
    }
  };

  /** Prints text that is meant as it is (a completion script, a setting's value). */
  readonly text = (text: string): Promise<void> => this.print([text], { kind: "verbatim", paged: false });

  /** Prints text from outside as it stands, for a program or a file; a terminal gets it made safe. JSON is made safe by escapes. */
  readonly verbatim = async (pieces: readonly string[], kind: "text" | "json"): Promise<void> => {
    if (kind === "json") return await this.print(pieces, { kind, paged: false });
    if (!this.host.terminal.stdout) return await this.print(pieces, { kind: "verbatim", paged: false });
    await this.print(pieces.map(this.safe.text), { kind: "lines", paged: false });
  };

  /** Writes bytes to standard output as they are: somebody asked for them to the byte. */
  readonly bytes = async (bytes: Uint8Array): Promise<void> => {
    await this.#said;
    await this.#out.write(bytes);
  };

  /** Writes to standard error after all that was said before; that nobody can read it is no reason to fail. */
  readonly say = (text: (paint: Paint) => string | Promise<string>): Promise<void> => {
    this.#errorPaint ??= openPaint(this.#errorColor);
    const paint = this.#errorPaint;
    this.#said = this.#said
      .then(async () => await this.#errors.write(this.safe.lines(await text(await paint))))
      .catch(() => undefined);
    return this.#said;
  };

  readonly settled = (): Promise<void> => this.#said;

  /** For the person in front of the screen; left out with `--json` and `--quiet`. */
  readonly notice = (sentence: string): void => {
    if (!this.isForProgram) this.remark(sentence);
  };

  /** Says why something is tried again, and for how long at most. */
  readonly again = async (why: Failure, maxWaitMs: number): Promise<void> => {
    const seconds = Math.round(maxWaitMs / 1000);
    this.notice(`${why.message}: trying again for up to ${seconds} s (--max-wait)`);
  };

  /** A notice that is said with `--json` too. */
  readonly remark = (sentence: string): void => {
    if (this.words.quiet) return;
    if (this.tellsEvents) this.#tell({ event: "notice", message: sentence });
    else {
      void this.say(async (paint) => {
        const line = `note: ${oneLine(this.safe.text(sentence))}`;
        const lines = this.frames ? (await import("./width.ts")).indented(line, this.host.terminal.columns) : [line];
        return `${paint("faint", "note:")}${lines.join("\n").slice("note:".length)}\n`;
      });
    }
  };

  /** Left out with `--json`, because the document of the result has it. */
  readonly warn = (problem: Problem): void => {
    if (this.isForProgram) return;
    if (this.tellsEvents) this.#tell({ event: "warning", ...problemFacts(problem) });
    else void this.say(async (paint) => (await import("./failure.ts")).warningText(this, problem, paint));
  };

  /** A line of `--debug`. */
  readonly trace = (line: string): void => {
    if (this.tellsEvents) this.#tell({ event: "debug", message: line });
    else void this.say((paint) => `${paint("faint", this.safe.text(line))}\n`);
  };

  readonly #tell = (event: object): void => void this.say(() => `${this.safe.json(JSON.stringify(event))}\n`);

  readonly hide = (secret: string): void => this.safe.hide(secret);

  /** From now on a signal that came keeps nothing from being printed: the run is over. */
  readonly lastWords = (): void => this.#out.ignoreSignal();

  /** True if a person waits in front of a terminal that can show a spinner. */
  get #hasSpinner(): boolean {
    return this.frames && !this.words.quiet && !this.#inBuild && this.host.env.TERM !== "dumb";
  }

  /** A spinner on standard error, if that is a terminal. */
  readonly progress = (label: string): Progress => (this.#hasSpinner ? this.#spinner(label) : silent);

  readonly #spinner = (label: string): Progress => {
    this.stopProgress();
    const { host } = this;
    const clean = (text: string) => this.safe.line(text).slice(0, this.#labelColumns);
    // A spinner counts the lines it clears by the columns: of none, it would never have cleared them all.
    this.#waiting = host.terminal.sizeless ? silent : openProgress({ host, label, color: this.#errorColor, clean });
    return this.#waiting;
  };

  get #labelColumns(): number {
    return Math.max(0, this.host.terminal.columns - spinnerColumns);
  }

  /** Ends the spinner, before something else is written in its place. */
  readonly stopProgress = (): void => this.#waiting?.stop();

  /** Progress of a long run. Default: a bar on a terminal, lines in a build, nothing elsewhere. */
  readonly meter = (asked: MeterForm | undefined): Meter => {
    const inLines = this.#inBuild && !this.isForProgram && !this.words.quiet;
    const form = asked ?? (this.#hasSpinner ? "bar" : inLines ? "lines" : "none");
    return openMeter({
      form,
      elapsed: this.host.elapsed,
      columns: this.#labelColumns,
      spinner: this.#spinner,
      line: (text) =>
        void this.say((paint) =>
          form === "json" ? `${this.safe.json(text)}\n` : `${paint("faint", this.safe.text(text))}\n`,
        ),
    });
  };
}

async function* changed(pieces: Pieces, change: (piece: string) => string): AsyncGenerator<string, void> {
  for await (const piece of pieces) yield change(piece);
}
