/** Every rule that input is held against: its name, how serious it is, what it says and what it advises. */
import type { PackedFault } from "./packed.ts";
import { error, type Rule, warning } from "./rule.ts";
import { signalRules } from "./signal-rules.ts";

/** A file that can't be used at all. */
const fileRules = {
  "file-missing": error("there is no such file", "give the path of a file, or - for standard input"),
  "glob-empty": error<{ pattern: string }>(
    ({ pattern }) => `nothing matches ${pattern}`,
    "give the path of a file, or - for standard input",
  ),
  "file-unreadable": error<{ code: string }>(
    ({ code }) => `the file can't be read (${code})`,
    "make it readable, or pipe it into standard input",
  ),
  "file-is-folder": error("this is a folder", "give the files in it"),
  "input-empty": error("there is nothing in it", "give a file with a group or a trajectory on each line"),
  "utf-16": error<{ encoding: string }>(
    ({ encoding }) => `the file is ${encoding}, not UTF-8`,
    "convert it: iconv -f UTF-16 -t UTF-8",
  ),
  "not-utf-8": error("the bytes here are not UTF-8", "write the file as UTF-8, or convert it with iconv"),
  "not-json": error<{ kind: string; instead: string }>(
    ({ kind }) => `this is ${kind}, not JSON lines`,
    ({ instead }) => instead,
  ),
  "gzip-broken": error<{ wrong: PackedFault }>(
    ({ wrong }) => packedFaults[wrong],
    "compress it again, or copy it again: `gzip -t` tells whether a file is whole",
  ),
  "zstd-broken": error<{ wrong: PackedFault }>(
    ({ wrong }) => packedFaults[wrong],
    "compress it again, or copy it again: `zstd -t` tells whether a file is whole",
  ),
  "zstd-unsupported": error<{ name: string; node: string }>(
    ({ node }) => `this is zstd, which Node ${node} can't unpack`,
    ({ name }) =>
      `unpack it into a pipe: zstd -dc ${name === "-" ? "" : `${name} `}| rollcall log …; or use Node 22.15 or newer`,
  ),
  "line-too-long": error<{ limit: number }>(
    ({ limit }) => `the line is longer than ${limit} bytes, the most that can be read at once`,
    "put each group or trajectory on a line of its own",
  ),
  "document-too-long": error<{ limit: number }>(
    ({ limit }) => `the document is longer than ${limit} bytes, the most that can be read at once`,
    "write a group on each line: jq -c '.trajectory_groups[]'",
  ),
};

const packedFaults: Readonly<Record<PackedFault, string>> = {
  cut: "the compressed file ends before its data does",
  corrupt: "the compressed data is damaged, or other bytes follow it",
  more: "other bytes follow the compressed data",
};

const needed = "a reward can't be left out: write a finite number, or leave out the trajectory";
const howToFind = "(in Python: json.dumps(…, allow_nan=False) finds it)";

/** Text that is not JSON. */
const syntaxRules = {
  "json-nan": error<{ word: string; key: string | undefined }>(
    ({ word }) => `${word} is not JSON`,
    ({ key }) => `${key === "reward" ? needed : "leave the key out, or write null"} ${howToFind}`,
  ),
  "json-infinity": error<{ word: string; key: string | undefined }>(
    ({ word }) => `${word} is not JSON`,
    ({ key }) => `${key === "reward" ? needed : "write a finite number, or leave the key out"} ${howToFind}`,
  ),
  "json-python": error<{ word: string }>(
    ({ word }) => `${word} is Python, not JSON`,
    "write lines with json.dumps, not with str or print",
  ),
  "json-single-quotes": error(
    "JSON strings stand in double quotes",
    "write lines with a JSON writer, such as json.dumps",
  ),
  "json-comment": error("JSON has no comments", "leave the comment out"),
  "json-cut-off": error<{ last: boolean }>(
    ({ last }) => (last ? "the last line is cut off" : "the line is cut off"),
    ({ last }) =>
      last ? "is the run still writing? wait for it to end, or leave the line out" : "write each line whole",
  ),
  "json-after": error(
    "something follows the JSON value",
    "put one JSON value on each line, such as `jq -c .` writes them",
  ),
  "json-syntax": error<{ wrong: string; instead: string | undefined }>(
    ({ wrong }) => wrong,
    ({ instead }) => instead,
  ),
};

