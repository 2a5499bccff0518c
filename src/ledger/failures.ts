/** Failures of the ledger. */

import { Failure } from "../failure.ts";
import { pluralize } from "../sentences.ts";

export const ledgerMissing = (path: string): Failure =>
  new Failure("storage", "ledger-missing", `there is no ledger at ${path}, and --require-ledger asks for one`, {
    hint: "restore it, or leave --require-ledger out to start a new one",
  });

export const ledgerBusy = (path: string, waitedMs: number): Failure => {
  const waited = Math.round(waitedMs / 1000);
  const message = `another run logs the same model and split, and still holds ${path} after ${waited} s`;
  return new Failure("storage", "ledger-busy", message, {
    hint: "wait for it to end, or allow more time with --max-wait",
    retryable: true,
  });
};

/** @param what the ledger, or its lock, with its path @param sent how far the run came, in groups */
export const ledgerReplaced = (what: string, sent?: { readonly logged: number; readonly notSent: number }): Failure => {
  const end = sent === undefined ? "" : `: ${pluralize(sent.logged, "group")} logged, ${sent.notSent} not sent`;
  const message = `${what} was deleted or replaced while the run went on${end}`;
  return new Failure("storage", "ledger-replaced", message, {
    subject: what,
    retryable: false,
    hint: "put the ledger back before you log these files again: what it does not know is logged a second time",
  });
};

/** A run that was paused or cut off for so long that others may have taken its groups over. */
export const leaseLost = (path: string): Failure => {
  const message = `this run was without word from the ledger, ${path}, for so long that others may send its groups`;
  return new Failure("unavailable", "lease-lost", message, {
    hint: "run the same command again: it sends what nobody else did",
  });
};
