/** Takes a refusal of the service back through the plan: to the groups that it names, and from a `loc` to file, line and column. */

import type { Path } from "../check/rules/places.ts";
import { problemOf } from "../check/rules/problems.ts";
import { withoutSecrets } from "../check/rules/secrets.ts";
import type { Attempt } from "../client/index.ts";
import { ValidationError, type ValidationItem } from "../contract/errors.ts";
import type { Problem } from "../failure.ts";
import type { Part, Reading } from "../groups/index.ts";
import { locate, partValue, spotOfGroup } from "../groups/index.ts";
import type { Source } from "../input/source.ts";
import { parsedJson, valueAt } from "../json/walk.ts";
import { cutRequests, type Frame, type PlannedRequest } from "./plan.ts";
import type { RefusedGroup } from "./requests.ts";
import { type Complaint, foldUnions } from "./unions.ts";

/** What is left of a refused request. */
interface Left {
  readonly refused: readonly RefusedGroup[];
  readonly requests: readonly PlannedRequest[];
}

/**
 * What is left of a request whose refusal names groups, or is about the only one of it.
 * Undefined where it is about something else, so that no part of the request can be told from the others.
 */
export const withoutRefused = async (
  reading: Reading,
  { frame, request, attempt }: { readonly frame: Frame; readonly request: PlannedRequest; readonly attempt: Attempt },
): Promise<Left | undefined> => {
  if (attempt.kind !== "answered" || !isAboutContent(attempt.status)) return undefined;
  const { body } = attempt;
  const isAlone = request.groups.length === 1;
  const positions = isAlone ? [0] : refusedGroups(request, body);
  if (positions.length === 0) return undefined;
  const refused: RefusedGroup[] = [];
  for (const position of positions) {
    const group = request.groups[position] ?? 0;
    const said = await refusalProblems(reading, { request, body, ...(isAlone ? {} : { position }) });
    const text = attempt.failure?.about.http?.said ?? "the service does not say why";
    const place = spotOfGroup(reading, group);
    refused.push({ group, problems: said.length > 0 ? said : [problemOf("group-refused", { text }, place)] });
  }
  const named = new Set(positions);
  const groups = request.groups.filter((_, position) => !named.has(position));
  if (groups.length === 0) return { refused, requests: [] };
  return { refused, requests: cutRequests(reading, { frame, groups, limit: request.bytes }) };
};

/** Statuses that are about who asks, or where, or how: not about what was sent. */
const otherwise: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 410]);

const isAboutContent = (status: number): boolean => status >= 400 && status < 500 && !otherwise.has(status);

/** Items of a refusal that are taken back: more than a person reads (promises.md, "Output"). */
const mostItems = 100;

/**
 * The problems that a refused request's answer names (interface 7), all of them or those of the group at
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
  const values = new Map<string, unknown>();
  const complaints: Placed[] = [];
  for (const item of items.slice(0, mostItems)) complaints.push(await placed(reading, { request, item, values }));
  const problems: Problem[] = [];
  for (const complaint of foldUnions(complaints)) problems.push(await serviceProblem(complaint));
  return problems;
};

/** Positions in a request of the groups that a refusal names, in their order. */
const refusedGroups = (request: PlannedRequest, body: Uint8Array): readonly number[] => {
  const positions = new Set(itemsOf(body).map(({ loc }) => positionIn(request, loc)));
  return [...positions].filter((position) => position !== undefined).sort((a, b) => a - b);
};

const itemsOf = (body: Uint8Array): readonly ValidationItem[] => {
  const parsed = ValidationError.safeParse(parsedJson(Buffer.from(body).toString("utf8"))?.value);
  return parsed.success ? parsed.data.detail : [];
};

/** Position of the group that a `loc` is in; undefined where it is in none of the request's. */
const positionIn = ({ groups }: PlannedRequest, loc: Path): number | undefined => {
  const [list, step] = loc[0] === "body" ? loc.slice(1) : loc;
  const position = positionOf(step);
  return list === "trajectory_groups" && position !== undefined && position < groups.length ? position : undefined;
};

/** A step as a position in an array: services write numbers, the interface says strings (interface 7). */
const positionOf = (step: string | number | undefined): number | undefined => {
  const position = typeof step === "string" && /^\d+$/.test(step) ? Number(step) : step;
  return Number.isSafeInteger(position) && typeof position === "number" && position >= 0 ? position : undefined;
};

/** An item, and the part of the input that it is about; none where its `loc` fits nothing. */
interface Placed extends Complaint {
  readonly item: ValidationItem;
  readonly place: { readonly source: Source; readonly part: Part } | undefined;
}

const placed = async (
  reading: Reading,
  {
    request,
    item,
    values,
  }: { readonly request: PlannedRequest; readonly item: ValidationItem; readonly values: Map<string, unknown> },
): Promise<Placed> => {
  const found = partOf(reading, request, item.loc[0] === "body" ? item.loc.slice(1) : item.loc);
  const source = found === undefined ? undefined : reading.sources[found.part.source];
  const nowhere = { item, place: undefined, key: "", value: undefined, path: [] };
  if (found === undefined || source === undefined) return nowhere;
  const { part, path } = found;
  const key = `${part.source}:${part.start}`;
  // Where the file changed since it was sent, what the service says is told all the same.
  if (!values.has(key)) values.set(key, await partValue(source, part).catch(() => undefined));
  const value = values.get(key);
  if (value === undefined) return nowhere;
  return { item, place: { source, part }, key, value, path: withPositions(value, path) };
};

/** A path whose steps in arrays are numbers, however they were spelled; a digit may be a key of an object too. */
const withPositions = (value: unknown, loc: Path): Path => {
  let inner = value;
  return loc.map((said) => {
    const step = Array.isArray(inner) ? (positionOf(said) ?? said) : said;
    // What is not there, such as the name of a type, is no step down.
    inner = valueAt(inner, [step]) ?? inner;
    return step;
  });
};

const serviceProblem = async ({ item: { loc, msg, input }, place, value, path }: Placed): Promise<Problem> => {
  const spot =
    place && (await locate(place.source, { part: place.part, path: pathIn(value, path) }).catch(() => undefined));
  // What is shown where it stands need not be echoed; what can't be found is.
  const text = spot === undefined && loc.length > 0 ? `${loc.join(".")}: ${msg}${echoOf(input)}` : msg;
  return { ...problemOf("refused-by-service", { text }, spot), from: "service" };
};

/** Characters of an echoed input that are shown: a service may send a whole trajectory back. */
const longestEcho = 80;

const echoOf = (input: unknown): string => {
  if (input === undefined) return "";
  const json = JSON.stringify(input) ?? "";
  const text = withoutSecrets(json);
  return ` (input: ${text.length > longestEcho ? `${text.slice(0, longestEcho)}…` : text})`;
};

/** The part that a `loc` below the body is in, and the path in it; undefined where it fits none of the request's groups. */
const partOf = (
  { groups, found }: Reading,
  request: PlannedRequest,
  loc: Path,
): { readonly part: Part; readonly path: Path } | undefined => {
  const rest = loc.slice(2);
  const group = request.groups[positionIn(request, loc) ?? -1];
  if (group === undefined) return undefined;
  const parts = groups.partsOf(group);
  const part = found.parts.at(parts[0] ?? 0);
  if (part.kind !== "trajectory") return { part, path: rest };
  // The group was made here: its trajectories are parts of their own.
  const [trajectories, step, ...inside] = rest;
  const position = positionOf(step);
  const at = trajectories === "trajectories" && position !== undefined ? parts[position] : parts[0];
  return at === undefined ? undefined : { part: found.parts.at(at), path: inside };
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
