/** Looks inside a trajectory, at what the interface leaves open and deployed services or their metrics don't. */

import type { Trajectory } from "../../contract/log.ts";
import { isChoice } from "../../groups/metrics/facts.ts";
import { isCalculated } from "../../groups/metrics/metrics.ts";
import { isObject, type JsonObject } from "../../json/walk.ts";
import type { Path } from "../rules/places.ts";
import { kindOf, type Report, shortName } from "../rules/values.ts";
import { otherShapeOf, roles, suggestedRole } from "./roles.ts";
import { inspectSignals } from "./signal-checks.ts";

/** Fields that may be absent. Assumed: services differ in whether they may also be null. */
const optionalFields = [
  "tools",
  "additional_histories",
  "initial_policy_version",
  "final_policy_version",
  "metrics",
  "metadata",
  "logs",
  "start_time",
] as const;

/** Keys by which trajectories tell that they failed, which only a group's are counted by. */
const exceptionKeys = ["exception", "exceptions"] as const;

/** Whether a value says that something failed: null, an empty text and an empty list don't. */
const isException = (value: unknown): boolean =>
  typeof value === "string" || Array.isArray(value) ? value.length > 0 : isObject(value) || value === true;

/** Reports what is unusual inside a trajectory that has the interface's types. */
export const inspectTrajectory = (trajectory: Trajectory, report: Report): void => {
  for (const field of optionalFields) if (trajectory[field] === null) report("null-field", { field }, [field]);
  if (!Number.isFinite(trajectory.reward)) report("reward-not-finite", undefined, ["reward"]);
  for (const key of exceptionKeys) {
    if (isException(trajectory[key])) report("exception-in-trajectory", { key }, [key]);
  }
  for (const [at, tool] of (trajectory.tools ?? []).entries()) {
    if (typeof tool.type !== "string") report("tool-incomplete", { field: "type" }, ["tools", at]);
    if (typeof tool.function.name !== "string") {
      report("tool-incomplete", { field: "function.name" }, ["tools", at, "function"]);
    }
  }
  inspectMessages(trajectory.messages_and_choices, (rule, data, path) =>
    report(rule, data, ["messages_and_choices", ...path]),
  );
  for (const [at, history] of (trajectory.additional_histories ?? []).entries()) {
    if (isObject(history) && Array.isArray(history.messages_and_choices)) {
      inspectMessages(history.messages_and_choices, (rule, data, path) =>
        report(rule, data, ["additional_histories", at, "messages_and_choices", ...path]),
      );
    } else {
      report("history-type", { found: kindOf(history) }, ["additional_histories", at]);
    }
  }
  inspectMetrics(trajectory.metrics ?? {}, report);
  const metadata = trajectory.metadata ?? {};
  for (const key of Object.keys(metadata)) {
    const value = metadata[key];
    if (typeof value === "object" && value !== null) {
      report("metadata-nested", { key: shortName(key), found: kindOf(value) }, ["metadata", key]);
    }
  }
  for (const [at, log] of (trajectory.logs ?? []).entries()) {
    if (typeof log !== "string") report("log-type", { found: kindOf(log) }, ["logs", at]);
  }
  inspectSignals(trajectory, report);
};

const inspectMetrics = (metrics: Readonly<Record<string, unknown>>, report: Report): void => {
  for (const key of Object.keys(metrics)) {
    const value = metrics[key];
    const path = ["metrics", key];
    if (typeof value !== "number" && typeof value !== "boolean") {
      report("metric-type", { key: shortName(key), found: kindOf(value) }, path);
    } else if (isCalculated(key)) {
      report("metric-name", { key }, path);
    } else if (typeof value === "number" && !Number.isFinite(value)) {
      report("metric-not-finite", { key: shortName(key) }, path);
    }
  }
};

const inspectMessages = (messages: readonly unknown[], report: Report): void => {
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at];
    if (!isObject(message)) {
      report("message-type", { found: kindOf(message) }, [at]);
    } else if (isChoice(message)) {
      inspectMessage(message.message, { inChoice: true, path: [at, "message"], report });
    } else {
      inspectMessage(message, { inChoice: false, path: [at], report });
    }
  }
};

const inspectMessage = (
  message: JsonObject,
  { inChoice, path, report }: { readonly inChoice: boolean; readonly path: Path; readonly report: Report },
): void => {
  const { role, content, tool_calls: calls } = message;
  if (role === undefined) {
    report("role-missing", { instead: () => otherShapeOf(message) }, path);
  } else if (typeof role !== "string" || !roles.has(role)) {
    const word = typeof role === "string" ? shortName(role) : kindOf(role);
    report("role-unknown", { role: word, suggestion: () => suggestedRole(role) }, [...path, "role"]);
  }
  if (content !== undefined && content !== null && typeof content !== "string" && !Array.isArray(content)) {
    report("content-type", { found: kindOf(content) }, [...path, "content"]);
  }
  if (role === "tool" && typeof message.tool_call_id !== "string") report("tool-call-id-missing", undefined, path);
  if (calls === null && !inChoice) report("tool-calls-null", undefined, [...path, "tool_calls"]);
  if (calls !== undefined && calls !== null && !Array.isArray(calls)) {
    report("tool-calls-type", { found: kindOf(calls) }, [...path, "tool_calls"]);
  }
};
