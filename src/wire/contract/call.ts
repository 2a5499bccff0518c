/** Describes the operation that reads a traced call (interface 4.3). */
import * as z from "zod/mini";
import { endpoint } from "./endpoint.ts";
import { readCallReply } from "./replies.ts";

const isIncluded = z._default(z.boolean(), false);

export const CallRequest = z.strictObject({
  project_id: z.string(),
  id: z.string(),
  include_costs: isIncluded,
  include_storage_size: isIncluded,
  include_total_storage_size: isIncluded,
});
export type CallRequest = z.infer<typeof CallRequest>;

/** Assumed (interface 4.3): `call` is null if the call does not exist. */
export const readCall = endpoint({
  name: "read the call",
  method: "POST",
  host: "base",
  path: "/call/read",
  use: "calls",
  repeatable: true,
  toJson: (request: z.input<typeof CallRequest>) => CallRequest.parse(request),
  reply: readCallReply,
});