/** Values that are not as the interface's tables have them (interface 2.1). */
const interfaceRules = {
  "missing-field": error<{ field: string; instead: string | undefined }>(
    ({ field }) => `${field} is missing`,
    ({ instead }) => instead,
  ),
  "wrong-type": error<{ field: string; wanted: string; found: string; instead?: string | undefined }>(
    ({ field, wanted, found }) => `${field} must be ${wanted}, not ${found}`,
    ({ instead }) => instead,
  ),
  "not-an-object": error<{ found: string }>(
    ({ found }) => `a line is a request, a group, a trajectory or an array of them, not ${found}`,
    ({ found }) => (found === "a string" ? "the JSON was written twice: parse the string once more" : undefined),
  ),
  "duplicate-key": error<{ key: string }>(
    ({ key }) => `${key} stands twice in one object, and one of them would be lost`,
    "put all of them into one array",
  ),
};

/** Inputs that don't fit together. */
const groupingRules = {
  "group-scattered": error<{ id: string; line: number }>(
    ({ id, line }) => `group_id ${id} comes again: its group ended before this line (it began on line ${line})`,
    "sort the lines by group_id, or say --group-by group_id",
  ),
  "group-key-missing": error<{ key: string }>(
    ({ key }) => `there is no ${key} to group by, neither at the top nor in metadata`,
    "give every trajectory the key, or group by another",
  ),
  "group-key-type": error<{ key: string; found: string }>(
    ({ key, found }) => `${key} must be a string, a number or a boolean to group by, not ${found}`,
  ),
  "split-differs": error<{ own: string; given: string }>(
    ({ own, given }) => `the request is for the split ${own}, not for ${given}`,
    ({ own }) => `say --split ${own}, or log it by itself`,
  ),
  "request-keys-differ": error<{ key: string; other: string }>(
    ({ key, other }) => `${key} is not what it is in ${other}, and a request has only one`,
    "log them one by one",
  ),
  "mixed-shapes": warning<{ shapes: readonly string[] }>(
    ({ shapes }) => `the input mixes ${shapes.join(" and ")}`,
    "give files of one shape, unless you mean it",
  ),
  "split-requests": warning<{ requests: number; tooLarge?: boolean }>(
    ({ requests }) => `this takes ${requests} requests, and the service computes its metrics for each by itself`,
    ({ tooLarge }) =>
      tooLarge === true
        ? "the service takes no larger ones (413): one request needs a larger limit there"
        : "a larger --max-request-size makes it one",
  ),
  "group-over-limit": warning<{ bytes: number; limit: number }>(
    ({ bytes, limit }) => `the group alone makes a request of ${bytes} bytes, more than the limit of ${limit}`,
    "it is sent by itself; a larger --max-request-size says that this is meant",
  ),
};

const leaveOut = "leave the key out (in Pydantic: model_dump(exclude_none=True))";

/** Values the interface leaves open, and deployed services or their metrics don't. */
const fieldRules = {
  "group-empty": warning("the group has no trajectories", "leave it out"),
  "null-field": warning<{ field: string }>(({ field }) => `${field} is null`, leaveOut),
  "reward-not-finite": warning(
    "the reward is too large for a number, and left out of the metrics",
    "write a finite number",
  ),
  "metric-not-finite": warning<{ key: string }>(
    ({ key }) => `the metric ${key} is too large for a number, and left out of the metrics`,
    "write a finite number, or leave the key out",
  ),
  "metric-type": warning<{ key: string; found: string }>(
    ({ key, found }) => `the metric ${key} is ${found}, not a number or a boolean, and left out of the metrics`,
    "write a number, leave the key out, or put it into metadata",
  ),
  "metric-name": warning<{ key: string }>(
    ({ key }) => `a metric can't be called ${key}, which is calculated, and is left out of the metrics`,
    "give it another name",
  ),
  "metadata-nested": warning<{ key: string; found: string }>(
    ({ key, found }) => `metadata.${key} is ${found}: metadata holds strings, numbers, booleans and null`,
    "write it as a string",
  ),
  "log-type": warning<{ found: string }>(({ found }) => `a log is ${found}, not a string`, "write it as a string"),
  "message-type": warning<{ found: string }>(
    ({ found }) => `a message or choice is ${found}, not an object`,
    'a message is {"role": …, "content": …}',
  ),
  "role-missing": warning<{ instead: string | undefined }>(
    "a message has no role, and is no choice",
    ({ instead }) => instead ?? "give it a role, or put it into a choice's message",
  ),
  "role-unknown": warning<{ role: string; suggestion: string | undefined }>(
    ({ role }) => `the role ${role} is unknown`,
    ({ suggestion }) =>
      suggestion === undefined
        ? "roles are developer, system, user, assistant, tool and function"
        : `did you mean ${suggestion}?`,
  ),
  "tool-call-id-missing": warning("a tool message has no tool_call_id", "give it the id of the call that it answers"),
  "content-type": warning<{ found: string }>(
    ({ found }) => `content is ${found}, not a string, an array of parts or null`,
    "write it as text (in Python: json.dumps makes text of it)",
  ),
  "tool-calls-null": warning("tool_calls is null, which only a choice's message may have", leaveOut),
  "tool-calls-type": warning<{ found: string }>(
    ({ found }) => `tool_calls is ${found}, not an array`,
    "make it an array of calls",
  ),
  "history-type": warning<{ found: string }>(
    ({ found }) => `an additional history is ${found}, not an object with messages_and_choices`,
    'write it as {"messages_and_choices": […]}',
  ),
};

