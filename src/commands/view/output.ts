/** Defines the documents of `view`. */
import * as s from "../../output/document-schemas.ts";
import { count, describe, inputKeys, object, oneOf, text } from "../../output/document-schemas.ts";

const readAndWritten = object(s.sameKeys(count, "read", "rejected", "written"));
const served = object({ status: oneOf("serving"), url: describe("has a secret token after #", text) });
const written = object({
  status: oneOf("written"),
  file: text,
  bytes: count,
  groups: describe("written: limited by the size of a page; rejected: invalid", readAndWritten),
  trajectories: readAndWritten,
  not_chosen: inputKeys.not_chosen,
  warnings: describe("skipped files", s.problems),
});
const view = s.union([served, written]);
export type ViewDocument = s.Infer<typeof view>;

export const outputs: s.Outputs = { view: ["the URL or file of a page", view] };
