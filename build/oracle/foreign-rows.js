/** Rows of other tools of which there is no sample, as their readers meet them: usual, in other spellings, and broken. */

const turns = '{"role":"user","content":"q"},{"role":"assistant","content":"a"}';
const callsOf = (...calls) =>
  `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":null,"tool_calls":[${calls.join(",")}]},` +
  `{"role":"tool","tool_call_id":"c","content":"found"},{"role":"assistant","content":"a"}],"reward":1}`;
const chat = (more) => `{"messages":[${turns}],${more}}`;

const rows = {
  "openai-chat": [
    chat('"reward":1,"group_id":"g","tools":[{"type":"function","function":{"name":"f"}}],"id":"x","score":0.5'),
    chat('"reward":0.50,"group_id":"g","seed":9007199254740993,"nested":{"a":[1]},"metadata":{"task":"t"}'),
    chat('"rewards":[0.1,0.2],"prompt_id":7'),
    chat('"reward":true'),
    chat('"reward":{"total":1}'),
    callsOf('{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}'),
    callsOf('{"id":"c","name":"f","arguments":{"a": 1.0}}', '{"function":{"name":"g"}}', '{"id":"d","name":"h"}'),
    callsOf(
      '"{\\"name\\":\\"f\\",\\"arguments\\":{\\"a\\":1}}"',
      '{"id":"c","function":{"name":"f","arguments":null}}',
    ),
    `{"messages":"[${turns.replaceAll('"', '\\"')}]","reward":1}`,
  ],
  trl: [
    '{"prompt":"2+2?","completion":"4","reward":1,"source":"x"}',
    `{"prompt":[{"role":"user","content":"hi"}],"completion":[{"role":"assistant","content":"yo"}],"reward":0.5}`,
    '{"prompt":"2+2?","completions":["4","5"],"rewards":[1.0,-0],"advantages":[0.5,-0.5],"seed":9007199254740993}',
    '{"prompt":"2+2?","completions":["4","5"],"rewards":[1]}',
  ],
  sharegpt: [
    '{"conversations":[{"from":"human","value":"hi"},{"from":"function_call","value":"{\\"name\\":\\"f\\",\\"arguments\\":{\\"a\\":1.0}}"},' +
      '{"from":"observation","value":"ok"},{"from":"gpt","value":"yo"},{"from":"tool","value":"late"}],"reward":1,"system":"S","id":"a1"}',
    '{"conversations":[{"from":"nobody","value":"hi"}],"reward":1}',
  ],
  openrlhf: ['{"input":"q","output":"a","reward":0.25}', '{"input":"q","output":"b","reward":"no"}'],
  verl: [
    '{"input":"q","output":"a","gts":"4","score":1,"step":7,"acc":true,"uid":"u1"}',
    '{"input":"q","output":"a","score":0,"step":7}',
  ],
  skyrl: [
    '{"input_prompt":"q","output_response":"a","score":[0,0.5,1],"stop_reason":"length","env_class":"gsm8k","env_extras":{"x":1}}',
    '{"input_prompt":"q","output_response":"b","score":0.5,"stop_reason":"stop","env_class":"gsm8k"}',
  ],
  "nemo-rl": ['{"content":["q","a","q2","a2"],"rewards":0.5,"idx":3}', '{"content":"q","rewards":1}'],
};

/** Files of these rows: all rows of a format, and rows of two formats. */
export const foreignFiles = () => {
  const all = Object.entries(rows).map(([format, own]) => ({ name: `${format}.jsonl`, content: own.join("\n") }));
  const own = rows["openai-chat"].map((row, at) => ({ name: `openai-chat-${at}.jsonl`, content: row }));
  const mixed = {
    name: "mixed.jsonl",
    content: [...rows.trl.slice(0, 2), ...rows.openrlhf, '{"event":"log"}'].join("\n"),
  };
  return [...all, ...own, mixed].map(({ name, content }) => ({ kind: "foreign", name, bytes: Buffer.from(content) }));
};
