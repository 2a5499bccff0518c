/** Describes traced calls (interface 2.4) and the read operation (interface 4.3). */
import * as z from "zod/mini";
import { describe } from "../schemas.ts";
import { endpoint } from "./endpoint.ts";
import { freeObject, integer, objectReader, text } from "./replies.ts";

const dateTime = describe("date and time, ISO 8601", text);

/** Assumed (interface 2.4): the prefix `vendor` varies between services (setting `vendor_prefix`). */
export const Call = z.looseObject({
  id: text,
  project_id: text,
  op_name: text,
  trace_id: text,
  started_at: dateTime,
  attributes: freeObject,
  inputs: freeObject,
  display_name: text,
  parent_id: text,
  thread_id: text,
  turn_id: text,
  ended_at: dateTime,
  exception: text,
  output: z.optional(z.unknown()),
  summary: freeObject,
  vendor_user_id: text,
  vendor_username: text,
  vendor_run_id: text,
  vendor_run_step: integer,
  vendor_run_step_end: integer,
  deleted_at: dateTime,
  storage_size_bytes: integer,
  total_storage_size_bytes: integer,
});

const isIncluded = z._default(z.boolean(), false);

/** Assumed (interface 4.3): `call` is null if the call does not exist. */
export const readCall = endpoint({
  name: "read the call",
  method: "POST",
  host: "base",
  path: "/call/read",
  use: "calls",
  repeatable: true,
  parameters: z.object({}),
  body: z.strictObject({
    project_id: z.string(),
    id: z.string(),
    include_costs: isIncluded,
    include_storage_size: isIncluded,
    include_total_storage_size: isIncluded,
  }),
  reply: objectReader("call"),
});
