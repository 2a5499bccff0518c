/** Opens the ledger for one run: the scope's lock held, what a run that died left behind settled as unknown. */
import { Failure } from "../../failure.ts";
import type { Host } from "../../host.ts";
import type { Marks } from "../read/parts/marks.ts";
import type { Written } from "../reject/rejects-file.ts";
import { type Entry, holdsAnything, type Ledger, type LedgerScope, openLedger, tryScopeLock } from "./ledger.ts";
import { ledgerRecord, noRecord, type RequestRecord } from "./record.ts";

/** Which ledger a run uses. */
export interface LedgerChoice {
  readonly path: string;
  /** Whether there must be one already. */
  readonly require: boolean;
}

/** What a run is opened with. */
export interface SessionOptions {
  readonly host: Host;
  /** What the run's groups are known by. */
  readonly marks: Marks;
  /** Undefined for none at all. */
  readonly ledger: LedgerChoice | undefined;
  readonly scope: LedgerScope;
  /** Last name of the first input. */
  readonly input: string;
  /** How long another run of the same scope is waited for. */
  readonly maxWaitMs: number;
  /** Whether nothing will be written: no ledger is made, and no lock taken. */
  readonly readOnly: boolean;
  /** Whether groups are logged a second time on purpose. */
  readonly again: boolean;
  /** Whether requests go with an `Idempotency-Key`. */
  readonly keyed: boolean;
  readonly onWait: () => void;
}

/** A run's ledger, or the lack of one. Must be closed. */
export interface Session {
  readonly marks: Marks;
  /** Requests that were made for the scope, oldest first, when the ledger was opened. */
  entries(): Iterable<Entry>;
  readonly record: RequestRecord;
  readonly written: Written;
  /** What the result says of the ledger; null where there is none. */
  readonly ledger: { readonly path: string; readonly created: boolean } | null;
  close(): void;
}

/** Opens a run's ledger. @throws Failure `ledger-missing`, `ledger-busy`, and all of code `storage`: nothing was sent then */
export const openSession = async (options: SessionOptions): Promise<Session> =>
  await open(options).catch((thrown: unknown) => {
    throw thrown instanceof Failure && thrown.code === "storage" ? thrown.also({ unsent: true }) : thrown;
  });

const open = async (options: SessionOptions): Promise<Session> => {
  const { ledger: choice, scope, input, readOnly, host, marks } = options;
  const nonce = () => `${host.now()}-${host.random()}`;
  if (choice?.require === true && !holdsAnything(choice.path))
    throw new Failure("ledger-missing", { path: choice.path });
  if (choice === undefined || (readOnly && !holdsAnything(choice.path))) {
    return {
      marks,
      entries: () => [],
      record: noRecord({ scope, marks, generation: nonce() }),
      written: nothingWritten,
      ledger: null,
      close: () => undefined,
    };
  }
  const ledger = openLedger(choice.path);
  try {
    const lock = readOnly ? undefined : await takeLock(ledger, options);
    const own = ledger.scope(scope);
    if (!readOnly) own.recover();
    return {
      marks,
      entries: () => own.entries(),
      record: ledgerRecord({
        ledger: own,
        scope,
        marks,
        input,
        generation: options.again ? nonce() : "",
        keyed: options.keyed,
      }),
      written: ledger.written,
      ledger: { path: ledger.path, created: ledger.created },
      close: () => {
        lock?.release();
        ledger.close();
      },
    };
  } catch (thrown) {
    ledger.close();
    throw thrown;
  }
};

const nothingWritten: Written = { digest: () => undefined, remember: () => undefined };

/** How often a lock that another run holds is asked for again. */
const askAgainMs = 100;

const takeLock = async (ledger: Ledger, { scope, host, maxWaitMs, onWait }: SessionOptions) => {
  const from = host.elapsed();
  for (let tries = 0; ; tries++) {
    const lock = tryScopeLock(ledger, scope);
    if (lock !== undefined) return lock;
    if (tries === 0) onWait();
    const waitedMs = host.elapsed() - from;
    if (waitedMs >= maxWaitMs) {
      throw new Failure("ledger-busy", { path: ledger.path, waitedMs }, { retryable: true });
    }
    await host.sleep(Math.min(askAgainMs * (0.5 + host.random()), maxWaitMs - waitedMs + 1), host.signal);
  }
};
