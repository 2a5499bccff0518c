/** What rollcall prints of itself: `schema`. */
import { about, list, nullable, type Output, object, open, type Schema, text } from "./schema.ts";

const listed: Schema = object({
  name: about("what rollcall schema takes", text),
  about: text,
  file: about("its file in the package", text),
  line_file: about("that of a line of -o jsonl, where it is not the document", nullable(text)),
});

/** The outputs. */
export const ownOutputs: readonly Output[] = [
  {
    name: "schema",
    about: "the schemas that there are; with a name, that schema",
    schema: { anyOf: [object({ schemas: list(listed) }), open({ $schema: text, $id: text }, ["$schema", "$id"])] },
    line: listed,
  },
];
