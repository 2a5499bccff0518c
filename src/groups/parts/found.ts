/** What was found in a range of a source, and how it is added to what was found before it. */

import { type PackedProblems, Problems } from "../../check/rules/problems.ts";
import type { Judgement } from "../../check/rules/rules.ts";
import { type Extremes, mergeExtremes, newExtremes } from "../metrics/extremes.ts";
import { Tally, type TallyData } from "../metrics/metrics.ts";
import { Parts, type PartsData } from "./parts.ts";
import { Requests, type RequestsData } from "./requests.ts";

/** The shapes of input. */
export type Shape = "requests" | "groups" | "trajectories";

/** What was found in a range of a source: the index, the metrics, the problems. */
export interface Found {
  readonly parts: Parts;
  /** Metrics and distributions of the valid trajectories. */
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<Shape>;
  /** The rewards of one source. */
  readonly extremes: Extremes;
}

/** The same as data, which can be handed to another thread. */
export interface PackedFound extends Pick<Found, "extremes"> {
  readonly parts: PartsData;
  readonly tally: TallyData;
  readonly problems: PackedProblems;
  readonly requests: RequestsData;
  readonly shapes: ReadonlySet<Shape>;
}

/** What is kept of what is found. */
interface Keeping {
  /** Rules of which no problem needs to be kept. */
  readonly enough?: ReadonlySet<string>;
  /** True if parts are marked (parts.ts). Default: true. */
  readonly isMarked?: boolean | undefined;
}

/** Nothing yet. */
export const nothingFound = (judgement: Judgement, { enough, isMarked }: Keeping = {}): Found => ({
  parts: new Parts(isMarked),
  tally: new Tally(),
  problems: new Problems(judgement, enough),
  requests: new Requests(),
  shapes: new Set(),
  extremes: newExtremes(),
});

/** What was found so far, as data. */
export const packFound = (found: Found): PackedFound => ({ ...found, problems: found.problems.pack() });

/** Adds what was found in a later range, whose lines are counted from the last of `lines` lines on. */
export const mergeFound = (into: Found, later: PackedFound, lines = 0): void => {
  mergeExtremes(into.extremes, later.extremes, into.parts.count);
  into.parts.append(later.parts, lines);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems, lines);
  into.requests.merge(later.requests, lines);
  for (const shape of later.shapes) into.shapes.add(shape);
};
