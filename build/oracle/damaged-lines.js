/** Lines and replies with one value that is damaged: absent, null, of each other type, or a value that nobody knows. */

/** Values as JSON spells them, so that digits stay; undefined leaves the field out. */
export const damages = [
  ...[undefined, "null", "true", "0", "-1", "1.5", "1e400", "9007199254740993", '""', '"free"', '"1e-7"', '"-1"'],
  ...['" 0.5 "', '"1e99999"', '"0,5"', '"2026-02-31"', '"\\u001b[31mred\\u202e"', '"int3 of next year"', "[]", "{}"],
  ...['["text",7,null]', '[{"country_code":7},{"country_code":"DE"},7]', '{"prompt":{"deep":[[]]}}'],
  `${"[".repeat(300)}${"]".repeat(300)}`,
];

/** Texts with a character each that a terminal obeys, or that hides or reorders others; they are never shown. */
const hidden = [
  ...["0000", "0007", "001b", "007f", "0085", "009b", "00ad", "061c", "180e", "200b", "200e", "200f", "2028", "202a"],
  ...["202e", "2060", "2066", "2069", "feff", "fff9", "dc00", "db40\\udc41"],
].map((code) => `"x\\u${code}y"`);

/** The text of an object by the texts of its members; members without a text are left out. */
const textOf = (members) =>
  `{${Object.entries(members)
    .flatMap(([name, text]) => (text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]))
    .join(",")}}`;

const model = {
  id: '"maker/model"',
  name: '"A model"',
  created: "1753228800",
  input_modalities: '["text"]',
  output_modalities: '["text"]',
  quantization: '"fp8"',
  context_length: "131072",
  max_output_length: "8192",
  pricing: '{"prompt":"0.0000003","completion":"0.0000012"}',
  supported_sampling_parameters: '["temperature"]',
  supported_features: '["tools"]',
  datacenters: '[{"country_code":"FI"}]',
  deprecation_date: '"2999-01-31"',
};

const prices = ["prompt", "completion", "image", "request", "input_cache_read", "web_search"];

/** A reply with a model for each field and each damage to it. */
export const damagedCatalog = () => {
  const changes = [
    ...Object.keys(model).flatMap((field) => damages.map((value) => ({ [field]: value }))),
    ...prices.flatMap((name) =>
      damages.map((value) => ({ pricing: textOf({ prompt: '"0.0000003"', [name]: value }) })),
    ),
    ...hidden.map((name) => ({ name })),
    ...damages.map((value) => ({ datacenters: `[${textOf({ country_code: value })}]` })),
  ];
  return `{"data":[${changes.map((change, at) => textOf({ ...model, id: `"m/${at}"`, ...change })).join(",")}]}`;
};

const message = {
  role: '"assistant"',
  content: '"yes"',
  tool_calls: '[{"id":"a","type":"function","function":{"name":"find","arguments":"{}"}}]',
  tool_call_id: '"a"',
};
const tool = { type: '"function"', function: '{"name":"find","description":"d","parameters":{}}' };
const trajectory = {
  messages_and_choices: `[${textOf(message)}]`,
  reward: "0.5",
  metrics: '{"turns":2}',
  metadata: '{"task":"a"}',
  logs: '["a"]',
  tools: `[${textOf(tool)}]`,
  start_time: '"2025-11-01T09:30:00Z"',
  initial_policy_version: "7",
  final_policy_version: "8",
  additional_histories: `[{"messages_and_choices":[${textOf(message)}]}]`,
  group_id: '"a"',
};
const group = { trajectories: `[${textOf(trajectory)}]`, exceptions: '["e"]', metadata: "{}" };

const damaged = (whole, around) =>
  Object.keys(whole).flatMap((field) => damages.map((value) => around(textOf({ ...whole, [field]: value }))));

const withMembers = (members) => textOf({ ...trajectory, ...members });
const withMessages = (text) => withMembers({ messages_and_choices: `[${text}]` });

/** Trajectories and groups with one value that is damaged. */
export const damagedLines = () => [
  ...damaged(trajectory, (text) => text),
  ...damaged(group, (text) => text),
  ...damaged(message, (text) => withMessages(`${text},${textOf(message)}`)),
  ...damaged({ message: textOf(message), index: "0", logprobs: '{"content":[]}' }, withMessages),
  ...damaged(tool, (text) => withMembers({ tools: `[${text}]` })),
  ...damaged({ turns: "1" }, (text) => withMembers({ metrics: text })),
  ...damaged({ task: "1" }, (text) => withMembers({ metadata: text })),
  ...damages.map((value = "") => value),
];

