/** Recognizes files of other tools that rollcall does not convert. */
import type { Value } from "../messages/value.ts";

interface UnknownFormat {
  /** The plural name, and the reason. */
  name: string;
  recognizes(record: Value): boolean | undefined;
}

const nothingSampled = "because they record no reward, and not what the model sampled";
const spansOnly = "because their messages and scores have no fixed place";

const isText = (record: Value, ...keys: readonly string[]) => keys.every((key) => record.get(key)?.isText);

const codexTypes = /^(?:session_meta|response_item|event_msg|turn_context|compacted)$/;
const claudeTypes = /^(?:user|assistant|system|attachment|summary|progress|file-history-snapshot|queue-operation)$/;

const unknownFormats: readonly UnknownFormat[] = [
  {
    name: `sessions of Codex, ${nothingSampled}`,
    recognizes: (record) =>
      (codexTypes.test(record.textAt("type") ?? "") && record.get("payload")?.isObject) ||
      (isText(record, "id", "timestamp") && record.hasAny("instructions", "git") && !record.has("messages")),
  },
  {
    name: `sessions of Claude Code, ${nothingSampled}`,
    recognizes: (record) =>
      claudeTypes.test(record.textAt("type") ?? "") &&
      (record.hasAny("sessionId", "session_id", "leafUuid", "snapshot", "parentUuid") || record.has("uuid")),
  },
  {
    name: `sessions of Gemini CLI, ${nothingSampled}`,
    recognizes: (record) => isText(record, "sessionId") && record.hasAny("projectHash", "messageId", "parts"),
  },
  {
    name: `sessions of opencode, ${nothingSampled}`,
    recognizes: (record) =>
      record.get("messages", 0, "parts")?.isList ||
      (record.get("info")?.isObject && record.get("parts")?.isList) ||
      isText(record, "sessionID"),
  },
  {
    name: `sessions of goose, ${nothingSampled}`,
    recognizes: (record) => record.has("working_dir") && record.hasAny("description", "message_count", "conversation"),
  },
  {
    name: "outputs of OpenHands, because their history has events instead of the model's messages",
    recognizes: (record) =>
      (record.hasAny("instance_id", "issue") &&
        record.get("history")?.isList &&
        record.hasAny("test_result", "metrics", "metadata", "git_patch")) ||
      (isText(record, "timestamp", "source") &&
        (record.hasAny("action", "observation") || record.textAt("kind")?.endsWith("Event"))),
  },
  {
    name: "demonstrations of SWE-agent, because no model sampled them",
    recognizes: (record) => record.has("history", 0, "message_type") && !record.has("trajectory"),
  },
  {
    name: "steps of OSWorld, because their screenshots and prompts are not in the file",
    recognizes: (record) => record.has("step_num") && record.hasAny("action_timestamp", "screenshot_file"),
  },
  {
    name: `runs of LangSmith, ${spansOnly}`,
    recognizes: (record) =>
      isText(record, "run_type") && record.hasAny("trace_id", "dotted_order", "inputs", "outputs", "child_runs"),
  },
  {
    name: `traces of Langfuse, ${spansOnly}`,
    recognizes: (record) =>
      (record.hasAny("traceId", "trace_id") &&
        /^(?:GENERATION|SPAN|EVENT|AGENT|TOOL|CHAIN)$/.test(record.textAt("type") ?? "")) ||
      record.get("observations")?.isList ||
      (record.hasAny("htmlPath", "sessionId", "bookmarked") && record.hasAny("input", "output")),
  },
  {
    name: `traces of OpenTelemetry, ${spansOnly}`,
    recognizes: (record) =>
      record.hasAny("resourceSpans", "resource_spans") ||
      (record.hasAny("span_id", "spanId", "context") &&
        record.hasAny("span_kind", "parent_id", "parentSpanId", "attributes")),
  },
  {
    name: "episodes of rLLM, because their steps repeat the conversation in several forms",
    recognizes: (record) => {
      const [first] = record.items("trajectories");
      return (first ?? record).get("steps")?.isList && !record.has("schema_version");
    },
  },
];

/** Returns the name of the first format that recognizes one of the records. */
export const findUnknownFormat = (records: readonly Value[]) => {
  const elements = records.flatMap((record) => (record.isList ? record.items().slice(0, 1) : record));
  return unknownFormats.find(({ recognizes }) => elements.some((record) => record.isObject && recognizes(record)))
    ?.name;
};
