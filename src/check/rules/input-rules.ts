/** Rules of inputs that don't fit together, or into a request; and of a run: answers, the ledger, files that still grow. */
import { pluralize } from "../../sentences.ts";
import {
  error,
  errorOfGroup,
  errorOfInput,
  fileExample,
  goodGroup,
  problemExample,
  trajectory,
  warning,
  warningOfGroup,
} from "./rule.ts";

/** Whether what a record lacks can be given on the command line: the record is sound then. */
const mentionsOption = (wrong: string): boolean => /(?<![\w-])--\w/.test(wrong);

/** What inputs are together. */
export const inputRules = {
  "record-invalid": error<{ format: string; wrong: string | undefined }>({
    message: ({ format, wrong }) =>
      wrong === undefined
        ? `this is no JSON, and no record of ${format}`
        : `this record of ${format} can't be converted: ${wrong}`,
    redactedMessage: "this record of another tool's file can't be converted",
    advice: ({ wrong = "" }) =>
      `${mentionsOption(wrong) ? "set the option that it names" : "fix the record, or have it written anew"}; --on-invalid skip of log and convert leaves its group out, and writes the record aside`,
    why: "A record of another tool's file is not as that tool writes it, so that nobody can say what its trajectory is; or it is, and records no reward, which an option can give.",
    example: problemExample({ format: "verifiers-v0", wrong: "completion is missing" }, "results.jsonl", 7),
  }),
  "ambiguous-format": errorOfInput<{ formats: readonly string[]; files: readonly string[] }>({
    message: ({ formats, files }) =>
      new Set(files).size === 1
        ? `the input may be ${formats.join(" or ")}`
        : `files are of several formats: ${formats.map((format, at) => `${files[at]} of ${format}`).join(", ")}`,
    advice: ({ formats, files }) =>
      new Set(files).size === 1
        ? `say which: --from ${formats[0] ?? "rollcall"}`
        : `give the files of one format at a time; of a folder, --from ${formats[0] ?? "rollcall"} takes those of that format`,
    why: "Formats put groups and rewards in different places: a wrong guess would spoil the baseline without an error.",
    example: problemExample(
      { formats: ["verifiers-v0", "rollcall"], files: ["results.jsonl", "groups.jsonl"] },
      "groups.jsonl",
    ),
  }),
  "lossy-format": errorOfInput<{ format: string }>({
    message: ({ format }) => `${format} has lost a part of what was said and sampled`,
    advice: "say --lossy where that does for you",
    why: "Text that was decoded lacks special tokens and turns: what a trainer makes of it is not what the model sampled.",
    example: problemExample({ format: "verl" }, "1.jsonl"),
  }),
  "group-scattered": error<{ id: string; line: number }>({
    message: ({ id, line }) =>
      `group_id ${id} comes again: its group ended before this line (it began on line ${line})`,
    redactedMessage: "a group_id comes again: its group ended before this line",
    advice: "sort the lines by group_id, or say --group-by group_id",
    why: "Lines that belong to one group stand side by side, so that a group is whole when the next begins.",
    example: ["a", "b", "a"].map((id, at) => trajectory(at, `,"group_id":"${id}"`)).join("\n"),
  }),
  "ambiguous-group": errorOfGroup<{ place: string }>({
    message: ({ place }) => `${place} can't be read, and may belong to this group`,
    redactedMessage: "something beside it can't be read, and may belong to this group",
    advice:
      "fix that, or take it away where it belongs to no group: what is logged without it would be logged again with it",
    why: "A group is logged whole or not at all. Of what can't be read nobody knows the group: the groups beside it may lack a trajectory, and all may where no group of several shows that their lines stand side by side.",
    example: [trajectory(0, ',"group_id":"a"'), trajectory(1, ',"group_id":"a"'), '{"group_id":"a","rew'].join("\n"),
  }),
  "group-key-missing": warning<{ key: string }>({
    message: ({ key }) => `there is no ${key} to group by: the trajectory is a group of its own`,
    redactedMessage: "there is no key to group by: the trajectory is a group of its own",
    advice: "give every trajectory the key, or group by another",
    why: "With `--group-by`, a trajectory says which group it belongs to; one that does not is held against no other.",
    example: fileExample(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1)}`, { groupBy: "prompt_id" }),
  }),
  "group-key-unknown": errorOfInput<{ key: string; others: readonly string[] }>({
    message: ({ key }) => `no trajectory has ${key} to group by, neither at the top nor in its metadata`,
    redactedMessage: "no trajectory has the key to group by",
    advice: ({ others }) =>
      others.length === 0
        ? "give every trajectory a key of its group, or leave --group-by out"
        : `keys that there are: ${others.join(", ")}; one inside another is named with a dot: info.prompt_id`,
    why: "With `--group-by`, trajectories of the same key are a group. A key that no line has is probably misspelled.",
    example: fileExample(`${trajectory(0, ',"prompt_id":"a"')}\n${trajectory(1, ',"prompt_id":"a"')}`, {
      groupBy: "promptid",
    }),
  }),
  "split-mismatch": errorOfInput<{ own: string; given: string }>({
    message: ({ own, given }) => `the request is for the split ${own}, not for ${given}`,
    redactedMessage: "the request is for another split than the one in force",
    advice: ({ own }) => `say --split ${own}, or log it by itself`,
    why: "A whole request names its split, and it is not the one that was asked for.",
    example: fileExample(`{"split":"val","trajectory_groups":[${goodGroup}]}`, { split: "train" }),
  }),
  "request-key-mismatch": errorOfInput<{ key: string; other: string }>({
    message: ({ key, other }) => `${key} is not what it is in ${other}, and a request has only one`,
    redactedMessage: "a key of the request differs from what it is in another, and a request has only one",
    advice: "log them one by one",
    why: "What a whole request holds beside its groups goes into every request made of it, so it has to be the same everywhere.",
    example: {
      files: {
        "a.json": `{"split":"train","run":"a","trajectory_groups":[${goodGroup}]}`,
        "b.json": `{"split":"train","run":"b","trajectory_groups":[]}`,
      },
    },
  }),
  "mixed-shapes": warning<{ shapes: readonly string[] }>({
    message: ({ shapes }) => `the input mixes ${shapes.join(" and ")}`,
    advice: "give files of one shape, unless you mean it",
    why: "Whole requests, groups and bare trajectories in one run are seldom meant.",
    example: `${goodGroup}\n${trajectory(1)}`,
  }),
  "split-requests": warning<{ requests: number; tooLarge?: boolean }>({
    message: ({ requests }) =>
      `this takes ${requests} requests, and the service computes its metrics for each by itself`,
    advice: ({ tooLarge }) =>
      tooLarge === true
        ? "the service takes no larger ones (413): one request needs a larger limit there"
        : "a larger --max-request-size makes it one, where the service takes as much (rollcall's own: 64 MiB, its max_body_size)",
    why: "More than one request fits the input, and the service computes its metrics for each.",
    example: problemExample({ requests: 3 }),
  }),
  "group-over-limit": warningOfGroup<{ bytes: number; limit: number; tooLarge?: boolean }>({
    message: ({ bytes, limit }) => `the group alone makes a request of ${bytes} bytes, more than the limit of ${limit}`,
    advice: ({ tooLarge }) =>
      tooLarge === true
        ? "it is sent by itself, though the service took no request of that size before (413): make the group smaller, or ask for a larger limit there"
        : "it is sent by itself; a larger --max-request-size says that this is meant",
    why: "A group is never split, so one that is larger than `--max-request-size` is sent by itself.",
    example: problemExample({ bytes: 40_000_000, limit: 33_554_432 }, "step.jsonl", 7),
  }),
};

/** What a service answered, what the ledger knows of an input, and what a followed file does. */
export const runRules = {
  "input-changed": errorOfInput({
    message: "the file changed while rollcall read it",
    advice: "run the same command again once nothing writes to it any more",
    why: "What is sent is what was checked: the bytes of a file that is logged may grow, and not change.",
    example: problemExample(undefined, "step.jsonl"),
  }),
  "baseline-changed": warning<{ groups: number }>({
    message: ({ groups }) =>
      groups === 1
        ? "a group keeps only some of its trajectories: the mean that rewards are held against is another one"
        : `${groups} groups keep only some of their trajectories: the mean that rewards are held against is another one`,
    advice: "choose by group.… to keep or leave groups whole, or say --allow baseline-changed where it is meant",
    why: "Most trainers hold each reward against the mean of its group: leaving trajectories out moves it.",
    example: problemExample({ groups: 3 }, "step.jsonl", 3),
  }),
  "input-replaced": warning({
    message: "another file stands here by now: what was checked of the one before was sent, and nothing of this one",
    advice: "log it too: with the ledger that is the same command, which sends what is new and nothing twice",
    why: "A file that is open stays what it was while another takes its name: what was checked is what is sent.",
    example: problemExample(undefined, "step.jsonl"),
  }),
  "unreadable-response": warning<{ cut: boolean }>({
    message: ({ cut }) =>
      cut ? "the answer broke off, after the service had said that it logged the request" : "the answer is not JSON",
    advice: "nothing has to be sent again; what the answer would have said is not known",
    why: "The service took the request; its answer can't be read.",
    example: problemExample({ cut: true }),
  }),
  "refused-by-service": error<{ text: string }>({
    message: ({ text }) => text,
    redactedMessage: "the service refused it",
    advice: "make the value what the service asks for, and log the file again",
    why: "The service refused the request, and named this value.",
    example: problemExample({ text: "Input should be a valid string" }, "step.jsonl", 3),
  }),
  "group-refused": error<{ text: string | undefined }>({
    message: ({ text }) => `the service refused this group${text === undefined ? "" : `: ${text}`}`,
    redactedMessage: "the service refused this group",
    advice: "fix the group, or leave it out; the service's words say why",
    why: "The service refused the request for this group, which is left out with `--on-refused skip`.",
    example: problemExample({ text: "Input should be a valid string" }, "step.jsonl", 3),
  }),
  "group-too-large": error<{ bytes: number }>({
    message: ({ bytes }) => `the service takes no request of ${bytes} bytes, and one group can't be split`,
    advice: "make the group smaller, or ask for a larger limit at the service",
    why: "The service's limit is smaller than the group alone.",
    example: problemExample({ bytes: 70_000_000 }, "step.jsonl", 3),
  }),
  "duplicate-group": error({
    message: "this group was logged more than once",
    advice:
      "`rollcall ledger status` with the file names the requests; --model, --split and --batch verify some of them alone",
    why: "`ledger verify` found more than one accepted request that holds the group.",
    example: problemExample(undefined, "step.jsonl", 3),
  }),
  "unresolved-group": error({
    message: "it is not known whether this group was logged",
    advice:
      "the same `rollcall log` command settles it within 24 hours, where the service honours Idempotency-Key; else `rollcall ledger status` names the request, and `rollcall ledger resolve` settles it",
    why: "`ledger verify` found only a request of unknown outcome that holds the group.",
    example: problemExample(undefined, "step.jsonl", 3),
  }),
  "group-not-logged": error({
    message: "this group was not logged",
    advice: "`rollcall log` with the file sends what is left, and nothing twice",
    why: "`ledger verify` found no request that holds the group and was accepted.",
    example: problemExample(undefined, "step.jsonl", 3),
  }),
  "group-rejected": error({
    message: "this group has errors that were counted, but not kept",
    advice: "fix the others, and check again",
    why: "Of a rule that is broken very often, a bounded number of problems is kept.",
    example: problemExample(undefined, "step.jsonl", 3),
  }),
  "logged-before": warning<{ groups: number; at: string }>({
    message: ({ groups, at }) =>
      `${pluralize(groups, "group was", "groups were")} logged before from an input of another name, last at ${at}`,
    advice: "that is right for a file that was moved; --batch tells equal groups of different steps apart",
    why: "The ledger knows groups of the input from a file of another name.",
    example: problemExample({ groups: 20, at: "2025-11-01T09:30:00.000Z" }),
  }),
  "unresolved-requests": warning<{ requests: number; groups: number }>({
    message: ({ requests, groups }) =>
      `it is not known whether ${pluralize(groups, "group")} in ${requests === 1 ? "an earlier request" : `${requests} earlier requests`} ${groups === 1 ? "was" : "were"} logged: rollcall leaves ${requests === 1 ? "it" : "them"} alone`,
    advice: "`rollcall ledger status` names them; --on-unknown resend, or `rollcall ledger resolve`, settles them",
    why: "What became of a request could not be known, and nobody has settled it since.",
    example: problemExample({ requests: 1, groups: 8 }),
  }),
  "resend-impossible": warning<{ id: string; lacks: "groups" | "keys" }>({
    message: ({ id, lacks }) =>
      `request ${id} can't be sent again as it was: ${lacks === "groups" ? "the input lacks some of its groups" : "the input has other keys beside its groups"}`,
    advice: "give all the files that it was made of, as they were, or settle it with `rollcall ledger resolve`",
    why: "A request of unknown outcome is sent again as exactly what it was, or not at all.",
    example: problemExample({ id: "7", lacks: "groups" }),
  }),
  "new-ledger": warning<{ path: string }>({
    message: ({ path }) => `a new ledger was started at ${path}: nothing is known of earlier runs`,
    redactedMessage: "a new ledger was started: nothing is known of earlier runs",
    advice: "keep the file between runs (a cache of the CI system), and name it with --ledger --require-ledger",
    why: "A build system that throws the ledger away forgets what was logged.",
    example: problemExample({ path: "~/.local/share/rollcall/ledger.db" }),
  }),
  "group-changed": warning<{ id: string; line: number }>({
    message: ({ id, line }) =>
      `the group ${id}, which was complete (line ${line}), grew: what came later is a group of its own`,
    redactedMessage: "a group that was complete grew: what came later is a group of its own",
    advice: "--group-size says how many trajectories make a group, --group-idle how long to wait for the next one",
    why: "With `--follow`, a group that was complete, and logged, grew: what was logged can't be changed.",
    example: problemExample({ id: '"a"', line: 12 }),
  }),
  "incomplete-group": warning<{ groups: number }>({
    message: ({ groups }) => `${pluralize(groups, "group was", "groups were")} not complete, and not sent`,
    advice: "the same command goes on with them; with --group-idle 0s they are complete as they stand",
    why: "With `--follow`, groups by key stay open until they are complete, or nothing has come for a while.",
    example: problemExample({ groups: 2 }),
  }),
  "incomplete-line": warning<{ bytes: number }>({
    message: ({ bytes }) => `the last line has no end yet: its ${bytes} bytes were not sent`,
    advice:
      "the same command goes on with it, once it is written to its end; without --follow it is taken as it stands",
    why: "With `--follow`, the file ends in the middle of a line, which its writer has yet to end.",
    example: problemExample({ bytes: 512 }),
  }),
};
