/** Where the lines come from that a choice left: the same places, records and digests as before it. */
import { createHash } from "node:crypto";
import type { Problems } from "../../check/rules/problems.ts";
import { filesOf, type Origin, textOf } from "../../input/source.ts";
import { bytesOf, partsOf } from "../contents.ts";
import { firstFileOf, locate, spotOfGroup } from "../positions.ts";
import type { Reading } from "../read.ts";

/** What is kept of a group: positions of its trajectories, in their order. */
export interface Kept {
  readonly group: number;
  readonly positions: readonly number[];
  /** Whether some are left out. */
  readonly isPart: boolean;
}

/** What the source of the groups that are kept is called. */
export const chosenName = (reading: Pick<Reading, "sources">): string => `${firstFileOf(reading)} (as chosen)`;

/** Where these lines come from, one for each group that is kept. */
export const originOf = (reading: Reading, lines: readonly Kept[]): Origin => {
  const { sources, groups } = reading;
  const digests = groups.digests();
  const keptAt = (line: number): Kept => lines[line - 1] ?? { group: 0, positions: [], isPart: false };
  return {
    files: sources.flatMap(filesOf),
    isBroken: (line) => !groups.isValid(keptAt(line).group),
    placeOf: (line) => spotOfGroup(reading, keptAt(line).group),
    digestOf: (line, kept) => digestOf(reading, keptAt(line), { own: digests.at(keptAt(line).group), kept }),
    spotOf: async (line, [list, at, ...path]) => {
      const { group, positions } = keptAt(line);
      const position = list === "trajectories" && typeof at === "number" ? (positions[at] ?? at) : undefined;
      const parts = partsOf(reading, group);
      const isFlat = parts[0]?.part.kind === "trajectory";
      const holder = isFlat ? parts[position ?? 0] : parts[0];
      if (holder === undefined) return {};
      const { source, part } = holder;
      const own = [...(list === undefined ? [] : [list]), ...(at === undefined ? [] : [position ?? at]), ...path];
      return await locate(source, { part, path: isFlat ? path : own });
    },
    recordsOf: async (line) => await recordsOf(reading, keptAt(line).group),
    textOf: (file) => textOf(sources, file),
  };
};

/** Of a group that is whole its own digest, so that it is known with and without a choice. */
const digestOf = (
  reading: Reading,
  { group, positions, isPart }: Kept,
  { own, kept }: { readonly own: Uint8Array; readonly kept: readonly number[] | undefined },
): Uint8Array => {
  if (!isPart && kept === undefined) return own;
  const left = kept === undefined ? positions : kept.flatMap((at) => positions[at] ?? []);
  const [first] = partsOf(reading, group);
  const made = first?.source.origin?.digestOf(first.part.line, left);
  return made ?? createHash("sha256").update(own).update(left.join(" ")).digest();
};

/** What a group was made of, a line each. */
const recordsOf = async (reading: Reading, group: number): Promise<readonly Buffer[]> => {
  const records: Buffer[] = [];
  for (const own of partsOf(reading, group)) {
    const { origin } = own.source;
    if (origin === undefined) records.push(await bytesOf(own));
    else records.push(...(await origin.recordsOf(own.part.line)));
  }
  return records;
};

/** The errors of a reading, at the lines that its groups have now. */
export const errorsOf = (reading: Reading, lines: readonly Kept[]): Problems => {
  const name = chosenName(reading);
  const lineAt = new Map<string, number>();
  for (const [at, { group }] of lines.entries()) {
    for (const { source, part } of partsOf(reading, group)) lineAt.set(`${source.name}:${part.line}`, at + 1);
  }
  return reading.problems.errorsWith((problem) => {
    const line = lineAt.get(problem.readAt ?? `${problem.file}:${problem.line}`);
    return line === undefined ? {} : { readAt: `${name}:${line}` };
  });
};
