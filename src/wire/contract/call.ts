/** Describes the operation that reads a traced call (interface 4.3). */
import { endpoint } from "./endpoint.ts";
import { objectReader } from "./replies.ts";

const nothing = { include_costs: false, include_storage_size: false, include_total_storage_size: false };

type CallRequest = Readonly<{ project_id: string; id: string } & Partial<typeof nothing>>;

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
