/** What a run of `call read` saw beside the calls themselves: what was missing, still running, or odd. */
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { CallOutcome, MissingCall } from "./reader.ts";

/** What was seen so far. */
export interface Seen {
  /** Ids that were asked for. */
  asked: number;
  readonly missing: MissingCall[];
  /** Takes note of what is odd about a call, or that there is none. */
  note(outcome: CallOutcome): void;
  /** Says what was odd, once. */
  say(context: Context): void;
  /** @throws Failure where something is missing, could not be done, or did not end; what goes first is in the table of exit codes */
  fail(about: EndOf): void;
}

/** How a run ended. */
export interface EndOf {
  /** What could not be made of the calls. */
  readonly failure: Failure | undefined;
  readonly project: string;
  /** How long running calls were waited for; undefined where nobody asked to. */
  readonly waitedMs: number | undefined;
  readonly context: Context;
}

/** Nothing seen yet. */
export const openSeen = (): Seen => {
  const odd = new Map<string, number>();
  const running: string[] = [];
  const seen: Seen = {
    asked: 0,
    missing: [],
    note(call) {
      if (call.kind === "missing") {
        seen.missing.push(call);
        return;
      }
      for (const field of call.odd) odd.set(field, (odd.get(field) ?? 0) + 1);
      if (call.running) running.push(call.id);
    },
    say({ screen }) {
      if (odd.size === 0) return;
      const fields = Array.from(odd, ([field, calls]) =>
        seen.asked === 1 ? field : `${field} (${calls} of ${seen.asked} calls)`,
      );
      screen.notice(`not of the interface's type, and shown as it came: ${fields.join(", ")}`);
    },
    fail({ failure, project, waitedMs, context }) {
      const late = waitedMs === undefined || running.length === 0 ? undefined : lateFailure(waitedMs);
      const failures = [missingFailure(seen, project), failure, late].filter((one) => one !== undefined);
      const [first, ...others] = failures;
      for (const other of others) context.screen.notice(`also: ${said(other)}`);
      if (first !== undefined) throw first;
    },
  };
  const lateFailure = (waitedMs: number): Failure =>
    new Failure("calls-running", { ids: running, asked: seen.asked, waitedMs });
  return seen;
};

const missingFailure = ({ missing, asked }: Seen, project: string): Failure | undefined => {
  if (missing.length === 0) return undefined;
  const http = missing.find((one) => one.http !== undefined)?.http;
  const ids = [...new Set(missing.map(({ id }) => id))];
  return new Failure("calls-missing", { ids, asked, project }, http === undefined ? {} : { http });
};

/** What another failure than the one that ends the run says, in a word. */
const said = ({ reason }: Failure): string =>
  reason === "calls-unfit"
    ? "some calls can't be turned into what was asked for"
    : reason === "calls-running"
      ? "some calls are still running"
      : "some calls have nothing at that path";
