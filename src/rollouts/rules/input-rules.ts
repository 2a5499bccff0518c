/** Defines rules for the whole input, responses, the ledger and growing files. */

import { pluralize } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { formatRoundedSize } from "../../text/units.ts";
import { error, errorOfInput, errorOfWhole, warning, warningOfInput } from "./rule.ts";

/** Splits the text `fault (fix)`. */
export const splitFix = (whole: string, defaultFix = "fix the record") => {
  const [, fault = whole, fix] = /^(.*) \(((?:pass|add|write|omit|give|read|collect) .*)\)$/s.exec(whole) ?? [];
  return { fault, fix: fix ?? (/(?<![\w-])--\w/.test(whole) ? "correct the option or the record" : defaultFix) };
};

const skipReasons = {
  content: ["found no rollout in this file", "check the file alone to see the reason"],
  name: [
    "the name does not end like the name of a rollout file",
    "rename the file to end in .jsonl, .json or .parquet (before .gz or .zst)",
  ],
  compression: ["rollcall does not read this compression", "decompress the file, or compress it with gzip or zstd"],
  dangling: ["the link leads to nothing", "restore the file that the link leads to"],
  outside: ["the link leads to a folder that is not read", "pass the path of the folder that the link leads to"],
  special: ["this is a pipe, a socket or a device", "pass its path to read it"],
  encoding: ["the name is not UTF-8", "rename the file"],
} as const;

/** The reason for which rollcall did not read an entry of a folder. */
export type SkipReason = keyof typeof skipReasons;

export const adviseSkipped = (reason: SkipReason = "content") => skipReasons[reason][1];

export const inputRules = {
  "record-invalid": error<{
    format: string;
    fault: string;
    contradictsGivenFormat?: boolean;
    areOthersConverted?: boolean;
    /** True if files of other formats would have the same option. */
    hasOtherFormats?: boolean;
  }>({
    message: ({ format, fault }) => `cannot convert this ${format} record: ${splitFix(fault).fault}`,
    advice: ({ format, fault, contradictsGivenFormat, areOthersConverted, hasOtherFormats }) => {
      const { fix } = splitFix(fault, contradictsGivenFormat ? "correct or omit --from, or fix the record" : undefined);
      if (!/^pass --/.test(fix)) return fix;
      if (areOthersConverted)
        return `fix the record, or write such records to a separate file, and for that file ${fix}`;
      return hasOtherFormats ? `run the command for the files of ${format} alone, and ${fix}` : fix;
    },
    about: "The record does not match its tool's format, or it has no reward.",
  }),
  "ambiguous-format": errorOfInput<{ formats: readonly string[] }>({
    message: ({ formats }) => `the format of the input may be ${formats.join(" or ")}`,
    advice: ({ formats }) => `choose the format, for example with --from ${formats[0] ?? "rollcall"}`,
    about: "Formats store groups and rewards differently, so a guess could log wrong rewards.",
  }),
  "unknown-format": errorOfInput<{ keys: readonly string[]; formats: readonly string[]; advice?: string | undefined }>({
    message: ({ keys }) =>
      `unknown format: no format that rollcall reads has records with ${keys.length === 1 ? "only the key" : "the keys"} ${keys.join(", ")}`,
    advice: ({ formats, advice }) =>
      advice ??
      `name the format with --from (${formats.join(", ")}), or write the rollouts in one of these formats (docs/guide/input-formats.md)`,
    about: "The records have the keys of no format in [formats.md](formats.md).",
  }),
  "lossy-format": warningOfInput<{ format: string }>({
    message: ({ format }) => `files of ${format} have decoded text, so tokens and turns may be lost`,
    advice: "record rollouts with their tokens, or pass --allow lossy-format",
    about: "Decoded text lacks special tokens and sometimes turns, so a trainer does not see what the model sampled.",
  }),
  "group-scattered": error<{ id: string; line: number; others?: number }>({
    message: ({ id, line, others = 0 }) => {
      const more = others > 0 ? `, and so do the group_ids of ${pluralize(others, "other line")}` : "";
      return `group_id ${id} appears again after its group ended (the group began on line ${line})${more}`;
    },
    advice:
      "give each group its own group_id, or pass --group-by group_id if all lines with one group_id are one group",
    about: "Lines of one group must be adjacent, so that a group is complete when the next begins.",
  }),
  "ambiguous-group": errorOfWhole<{ position: string; isJson?: boolean }>({
    message: ({ position, isJson }) =>
      isJson === true
        ? `${position} has an unknown group and may belong to this group`
        : `${position} is unreadable and may belong to this group`,
    advice: ({ position }) =>
      `fix or delete ${position} before you log the group, because rollcall logs a changed group again`,
    about: "An unreadable line may belong to this group. `--on-invalid skip` rejects all groups that it may belong to.",
  }),
  /** `others` is set if no trajectory has the key. The problem is then an error. */
  "group-key-missing": warning<{ key: string; others?: readonly string[] }>({
    message: ({ key, others }) =>
      others
        ? `no trajectory has a value for the group key \`${key}\` at the top level or in metadata`
        : `the group key \`${key}\` is missing or null, so the trajectory is a group of its own`,
    advice: ({ others }) => {
      if (!others) return "give the key a value in every trajectory, or choose another key with --group-by";
      return others.length === 0
        ? "add a group key to every trajectory, or omit --group-by"
        : `pass --group-by ${others.map((name) => formatCommandLine([name])).join(" or ")}, or a path such as info.prompt_id`;
    },
    about: "A trajectory without the group key is a group of its own. If all lack it, this is an error.",
  }),
  "split-mismatch": errorOfInput<{ own: string; given: string }>({
    message: ({ own, given }) => `the request in the input has the split ${own}, not ${given}`,
    advice: ({ own }) => `pass --split ${formatCommandLine([own])}, and log groups of other splits in another run`,
    about: "The input has a request with its own split, which rollcall does not change.",
  }),
  "request-key-mismatch": errorOfInput<{ key: string; other: string; isRequest: boolean }>({
    message: ({ key, other, isRequest }) =>
      isRequest
        ? `this request and ${other} differ in the key \`${key}\`, so rollcall cannot send them together`
        : `this request has the key \`${key}\`, but the input also contains ${other} that are not in a request`,
    advice: "put each request into its own file, and run `rollcall log` for one file at a time",
    about: "rollcall copies the keys next to `trajectory_groups` into every request, so they must agree.",
  }),
  "skipped-file": warningOfInput<{ reason: SkipReason | undefined }>({
    message: ({ reason = "content" }) => `${skipReasons[reason][0]}, so rollcall skipped it`,
    advice: ({ reason }) => `${adviseSkipped(reason)}, or pass --allow skipped-file if it has no rollouts`,
    about: "Rollouts in a file of a folder that rollcall does not read are missing from the result.",
  }),
  "mixed-shapes": warning<{ shapes: readonly string[] }>({
    message: ({ shapes }) => `the input mixes ${shapes.join(" and ")}`,
    advice: "check or log each kind of input separately, or pass --allow mixed-shapes",
    about: "An input usually has only requests, only groups or only trajectories.",
  }),
  "split-requests": warning<{ requests: number; tooLarge?: boolean }>({
    message: ({ requests }) =>
      `the input needs ${requests} requests, and the service computes metrics for each request separately`,
    advice: ({ tooLarge }) =>
      tooLarge === true
        ? "ask the operator for a larger limit, because the service refused a larger request (413)"
        : "raise --max-request-size if the service accepts larger requests (the local service: up to max_body_size, 64 MiB by default)",
    about: "The service computes metrics for each request separately.",
  }),
};

