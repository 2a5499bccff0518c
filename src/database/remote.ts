/** A database at an address: every question is bounded in time, and asked again where the connection was in the way. */
import { Failure } from "../failure.ts";
import type { Host } from "../host.ts";
import type { TitledFile } from "./file.ts";
import type { Row, Value } from "./open.ts";

/** A database at an address, and how it is asked. */
export interface RemoteOptions extends TitledFile {
  readonly host: Pick<Host, "elapsed" | "random" | "sleep" | "signal">;
  /** Undefined where there is none. */
  readonly password: string | undefined;
  /** Gives a password where there is none and one is asked for, and another where that is refused. */
  readonly passwordCommand?: (() => Promise<string>) | undefined;
  /** How long one that is away is waited for. */
  readonly maxWaitMs: number;
  /** Told once for each time that it is away, with what is in the way. */
  readonly onAway: (code: string) => void;
  /** How many connections there are at most; a run's where nothing is said. */
  readonly connections?: number;
}

/** Asks one statement; `?` stands for a value. */
export type Ask = (sql: string, values?: readonly Value[]) => Promise<readonly Row[]>;

/** A statement and its values. */
export interface Question {
  readonly sql: string;
  readonly values?: readonly Value[];
}

/** An open database at an address. Every way of using it throws a Failure of code `storage`, `auth` or `unavailable` that names its address. */
export interface DatabaseServer {
  /** One statement, a transaction of its own. Asked again where nobody knows whether it was done: let that change nothing. */
  readonly ask: Ask;
  /**
   * Statements in one transaction, all of them or none; the rows of each. Asked again as `ask` is.
   * @param onDoubt told that the answer to a commit is missing: nobody knows whether it was done
   */
  together(questions: readonly Question[], onDoubt?: () => void): Promise<readonly (readonly Row[])[]>;
  /** From here on nothing is asked twice: nobody waits at the end of a run for a database that is away. */
  hasten(): void;
  close(): Promise<void>;
}

/** How long is waited before another try: at random up to as long, twice as long each time, so that many do not come at once. */
const firstWaitMs = 200;
const longestWaitMs = 5000;

/** The password in use. */
export interface Password {
  readonly current: () => string | undefined;
  /** Asks a command for one, once it was asked for or refused; false where there is no other than the one that was used. */
  readonly renew: (used: string | undefined) => Promise<boolean>;
  /** Told that the database took it. */
  readonly taken: () => void;
}

/** Asks for a password only where the database does: a command may have a person touch a key. */
export const passwordOf = ({ password, passwordCommand }: RemoteOptions): Password => {
  let known = password;
  let isUntried = false;
  let asking: Promise<void> | undefined;
  const ask = async (command: () => Promise<string>): Promise<void> => {
    known = await command();
    isUntried = true;
  };
  return {
    current: () => known,
    renew: async (used) => {
      if (known !== used) return true;
      if (passwordCommand === undefined || password !== undefined || isUntried) return false;
      asking ??= ask(passwordCommand).finally(() => {
        asking = undefined;
      });
      await asking;
      return true;
    },
    taken: () => {
      isUntried = false;
    },
  };
};

/** What is in the way of what may go through at another try. */
export interface InTheWay {
  readonly code: string;
  /** Whether another transaction is, and not the way to the database. */
  readonly isConflict: boolean;
}

/** Tells what passes from what does not. */
interface Judgement {
  /** Undefined for what will not pass. */
  readonly passing: (thrown: unknown) => InTheWay | undefined;
  /** What something thrown means that will not pass. */
  readonly failureOf: (thrown: unknown) => unknown;
}

/** Does work again until it goes through, or the wait is over. @throws Failure `database-away`, and what the judgement makes of the rest */
export const persistence = (
  { path, title, host, maxWaitMs, onAway }: RemoteOptions,
  { passing, failureOf }: Judgement,
): {
  readonly persistently: <Result>(work: () => Promise<Result>) => Promise<Result>;
  readonly hasten: () => void;
} => {
  let isHasty = false;
  return {
    hasten: () => {
      isHasty = true;
    },
    persistently: async (work) => {
      const from = host.elapsed();
      for (let wait = firstWaitMs; ; wait = Math.min(2 * wait, longestWaitMs)) {
        try {
          return await work();
        } catch (thrown) {
          const inTheWay = passing(thrown);
          if (inTheWay === undefined) throw failureOf(thrown);
          const { code, isConflict } = inTheWay;
          const waitedMs = host.elapsed() - from;
          if (isHasty || waitedMs >= maxWaitMs) throw new Failure("database-away", { path, title, code, waitedMs });
          if (wait === firstWaitMs && !isConflict) onAway(code);
          await host.sleep(Math.min(host.random() * wait, maxWaitMs - waitedMs), host.signal);
        }
      }
    },
  };
};
