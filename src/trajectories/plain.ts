/** Tells in one pass that there is nothing to say about a group or a trajectory: no error, no warning, no name to decode. */
import type { Trajectory, TrajectoryGroup } from "../contract/log.ts";
import { isCalculated } from "./metrics.ts";
import { roles } from "./roles.ts";
import { hasSignals } from "./signals.ts";
import { isObject, type JsonObject } from "./values.ts";

/** Whether a group with trajectories holds the interface's types and nothing unusual. */
export const isPlainGroup = (value: JsonObject): value is TrajectoryGroup => {
  const { trajectories } = value;
  return Array.isArray(trajectories) && trajectories.length > 0 && trajectories.every(isPlainTrajectory);
};

/** Whether a trajectory holds the interface's types and nothing unusual. */
export const isPlainTrajectory = (value: unknown): value is Trajectory => hasPlainFields(value) && !hasSignals(value);

const hasPlainFields = (value: unknown): value is Trajectory =>
  isObject(value) &&
  Array.isArray(value.messages_and_choices) &&
  value.messages_and_choices.every(isPlainMessageOrChoice) &&
  Number.isFinite(value.reward) &&
  isAbsentOr(value.tools, isListOf(isPlainTool)) &&
  isAbsentOr(value.additional_histories, isListOf(isPlainHistory)) &&
  isAbsentOr(value.initial_policy_version, Number.isInteger) &&
  isAbsentOr(value.final_policy_version, Number.isInteger) &&
  isAbsentOr(value.metrics, isPlainMetrics) &&
  isAbsentOr(value.metadata, isPlainMetadata) &&
  isAbsentOr(value.logs, isListOf(isString)) &&
  isAbsentOr(value.start_time, isString);

type Holds = (value: unknown) => boolean;

const isAbsentOr = (value: unknown, holds: Holds): boolean => value === undefined || holds(value);

const isListOf =
  (holds: Holds): Holds =>
  (value) =>
    Array.isArray(value) && value.every(holds);

const isString: Holds = (value) => typeof value === "string";

const isNullish: Holds = (value) => value === undefined || value === null;

const isPlainMessageOrChoice: Holds = (value) => {
  if (!isObject(value)) return false;
  if (value.role !== undefined) return value.tool_calls !== null && isPlainMessage(value);
  return isObject(value.message) && isPlainMessage(value.message);
};

const isPlainMessage = ({ role, content, tool_calls: calls, tool_call_id: id }: JsonObject): boolean =>
  typeof role === "string" &&
  roles.has(role) &&
  (isNullish(content) || typeof content === "string" || Array.isArray(content)) &&
  (role !== "tool" || typeof id === "string") &&
  (isNullish(calls) || Array.isArray(calls));

const isPlainHistory: Holds = (value) =>
  isObject(value) &&
  Array.isArray(value.messages_and_choices) &&
  value.messages_and_choices.every(isPlainMessageOrChoice);

const isPlainTool: Holds = (value) => {
  if (!isObject(value) || typeof value.type !== "string" || !isObject(value.function)) return false;
  const { name, description, parameters, strict } = value.function;
  return (
    typeof name === "string" &&
    (isNullish(description) || typeof description === "string") &&
    (isNullish(parameters) || isObject(parameters)) &&
    (isNullish(strict) || typeof strict === "boolean")
  );
};

/** Names of metrics are shown, so those that are not ASCII are decoded before they are counted. */
const isPlainMetrics: Holds = (value) => {
  if (!isObject(value)) return false;
  for (const key of Object.keys(value)) {
    const metric = value[key];
    if (typeof metric === "number" ? !Number.isFinite(metric) : typeof metric !== "boolean") return false;
    if (isCalculated(key) || !isAscii(key)) return false;
  }
  return true;
};

const isPlainMetadata: Holds = (value) => {
  if (!isObject(value)) return false;
  for (const key of Object.keys(value)) if (typeof value[key] === "object" && value[key] !== null) return false;
  return true;
};

/** Whether text has the same characters in every encoding that bytes may be read in. */
export const isAscii = (text: string): boolean => {
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) > 0x7f) return false;
  return true;
};
