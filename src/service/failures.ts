import { Failure } from "../failure.ts";
import { formatCommandLine } from "../text/shell-words.ts";

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
