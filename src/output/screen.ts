/** Prints the output, messages and progress of one run. */

import type { Problem } from "../failure.ts";
import { type Host, isSecretVariable } from "../system/host.ts";
import { cutText } from "../text/sentences.ts";
import { nameProgram } from "../text/shell-words.ts";
import { type Cleaner, isBuildSystem, openCleaner, type TextCleaner, toOneLine } from "./cleaner.ts";
import * as progress from "./progress.ts";
import { findArgvSecrets } from "./secrets.ts";
import { joinPieces, type Pieces, Sink, writePieces } from "./sink.ts";
import { type OutputFormat, type Paint, plainPaint } from "./views.ts";

export const colorModes = ["auto", "always", "never"] as const;

export type ScreenOptions = Readonly<{
  /** Default: a table on a terminal, and TSV in a pipe. */
  format?: OutputFormat | undefined;
  fields?: readonly string[] | undefined;
  /** Default: `auto`. */
  color?: (typeof colorModes)[number] | undefined;
  header?: boolean;
  quiet?: boolean;
}>;

/** The caller cleans text of the kind `lines`. */
type OutputKind = "lines" | "json" | "redact-only";

const spinnerColumns = 4;

/** A run with `--follow` never ends. */
const maxNotices = 1000;

interface SavedSecrets {
  readonly keys?: readonly string[];
  /** Values from files, by the name of the variable. */
  readonly variables?: Readonly<Record<string, string | undefined>>;
}

/** Opens the cleaner of a run. Adds the secrets in argv, because messages quote invalid arguments. */
export const openRunCleaner = (host: Host, { keys = [], variables: saved = {} }: SavedSecrets = {}) => {
  const safe = openCleaner(host.env);
  const variables = [host.env, saved].flatMap((env) => Object.entries(env));
  const secrets = variables.flatMap(([name, value = ""]) => {
    if (isSecretVariable(name)) return [value];
    return /_(?:proxy|url|endpoint|ledger|store)$/i.test(name) ? findArgvSecrets([value]) : [];
  });
  for (const secret of [...findArgvSecrets(host.argv), ...secrets, ...keys]) safe.addSecret(secret);
  return safe;
};

type ErrorTextFormatter = (paint: Paint) => string | Promise<string>;

/** Members are functions where callers pass them on. */
export class Screen {
  readonly host: Host;
  readonly options: ScreenOptions;
  readonly fields: ScreenOptions["fields"];
  readonly cleaner: Cleaner;
  readonly format: OutputFormat;
  readonly isJson: boolean;
  readonly isStderrForPeople: boolean;
  /** The first notices of the run, also if rollcall does not print them. */
  readonly notices: string[] = [];
  readonly resultNotes: string[] = [];
  readonly #isQuiet: boolean;
  readonly #isInBuild: boolean;
  readonly #stdout: Sink;
  readonly #stderr: Sink;
  #errors = Promise.resolve();
  #spinner: progress.Progress | undefined;

  /** @param cleaner that of the run, which knows saved secrets */
  constructor({ host, options }: Pick<Screen, "host" | "options">, cleaner = openRunCleaner(host)) {
    const { terminal } = host;
    this.host = host;
    this.options = options;
    this.fields = options.fields;
    this.cleaner = cleaner;
    this.format = options.format ?? (terminal.stdout ? "table" : "tsv");
    this.isJson = options.format === "json";
    this.isStderrForPeople = terminal.stderr && !this.isJson;
    this.#isQuiet = this.isJson || options.quiet === true;
    this.#isInBuild = isBuildSystem(host.env);
    this.#stdout = new Sink(host.stdout, host.signal);
    this.#stderr = new Sink(host.stderr);
  }

  get isReaderGone() {
    return this.#stdout.isReaderGone;
  }

  get width() {
    const { terminal, env } = this.host;
    const columns = Number(terminal.stdout ? terminal.columns : env.COLUMNS);
    return terminal.stdout || (Number.isInteger(columns) && columns > 0) ? columns : Number.POSITIVE_INFINITY;
  }

  paint = () => this.#loadPaint("stdout");
  hideSecret = (secret: string) => this.cleaner.addSecret(secret);
  ignoreSignal = () => this.#stdout.ignoreSignal();

