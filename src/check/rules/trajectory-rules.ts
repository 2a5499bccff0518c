/** Rules of trajectories and their groups: what the interface asks for, and what services that were deployed ask beyond it. */
import {
  answer,
  called,
  file,
  goodGroup,
  group,
  messages,
  question,
  result,
  trajectory,
  withContent,
  withMembers,
} from "./example.ts";
import { error, warning } from "./rule.ts";

/** What fixes it, looked for where somebody reads it. */
type Found = () => string | undefined;

/** What fields and values look like, by the names that they have in a sentence. */
const shapes: Readonly<Record<string, string>> = {
  "a group": 'a group is {"trajectories": [{…}, {…}]}',
  "a trajectory": 'a trajectory is {"messages_and_choices": [{…}, {…}], "reward": 1}',
  trajectory_groups: 'a request is {"split": "train", "trajectory_groups": [{…}, {…}]}',
  trajectories: 'a group is {"trajectories": [{…}, {…}]}',
  messages_and_choices: 'a trajectory is {"messages_and_choices": [{…}, {…}], "reward": 1}',
  reward: 'reward is one number for the whole trajectory: "reward": 1',
  function: 'a tool is {"type": "function", "function": {"name": …}}',
};

/** Values that are not as the interface's tables have them (interface 2.1). */
export const typeRules = {
  "missing-field": error<{ field: string; instead: Found }>({
    says: ({ field }) => `${field} is missing`,
    advice: ({ field, instead }) => instead() ?? shapes[field] ?? `add ${field}: the interface asks for it`,
    why: "The interface asks for the field.",
    ...withContent(`{"messages":[${question}],"reward":1}`, trajectory(1)),
  }),
  "wrong-type": error<{ field: string; wanted: string; found: string; instead?: Found }>({
    says: ({ field, wanted, found }) => `${field} must be ${wanted}, not ${found}`,
    advice: ({ field, wanted, instead }) => instead?.() ?? shapes[field] ?? `write ${wanted}`,
    why: "The interface gives the field another type.",
    ...withContent(trajectory('"0.5"'), trajectory(0.5)),
  }),
  "start-time-wrong": error({
    says: "start_time must be an ISO 8601 date-time",
    advice:
      'write it as "2025-11-01T09:30:00Z" (in Python: datetime.now(timezone.utc).isoformat()), or leave the key out',
    why: "The interface asks for a date and a time that there are: neither a date alone nor the 30th of February is one.",
    ...withMembers(',"start_time":"yesterday"', ',"start_time":"2024-02-29T23:59:60.5-08:00"'),
  }),
  "not-an-object": error<{ found: string }>({
    says: ({ found }) => `a line is a request, a group, a trajectory or an array of them, not ${found}`,
    advice: ({ found }) =>
      found === "a string"
        ? "the JSON was written twice: parse the string once more"
        : found === "an array"
          ? "there is one array too many around it"
          : `${shapes["a group"]}; ${shapes["a trajectory"]}`,
    why: "A line is none of what the interface knows.",
    ...withContent(JSON.stringify(trajectory(1)), `[${trajectory(0)},${trajectory(1)}]`),
  }),
  "duplicate-key": error<{ key: string }>({
    says: ({ key }) => `${key} stands twice in one object, and one of them would be lost`,
    advice: ({ key }) => (key === "split" ? "leave one of them" : "put all of them into one array"),
    why: "JSON readers keep one of two equal keys: the trajectories under the other, or its split, would be lost.",
    fires: file(`{"trajectories":[${trajectory(0)}],"trajectories":[${trajectory(1)}]}`),
    passes: file(group(trajectory(0, ',"logs":["\\"trajectories\\""]'), trajectory(1))),
  }),
};

const leaveOut = "leave the key out (in Pydantic: model_dump(exclude_none=True))";

