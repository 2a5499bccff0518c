import { Failure } from "../../failure.ts";
import { getErrorCode } from "../../system/files.ts";
import { describeSystemCode } from "../../text/sentences.ts";

export interface Listener {
  readonly serverName: "the local service" | "`rollcall view`";
  readonly address: string;
  readonly port: number;
}

export const cannotListen = ({ serverName, address, port }: Listener, cause: unknown) => {
  const reason = describeSystemCode(getErrorCode(cause));
  const message = `${serverName} cannot listen on ${address}, port ${port}: ${reason}`;
  const orAddress = serverName === "the local service" ? ", or another address with --host" : "";
  const hint = `choose another port with --port (0 picks a free one)${orAddress}`;
  return new Failure("usage", "cannot-listen", message, { hint, cause });
};
