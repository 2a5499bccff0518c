import { Failure } from "../../failure.ts";
import { formatSeconds } from "../../text/units.ts";

export const ledgerFile = {
  noun: "ledger",
  moveWith: "--ledger or ROLLCALL_LEDGER",
  ofNew: " (a rerun then logs all groups again)",
  ofBackup: " (a rerun then logs again what the backup does not contain)",
};

export const ledgerMissing = (path: string, isRequired: boolean) => {
  const message = isRequired
    ? `the ledger ${path} does not exist, but --require-ledger is given`
    : `the ledger ${path} does not exist: the database "${new URL(path).pathname.slice(1)}" has no schema "rollcall" with a ledger`;
  const hint = isRequired
    ? "restore the ledger, or omit --require-ledger to start a new one"
    : "correct the URL or restore the schema, or start a new ledger with --new-ledger (rollcall then logs all groups again)";
  return new Failure("storage", "ledger-missing", message, { hint });
};

export const formatUpgrade = (path: string) =>
  `upgraded the ledger ${path}, so older versions of rollcall refuse it. rollcall does not recognize edited versions of the groups that it already has`;

export const formatLease = (leaseMs: number | undefined) =>
  leaseMs === undefined ? "" : ` (if that run was killed, the ledger is free in ${formatSeconds(leaseMs, Math.ceil)})`;

export const ledgerBusy = (path: string, waitedMs: number, leaseMs?: number) => {
  const message = `another run with the same model and split still uses ${path} after ${formatSeconds(waitedMs)}${formatLease(leaseMs)}`;
  const hint = "wait until that run ends, or increase --max-wait";
  return new Failure("storage", "ledger-busy", message, { hint, retryable: true });
};

export const ledgerReplaced = (subject: string) => {
  const message = `${subject} was deleted, replaced or overwritten during the run`;
  const hint =
    "restore the ledger as it was, because with another ledger, a rerun logs again the groups that this ledger had";
  return new Failure("storage", "ledger-replaced", message, { retryable: false, hint });
};

export const leaseLost = (path: string) => {
  const message = `this run could not update the ledger ${path} in time, so other runs may now send the same groups`;
  const hint = "rerun the same command to send the groups that no other run sent";
  return new Failure("unavailable", "lease-lost", message, { hint });
};
