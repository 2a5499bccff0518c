/** Takes a group or a trajectory into what was found: measures its trajectories, and makes it a part of the index. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Span } from "../../../json/walk.ts";
import { addExtreme } from "../metrics/extremes.ts";
import type { TrajectoryFacts } from "../metrics/facts.ts";
import { rewardTolerance } from "../metrics/metrics.ts";
import { addLengths } from "../metrics/picture.ts";
import type { Part } from "../parts/columns.ts";
import type { Found } from "../parts/found.ts";

/** What a part keeps of its trajectories. */
interface Measured extends Pick<Part, "equal" | "version"> {
  readonly prints: readonly number[];
}

/** The trajectories of a part that is about to be taken. */
export class Measure {
  readonly #found: Found;
  readonly #prints: number[] = [];
  #version = Number.NaN;
  #least = Number.POSITIVE_INFINITY;
  #most = Number.NEGATIVE_INFINITY;

  constructor(found: Found) {
    this.#found = found;
  }

  /** Adds a valid trajectory to the distributions, but for its metrics. */
  add(facts: TrajectoryFacts): void {
    const { picture, extremes, parts } = this.#found;
    const { reward, version, print } = facts;
    addLengths(picture, facts);
    if (Number.isFinite(reward)) {
      addExtreme(extremes, { reward, part: parts.count, trajectory: this.#prints.length });
    }
    this.#prints.push(print);
    if (!(version <= this.#version)) this.#version = Number.isNaN(version) ? this.#version : version;
    this.#least = Math.min(this.#least, reward);
    this.#most = Math.max(this.#most, reward);
  }

  /** What the part keeps of all of them. */
  get measured(): Measured {
    const equal = this.#prints.length > 1 && this.#most - this.#least <= rewardTolerance;
    return { prints: this.#prints, version: this.#version, equal };
  }
}

/** What a part keeps where its trajectories are not counted. */
export const unmeasured: Measured = { prints: [], version: Number.NaN, equal: false };

/** A part that is about to be taken. */
interface Taken extends Pick<Part, "kind" | "valid" | "trajectories" | "reward" | "source" | "line"> {
  /** Bytes that hold it, and where they stand in the source. */
  readonly bytes: Buffer;
  readonly start: number;
  readonly span: Span;
  readonly measured: Measured;
}

/** Adds a part to the index. */
export const pushPart = ({ parts }: Found, { bytes, start, span, measured, ...facts }: Taken): void => {
  const own = bytes.subarray(span.start, span.end);
  const { prints, equal, version } = measured;
  parts.push(
    { ...facts, equal, version, start: start + span.start, length: own.length, checksum: crc32(own) },
    hash("sha256", own, "buffer"),
  );
  for (let at = 0; at < facts.trajectories; at++) parts.prints.push(prints[at] ?? 0);
};
