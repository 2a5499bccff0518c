/** Prints the output, messages and progress of one run. */

import { type Problem, toProblemDocument } from "../failure.ts";
import { conflictingOptions, invalidOptionValue } from "../system/failures.ts";
import { type Host, isSecretVariable } from "../system/host.ts";
import { nameProgram } from "../system/program.ts";
import { cutText } from "../text/sentences.ts";
import { type Cleaner, isBuildSystem, openCleaner, toOneLine } from "./cleaner.ts";
import * as progress from "./progress.ts";
import { findArgvSecrets } from "./secrets.ts";
import { joinPieces, type Pieces, Sink, writePieces } from "./sink.ts";
import { isJsonFormat, type OutputFormat, type Paint, plainPaint } from "./views.ts";

export const colorModes = ["auto", "always", "never"] as const;

export type ScreenFlags = { readonly [Flag in "json" | "header" | "quiet" | "pager"]?: boolean | undefined } & {
  readonly [Flag in "fields" | "color"]?: string | undefined;
} & { readonly output?: OutputFormat | undefined };

export interface ScreenOptions extends Omit<ScreenFlags, "json" | "fields" | "output"> {
  readonly format: OutputFormat | undefined;
  readonly fields: readonly string[] | undefined;
  readonly color: (typeof colorModes)[number];
  /** True if notices and warnings are JSON, as with `--progress json`. */
  readonly hasJsonEvents?: boolean;
  /** True if `fields` are names from the output's schema. */
  readonly areFieldsChecked?: boolean | undefined;
}

export const parseScreenOptions = ({
  json = false,
  fields: typed,
  color,
  output,
  ...flags
}: ScreenFlags): ScreenOptions => {
  const format = output ?? (json ? "json" : undefined);
  if (json && format !== "json") throw conflictingOptions("--json", `-o ${format}`, "--json means -o json");
  const fields = typed?.split(",").map((name) => name.trim());
  if (typed !== undefined && fields?.includes(""))
    throw invalidOptionValue("--fields", typed, "names separated by commas, such as id,name");
  return { ...flags, format, fields, color: colorModes.find((when) => when === color) ?? "auto" };
};

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

export type Screen = ReturnType<typeof openScreen>;

type ScreenRequest = Readonly<{ host: Host; options: ScreenOptions }>;

/** Decides from the terminal and the options what a run prints. */
const chooseMode = ({ host, options }: ScreenRequest) => {
  const { env, terminal } = host;
  const isForProgram = isJsonFormat(options.format);
  const isQuiet = isForProgram || options.quiet === true;
  const hasJsonErrors = isForProgram || options.hasJsonEvents;
  const isStderrForPeople = terminal.stderr && !hasJsonErrors;
  const isInBuild = isBuildSystem(env);
  const format: OutputFormat = options.format ?? (terminal.stdout ? "table" : "tsv");
  return {
    format,
    isForProgram,
    isQuiet,
    hasJsonErrors,
    isStderrForPeople,
    isInBuild,
    canPage: options.pager !== false && terminal.stdout && !isInBuild,
    canSpin: isStderrForPeople && !isQuiet && !isInBuild && env.TERM !== "dumb",
  };
};

interface ScreenParts extends ScreenRequest {
  readonly mode: ReturnType<typeof chooseMode>;
  readonly cleaner: Cleaner;
}

type ErrorTextFormatter = (paint: Paint) => string | Promise<string>;

const openErrors = ({ host, options, cleaner }: ScreenParts) => {
  const sink = new Sink(host.stderr);
  const isColored = hasColor(host, "stderr", options.color);
  let queue = Promise.resolve();
  /** Ignores errors, because rollcall could not report these errors. */
  const writeError = (formatText: ErrorTextFormatter) => {
    const write = async () => await sink.write(cleaner.breakCommands(await formatText(await loadPaint(isColored))));
    queue = queue.then(write).catch(() => undefined);
    return queue;
  };
  const tell = (event: object, formatText: ErrorTextFormatter) =>
    void writeError(options.hasJsonEvents ? () => `${cleaner.json(JSON.stringify(event))}\n` : formatText);
  return { writeError, tell, flushErrors: () => queue };
};

type ErrorOutput = ReturnType<typeof openErrors>;

const openNotices = ({ host, mode, cleaner }: ScreenParts, { writeError, tell }: ErrorOutput) => {
  const notices: string[] = [];
  const resultNotes: string[] = [];
  const notice = (text: string) => {
    const sentence = cleaner.text(nameProgram(text));
    if (notices.length < maxNotices) notices.push(sentence);
    if (mode.isQuiet) return;
    tell({ event: "notice", message: sentence }, async (paint) => {
      const line = `note: ${toOneLine(sentence)}`;
      const { columns } = host.terminal;
      const lines = mode.isStderrForPeople ? (await import("./width.ts")).foldSentence(line, columns) : [line];
      return `${lines.join("\n").replace("note:", () => paint("faint", "note:"))}\n`;
    });
  };
  return {
    notice,
    /** The first notices of the run, also if rollcall does not print them. */
    notices,
    /** Also adds the notice to a JSON document with a list. */
    noteInResult: (text: string) => {
      resultNotes.push(cleaner.text(nameProgram(text)));
      notice(text);
    },
    resultNotes,
    /** Does not fold the commands, so that users can paste a command. */
    noticeCommands: (sentence: string, commands: readonly string[]) => {
      notice(sentence);
      if (mode.isQuiet) return;
      for (const command of commands) void writeError(() => `${toOneLine(cleaner.text(command))}\n`);
    },
  };
};

