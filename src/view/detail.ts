/** One group, looked at: its trajectories with their rewards, what they have in common, and the command that logs it. */

import { linesOf, spotOfGroup, type TrajectoryLooked, trajectoriesOf } from "../groups/index.ts";
import { elementSpans, isObject, memberSpans, parsedJson, wholeOf } from "../json/walk.ts";
import { commandLine } from "../shell-words.ts";
import { untrainable } from "./measures.ts";
import type { Table } from "./rows.ts";
import type { GroupDetail, Member } from "./shapes.ts";

/** Looks at a group. @throws Failure `input-changed` */
export const detailOf = async ({ reading, findings, asked }: Table, group: number): Promise<GroupDetail> => {
  const looked = await trajectoriesOf(reading, group);
  const { file, line } = spotOfGroup(reading, group);
  return {
    group,
    of: reading.groups.count,
    place: { file, line },
    valid: reading.groups.isValid(group),
    isReadable: reading.found.parts.kindOf(reading.groups.firstOf(group)) !== "unreadable",
    untrainable: untrainable(reading, group) ?? null,
    members: looked.map(memberOf),
    common: commonOf(looked.map(({ bytes }) => bytes)),
    findings: findings.of(group),
    ...(await commandOf({ reading, asked }, group)),
  };
};

const memberOf = ({ bytes, place }: TrajectoryLooked): Member => {
  const value = parsedJson(bytes.toString("utf8"))?.value;
  const { reward, metrics, messages_and_choices: messages } = isObject(value) ? value : {};
  const numbers = Object.entries(isObject(metrics) ? metrics : {}).flatMap(([name, one]) =>
    typeof one === "number" && Number.isFinite(one) ? [[name, one] as const] : [],
  );
  return {
    place,
    bytes: bytes.length,
    reward: typeof reward === "number" && Number.isFinite(reward) ? reward : null,
    metrics: Object.fromEntries(numbers),
    messages: Array.isArray(messages) ? messages.length : 0,
  };
};

/** How many messages several trajectories begin with, byte for byte. */
const commonOf = (all: readonly Buffer[]): number => {
  const messages = all.map((bytes) => {
    const span = memberSpans(bytes, wholeOf(bytes)).get("messages_and_choices");
    return span === undefined ? [] : elementSpans(bytes, span).map(({ start, end }) => bytes.subarray(start, end));
  });
  const [first = [], ...others] = messages;
  if (others.length === 0) return 0;
  const parts = first.findIndex((one, at) => others.some((other) => other[at]?.equals(one) !== true));
  return parts < 0 ? first.length : parts;
};

/** What logs a group and no other: from lines of its own, or by its number in the input; null for standard input, which is gone. */
const commandOf = async (
  { reading, asked }: Pick<Table, "reading" | "asked">,
  group: number,
): Promise<Pick<GroupDetail, "command">> => {
  const { files, options, where } = asked;
  const own = await linesOf(reading, group);
  if (own === undefined && files.includes("-")) return { command: null };
  // A model and a split that nobody has: they are typed over.
  const log = commandLine(["rollcall", "log", "my-model", "--split", reading.split ?? "train", ...options]);
  if (own !== undefined) {
    const lines = `sed -n ${commandLine([rangesOf(own.lines).join(";")])} ${commandLine([own.file])}`;
    return { command: `${lines} | ${log} -` };
  }
  const isIt = `group.number == ${(reading.chosenFrom?.(group) ?? group) + 1}`;
  const chosen = where === undefined ? isIt : `${isIt} && (${where})`;
  return { command: `${log} ${commandLine(["--where", chosen, ...files])}` };
};

/** Lines as `sed` prints them: those side by side as a range. */
const rangesOf = (lines: readonly number[]): readonly string[] => {
  const ranges: { from: number; to: number }[] = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last?.to === line - 1) last.to = line;
    else ranges.push({ from: line, to: line });
  }
  return ranges.map(({ from, to }) => (from === to ? `${from}p` : `${from},${to}p`));
};
