/** What `rollcall serve --log json` says: a line of JSON for each request, and for what happens to the service. */
import type { Problem } from "../../failure.ts";
import type { Host } from "../../host.ts";
import type { Ended } from "../../service/index.ts";

/** Writes lines of JSON, each with its time and its event. Nothing in them comes from a body, a path or a credential. */
interface LogLines {
  listening(url: string): void;
  warning(problem: Problem): void;
  request(ended: Ended): void;
  stopping(): void;
  stopped(isWhole: boolean): void;
}

/** Opens the lines on standard error. */
export const openLogLines = ({ stderr, now }: Pick<Host, "stderr" | "now">): LogLines => {
  const write = (event: string, members: Readonly<Record<string, string | number | boolean | null>>): void =>
    void stderr.write(`${JSON.stringify({ time: new Date(now()).toISOString(), event, ...members })}\n`);
  return {
    listening: (url) => write("listening", { url }),
    warning: ({ rule, message }) => write("warning", { rule, message }),
    request: ({ id, operation, method, status, ms, bytes, stored, key }) =>
      write("request", {
        id,
        operation,
        method,
        status: status ?? null,
        duration_ms: Math.round(ms * 10) / 10,
        bytes,
        stored_bytes: stored,
        key: key ?? null,
      }),
    stopping: () => write("stopping", {}),
    stopped: (isWhole) => write("stopped", { whole: isWhole }),
  };
};
