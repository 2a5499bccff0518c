/** Checks requests, groups and trajectories: their types, and what is unusual in them. */
import { nodeSize } from "../json/reader.ts";
import { afterOf, numbersIn, parsedNode, type Tabled } from "../json/table.ts";
import { isObject } from "../json/walk.ts";
import { arrayKind, describe, kindAt, kindOf, objectKind, stringKind } from "./kinds.ts";
import type { Report } from "./report.ts";
import { inspectTrajectory, TrajectoryFacts, versionOf } from "./trajectory.ts";
import { checkElements, reportMissing, reportWrongType, trajectoryType } from "./types.ts";

/** Checks the fields of a request; its groups are checked one by one. */
export const checkRequest = (
  text: Tabled,
  { node, list, split }: { readonly node: number; readonly list: number; readonly split: number },
  report: Report,
): void => {
  const field = "trajectory_groups";
  if (list === 0) reportMissing(text, { holder: node, field }, report);
  else if (kindOf(text, list) !== arrayKind) {
    const isOne = (): boolean => {
      const groups = parsedNode(text, list);
      return isObject(groups) && Object.hasOwn(groups, "trajectories");
    };
    const instead = () => (isOne() ? 'one group is an array of one: "trajectory_groups": [{…}]' : undefined);
    report("wrong-type", () => ({ field, wanted: "an array", found: describe(text, list), instead }), list);
  }
  if (split !== 0 && kindOf(text, split) !== stringKind) {
    report("wrong-type", () => ({ field: "split", wanted: "a string", found: describe(text, split) }), split);
  }
};

/** What is known of the trajectories of the value that was checked last: the first ones, as many as it has. */
export const trajectoryFacts: TrajectoryFacts[] = [];

const factsAt = (at: number): TrajectoryFacts => {
  const known = trajectoryFacts[at];
  if (known !== undefined) return known;
  const facts = new TrajectoryFacts();
  trajectoryFacts.push(facts);
  return facts;
};

/** Checks a group; gives how many trajectories it has whose facts are known, undefined if an error of type was reported. */
export const checkGroup = (
  text: Tabled,
  { node, list, exceptions }: { readonly node: number; readonly list: number; readonly exceptions: number },
  report: Report,
): number | undefined => {
  if (kindAt(text, node) !== objectKind) reportWrongType(text, { node, field: "a group", wanted: "an object" }, report);
  else if (list === 0) reportMissing(text, { holder: node, field: "trajectories" }, report);
  else if (kindOf(text, list) !== arrayKind)
    reportWrongType(text, { node: list, field: "trajectories", wanted: "an array" }, report);
  else if (!areTyped(text, { node, list, exceptions }, report)) reportTypes(text, list, report);
  else {
    let count = 0;
    const end = afterOf(text, list);
    for (let one = list + nodeSize; one < end; one = afterOf(text, one)) {
      inspectTrajectory(text, one, factsAt(count++), report);
    }
    return count;
  }
  return undefined;
};

/** True if all trajectories of a group have the types; what is unusual about them as a group is reported then. */
const areTyped = (
  text: Tabled,
  { node, list, exceptions }: { readonly node: number; readonly list: number; readonly exceptions: number },
  report: Report,
): boolean => {
  if (numbersIn(text, list) > 0) return false;
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  const end = afterOf(text, list);
  let count = 0;
  for (let one = list + nodeSize; one < end; one = afterOf(text, one)) {
    if (kindAt(text, one) !== objectKind || !trajectoryType.fits(text, one)) return false;
    const version = versionOf(text);
    factsAt(count++).version = version;
    if (version < least) least = version;
    if (version > most) most = version;
  }
  if (end === list + nodeSize) reportEmpty(list, exceptions > 0, report);
  if (least < most) reportMixed(node, { least, most }, report);
  return true;
};

const reportEmpty = (list: number, hasExceptions: boolean, report: Report): void =>
  report("group-empty", () => ({ hasExceptions }), list);

const reportMixed = (node: number, data: { readonly least: number; readonly most: number }, report: Report): void =>
  report("policy-mixed", () => data, node);

/** Reports each trajectory that lacks the types, and then what is unusual in the others. */
const reportTypes = (text: Tabled, list: number, report: Report): void => {
  checkElements(text, { list, field: "trajectories", type: trajectoryType }, report);
  const end = afterOf(text, list);
  for (let node = list + nodeSize; node < end; node = afterOf(text, node)) {
    const fits = kindAt(text, node) === objectKind && trajectoryType.fits(text, node);
    if (fits) inspectTrajectory(text, node, factsAt(0), report);
  }
};

/** Checks a trajectory that is not in a group; true if its facts are known. */
export const checkTrajectory = (text: Tabled, node: number, report: Report): boolean => {
  const fits = trajectoryType.fits(text, node);
  if (fits) {
    factsAt(0).version = versionOf(text);
    inspectTrajectory(text, node, factsAt(0), report);
  } else trajectoryType.check(text, node, report);
  return fits;
};

/** How many elements a value has; none if it is not an array. */
export const countOf = (text: Tabled, node: number): number => {
  if (kindOf(text, node) !== arrayKind) return 0;
  let count = numbersIn(text, node);
  const end = afterOf(text, node);
  for (let one = node + nodeSize; one < end; one = afterOf(text, one)) count++;
  return count;
};
