/** Schemas of log requests (interface 2.1 and 4.1) and of validation errors (interface 7). */
import * as z from "zod/mini";
import { isDateTime } from "./date-time.ts";
import { endpoint } from "./endpoint.ts";
import { freeObject, text } from "./replies.ts";

const checked = (expected: "number" | "int", isValid: (value: unknown) => boolean) =>
  z.custom<number>().check(({ value, issues }) => {
    if (!isValid(value)) issues.push({ code: "invalid_type", expected, input: value });
  });

/** The number may be infinite, such as `1e400`. */
const JsonNumber = checked("number", (value) => typeof value === "number");

/** The integer may exceed 2^53. */
const JsonInteger = checked("int", Number.isInteger);

const DateTime = z.custom<string>().check(({ value, issues }) => {
  if (typeof value !== "string") issues.push({ code: "invalid_type", expected: "string", input: value });
  else if (!isDateTime(value)) issues.push({ code: "custom", message: "must be an ISO 8601 date-time", input: value });
});

const list = z.array(z.unknown());

/** Assumed (interface 2.1): fields other than `function` may be absent. */
const Tool = z.looseObject({
  type: text,
  function: z.looseObject({
    name: text,
    description: text,
    parameters: freeObject,
    strict: z.nullish(z.boolean()),
  }),
});

export const maxFaults = 100;

/** Stops at `maxFaults`, because a body can have millions of faults. */
const Tools = z.custom<readonly z.infer<typeof Tool>[]>().check(({ value, issues }) => {
  if (!Array.isArray(value)) issues.push({ code: "invalid_type", expected: "array", input: value });
  else
    for (const [at, tool] of value.entries()) {
      for (const issue of z.safeParse(Tool, tool).error?.issues ?? [])
        issues.push({ input: tool, ...issue, path: [at, ...issue.path] });
      if (issues.length >= maxFaults) return;
    }
});

/** Interface 2.1. Assumed: fields other than messages and reward may be absent or null. */
export const Trajectory = z.looseObject({
  messages_and_choices: list,
  tools: z.nullish(Tools),
  additional_histories: z.nullish(list),
  reward: JsonNumber,
  initial_policy_version: z.nullish(JsonInteger),
  final_policy_version: z.nullish(JsonInteger),
  metrics: freeObject,
  metadata: freeObject,
  logs: z.nullish(list),
  start_time: z.nullish(DateTime),
});
export type Trajectory = z.infer<typeof Trajectory>;
/** The trajectories of one prompt (interface 2.1). */
export const TrajectoryGroup = z.looseObject({ trajectories: z.array(Trajectory) });
export type TrajectoryGroup = z.infer<typeof TrajectoryGroup>;

/** Interface 2.1. Assumed: both fields are required. */
export const LogRequest = z.looseObject({ split: z.string(), trajectory_groups: z.array(TrajectoryGroup) });

/** Interface 4.1. */
export const logTrajectories = endpoint({
  name: "log trajectories",
  method: "POST",
  host: "log",
  path: "/v1/preview/models/{model_id}/log",
  use: "log",
  repeatable: false,
  parameters: z.object({ model_id: z.string().check(z.minLength(1)) }),
  body: LogRequest,
  // Assumed: a success status is enough, with any body.
  reply: () => ({ value: undefined }),
});

/** Assumed: `loc` mixes strings and array positions, although interface 7 says strings. */
export const ValidationItem = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
  input: z.optional(z.unknown()),
  ctx: z.optional(z.record(z.string(), z.unknown())),
});
export type ValidationItem = z.infer<typeof ValidationItem>;
export type Issue = z.core.$ZodIssue;
/** Interface 7. */
export const ValidationError = z.looseObject({ detail: z.array(ValidationItem) });
