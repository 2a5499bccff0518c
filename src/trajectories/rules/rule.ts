/** What a rule is: how serious, what it says, what it advises; and how one is written down. */
import type { Severity } from "../../failure.ts";

/** A rule: what it says is made of `Data`. */
export interface Rule<Data> {
  readonly severity: Severity;
  readonly message: (data: Data) => string;
  readonly advice: (data: Data) => string | undefined;
  /** Whether it is about a group or a trajectory as a whole, so that no single value in it is to be shown. */
  readonly whole: boolean;
}

type Message<Data> = string | ((data: Data) => string);
type Advice<Data> = string | ((data: Data) => string | undefined);

const rule = <Data>({
  severity,
  message,
  advice,
  whole = false,
}: {
  readonly severity: Severity;
  readonly message: Message<Data>;
  readonly advice: Advice<Data> | undefined;
  readonly whole?: boolean;
}): Rule<Data> => ({
  severity,
  message: typeof message === "string" ? () => message : message,
  advice: typeof advice === "function" ? advice : () => advice,
  whole,
});

/** A rule that can't be silenced. */
export const error = <Data = undefined>(message: Message<Data>, advice?: Advice<Data>): Rule<Data> =>
  rule({ severity: "error", message, advice });

/** A rule that `--strict` makes an error and `--allow` silences. */
export const warning = <Data = undefined>(message: Message<Data>, advice?: Advice<Data>): Rule<Data> =>
  rule({ severity: "warning", message, advice });

/** A warning about a group or a trajectory as a whole. */
export const wholeWarning = <Data = undefined>(message: Message<Data>, advice?: Advice<Data>): Rule<Data> =>
  rule({ severity: "warning", message, advice, whole: true });
