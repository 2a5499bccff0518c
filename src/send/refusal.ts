/** What follows a request that the service refused: smaller requests, rejected groups, and positions in the input. */

import type { Path } from "../check/rules/places.ts";
import { problemOf } from "../check/rules/problems.ts";
import { withoutSecrets } from "../check/rules/secrets.ts";
import type { Attempt } from "../client/index.ts";
import { ValidationError, type ValidationItem } from "../contract/errors.ts";
import type { Failure, Problem } from "../failure.ts";
import { type GroupPart, locate, partValue, type Reading, spotOfGroup } from "../groups/index.ts";
import { parsedJson, valueAt } from "../json/walk.ts";
import { requestTooLarge } from "./failures.ts";
import type { SendOptions } from "./options.ts";
import { cutRequests, type PlannedRequest } from "./plan.ts";
import { foldUnions, type Union } from "./unions.ts";

/** A group that the service refused, and its reasons. */
export interface RefusedGroup {
  readonly group: number;
  readonly problems: readonly Problem[];
}

/** What follows a refused request. The run ends if there is neither a request nor a refused group. */
export interface Next {
  /** Requests that take its place. */
  readonly requests?: readonly PlannedRequest[];
  /** Largest request that is worth an attempt from now on. */
  readonly limit?: number;
  readonly refused?: readonly RefusedGroup[];
  /** What the run ends with, if that is not the answer itself. */
  readonly stop?: Failure;
  /** What the service says against a request that ends the run. */
  readonly problems?: readonly Problem[];
}

/** A request that was refused, with the answer. */
interface Refused extends Pick<SendOptions, "frame" | "oneRequest" | "onRefused"> {
  readonly request: PlannedRequest;
  readonly attempt: Attempt;
}

/** What follows a 413: the request is sent as halves, cut between groups. A group alone is refused. */
export const afterTooLarge = (
  reading: Reading,
  { frame, request: { groups, bytes }, attempt, oneRequest, onRefused }: Refused,
): Next => {
  const isAlone = groups.length === 1;
  if (!isAlone && !oneRequest) {
    const around = frame.opening.length + frame.closing.length;
    const limit = around + Math.ceil((bytes - around) / 2);
    return { limit, requests: cutRequests(reading, { frame, groups, limit }) };
  }
  const [group = 0] = groups;
  const where = isAlone ? { where: spotOfGroup(reading, group) } : {};
  if (isAlone && onRefused === "skip") {
    return { refused: [{ group, problems: [problemOf("group-too-large", { bytes }, where.where)] }] };
  }
  const http = attempt.failure?.about.http;
  const about = { ...(http === undefined ? {} : { http }), ...where };
  return { stop: requestTooLarge(bytes, groups.length, about) };
};

/** What follows any other refusal. If it names groups, or is about the only group, the others can still be sent. */
export const afterRefusal = async (
  reading: Reading,
  { frame, request, attempt, onRefused }: Refused,
): Promise<Next> => {
  if (attempt.kind === "broken") return {};
  const items = itemsOf(attempt.body);
  const isAlone = request.groups.length === 1;
  const named = isAlone ? [0] : items.flatMap((item) => positionIn(request, item) ?? []);
  const positions = new Set(onRefused === "skip" && isAboutContent(attempt.status) ? named : []);
  if (positions.size === 0) return { problems: await problemsOf(reading, { request, items }) };
  const refused: RefusedGroup[] = [];
  for (const [position, group] of request.groups.entries()) {
    if (!positions.has(position)) continue;
    const own = isAlone ? items : items.filter((item) => positionIn(request, item) === position);
    const said = await problemsOf(reading, { request, items: own });
    const text = attempt.failure?.about.http?.said ?? "the service does not say why";
    const problems = said.length > 0 ? said : [problemOf("group-refused", { text }, spotOfGroup(reading, group))];
    refused.push({ group, problems });
  }
  const groups = request.groups.filter((_, position) => !positions.has(position));
  return {
    refused,
    requests: groups.length === 0 ? [] : cutRequests(reading, { frame, groups, limit: request.bytes }),
  };
};

/** Statuses about who asks, where or how, and not about what was sent. */
const otherwise: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 410]);

const isAboutContent = (status: number): boolean => status >= 400 && status < 500 && !otherwise.has(status);

/** An item of a refusal, with its path below the body (interface 7). */
interface Item extends Pick<ValidationItem, "loc" | "msg" | "input"> {
  readonly path: Path;
}

const itemsOf = (body: Uint8Array): readonly Item[] => {
  const parsed = ValidationError.safeParse(parsedJson(Buffer.from(body).toString("utf8"))?.value);
  const items = parsed.success ? parsed.data.detail : [];
  return items.map((item) => ({ ...item, path: item.loc[0] === "body" ? item.loc.slice(1) : item.loc }));
};

/** Items of a refusal that are located: more than a person reads (cli.md, "Output"). */
const maxItems = 100;

