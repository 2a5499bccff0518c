/** Shows progress on standard error. */
import type { Ora } from "ora";
import type { Host } from "../system/host.ts";
import { pluralize } from "../text/sentences.ts";
import { formatMB, formatPercent, formatRest } from "../text/units.ts";
import type { TextCleaner } from "./cleaner.ts";

export type Progress = { update(label: string): void; stop(): void };

const spinnerDelayMs = 150;

export const noProgress: Progress = { update: () => undefined, stop: () => undefined };

type SpinnerOptions = Readonly<{ host: Host; color: boolean; clean: TextCleaner }>;

export const openSpinner = (label: string, { host, color, clean }: SpinnerOptions): Progress => {
  const end = new AbortController();
  const stopped = AbortSignal.any([host.signal, end.signal]);
  let text = clean(label);
  let spinner: Ora | undefined;
  const start = async () => {
    await host.sleep(spinnerDelayMs, stopped);
    const { default: ora } = await import("ora");
    if (stopped.aborted) return;
    // Typed text is for the shell. A killed process would leave the cursor hidden.
    const options = { isEnabled: true, discardStdin: false, hideCursor: false, ...(color ? {} : { color }) };
    spinner = ora({ text, stream: host.stderr, ...options }).start();
    stopped.addEventListener("abort", () => spinner?.stop(), { once: true });
  };
  start().catch(() => undefined);
  return {
    update(next) {
      text = clean(next);
      if (spinner) spinner.text = text;
    },
    stop: () => end.abort(),
  };
};

type MeterState = Readonly<{
  phase: string;
  bytes: number;
  ofBytes: number | undefined;
  groups?: number | undefined;
  waiting?: string | undefined;
}>;

export interface Meter extends Pick<Progress, "stop"> {
  readonly show: (state: MeterState) => void;
}

type MeterOptions = Readonly<{
  format: "bar" | "lines" | "none";
  elapsed: Host["elapsed"];
  columns: number;
  spinner: (label: string) => Progress;
  line: (text: string) => void;
}>;

const lineIntervalMs = 10_000;

export const openMeter = ({ format, elapsed, columns, spinner, line }: MeterOptions): Meter => {
  let running: Progress | undefined;
  let phase = "";
  /** The start of the phase plus all waits. */
  let since = 0;
  let waitingSince: number | undefined;
  let lastLine = elapsed();
  return {
    show(state) {
      if (state.phase !== phase) since = elapsed();
      else if (waitingSince !== undefined) since += elapsed() - waitingSince;
      phase = state.phase;
      waitingSince = state.waiting === undefined ? undefined : elapsed();
      const ms = elapsed() - since;
      if (format === "bar") {
        const text = formatBar(state, { ms, columns });
        if (!running) running = spinner(text);
        else running.update(text);
      } else if (format === "lines" && elapsed() - lastLine >= lineIntervalMs) {
        lastLine = elapsed();
        line([phase, ...listParts(state, ms)].join(" "));
      }
    },
    stop() {
      running?.stop();
      running = undefined;
    },
  };
};

const maxCells = 20;
const minCells = 5;

const shareOf = ({ bytes, ofBytes }: MeterState) => (ofBytes ? Math.min(bytes / ofBytes, 1) : undefined);

const listParts = (state: MeterState, ms: number) => {
  const { bytes, ofBytes, groups, waiting } = state;
  const share = shareOf(state);
  const rate = ms > 0 ? (bytes / ms) * 1000 : 0;
  const left = ((ofBytes ?? 0) - bytes) / rate;
  return [
    share !== undefined && formatPercent(share, 1),
    // Without a rate, or after the last byte, the remaining time is unknown.
    waiting ?? (rate > 0 && left >= 0.5 && `${formatRest(left * 1000)} left`),
    ofBytes === undefined ? formatMB(bytes) : `${formatMB(bytes)} of ${formatMB(ofBytes)}`,
    // The rate of a growing file is the rate of its writer.
    rate > 0 && ofBytes !== undefined && waiting === undefined && `${formatMB(rate)}/s`,
    groups !== undefined && pluralize(groups, "group"),
  ].filter(Boolean);
};

export const formatBar = (state: MeterState, { ms, columns }: Readonly<{ ms: number; columns: number }>) => {
  const { phase } = state;
  const share = shareOf(state);
  const parts = listParts(state, ms);
  while ([phase, ...parts].join(" ").length > columns && parts.length > 0) parts.pop();
  const text = [phase, ...parts].join(" ");
  const cells = Math.min(maxCells, columns - text.length - 1);
  if (share === undefined || cells < minCells) return text;
  const filled = Math.round(share * cells);
  return `${phase} ${"█".repeat(filled)}${"░".repeat(cells - filled)}${text.slice(phase.length)}`;
};
