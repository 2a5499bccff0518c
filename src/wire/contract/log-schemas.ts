/** Describes the bodies of log requests (interface 2.1) and validation errors (interface 7). */
import * as z from "zod/mini";
import { isDateTime } from "../../text/units.ts";

const text = z.nullish(z.string());
const freeObject = z.nullish(z.record(z.string(), z.unknown()));

const checked = (expected: "number" | "int", isValid: (value: unknown) => boolean) =>
  z.custom<number>().check(({ value, issues }) => {
    if (!isValid(value)) issues.push({ code: "invalid_type", expected, input: value });
  });

/** Accepts infinity, the value of `1e400` in JavaScript. */
const JsonNumber = checked("number", (value) => typeof value === "number");

/** Accepts integers above 2^53. */
const JsonInteger = checked("int", Number.isInteger);

const DateTime = z.custom<string>().check(({ value, issues }) => {
  if (typeof value !== "string") issues.push({ code: "invalid_type", expected: "string", input: value });
  else if (!isDateTime(value)) issues.push({ code: "custom", message: "must be an ISO 8601 date-time", input: value });
});

const list = z.array(z.unknown());

/** Assumed (interface 2.1): all fields except `function` are optional. */
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

/** Assumed (interface 2.1): all fields except `messages_and_choices` and `reward` are optional. */
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
export const TrajectoryGroup = z.looseObject({ trajectories: z.array(Trajectory) });
export type TrajectoryGroup = z.infer<typeof TrajectoryGroup>;

/** Assumed (interface 2.1): both fields are required. */
export const LogRequest = z.looseObject({ split: z.string(), trajectory_groups: z.array(TrajectoryGroup) });

/** Assumed: `loc` can contain array positions, although interface 7 names only strings. */
export const ValidationItem = z.looseObject({
  loc: z.array(z.union([z.string(), z.number()])),
  msg: z.string(),
  type: z.string(),
  input: z.optional(z.unknown()),
  ctx: z.optional(z.record(z.string(), z.unknown())),
});
export type ValidationItem = z.infer<typeof ValidationItem>;
export type Issue = z.core.$ZodIssue;
export const ValidationError = z.looseObject({ detail: z.array(ValidationItem) });
