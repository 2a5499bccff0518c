import { Failure } from "../../failure.ts";
import { formatLogged, type LoggedCounts } from "../../text/sentences.ts";
import { formatSeconds } from "../../text/units.ts";

export const ledgerFile = {
  noun: "ledger",
  moveWith: "--ledger or ROLLCALL_LEDGER",
  hints: {
    ofNew: " (a rerun then logs all groups again)",
    ofBackup: " (a rerun then logs again what the backup does not contain)",
    ofPackage: ", or log without a ledger with --no-ledger",
    passwords: "ROLLCALL_LEDGER or PGPASSWORD",
  },
};

export const ledgerMissing = (path: string) =>
  new Failure("storage", "ledger-missing", `the ledger ${path} does not exist, but --require-ledger is given`, {
    hint: "restore the ledger, or omit --require-ledger to start a new one",
  });

export const formatLease = (leaseMs: number | undefined) =>
  leaseMs === undefined ? "" : ` (if that run was killed, the ledger is free in ${formatSeconds(leaseMs, Math.ceil)})`;

export const ledgerBusy = (path: string, waitedMs: number, leaseMs?: number) => {
  const message = `another run with the same model and split still uses ${path} after ${formatSeconds(waitedMs)}${formatLease(leaseMs)}`;
  const hint = "wait until that run ends, or increase --max-wait";
  return new Failure("storage", "ledger-busy", message, { hint, retryable: true });
};

export const ledgerReplaced = (subject: string, sent?: LoggedCounts & { unknown: number; not_sent: number }) => {
  const unknown = sent?.unknown ? `, ${sent.unknown} unknown` : "";
  const end = sent ? `: ${formatLogged(sent)}${unknown}, ${sent.not_sent} not logged` : "";
  const message = `${subject} was deleted, replaced or overwritten during the run${end}`;
  const hint =
    "restore the ledger as it was, because with another ledger, a rerun logs again the groups that this ledger had";
  return new Failure("storage", "ledger-replaced", message, { subject, retryable: false, hint });
};

export const leaseLost = (path: string) => {
  const message = `this run could not update the ledger ${path} in time, so other runs may now send the same groups`;
  const hint = "rerun the same command to send the groups that no other run sent";
  return new Failure("unavailable", "lease-lost", message, { hint });
};
