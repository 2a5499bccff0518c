/** What rollcall prints of itself: `explain`, `schema`. */
import { exitCodes } from "../exit-codes.ts";
import { about, count, list, nullable, type Output, object, oneOf, open, type Schema, text } from "./schema.ts";

const listed: Schema = object({
  name: about("what rollcall schema takes", text),
  about: text,
  file: about("its file in the package", text),
  line_file: about("that of a line of -o jsonl, where it is not the document", nullable(text)),
});

const topic = {
  name: text,
  kind: oneOf("code", "reason", "rule"),
  about: text,
  code: about("the error code; null for a rule", nullable(oneOf(...Object.keys(exitCodes)))),
  exit_codes: list(count),
  severity: about("null but for a rule", oneOf("error", "warning", null)),
};

const explained = {
  reasons: about("every reason that ends a run with the code", list(text)),
  example: about("what a person is told", nullable(text)),
};

/** The outputs. */
export const ownOutputs: readonly Output[] = [
  {
    name: "explain",
    about: "what codes, reasons and rules mean; with a name, those of that name and an example",
    schema: object({ topics: list(object(topic, explained)) }),
    line: object(topic, explained),
  },
  {
    name: "schema",
    about: "the schemas that there are; with a name, that schema",
    schema: { anyOf: [object({ schemas: list(listed) }), open({ $schema: text, $id: text }, ["$schema", "$id"])] },
    line: listed,
  },
];