const openProgress = ({ host, options, mode, cleaner }: ScreenParts, { writeError }: ErrorOutput) => {
  const { terminal, elapsed } = host;
  const { canSpin, isInBuild, isQuiet } = mode;
  let spinner: progress.Progress | undefined;
  const getLabelColumns = () => Math.max(0, terminal.columns - spinnerColumns);
  const startSpinner = (label: string) => {
    spinner?.stop();
    // In a terminal of unknown size, the spinner could not clear its lines.
    if (terminal.isSizeUnknown) return progress.noProgress;
    const clean = (text: string) => cutText(toOneLine(cleaner.text(text)), getLabelColumns());
    spinner = progress.openSpinner(label, { host, color: hasColor(host, "stderr", options.color), clean });
    return spinner;
  };
  return {
    startProgress: (label: string) => (canSpin ? startSpinner(label) : progress.noProgress),
    stopProgress: () => spinner?.stop(),
    startMeter: (wanted: progress.MeterFormat | undefined) => {
      const format = wanted ?? (canSpin ? "bar" : isInBuild && !isQuiet ? "lines" : "none");
      const line = (text: string) =>
        void writeError((paint) => `${format === "json" ? cleaner.json(text) : paint("faint", cleaner.text(text))}\n`);
      return progress.openMeter({ format, elapsed, columns: getLabelColumns(), spinner: startSpinner, line });
    },
  };
};

const openOutput = ({ host, mode, cleaner }: ScreenParts, { flushErrors }: ErrorOutput, stopProgress: () => void) => {
  const sink = new Sink(host.stdout, host.signal);
  let isPagerClosed = false;
  const print = async (pieces: Pieces, kind: OutputKind, isPaged = mode.canPage) => {
    const clean = { lines: cleaner.breakCommands, json: cleaner.json, "redact-only": cleaner.redactLines }[kind];
    const cleanPieces = async function* () {
      for await (const piece of joinPieces(pieces)) {
        stopProgress();
        await flushErrors();
        yield clean(piece);
      }
    };
    if (isPaged) {
      const { printPaged } = await import("./pager.ts");
      isPagerClosed ||= !(await printPaged({ host, pieces: cleanPieces(), fallback: sink }));
    } else await writePieces(sink, cleanPieces());
  };
  const printUnpaged = (pieces: Pieces, kind: OutputKind) => print(pieces, kind, false);
  return {
    print,
    printUnpaged,
    printText: (text: string) =>
      host.terminal.stdout
        ? printUnpaged([cleaner.text(text)], "lines")
        : printUnpaged([cleaner.redact(text)], "redact-only"),
    printBytes: async (bytes: Uint8Array) => {
      await flushErrors();
      await sink.write(bytes);
    },
    ignoreSignal: sink.ignoreSignal,
    isReaderGone: () => sink.isReaderGone || isPagerClosed,
  };
};

/** @param cleaner that of the run, which knows saved secrets */
export const openScreen = (request: ScreenRequest, cleaner = openRunCleaner(request.host)) => {
  const { host, options } = request;
  const mode = chooseMode(request);
  const parts: ScreenParts = { ...request, mode, cleaner };
  const errors = openErrors(parts);
  const { writeError, tell, flushErrors } = errors;
  const ownProgress = openProgress(parts, errors);
  const { isReaderGone, ...output } = openOutput(parts, errors, ownProgress.stopProgress);
  const screen = {
    ...mode,
    ...openNotices(parts, errors),
    ...ownProgress,
    ...output,
    writeError,
    flushErrors,
    host,
    options,
    fields: options.fields,
    cleaner,
    get isReaderGone() {
      return isReaderGone();
    },
    get width() {
      return findWidth(host);
    },
    paint: () => loadPaint(hasColor(host, "stdout", options.color)),
    /** With JSON output, prints nothing, because the JSON can contain the warnings. */
    warn: (problem: Problem) => {
      if (mode.isQuiet) return;
      tell({ event: "warning", ...toProblemDocument(problem) }, async (paint) =>
        (await import("./print-failure.ts")).formatWarning(screen, problem, paint),
      );
    },
    trace: (line: string) =>
      tell({ event: "debug", message: cleaner.text(line) }, (paint) => `${paint("faint", cleaner.text(line))}\n`),
    hideSecret: cleaner.addSecret,
  };
  return screen;
};

const findWidth = ({ env, terminal }: Host) => {
  if (terminal.stdout) return terminal.columns;
  const columns = Number(env.COLUMNS);
  return Number.isInteger(columns) && columns > 0 ? columns : Number.POSITIVE_INFINITY;
};

const hasColor = ({ env, terminal }: Host, stream: "stdout" | "stderr", color: ScreenOptions["color"]) => {
  if (color !== "auto") return color === "always";
  const { FORCE_COLOR: forced = "", NO_COLOR: no = "", TERM: term } = env;
  if (forced !== "") return forced !== "0" && forced !== "false";
  return no === "" && terminal[stream] && term !== "dumb";
};

/** Uses only the 16 basic colors, because users can configure these colors. */
const loadPaint = async (isColored: boolean): Promise<Paint> => {
  if (!isColored) return plainPaint;
  const { Chalk } = await import("chalk");
  const { green, red, yellow, dim, bold } = new Chalk({ level: 1 });
  const paints = { good: green, bad: red, warning: yellow, faint: dim, strong: bold };
  return (tone, text) => (tone === undefined || text === "" ? text : paints[tone](text));
};
