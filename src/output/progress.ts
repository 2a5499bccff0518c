/** How far a run is, on standard error: a spinner, a bar for a person, a line for each change in a build's log, events for a program. */

import type { Host } from "../host.ts";
import { pluralize } from "../sentences.ts";

export interface ProgressIndicator {
  update(label: string): void;
  stop(): void;
}

/** Work that is done before this many milliseconds have passed needs no spinner, and loads none. */
const spinnerDelayMs = 150;

export const noProgress: ProgressIndicator = { update: () => undefined, stop: () => undefined };

interface SpinnerOptions {
  readonly host: Host;
  readonly label: string;
  readonly color: boolean;
  /** Makes a label fit for one line of the terminal. */
  readonly clean: (label: string) => string;
}

/** Starts a spinner unless it is stopped soon. */
export const openSpinner = ({ host, label, color, clean }: SpinnerOptions): ProgressIndicator => {
  const end = new AbortController();
  let text = clean(label);
  let show: ((label: string) => void) | undefined;
  const start = async (): Promise<void> => {
    await host.sleep(spinnerDelayMs, end.signal);
    const { default: ora } = await import("ora");
    if (end.signal.aborted) return;
    // What is typed meanwhile belongs to the shell, and a hidden cursor would stay hidden if the process is killed.
    const quiet = { isEnabled: true, discardStdin: false, hideCursor: false };
    const spinner = ora({ text, stream: host.stderr, ...quiet, ...(color ? {} : { color: false }) });
    spinner.start();
    show = (next) => {
      spinner.text = next;
    };
    end.signal.addEventListener("abort", () => spinner.stop(), { once: true });
  };
  start().catch(() => undefined);
  const stop = (): void => {
    host.signal.removeEventListener("abort", stop);
    end.abort();
  };
  host.signal.addEventListener("abort", stop, { once: true });
  const update = (next: string): void => {
    text = clean(next);
    show?.(text);
  };
  return { update, stop };
};

export const meterFormats = ["bar", "lines", "json", "none"] as const;
export type MeterFormat = (typeof meterFormats)[number];

interface MeterState {
  /** In a person's words: `checking`, `sending`. */
  readonly phase: string;
  readonly bytes: number;
  /** Undefined for a file that is still written. */
  readonly ofBytes: number | undefined;
  readonly groups: number | undefined;
}

interface MeterEvent {
  /** Its name in JSON: `request_logged`. */
  readonly event: string;
  /** It in words, for a line of a log. */
  readonly text: string;
  /** What else JSON says of it. */
  readonly facts: Readonly<Record<string, unknown>>;
}

export interface Meter {
  show(state: MeterState): void;
  report(event: MeterEvent): void;
  stop(): void;
}

interface MeterOptions {
  readonly format: MeterFormat;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Columns that a bar's text may take. */
  readonly columns: number;
  /** Opens the spinner in front of a bar's text. */
  readonly spinner: (label: string) => ProgressIndicator;
  readonly line: (text: string) => void;
}

/** The least time between two events that only say how far a run is. */
const minEventIntervalMs = 1000;

/** Opens a meter. Nothing is shown before something is known. */
export const openMeter = ({ format: form, elapsed, columns, spinner, line }: MeterOptions): Meter => {
  let running: ProgressIndicator | undefined;
  let phase = "";
  let since = 0;
  const show = (state: MeterState): void => {
    const isNew = state.phase !== phase;
    phase = state.phase;
    const { bytes, ofBytes = null, groups = null } = state;
    if (form === "bar") {
      if (isNew) since = elapsed();
      const text = formatBar(state, { ms: elapsed() - since, columns });
      if (running === undefined) running = spinner(text);
      else running.update(text);
    } else if (form === "json" && (isNew || elapsed() - since >= minEventIntervalMs)) {
      since = elapsed();
      line(JSON.stringify({ event: phase, bytes, of_bytes: ofBytes, groups }));
    } else if (form === "lines" && isNew) {
      line(ofBytes === null ? phase : `${phase} ${formatMegabytes(ofBytes)}`);
    }
  };
  return {
    show,
    report: ({ event, text, facts }) => {
      if (form === "lines") line(text);
      else if (form === "json") line(JSON.stringify({ event, ...facts }));
    },
    stop: () => running?.stop(),
  };
};

/** Cells of the bar: as many as there is room for, and none if they would say little. */
const maxCells = 20;
const minCells = 5;

/** The text of a bar: the bar, bytes, groups, rate and the time left; each part is whole or left out. */
export const formatBar = (
  { phase, bytes, ofBytes, groups }: MeterState,
  { ms, columns }: { readonly ms: number; readonly columns: number },
): string => {
  const share = ofBytes === undefined || ofBytes === 0 ? undefined : Math.min(bytes / ofBytes, 1);
  const rate = ms > 0 ? (bytes / ms) * 1000 : 0;
  const hasEstimate = share !== undefined && share > 0 && rate > 0;
  // Those of the highest rank are left out first.
  const parts = [
    { text: phase, rank: 0 },
    { text: share === undefined ? "" : `${Math.floor(share * 100)}%`, rank: 1 },
    {
      text: ofBytes === undefined ? formatMegabytes(bytes) : `${formatMegabytes(bytes)} of ${formatMegabytes(ofBytes)}`,
      rank: 3,
    },
    { text: groups === undefined ? "" : pluralize(groups, "group"), rank: 5 },
    // The rate of a file that is still written is that of its writer.
    { text: rate > 0 && ofBytes !== undefined ? `${formatMegabytes(rate)}/s` : "", rank: 4 },
    { text: hasEstimate ? `${formatDuration(((ofBytes ?? 0) - bytes) / rate)} left` : "", rank: 2 },
  ].filter(({ text }) => text !== "");
  const textOf = (rank: number): readonly string[] => parts.filter((part) => part.rank <= rank).map(({ text }) => text);
  const fits = [5, 4, 3, 2, 1].find((rank) => textOf(rank).join(" ").length <= columns) ?? 0;
  const [first = "", ...rest] = textOf(fits);
  const cells = Math.min(maxCells, columns - [first, ...rest].join(" ").length - 1);
  if (share === undefined || cells < minCells) return [first, ...rest].join(" ");
  const filled = Math.round(share * cells);
  return [first, "█".repeat(filled) + "░".repeat(cells - filled), ...rest].join(" ");
};

const formatMegabytes = (bytes: number): string => {
  if (bytes < 1e6) return `${Math.round(bytes / 1e3)} kB`;
  return `${bytes < 1e8 ? (bytes / 1e6).toFixed(1) : Math.round(bytes / 1e6)} MB`;
};

const formatDuration = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  return whole < 3600 ? `${Math.ceil(whole / 60)} min` : `${Math.ceil(whole / 3600)} h`;
};
