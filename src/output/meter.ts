/** How far a long run is, on standard error: a bar for a person, a line for each change in a build's log, events for a program. */
import type { Progress } from "./progress.ts";

/** The forms that progress can take. */
export const meterForms = ["bar", "lines", "json", "none"] as const;
export type MeterForm = (typeof meterForms)[number];

/** How far a run is. */
export interface MeterState {
  /** What is being done, as a person says it: `checking`, `sending`. */
  readonly phase: string;
  readonly bytes: number;
  /** Undefined where nobody can know: a file that is still written. */
  readonly ofBytes: number | undefined;
  readonly groups: number | undefined;
}

/** A change of state. */
export interface MeterEvent {
  /** Its name in JSON: `request_logged`. */
  readonly event: string;
  /** It in words, for a line of a log. */
  readonly text: string;
  /** What else JSON says of it. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Progress of one run. */
export interface Meter {
  show(state: MeterState): void;
  tell(event: MeterEvent): void;
  stop(): void;
}

/** What a meter is made of. */
export interface MeterOptions {
  readonly form: MeterForm;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Columns of the terminal. */
  readonly columns: number;
  /** Opens the spinner that a bar's text stands behind. */
  readonly spinner: (label: string) => Progress;
  /** Writes a line; already without an end. */
  readonly line: (text: string) => void;
}

/** The least time between two events that only say how far a run is. */
const eventEveryMs = 1000;

/** Opens a meter. Nothing is shown before something is known. */
export const openMeter = (options: MeterOptions): Meter => {
  if (options.form === "none") return { show: () => undefined, tell: () => undefined, stop: () => undefined };
  if (options.form === "bar") return barMeter(options);
  return options.form === "json" ? jsonMeter(options) : lineMeter(options);
};

const barMeter = ({ elapsed, columns, spinner }: MeterOptions): Meter => {
  let running: Progress | undefined;
  let phase = "";
  let from = 0;
  return {
    show: (state) => {
      if (state.phase !== phase) {
        phase = state.phase;
        from = elapsed();
      }
      const text = barText(state, { ms: elapsed() - from, columns });
      if (running === undefined) running = spinner(text);
      else running.update(text);
    },
    tell: () => undefined,
    stop: () => running?.stop(),
  };
};

/** Cells of the bar, where the terminal has room for one. */
const barCells = 20;

/** Columns that the text beside the bar takes at most. */
const besideBar = 60;

/** What a bar's line says: the bar, bytes, groups, rate and the time left. */
export const barText = (
  { phase, bytes, ofBytes, groups }: MeterState,
  { ms, columns }: { readonly ms: number; readonly columns: number },
): string => {
  const share = ofBytes === undefined || ofBytes === 0 ? undefined : Math.min(bytes / ofBytes, 1);
  const rate = ms > 0 ? (bytes / ms) * 1000 : 0;
  const filled = Math.round((share ?? 0) * barCells);
  const parts = [
    phase,
    share !== undefined && columns >= barCells + besideBar ? "█".repeat(filled) + "░".repeat(barCells - filled) : "",
    share === undefined ? "" : `${Math.floor(share * 100)}%`,
    ofBytes === undefined ? megabytes(bytes) : `${megabytes(bytes)} of ${megabytes(ofBytes)}`,
    groups === undefined ? "" : `${groups} groups`,
    rate > 0 ? `${megabytes(rate)}/s` : "",
    share !== undefined && share > 0 && rate > 0 ? `${timeText(((ofBytes ?? 0) - bytes) / rate)} left` : "",
  ];
  return parts.filter((part) => part !== "").join("  ");
};

const megabytes = (bytes: number): string =>
  bytes < 1e6
    ? `${Math.round(bytes / 1e3)} kB`
    : `${bytes < 1e8 ? (bytes / 1e6).toFixed(1) : Math.round(bytes / 1e6)} MB`;

const timeText = (seconds: number): string => {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  return whole < 3600 ? `${Math.ceil(whole / 60)} min` : `${Math.ceil(whole / 3600)} h`;
};

const lineMeter = ({ line }: MeterOptions): Meter => {
  let phase = "";
  return {
    show: (state) => {
      if (state.phase === phase) return;
      phase = state.phase;
      line(state.ofBytes === undefined ? phase : `${phase} ${megabytes(state.ofBytes)}`);
    },
    tell: ({ text }) => line(text),
    stop: () => undefined,
  };
};

const jsonMeter = ({ line, elapsed }: MeterOptions): Meter => {
  let phase = "";
  let last = 0;
  return {
    show: (state) => {
      if (state.phase === phase && elapsed() - last < eventEveryMs) return;
      phase = state.phase;
      last = elapsed();
      const { bytes, ofBytes = null, groups = null } = state;
      line(JSON.stringify({ event: phase, bytes, of_bytes: ofBytes, groups }));
    },
    tell: ({ event, facts }) => line(JSON.stringify({ event, ...facts })),
    stop: () => undefined,
  };
};
