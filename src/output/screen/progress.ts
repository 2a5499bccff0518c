/** A spinner on standard error, for a person who waits. */
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
