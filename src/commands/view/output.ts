/** Defines the documents of `view`. */
import * as s from "../../output/document-schemas.ts";

const readAndWritten = s.object(s.sameKeys(s.count, "read", "rejected", "written"));
const served = s.object({ status: s.oneOf("serving"), url: s.describe("has a secret token after #", s.text) });
const written = s.object({
  status: s.oneOf("written"),
  file: s.text,
  bytes: s.count,
  groups: s.describe("written: limited by the size of a page; rejected: invalid", readAndWritten),
  trajectories: readAndWritten,
  warnings: s.describe("skipped files", s.problems),
});
const view = s.union([served, written]);
export type ViewDocument = s.Infer<typeof view>;

export const outputs: s.Outputs = {
  view: ["the URL or file of a page", view, undefined, ({ html }) => (html === undefined ? served : written)],
};
