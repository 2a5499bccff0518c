/** The lists that `rollcall ledger` prints: requests, and the calls that their answers named. */
import type { Entry } from "../../ledger/index.ts";
import type { Screen } from "../../output/index.ts";
import { printOwn } from "../lists/own.ts";

const isoOf = (ms: number): string => new Date(ms).toISOString();

const scopeFacts = ({ scope: { model, split, batch } }: Entry) => ({ model_id: model, split, batch });

const entryDocument = (entry: Entry) => ({
  id: entry.id,
  state: entry.state,
  ...scopeFacts(entry),
  groups: entry.groups,
  bytes: entry.bytes,
  input: entry.input,
  destination: entry.scope.destination,
  account: entry.scope.account,
  attempts: entry.attempts,
  first_tried: isoOf(entry.firstTried),
  last_tried: isoOf(entry.lastTried),
  status: entry.status,
  cause: entry.cause,
  calls: entry.calls.length,
});

interface Printed {
  /** True if entries of several destinations are listed: what distinguishes these then stays longer in a narrow table. */
  readonly everywhere: boolean;
}

/** Prints requests; `groups` are what became of the groups of files, null if none were given. */
export const printEntries = async (
  screen: Screen,
  entries: readonly Entry[],
  { groups, everywhere }: Printed & { readonly groups: unknown },
): Promise<void> =>
  await printOwn(screen, {
    others: { groups },
    member: "entries",
    rows: entries.map(entryDocument),
    columns: {
      id: 0,
      state: {
        rank: 0,
        text: ({ state }) => state.replace("_", " "),
        mark: ({ state }) => (state === "unknown" ? { text: "settle it", tone: "warning" } : undefined),
      },
      groups: { rank: 1, align: "right" },
      last_tried: {
        heading: "last tried\nUTC",
        rank: 2,
        text: ({ last_tried }) => last_tried.slice(0, 16).replace("T", " "),
      },
      model_id: { heading: "model", rank: 3 },
      split: 4,
      batch: 5,
      input: 6,
      bytes: { rank: 8, align: "right" },
      attempts: { rank: 9, align: "right" },
      status: { rank: 7, text: ({ status, cause }) => String(status ?? cause ?? "") },
      destination: everywhere ? 1 : 10,
      account: everywhere ? 1 : 11,
    },
  });

/** A call that an answer of the service named, and the request that it answered. */
export interface LoggedCall {
  readonly id: string;
  readonly entry: Entry;
}

/** Prints calls. */
export const printLoggedCalls = async (
  screen: Screen,
  calls: readonly LoggedCall[],
  { everywhere }: Printed,
): Promise<void> => {
  const rows = calls.map(({ id, entry }) => {
    const { destination, account } = entry.scope;
    return { id, ...scopeFacts(entry), logged_at: isoOf(entry.lastTried), destination, account };
  });
  await printOwn(screen, {
    member: "calls",
    rows,
    columns: {
      id: 0,
      model_id: { heading: "model id", rank: 1 },
      split: 2,
      batch: 3,
      logged_at: { heading: "logged at", rank: 4 },
      ...(everywhere ? { destination: 1, account: 1 } : {}),
    },
  });
};
