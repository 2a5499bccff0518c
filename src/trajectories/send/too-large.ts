/** Says what is left to send of a request that the service did not take as it was: halves, or the others without the refused groups. */
import type { Attempt } from "../../client/index.ts";
import { Failure, type Problem } from "../../failure.ts";
import type { Reading } from "../read/read.ts";
import { spotOfGroup } from "../read/spot.ts";
import { problemOf } from "../rules/problems.ts";
import { cutRequests, type Frame, type PlannedRequest } from "./plan.ts";
import { refusalProblems, refusedGroups } from "./refusal.ts";

/** A group that the service refused, with what it said. */
export interface RefusedGroup {
  readonly group: number;
  readonly problems: readonly Problem[];
}

/** What is left of a refused request. */
export interface Left {
  readonly refused: readonly RefusedGroup[];
  readonly requests: readonly PlannedRequest[];
}

interface Refused {
  readonly frame: Frame;
  readonly request: PlannedRequest;
}

/** The halves of a request of several groups that was too large, and the size that was found to be worth a try. */
export const halvesOf = (
  reading: Reading,
  { frame, request: { groups, bytes } }: Refused,
): { readonly limit: number; readonly requests: readonly PlannedRequest[] } => {
  const around = frame.opening.length + frame.closing.length;
  const limit = around + Math.ceil((bytes - around) / 2);
  return { limit, requests: cutRequests(reading, { frame, groups, limit }) };
};

/** What a run ends with that may not, or can't, make a request smaller. */
export const tooLarge = (reading: Reading, { groups, bytes }: PlannedRequest, { failure }: Attempt): Failure => {
  const http = failure?.about.http;
  // Half of it is the next that can be tried; a smaller one than its largest group can't be made.
  const suggested = groups.length > 1 ? Math.floor(bytes / 2) : undefined;
  const where = groups.length === 1 ? { where: spotOfGroup(reading, groups[0] ?? 0) } : {};
  const data = { bytes, groups: groups.length, suggested };
  return new Failure("request-too-large", data, { ...(http === undefined ? {} : { http }), ...where });
};

/**
 * What is left of a request whose refusal names groups, or is about the only one of it.
 * Undefined where it is about something else, so that no part of the request can be told from the others.
 */
export const leftOfRefused = async (
  reading: Reading,
  { frame, request, attempt }: Refused & { readonly attempt: Attempt },
): Promise<Left | undefined> => {
  if (attempt.kind !== "answered" || !isAboutContent(attempt.status)) return undefined;
  const { body } = attempt;
  const alone = request.groups.length === 1;
  const positions = alone ? [0] : refusedGroups(request, body);
  if (positions.length === 0) return undefined;
  const refused: RefusedGroup[] = [];
  for (const position of positions) {
    const group = request.groups[position] ?? 0;
    const said = await refusalProblems(reading, { request, body, ...(alone ? {} : { position }) });
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
