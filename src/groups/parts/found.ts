/** What was found in a range of a source, and how it is put to what was found before it. */

import type { Judgement } from "../../check/rules/judgement.ts";
import { type PackedProblems, Problems } from "../../check/rules/problems.ts";
import { type PackedTally, Tally } from "../metrics/metrics.ts";
import {
  type Extremes,
  mergeExtremes,
  mergePicture,
  newExtremes,
  newPicture,
  type Picture,
} from "../metrics/picture.ts";
import { type PackedParts, Parts } from "./columns.ts";
import { GroupKeys, type PackedKeys } from "./group-keys.ts";
import { type PackedRequests, Requests } from "./requests.ts";

/** The shapes of input. */
export type Shape = "requests" | "groups" | "trajectories";

/** What was found in a range of a source: the index, the metrics, the problems. */
export interface Found {
  readonly parts: Parts;
  /** Key of the group that a trajectory belongs to, by the part's position. */
  readonly keys: GroupKeys;
  readonly tally: Tally;
  readonly problems: Problems;
  readonly requests: Requests;
  readonly shapes: Set<Shape>;
  /** Distributions over the valid trajectories, and the rewards at their ends. */
  readonly picture: Picture;
  readonly extremes: Extremes;
}

/** The same as it goes from one thread to another: it can be cloned. */
export interface PackedFound {
  readonly parts: PackedParts;
  readonly keys: PackedKeys;
  readonly tally: PackedTally;
  readonly problems: PackedProblems;
  readonly requests: PackedRequests;
  readonly shapes: ReadonlySet<Shape>;
  readonly picture: Picture;
  readonly extremes: Extremes;
}

/** What is kept of what is found. */
interface Keeping {
  /** Rules of which no problem needs to be kept. */
  readonly enough?: ReadonlySet<string>;
  /** Whether parts are marked (columns.ts); they are where nothing is said. */
  readonly isMarked?: boolean | undefined;
}

/** Nothing yet. */
export const nothingFound = (judgement: Judgement, { enough, isMarked }: Keeping = {}): Found => ({
  parts: new Parts(isMarked),
  keys: new GroupKeys(),
  tally: new Tally(),
  problems: new Problems(judgement, enough),
  requests: new Requests(),
  shapes: new Set(),
  picture: newPicture(),
  extremes: newExtremes(),
});

/** What was found so far, to be put to something else; valid until more is found. */
export const packFound = ({ parts, keys, tally, problems, requests, ...plain }: Found): PackedFound => ({
  parts: parts.pack(),
  keys: keys.pack(),
  tally: tally.pack(),
  problems: problems.pack(),
  requests: requests.pack(),
  ...plain,
});

/** Adds what was found in a later range, whose lines are counted from the last of `lines` lines on. */
export const mergeFound = (into: Found, later: PackedFound, lines = 0): void => {
  mergePicture(into.picture, later.picture);
  mergeExtremes(into.extremes, later.extremes, into.parts.count);
  into.keys.append(later.keys, into.parts.count);
  into.parts.append(later.parts, lines);
  into.tally.merge(later.tally);
  into.problems.merge(later.problems, lines);
  into.requests.merge(later.requests, lines);
  for (const shape of later.shapes) into.shapes.add(shape);
};
