/** Defines the document of `explain`. */
import * as s from "../../output/document-schemas.ts";

const topic = s.object({
  name: s.text,
  kind: s.oneOf("code", "rule"),
  about: s.text,
  code: s.nullable(s.code),
  exit_codes: s.list(s.count),
  severity: s.oneOf("error", "warning", null),
  example: s.optionalAbout("a problem of the rule; null without an example", s.nullable(s.text)),
});
const explain = s.object({ topics: s.list(topic) });
export type ExplainDocument = s.Infer<typeof explain>;

export const outputs: s.Outputs = {
  explain: ["the meanings of codes and rules, with an example if you name one", explain, topic],
};