/** The problems that items of a refusal name. */
const problemsOf = async (
  reading: Reading,
  { request, items }: { readonly request: PlannedRequest; readonly items: readonly Item[] },
): Promise<readonly Problem[]> => {
  /** Values of parts, by the source and start of each. */
  const values = new Map<string, unknown>();
  const located: Located[] = [];
  for (const item of items.slice(0, maxItems)) located.push(await locateItem(reading, { request, item, values }));
  const problems: Problem[] = [];
  for (const one of foldUnions(located)) problems.push(await serviceProblem(one));
  return problems;
};

/** Position of the group that an item is about; undefined if the request has no such group. */
const positionIn = ({ groups }: PlannedRequest, { path: [list, step] }: Item): number | undefined => {
  const position = positionOf(step);
  return list === "trajectory_groups" && position !== undefined && position < groups.length ? position : undefined;
};

/** A step as a position in an array: services write numbers, the interface says strings (interface 7). */
const positionOf = (step: string | number | undefined): number | undefined => {
  const position = typeof step === "string" && /^\d+$/.test(step) ? Number(step) : step;
  return Number.isSafeInteger(position) && typeof position === "number" && position >= 0 ? position : undefined;
};

/** An item, and the value in the input that it is about; no value if its `loc` fits nothing. */
interface Located {
  readonly item: Item;
  readonly value?: GroupPart & { readonly path: Path };
  readonly union: Union | undefined;
}

const locateItem = async (
  reading: Reading,
  {
    request,
    item,
    values,
  }: { readonly request: PlannedRequest; readonly item: Item; readonly values: Map<string, unknown> },
): Promise<Located> => {
  const found = partOf(reading, request, item);
  if (found === undefined) return { item, union: undefined };
  const { source, part } = found;
  const key = `${part.source}:${part.start}`;
  // If the file changed since it was sent, the service's words are shown without a position.
  if (!values.has(key)) values.set(key, await partValue(source, part).catch(() => undefined));
  const value = values.get(key);
  if (value === undefined) return { item, union: undefined };
  const { path, union } = walk(value, found.path);
  const own = union && { ...union, key: JSON.stringify([key, union.key]) };
  return { item, value: { source, part, path }, union: own };
};

/** The part that an item is about, and the path in it; undefined if the request has no such group. */
const partOf = (
  { groups, found, sources }: Reading,
  request: PlannedRequest,
  item: Item,
): (GroupPart & { readonly path: Path }) | undefined => {
  const rest = item.path.slice(2);
  const group = request.groups[positionIn(request, item) ?? -1];
  if (group === undefined) return undefined;
  const parts = groups.partsOf(group);
  const isMade = found.parts.kindOf(parts[0] ?? 0) === "trajectory";
  // If rollcall made the group, its trajectories are parts.
  const [list, step, ...inside] = rest;
  const position = isMade && list === "trajectories" ? positionOf(step) : undefined;
  const at = position === undefined ? parts[0] : parts[position];
  if (at === undefined) return undefined;
  const part = found.parts.at(at);
  const source = sources[part.source];
  return source && { source, part, path: isMade ? inside : rest };
};

/**
 * Walks down a value. Services put names of types between keys, as in `messages_and_choices.0.UserMessage.content`.
 * They are not part of the path, but the first of them is the branch of a union. The last step stays: its key may be
 * missing.
 */
const walk = (value: unknown, loc: Path): { readonly path: Path; readonly union: Union | undefined } => {
  const path: (string | number)[] = [];
  let inner = value;
  let union: Union | undefined;
  let isInside = true;
  for (const [at, said] of loc.entries()) {
    const step = Array.isArray(inner) ? (positionOf(said) ?? said) : said;
    const child = valueAt(inner, [step]);
    const isLast = at === loc.length - 1;
    const isBranch = typeof step === "string" && (!isLast || /[A-Z([]/.test(step));
    if (child === undefined && isInside && isBranch) union = { key: JSON.stringify(path), holder: inner, branch: step };
    isInside &&= child !== undefined;
    if (child !== undefined || isLast) path.push(step);
    if (child !== undefined) inner = child;
  }
  return { path, union };
};

const serviceProblem = async ({ item: { loc, msg, input }, value }: Located): Promise<Problem> => {
  const spot = value && (await locate(value.source, value).catch(() => undefined));
  // What is shown in the input need not be repeated; what cannot be located is.
  const text = spot === undefined && loc.length > 0 ? `${loc.join(".")}: ${msg}${echoOf(input)}` : msg;
  return { ...problemOf("refused-by-service", { text }, spot), from: "service" };
};

/** Characters of a repeated input: a service may send a whole trajectory back. */
const maxEcho = 80;

const echoOf = (input: unknown): string => {
  if (input === undefined) return "";
  const text = withoutSecrets(JSON.stringify(input) ?? "");
  return ` (input: ${text.length > maxEcho ? `${text.slice(0, maxEcho)}…` : text})`;
};
