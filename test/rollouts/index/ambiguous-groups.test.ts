import { expect, it } from "vitest";
import { findAmbiguousGroups } from "../../../src/rollouts/index/group-key.ts";

/** Each character is a record: of a group, of no group (`-`), or unknown (`?`). A bar begins another file set. */
const ambiguousIn = (records: string, needsProof: boolean) => {
  const memberships = records.split("|").flatMap((set, fileSet) =>
    [...set].map((id) => ({
      ...{ fileSet, isUnknown: id === "?" },
      group: id === "-" || id === "?" ? undefined : id.charCodeAt(0),
    })),
  );
  const found = findAmbiguousGroups(memberships, needsProof);
  return Array.from(found, ([group, at]) => `${String.fromCharCode(group)}${at}`).join(" ");
};

it.each([
  ["aa", "", ""],
  ["aab?cd", "b3 c3", "b3 c3"],
  ["ab?cd", "b2 c2", "a2 b2 c2 d2"],
  ["a?acc", "a1", "a1"],
  ["abac?d", "a4 b4 c4 d4", "a4 b4 c4 d4"],
  ["aa-?b", "b3", "b3"],
  ["a-a?b", "a3 b3", "a3 b3"],
  ["?aa??b", "a0 b4", "a0 b4"],
  ["aa?|bb?", "a2 b5", "a2 b5"],
  ["aba?c|d?", "a3 b3 c3 d6", "a3 b3 c3 d6"],
  ["aba?c?", "a3 b3 c3", "a3 b3 c3"],
  ["-ab?c", "b3 c3", "a3 b3 c3"],
  ["aba|c?d", "c4 d4", "c4 d4"],
])("unknown records can belong to adjacent groups, or to all if groups are not adjacent: %s", (records, ...found) => {
  expect([false, true].map((needsProof) => ambiguousIn(records, needsProof))).toEqual(found);
});
