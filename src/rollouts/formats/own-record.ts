/** Recognizes records in rollcall's format. */
import { closeTruncated } from "../../json/table.ts";
import { Value } from "../../json/value.ts";
import { type Bytes, ownHeadBytes, readHead } from "../input/source.ts";

const ownLists = ["messages_and_choices", "trajectories", "trajectory_groups"];
const ownKeys = new Set([
  ...ownLists,
  ..."split tools additional_histories reward initial_policy_version final_policy_version metrics metadata".split(" "),
  ..."logs start_time exceptions group_id".split(" "),
]);

export const hasOwnList = (value: Value) => value.members().some(([key]) => ownLists.includes(key));
export const hasOnlyOwnKeys = (value: Value) => value.members().every(([key]) => ownKeys.has(key));

/** True for lists of exchanges with an API, which newer clients of the service write in place of messages. */
const hasExchanges = (value: Value) =>
  value.members("exchanges").some(([, list]) => list.get(0)?.has("request")) ||
  value.get("exchanges", 0)?.has("request") === true;

/** True if a list at the top level contains what only rollcall's format contains there. */
export const isOwnRecord = (value: Value) => {
  const trajectories = value.get("trajectories");
  const items = trajectories?.items() ?? [];
  const isGroup =
    trajectories?.isList &&
    (items.length === 0
      ? hasOnlyOwnKeys(value)
      : items.some((one) => one.has("messages_and_choices") || hasExchanges(one)));
  return Boolean(
    value.get("messages_and_choices")?.isList ||
      value.get("trajectory_groups")?.isList ||
      isGroup ||
      hasExchanges(value),
  );
};

/** Reads at most this many bytes to find a list that identifies rollcall's format. */
const maxHeadBytes = 2 ** 16;

export const beginsWithOwnRecord = (bytes: Bytes) =>
  [ownHeadBytes, maxHeadBytes].some((length) => {
    const value = parseStart(readHead(bytes, length));
    return value !== undefined && isOwnRecord(value);
  });

/** Deep enough for the messages of a trajectory in a request. */
const maxHeadDepth = 8;

/** Parses an object at the start, also in an array. A truncated object ends after its last complete value. */
export const parseStart = (bytes: Buffer) => {
  const start = bytes.toString("latin1").search(/[^\s[\xef\xbb\xbf]/);
  const closed = start < 0 ? undefined : closeTruncated(bytes.subarray(start), maxHeadDepth);
  return closed && Value.parsePython(closed);
};
