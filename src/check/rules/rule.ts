/** What a rule is: one record of how serious it is, what it says and advises, why it is one, and an example of it. */
import type { Severity } from "../../failure.ts";

/** A rule: what it says is made of `Data`. */
export interface Rule<Data> {
  readonly severity: Severity;
  readonly says: (data: Data) => string;
  /** What it says without anything that stood in the file; undefined if its words have nothing of it. */
  readonly quiet: string | undefined;
  /** What to do about it. */
  readonly advice: (data: Data) => string;
  /** Why it is a rule, in a sentence or two: its page says it beside an example. */
  readonly why: string;
  /**
   * What it is about: a value in a file; a group or a trajectory as a whole, of which no value is shown; or an input as a
   * whole, which no rejected group can fix.
   */
  readonly about: "value" | "whole" | "input";
  readonly example: Example<Data>;
}

/**
 * Inputs that break it; what it is said of, where no text alone does: of files, requests, a service's answers, the ledger; both
 * where only files on a disk break it.
 */
export type Example<Data> = Fired | Said<Data>;

/** Inputs that break a rule, and inputs that are nearly the same and don't. */
interface Fired {
  readonly fires: Inputs;
  readonly passes: Inputs;
}

interface Said<Data> extends Partial<Fired> {
  readonly said: Data;
  readonly where?: { readonly file: string; readonly line?: number };
}

/** The inputs of an example, and how they are read. */
export interface Inputs {
  /** Contents of files, by the names that they are given; undefined is a name without a file. */
  readonly files: Readonly<Record<string, string | Uint8Array | undefined>>;
  readonly split?: string;
  readonly groupBy?: string;
  /** Contents of a file of another split. */
  readonly against?: string;
}

/** A rule as it is written down. `quiet` is left out if its words are made of counts, types and the interface's names alone. */
interface Written<Data> {
  readonly says: string | ((data: Data) => string);
  readonly quiet?: string;
  readonly advice: string | ((data: Data) => string);
  readonly why: string;
}

const rulesOf =
  (severity: Severity, about: Rule<undefined>["about"] = "value") =>
  <Data = undefined>(rule: Written<Data> & Example<Data>): Rule<Data> => {
    const { says, quiet, advice, why } = rule;
    return {
      severity,
      says: typeof says === "string" ? () => says : says,
      quiet,
      advice: typeof advice === "function" ? advice : () => advice,
      why,
      about,
      example: rule,
    };
  };

/** A rule that can't be silenced: of a value, of a group or a trajectory as a whole, of an input. */
export const error = rulesOf("error");
export const errorOfWhole = rulesOf("error", "whole");
export const errorOfInput = rulesOf("error", "input");

/** A rule that `--strict` makes an error, and `--allow` silences. */
export const warning = rulesOf("warning");
export const warningOfWhole = rulesOf("warning", "whole");
