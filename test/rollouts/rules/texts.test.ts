import { expect, it } from "vitest";
import type { Problem } from "../../../src/failure.ts";
import { createProblem } from "../../../src/rollouts/rules/problems.ts";
import { type RuleName, ruleNames } from "../../../src/rollouts/rules/rules.ts";

/** A rule, its data, and a part of its message and its advice, which ` | ` separates. */
const texts = `
  not-an-object {"found":"a string"} found a string | write the JSON without quotes around it
  not-an-object {"found":"an array"} found an array | remove one pair of brackets
  not-an-object {"found":"null"} found null | write a group as
  duplicate-structural-key {"key":"split"} \`split\` is repeated, but JSON readers keep only one of its values | remove
  duplicate-structural-key {"key":"trajectories"} | merge the arrays
  empty-group {"hasExceptions":false} the group has no trajectories |
  element-type {"element":"history","found":"null"} an additional history must be an object with an array in messages_and_choices, not null | write it as
  element-type {"element":"message","found":"1"} a message or choice must be an object, not 1 | write it as {"role": …
  element-type {"element":"content","found":"1"} content must be a string, an array of parts or null, not 1 | write
  element-type {"element":"calls","found":"1"} tool_calls must be an array of calls with a name and arguments as text, not 1 | write
  element-type {"element":"callsOfMessage","found":"null"} tool_calls must be an array, except in a choice, not null | omit
  element-type {"element":"log","found":"1"} a log must be a string, not 1 | write the log
  element-type {"element":"metadata","name":"a","found":"an object"} metadata.a must be a string, a number, a boolean or null, not an object | write
  element-type {"element":"metric","name":"a","found":"null"} the metric \`a\` must be a number or a boolean, not null | write a number
  element-type {"element":"field","name":"tools","found":"null"} tools must be absent or have a value, not null | omit the key
  element-type {"element":"tool","name":"type","found":"absent"} the type of a tool must be a string, not absent | write a tool as
  zero-variance-group {"trajectories":2} both rewards of the group are equal
  zero-variance-group {"trajectories":3} all 3 rewards of the group are equal
  no-sampled-turns {"all":true} no turn is recorded as a choice, so
  no-sampled-turns {"all":false} no turn of the trajectory is recorded as a choice, so
  json-not-finite {"word":"NaN","key":"reward"} | write a finite reward, or
  json-not-finite {"word":"NaN","key":"rewards"} | write a finite reward, or
  json-not-finite {"word":"NaN","key":"score"} | write a finite reward, or
  json-not-finite {"word":"NaN","key":"loss"} NaN is not JSON | write a finite number, or omit the key (in Python
  json-not-finite {"word":"-Infinity","key":"scores"} -Infinity is not JSON | write a finite number, or omit
  json-truncated {"last":true,"isDocument":true} the document is truncated | wait until no program writes to the file, or write
  json-truncated {"last":true,"isDocument":false} the last line is truncated | wait until no program writes to the file, or del
  json-truncated {"last":false,"isDocument":false} the line is truncated | write the whole line
  json-syntax {"fault":"more","isDocument":true,"isFormatGiven":true} the JSON document | correct or omit --from, or write one
  json-syntax {"fault":"more","isDocument":true,"isFormatGiven":false} the JSON document | write one JSON document
  json-syntax {"fault":"more","isDocument":false,"isFormatGiven":true} the JSON value | write one complete JSON
  json-syntax {"fault":"word","word":"nul","character":"]"} the word \`nul\` is not JSON | write keys
  json-syntax {"fault":"comma","word":"nul","character":"]"} missing value before \`]\` | add the value
  json-syntax {"fault":"control","word":"nul","character":"]"} control character in a string | write it as
  json-syntax {"fault":"escape","word":"nul","character":"]"} invalid escape | write \\\\
  json-syntax {"fault":"number","word":"nul","character":"]"} invalid number | write a number such
  json-syntax {"fault":"character","word":"nul","character":"]"} unexpected ] | write lines with
  file-not-found {"isUrl":true} but no URLs | pipe the file into standard input
  file-not-found {"isUrl":false} the file does not exist | check the path
  glob-without-match {"pattern":"*","matches":0} no file matches * | check the pattern
  glob-without-match {"pattern":"*","matches":1} did not expand *, which matches 1 file | remove the quotes
  file-unreadable {"code":"outside-folder"} | pass the path of the file that the link leads to
  file-unreadable {"code":"EACCES"} cannot read the file: permission denied | make the file readable
  folder-without-rollouts {"files":[]} contains no .jsonl, .ndjson, .json, .eval, .traj or .parquet file | name a
  folder-without-rollouts {"files":["a","b"],"options":["-q"]} no file in this folder contains rollouts | check one file to see the reason: \`rollcall check -q a\`
  folder-without-rollouts {"files":["a"],"instead":"do"} | do
  input-empty {"isEmpty":true} the input is empty |
  input-empty {"isEmpty":false} the input has no groups |
  input-empty {"isEmpty":false,"ofOtherSplits":{"split":"dev","kinds":["train","eval"]}} no rollout is of the split dev, only of train and eval | pass --split train or --split eval
  utf-16 {"encoding":"UTF-16LE"} is UTF-16LE, not UTF-8 | convert it to UTF-8, for example with iconv -f UTF-16LE -t UTF-8
  not-json {"kind":"zip","instead":"do","unreadable":"no"} cannot read zip: no | do
  decompressed-too-large {"limit":9,"isSetting":false,"kind":"stream"} more than 9 bytes | decompress a file that you trust into a pipe
  decompressed-too-large {"limit":9,"isSetting":false,"kind":"zip"} | extract an archive that you trust
  decompressed-too-large {"limit":9,"isSetting":true,"kind":"parquet"} 9 bytes (\`max_unpacked_size\`) | raise \`max_unpacked_size\`, or write its rows
  too-many-records {"rollouts":7} the converted files have more than 7 rollouts
  too-many-records {"records":7,"trajectories":8} more than 7 lines or groups, or a group has more than 8 trajectories
  record-invalid {"format":"trl","fault":"a is b (add c)"} this trl record: a is b | add c
  record-invalid {"format":"trl","fault":"a is b (omit c)"} this trl record: a is b | omit c
  record-invalid {"format":"trl","fault":"a is b (write c)"} this trl record: a is b | write c
  record-invalid {"format":"trl","fault":"a is b (pass --c)"} this trl record: a is b | pass --c
  record-invalid {"format":"trl","fault":"a is b (pass --c)","areOthersConverted":true} | fix the record, or write such records to a separate file, and for that file pass --c
  record-invalid {"format":"trl","fault":"a is b (write c)","areOthersConverted":true} | write c
  record-invalid {"format":"trl","fault":"a is b (give c)"} this trl record: a is b | give c
  record-invalid {"format":"trl","fault":"a is b (read c)"} this trl record: a is b | read c
  record-invalid {"format":"trl","fault":"a is b (collect c)"} this trl record: a is b | collect c
  record-invalid {"format":"trl","fault":"a (b)"} this trl record: a (b) | fix the record
  record-invalid {"format":"trl","fault":"--from is b"} : --from is b | correct the option or the record
  record-invalid {"format":"trl","fault":"a","contradictsGivenFormat":true} : a | correct or omit --from, or fix
  ambiguous-format {"formats":["a","b"]} may be a or b | choose the format, for example with --from a
  unknown-format {"keys":["a"],"formats":["trl","b"]} with only the key a | name the format with --from (trl, b)
  unknown-format {"keys":["a","b"],"formats":[]} has records with the keys a, b |
  group-scattered {"id":"a","line":2} group_id a appears again after its group ended (the group began on line 2) |
  group-scattered {"id":"a","line":2,"others":2} line 2), and so do the group_ids of 2 other lines |
  group-key-missing {"key":"k"} the group key \`k\` is missing or null, so the trajectory is a group of its own | give
  group-key-missing {"key":"k","others":[]} no trajectory has a value for the group key \`k\` at the top level or in metadata | add a
  group-key-missing {"key":"k","others":["a","b c"]} | pass --group-by a or 'b c', or a path
  split-mismatch {"own":"a b","given":"c"} has the split a b, not c | pass --split 'a b', and
  folder-without-rollouts {"files":["-s m.json"]} | check one file to see the reason: \`rollcall check './-s m.json'\`
  request-key-mismatch {"key":"k","other":"o","isRequest":true} this request and o differ in the key \`k\`
  request-key-mismatch {"key":"k","other":"o","isRequest":false} contains o that are not in a request
  skipped-file {} found no rollout in this file, so rollcall skipped it | check the file alone to see the reason, or pass --allow
  skipped-file {"reason":"name"} the name does not end like the name of a rollout file, so rollcall skipped it | rename the file to end
  skipped-file {"reason":"compression"} does not read this compression, so rollcall skipped it | decompress the file
  skipped-file {"reason":"dangling"} leads to nothing, so rollcall skipped it | restore
  skipped-file {"reason":"outside"} a folder that is not read, so rollcall skipped it | pass the path of the folder
  skipped-file {"reason":"special"} a pipe, a socket or a device, so rollcall skipped it | pass its path
  skipped-file {"reason":"encoding"} the name is not UTF-8, so rollcall skipped it | rename the file, or
  split-requests {"requests":2} the input needs 2 requests, and the service computes metrics for each request separately | raise
  split-requests {"requests":2,"tooLarge":true} | ask the operator
  input-changed {"isFollowed":true} | append to the file
  input-changed {"isFollowed":false} | wait until no program
  error-in-response {"request":"r1","status":200,"readBytes":67108864} answered 200 to request r1, so its groups count as logged, but the answer was cut after 64 MiB
  error-in-response {"request":"r1","status":200} but the answer is not JSON | check
  group-refused {} refused a request with this group | log the group again
  group-not-logged {"isInvalid":true} | fix the errors
  group-not-logged {"isInvalid":false} | log the file
  logged-before {"groups":1,"at":"noon"} 1 group was already logged by an earlier run with another first file (most recently at noon), so rollcall does not send it again | pass --batch
  logged-before {"groups":2,"at":"noon"} 2 groups were already logged by an earlier run with another first file (most recently at noon), so rollcall does not send them again |
  logged-before {"groups":1,"at":"noon","account":"a b","ownAccount":"b"} under the account "a b" (this run: "b"; most recently at noon) | if both names mean the same account of the service, set \`account\` to a b in every profile, or ROLLCALL_ACCOUNT='a b'
`;

/** Each row has the data of its rule. */
const problems: { create(rule: RuleName, data: object): Problem } = { create: createProblem };

it.each(texts.trim().split(/\n +/))("a problem names what happened and the fix: %s", (row) => {
  const [, name, data = "", part] = /^(\S+) (\{.*?\}) (.*)$/.exec(row) ?? [];
  const rule = ruleNames.find((one) => one === name) ?? expect.fail(`no rule is ${name}`);
  const problem = problems.create(rule, JSON.parse(data));
  expect(`${problem.message} | ${problem.advice}`).toContain(part);
});
