/** How long a request in flight goes on after the run was told to stop. */
import type { Host } from "../../host.ts";

/** After a signal the request in flight has this long (promises.md, "What the ledger promises"). */
const graceMs = 5000;

/** A signal that aborts some time after the host's, or at once where the run was told to stop a second time. */
export const graceful = ({
  signal,
  urgent,
}: Pick<Host, "signal" | "urgent">): { readonly signal: AbortSignal; end(): void } => {
  const abort = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const stop = () => abort.abort(signal.reason);
  const start = () => {
    timer ??= setTimeout(stop, graceMs);
  };
  signal.addEventListener("abort", start, { once: true });
  urgent.addEventListener("abort", stop, { once: true });
  if (signal.aborted) start();
  if (urgent.aborted) stop();
  return {
    signal: abort.signal,
    end: () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", start);
      urgent.removeEventListener("abort", stop);
    },
  };
};
