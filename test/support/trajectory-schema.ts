/** Describes trajectories and groups (interface 2.1) with zod, as a reference for the checker. */
import * as z from "zod/mini";
import { isDateTime } from "../../src/text/units.ts";

const text = z.nullish(z.string());
const freeObject = z.nullish(z.record(z.string(), z.unknown()));
const list = z.array(z.unknown());

/** Accepts infinity, the value of `1e400` in JavaScript. */
const number = z.custom<number>((value) => typeof value === "number");
/** Accepts integers above 2^53. */
const integer = z.nullish(z.custom<number>(Number.isInteger));
const dateTime = z.nullish(z.custom<string>((value) => typeof value === "string" && isDateTime(value)));

const Tool = z.looseObject({
  type: text,
  function: z.looseObject({
    name: text,
    description: text,
    parameters: freeObject,
    strict: z.nullish(z.boolean()),
  }),
});

export const Trajectory = z.looseObject({
  messages_and_choices: list,
  tools: z.nullish(z.array(Tool)),
  additional_histories: z.nullish(list),
  reward: number,
  initial_policy_version: integer,
  final_policy_version: integer,
  metrics: freeObject,
  metadata: freeObject,
  logs: z.nullish(list),
  start_time: dateTime,
});
export type Trajectory = z.infer<typeof Trajectory>;
export const TrajectoryGroup = z.looseObject({ trajectories: z.array(Trajectory) });
export type TrajectoryGroup = z.infer<typeof TrajectoryGroup>;
