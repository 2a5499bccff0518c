/** Decides the finish reason of each sampled turn from the statements of its record. */
import { type Json, literal } from "../json/output-json.ts";
import { openKeyFacts, type Value } from "../json/value.ts";
import { toSnakeCase } from "../text/nearest.ts";

/** Receives the values that a conversion derives. */
export interface Notes {
  note(text: string): void;
}

type Position = Readonly<{ at: number; count: number }>;

export type SampledRecord = Readonly<{
  /** States how the last turn ended, or has lists with an element for each turn or completion. */
  record: Value;
  completion?: Position | undefined;
}>;

/** The reasons that a turn itself states. The first one decides. */
export type StatedReasons = readonly (Value | undefined)[];

type TurnFacts = Readonly<{
  callsTools: boolean;
  stated?: StatedReasons;
  /** The message of the turn, which can also state a reason. */
  message?: Value;
}>;

type Reason = Readonly<{ name: string; value: Value }>;

/** Returns a function that decides the finish reason of the sampled turn with an index. */
export const openFinish = (run: Notes, { record, completion }: SampledRecord, turns: number) => {
  const statements = findStatements(record);
  return (at: number, turn: TurnFacts) => {
    const ofRecord = statements.flatMap(({ value, read }) => {
      const own = completion ? pickElement(value, completion) : value;
      const isLast = at === turns - 1;
      const picked =
        own && (pickElement(own, { at, count: turns }, isLast) ?? (isLast ? own.items().at(-1) : undefined));
      return read(picked, run) ?? [];
    });
    return decideFinish(run, turn, ofRecord);
  };
};

/** Decides the finish reason of a turn. Calls under a key that rollcall does not read can have ended it. */
export const decideFinish = (run: Notes, turn: TurnFacts, ofRecord: readonly Reason[] = []): Json =>
  chooseReason(run, [...listReasons(run, turn), ...ofRecord]) ??
  (hasUnreadCalls(turn) ? null : deriveFinish(run, turn.callsTools));

const hasUnreadCalls = ({ callsTools, message }: TurnFacts) =>
  !callsTools && message?.facts(callKeys).some((key) => !parseText(message.require(key)).isBlank);

const callKey = /(?:^|_)(?:tool|function)_(?:calls?|invocations?|uses?)$/;
const callKeys = openKeyFacts((keys) => keys.filter((key) => callKey.test(toSnakeCase(key))));

const listReasons = (run: Notes, { stated = [], message }: TurnFacts) => [
  ...stated.flatMap((value) => readReason(value) ?? []),
  ...(message ? findStatements(message) : []).flatMap(({ value, read }) => read(value, run) ?? []),
];

/** For turns whose format never records a finish reason. */
export const deriveFinish = (run: Notes, callsTools: boolean) => {
  run.note("derived the missing finish_reason, `tool_calls` or `stop`");
  return callsTools ? derivedCalls : derivedStop;
};

const derivedCalls = literal("tool_calls");
const derivedStop = literal("stop");

export const isDerivedFinish = (reason: Json | undefined) => reason === derivedCalls || reason === derivedStop;

/** A cut answer overrides a complete one, because a trainer can cut an answer that the model completed. */
const chooseReason = (run: Notes, reasons: readonly Reason[]): Json | undefined => {
  const [first] = reasons;
  const cut = reasons.find(({ name }) => name === "length");
  if (!first) return undefined;
  if (!cut || cut === first || !["stop", "tool_calls"].includes(first.name)) {
    const { name, value } = first;
    return value.text === name ? value : literal(name, value);
  }
  run.note(`used the finish_reason \`length\` for turns that are recorded as truncated, not \`${first.name}\``);
  return literal(cut.name, cut.value, first.value);
};

type Statement = Readonly<{ value: Value; read: (value: Value | undefined, run: Notes) => Reason | undefined }>;

/** Objects in which APIs and frameworks state the reason. */
const holderKeys = [
  ...["metadata", "meta_info", "response_metadata", "choices", "response"],
  ...["info", "extra_info", "execution_metadata", "step_result"],
];

/** Matches names of an end, such as `status` and `stopping_reason`. */
const endPattern =
  /^(?!.*reasoning)(?:.*_)?(?:finish|stop|end|status|terminat|reason|(?:is_)?trunc|overlong|clipp|hit_|exceed|incomplete|unfinished|complete|eos)|_exceed|Reason$/i;
/** Matches names of flags that are true for a cut answer, and of flags that are false for one. */
const cutPattern = /trunc|overlong|clipp|hit_(?:max|length)|length_exceed|incomplete|unfinished/i;
const completePattern = /^(?!(?:task|game|goal|level|episode)_)(?:.*_)?(?:complete|finished|eos)$/i;

/** Matches names of flags that are true for an answer that was cut off. */
const cutFlag =
  /^(?:is_?|was_?)?(?:(?:response|completion|output|answer|generation)s?_)?(?:is_|was_)?(?:truncated|Truncated)$/;

