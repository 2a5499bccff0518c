/** Lists what a call used that has no known price. */

import { findValue, isAbsent, itemsOf, membersOf, type RawJson, type RawMember, textAt } from "../json/raw-json.ts";
import { cutText } from "../text/sentences.ts";
import { costNames, isNeutral, knownNames, maxLevels, partNames, toCountName, usageKeys } from "./count-names.ts";

/** Returns the output, and the items of a stream with the last first. */
export const listReplies = (output: RawJson | undefined) =>
  [output, ...itemsOf(output).toReversed()].flatMap((value) => [value, findValue(value, "response")]);

/** A reply has one of these members. */
const replyKeys = [...usageKeys, "choices", "candidates"];

/** Members of requests, options and headers that change prices, without `_`, `-` and capitals. */
const conditionNames: ReadonlySet<string> = new Set([
  ...["servicetier", "speed", "inferencegeo", "performanceconfig", "betas", "anthropicbeta"],
  ...["completionwindow", "batchid", "xvertexaillmsharedrequesttype", "xvertexaillmrequesttype"],
]);

/** What was said can have members with these names. */
const saidName =
  /^(?:messages|inputs?|contents?|prompts?|tools|functions|system\w*|instructions|metadata|responseformat|text)$/;

/** Members of requests and of `extra_body` that do not change prices. */
const plainOption =
  /^(?:(?:min|max|top|length|repetition|guided|structured|chattemplate|stop|spaces|skip|include|ignore|reasoning|thinking|return|add|prompt|logit|stream)\w*|(?:typical|presence|frequency)\w+|n|temperature|seed|bestof|usebeamsearch|enablethinking|separatereasoning|echo|logprobs|usage|user|metadata|sessionid|cachesalt|regex|jsonschema|ebnf|responseformat|documents|badwords|allowedtokenids|kvtransferparams|vllmxargs|requestid|tags|tools|toolchoice|functions)$/;

/** More of these, of a request only. */
const plainParameter =
  /^(?:model|self|client|cls|args|kwargs|config|request|headers|timeout|store|verbosity|modalities|audio|prediction|dimensions|suffix|labels|truncation|background|conversation|contextmanagement|container|cachedcontent|mcpservers|encodingformat|numretries|organization|responsemodalities|requestmetadata|strict|verbose|format|think|options|keepalive|numctx|dosample|inputtype|textformat|responsemodel|dropparams|callbacks|validationcontext|(?:api|extra|custom|function|parallel|safety|generation|inference|tool|additionalmodel)\w*|\w*(?:id|url))$/;

/** A request has a model and a prompt. */
const isRequest = (value: RawJson | undefined) =>
  ["model", "modelId"].some((key) => findValue(value, key)) &&
  ["messages", "input", "contents", "prompt"].some((key) => findValue(value, key));

/** Names an unknown member of a request or of `extra_body` without its value, which can be a key. */
const findRequestConditions = (
  { key: holder, value }: Pick<RawMember, "key"> & { value: RawJson | undefined },
  facts: Readonly<{ isStated: (key: string) => boolean; hasReply: boolean }>,
  levels = 4,
): readonly string[] =>
  membersOf(value).flatMap((member) => {
    const { key } = member;
    const name = toName(key);
    if (conditionNames.has(name)) return facts.isStated(key) ? [] : findCondition(key, member.value);
    if (levels === 0 || saidName.test(name)) return [];
    const isOption = !plainOption.test(name) && findCondition(key, member.value).length > 0;
    if (toName(holder) === "extrabody") return isOption ? `${holder}.${key}` : [];
    // A traced function can have any arguments, but seldom returns a whole reply.
    if (isOption && facts.hasReply && !plainParameter.test(name) && isRequest(value)) return key;
    return findRequestConditions(member, facts, levels - 1);
  });

const toName = (key: string) => key.replaceAll(/[_-]/g, "").toLowerCase();

