/** Tells requests from groups and trajectories, and collects the keys of requests. */
import { nodeSize } from "../../json/reader.ts";
import { Kind, kindOf, mapMembers } from "../../json/shape.ts";
import type { JsonValue } from "../../json/table.ts";
import * as json from "../../json/table.ts";
import type { Requests } from "../index/contradictions.ts";
import type { ProblemLocation } from "../rules/problems.ts";
import { anyValue, defineObjectType, requiredField } from "./types.ts";

export const recordType = defineObjectType(
  {
    trajectory_groups: requiredField(Kind.array),
    split: { ...requiredField(Kind.string), acceptedKinds: Kind.absent | Kind.string },
    trajectories: anyValue,
    messages_and_choices: anyValue,
    messages: anyValue,
    reward: anyValue,
  },
  ({ kinds: { trajectory_groups: groups, split, trajectories, ...fieldKinds } }) => {
    const hasOnlySplit =
      split !== Kind.absent &&
      trajectories === Kind.absent &&
      Object.values(fieldKinds).every((kind) => kind === Kind.absent);
    if (groups !== Kind.absent || hasOnlySplit) return "requests";
    return trajectories === Kind.absent ? "trajectories" : "groups";
  },
);

export const requestKeys = ["trajectory_groups", "split"] as const;

/** Adds the split and the keys that the interface does not define. */
export const addRequest = (
  requests: Requests,
  { table, node }: JsonValue,
  locate: (node: number) => ProblemLocation,
): void => {
  const members = mapMembers(table, node);
  const toText = (at: number) => json.textOf({ table, node: at });
  const toKey = (value: number) => ({ name: toText(value - nodeSize), value: toText(value) });
  const others = Array.from(members).filter(([name]) => !requestKeys.some((key) => key === name));
  const keys = new Map(others.map(([name, value]) => [name, toKey(value)]));
  const splitNode = members.get("split") ?? 0;
  const split = kindOf(table, splitNode) === Kind.string ? json.readString(table, splitNode) : undefined;
  requests.add({ split, keys }, (key) => locate(members.get(key ?? "") ?? node));
};
