/** An example of each rule that input is held against: what fires it, and what is nearly the same and does not. */
import { gzipSync } from "node:zlib";
import type { RuleData, RuleName } from "../../src/trajectories/index.ts";

/** What is read, and how. */
export interface Inputs {
  /** Contents of files, by the names that they are given; undefined is a name without a file. */
  readonly files: Readonly<Record<string, string | Uint8Array | undefined>>;
  readonly split?: string;
  readonly groupBy?: string;
  /** Contents of a file of another split. */
  readonly against?: string;
}

/** A rule that reading fires. */
export interface ReadExample {
  /** Why it is a rule, in a sentence or two. */
  readonly why: string;
  readonly fires: Inputs;
  readonly passes: Inputs;
}

/** A rule that planning or sending fires, or a file that no test writes. */
export interface SaidExample<Name extends RuleName> {
  readonly why: string;
  readonly data: RuleData<Name>;
  readonly where?: { readonly file: string; readonly line?: number };
}

const file = (content: string | Uint8Array): Inputs => ({ files: { "step.jsonl": content } });

const asked = '{"role":"user","content":"2+2?"}';
const said = '{"role":"assistant","content":"4"}';

/** A trajectory; `more` are further members. */
const trajectory = (reward: string | number, more = "", messages = `${asked},${said}`): string =>
  `{"messages_and_choices":[${messages}],"reward":${reward}${more}}`;

const messages = (...all: readonly string[]): string => trajectory(1, "", all.join(","));

const group = (...trajectories: readonly string[]): string => `{"trajectories":[${trajectories.join(",")}]}`;

const good = file(group(trajectory(0), trajectory(1)));

const tools = (name: string): string => `,"tools":[{"type":"function","function":{"name":"${name}"}}]`;
const called =
  '{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"search","arguments":"{}"}}]}';
const result = '{"role":"tool","tool_call_id":"a","content":"found"}';

const rewards = (last: number): string =>
  Array.from({ length: 30 }, (_, at) => trajectory(at === 29 ? last : at % 2, `,"metadata":{"at":${at}}`)).join("\n");

const versions = (...all: readonly number[]): string =>
  all
    .map((version, at) =>
      group(trajectory(0, `,"final_policy_version":${version},"logs":["${at}"]`), trajectory(1, `,"logs":["${at}"]`)),
    )
    .join("\n");

const key = ["sk", "proj", "Ab3dEfGh1JkLmN0pQrStUvWxYz"].join("-");