/** Members of replies, choices and messages that change no price, without `_` and capitals. */
const plainMembers: ReadonlySet<string> = new Set([
  ...["object", "type", "role", "model", "modelname", "provider", "status", "user", "error", "billing.payer"],
  ...["choices", "candidates", "output", "message", "messages", "delta", "response", "index", "text", "outputtext"],
  ...["content", "refusal", "reasoning", "thinking", "toolcalls", "functioncall", "toolplan", "toolname", "name"],
  ...["prefix", "logprobs", "promptlogprobs", "avglogprobs", "logprobsresult", "tokencount", "prompttext", "parsed"],
  ...["created", "stopsequence", "stopdetails", "matchedstop", "incompletedetails", "additionalmodelresponsefields"],
  ...["seed", "hiddenstates", "routedexperts", "promptroutedexperts", "kvtransferparams", "rawoutput", "warnings"],
  ...["background", "conversation", "contextmanagement", "instructions", "maxtoolcalls", "paralleltoolcalls", "prompt"],
  ...["store", "stream", "completion", "generation", "temperature", "toolchoice", "tools", "toplogprobs", "topp"],
  ...["frequencypenalty", "presencepenalty", "promptcachekey", "promptcacheretention", "safetyidentifier"],
  ...["topk", "truncation", "maxoutputtokens", "maxtokens", "maxcompletiontokens", "latency", "answer", "result"],
  ...["xgroq.id", "xgroq.seed", "reasoningcontent", "reasoningdetails", "audio", "images"],
  ...[
    "embedding",
    "embeddings",
    "annotations",
    "groundingmetadata",
    "trace",
    "metrics",
    "perfmetrics",
    "responsemetadata",
    "openroutermetadata",
  ],
  ...["sdkhttpresponse", "automaticfunctioncallinghistory", "providerspecificfields", "responseheaders", "modelstatus"],
]);

/** The same for kinds of names: ids, times, results of content filters, and reasons of the end. */
const plainName =
  /(?:ids?|at|time|timeinfo|timestamp|ms|version|fingerprint|finishreason|stopreason|feedback|contentfilters?|filterresults?|safety\w*|moderation\w*|citationmetadata)$/;

/** Returns the first member whose effect on the price is unknown. Bedrock has `"serviceTier":{"type":"priority"}`. */
const findCondition = (key: string, value: RawJson | undefined, levels = maxLevels): readonly string[] => {
  if (!value || isAbsent(value) || value.json === '""' || value.json === "false") return [];
  if (levels === 0) return [key];
  if (value.kind === "object" || value.kind === "list") {
    const holder = toName(key);
    for (const item of value.items.length > 0 ? value.items.map((one) => ({ key: "", value: one })) : value.members) {
      const found = isPlain(holder, item) ? [] : findCondition(key, item.value, levels - 1);
      if (found.length > 0) return found;
    }
    return [];
  }
  const isUsual = value.kind === "text" ? isNeutral(value.text) : Number(value.json) === 0;
  return isUsual ? [] : [`${key} ${cutText(value.text, 40)}`];
};

/** Texts in `metadata` are the caller's own. A second usage repeats the counts of the first. */
const isPlain = (holder: string, { key, value }: RawMember) => {
  const [name, count] = [toName(key), toCountName(key)];
  const isCount = knownNames.has(count) || partNames.has(count);
  if (name === "data" && itemsOf(value).every((item) => textAt(item, "object") === "embedding")) return true;
  if (holder !== "")
    return isCount || (holder === "metadata" && value.kind === "text") || plainMembers.has(`${holder}.${name}`);
  return plainMembers.has(name) || plainName.test(name) || usageKeys.includes(key) || costNames.has(name);
};

const findConditions = (holder: RawJson | undefined) =>
  membersOf(holder).flatMap((member) => (isPlain("", member) ? [] : findCondition(member.key, member.value)));