export const runRules = {
  "input-changed": errorOfInput<{ isFollowed: boolean }>({
    message: "the file changed while rollcall read it",
    advice: ({ isFollowed }) =>
      isFollowed
        ? "append to the file without changing its existing bytes, or replace it with a new file"
        : "wait until no program writes to the file",
    about: "rollcall sends only the bytes that it checked. A file can grow, but its bytes must not change.",
  }),
  "error-in-response": warning<{
    request: string | number;
    status: number;
    readBytes: number | undefined;
  }>({
    message: ({ request, status, readBytes }) => {
      const fault = readBytes === undefined ? "is not JSON" : `was cut after ${formatRoundedSize(readBytes)}`;
      return `the service answered ${status} to request ${request}, so its groups count as logged, but the answer ${fault}`;
    },
    advice:
      "check whether the service has these groups. If not, fix base_url, and log only these groups from a new file with --resend-logged",
    about: "A proxy can answer instead of the service, or cut its answer. The status decides the outcome.",
  }),
  "refused-by-service": error<{ text: string }>({
    message: ({ text }) => text,
    advice: "change the value as the service asks, and log the group again",
    about: "The service refused the request because of this value.",
  }),
  "group-refused": error<unknown>({
    message: "the service refused a request with this group",
    advice: "log the group again to see the reason",
    about: "The service refused the request with the group.",
  }),
  "duplicate-group": error<{ statusArgs: readonly string[] }>({
    message: "this group was logged more than once",
    advice: ({ statusArgs }) => `list its requests with ${formatLedgerCommand("status", statusArgs)}`,
    about: "This is intended for several models, splits or batches. Otherwise the service has the group twice.",
  }),
  "unresolved-group": error<{ id: string; positions: string; ledgerArgs: readonly string[] }>({
    message: ({ id, positions }) => `request ${id} (${positions}) may or may not have been logged`,
    advice: ({ id, ledgerArgs }) =>
      `check whether the service has its groups, and resolve the request with ${formatLedgerCommand(`resolve ${id}`, ledgerArgs)}`,
    about: "The outcome of a request is unknown.",
  }),
  "group-not-logged": error<{ isInvalid: boolean }>({
    message: "this group was not logged",
    advice: ({ isInvalid }) =>
      isInvalid
        ? "fix the errors that `rollcall check` reports, then run `rollcall log` with the file"
        : "log the file, or verify it with the options of your `rollcall log` command",
    about: "The ledger has no logged request with this group.",
  }),
  "logged-before": warning<{ groups: number; at: string; account?: string; ownAccount?: string }>({
    message: ({ groups, at, account, ownAccount }) => {
      const logged = `${pluralize(groups, "group was", "groups were")} already logged`;
      if (account !== undefined)
        return `${logged} to the same URL under the account "${account}" (this run: "${ownAccount}"; most recently at ${at})`;
      const unsent = `so rollcall does not send ${groups === 1 ? "it" : "them"} again`;
      return `${logged} by an earlier run with another first file (most recently at ${at}), ${unsent}`;
    },
    advice: ({ account }) =>
      account === undefined
        ? "pass --batch <name> to log the groups again for another step, or --allow logged-before if only file names or their order changed"
        : `if both names mean the same account of the service, set \`account\` to ${account} in every profile, or ROLLCALL_ACCOUNT=${formatCommandLine([account])} on every machine`,
    about:
      "A run with another first file logged the groups, or a run under another account logged them to the same URL.",
  }),
  "logged-differently": errorOfInput<{ groups: number }>({
    message: ({ groups }) =>
      `${pluralize(groups, "group has the rollouts of a logged group", "groups have the rollouts of logged groups")}, but other bytes (such as another reward, format or option)`,
    advice:
      "keep the earlier version, or pass --batch <name> with a new name to log the groups for another step, or --resend-logged to log all groups of the input again (the service then has both versions)",
    about: "The service has the groups with other bytes, such as another reward.",
  }),
  "logged-in-other-groups": warning<{ trajectories: number }>({
    message: ({ trajectories }) =>
      `${pluralize(trajectories, "trajectory was", "trajectories were")} already logged in other groups, so the service will have ${trajectories === 1 ? "it" : "them"} twice`,
    advice:
      "log groups when they are complete, with the same --group-by, or pass --batch <name> to log them for another step",
    about: "A group grew, was divided or joined, or contains rollouts of another logged group.",
  }),
  "unresolved-requests": warning<{ requests: number; groups: number; ledgerArgs: readonly string[] }>({
    message: ({ requests, groups }) =>
      `${pluralize(groups, "group")} in ${pluralize(requests, "earlier request")} may or may not have been logged, and will not be sent again`,
    advice: ({ ledgerArgs }) => `see ${formatLedgerCommand("status", ledgerArgs)}`,
    about: "Groups of a request with an unknown outcome wait until you resolve it.",
  }),
  "resend-impossible": warning<{ id: string; ledgerArgs: readonly string[] }>({
    message: ({ id }) => `cannot resend request ${id}: the input differs from the first attempt`,
    advice: ({ id, ledgerArgs }) =>
      `pass the unchanged files of the first attempt, or run ${formatLedgerCommand(`resolve ${id}`, ledgerArgs)} with --assume-logged or --resend`,
    about: "rollcall resends a request with an unknown outcome only with the same bytes.",
  }),
  "group-changed": warning<{ id: string; line: number }>({
    message: ({ id, line }) =>
      `the group ${id} (from line ${line}) was already complete, so this line starts another group`,
    advice: "increase --group-size or --group-idle so that groups stay open longer",
    about: "`--follow` cannot change a group that it has logged.",
  }),
  "incomplete-group": warning<{ groups: number }>({
    message: ({ groups }) => `${pluralize(groups, "group is", "groups are")} incomplete and not sent`,
    advice: "run the command again to continue, or send incomplete groups with --group-idle 0s",
    about: "With `--follow`, a group waits for `--group-size` trajectories or for `--group-idle`.",
  }),
  "incomplete-line": warning<{ bytes: number }>({
    message: ({ bytes }) => `the last line has no newline, so rollcall did not send its ${bytes} bytes`,
    advice: "run the command again when the line is complete, or add the newline if only that is missing",
    about: "With `--follow`, a program may still be writing a line without a newline.",
  }),
};

export const formatLedgerCommand = (command: string, args: readonly string[]) =>
  `\`${`rollcall ledger ${command} ${formatCommandLine(args)}`.trimEnd()}\``;

/**
 * @param args options for the ledger and the service
 * @param ids the requests, if they are known
 */
export const adviseToResolve = (args: readonly string[], ids: readonly string[] = []) => {
  const list = `list the requests with ${formatLedgerCommand("status", args)}. For each request with an unknown outcome, `;
  const [before, words] = ids.length === 0 ? [list, "<id>"] : ["", formatCommandLine(ids)];
  const has = "with --assume-logged if the service has the groups of the request, or with --resend if it does not";
  return `${before}run ${formatLedgerCommand(`resolve ${words}`, args)} ${has}`;
};
