/** Rules of a run beside its text: what a service answered, what the ledger knows, what a file does that is still written. */
import { counted } from "../../counted.ts";
import { said } from "./example.ts";
import { error, errorOfInput, warning } from "./rule.ts";

/** What a service answered, what the ledger knows of an input, and what a followed file does. */
export const runRules = {
  "input-changed": errorOfInput({
    says: "the file changed while rollcall read it",
    advice: "run the same command again once nothing writes to it any more",
    why: "What is sent is what was checked: the bytes of a file that is logged may grow, and not change.",
    ...said(undefined, { file: "step.jsonl" }),
  }),
  "baseline-changed": warning<{ groups: number }>({
    says: ({ groups }) =>
      groups === 1
        ? "a group keeps only some of its trajectories: the mean that rewards are held against is another one"
        : `${groups} groups keep only some of their trajectories: the mean that rewards are held against is another one`,
    advice: "choose by group.… to keep or leave groups whole, or say --allow baseline-changed where it is meant",
    why: "Most trainers hold each reward against the mean of its group: leaving trajectories out moves it.",
    ...said({ groups: 3 }, { file: "step.jsonl", line: 3 }),
  }),
  "input-replaced": warning({
    says: "another file stands here by now: what was checked of the one before was sent, and nothing of this one",
    advice: "log it too: with the ledger that is the same command, which sends what is new and nothing twice",
    why: "A file that is open stays what it was while another takes its name: what was checked is what is sent.",
    ...said(undefined, { file: "step.jsonl" }),
  }),
  "answer-unreadable": warning<{ cut: boolean }>({
    says: ({ cut }) =>
      cut ? "the answer broke off, after the service had said that it logged the request" : "the answer is not JSON",
    advice: "nothing has to be sent again; what the answer would have said is not known",
    why: "The service took the request; its answer can't be read.",
    said: { cut: true },
  }),
  "refused-by-service": error<{ text: string }>({
    says: ({ text }) => text,
    quiet: "the service refused it",
    advice: "make the value what the service asks for, and log the file again",
    why: "The service refused the request, and named this value.",
    ...said({ text: "Input should be a valid string" }, { file: "step.jsonl", line: 3 }),
  }),
  "group-refused": error<{ text: string | undefined }>({
    says: ({ text }) => `the service refused this group${text === undefined ? "" : `: ${text}`}`,
    quiet: "the service refused this group",
    advice: "fix the group, or leave it out; the service's words say why",
    why: "The service refused the request for this group, which is left out with `--on-refused skip`.",
    ...said({ text: "Input should be a valid string" }, { file: "step.jsonl", line: 3 }),
  }),
  "group-too-large": error<{ bytes: number }>({
    says: ({ bytes }) => `the service takes no request of ${bytes} bytes, and one group can't be split`,
    advice: "make the group smaller, or ask for a larger limit at the service",
    why: "The service's limit is smaller than the group alone.",
    ...said({ bytes: 70_000_000 }, { file: "step.jsonl", line: 3 }),
  }),
  "group-repeated": error({
    says: "this group was logged more than once",
    advice:
      "`rollcall ledger status` with the file names the requests; --model, --split and --batch verify some of them alone",
    why: "`ledger verify` found more than one accepted request that holds the group.",
    ...said(undefined, { file: "step.jsonl", line: 3 }),
  }),
  "group-unknown": error({
    says: "it is not known whether this group was logged",
    advice:
      "the same `rollcall log` command settles it within 24 hours, where the service honours Idempotency-Key; else `rollcall ledger status` names the request, and `rollcall ledger resolve` settles it",
    why: "`ledger verify` found only a request of unknown outcome that holds the group.",
    ...said(undefined, { file: "step.jsonl", line: 3 }),
  }),
  "group-not-sent": error({
    says: "this group was not logged",
    advice: "`rollcall log` with the file sends what is left, and nothing twice",
    why: "`ledger verify` found no request that holds the group and was accepted.",
    ...said(undefined, { file: "step.jsonl", line: 3 }),
  }),
  "group-rejected": error({
    says: "this group has errors that were counted, but not kept",
    advice: "fix the others, and check again",
    why: "Of a rule that is broken very often, a bounded number of problems is kept.",
    ...said(undefined, { file: "step.jsonl", line: 3 }),
  }),
  "logged-before": warning<{ groups: number; at: string }>({
    says: ({ groups, at }) =>
      `${counted(groups, "group was", "groups were")} logged before from an input of another name, last at ${at}`,
    advice: "that is right for a file that was moved; --batch tells equal groups of different steps apart",
    why: "The ledger knows groups of the input from a file of another name.",
    said: { groups: 20, at: "2025-11-01T09:30:00.000Z" },
  }),
  "unknown-left": warning<{ requests: number; groups: number }>({
    says: ({ requests, groups }) =>
      `it is not known whether ${counted(groups, "group")} in ${requests === 1 ? "an earlier request" : `${requests} earlier requests`} ${groups === 1 ? "was" : "were"} logged: rollcall leaves ${requests === 1 ? "it" : "them"} alone`,
    advice: "`rollcall ledger status` names them; --on-unknown resend, or `rollcall ledger resolve`, settles them",
    why: "What became of a request could not be known, and nobody has settled it since.",
    said: { requests: 1, groups: 8 },
  }),
  "unknown-not-whole": warning<{ id: string; lacks: "groups" | "keys" }>({
    says: ({ id, lacks }) =>
      `request ${id} can't be sent again as it was: ${lacks === "groups" ? "the input lacks some of its groups" : "the input has other keys beside its groups"}`,
    advice: "give all the files that it was made of, as they were, or settle it with `rollcall ledger resolve`",
    why: "A request of unknown outcome is sent again as exactly what it was, or not at all.",
    said: { id: "7", lacks: "groups" },
  }),
  "ledger-new": warning<{ path: string }>({
    says: ({ path }) => `a new ledger was started at ${path}: nothing is known of earlier runs`,
    quiet: "a new ledger was started: nothing is known of earlier runs",
    advice: "keep the file between runs (a cache of the CI system), and name it with --ledger --require-ledger",
    why: "A build system that throws the ledger away forgets what was logged.",
    said: { path: "~/.local/share/rollcall/ledger.db" },
  }),
  "group-changed": warning<{ id: string; line: number }>({
    says: ({ id, line }) =>
      `the group ${id}, which was complete (line ${line}), grew: what came later is a group of its own`,
    quiet: "a group that was complete grew: what came later is a group of its own",
    advice: "--group-size says how many trajectories make a group, --group-idle how long to wait for the next one",
    why: "With `--follow`, a group that was complete, and logged, grew: what was logged can't be changed.",
    said: { id: '"a"', line: 12 },
  }),
  "group-open": warning<{ groups: number }>({
    says: ({ groups }) => `${counted(groups, "group was", "groups were")} not complete, and not sent`,
    advice: "the same command goes on with them; with --group-idle 0s they are complete as they stand",
    why: "With `--follow`, groups by key stay open until they are complete, or nothing has come for a while.",
    said: { groups: 2 },
  }),
  "line-unfinished": warning<{ bytes: number }>({
    says: ({ bytes }) => `the last line has no end yet: its ${bytes} bytes were not sent`,
    advice:
      "the same command goes on with it, once it is written to its end; without --follow it is taken as it stands",
    why: "With `--follow`, the file ends in the middle of a line, which its writer has yet to end.",
    said: { bytes: 512 },
  }),
};