/** Lists what the call used according to its inputs and output, with a price other than that of tokens. */
export const findOtherUses = (call: RawJson): readonly string[] => {
  const [inputs, output] = [findValue(call, "inputs"), findValue(call, "output")];
  const replies = listReplies(output);
  const isStated = (key: string) =>
    replies.some((reply) => !isAbsent(findValue(reply, key)) || findValue(reply, "usage", key));
  const answers = replies.filter((reply) => replyKeys.some((key) => findValue(reply, key)));
  const conditions = findRequestConditions({ key: "", value: inputs }, { isStated, hasReply: answers.length > 0 });
  const choices = answers.flatMap((reply) =>
    ["choices", "candidates"].flatMap((key) => itemsOf(findValue(reply, key))),
  );
  const chosen = [...choices, ...choices.map((choice) => findValue(choice, "message"))];
  // Empty options turn the search on.
  const search = findValue(inputs, "web_search_options") ? ["web_search_options"] : [];
  const options = [...search, ...(hasContent(findValue(inputs, "plugins")) ? ["plugins"] : [])];
  const messages = [...replies, ...chosen, ...replies.flatMap((reply) => itemsOf(findValue(reply, "output")))];
  const media = messages.flatMap((message) =>
    ["images", "audio", "annotations", "groundingMetadata", "grounding_metadata"].filter((key) =>
      hasContent(findValue(message, key)),
    ),
  );
  const ofAnswers = [...answers, ...chosen].flatMap(findConditions);
  return [...new Set([...conditions, ...ofAnswers, ...options, ...messages.flatMap(listOtherParts), ...media])];
};

/** False for a missing value, null, and an empty text, list or object. */
export const hasContent = (value: RawJson | undefined) =>
  !isAbsent(value) && !/^(?:""|\{\s*\}|\[\s*\])$/.test(value.json);

/** Lists the parts of a message that are not text, thoughts or calls of the caller's own tools. */
const listOtherParts = (message: RawJson | undefined): readonly string[] => {
  const contents = itemsOf(findValue(message, "content"));
  const results = contents.flatMap((part) => [part, findValue(part, "toolResult")]);
  const blocks = [...contents, ...results.flatMap((part) => itemsOf(findValue(part, "content")))];
  const types = [message, ...blocks].flatMap((part) => textAt(part, "type") ?? []);
  const parts = [...itemsOf(findValue(message, "parts")), ...itemsOf(findValue(message, "content", "parts"))];
  const untyped = blocks.filter((block) => textAt(block, "type") === undefined);
  const others = types.filter((type) => !plainTypes.has(type) && !/^response\./.test(type));
  return [...others, ...listOtherKeys([...parts, ...untyped])];
};

const listOtherKeys = (parts: readonly RawJson[]) =>
  parts.flatMap(({ members }) => members.map(({ key }) => key)).filter((key) => !plainKeys.has(key));

const plainTypes: ReadonlySet<string> = new Set([
  ...["message", "text", "input_text", "output_text", "summary_text", "refusal", "reasoning", "reasoning_text"],
  ...[
    "ai",
    "AIMessageChunk",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
    "function_call",
    "function_call_output",
  ],
  ...["custom_tool_call", "custom_tool_call_output", "mcp_list_tools", "mcp_call", "mcp_approval_request"],
  ...["mcp_approval_response", "mcp_tool_use", "mcp_tool_result", "local_shell_call", "local_shell_call_output"],
  ...["apply_patch_call", "apply_patch_call_output", "item_reference", "compaction"],
]);

/** Keys of parts without a type, which Gemini and Bedrock have. */
const plainKeys: ReadonlySet<string> = new Set([
  ...["text", "thought", "thoughtSignature", "thought_signature", "functionCall", "function_call"],
  ...["functionResponse", "function_response", "toolUse", "toolResult", "json", "reasoningContent", "cachePoint"],
  ...["cache_control"],
]);
