import { Failure } from "../failure.ts";
import { getErrorCode } from "../files.ts";
import { describeSystemCode } from "../sentences.ts";
import type { ListenOptions } from "./server.ts";

type Listener = Pick<ListenOptions, "serverName" | "address" | "port">;

export const cannotListen = ({ serverName, address, port }: Listener, cause: unknown) => {
  const reason = describeSystemCode(getErrorCode(cause));
  const message = `${serverName} cannot listen on ${address}, port ${port}: ${reason}`;
  const orAddress = serverName === "the local service" ? ", or another address with --host" : "";
  const hint = `choose another port with --port (0 picks a free one)${orAddress}`;
  return new Failure("usage", "cannot-listen", message, { hint, cause });
};
