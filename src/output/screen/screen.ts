/** The screen of one run: which form a result takes, what it may look like, and both streams it is written to. */
import { type Failure, type Problem, problemFacts } from "../../failure.ts";
import { type Host, secretsOf } from "../../host.ts";
import type { Format } from "../view.ts";
import type { ScreenWords } from "./options.ts";
import { type Meter, type MeterForm, openMeter, openProgress, type Progress, silent } from "./progress.ts";
import { type Cleaner, isBuildSystem, oneLine, openCleaner } from "./safe.ts";
import { secretsIn } from "./secrets.ts";
import { openSink } from "./sink.ts";
import { hasColor, openPaint, type Paint } from "./style.ts";

interface Printing {
  /** What they are: cleaned lines, cleaned JSON, or what is meant as it is. */
  readonly kind: "lines" | "json" | "verbatim";
  /** Whether a pager may show them. Default yes. */
  readonly paged?: boolean;
}

/** Columns that the spinner itself takes beside its label. */
const spinnerColumns = 4;

interface Opened {
  readonly host: Host;
  readonly words: ScreenWords;
  /** Everything typed: a secret in it is never printed, whether or not the word means anything. */
  readonly argv?: readonly string[];
}

/** The screen of one run. What prints a list, a page or a picture on it is a function of its own. */
export class Screen {
  readonly host: Host;
  /** The form asked for; else a table for a person, and lines for a program. */
  readonly format: Format;
  /** Names given with `--fields`. */
  readonly fields: readonly string[] | undefined;
  readonly words: ScreenWords;
  readonly safe: Cleaner;
  /** Whether every printing may open a pager: what belongs together is better printed at once. */
  readonly paged: boolean;
  /** Whether programs read both streams: what is only for a person is left out then. */
  readonly isForProgram: boolean;
  /** Whether standard error is a line of JSON for everything that is said: `--progress json`. */
  readonly tellsEvents: boolean;
  /** Whether problems are drawn for a person, with what stands around their places where they carry it. */
  readonly frames: boolean;
  /** The word right behind `--json`, which takes none. */
  readonly behindJson: string | undefined;
  readonly #inBuild: boolean;
  readonly #out: ReturnType<typeof openSink>;
  readonly #errors: ReturnType<typeof openSink>;
  readonly #errorColor: boolean;
  #errorPaint: Promise<Paint> | undefined;
  /** All that was said on standard error before. */
  #said: Promise<void> = Promise.resolve();
  #waiting: Progress | undefined;
  /** Whether whoever looked at a pager closed it before the end. */
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
    this.#errorColor = hasColor({ host, stream: "stderr", color: words.color });
  }

  /** Whether whoever reads standard output left: a command that reads can stop, with exit code 0. */
  get readerGone(): boolean {
    return this.#out.gone || this.#pagerLeft;
  }

  /** Columns of the terminal; where none reads it, those that `COLUMNS` asks for, else as many as it takes. */
  get width(): number {
    const { terminal, env } = this.host;
    const asked = Number(env.COLUMNS);
    if (terminal.stdout) return terminal.columns > 0 ? terminal.columns : 80;
    return Number.isInteger(asked) && asked > 0 ? asked : Number.POSITIVE_INFINITY;
  }

  /** The colours of standard output. */
  readonly paint = (): Promise<Paint> =>
    openPaint(hasColor({ host: this.host, stream: "stdout", color: this.words.color }));

  /** Writes to standard output, behind all that was said on standard error. */
  readonly print = async (
    pieces: Iterable<string> | AsyncIterable<string>,
    { kind, paged = true }: Printing,
  ): Promise<void> => {
    this.#waiting?.stop();
    await this.#said;
    const { lines, json, verbatim } = this.safe;
    const printed = changed(pieces, kind === "verbatim" ? verbatim : kind === "json" ? json : lines);
    if (!this.paged || !paged) {
      for await (const piece of printed) {
        if (this.#out.gone) return;
        await this.#out.write(piece);
      }
      return;
    }
    const { printPaged } = await import("./pager.ts");
    const missing = (pager: string) => this.notice(`the pager ${pager} can't be started: see PAGER`);
    if (!(await printPaged({ host: this.host, pieces: printed, direct: this.#out, missing }))) this.#pagerLeft = true;
  };

  /** Prints plain text that is meant as it is (a completion script, a setting's value). */
  readonly text = (text: string): Promise<void> => this.print([text], { kind: "verbatim", paged: false });

  /**
   * Prints what came from outside as it stands, for a program or a file; a terminal gets it made safe, and of JSON also a
   * build system, by escapes that change nothing for who parses it.
   */
  readonly verbatim = async (pieces: readonly string[], kind: "text" | "json"): Promise<void> => {
    const isJson = kind === "json";
    if (!this.host.terminal.stdout && !isJson) return await this.print(pieces, { kind: "verbatim", paged: false });
    const safe = isJson ? pieces : pieces.map((piece) => this.safe.text(piece));
    await this.print(safe, { kind: isJson ? "json" : "lines", paged: false });
  };

  /** Writes bytes to standard output as they are: what somebody asked for to the byte. */
  readonly bytes = async (bytes: Uint8Array): Promise<void> => {
    await this.#said;
    await this.#out.writeBytes(bytes);
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

  /** Resolves when all that was said can be read: whoever is asked has read it. */
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

  /** The same as a notice, said with `--json` too. */
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

  /** Left out with `--json`, where the result document carries it. */
  readonly warn = (problem: Problem): void => {
    if (this.isForProgram) return;
    if (this.tellsEvents) this.#tell({ event: "warning", ...problemFacts(problem) });
    else void this.say(async (paint) => (await import("../frame/failure.ts")).warningText(this, problem, paint));
  };

  /** A line of `--debug`. */
  readonly trace = (line: string): void => {
    if (this.tellsEvents) this.#tell({ event: "debug", message: line });
    else void this.say((paint) => `${paint("faint", this.safe.text(line))}\n`);
  };

  readonly #tell = (event: object): void => void this.say(() => `${this.safe.json(JSON.stringify(event))}\n`);

  readonly hide = (secret: string): void => this.safe.hide(secret);

  /** From now on a signal that came keeps nothing from being printed: the run is over, and says what it came to. */
  readonly lastWords = (): void => this.#out.ignoreSignal();

  /** Whether a person waits in front of a terminal that can show a spinner. */
  get #hasSpinner(): boolean {
    const { terminal, env } = this.host;
    return (
      terminal.stderr &&
      !this.isForProgram &&
      !this.tellsEvents &&
      !this.words.quiet &&
      !this.#inBuild &&
      env.TERM !== "dumb"
    );
  }

  /** A spinner on standard error, only where that is a terminal. */
  readonly progress = (label: string): Progress => {
    this.stopProgress();
    this.#waiting = this.#hasSpinner ? this.#spinner(label) : silent;
    return this.#waiting;
  };

  readonly #spinner = (label: string): Progress => {
    // A spinner counts the lines it clears by the columns: of none, it would never have cleared them all.
    if (this.host.terminal.sizeless) return silent;
    const room = Math.max(0, this.host.terminal.columns - spinnerColumns);
    const clean = (text: string) => this.safe.line(text).slice(0, room);
    return openProgress({ host: this.host, label, color: this.#errorColor, clean });
  };

  /** Ends the spinner, before something else is written where it stands. */
  readonly stopProgress = (): void => this.#waiting?.stop();

  /** Progress of a long run, in the form asked for: else a bar on a terminal, lines in a build, nothing elsewhere. */
  readonly meter = (asked: MeterForm | undefined): Meter => {
    const inLines = this.#inBuild && !this.isForProgram && !this.words.quiet;
    const form = asked ?? (this.#hasSpinner ? "bar" : inLines ? "lines" : "none");
    return openMeter({
      form,
      elapsed: this.host.elapsed,
      columns: this.host.terminal.columns - spinnerColumns,
      spinner: (label) => {
        this.stopProgress();
        this.#waiting = this.#spinner(label);
        return this.#waiting;
      },
      line: (text) =>
        void this.say((paint) =>
          form === "json" ? `${this.safe.json(text)}\n` : `${paint("faint", this.safe.text(text))}\n`,
        ),
    });
  };
}

/** Opens the screen of one run. Nothing is written, and no stream asked for more than what it is. */
export const openScreen = (given: ConstructorParameters<typeof Screen>[0]): Screen => new Screen(given);

async function* changed(
  pieces: Iterable<string> | AsyncIterable<string>,
  change: (piece: string) => string,
): AsyncGenerator<string, void> {
  for await (const piece of pieces) yield change(piece);
}
