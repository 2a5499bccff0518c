/** Failures of the local service. */
import type { TitledFile } from "../database/failures.ts";
import { Failure } from "../failure.ts";
import { getErrorCode } from "../files.ts";
import { describeSystemCode } from "../sentences.ts";

/** A database that went away as it wrote: what was written may be stored. */
export const storeOutcomeUnknown = ({ path, title }: TitledFile, cause: unknown): Failure => {
  const message = `${title}, ${path}, went away as it wrote: nobody knows whether it stored the request`;
  return new Failure("unknown_outcome", "store-outcome-unknown", message, {
    hint: "once it is back, a request with an Idempotency-Key may be sent once more: it is stored once",
    cause,
  });
};

export const invalidLocalKey = (path: string): Failure =>
  new Failure("storage", "invalid-local-key", `the key of the local service, ${path}, holds no key`, {
    hint: `delete it (rm ${path}); the next start makes a new one`,
    where: { file: path },
  });

/** What listens at an address. */
export type ServerName = "the local service" | "the page";

export const cannotListen = (
  { server, address, port }: { server: ServerName; address: string; port: number },
  cause: unknown,
): Failure => {
  const code = getErrorCode(cause);
  const message = `${server} can't listen on ${address}, port ${port}: ${describeSystemCode(code)}`;
  const isPort = server === "the page" || code === "EACCES" || code === "EADDRINUSE";
  const hint = isPort ? "give another --port (0: any free one)" : "give another --host";
  return new Failure("usage", "cannot-listen", message, {
    hint: code === "EADDRINUSE" ? `stop what listens there, or ${hint}` : hint,
    cause,
  });
};

export const allowHostMissing = (address: string): Failure =>
  new Failure("usage", "allow-host-missing", `${address} can be reached from other machines`, {
    hint: "say by which name they will ask for it: --allow-host <name>",
  });