/** What a service answered. */
const answerRules = {
  "answer-unreadable": warning<{ cut: boolean }>(({ cut }) =>
    cut ? "the answer broke off, after the service had said that it logged the request" : "the answer is not JSON",
  ),
  "refused-by-service": error<{ text: string }>(({ text }) => text),
  "group-refused": error<{ text: string }>(({ text }) => `the service refused this group: ${text}`),
  "group-too-large": error<{ bytes: number }>(
    ({ bytes }) => `the service takes no request of ${bytes} bytes, and one group can't be split`,
    "make the group smaller, or ask for a larger limit at the service",
  ),
  "group-rejected": error("this group has errors that were counted, but not kept", "mend the others, and check again"),
};

/** What the ledger knows of an input. */
const ledgerRules = {
  "logged-before": warning<{ groups: number; at: string }>(
    ({ groups, at }) =>
      `${groups} ${groups === 1 ? "group was" : "groups were"} logged before from an input of another name, last at ${at}`,
    "that is right for a file that was moved; --batch tells equal groups of different steps apart",
  ),
  "unknown-left": warning<{ requests: number; groups: number }>(
    ({ requests, groups }) =>
      `it is not known whether ${groups} ${groups === 1 ? "group" : "groups"} of ${requests} earlier ${requests === 1 ? "request" : "requests"} were logged: they are left alone`,
    "`rollcall ledger status` names them; --on-unknown resend, or `rollcall ledger resolve`, settles them",
  ),
  "unknown-not-whole": warning<{ id: string; lacks: "groups" | "keys" }>(
    ({ id, lacks }) =>
      `request ${id} can't be sent again as it was: ${lacks === "groups" ? "the input lacks some of its groups" : "the input has other keys beside its groups"}`,
    "give all the files that it was made of, as they were, or settle it with `rollcall ledger resolve`",
  ),
  "ledger-new": warning<{ path: string }>(
    ({ path }) => `a new ledger was started at ${path}: nothing is known of earlier runs`,
    "keep the file between runs (a cache of the CI system), and name it with --ledger --require-ledger",
  ),
};

/** What a file that is still written does. */
const followRules = {
  "group-changed": warning<{ id: string; line: number }>(
    ({ id, line }) => `the group ${id}, which was complete (line ${line}), grew: what came later is a group of its own`,
    "--group-size says how many trajectories make a group, --group-idle how long to wait for the next one",
  ),
  "group-open": warning<{ groups: number }>(
    ({ groups }) => `${groups} ${groups === 1 ? "group was" : "groups were"} not complete, and not sent`,
    "the same command goes on with them; with --group-idle 0s they are complete as they stand",
  ),
  "line-unfinished": warning<{ bytes: number }>(
    ({ bytes }) => `the last line has no end yet: its ${bytes} bytes were not sent`,
    "the same command goes on with it, once it is written to its end; without --follow it is taken as it stands",
  ),
};

/** Rules about an input as a whole: no group can be rejected to mend it. */
export const wholeInputRules: ReadonlySet<string> = new Set([
  ...Object.keys(fileRules).filter((name) => name !== "not-utf-8"),
  "split-differs",
  "request-keys-differ",
]);

/** Every rule, by its name: a promise to users. */
export const rules = {
  ...fileRules,
  ...syntaxRules,
  ...interfaceRules,
  ...groupingRules,
  ...fieldRules,
  ...signalRules,
  ...answerRules,
  ...ledgerRules,
  ...followRules,
};

/** Name of a rule. */
export type RuleName = keyof typeof rules;

/** What a rule's words are made of. */
export type RuleData<Name extends RuleName> = (typeof rules)[Name] extends Rule<infer Data> ? Data : never;
