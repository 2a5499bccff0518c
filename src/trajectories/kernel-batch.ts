/** Puts a batch of lines that the kernel took to what was found before. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { digestBytes } from "./columns.ts";
import { addExtreme, isExtreme } from "./extremes.ts";
import type { Found } from "./found.ts";
import type { Kernel } from "./kernel.ts";
import { addMetric } from "./picture.ts";
import type { Text } from "./places.ts";
import { addTo } from "./sketch.ts";

/** Takes the lines of the batch that the kernel stands at; the text is the block that they stand in. */
export const takeBatch = (
  found: Found,
  { kernel, text, source }: { readonly kernel: Kernel; readonly text: Text; readonly source: number },
): void => {
  if (kernel.lines === 0) return;
  takeTrajectories(found, kernel);
  takeMetrics(found, kernel);
  takeGroups(found, kernel);
  takeParts(found, { kernel, text, source });
};

/** Rewards and lengths. */
const takeTrajectories = ({ picture, tally, extremes, parts }: Found, { columns, lines }: Kernel): void => {
  const { rewards, turnCounts, characterCounts, counts } = columns;
  let trajectory = 0;
  for (let line = 0; line < lines; line++) {
    const count = counts[line] ?? 0;
    for (let at = 0; at < count; at++) {
      const reward = rewards[trajectory] ?? 0;
      tally.addReward(reward);
      addTo(picture.rewards, reward);
      addTo(picture.turns, turnCounts[trajectory] ?? 0);
      addTo(picture.characters, characterCounts[trajectory] ?? 0);
      if (isExtreme(extremes, reward)) addExtreme(extremes, { reward, part: parts.count + line, trajectory: at });
      trajectory++;
    }
  }
};

const takeMetrics = ({ picture, tally }: Found, kernel: Kernel): void => {
  const { metricNames, metricValues } = kernel.columns;
  const count = kernel.metrics;
  for (let at = 0; at < count; at++) {
    const name = kernel.nameOf(metricNames[at] ?? 0);
    const value = metricValues[at] ?? 0;
    tally.addMetric(name, value);
    addMetric(picture, name, value);
  }
};

/** What is known of groups as a whole, and the keys of trajectories that belong to one. */
const takeGroups = ({ tally, shapes, keys, parts }: Found, kernel: Kernel): void => {
  const { groups, deviations, exceptions, equals } = kernel.columns;
  for (let line = 0; line < kernel.lines; line++) {
    if (groups[line] === 1) {
      shapes.add("groups");
      tally.addClosed({
        deviation: deviations[line] ?? 0,
        exceptions: exceptions[line] ?? 0,
        trainable: equals[line] === 0,
      });
      continue;
    }
    shapes.add("trajectories");
    const key = kernel.groupKey(line);
    if (key !== undefined) keys.set(parts.count + line, key);
  }
};

const digest = Buffer.alloc(32);

const takeParts = (
  { parts }: Found,
  { kernel, text, source }: { readonly kernel: Kernel; readonly text: Text; readonly source: number },
): void => {
  const { base, columns, lines } = kernel;
  const { starts, lengths, numbers, counts, groups, equals, rewards, versions } = columns;
  const checksums = new Uint32Array(lines);
  const digests = new Uint8Array(lines * digestBytes);
  const lineRewards = new Float64Array(lines);
  let trajectory = 0;
  for (let line = 0; line < lines; line++) {
    const start = (starts[line] ?? 0) - base;
    const own = text.bytes.subarray(start, start + (lengths[line] ?? 0));
    checksums[line] = crc32(own);
    // A digest that comes as a text costs less than one that comes with memory of its own.
    digest.write(hash("sha256", own, "binary"), "latin1");
    digest.copy(digests, line * digestBytes, 0, digestBytes);
    lineRewards[line] = groups[line] === 1 ? 0 : (rewards[trajectory] ?? 0);
    trajectory += counts[line] ?? 0;
  }
  parts.pushMany({
    source,
    starts: starts.subarray(0, lines).map((start) => start - base + text.start),
    lengths: lengths.subarray(0, lines),
    lines: numbers.subarray(0, lines).map((line) => line + text.line),
    groups,
    equals,
    trajectories: counts.subarray(0, lines),
    rewards: lineRewards,
    versions: versions.subarray(0, lines),
    checksums,
    digests,
    prints: columns.prints.subarray(0, trajectory),
  });
};
