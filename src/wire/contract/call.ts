/** Describes the operation that reads a traced call (interface 4.3). */
import { endpoint } from "./endpoint.ts";
import { objectReader } from "./replies.ts";

type CallRequest = Readonly<{
  project_id: string;
  id: string;
  include_costs?: boolean;
  include_storage_size?: boolean;
  include_total_storage_size?: boolean;
}>;

const nothing = { include_costs: false, include_storage_size: false, include_total_storage_size: false };

/** Assumed (interface 4.3): `call` is null if the call does not exist. */
export const readCall = endpoint({
  name: "read the call",
  method: "POST",
  host: "base",
  path: "/call/read",
  use: "calls",
  repeatable: true,
  toJson: ({ project_id, id, ...included }: CallRequest) => ({ project_id, id, ...nothing, ...included }),
  reply: objectReader("call"),
});
