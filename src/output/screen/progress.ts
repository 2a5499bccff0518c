/** How far a run is, on standard error: a spinner, a bar for a person, a line for each change in a build's log, events for a program. */
import { counted } from "../../counted.ts";
import type { Host } from "../../host.ts";

/** A running spinner. */
export interface Progress {
  update(label: string): void;
  stop(): void;
}

/** What is done before this many milliseconds have passed needs no spinner, and loads none. */
const patienceMs = 150;

/** Shows nothing. */
export const silent: Progress = { update: () => undefined, stop: () => undefined };

/** Starts a spinner unless it is stopped soon. `clean` makes a label fit for one line of the terminal. */
export const openProgress = ({
  host,
  label,
  color,
  clean,
}: {
  readonly host: Host;
  readonly label: string;
  readonly color: boolean;
  readonly clean: (label: string) => string;
}): Progress => {
  const end = new AbortController();
  let text = clean(label);
  let show: ((label: string) => void) | undefined;
  const start = async (): Promise<void> => {
    await host.sleep(patienceMs, end.signal);
    const { default: ora } = await import("ora");
    if (end.signal.aborted) return;
    const spinner = ora({
      text,
      stream: host.stderr,
      isEnabled: true,
      // What is typed meanwhile belongs to the shell, and a hidden cursor would stay hidden if the process is killed.
      discardStdin: false,
      hideCursor: false,
      ...(color ? {} : { color: false }),
    });
    spinner.start();
    show = (label) => {
      spinner.text = label;
    };
    end.signal.addEventListener("abort", () => spinner.stop(), { once: true });
  };
  start().catch(() => undefined);
  const stop = (): void => end.abort();
  host.signal.addEventListener("abort", stop, { once: true });
  return {
    update(next) {
      text = clean(next);
      show?.(text);
    },
    stop() {
      host.signal.removeEventListener("abort", stop);
      stop();
    },
  };
};

/** The forms that progress can take. */
export const meterForms = ["bar", "lines", "json", "none"] as const;
export type MeterForm = (typeof meterForms)[number];

interface MeterState {
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

interface MeterOptions {
  readonly form: MeterForm;
  /** Monotonic milliseconds. */
  readonly elapsed: () => number;
  /** Columns that a bar's text may take. */
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

/** Cells of the bar: as many as there is room for, and none where they would say little. */
const mostCells = 20;
const fewestCells = 5;

/** What a bar's line says: the bar, bytes, groups, rate and the time left; what there is no room for is left out, whole. */
export const barText = (
  { phase, bytes, ofBytes, groups }: MeterState,
  { ms, columns }: { readonly ms: number; readonly columns: number },
): string => {
  const share = ofBytes === undefined || ofBytes === 0 ? undefined : Math.min(bytes / ofBytes, 1);
  const rate = ms > 0 ? (bytes / ms) * 1000 : 0;
  const parts = [
    { text: phase, rank: 0 },
    { text: share === undefined ? "" : `${Math.floor(share * 100)}%`, rank: 1 },
    { text: ofBytes === undefined ? megabytes(bytes) : `${megabytes(bytes)} of ${megabytes(ofBytes)}`, rank: 3 },
    { text: groups === undefined ? "" : counted(groups, "group"), rank: 5 },
    // What somebody else still writes comes as fast as they write it.
    { text: rate > 0 && ofBytes !== undefined ? `${megabytes(rate)}/s` : "", rank: 4 },
    {
      text: share !== undefined && share > 0 && rate > 0 ? `${timeText(((ofBytes ?? 0) - bytes) / rate)} left` : "",
      rank: 2,
    },
  ].filter(({ text }) => text !== "");
  const textOf = (rank: number): readonly string[] => parts.filter((part) => part.rank <= rank).map(({ text }) => text);
  const fits = [5, 4, 3, 2, 1].find((rank) => textOf(rank).join(" ").length <= columns) ?? 0;
  const [first = "", ...rest] = textOf(fits);
  const cells = Math.min(mostCells, columns - [first, ...rest].join(" ").length - 1);
  if (share === undefined || cells < fewestCells) return [first, ...rest].join(" ");
  const filled = Math.round(share * cells);
  return [first, "█".repeat(filled) + "░".repeat(cells - filled), ...rest].join(" ");
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
