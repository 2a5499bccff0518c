/** Values → text: what a person or a script sees. */
import type { Failure, Problem } from "../failure.ts";
import type { Host } from "../host.ts";
import type { CallPrinter, CallPrinting } from "./calls.ts";

export type { CallAsked, CallPrinter, CallPrinting } from "./calls.ts";

/** The forms a result can take (cli.md, "Output"). */
export type Format = "table" | "tsv" | "json" | "jsonl" | "csv";

/** One column of a list, and what each form needs of it. */
export interface Column<Row> {
  /** Name on the wire: what `--fields`, `--sort`, CSV and JSON call it, such as `pricing.prompt`. */
  readonly name: string;
  /** Heading for a person, with its unit where it has one. */
  readonly heading: string;
  readonly align?: "left" | "right" | "decimal";
  /** The lower, the longer it stays when the terminal is narrow; 0 is never left out. */
  readonly rank: number;
  /** What a person sees; an empty string where there is nothing. */
  readonly cell: (row: Row) => string;
  /** The wire's own value: undefined where absent. */
  readonly value: (row: Row) => unknown;
}

/** A list in all its forms. */
export interface ListView<Row> {
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  /** The service's own reply, for JSON: `bytes` holds an array at `member`, `kept` are the positions in it that are shown, in order. */
  readonly wire: { readonly bytes: Uint8Array; readonly member: string; readonly kept: readonly number[] };
}

/** A page for a person: titled sections of labelled lines and blocks. */
export interface Page {
  readonly sections: readonly Section[];
}

/** A part of a page. */
export interface Section {
  readonly title?: string;
  /** 2 stands under the section before it, as a message under "Inputs". Default 1. */
  readonly level?: 1 | 2;
  readonly lines?: readonly { readonly label: string; readonly text: string; readonly tone?: Tone }[];
  /** Text as it was, line by line; folded to the terminal, never in a pipe. */
  readonly block?: string;
}

/** Colour that means something. */
export type Tone = "good" | "bad" | "warning" | "faint" | "strong";

/** The screen of one run: standard output and standard error, and how to write to them. */
export interface Screen {
  readonly format: Format;
  /** Names given with `--fields`. */
  readonly fields: readonly string[] | undefined;
  /** Prints a list in the form asked for. @throws Failure `usage` for a field that there is not */
  list<Row>(view: ListView<Row>): Promise<void>;
  /** Prints a page (through the pager where it is longer than the terminal). */
  page(page: Page): Promise<void>;
  /** Prints a JSON document made by rollcall. */
  document(value: unknown): Promise<void>;
  /** Prints JSON bytes of the service's own, with control and bidi characters escaped. */
  raw(bytes: Uint8Array): Promise<void>;
  /** Prints plain text that is meant as it is (a completion script, a setting's value). */
  text(text: string): Promise<void>;
  /** For the person in front of the screen; left out with `--json` and `--quiet`. */
  notice(sentence: string): void;
  /** Left out only where the result document carries it. */
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

/** The global options that are about the screen, as meant. */
export interface ScreenWords {
  /** Undefined where none was asked for: a table on a terminal, else tsv. */
  readonly format: Format | undefined;
  readonly fields: readonly string[] | undefined;
  readonly header: boolean;
  readonly quiet: boolean;
  readonly color: boolean;
  readonly pager: boolean;
  readonly debug: boolean;
}

/** The global options that are about the screen, as commander gives them. */
export interface TypedScreen {
  readonly json?: boolean;
  readonly output?: string;
  readonly fields?: string;
  readonly header?: boolean;
  readonly quiet?: boolean;
  readonly color?: boolean;
  readonly pager?: boolean;
  readonly debug?: boolean;
}

/** What typed global options mean for the screen. @throws Failure `option-value-wrong`, `options-contradict` */
export const screenWords = (typed: TypedScreen): ScreenWords => ({
  format: typed.json === true ? "json" : undefined,
  fields: typed.fields?.split(","),
  header: typed.header === true,
  quiet: typed.quiet === true,
  color: typed.color !== false,
  pager: typed.pager !== false,
  debug: typed.debug === true,
});

/** What words that were not understood yet look like: enough to print a usage error in the form asked for. */
export const screenWordsOf = (argv: readonly string[]): ScreenWords => screenWords({ json: argv.includes("--json") });

/** Opens the screen of one run. */
export const openScreen = ({ host }: { readonly host: Host; readonly words: ScreenWords }): Screen => {
  const write = async (text: string) => void host.stdout.write(text);
  const say = (text: string) => void host.stderr.write(`${text}\n`);
  return {
    format: "json",
    fields: undefined,
    list: async () => undefined,
    page: async () => undefined,
    document: async (value) => await write(`${JSON.stringify(value)}\n`),
    raw: async (bytes) => await write(Buffer.from(bytes).toString()),
    text: write,
    notice: say,
    warn: (problem) => say(problem.message),
    trace: say,
    failure: async ({ failure }) => say(`${failure.reason} ${JSON.stringify(failure.data)}`),
    hide: () => undefined,
    progress: () => ({ update: () => undefined, stop: () => undefined }),
  };
};

/** Prints traced calls. */
export const printCalls = async (printing: CallPrinting): Promise<CallPrinter> => {
  const { callPrinter } = await import("./call-printer.ts");
  return callPrinter(printing);
};
