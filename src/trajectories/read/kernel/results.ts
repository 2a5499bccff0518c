/** Puts a batch of lines that the kernel took to what was found before. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Text } from "../../rules/places.ts";
import { addExtreme } from "../metrics/extremes.ts";
import { digestBytes } from "../parts/digests.ts";
import type { Found } from "../parts/found.ts";
import type { Kernel } from "./kernel.ts";

/** Takes the lines of the batch that the kernel stands at; the text is the block that they stand in. */
export const takeBatch = (
  found: Found,
  { kernel, text, source }: { readonly kernel: Kernel; readonly text: Text; readonly source: number },
): void => {
  if (kernel.lines === 0) return;
  takeExtremes(found, kernel);
  countNulls(found, kernel);
  takeKeys(found, kernel);
  const { parts } = found;
  const { columns, lines } = kernel;
  parts.pushMany({
    source,
    starts: columns.starts.subarray(0, lines),
    lengths: columns.lengths.subarray(0, lines),
    lines: columns.numbers.subarray(0, lines),
    flags: columns.flags.subarray(0, lines),
    trajectories: columns.counts.subarray(0, lines),
    rewards: columns.lineRewards.subarray(0, lines),
    versions: columns.versions.subarray(0, lines),
    prints: columns.prints.subarray(0, kernel.trajectories),
    ...markedOf(kernel, text),
  });
};

/** Counts what is only counted. */
const countNulls = ({ problems }: Found, { nulls: { fields, calls } }: Kernel): void => {
  const { allowed } = problems.judgement;
  if (fields > 0 && !allowed.has("null-field")) problems.count("null-field", fields);
  if (calls > 0 && !allowed.has("tool-calls-null")) problems.count("tool-calls-null", calls);
};

const takeExtremes = ({ extremes, parts }: Found, kernel: Kernel): void => {
  const { extremes: rewards, extremeLines, extremeTrajectories } = kernel.columns;
  for (let at = 0; at < kernel.extremes; at++) {
    const part = parts.count + (extremeLines[at] ?? 0);
    addExtreme(extremes, { reward: rewards[at] ?? 0, part, trajectory: extremeTrajectories[at] ?? 0 });
  }
};

/** The keys of trajectories that belong to a group. */
const takeKeys = ({ shapes, keys, parts }: Found, kernel: Kernel): void => {
  const flags = kernel.columns.flags.subarray(0, kernel.lines);
  const { aloneFlags } = kernel;
  if (!flags.includes(aloneFlags)) {
    shapes.add("groups");
    return;
  }
  for (let line = 0; line < flags.length; line++) {
    const isAlone = flags[line] === aloneFlags;
    shapes.add(isAlone ? "trajectories" : "groups");
    const key = isAlone ? kernel.groupKey(line) : undefined;
    if (key !== undefined) keys.set(parts.count + line, key);
  }
};

/** Checksums and digests of the bytes of lines. */
const markedOf = ({ columns, lines }: Kernel, { bytes, start }: Text) => {
  const { starts, lengths } = columns;
  const checksums = new Uint32Array(lines);
  const digests = Buffer.alloc(lines * digestBytes);
  for (let line = 0; line < lines; line++) {
    const from = (starts[line] ?? 0) - start;
    const own = bytes.subarray(from, from + (lengths[line] ?? 0));
    checksums[line] = crc32(own);
    // A digest that comes as a text costs less than one that comes with memory of its own.
    digests.write(hash("sha256", own, "binary"), line * digestBytes, digestBytes, "latin1");
  }
  return { checksums, digests };
};
