/** Takes a refusal of the service back through the plan: from a `loc` to file, line and column. */
import { ValidationError, type ValidationItem } from "../contract/errors.ts";
import type { Problem } from "../failure.ts";
import { locate } from "./locate.ts";
import type { Path } from "./places.ts";
import type { PlannedRequest } from "./plan.ts";
import { problemOf } from "./problems.ts";
import type { Reading } from "./read.ts";
import { readRange } from "./source.ts";
import { valueAt } from "./values.ts";

/** Items of a refusal that are taken back: more than a person reads (cli.md, "Output"). */
const mostItems = 100;

/**
 * The problems that a refused request's answer names (service-interface 7), all of them or those of the group at
 * `position` of the request; none where it is of another shape.
 */
export const refusalProblems = async (
  reading: Reading,
  {
    request,
    body,
    position,
  }: { readonly request: PlannedRequest; readonly body: Uint8Array; readonly position?: number },
): Promise<readonly Problem[]> => {
  const items = itemsOf(body).filter(({ loc }) => position === undefined || positionIn(request, loc) === position);
  const problems: Problem[] = [];
  for (const item of items.slice(0, mostItems)) problems.push(await problemOfItem(reading, request, item));
  return problems;
};

/** Positions in a request of the groups that a refusal names, in their order. */
export const refusedGroups = (request: PlannedRequest, body: Uint8Array): readonly number[] => {
  const positions = new Set(itemsOf(body).map(({ loc }) => positionIn(request, loc)));
  return [...positions].filter((position) => position !== undefined).sort((a, b) => a - b);
};

const itemsOf = (body: Uint8Array): readonly ValidationItem[] => {
  const parsed = ValidationError.safeParse(jsonOf(body));
  return parsed.success ? parsed.data.detail : [];
};

/** Position of the group that a `loc` is in; undefined where it is in none of the request's. */
const positionIn = ({ groups }: PlannedRequest, loc: Path): number | undefined => {
  const [list, position] = loc[0] === "body" ? loc.slice(1) : loc;
  return list === "trajectory_groups" && typeof position === "number" && position >= 0 && position < groups.length
    ? position
    : undefined;
};

const jsonOf = (body: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(body).toString("utf8"));
  } catch {
    return undefined;
  }
};

const problemOfItem = async (
  reading: Reading,
  request: PlannedRequest,
  { loc, msg }: ValidationItem,
): Promise<Problem> => {
  const spot = await spotOf(reading, request, loc[0] === "body" ? loc.slice(1) : loc);
  const text = spot === undefined && loc.length > 0 ? `${loc.join(".")}: ${msg}` : msg;
  return { ...problemOf("refused-by-service", { text }, spot), from: "service" };
};

/** Where a `loc` below the body stands in the input; undefined where it fits none of the request's groups. */
const spotOf = async ({ groups, found, sources }: Reading, request: PlannedRequest, loc: Path) => {
  const [list, index, ...rest] = loc;
  if (list !== "trajectory_groups" || typeof index !== "number") return;
  const group = request.groups[index];
  if (group === undefined) return;
  const parts = groups.partsOf(group);
  let part = found.parts.at(parts[0] ?? 0);
  let path: Path = rest;
  if (part.kind === "trajectory") {
    // The group was made here: its trajectories are parts of their own.
    const [trajectories, position, ...inside] = rest;
    const at = trajectories === "trajectories" && typeof position === "number" ? parts[position] : parts[0];
    if (at === undefined) return;
    part = found.parts.at(at);
    path = inside;
  }
  const source = sources[part.source];
  if (source === undefined) return;
  const value: unknown = JSON.parse((await readRange(source.bytes, part)).toString("utf8"));
  return await locate(source, { part, path: pathIn(value, path) });
};

/**
 * The path that there is: services put names of types between keys, as `messages_and_choices.0.UserMessage.content`.
 * The last step stays, since it may be a key that lacks.
 */
const pathIn = (value: unknown, loc: Path): Path => {
  const path: (string | number)[] = [];
  for (const [at, step] of loc.entries()) {
    if (at === loc.length - 1 || valueAt(value, [...path, step]) !== undefined) path.push(step);
  }
  return path;
};
