/** Rules of inputs that don't fit together, or don't fit into a request. */
import { file, goodGroup, said, trajectory, withContent } from "./example.ts";
import { error, errorOfInput, errorOfWhole, warning, warningOfWhole } from "./rule.ts";

/** Whether what a record lacks can be given on the command line: the record is sound then. */
const namesOption = (wrong: string): boolean => /(?<![\w-])--\w/.test(wrong);

/** What inputs are together. */
export const inputRules = {
  "record-broken": error<{ format: string; wrong: string | undefined }>({
    says: ({ format, wrong }) =>
      wrong === undefined
        ? `this is no JSON, and no record of ${format}`
        : `this record of ${format} can't be converted: ${wrong}`,
    quiet: "this record of another tool's file can't be converted",
    advice: ({ wrong = "" }) =>
      `${namesOption(wrong) ? "set the option that it names" : "fix the record, or have it written anew"}; --on-invalid skip of log and convert leaves its group out, and writes the record aside`,
    why: "A record of another tool's file is not as that tool writes it, so that nobody can say what its trajectory is; or it is, and records no reward, which an option can give.",
    ...said({ format: "verifiers-v0", wrong: "completion is missing" }, { file: "results.jsonl", line: 7 }),
  }),
  "format-in-doubt": errorOfInput<{ formats: readonly string[]; files: readonly string[] }>({
    says: ({ formats, files }) =>
      new Set(files).size === 1
        ? `the input may be ${formats.join(" or ")}`
        : `files are of several formats: ${formats.map((format, at) => `${files[at]} of ${format}`).join(", ")}`,
    advice: ({ formats, files }) =>
      new Set(files).size === 1
        ? `say which: --from ${formats[0] ?? "rollcall"}`
        : `give the files of one format at a time; of a folder, --from ${formats[0] ?? "rollcall"} takes those of that format`,
    why: "Formats put groups and rewards in different places: a wrong guess would spoil the baseline without an error.",
    said: { formats: ["verifiers-v0", "rollcall"], files: ["results.jsonl", "groups.jsonl"] },
    where: { file: "groups.jsonl" },
  }),
  "format-lossy": errorOfInput<{ format: string }>({
    says: ({ format }) => `${format} has lost a part of what was said and sampled`,
    advice: "say --lossy where that does for you",
    why: "Text that was decoded lacks special tokens and turns: what a trainer makes of it is not what the model sampled.",
    ...said({ format: "verl" }, { file: "1.jsonl" }),
  }),
  "group-scattered": error<{ id: string; line: number }>({
    says: ({ id, line }) => `group_id ${id} comes again: its group ended before this line (it began on line ${line})`,
    quiet: "a group_id comes again: its group ended before this line",
    advice: "sort the lines by group_id, or say --group-by group_id",
    why: "Lines that belong to one group stand side by side, so that a group is whole when the next begins.",
    fires: file(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n")),
    passes: {
      ...file(["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n")),
      groupBy: "group_id",
    },
  }),
  "group-in-doubt": errorOfWhole<{ place: string }>({
    says: ({ place }) => `${place} can't be read, and may belong to this group`,
    quiet: "something beside it can't be read, and may belong to this group",
    advice:
      "fix that, or take it away where it belongs to no group: what is logged without it would be logged again with it",
    why: "A group is logged whole or not at all. Of what can't be read nobody knows the group: the groups beside it may lack a trajectory, and all may where no group of several shows that their lines stand side by side.",
    fires: file(
      [trajectory(0, ',"group_id":"a"'), trajectory(1, ',"group_id":"a"'), '{"group_id":"a","rew'].join("\n"),
    ),
    passes: file([trajectory(0), trajectory(1), '{"group_id":"a","rew'].join("\n")),
  }),
  "group-key-missing": warning<{ key: string }>({
    says: ({ key }) => `there is no ${key} to group by: the trajectory is a group of its own`,
    quiet: "there is no key to group by: the trajectory is a group of its own",
    advice: "give every trajectory the key, or group by another",
    why: "With `--group-by`, a trajectory says which group it belongs to; one that does not is held against no other.",
    fires: { ...file(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1)}`), groupBy: "prompt_id" },
    passes: {
      ...file(`${trajectory(0, ',"prompt_id":["a"]')}\n${trajectory(1, ',"metadata":{"prompt_id":"a"}')}`),
      groupBy: "prompt_id",
    },
  }),
  "group-key-nowhere": errorOfInput<{ key: string; others: readonly string[] }>({
    says: ({ key }) => `no trajectory has ${key} to group by, neither at the top nor in its metadata`,
    quiet: "no trajectory has the key to group by",
    advice: ({ others }) =>
      others.length === 0
        ? "give every trajectory a key of its group, or leave --group-by out"
        : `keys that there are: ${others.join(", ")}; one inside another is named with a dot: info.prompt_id`,
    why: "With `--group-by`, trajectories of the same key are a group. A key that no line has is probably misspelled.",
    fires: {
      ...file(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1, ',"prompt_id":"a"')}`),
      groupBy: "promptid",
    },
    passes: {
      ...file(`${trajectory(0, ',"info":{"prompt_id":"a"}')}\n${trajectory(1, ',"info":{"prompt_id":"a"}')}`),
      groupBy: "info.prompt_id",
    },
  }),
  "split-differs": errorOfInput<{ own: string; given: string }>({
    says: ({ own, given }) => `the request is for the split ${own}, not for ${given}`,
    quiet: "the request is for another split than the one in force",
    advice: ({ own }) => `say --split ${own}, or log it by itself`,
    why: "A whole request names its split, and it is not the one that was asked for.",
    fires: { ...file(`{"split":"val","trajectory_groups":[${goodGroup}]}`), split: "train" },
    passes: {
      ...file(`{"split":"train","trajectory_groups":[${goodGroup}]}`),
      split: "train",
    },
  }),
  "request-keys-differ": errorOfInput<{ key: string; other: string }>({
    says: ({ key, other }) => `${key} is not what it is in ${other}, and a request has only one`,
    quiet: "a key of the request differs from what it is in another, and a request has only one",
    advice: "log them one by one",
    why: "What a whole request holds beside its groups goes into every request made of it, so it has to be the same everywhere.",
    fires: {
      files: {
        "a.json": `{"split":"train","run":"a","trajectory_groups":[${goodGroup}]}`,
        "b.json": `{"split":"train","run":"b","trajectory_groups":[]}`,
      },
    },
    passes: {
      files: {
        "a.json": `{"split":"train","run":"a","trajectory_groups":[${goodGroup}]}`,
        "b.json": `{"split":"train","run":"a","trajectory_groups":[]}`,
      },
    },
  }),
  "mixed-shapes": warning<{ shapes: readonly string[] }>({
    says: ({ shapes }) => `the input mixes ${shapes.join(" and ")}`,
    advice: "give files of one shape, unless you mean it",
    why: "Whole requests, groups and bare trajectories in one run are seldom meant.",
    ...withContent(`${goodGroup}\n${trajectory(1)}`, goodGroup),
  }),
  "split-requests": warning<{ requests: number; tooLarge?: boolean }>({
    says: ({ requests }) => `this takes ${requests} requests, and the service computes its metrics for each by itself`,
    advice: ({ tooLarge }) =>
      tooLarge === true
        ? "the service takes no larger ones (413): one request needs a larger limit there"
        : "a larger --max-request-size makes it one, where the service takes as much (rollcall's own: 64 MiB, its max_body_size)",
    why: "More than one request fits the input, and the service computes its metrics for each.",
    said: { requests: 3 },
  }),
  "group-over-limit": warningOfWhole<{ bytes: number; limit: number; tooLarge?: boolean }>({
    says: ({ bytes, limit }) => `the group alone makes a request of ${bytes} bytes, more than the limit of ${limit}`,
    advice: ({ tooLarge }) =>
      tooLarge === true
        ? "it is sent by itself, though the service took no request of that size before (413): make the group smaller, or ask for a larger limit there"
        : "it is sent by itself; a larger --max-request-size says that this is meant",
    why: "A group is never split, so one that is larger than `--max-request-size` is sent by itself.",
    ...said({ bytes: 40_000_000, limit: 33_554_432 }, { file: "step.jsonl", line: 7 }),
  }),
};
