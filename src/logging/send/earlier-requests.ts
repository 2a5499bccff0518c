/** Compares the groups of a run with earlier requests, and plans which of these it resends. */

import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { type Entry, findGroups, isLogged } from "../ledger/entries.ts";
import type { RecordedRequest, RequestRecorder } from "../ledger/request-recorder.ts";
import type { Delivery } from "./delivery.ts";
import { type PlannedRequest, planRequest } from "./plan.ts";
import type { LogPolicy } from "./policy.ts";
import { collectSampled } from "./sampled-groups.ts";

export const readPriorOutcomes = async ({ priorOutcomes, recorder }: Delivery) =>
  await priorOutcomes.addEntries(recorder.entries());

export const setPriorOutcomes = ({ outcomes, priorOutcomes }: Delivery, groups: Iterable<number>) => {
  for (const group of groups) outcomes.set(group, priorOutcomes.outcomeOf(group));
};

export const canResend = (
  request: RecordedRequest,
  { resendLogged, onUnknown }: Pick<LogPolicy, "resendLogged" | "onUnknown">,
  recorder: Pick<RequestRecorder, "isKeyHonored">,
) => !resendLogged && (onUnknown === "resend" || recorder.isKeyHonored(request));

/** `impossible` has the ids of requests whose groups or bytes changed. */
export const planResends = (delivery: Delivery) => {
  const { policy, priorOutcomes, recorder } = delivery;
  const requests: PlannedRequest[] = [];
  const impossible: string[] = [];
  for (const entry of priorOutcomes.unknownEntries()) {
    if (!canResend(entry, policy, recorder)) continue;
    const request = toRequest(delivery, entry);
    if (request) requests.push(request);
    else impossible.push(entry.id);
  }
  return { requests, impossible };
};

const toRequest = (delivery: Delivery, { id, key, firstTried, ...entry }: Entry): PlannedRequest | undefined => {
  const { dataset, dedupKeys } = delivery;
  const groups = Uint32Array.from(findGroups(entry.dedupKeys, dedupKeys.find));
  if (groups.length * dedupKeyBytes < entry.dedupKeys.length) return undefined;
  const envelope = delivery.envelope();
  const request = planRequest(dataset, { envelope, groups });
  if (request.bytes !== entry.bytes || envelope.digest !== entry.envelopeDigest) return undefined;
  const isSame = entry.sampled.length === 0 || Buffer.compare(entry.sampled, collectSampled(dataset, groups)) === 0;
  return isSame ? { ...request, recorded: { id, key, firstTried } } : undefined;
};

/** Reports the requests with an unknown outcome that the run does not resend. */
export const reportUnresolved = (delivery: Delivery, resends: readonly PlannedRequest[] = []) => {
  const { dataset, policy, priorOutcomes, dedupKeys } = delivery;
  const resentIds = new Set(resends.map(({ recorded }) => recorded?.id));
  const unresolved = priorOutcomes.unknownEntries().filter(({ id }) => !resentIds.has(id));
  const found = unresolved.map((entry) => findGroups(entry.dedupKeys, dedupKeys.find));
  const requests = found.filter(({ length }) => length > 0).length;
  const facts = { requests, groups: new Set(found.flat()).size, ledgerArgs: policy.ledgerArgs };
  if (requests > 0) dataset.scan.problems.report("unresolved-requests", facts);
};

/**
 * Reports groups that other accounts logged. The account is part of their identity, so only own ones are not sent. In a
 * shared ledger, the account of a machine is probably missing.
 */
export const reportOtherAccounts = async (delivery: Delivery) => {
  const { dataset, recorder, dedupKeys, outcomes, policy } = delivery;
  const found = new Set<number>();
  let [last, account] = [0, ""];
  for await (const entry of recorder.entriesOfOtherAccounts()) {
    const logged = isLogged(entry.state) ? findGroups(entry.dedupKeys, dedupKeys.find) : [];
    for (const group of logged) found.add(group);
    if (logged.length > 0 && entry.lastTried >= last) [last, account] = [entry.lastTried, entry.scope.account];
  }
  const at = new Date(last).toISOString();
  const areOwn = [...found].every((group) => outcomes.outcomeOf(group) === "already_logged");
  const facts = { groups: found.size, at, account, ownAccount: policy.account };
  const { problems } = dataset.scan;
  if (recorder.isShared && !policy.resendLogged && !areOwn) problems.replaceWithError("logged-before", facts);
  else if (found.size > 0) problems.report("logged-before", facts);
};

export const reportPriorRuns = (delivery: Delivery, isCounted: (group: number) => boolean) => {
  const { dataset, priorOutcomes, policy } = delivery;
  const { groups, scan } = dataset;
  let elsewhere = 0;
  for (let group = 0; group < groups.count && !priorOutcomes.isEmpty(); group++)
    if (isCounted(group) && priorOutcomes.wasLoggedElsewhere(group)) elsewhere++;
  if (elsewhere > 0 && policy.batch === undefined) {
    const at = new Date(priorOutcomes.loggedElsewhereAt()).toISOString();
    scan.problems.report("logged-before", { groups: elsewhere, at });
  }
};
