/** Models that can be called (interface 2.3 and 4.2). */
import * as z from "zod/mini";
import { endpoint } from "./endpoint.ts";
import { describe, integer, readListReply, text } from "./replies.ts";

/** Interface 2.3. Assumed: `created` is Unix seconds, 0 if unknown. */
export const InferenceModel = z.looseObject({
  id: text,
  object: describe('"model"', text),
  created: describe("Unix seconds", integer),
  owned_by: text,
  root: text,
});

export const listModels = endpoint({
  name: "list models",
  method: "GET",
  host: "inference",
  path: "/v1/models",
  use: "inference",
  repeatable: true,
  parameters: z.object({}),
  body: z.undefined(),
  reply: readListReply,
});
