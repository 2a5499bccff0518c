import type { TitledFile } from "../database/failures.ts";
import { Failure } from "../failure.ts";
import { formatCommandLine } from "../shell-words.ts";

export const storeOutcomeUnknown = ({ path, title }: TitledFile, cause: unknown) => {
  const message = `lost the connection to ${title}, ${path}, during a write: the request may or may not be stored`;
  const hint = "resend the request only with its Idempotency-Key, which prevents a second copy";
  return new Failure("unknown_outcome", "store-outcome-unknown", message, { hint, cause });
};

export const invalidLocalKey = (path: string) =>
  new Failure("storage", "invalid-local-key", `${path} does not contain a valid key of the local service`, {
    hint: `delete the file, so that the next start makes a new key: \`${formatCommandLine(["rm", path])}\``,
    where: { file: path },
  });

export const allowHostMissing = (address: string) => {
  const message = `--host ${address} requires --allow-host, because other machines can reach this address`;
  const hint = "pass --allow-host <name> for each host name that clients use";
  return new Failure("usage", "allow-host-missing", message, { hint });
};
