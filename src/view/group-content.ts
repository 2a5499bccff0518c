/** Reads a group, and formats the command that logs or reads the group. */

import * as grouping from "../dataset/index.ts";
import { findGroupKey } from "../index/group-key.ts";
import { isObject, sliceText } from "../json/json-bytes.ts";
import { formatIndented, parseRawJson } from "../json/raw-json.ts";
import { requireFault } from "../json/reader.ts";
import * as table from "../json/table.ts";
import { formatOwnCommand } from "../program.ts";
import { cutText } from "../sentences.ts";
import type { GroupContent, LoggedGroup } from "./answers.ts";

export type ViewInput = Readonly<{
  dataset: grouping.Dataset;
  /** The arguments of the `log` command that the page shows. */
  inputOptions: Readonly<{
    files: readonly string[];
    options: readonly string[];
    where?: string | undefined;
    groupBy?: string | undefined;
  }>;
  logged?: readonly LoggedGroup[] | undefined;
  hasChanged: () => boolean | Promise<boolean>;
}>;

export type ReadInput = () => Promise<ViewInput>;

/** @throws Failure `input-changed` */
export const readGroupContent = async (input: ViewInput, group: number): Promise<Omit<GroupContent, "findings">> => {
  const { dataset } = input;
  const { groups, scan } = dataset;
  const trajectories = (await grouping.readGroupTrajectories(dataset, group)).map(parseTrajectory);
  const kind = scan.parts.kindOf(groups.firstOf(group));
  const { mean, deviation } = grouping.computeMoments(trajectories.flatMap(({ reward }) => reward ?? []));
  const bytes = kind === "group" ? grouping.readGroupStart(dataset, group, groups.bytesOf(group)) : undefined;
  return {
    position: grouping.locateGroup(dataset, group),
    isReadable: kind !== "unreadable",
    members: trajectories.map(({ messages, ...facts }) => ({
      ...facts,
      advantage: facts.reward === null || deviation === 0 ? null : (facts.reward - mean) / deviation,
      messages: messages.length,
    })),
    exceptions: bytes ? readExceptions(bytes) : [],
    common: countSharedMessages(trajectories.map(({ messages }) => messages)),
    command: formatCommand(input, group),
  };
};

const readExceptions = (bytes: Buffer) =>
  table.elementsOf(table.memberAt(table.readRoot(bytes), "exceptions")).map((exception) => {
    const value = parseRawJson(sliceText(bytes, table.spanOf(exception)));
    if (value.kind !== "object") return formatIndented(value);
    return value.members.map(({ key, value: member }) => `${key}: ${formatIndented(member)}`).join("\n");
  });

const isNumber = (value: unknown): value is number => Number.isFinite(value);

const parseTrajectory = ({ bytes, position }: grouping.SourceTrajectory) => {
  const root = table.readRoot(bytes);
  const [reward, metrics] = ["reward", "metrics"].map((key) => {
    const value = table.memberAt(root, key);
    return value && table.parseValue(value);
  });
  const measures = Object.entries(isObject(metrics) ? metrics : {}).flatMap(([name, value]) =>
    isNumber(value) || typeof value === "boolean" ? [[name, value] as const] : [],
  );
  const messages = table.elementsOf(table.memberAt(root, "messages_and_choices"));
  return {
    position,
    bytes: bytes.length,
    reward: isNumber(reward) ? reward : null,
    metrics: Object.fromEntries(measures),
    truncated: isTruncated(messages),
    messages: messages.map((message) => sliceText(bytes, table.spanOf(message))),
  };
};

const isTruncated = (messages: readonly table.JsonValue[]) => {
  const last = messages.findLast((message) => table.memberAt(message, "message") && !table.memberAt(message, "role"));
  const reason = table.memberAt(last, "finish_reason");
  return reason !== undefined && table.parseValue(reason) === "length";
};

const countSharedMessages = ([first = [], ...others]: readonly (readonly string[])[]) => {
  if (others.length === 0) return 0;
  const end = first.findIndex((message, at) => others.some((other) => other[at] !== message));
  return end < 0 ? first.length : end;
};

const formatCommand = ({ dataset, inputOptions, logged }: ViewInput, group: number) => {
  if (logged) return formatOwnCommand(["call", "read", ...(logged[group]?.callIds ?? []), "--local"]);
  const { files, options, where } = inputOptions;
  if (files.includes("-") || !dataset.groups.isValid(group)) return null;
  const groupFilter = `group.number == ${(dataset.originalOf?.(group).group ?? group) + 1}`;
  const filter = where === undefined ? groupFilter : `${groupFilter} && (${where})`;
  const log = ["log", "my-model", "--split", dataset.split ?? "train", ...options, "--where", filter];
  // Without `--on-invalid skip`, invalid groups would stop the command.
  return formatOwnCommand([...log, ...(dataset.problems.errors > 0 ? ["--on-invalid", "skip"] : []), ...files]);
};

const maxWholeBytes = 2 ** 20;
const largeStartBytes = 2 ** 18;
const maxPromptLength = 200;
const maxMemberBytes = 10_000;

/** @throws Failure `input-changed` */
export const readPromptAndKey = (dataset: grouping.Dataset, group: number, groupBy: string | undefined) => {
  const isLarge = dataset.groups.bytesOf(group) > maxWholeBytes;
  const bytes = grouping.readGroupStart(dataset, group, isLarge ? largeStartBytes : maxWholeBytes);
  const root = table.readRoot(bytes) ?? parseTruncated(bytes);
  const trajectory = table.findAt(root, ["trajectories", 0]) ?? root;
  const members = trajectory ? [...table.childrenOf(trajectory)] : [];
  const small = members.filter(([, value]) => table.spanOf(value).end - table.spanOf(value).start <= maxMemberBytes);
  const values = small.map(([name, value]) => [name, table.parseValue(value)] as const);
  return {
    prompt: parsePrompt(table.memberAt(trajectory, "messages_and_choices")),
    key: findGroupKey(Object.fromEntries(values), groupBy) ?? null,
  };
};

/** The JSON depth of a message: group, `trajectories`, trajectory, `messages_and_choices`. */
const messageDepth = 4;

const parseTruncated = (bytes: Buffer) => {
  const start = table.closeTruncated(bytes.subarray(0, requireFault(bytes).at), messageDepth);
  return start && table.readRoot(start);
};

const parsePrompt = (list: table.JsonValue | undefined) => {
  let first = "";
  for (const value of table.elementsOf(list)) {
    const message = table.parseValue(value);
    if (!isObject(message)) continue;
    const line = shorten(joinText(message.content));
    if (message.role === "user" && line !== "") return line;
    first ||= line;
  }
  return first;
};

const joinText = (content: unknown) => {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part: unknown) => (isObject(part) && typeof part.text === "string" ? part.text : "")).join(" ");
};

const shorten = (text: string) => {
  const line = cutText(text, maxPromptLength * 4).replaceAll(/\s+/g, " ");
  const characters = [...line.trim()];
  if (characters.length <= maxPromptLength) return characters.join("");
  const start = characters.slice(0, maxPromptLength - 1).join("");
  return `${start.trimEnd()}…`;
};