/** The keys that can state the reason, in the order of the statements. */
const statementKeys = openKeyFacts((keys) => {
  const reasons = keys.filter((key) => /^(?:finish_reasons?|finishReason|done_reason)$/.test(key));
  const stops = keys.filter((key) => /^(?:stop_reasons?|stopReason)$/.test(key));
  const flags = keys.filter((key) => cutFlag.test(key));
  const known = new Set([...reasons, ...stops, ...flags, "incomplete_details"]);
  return {
    ...{ reasons, stops, flags },
    ends: keys.filter((key) => endPattern.test(key) && !known.has(key)),
    hasHolders: keys.some((key) => key === "incomplete_details" || holderKeys.includes(key)),
  };
});

/** Reasons are first, then tokens that ended the answer, flags, and statements of inner objects. */
const findStatements = (record: Value): readonly Statement[] => {
  const { reasons, stops, flags, ends, hasHolders } = record.facts(statementKeys);
  if (!hasHolders && reasons.length + stops.length + flags.length + ends.length === 0) return [];
  const listed = (keys: readonly string[], read: Statement["read"]) =>
    keys.map((key) => ({ value: parseText(record.require(key)), read }));
  const incomplete = record.get("incomplete_details", "reason");
  // The metadata of a Responses object is its caller's, such as the reason of an agent loop.
  const isResponse = record.textAt("object") === "response";
  const held = holderKeys.flatMap((key) => (isResponse ? [] : (record.get(key) ?? []))).map(parseText);
  return [
    ...listed(reasons, readReason),
    ...listed(stops, readStop),
    ...(incomplete ? [{ value: incomplete, read: readReason }] : []),
    // The details of an incomplete response are more specific, so these are first.
    ...listed(
      isResponse && record.has("status") && record.textAt("status") !== "completed" ? ["status"] : [],
      readReason,
    ),
    // verifiers v0 also sets is_truncated if the next prompt is too long.
    ...(record.textAt("stop_condition") === "prompt_too_long" ? [] : flags).flatMap((key) =>
      listed([key], (value, run) => readFlag(value, run, key)),
    ),
    ...ends.flatMap((key) => listed([key], (value, run) => readEnd(value, run, key))),
    ...held.flatMap((value) => findStatements(value.isList ? (value.get(0) ?? value) : value)),
  ];
};

const parseText = (value: Value) => {
  const inner = value.embeddedJson;
  return inner?.isList || inner?.isObject ? inner : value;
};

const pickElement = (value: Value, { at, count }: Position, takesScalar = true) => {
  if (!value.isList) return takesScalar ? value : undefined;
  const items = value.items();
  return items.length === count ? items[at] : undefined;
};

const readReason = (given: Value | undefined): Reason | undefined => {
  // SGLang writes objects such as {"type": "length", "length": 32}.
  const value = given?.isObject ? given.get("type") : given;
  const { text = "" } = value ?? {};
  const spelling = text
    .replace(/^\w*FinishReason\./, "")
    .replaceAll(/([a-z])([A-Z])/g, "$1_$2")
    .replaceAll(/[- ]/g, "_")
    .toLowerCase();
  const name = namesBySpelling.get(spelling) ?? text;
  return !value || name === "" ? undefined : { name, value };
};

/** In replies of vLLM, `stop_reason` is the token or the text that ended the answer. */
const readStop = (value: Value | undefined): Reason | undefined =>
  value && (value.isNumber || /[^\w -]/.test(value.text ?? "")) ? { name: "stop", value } : readReason(value);

const readFlag = (value: Value | undefined, run: Notes, key: string): Reason | undefined => {
  if (!value) return undefined;
  const isCut = (value.number ?? 0) > 0 || /^(?:true|t|yes|y|1)$/i.test(value.plain);
  if (!isCut && !(value.isFlat && value.isBlank))
    run.note(`\`${key}\` has values other than true and false, which rollcall does not read`);
  return isCut ? { name: "length", value } : undefined;
};

/** Longer texts, such as messages, are no reasons. */
const maxReasonLength = 64;

/** Of a value under another key, only the words for a cut answer are known. */
const readEnd = (value: Value | undefined, run: Notes, key: string): Reason | undefined => {
  if (!value) return undefined;
  const isFlag = value.canBeMetric && !value.isNumber;
  if (isFlag && (value.isTrue ? cutPattern : completePattern).test(key))
    run.note(`\`${key}\` can say that an answer was cut, which rollcall does not read`);
  const reason = value.isText && value.raw.length <= maxReasonLength ? readReason(value) : undefined;
  return reason?.name === "length" ? reason : undefined;
};

/** Reasons without an equivalent, such as `abort`, keep their spelling. */
const namesBySpelling = new Map(
  Object.entries({
    stop: "stop end_turn stop_sequence stop_token eos eos_token eos_found complete completed",
    length:
      "length max_tokens max_output_tokens max_new_tokens max_completion_tokens max_length model_length model_context_window_exceeded context_length context_length_exceeded token_limit truncated",
    tool_calls: "tool_calls tool_call tool_use",
    content_filter:
      "content_filter content_filtered safety recitation blocklist prohibited_content spii guardrail_intervened error_toxic",
    "": "unknown none null finish_reason_unspecified",
  }).flatMap(([name, spellings]) => spellings.split(" ").map((spelling) => [spelling, name] as const)),
);
