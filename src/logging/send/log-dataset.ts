/** Logs the groups of complete files, and writes rejected groups. */

import { isFailure, toFailure } from "../../failure.ts";
import { getFirstFile } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { assignDedupKeys } from "../../rollouts/index/dedup-keys.ts";
import { invalidInput } from "../../rollouts/rules/failures.ts";
import { Breaks } from "../../system/breaks.ts";
import { ledgerBusy } from "../ledger/failures.ts";
import { cutGroups, type Delivery, findBodyLimit, findStop, openDelivery } from "./delivery.ts";
import * as earlier from "./earlier-requests.ts";
import { markUnsent } from "./failures.ts";
import { composeLogResult, type LogResult } from "./log-result.ts";
import { openGroupOutcomes } from "./outcome.ts";
import { type PlannedRequest, planRequests } from "./plan.ts";
import type { LogSetup, LogTools } from "./policy.ts";
import { nameRejects, openRejects } from "./rejects.ts";
import { reportSampledBefore } from "./sampled-groups.ts";
import { sendRequests } from "./send-requests.ts";

export const logDataset = async (dataset: Dataset, setup: LogSetup): Promise<LogResult> => {
  const outcomes = requireValid(dataset, { skips: setup.policy.onInvalid === "skip", sends: true });
  const destination = await setup.tools.destination();
  const dedupKeys = await assignDedupKeys(dataset.groups, setup.tools.host.signal);
  const delivery = openDelivery(dataset, setup, { file: getFirstFile(dataset), outcomes, dedupKeys, isGrowing: false });
  const { recorder } = delivery;
  try {
    await recorder.open(destination);
    await recorder.acquire();
    await earlier.readPriorOutcomes(delivery);
    return await deliver(delivery);
  } catch (thrown) {
    if (!isFailure(thrown, "interrupted")) throw markUnsent(thrown);
    // A signal ended a wait before the first request.
    return await composeLogResult(delivery, { stop: thrown });
  } finally {
    await recorder.close();
  }
};

/** Writes the rejected groups without sending the others. Returns the path of the rejects file. */
export const writeRejected = async (dataset: Dataset, path: string | undefined, redact: LogTools["redact"]) => {
  const rejected = requireValid(dataset, { skips: true, sends: false }).groupsWith("rejected");
  const own = path ?? nameRejects(getFirstFile(dataset));
  const rejects = openRejects(dataset, { path: own, findLedger: () => undefined, redact });
  await rejects.requireWritable(true, rejected);
  await rejects.append(rejected);
  return rejects.path;
};

const requireValid = ({ scan, groups }: Dataset, { skips, sends }: { skips: boolean; sends: boolean }) => {
  const { problems } = scan;
  const outcomes = openGroupOutcomes(groups.count);
  const checked = groups.areValidParts ? 0 : groups.count;
  for (let group = 0; group < checked; group++) if (!groups.isValid(group)) outcomes.set(group, "rejected");
  if (problems.errors === 0) return outcomes;
  const valid = problems.isInputBroken ? 0 : groups.count - outcomes.groupsWith("rejected").length;
  if (skips && valid > 0) return outcomes;
  throw invalidInput(problems, { isSending: sends, valid });
};

const deliver = async (delivery: Delivery) => {
  const { dataset, policy, outcomes } = delivery;
  const { problems } = dataset.scan;
  const invalid = outcomes.groupsWith("rejected");
  if (!policy.dryRun) await delivery.rejects?.requireWritable(invalid.length > 0, invalid);
  const errorsBefore = problems.errors;
  const resends = applyPriorOutcomes(delivery);
  await earlier.reportOtherAccounts(delivery);
  await reportSampledBefore(delivery, outcomes.groupsWith("not_sent"));
  const requests = [...resends, ...planUnsent(delivery)];
  // With `--strict`, a warning of `planRequests` is an error.
  if (problems.errors > errorsBefore) throw invalidInput(problems, { isSending: true });
  return policy.dryRun ? await describePlan(delivery, requests) : await sendAndReport(delivery, requests);
};