/** An example of each rule. */
export const ruleExamples: { readonly [Name in RuleName]: ReadExample | SaidExample<Name> } = {
  "file-missing": {
    why: "A name on the command line is the path of a file, or `-` for standard input.",
    fires: { files: { "step.jsonl": undefined } },
    passes: good,
  },
  "glob-empty": {
    why: "Where no file fits a pattern, the shell hands it on as it is.",
    fires: { files: { "step-*.jsonl": undefined } },
    passes: good,
  },
  "file-unreadable": {
    why: "The system does not let the file be read.",
    data: { code: "EACCES" },
    where: { file: "step.jsonl" },
  },
  "file-is-folder": {
    why: "A folder is named where a file should be.",
    fires: { files: { ".": undefined } },
    passes: good,
  },
  "input-empty": {
    why: "An input without a group is probably not the one that was meant.",
    fires: file("\n\n"),
    passes: file(`\n${group(trajectory(0), trajectory(1))}\n\n`),
  },
  "utf-16": {
    why: "PowerShell's `>` and some editors write UTF-16.",
    fires: file(Buffer.from(`\ufeff${trajectory(1)}`, "utf16le")),
    passes: file(`\ufeff${trajectory(1)}`),
  },
  "not-utf-8": {
    why: "JSON is UTF-8. Other bytes would be sent on as they are, and refused.",
    fires: file(Buffer.from(messages('{"role":"user","content":"caf\u00e9"}', said), "latin1")),
    passes: file(messages('{"role":"user","content":"caf\u00e9"}', said)),
  },
  "not-json": {
    why: "The first bytes say that the file is something else: Parquet, zip, CSV, a pickle, …",
    fires: file("prompt,completion,reward\n2+2?,4,1\n"),
    passes: good,
  },
  "gzip-broken": {
    why: "A compressed file that was cut off or damaged has lost some of its groups.",
    fires: file(gzipSync(`${trajectory(1)}\n`.repeat(20)).subarray(0, 60)),
    passes: file(gzipSync(`${trajectory(1)}\n`)),
  },
  "zstd-broken": {
    why: "A compressed file that was cut off or damaged has lost some of its groups.",
    data: { wrong: "cut" },
    where: { file: "step.jsonl.zst" },
  },
  "zstd-unsupported": {
    why: "Node unpacks zstd from 22.15 on; the groups in the file are not read, and none of them is sent.",
    data: { name: "step.jsonl.zst", node: "20.18.1" },
    where: { file: "step.jsonl.zst" },
  },
  "line-too-long": {
    why: "A line is read whole, and a text can't be longer than 512 MiB.",
    data: { limit: 2 ** 29 - 24 },
    where: { file: "step.jsonl", line: 3 },
  },
  "document-too-long": {
    why: "A printed document is read whole, and a text can't be longer than 512 MiB.",
    data: { limit: 2 ** 29 - 24 },
    where: { file: "step.json" },
  },
  "json-nan": {
    why: "Python's json.dumps writes NaN unless it is told not to; JSON has none, and services refuse it.",
    fires: file(trajectory("NaN")),
    passes: file(trajectory(0, ',"logs":["NaN"]')),
  },
  "json-infinity": {
    why: "Python's json.dumps writes Infinity unless it is told not to; JSON has none.",
    fires: file(trajectory("-Infinity")),
    passes: file(trajectory(0, ',"logs":["-Infinity"]')),
  },
  "json-python": {
    why: "A dictionary was printed instead of written as JSON.",
    fires: file(trajectory(1, ',"metadata":{"solved":True}')),
    passes: file(trajectory(1, ',"metadata":{"solved":true}')),
  },
  "json-single-quotes": {
    why: "A dictionary was printed instead of written as JSON.",
    fires: file("{'messages_and_choices': [], 'reward': 1}"),
    passes: file(trajectory(1, ',"logs":["it\'s"]')),
  },
  "json-comment": {
    why: "JSON has no comments; JSON5 and JSONC have.",
    fires: file(`// step 17\n${trajectory(1)}`),
    passes: file(trajectory(1, ',"logs":["// step 17"]')),
  },
  "json-cut-off": {
    why: "A run that still writes, or that was killed, leaves half a line at the end.",
    fires: file(`${trajectory(0)}\n${trajectory(1).slice(0, 60)}`),
    passes: file(`${trajectory(0)}\n${trajectory(1)}`),
  },
  "json-after": {
    why: "A line holds one JSON value.",
    fires: file(`${trajectory(0)} ${trajectory(1)}`),
    passes: file(`${trajectory(0)}\n${trajectory(1)}`),
  },
  "json-syntax": {
    why: "The text is not JSON for a reason that has no rule of its own.",
    fires: file('{"messages_and_choices":[,],"reward":1}'),
    passes: file(trajectory(1)),
  },
  "missing-field": {
    why: "The interface asks for the field.",
    fires: file(`{"messages":[${asked}],"reward":1}`),
    passes: file(trajectory(1)),
  },
  "wrong-type": {
    why: "The interface gives the field another type.",
    fires: file(trajectory('"0.5"')),
    passes: file(trajectory(0.5)),
  },
  "not-an-object": {
    why: "A line is none of what the interface knows.",
    fires: file(JSON.stringify(trajectory(1))),
    passes: file(`[${trajectory(0)},${trajectory(1)}]`),
  },
  "duplicate-key": {
    why: "JSON readers keep one of two equal keys: the trajectories under the other would be lost.",
    fires: file(`{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`),
    passes: file(group(trajectory(0, ',"logs":["\\"trajectories\\""]'), trajectory(1))),
  },
  "group-scattered": {
    why: "Lines that belong to one group stand side by side, so that a group is whole when the next begins.",
    fires: file(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n")),
    passes: {
      ...file(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n")),
      groupBy: "group_id",
    },
  },
  "group-key-missing": {
    why: "With `--group-by`, every trajectory has to say which group it belongs to.",
    fires: { ...file(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1)}`), groupBy: "prompt_id" },
    passes: {
      ...file(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1, ',"metadata":{"prompt_id":"a"}')}`),
      groupBy: "prompt_id",
    },
  },
  "group-key-type": {
    why: "What groups are told apart by is a string, a number or a boolean.",
    fires: { ...file(trajectory(0, ',"prompt_id":["a"]')), groupBy: "prompt_id" },
    passes: { ...file(trajectory(0, ',"prompt_id":7')), groupBy: "prompt_id" },
  },
  "split-differs": {
    why: "A whole request names its split, and it is not the one that was asked for.",
    fires: { ...file(`{"split":"val","trajectory_groups":[${group(trajectory(0), trajectory(1))}]}`), split: "train" },
    passes: {
      ...file(`{"split":"train","trajectory_groups":[${group(trajectory(0), trajectory(1))}]}`),
      split: "train",
    },
  },
  "request-keys-differ": {
    why: "What a whole request holds beside its groups goes into every request made of it, so it has to be the same everywhere.",
    fires: {
      files: {
        "a.json": `{"split":"train","run":"a","trajectory_groups":[${group(trajectory(0), trajectory(1))}]}`,
        "b.json": `{"split":"train","run":"b","trajectory_groups":[]}`,
      },
    },
    passes: {
      files: {
        "a.json": `{"split":"train","run":"a","trajectory_groups":[${group(trajectory(0), trajectory(1))}]}`,
        "b.json": `{"split":"train","run":"a","trajectory_groups":[]}`,
      },
    },
  },
  "mixed-shapes": {
    why: "Whole requests, groups and bare trajectories in one run are seldom meant.",
    fires: file(`${group(trajectory(0), trajectory(1))}\n${trajectory(1)}`),
    passes: good,
  },
  "split-requests": {
    why: "More than one request fits the input, and the service computes its metrics for each.",
    data: { requests: 3 },
  },
  "group-over-limit": {
    why: "A group is never split, so one that is larger than `--max-request-size` is sent by itself.",
    data: { bytes: 40_000_000, limit: 33_554_432 },
    where: { file: "step.jsonl", line: 7 },
  },
  "group-empty": {
    why: "A group without trajectories counts, and teaches nothing.",
    fires: file(group()),
    passes: good,
  },
  "null-field": {
    why: "Some services refuse null where a field may be left out.",
    fires: file(trajectory(1, ',"tools":null')),
    passes: file(trajectory(1, ',"tools":[]')),
  },
  "reward-not-finite": {
    why: "A number such as 1e400 is JSON, and no double.",
    fires: file(trajectory("1e400")),
    passes: file(trajectory("1e300")),
  },
  "metric-not-finite": {
    why: "A number such as 1e400 is JSON, and no double.",
    fires: file(trajectory(1, ',"metrics":{"loss":1e400}')),
    passes: file(trajectory(1, ',"metrics":{"loss":1e300}')),
  },
  "metric-type": {
    why: "A metric is a number or a boolean: nothing else has a mean.",
    fires: file(trajectory(1, ',"metrics":{"solved":"yes"}')),
    passes: file(trajectory(1, ',"metrics":{"solved":true}')),
  },
  "metric-name": {
    why: "`reward`, `reward_std_dev` and `exception_rate` are calculated.",
    fires: file(trajectory(1, ',"metrics":{"reward":1}')),
    passes: file(trajectory(1, ',"metrics":{"rewards":1}')),
  },
  "metadata-nested": {
    why: "Services refuse lists and objects in metadata.",
    fires: file(trajectory(1, ',"metadata":{"task":{"id":3}}')),
    passes: file(trajectory(1, ',"metadata":{"task_id":3}')),
  },
  "log-type": {
    why: "Services refuse logs that are not strings.",
    fires: file(trajectory(1, ',"logs":[{"step":1}]')),
    passes: file(trajectory(1, ',"logs":["step 1"]')),
  },
  "message-type": {
    why: "A message is an object with a role, a choice one with a message.",
    fires: file(messages('"2+2?"', said)),
    passes: file(messages(asked, said)),
  },
  "role-missing": {
    why: "Services tell messages apart by their role.",
    fires: file(messages('{"from":"human","value":"2+2?"}', said)),
    passes: file(messages(asked, `{"finish_reason":"stop","index":0,"message":${said}}`)),
  },
  "role-unknown": {
    why: "Services refuse roles that they do not know: a slip, or the name another framework has for it.",
    fires: file(messages('{"role":"human","content":"2+2?"}', said)),
    passes: file(messages('{"role":"developer","content":"Be short."}', asked, said)),
  },
  "tool-call-id-missing": {
    why: "A tool's result names the call that it answers.",
    fires: file(messages(asked, called, '{"role":"tool","content":"found"}', said)),
    passes: file(messages(asked, called, result, said)),
  },
  "content-type": {
    why: "Content is a string, an array of parts, or null.",
    fires: file(messages('{"role":"user","content":{"text":"2+2?"}}', said)),
    passes: file(messages('{"role":"user","content":[{"type":"text","text":"2+2?"}]}', said)),
  },
  "tool-calls-null": {
    why: "Services refuse `tool_calls: null` in a message; in a choice's message it is usual.",
    fires: file(messages(asked, '{"role":"assistant","content":"4","tool_calls":null}')),
    passes: file(
      messages(
        asked,
        '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4","tool_calls":null}}',
      ),
    ),
  },
  "tool-calls-type": {
    why: "Tool calls are an array.",
    fires: file(messages(asked, '{"role":"assistant","content":"4","tool_calls":{}}')),
    passes: file(messages(asked, '{"role":"assistant","content":"4","tool_calls":[]}')),
  },
  "history-type": {
    why: "An additional history holds messages of its own.",
    fires: file(trajectory(1, ',"additional_histories":["2+2?"]')),
    passes: file(trajectory(1, `,"additional_histories":[{"messages_and_choices":[${asked}]}]`)),
  },
  "group-no-signal": {
    why: "Most trainers learn from how the rewards of a group differ. Where they are equal, the group is paid for and not used.",
    fires: file(group(trajectory(1), trajectory(1, ',"logs":["b"]'))),
    passes: good,
  },
  "group-of-one": {
    why: "Most trainers learn from how the rewards of a group differ, and one reward differs from none.",
    fires: file(trajectory(1)),
    passes: file(`${trajectory(0, ',"group_id":"a"')}\n${trajectory(1, ',"group_id":"a"')}`),
  },
  "reward-outlier": {
    why: "A reward that is thirty times as far from the median as is usual in the file decides the whole step by itself.",
    fires: file(rewards(5000)),
    passes: file(rewards(5)),
  },
  "policy-order": {
    why: "A policy's version grows while a trajectory is sampled, if it changes at all.",
    fires: file(trajectory(1, ',"initial_policy_version":8,"final_policy_version":7')),
    passes: file(trajectory(1, ',"initial_policy_version":7,"final_policy_version":8')),
  },
  "policy-lags": {
    why: "Groups of an older policy than those before them in the file are off-policy data: left over, or merged from another run.",
    fires: file(versions(7, 8, 7)),
    passes: file(versions(7, 7, 8)),
  },
  "tool-call-unanswered": {
    why: "A call that has no result, and is not what the trajectory ends with, was lost on the way.",
    fires: file(messages(asked, called, said)),
    passes: file(messages(asked, called)),
  },
  "tool-unlisted": {
    why: "The model called a tool that it was not offered: a slip of the recording, or of the model.",
    fires: file(trajectory(1, tools("web_search"), `${asked},${called}`)),
    passes: file(trajectory(1, tools("search"), `${asked},${called}`)),
  },
  "no-assistant": {
    why: "What is learned from are the turns of the model.",
    fires: file(messages(asked)),
    passes: file(messages(asked, `{"finish_reason":"stop","index":0,"message":${said}}`)),
  },
  "trajectory-twice": {
    why: "The same trajectory twice counts twice: a file was written twice, or a sampler's seed never changed.",
    fires: file(group(trajectory(0), trajectory(1), trajectory(0))),
    passes: good,
  },
  "group-in-both": {
    why: "A split that was trained on tests nothing (`rollcall check --split train train.jsonl --against val.jsonl`).",
    fires: { ...file(group(trajectory(0), trajectory(1))), against: `\n${group(trajectory(0), trajectory(1))}` },
    passes: { ...file(group(trajectory(0), trajectory(1))), against: group(trajectory(1), trajectory(0)) },
  },
  "start-time-zone": {
    why: "A time without a zone is another moment on every machine.",
    fires: file(trajectory(1, ',"start_time":"2025-11-01T09:30:00"')),
    passes: file(trajectory(1, ',"start_time":"2025-11-01T09:30:00+01:00"')),
  },
  "secret-in-content": {
    why: "Agents read files and environments, and what they read is logged. Key formats of well-known services are looked for; what is found is never printed.",
    fires: file(messages(asked, `{"role":"assistant","content":"export KEY=${key}"}`)),
    passes: file(messages(asked, '{"role":"assistant","content":"export KEY=sk-your-key-goes-here-0000"}')),
  },
  "answer-unreadable": { why: "The service took the request; its answer can't be read.", data: { cut: true } },
  "refused-by-service": {
    why: "The service refused the request, and named this value.",
    data: { text: "Input should be a valid string" },
    where: { file: "step.jsonl", line: 3 },
  },
  "group-refused": {
    why: "The service refused the request for this group, which is left out with `--on-refused skip`.",
    data: { text: "Input should be a valid string" },
    where: { file: "step.jsonl", line: 3 },
  },
  "group-too-large": {
    why: "The service's limit is smaller than the group alone.",
    data: { bytes: 70_000_000 },
    where: { file: "step.jsonl", line: 3 },
  },
  "group-rejected": {
    why: "Of a rule that is broken very often, a bounded number of problems is kept.",
    data: undefined,
    where: { file: "step.jsonl", line: 3 },
  },
  "logged-before": {
    why: "The ledger knows groups of the input from a file of another name.",
    data: { groups: 20, at: "2025-11-01T09:30:00.000Z" },
  },
  "unknown-left": {
    why: "What became of a request could not be known, and nobody has settled it since.",
    data: { requests: 1, groups: 8 },
  },
  "unknown-not-whole": {
    why: "A request of unknown outcome is sent again as exactly what it was, or not at all.",
    data: { id: "7" },
  },
  "ledger-new": {
    why: "A build system that throws the ledger away forgets what was logged.",
    data: { path: "~/.local/share/rollcall/ledger.db" },
  },
  "group-changed": {
    why: "With `--follow`, a group that was complete, and logged, grew: what was logged can't be changed.",
    data: { id: '"a"', line: 12 },
  },
  "group-open": {
    why: "With `--follow`, groups by key stay open until they are complete, or nothing has come for a while.",
    data: { groups: 2 },
  },
  "line-unfinished": {
    why: "With `--follow`, the file ends in the middle of a line, which its writer has yet to end.",
    data: { bytes: 512 },
  },
};
