/** Recognizes files of other tools that rollcall does not convert. */
import type { Value } from "../messages/value.ts";

const nothingSampled = "because they record no reward, and not what the model sampled";
const spansOnly = "because their messages and scores have no fixed place";

const splitColumns = "jq -c '. as $all | range(first(.[]) | length) as $at | $all | map_values(.[$at])' FILE";

const isText = (record: Value, ...keys: readonly string[]) => keys.every((key) => record.get(key)?.isText);

/** These record no reward. */
const unratedFormats = /Codex|Claude Code|OpenHands|LangSmith|Langfuse|batch API/;
const isUnrated = (record: Value) => !["reward", "score"].some((key) => record.get(key)?.canBeMetric);

/** Only Langfuse's traces have these keys. */
const traceKeys = ["htmlPath", "bookmarked", "projectId", "totalCost"];

const codexTypes = /^(?:session_meta|response_item|event_msg|turn_context|compacted)$/;
const claudeTypes = /^(?:user|assistant|system|attachment|summary|progress|file-history-snapshot|queue-operation)$/;

/** The keys of an episode without trajectories, which a group of rollcall does not have. */
const episodeKeys = ["episode_id", "task_hash", "termination_reason", "eval_idx"];

const promptColumns = ["prompt", "prompts", "question", "query", "messages", "conversations"];

/** Maps the plural name with the reason to a test for one of the records. */
const unknownFormats: Readonly<Record<string, (record: Value) => boolean | undefined>> = {
  "dumps of ROLL's agentic pipeline, because their messages and rewards are JSON texts in columns": (record) =>
    record.get("trajectory_data")?.isList,
  [`lines of columns (ms-swift, ROLL), because each value is a list with an element for each rollout (write a row for each: ${splitColumns})`]:
    (record) => {
      const [first, ...more] = record.members().map(([, value]) => value.items().length);
      // The lists of an episode have an element for each step.
      const prompts = promptColumns.map((key) => record.get(key, 0));
      const hasPrompts = prompts.some((prompt) => prompt?.isText || prompt?.isList);
      return hasPrompts && more.length > 0 && more.every((length) => length === first);
    },
  "rows of Alpaca, because a template joins `instruction` and `input` (write prompts, as rows of TRL or of messages)": (
    record,
  ) => isText(record, "instruction", "output"),
  "logs of Inspect that only have a header, because they have no samples (pass the log's .eval file)": (record) =>
    record.get("eval", "task")?.isText === true && record.has("status") && !record.has("samples"),
  "output of OpenAI's batch API, whose prompts are in its input (join both by custom_id to rows of chat messages)": (
    record,
  ) => isText(record, "custom_id") && ["response", "error"].some((key) => record.get(key)?.isObject),
  [`sessions of Codex, ${nothingSampled}`]: (record) =>
    (codexTypes.test(record.textAt("type") ?? "") && record.get("payload")?.isObject) ||
    (isText(record, "id", "timestamp") &&
      record.get("git")?.isObject &&
      !record.hasAny("messages", "input", "output")) ||
    record.textAt("record_type") === "state",
  [`sessions of Claude Code, ${nothingSampled}`]: (record) =>
    claudeTypes.test(record.textAt("type") ?? "") &&
    (record.hasAny("sessionId", "session_id", "leafUuid", "snapshot", "parentUuid") || record.has("uuid")),
  "outputs of OpenHands, because their history has events instead of the model's messages": (record) =>
    (record.hasAny("instance_id", "issue") &&
      record.get("history")?.isList &&
      record.hasAny("test_result", "metrics", "metadata", "git_patch")) ||
    (isText(record, "timestamp", "source") &&
      (record.hasAny("action", "observation") || record.textAt("kind")?.endsWith("Event"))),
  "demonstrations of SWE-agent, because no model sampled them": (record) =>
    record.has("history", 0, "message_type") && !record.has("trajectory"),
  [`runs of LangSmith, ${spansOnly}`]: (record) =>
    isText(record, "run_type") && record.hasAny("trace_id", "dotted_order", "inputs", "outputs", "child_runs"),
  [`traces of Langfuse, ${spansOnly}`]: (record) =>
    (record.hasAny("traceId", "trace_id") &&
      /^(?:GENERATION|SPAN|EVENT|AGENT|TOOL|CHAIN)$/.test(record.textAt("type") ?? "")) ||
    record.has("observations", 0, "traceId") ||
    (record.hasAny(...traceKeys) && record.hasAny("input", "output", "observations")),
  "preference rows (`chosen` and `rejected`), because they compare two answers instead of rating each": (record) =>
    record.has("chosen") && record.has("rejected"),
  "details of lighteval, because they are one row for each answer of a metric, without the turns": (record) =>
    record.get("doc")?.isObject && record.get("model_response")?.isObject && record.has("metric"),
  "results of letta-evals, because their trajectories have messages of Letta instead of the model's turns": (record) =>
    record.hasAny("sample_id", "sample") &&
    record.hasAny("grades", "grade", "submissions") &&
    record.hasAny("trajectory", "agent_id"),
  "rollouts of open-instruct, because they contain only token ids": (record) =>
    record.get("prompt_tokens")?.isList && record.get("response_tokens")?.isList,
  "summaries of the Tinker cookbook, because they have no messages": (record) =>
    record.has("group_idx") && record.has("traj_idx") && record.hasAny("steps", "total_reward"),
  "episodes of rLLM, because their steps repeat the conversation in several forms": (record) => {
    const [first] = record.items("trajectories");
    const isEmpty = !first && record.has("trajectories") && record.hasAny(...episodeKeys);
    return isEmpty || (first ?? record).get("steps", 0)?.hasAny("chat_completions", "model_response");
  },
};

/** The names for the documentation, with the reasons. */
export const unknownFormatNames = Object.keys(unknownFormats);

/** Exports and replies of APIs have their records in these lists. */
const listKeys = ["runs", "traces", "data"];

/** Returns the name of the first format that recognizes one of the records. */
export const findUnknownFormat = (records: readonly Value[]) => {
  const elements = records.flatMap((record) =>
    record.isList ? (record.get(0) ?? []) : [record, ...listKeys.flatMap((key) => record.get(key, 0) ?? [])],
  );
  const objects = elements.filter(({ isObject }) => isObject);
  const canBe = (name: string, record: Value) => !unratedFormats.test(name) || isUnrated(record);
  return unknownFormatNames.find((name) =>
    objects.some((record) => canBe(name, record) && unknownFormats[name]?.(record)),
  );
};
