/** Defines the document of `check`, and keys of all documents about an input. */
import * as s from "../../output/document-schemas.ts";
import { count, describe, object, optional, optionalAbout, sameKeys } from "../../output/document-schemas.ts";

const filteredOut = object({ trajectories: count, groups: describe("groups that lost all their trajectories", count) });

export const inputKeys = {
  unreadable_lines: optionalAbout("each counts as a rejected group", count),
  not_chosen: optionalAbout(
    "filtered out, by option",
    object(sameKeys(optional(filteredOut), "where", "best", "sample", "shard")),
  ),
};

export const metrics = describe("means over all valid groups", s.named(s.number));
export const notes = describe("notices, as a person sees them", s.list(s.text));
export const readAndRejected = object({ read: count, rejected: count });

const check = object({
  status: s.oneOf("valid", "invalid"),
  split: s.nullable(s.text),
  groups: readAndRejected,
  trajectories: readAndRejected,
  metrics,
  problems: s.problems,
  warnings: s.problems,
  notes,
  ...inputKeys,
  problems_left_out: optionalAbout("number of further problems", count),
});
export type CheckDocument = s.Infer<typeof check>;

export const outputs: s.Outputs = { check: ["validity and metrics of the input", check] };