/** Values that the interface leaves open, and that deployed services or their metrics don't. */
export const fieldRules = {
  "tool-incomplete": warning<{ field: string }>({
    says: ({ field }) => `a tool has no ${field}`,
    advice: 'a tool is {"type": "function", "function": {"name": …}}',
    why: "The interface lets a tool lack its type and its function a name; chat templates and many services do not.",
    fires: file(trajectory(1, ',"tools":[{"function":{"name":"search"}}]')),
    passes: file(trajectory(1, ',"tools":[{"type":"function","function":{"name":"search"}}]')),
  }),
  "group-empty": warning<{ hasExceptions: boolean }>({
    says: ({ hasExceptions }) =>
      hasExceptions ? "the group has exceptions, and no trajectories" : "the group has no trajectories",
    advice: ({ hasExceptions }) =>
      hasExceptions
        ? "keep it, so that exception_rate counts what failed, with --allow group-empty where that is meant; without it the rate is too low"
        : "leave it out",
    why: "A group without trajectories counts, and teaches nothing. Where all of its rollouts failed, they count as its exceptions.",
    ...withContent(group(), goodGroup),
  }),
  "null-field": warning<{ field: string }>({
    says: ({ field }) => `${field} is null`,
    advice: leaveOut,
    why: "Some services refuse null where a field may be left out.",
    ...withMembers(',"tools":null', ',"tools":[]'),
  }),
  "reward-not-finite": warning({
    says: "the reward is too large for a number, and left out of the metrics",
    advice: "write a finite number",
    why: "A number such as 1e400 is JSON, and no double.",
    ...withContent(trajectory("1e400"), trajectory("1e300")),
  }),
  "metric-not-finite": warning<{ key: string }>({
    says: ({ key }) => `the metric ${key} is too large for a number, and left out of the metrics`,
    quiet: "a metric is too large for a number, and left out of the metrics",
    advice: "write a finite number, or leave the key out",
    why: "A number such as 1e400 is JSON, and no double.",
    ...withMembers(',"metrics":{"loss":1e400}', ',"metrics":{"loss":1e300}'),
  }),
  "exception-in-trajectory": warning<{ key: string }>({
    says: ({ key }) => `a trajectory has ${key} of its own, and counts as one that came to its end, with its reward`,
    advice:
      'a rollout that failed is no trajectory: leave it out, and count it in its group: {"trajectories": […], "exceptions": ["…"]}; where its reward counts, put the text into metadata',
    why: "One rollout is one thing: with a reward a trajectory, without one an exception. `exception_rate` counts the `exceptions` of groups alone, and a reward that nothing earned spoils the baseline of its group.",
    fires: file(trajectory(0, ',"exception":"TimeoutError: no answer within 60 s"')),
    passes: file(trajectory(0, ',"exception":null')),
  }),
  "metric-type": warning<{ key: string; found: string }>({
    says: ({ key, found }) => `the metric ${key} is ${found}, not a number or a boolean, and left out of the metrics`,
    quiet: "a metric is not a number or a boolean, and left out of the metrics",
    advice: "write a number, leave the key out, or put it into metadata",
    why: "A metric is a number or a boolean: nothing else has a mean.",
    ...withMembers(',"metrics":{"solved":"yes"}', ',"metrics":{"solved":true}'),
  }),
  "metric-name": warning<{ key: string }>({
    says: ({ key }) => `a metric can't be called ${key}, which is calculated, and is left out of the metrics`,
    quiet: "a metric has the name of one that is calculated, and is left out of the metrics",
    advice: "give it another name",
    why: "`reward`, `reward_std_dev` and `exception_rate` are calculated.",
    ...withMembers(',"metrics":{"reward":1}', ',"metrics":{"rewards":1}'),
  }),
  "metadata-nested": warning<{ key: string; found: string }>({
    says: ({ key, found }) => `metadata.${key} is ${found}: metadata holds strings, numbers, booleans and null`,
    quiet: "a value of metadata is nested: metadata holds strings, numbers, booleans and null",
    advice: "write it as a string",
    why: "Services refuse lists and objects in metadata.",
    ...withMembers(',"metadata":{"task":{"id":3}}', ',"metadata":{"task_id":3}'),
  }),
  "log-type": warning<{ found: string }>({
    says: ({ found }) => `a log is ${found}, not a string`,
    advice: "write it as a string",
    why: "Services refuse logs that are not strings.",
    ...withMembers(',"logs":[{"step":1}]', ',"logs":["step 1"]'),
  }),
  "message-type": warning<{ found: string }>({
    says: ({ found }) => `a message or choice is ${found}, not an object`,
    advice: 'a message is {"role": …, "content": …}',
    why: "A message is an object with a role, a choice one with a message.",
    ...withContent(messages('"2+2?"', answer), messages(question, answer)),
  }),
  "role-missing": warning<{ instead: Found }>({
    says: "a message has no role, and is no choice",
    advice: ({ instead }) => instead() ?? "give it a role, or put it into a choice's message",
    why: "Services tell messages apart by their role.",
    fires: file(messages('{"from":"human","value":"2+2?"}', answer)),
    passes: file(messages(question, `{"finish_reason":"stop","index":0,"message":${answer}}`)),
  }),
  "role-unknown": warning<{ role: string; suggestion: Found }>({
    says: ({ role }) => `the role ${role} is unknown`,
    quiet: "the role is unknown",
    advice: ({ suggestion }) => {
      const meant = suggestion();
      return meant === undefined
        ? "roles are developer, system, user, assistant, tool and function"
        : `did you mean ${meant}?`;
    },
    why: "Services refuse roles that they do not know: a slip, or the name another framework has for it.",
    fires: file(messages('{"role":"human","content":"2+2?"}', answer)),
    passes: file(messages('{"role":"developer","content":"Be short."}', question, answer)),
  }),
  "tool-call-id-missing": warning({
    says: "a tool message has no tool_call_id",
    advice: "give it the id of the call that it answers",
    why: "A tool's result names the call that it answers.",
    fires: file(messages(question, called, '{"role":"tool","content":"found"}', answer)),
    passes: file(messages(question, called, result, answer)),
  }),
  "content-type": warning<{ found: string }>({
    says: ({ found }) => `content is ${found}, not a string, an array of parts or null`,
    advice: "write it as text (in Python: json.dumps makes text of it)",
    why: "Content is a string, an array of parts, or null.",
    fires: file(messages('{"role":"user","content":{"text":"2+2?"}}', answer)),
    passes: file(messages('{"role":"user","content":[{"type":"text","text":"2+2?"}]}', answer)),
  }),
  "tool-calls-null": warning({
    says: "tool_calls is null, which only a choice's message may have",
    advice: leaveOut,
    why: "Services refuse `tool_calls: null` in a message; in a choice's message it is usual.",
    fires: file(messages(question, '{"role":"assistant","content":"4","tool_calls":null}')),
    passes: file(
      messages(
        question,
        '{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"4","tool_calls":null}}',
      ),
    ),
  }),
  "tool-calls-type": warning<{ found: string }>({
    says: ({ found }) => `tool_calls is ${found}, not an array`,
    advice: "make it an array of calls",
    why: "Tool calls are an array.",
    fires: file(messages(question, '{"role":"assistant","content":"4","tool_calls":{}}')),
    passes: file(messages(question, '{"role":"assistant","content":"4","tool_calls":[]}')),
  }),
  "history-type": warning<{ found: string }>({
    says: ({ found }) => `an additional history is ${found}, not an object with messages_and_choices`,
    advice: 'write it as {"messages_and_choices": […]}',
    why: "An additional history holds messages of its own.",
    fires: file(trajectory(1, ',"additional_histories":["2+2?"]')),
    passes: file(trajectory(1, `,"additional_histories":[{"messages_and_choices":[${question}]}]`)),
  }),
};
