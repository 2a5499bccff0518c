/** Handles refused requests, and locates refused values in the input. */

import { type Failure, isFailure, type Problem } from "../../failure.ts";
import { getValue } from "../../json/json-bytes.ts";
import { listParts, readPartValue } from "../../rollouts/dataset/group-bytes.ts";
import { locateGroup, locateValue } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import type { Path } from "../../rollouts/rules/positions.ts";
import { createProblem } from "../../rollouts/rules/problems.ts";
import type { Answer } from "../../wire/client/client.ts";
import { requestRefused } from "../../wire/client/failures.ts";
import type { ValidationItem } from "../../wire/contract/validation-error.ts";
import { cutGroups, type Delivery, stopAfterRequest } from "./delivery.ts";
import { requestTooLarge } from "./failures.ts";
import { findHalfBytes, type PlannedRequest } from "./plan.ts";

/** Cuts a request of several groups into halves, or at the ledger's limit if that is larger. */
export const handleTooLarge = (delivery: Delivery, { groups, bytes }: PlannedRequest, failure: Failure | undefined) => {
  const { dataset, recorder } = delivery;
  if (groups.length > 1) {
    const knownLimit = recorder.sizeLimit?.bytes ?? 0;
    const halfBytes = findHalfBytes(dataset, { envelope: delivery.envelope(), groups });
    const limit = Math.max(halfBytes, knownLimit < bytes ? knownLimit : 0);
    delivery.cutLimit = Math.min(delivery.cutLimit, limit);
    return cutGroups(delivery, groups, { limit });
  }
  const where = locateGroup(dataset, groups[0] ?? 0);
  stopAfterRequest(delivery, requestTooLarge(bytes, { http: failure?.details.http, where }));
  return [];
};

/** Returns a failure that locates the values that the answer names. */
export const locateRefusal = async (
  { dataset, tools }: Delivery,
  request: PlannedRequest,
  { status, bytes, failure }: Answer,
) => {
  // The others are about the key, the URL or a proxy.
  if (!isFailure(failure, "request-refused")) return failure;
  const { readFaults } = await import("../../wire/contract/validation-error.ts");
  const { faults, count } = readFaults(bytes);
  const items = faults.map((item) => toRefusalItem(request, { ...item, msg: tools.clean(item.msg) }));
  const problems = await locateProblems(dataset, { request, items });
  return problems.length === 0 ? failure : requestRefused(status, { ...failure.details, problems }, count);
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
