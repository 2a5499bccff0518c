/** Handles refused requests, and locates refused values in the input. */

import type { Failure, Problem } from "../../failure.ts";
import { getValue, parseJson } from "../../json/json-bytes.ts";
import { listParts, readPartValue } from "../../rollouts/dataset/group-bytes.ts";
import { locateGroup, locateValue } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { Path } from "../../rollouts/rules/positions.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import type { Answer } from "../../wire/client/client.ts";
import { requestRefused } from "../../wire/client/failures.ts";
import type { ValidationItem } from "../../wire/contract/log-schemas.ts";
import { requestTooLarge } from "./failures.ts";
import { cutRequests, findHalfBytes, type PlannedRequest } from "./plan.ts";
import type { RejectedGroup } from "./rejects.ts";
import type { SendOptions } from "./send-options.ts";

/** If `requests` and `refused` are empty, the run ends with `stop`. */
interface NextStep {
  requests?: readonly PlannedRequest[];
  limit?: number;
  refused?: readonly RejectedGroup[];
  /** Default: the failure of the answer. */
  stop?: Failure | undefined;
}

interface RefusedRequest extends Pick<SendOptions, "envelope" | "oneRequest" | "onRefused" | "clean"> {
  request: PlannedRequest;
  answer: Answer;
}

/** Cuts a request of several groups into halves, or at the ledger's limit if that is larger. */
export const handleTooLarge = (dataset: Dataset, refusal: RefusedRequest & { knownLimit: number }): NextStep => {
  const { envelope, answer, oneRequest, onRefused, knownLimit } = refusal;
  const { groups, bytes } = refusal.request;
  const isAlone = groups.length === 1;
  if (!isAlone && !oneRequest) {
    const limit = Math.max(findHalfBytes(dataset, { envelope, groups }), knownLimit < bytes ? knownLimit : 0);
    return { limit, requests: cutRequests(dataset, { envelope, groups, limit }) };
  }
  const [group = 0] = groups;
  const where = isAlone ? locateGroup(dataset, group) : undefined;
  if (isAlone && onRefused === "skip")
    return { refused: [{ group, problems: [createProblem("group-too-large", { bytes }, where)] }] };
  return { stop: requestTooLarge(bytes, groups.length, { http: answer.failure?.details.http, where }) };
};

const statusesNotAboutContent: ReadonlySet<number> = new Set([401, 402, 403, 404, 405, 407, 410]);

/** With `--on-refused skip`, rejects the groups that the answer names, or the only group of the request. */
export const handleRefusal = async (dataset: Dataset, refusal: RefusedRequest): Promise<NextStep> => {
  const { envelope, request, answer, onRefused, clean } = refusal;
  const { status, body, failure } = answer;
  const { ValidationError } = await import("../../wire/contract/log-schemas.ts");
  const parsed = ValidationError.safeParse(parseJson(Buffer.from(body).toString("utf8"))?.value);
  const isAboutContent = status >= 400 && status < 500 && !statusesNotAboutContent.has(status);
  const detail = parsed.success && isAboutContent ? parsed.data.detail : [];
  const items = detail.map((item) => toRefusalItem(request, { ...item, msg: clean(item.msg) }));
  const isAlone = request.groups.length === 1;
  const named = isAlone ? [0] : items.flatMap(({ position }) => position ?? []);
  const positions = new Set(onRefused === "skip" && isAboutContent ? named : []);
  if (positions.size === 0) {
    const problems = await locateProblems(dataset, { request, items });
    return { stop: problems.length === 0 ? failure : requestRefused(status, { ...failure?.details, problems }) };
  }
  const refused: RejectedGroup[] = [];
  for (const [position, group] of request.groups.entries()) {
    if (!positions.has(position)) continue;
    const groupItems = isAlone ? items : items.filter((item) => item.position === position);
    const located = await locateProblems(dataset, { request, items: groupItems });
    const text = failure?.details.http?.said ?? "no reason given";
    if (located.length === 0) located.push(createProblem("group-refused", { text }));
    const where = locateGroup(dataset, group);
    refused.push({ group, problems: located.map((problem) => ({ ...where, ...problem })) });
  }
  const groups = request.groups.filter((_, position) => !positions.has(position));
  const limit = request.bytes;
  return { refused, requests: groups.length === 0 ? [] : cutRequests(dataset, { envelope, groups, limit }) };
};

type RefusalItem = ReturnType<typeof toRefusalItem>;

/** `position` is the index of the item's group in the request (interface 7). */
const toRefusalItem = ({ groups }: PlannedRequest, item: ValidationItem) => {
  const [list, step, ...path] = item.loc[0] === "body" ? item.loc.slice(1) : item.loc;
  const position = parsePosition(step) ?? groups.length;
  const isOfRequest = list === "trajectory_groups" && position < groups.length;
  return { ...item, position: isOfRequest ? position : undefined, path };
};

const parsePosition = (step: string | number | undefined) => {
  const position = typeof step === "string" && /^\d+$/.test(step) ? Number(step) : step;
  return typeof position === "number" && Number.isSafeInteger(position) && position >= 0 ? position : undefined;
};

const maxItems = 100;

const locateProblems = async (
  dataset: Dataset,
  { request, items }: { request: PlannedRequest; items: readonly RefusalItem[] },
) => {
  const values = new Map<string, unknown>();
  const locate = async ({ position, path }: RefusalItem) => {
    const group = request.groups[position ?? -1];
    if (group === undefined) return undefined;
    // In a bare group, each trajectory is a separate part.
    const isBare = dataset.groups.isBare(group);
    const [list, step, ...inside] = path;
    const trajectory = isBare && list === "trajectories" ? parsePosition(step) : undefined;
    const groupPart = listParts(dataset, group)[trajectory ?? 0];
    if (!groupPart) return undefined;
    const key = `${groupPart.part.source}:${groupPart.part.start}`;
    if (!values.has(key)) values.set(key, readPartValue(groupPart));
    return await locateValue(groupPart, removeTypeNames(values.get(key), isBare ? inside : path));
  };
  const problems: Problem[] = [];
  for (const item of items.slice(0, maxItems)) {
    const { loc, msg } = item;
    // If the file changed, the problem has no location.
    const location = await locate(item).catch(() => undefined);
    const text = !location && loc.length > 0 ? `${loc.join(".")}: ${msg}` : msg;
    problems.push({ ...createProblem("refused-by-service", { text }, location), from: "service" });
  }
  return problems;
};

/** Services insert names of types, as in `messages_and_choices.0.UserMessage.content`. */
const removeTypeNames = (whole: unknown, path: Path): Path => {
  let inner = whole;
  return path.flatMap((part, at) => {
    const step = Array.isArray(inner) ? (parsePosition(part) ?? part) : part;
    const child = getValue(inner, [step]);
    if (child === undefined) return at === path.length - 1 ? step : [];
    inner = child;
    return step;
  });
};
