/** The trajectories of a reading one by one, as they stand in their files: for what is counted over them. */

import type { Part } from "./parts/columns.ts";
import type { Reading } from "./read.ts";
import { partValue } from "./whole.ts";

/** A trajectory as it stands in its file; undefined for what could not be read as a group or trajectory. */
export interface Recorded {
  readonly trajectory: unknown;
}

/** The trajectories of all inputs in their order, valid or not. Memory holds the group that is looked at. */
export async function* recordedTrajectories({
  sources,
  found: { parts },
}: Pick<Reading, "sources" | "found">): AsyncGenerator<Recorded | undefined, void> {
  for (let at = 0; at < parts.count; at++) {
    const part = parts.at(at);
    const source = sources[part.source];
    if (part.kind === "unreadable" || source === undefined) yield undefined;
    else yield* trajectoriesOf(part, await partValue(source, part));
  }
}

function* trajectoriesOf({ kind }: Part, value: unknown): Generator<Recorded | undefined, void> {
  if (kind === "trajectory") yield { trajectory: value };
  else if (
    typeof value === "object" &&
    value !== null &&
    "trajectories" in value &&
    Array.isArray(value.trajectories)
  ) {
    for (const trajectory of value.trajectories) yield { trajectory };
  } else yield undefined;
}
