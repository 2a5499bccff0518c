/** What follows a 413: the request is sent as halves, cut between groups; one group alone is refused. */

import { problemOf } from "../check/rules/problems.ts";
import type { Attempt } from "../client/index.ts";
import { Failure } from "../failure.ts";
import type { Reading } from "../groups/index.ts";
import { spotOfGroup } from "../groups/index.ts";
import { cutRequests, type Frame, type PlannedRequest } from "./plan.ts";
import type { RefusedGroup } from "./requests.ts";

/** What follows: smaller requests and the limit that they keep to, a group that is rejected, or the end of the run. */
type AfterTooLarge =
  | { readonly kind: "halved"; readonly limit: number; readonly requests: readonly PlannedRequest[] }
  | { readonly kind: "rejected"; readonly refused: RefusedGroup }
  | { readonly kind: "stopped"; readonly failure: Failure };

/** What follows a request that was answered with a 413. */
export const afterTooLarge = (
  reading: Reading,
  {
    frame,
    request: { groups, bytes },
    attempt,
    oneRequest,
    skipRefused,
  }: {
    readonly frame: Frame;
    readonly request: PlannedRequest;
    readonly attempt: Attempt;
    readonly oneRequest: boolean;
    readonly skipRefused: boolean;
  },
): AfterTooLarge => {
  const isAlone = groups.length === 1;
  if (!isAlone && !oneRequest) {
    const around = frame.opening.length + frame.closing.length;
    const limit = around + Math.ceil((bytes - around) / 2);
    return { kind: "halved", limit, requests: cutRequests(reading, { frame, groups, limit }) };
  }
  const [group = 0] = groups;
  if (isAlone && skipRefused) {
    const problems = [problemOf("group-too-large", { bytes }, spotOfGroup(reading, group))];
    return { kind: "rejected", refused: { group, problems } };
  }
  const http = attempt.failure?.about.http;
  const about = { ...(http === undefined ? {} : { http }), ...(isAlone ? { where: spotOfGroup(reading, group) } : {}) };
  return {
    kind: "stopped",
    failure: new Failure("request-too-large", { bytes, groups: groups.length }, about),
  };
};