/** Applies the outcomes of earlier runs. Returns the requests to resend. */
const applyPriorOutcomes = (delivery: Delivery) => {
  const { dataset, policy, events, outcomes, priorOutcomes } = delivery;
  if (!priorOutcomes.isEmpty()) earlier.setPriorOutcomes(delivery, outcomes.groupsWith("not_sent"));
  earlier.reportPriorRuns(delivery, () => true);
  const { requests, impossible } = earlier.planResends(delivery);
  for (const id of impossible) dataset.scan.problems.report("resend-impossible", { id, ledgerArgs: policy.ledgerArgs });
  earlier.reportUnresolved(delivery, requests);
  if (requests.length > 0 && policy.onUnknown !== "resend") events.onResend(requests.length);
  return requests;
};

const planUnsent = (delivery: Delivery) => {
  const groups = delivery.outcomes.groupsWith("not_sent");
  return planRequests(delivery.dataset, { envelope: delivery.envelope(), groups, limit: findBodyLimit(delivery) });
};

const describePlan = async (delivery: Delivery, requests: readonly PlannedRequest[]) => {
  const { recorder, dedupKeys, tools } = delivery;
  const breaks = new Breaks(tools.host.signal);
  const planned: { groups: number; bytes: number; key: string | null }[] = [];
  for (const { groups, bytes, recorded } of requests) {
    if (breaks.isDue(16 * groups.length)) await breaks.take();
    const key = (recorded?.key ?? recorder.findPlannedKey(dedupKeys.pick(groups))) || null;
    planned.push({ groups: groups.length, bytes, key });
  }
  return await composeLogResult(delivery, { planned });
};

const sendAndReport = async (delivery: Delivery, requests: readonly PlannedRequest[]) => {
  const { outcomes, rejects, sent } = delivery;
  await sendRequests(delivery, requests);
  await sendClaimed(delivery).catch((thrown: unknown) => {
    sent.stop ??= toFailure(thrown);
  });
  // The result must show the logged groups even if rollcall cannot write the rejects file.
  const rejectsFailure = await rejects?.append(outcomes.groupsWith("rejected")).then(() => undefined, toFailure);
  return await composeLogResult(delivery, { stop: findStop(delivery) ?? rejectsFailure, rejectsFailure });
};

const maxPauseMs = 2000;

/** Sends the groups that other runs claimed but did not log. */
const sendClaimed = async (delivery: Delivery) => {
  const { outcomes, recorder, policy, tools, events } = delivery;
  const { host } = tools;
  let waitingSince: number | undefined;
  while (delivery.claimedGroups.length > 0 && !findStop(delivery)) {
    const claimed = Uint32Array.from(delivery.claimedGroups.splice(0)).sort();
    await recorder.acquire();
    await earlier.readPriorOutcomes(delivery);
    earlier.setPriorOutcomes(delivery, claimed);
    // A run whose lease expired left these requests.
    const { requests: resends } = earlier.planResends(delivery);
    await sendRequests(
      delivery,
      resends.filter((one) => one.groups.some((group) => claimed.includes(group))),
    );
    const groups = claimed.filter((group) => outcomes.outcomeOf(group) === "not_sent");
    if (groups.length === 0) break;
    const leaseMs = await recorder.readOtherLeaseMs();
    if (waitingSince === undefined) events.onWait(leaseMs);
    waitingSince ??= host.elapsed();
    const waitedMs = host.elapsed() - waitingSince;
    if (waitedMs > policy.maxWaitMs) throw ledgerBusy(recorder.resultFacts?.path ?? "", waitedMs, leaseMs);
    await host.sleep(host.random() * maxPauseMs, host.signal);
    await sendRequests(delivery, cutGroups(delivery, groups, { limit: findBodyLimit(delivery).bytes }));
    // The wait restarts if this run claimed a group.
    if (delivery.claimedGroups.length < groups.length) waitingSince = host.elapsed();
  }
};