  /** Ignores errors, because rollcall could not report these errors. */
  writeError = (formatText: ErrorTextFormatter) => {
    const write = async () => {
      const text = await formatText(await this.#loadPaint("stderr"));
      await this.#stderr.write(this.cleaner.breakCommands(text));
    };
    this.#errors = this.#errors.then(write).catch(() => undefined);
    return this.#errors;
  };

  flushErrors = () => this.#errors;

  notice = (text: string) => {
    const sentence = this.cleaner.text(nameProgram(text));
    if (this.notices.length < maxNotices) this.notices.push(sentence);
    if (this.#isQuiet) return;
    void this.writeError(async (paint) => {
      const line = `note: ${toOneLine(sentence)}`;
      const { columns } = this.host.terminal;
      const lines = this.isStderrForPeople ? (await import("./width.ts")).foldSentence(line, columns) : [line];
      return `${lines.join("\n").replace("note:", () => paint("faint", "note:"))}\n`;
    });
  };

  /** Also adds the notice to a JSON document with a list. */
  noteInResult = (text: string) => {
    this.resultNotes.push(this.cleaner.text(nameProgram(text)));
    this.notice(text);
  };

  /** Does not fold the commands, so that users can paste a command. */
  noticeCommands = (sentence: string, commands: readonly string[]) => {
    this.notice(sentence);
    if (this.#isQuiet) return;
    for (const command of commands) void this.writeError(() => `${toOneLine(this.cleaner.text(command))}\n`);
  };

  /** With JSON output, prints nothing, because the JSON can contain the warnings. */
  warn = (problem: Problem) => {
    if (this.#isQuiet) return;
    void this.writeError(async (paint) => (await import("./print-failure.ts")).formatWarning(this, problem, paint));
  };

  trace = (line: string) => {
    const text = this.cleaner.text(line);
    void this.writeError((paint) => `${paint("faint", text)}\n`);
  };

  get #canSpin() {
    return this.isStderrForPeople && !this.#isQuiet && !this.#isInBuild && this.host.env.TERM !== "dumb";
  }

  get #labelColumns() {
    return Math.max(0, this.host.terminal.columns - spinnerColumns);
  }

  #startSpinner = (label: string) => {
    this.#spinner?.stop();
    // In a terminal of unknown size, the spinner could not clear its lines.
    if (this.host.terminal.isSizeUnknown) return progress.noProgress;
    const clean = (text: string) => cutText(toOneLine(this.cleaner.text(text)), this.#labelColumns);
    this.#spinner = progress.openSpinner(label, { host: this.host, color: this.#hasColor("stderr"), clean });
    return this.#spinner;
  };

  startProgress = (label: string) => (this.#canSpin ? this.#startSpinner(label) : progress.noProgress);
  stopProgress = () => this.#spinner?.stop();

  /** A bar on a terminal, and lines in a build. */
  startMeter = () => {
    const { elapsed } = this.host;
    const format = this.#canSpin ? "bar" : this.#isInBuild && !this.#isQuiet ? "lines" : "none";
    const options = { format, elapsed, columns: this.#labelColumns, spinner: this.#startSpinner } as const;
    return progress.openMeter({ ...options, line: this.trace });
  };

  print = async (pieces: Pieces, kind: OutputKind) => {
    const { breakCommands, json, redact } = this.cleaner;
    const clean = { lines: breakCommands, json, "redact-only": redact }[kind];
    await writePieces(this.#stdout, this.#cleanPieces(pieces, clean));
  };

  async *#cleanPieces(pieces: Pieces, clean: TextCleaner) {
    for await (const piece of joinPieces(pieces)) {
      this.stopProgress();
      await this.flushErrors();
      yield clean(piece);
    }
  }

  printText = (text: string) =>
    this.host.terminal.stdout
      ? this.print([this.cleaner.text(text)], "lines")
      : this.print([this.cleaner.redact(text)], "redact-only");

  printBytes = async (bytes: Uint8Array) => {
    await this.flushErrors();
    await this.#stdout.write(bytes);
  };

  #hasColor(stream: "stdout" | "stderr") {
    const { env, terminal } = this.host;
    const { color = "auto" } = this.options;
    if (color !== "auto") return color === "always";
    const { FORCE_COLOR: forced = "", NO_COLOR: no = "", TERM: term } = env;
    if (forced !== "") return forced !== "0" && forced !== "false";
    return no === "" && terminal[stream] && term !== "dumb";
  }

  /** Uses only the 16 basic colors, because users can configure these colors. */
  async #loadPaint(stream: "stdout" | "stderr"): Promise<Paint> {
    if (!this.#hasColor(stream)) return plainPaint;
    const { Chalk } = await import("chalk");
    const { green, red, yellow, dim, bold } = new Chalk({ level: 1 });
    const paints = { good: green, bad: red, warning: yellow, faint: dim, strong: bold };
    return (tone, text) => (tone === undefined || text === "" ? text : paints[tone](text));
  }
}
