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
  readonly fires: Inputs;
  readonly passes: Inputs;
}

/** A rule that planning or sending fires, or a file that no test writes. */
export interface SaidExample<Name extends RuleName> {
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
    fires: { files: { "step.jsonl": undefined } },
    passes: good,
  },
  "glob-empty": {
    fires: { files: { "step-*.jsonl": undefined } },
    passes: good,
  },
  "file-unreadable": {
    data: { code: "EACCES" },
    where: { file: "step.jsonl" },
  },
  "file-is-folder": {
    fires: { files: { ".": undefined } },
    passes: good,
  },
  "input-empty": {
    fires: file("\n\n"),
    passes: file(`\n${group(trajectory(0), trajectory(1))}\n\n`),
  },
  "utf-16": {
    fires: file(Buffer.from(`\ufeff${trajectory(1)}`, "utf16le")),
    passes: file(`\ufeff${trajectory(1)}`),
  },
  "not-utf-8": {
    fires: file(Buffer.from(messages('{"role":"user","content":"caf\u00e9"}', said), "latin1")),
    passes: file(messages('{"role":"user","content":"caf\u00e9"}', said)),
  },
  "not-json": {
    fires: file("prompt,completion,reward\n2+2?,4,1\n"),
    passes: good,
  },
  "gzip-broken": {
    fires: file(gzipSync(`${trajectory(1)}\n`.repeat(20)).subarray(0, 60)),
    passes: file(gzipSync(`${trajectory(1)}\n`)),
  },
  "zstd-broken": {
    data: { wrong: "cut" },
    where: { file: "step.jsonl.zst" },
  },
  "zstd-unsupported": {
    data: { name: "step.jsonl.zst", node: "20.18.1" },
    where: { file: "step.jsonl.zst" },
  },
  "line-too-long": {
    data: { limit: 2 ** 29 - 24 },
    where: { file: "step.jsonl", line: 3 },
  },
  "document-too-long": {
    data: { limit: 2 ** 29 - 24 },
    where: { file: "step.json" },
  },
  "json-nan": {
    fires: file(trajectory("NaN")),
    passes: file(trajectory(0, ',"logs":["NaN"]')),
  },
  "json-infinity": {
    fires: file(trajectory("-Infinity")),
    passes: file(trajectory(0, ',"logs":["-Infinity"]')),
  },
  "json-python": {
    fires: file(trajectory(1, ',"metadata":{"solved":True}')),
    passes: file(trajectory(1, ',"metadata":{"solved":true}')),
  },
  "json-single-quotes": {
    fires: file("{'messages_and_choices': [], 'reward': 1}"),
    passes: file(trajectory(1, ',"logs":["it\'s"]')),
  },
  "json-comment": {
    fires: file(`// step 17\n${trajectory(1)}`),
    passes: file(trajectory(1, ',"logs":["// step 17"]')),
  },
  "json-cut-off": {
    fires: file(`${trajectory(0)}\n${trajectory(1).slice(0, 60)}`),
    passes: file(`${trajectory(0)}\n${trajectory(1)}`),
  },
  "json-after": {
    fires: file(`${trajectory(0)} ${trajectory(1)}`),
    passes: file(`${trajectory(0)}\n${trajectory(1)}`),
  },
  "json-syntax": {
    fires: file('{"messages_and_choices":[,],"reward":1}'),
    passes: file(trajectory(1)),
  },
  "missing-field": {
    fires: file(`{"messages":[${asked}],"reward":1}`),
    passes: file(trajectory(1)),
  },
  "wrong-type": {
    fires: file(trajectory('"0.5"')),
    passes: file(trajectory(0.5)),
  },
  "not-an-object": {
    fires: file(JSON.stringify(trajectory(1))),
    passes: file(`[${trajectory(0)},${trajectory(1)}]`),
  },
  "duplicate-key": {
    fires: file(`{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`),
    passes: file(group(trajectory(0, ',"logs":["\\"trajectories\\""]'), trajectory(1))),
  },
  "group-scattered": {
    fires: file(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n")),
    passes: {
      ...file(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n")),
      groupBy: "group_id",
    },
  },
  "group-key-missing": {
    fires: { ...file(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1)}`), groupBy: "prompt_id" },
    passes: {
      ...file(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1, ',"metadata":{"prompt_id":"a"}')}`),
      groupBy: "prompt_id",
    },
  },
  "group-key-type": {
    fires: { ...file(trajectory(0, ',"prompt_id":["a"]')), groupBy: "prompt_id" },
    passes: { ...file(trajectory(0, ',"prompt_id":7')), groupBy: "prompt_id" },
  },
  "split-differs": {
    fires: { ...file(`{"split":"val","trajectory_groups":[${group(trajectory(0), trajectory(1))}]}`), split: "train" },
    passes: {
      ...file(`{"split":"train","trajectory_groups":[${group(trajectory(0), trajectory(1))}]}`),
      split: "train",
    },
  },
  "request-keys-differ": {
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
    fires: file(`${group(trajectory(0), trajectory(1))}\n${trajectory(1)}`),
    passes: good,
  },
  "split-requests": {
    data: { requests: 3 },
  },
  "group-over-limit": {
    data: { bytes: 40_000_000, limit: 33_554_432 },
    where: { file: "step.jsonl", line: 7 },
  },
  "group-empty": {
    fires: file(group()),
    passes: good,
  },
  "null-field": {
    fires: file(trajectory(1, ',"tools":null')),
    passes: file(trajectory(1, ',"tools":[]')),
  },
  "reward-not-finite": {
    fires: file(trajectory("1e400")),
    passes: file(trajectory("1e300")),
  },
  "metric-not-finite": {
    fires: file(trajectory(1, ',"metrics":{"loss":1e400}')),
    passes: file(trajectory(1, ',"metrics":{"loss":1e300}')),
  },
  "metric-type": {
    fires: file(trajectory(1, ',"metrics":{"solved":"yes"}')),
    passes: file(trajectory(1, ',"metrics":{"solved":true}')),
  },
  "metric-name": {
    fires: file(trajectory(1, ',"metrics":{"reward":1}')),
    passes: file(trajectory(1, ',"metrics":{"rewards":1}')),
  },
  "metadata-nested": {
    fires: file(trajectory(1, ',"metadata":{"task":{"id":3}}')),
    passes: file(trajectory(1, ',"metadata":{"task_id":3}')),
  },
  "log-type": {
    fires: file(trajectory(1, ',"logs":[{"step":1}]')),
    passes: file(trajectory(1, ',"logs":["step 1"]')),
  },
  "message-type": {
    fires: file(messages('"2+2?"', said)),
    passes: file(messages(asked, said)),
  },
  "role-missing": {
    fires: file(messages('{"from":"human","value":"2+2?"}', said)),
    passes: file(messages(asked, `{"finish_reason":"stop","index":0,"message":${said}}`)),
  },
  "role-unknown": {
    fires: file(messages('{"role":"human","content":"2+2?"}', said)),
    passes: file(messages('{"role":"developer","content":"Be short."}', asked, said)),
  },
  "tool-call-id-missing": {
    fires: file(messages(asked, called, '{"role":"tool","content":"found"}', said)),
    passes: file(messages(asked, called, result, said)),
  },
  "content-type": {
    fires: file(messages('{"role":"user","content":{"text":"2+2?"}}', said)),
    passes: file(messages('{"role":"user","content":[{"type":"text","text":"2+2?"}]}', said)),
  },
  "tool-calls-null": {
    fires: file(messages(asked, '{"role":"assistant","content":"4","tool_calls":null}')),
    passes: file(
      messages(
        asked,
        '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4","tool_calls":null}}',
      ),
    ),
  },
  "tool-calls-type": {
    fires: file(messages(asked, '{"role":"assistant","content":"4","tool_calls":{}}')),
    passes: file(messages(asked, '{"role":"assistant","content":"4","tool_calls":[]}')),
  },
  "history-type": {
    fires: file(trajectory(1, ',"additional_histories":["2+2?"]')),
    passes: file(trajectory(1, `,"additional_histories":[{"messages_and_choices":[${asked}]}]`)),
  },
  "group-no-signal": {
    fires: file(group(trajectory(1), trajectory(1, ',"logs":["b"]'))),
    passes: good,
  },
  "group-of-one": {
    fires: file(trajectory(1)),
    passes: file(`${trajectory(0, ',"group_id":"a"')}\n${trajectory(1, ',"group_id":"a"')}`),
  },
  "reward-outlier": {
    fires: file(rewards(5000)),
    passes: file(rewards(5)),
  },
  "policy-order": {
    fires: file(trajectory(1, ',"initial_policy_version":8,"final_policy_version":7')),
    passes: file(trajectory(1, ',"initial_policy_version":7,"final_policy_version":8')),
  },
  "policy-lags": {
    fires: file(versions(7, 8, 7)),
    passes: file(versions(7, 7, 8)),
  },
  "tool-call-unanswered": {
    fires: file(messages(asked, called, said)),
    passes: file(messages(asked, called)),
  },
  "tool-unlisted": {
    fires: file(trajectory(1, tools("web_search"), `${asked},${called}`)),
    passes: file(trajectory(1, tools("search"), `${asked},${called}`)),
  },
  "no-assistant": {
    fires: file(messages(asked)),
    passes: file(messages(asked, `{"finish_reason":"stop","index":0,"message":${said}}`)),
  },
  "trajectory-twice": {
    fires: file(group(trajectory(0), trajectory(1), trajectory(0))),
    passes: good,
  },
  "group-in-both": {
    fires: { ...file(group(trajectory(0), trajectory(1))), against: `\n${group(trajectory(0), trajectory(1))}` },
    passes: { ...file(group(trajectory(0), trajectory(1))), against: group(trajectory(1), trajectory(0)) },
  },
  "start-time-zone": {
    fires: file(trajectory(1, ',"start_time":"2025-11-01T09:30:00"')),
    passes: file(trajectory(1, ',"start_time":"2025-11-01T09:30:00+01:00"')),
  },
  "secret-in-content": {
    fires: file(messages(asked, `{"role":"assistant","content":"export KEY=${key}"}`)),
    passes: file(messages(asked, '{"role":"assistant","content":"export KEY=sk-your-key-goes-here-0000"}')),
  },
  "answer-unreadable": { data: { cut: true } },
  "refused-by-service": {
    data: { text: "Input should be a valid string" },
    where: { file: "step.jsonl", line: 3 },
  },
  "group-refused": {
    data: { text: "Input should be a valid string" },
    where: { file: "step.jsonl", line: 3 },
  },
  "group-too-large": {
    data: { bytes: 70_000_000 },
    where: { file: "step.jsonl", line: 3 },
  },
  "group-rejected": {
    data: undefined,
    where: { file: "step.jsonl", line: 3 },
  },
  "logged-before": {
    data: { groups: 20, at: "2025-11-01T09:30:00.000Z" },
  },
  "unknown-left": {
    data: { requests: 1, groups: 8 },
  },
  "unknown-not-whole": {
    data: { id: "7", lacks: "groups" },
  },
  "ledger-new": {
    data: { path: "~/.local/share/rollcall/ledger.db" },
  },
  "group-changed": {
    data: { id: '"a"', line: 12 },
  },
  "group-open": {
    data: { groups: 2 },
  },
  "line-unfinished": {
    data: { bytes: 512 },
  },
};
