/** Describes the operation that logs trajectories (interface 4.1). */
import { endpoint } from "./endpoint.ts";

export const logTrajectories = endpoint({
  name: "log trajectories",
  method: "POST",
  host: "log",
  path: "/v1/preview/models/{model_id}/log",
  use: "log",
  repeatable: false,
  // Assumed: with a success status, any body is valid.
  reply: () => ({ value: undefined }),
});
