/** Generates files of lines in rollcall's format, most of them usual, some odd, the same ones in each run. */
import fc from "fast-check";

/** Returns `count` files with up to six lines each. */
export const generatedFiles = (count, seed) => fc.sample(file, { numRuns: count, seed });

// JSON in which an object is a list of members, so that a key can be there twice.
const written = (value, space) => {
  if (Array.isArray(value)) return `[${space}${value.map((one) => written(one, space)).join(`,${space}`)}${space}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if ("raw" in value) return value.raw;
  const members = value.members.map(([key, own]) => `${key}${space}:${space}${written(own, space)}`);
  return `{${space}${members.join(`${space},${space}`)}${space}}`;
};

const raw = (text) => ({ raw: text });
const raws = (...texts) => texts.map(raw);
const object = (members) => ({ members: Object.entries(members).map(([key, value]) => [JSON.stringify(key), value]) });
const some = (...values) => fc.constantFrom(...values);
const weighted = (...pairs) => fc.oneof(...pairs.map(([weight, arbitrary]) => ({ weight, arbitrary })));
const mostly = (usual, odd) => weighted([40, usual], [1, odd]);

const words = ["", "a", "naïve", "\u2028", "😀", "\n", '"', "\\", "a longer text, which goes on for more than sixteen"];

const texts = mostly(
  fc.oneof(
    some(...words, ...raws('"\\ud83d"', '"\\u0041\\/\\b\\f\\r\\t"')),
    fc.string({ unit: "grapheme", maxLength: 40 }),
  ),
  some(...["\\x", "\\u12g4", "\t", "sk-0123abcd4567efgh89ij"].map((text) => raw(`"${text}"`))),
);

const numbers = mostly(
  fc.oneof(
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    some(
      ...raws("-0", "0", "1e-400", "0.1e1", "1E+2", "-1.5e-3", "9007199254740993", "0.30000000000000004", "1e22"),
      ...raws("1.7976931348623157e308", "5e-324", "123456789012345678901234567890", "1e23", "-1e5", "1.0", "10.50"),
    ),
  ),
  some(...raws("1e400", "00", "1.", ".5", "+1", "-", "1e", "NaN", "Infinity", "0x1", "1_0", "tru", "-01")),
);

const scalars = fc.oneof(texts, numbers, fc.boolean(), fc.constant(null));

const anything = weighted(
  [3, scalars],
  [1, some([], object({}), [1, [2, "x"]], object({ a: object({ b: [null] }) }), raw("tru"))],
);

/** Members of an object: usually all, sometimes one fewer, one more, one twice, or in another order. */
const objectOf = (fields) => {
  const names = Object.keys(fields);
  const member = (name) => (fields[name] ?? anything).map((value) => [JSON.stringify(name), value]);
  const odd = fc.oneof(
    some(...names).chain(member),
    fc.tuple(some(...names.map((name) => JSON.stringify(name))), anything),
    fc.tuple(some('"other"', '"n\\u0061me"', '"rol\\u0065"', '"naïve"', '"__proto__"', '"7"', "1"), anything),
  );
  const usual = fc.tuple(...names.map(member));
  const changed = fc
    .tuple(fc.subarray(names, { minLength: Math.max(0, names.length - 1) }), fc.array(odd, { maxLength: 1 }))
    .chain(([kept, more]) => fc.tuple(...kept.map(member)).map((own) => [...own, ...more]));
  return weighted([25, usual], [1, changed]).chain((members) =>
    mostly(
      fc.constant({ members }),
      fc.shuffledSubarray(members, { minLength: members.length }).map((own) => ({ members: own })),
    ),
  );
};

const listOf = (element, maxLength = 4) =>
  mostly(
    fc.array(element, { maxLength }),
    fc.tuple(fc.array(element, { maxLength: 2 }), anything).map(([own, odd]) => [...own, odd]),
  );

const ids = mostly(some("call_1", "call_2"), some("", 1, raw('"c\\u0061ll_1"')));
const toolNames = mostly(some("find", "naïve"), some("", 1, raw('"f\\u0069nd"')));
const roles = some("system", "user", "assistant", "assistant", "tool", "developer", "function", "human");
const called = objectOf({ name: toolNames, arguments: texts });
const call = objectOf({ id: ids, type: fc.constant("function"), function: called });
const content = weighted(
  [5, texts],
  [1, fc.constant(null)],
  [2, listOf(objectOf({ type: fc.constant("text"), text: texts }))],
);
const assistantRole = fc.constant("assistant");

const message = weighted(
  [4, objectOf({ role: some("system", "user", "assistant"), content })],
  [1, objectOf({ role: roles, content, tool_calls: listOf(call, 2) })],
  [1, objectOf({ role: fc.constant("tool"), tool_call_id: ids, content })],
  [1, objectOf({ role: assistantRole, content, tool_calls: fc.constant(null) })],
);

const choice = objectOf({
  finish_reason: fc.constant("stop"),
  index: fc.constant(0),
  message: fc.oneof(message, objectOf({ role: roles, content, tool_calls: fc.constant(null) })),
  logprobs: anything,
});

/** A call and its result. */
const answered = ids.chain((id) => {
  const calls = listOf(objectOf({ id: fc.constant(id), function: called }), 1);
  return fc.tuple(
    objectOf({ role: assistantRole, content, tool_calls: calls }),
    objectOf({ role: fc.constant("tool"), tool_call_id: fc.constant(id), content }),
  );
});

const conversation = fc
  .tuple(
    listOf(weighted([4, message], [1, choice])),
    fc.oneof(fc.constant([]), answered),
    objectOf({ role: assistantRole, content }),
  )
  .map(([own, more, last]) => (Array.isArray(own) ? [...own, ...more, last] : own));

const rewards = weighted([9, fc.double({ min: -1, max: 1, noNaN: true })], [1, numbers]);
const versions = mostly(fc.integer({ min: 3, max: 4 }), anything);
const parameters = fc.constant(object({ type: "object" }));

const optional = {
  metrics: objectOf({ turns: fc.nat(), score: numbers, right: fc.boolean() }),
  metadata: objectOf({
    task: scalars,
    level: scalars,
    seed: mostly(some("s-1", 7, null), some(raw("7.0"), { members: [] })),
  }),
  logs: listOf(texts),
  tools: listOf(
    objectOf({
      type: fc.constant("function"),
      function: objectOf({ name: toolNames, description: texts, parameters }),
    }),
  ),
  start_time: mostly(
    some("2024-05-15T15:00:00Z", "2024-05-15T15:00+02:00", "2024-05-15 15:00 -0500", "noon"),
    some("2024-05-15 15:00:00", "2024-05-15", "2024-05-15T15:00:0z ", 5),
  ),
  initial_policy_version: versions,
  final_policy_version: versions,
  additional_histories: listOf(objectOf({ messages_and_choices: conversation })),
  group_id: mostly(some("g-1", 1, null, true), some("naïve", 10 ** 16, [], ...raws("1.0", "-0", '"g\\u002d1"'))),
  seed: mostly(some("s-1", 7, null), some([], raw("-0"))),
};

const sometimesNull = (value) => weighted([9, value], [1, fc.constant(null)]);

const trajectory = fc.subarray(Object.keys(optional), { maxLength: 4 }).chain((names) =>
  objectOf({
    messages_and_choices: conversation,
    reward: rewards,
    ...Object.fromEntries(names.map((name) => [name, sometimesNull(optional[name])])),
  }),
);

const group = objectOf({ trajectories: listOf(trajectory) });

const values = weighted(
  [6, group],
  [6, trajectory],
  [1, objectOf({ trajectories: listOf(trajectory), exceptions: listOf(texts), metadata: anything })],
  [1, objectOf({ split: fc.constant("train"), trajectory_groups: listOf(group) })],
  [1, anything],
);

const spaces = some("", "", " ", "\t ", "  ");

const line = weighted(
  [20, fc.tuple(values, spaces, spaces).map(([value, space, around]) => around + written(value, space) + around)],
  [1, some("", " ", "\r", "\ufeff{}", "nonsense", '{"trajectories":[', "{} {}")],
);

const file = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 6 }), some("\n", "\r\n", "\n\n"), fc.boolean())
  .map(([lines, end, last]) => Buffer.from(lines.join(end) + (last ? end : "")));