const withContent = (text) => withMessages(textOf({ ...message, tool_calls: undefined, content: text }));
const withReward = (reward) => withMembers({ reward });
const withStart = (text) => withMembers({ start_time: JSON.stringify(text) });
const groupOf = (...rewards) => textOf({ trajectories: `[${rewards.map(withReward).join(",")}]` });

const escapes = [
  "\\u00e9",
  "\\u00eg",
  "\\u00ge",
  "\\u0gee",
  "\\ugeee",
  "\\u00e",
  "\\ud83d",
  "\\uD83D\\uDE00",
  "\\x41",
  "\\",
];
const groupIds = [
  "999999999999999",
  "9007199254740993",
  "99999999999999999",
  "12345678901234567890",
  "-0",
  "007",
  "1e3",
  "1.0",
];
// 2^53 and around, 2^63, 2^64 and around, and more digits than any of them.
const digits = [
  ...["9007199254740993", "9223372036854775809", "18446744073709551615", "18446744073709551616"],
  ...["18446744073709551626", "99999999999999999999", "123456789012345678901234567890"],
];
const zones = ["Z", "z", "", "+01:00", "-0100", "+01", "+1:00", "+24:00", "+23:60", "+01:00:00", " Z", "Z "];
const times = [
  ...["2025-11-01T09:30Z", "2025-11-01 09:30:00Z", "2025-11-01T09:30:60Z", "2025-11-01T24:00:00Z"],
  ...["2025-11-01T09:30:00.5Z", "2025-11-01T09:30:00.Z", "2025-11-01T09:30:00,5Z"],
];
const days = [
  "2025-02-29",
  "2024-02-29",
  "1900-02-29",
  "2000-02-29",
  "2025-04-31",
  "2025-00-01",
  "2025-13-01",
  "2025-08-00",
];
const metrics = [
  '{"a":1,"a":2}',
  '{"a":1,"b":2,"a":3}',
  '{"a":1,"\\u0061":2}',
  '{"reward":1}',
  '{"7":1}',
  '{"a":1e400}',
  '{"":1}',
];

/** Lines with a value that is nearly another one. */
export const edgeLines = () => [
  ...escapes.map((text) => withContent(`"${text}"`)),
  ...hidden.map((role) => withMessages(`${textOf({ role, content: role })},${textOf(message)}`)),
  // A key next to a choice's message is not a key of the message.
  ...Object.entries({ ...message, tool_calls: "null", other: '"a"' }).map(([key, value]) =>
    withMessages(`{"message":${textOf({ role: '"assistant"' })},"${key}":${value}}`),
  ),
  ...groupIds.map((key) => withMembers({ group_id: key })),
  ...digits.flatMap((text) => [text, `-${text}`, `${text}e-19`, `0.${text}`, `1.${text}`].map(withReward)),
  ...zones.map((zone) => withStart(`2025-11-01T09:30:00${zone}`)),
  ...times.map(withStart),
  ...days.map((day) => withStart(`${day}T09:30:00Z`)),
  ...metrics.map((text) => withMembers({ metrics: text })),
  // Rewards of a group that are equal within the limit, or just not.
  ...["1e-12", "1.0000000000000001e-12", "1.1e-12", "9.9e-13", "2e-12", "-1e-12", "0", "-0"].map((own) =>
    groupOf("0", own),
  ),
  ...["9.999999999999998e200", "1e-140", "1e150"].map((reward) => groupOf(reward, "1", "0.1")),
];

/** A line that breaks no rule; a filler makes it longer. */
export const ordinaryLine = (at, filler = "") => {
  const call = { id: `c${at}`, type: "function", function: { name: "find", arguments: '{"a": 1}' } };
  const messages = [
    { role: "user", content: `Line ${at}: "naïve"\n` },
    { finish_reason: "tool_calls", index: 0, message: { role: "assistant", content: null, tool_calls: [call] } },
    { role: "tool", tool_call_id: `c${at}`, content: [{ type: "text", text: "é" }] },
    { role: "assistant", content: "done" },
  ];
  const one = (reward) => ({
    messages_and_choices: messages,
    reward,
    metrics: { turns: at % 5, right: at % 2 === 0 },
    metadata: { prompt_id: at, task: "a" },
    logs: [`${at}${filler}`],
  });
  return JSON.stringify(
    at % 2 === 0 ? { trajectories: [one(at / 7), one(at % 3)] } : { ...one(at / 3), prompt_id: at },
  );
};
