/** JSON Schemas of everything that `--json` prints: values only, each self-contained. */

import { catalogsOutputs } from "./catalogs.ts";
import { ownOutputs } from "./itself.ts";
import { sharedOutputs } from "./problem.ts";
import { serviceOutputs } from "./service.ts";
import type { Output, Schema } from "./shape.ts";
import { trajectoriesOutputs } from "./trajectories.ts";

export { asItCame } from "./service.ts";
export type { Output, Schema } from "./shape.ts";

/** Every output that has a schema: those of the commands in the order of the help, then those of no command alone. */
export const outputs: readonly Output[] = [
  ...trajectoriesOutputs,
  ...serviceOutputs,
  ...catalogsOutputs,
  ...ownOutputs,
  ...sharedOutputs,
];

/** A schema as it is printed and packed. */
export interface Published {
  /** Its file in the package, below `schemas/`. */
  readonly file: string;
  readonly schema: Schema;
}

/** The schema of an output as a document of its own. */
export const documentSchema = ({ name, about, schema }: Output): Published =>
  published(nameOfFile(name), { title: `rollcall ${name}`, description: about, ...schema });

/** The schema of one line of `-o jsonl`: the document's own where a line is the document. */
export const lineSchema = (output: Output): Published => {
  const { name, line } = output;
  if (line === undefined) return documentSchema(output);
  return published(`${nameOfFile(name)}.line`, { title: `rollcall ${name}, one line of -o jsonl`, ...line });
};

const nameOfFile = (name: string): string => name.replaceAll(" ", "-");

const published = (name: string, schema: Schema): Published => ({
  file: `schemas/${name}.json`,
  schema: { $schema: "https://json-schema.org/draft/2020-12/schema", $id: `urn:rollcall:schema:${name}`, ...schema },
});
