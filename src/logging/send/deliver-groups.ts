/** Delivers the groups of complete files, and writes rejected groups. */

import { basename } from "node:path";
import { Failure, isFailure, toFailure } from "../../failure.ts";
import { hasOtherContent } from "../../rollouts/dataset/contents.ts";
import { getFirstFile } from "../../rollouts/dataset/locate.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { assignDedupKeys } from "../../rollouts/index/dedup-keys.ts";
import { invalidInput } from "../../rollouts/rules/failures.ts";
import { invalidOptionValue } from "../../system/failures.ts";
import { ledgerBusy } from "../ledger/failures.ts";
import { openRunLedger } from "../ledger/open-ledger.ts";
import { openPriorOutcomes, openWrittenFiles } from "../ledger/prior-outcomes.ts";
import type { RunLedger } from "../ledger/recorded-requests.ts";
import { type Delivery, openDelivery, resolveRejectsPath } from "./delivery.ts";
import { type GroupOutcomes, rejectInvalid } from "./group-outcomes.ts";
import { composeLogResult } from "./log-result.ts";
import { cutRequests, planRequests } from "./plan.ts";
import { openRejects, type RejectedGroup } from "./rejects.ts";
import { composeBody, compress } from "./request-body.ts";
import type { DeliverOptions } from "./send-options.ts";
import { emptySendResult } from "./send-result.ts";
import { type Job, removeTakenGroups, stopSending, toSendResult } from "./sender-state.ts";

export const deliverGroups = async (dataset: Dataset, options: DeliverOptions) => {
  const outcomes = requireValid(dataset, { skips: options.onInvalid === "skip", sends: true });
  const destination = await options.destination();
  const file = getFirstFile(dataset);
  const input = basename(file);
  let runLedger: RunLedger | undefined;
  try {
    runLedger = await openRunLedger(options, { destination, input });
    await runLedger.acquire();
    const dedupKeys = assignDedupKeys(dataset.groups);
    const priorOutcomes = openPriorOutcomes({
      ...options,
      numberOf: dedupKeys.find,
      input,
      hasOtherContent: (group, earlier) => hasOtherContent(dataset, group, earlier),
    });
    const state = { file, runLedger, outcomes, dedupKeys, priorOutcomes, numberOf: (group: number) => group };
    const delivery = openDelivery(dataset, { ...options, ...state });
    await delivery.readPriorOutcomes();
    return await sendAndReport(delivery);
  } catch (thrown) {
    if (!isFailure(thrown, "interrupted")) throw markUnsent(thrown);
    // A signal ended a wait before the first request.
    return composeLogResult(dataset, { ...options, runLedger, outcomes, sent: emptySendResult(thrown) });
  } finally {
    await runLedger?.close();
  }
};

export const writeRejected = async (
  dataset: Dataset,
  { rejects, redact }: Pick<DeliverOptions, "rejects" | "redact">,
) => {
  const path = resolveRejectsPath(getFirstFile(dataset), rejects);
  const rejected = listRejected(requireValid(dataset, { skips: true, sends: false }), []);
  const file = openRejects(dataset, { path, written: openWrittenFiles(), redact });
  await file.requireWritable(true, rejected);
  await file.append(rejected);
  return path;
};

export const markUnsent = (thrown: unknown) =>
  thrown instanceof Failure && (thrown.code === "storage" || thrown.kind === "database-unavailable")
    ? thrown.withDetails({ unsent: true })
    : thrown;

const sendAndReport = async (delivery: Delivery) => {
  const { dataset, options, rejects, rejectsFile } = delivery;
  const { outcomes, dryRun, maxRequestBytes, oneRequest } = options;
  const { problems } = dataset;
  const invalid = listRejected(outcomes, []);
  if (!dryRun) await rejects?.requireWritable(options.onRefused === "skip" || invalid.length > 0, invalid);
  const errorsBefore = problems.errors;
  await delivery.reportOtherAccounts();
  const resent = applyPriorOutcomes(delivery);
  if (resent.length > 0 && options.onUnknown !== "resend") options.onResend(resent.length);
  const requests = planRequests(dataset, {
    envelope: delivery.envelope(),
    groups: outcomes.groupsWith("not_sent"),
    // `--one-request` ignores an earlier 413, because the service may now accept the size.
    limit: { ...delivery.limit(), ...(oneRequest ? { bytes: maxRequestBytes, isDiscovered: false } : {}) },
    oneRequest,
  });
  // With `--strict`, a warning of `planRequests` is an error.
  if (problems.errors > errorsBefore) throw invalidInput(problems, { isSending: true });
  const jobs = [...resent, ...requests.map((request) => ({ request }))];
  if (dryRun) {
    await writeBody(delivery, jobs);
    const planned = jobs.map((job) => {
      const { groups, bytes } = job.request;
      return { groups: groups.length, bytes, key: delivery.findIdempotencyKey(job) };
    });
    return composeLogResult(dataset, { ...options, planned, sent: emptySendResult() });
  }
  const sent = jobs.length === 0 ? emptySendResult() : await send(delivery, jobs);
  const replaced = jobs.length === 0 ? [] : dataset.sources.filter((source) => source.isReplaced?.());
  await delivery.subtractRefused();
  const rejected = listRejected(outcomes, sent.refused);
  // The result must show the logged groups even if rollcall cannot write the rejects file.
  const rejectsFailure = await rejects?.append(rejected).then(() => undefined, toFailure);
  return composeLogResult(dataset, {
    ...options,
    sent: { ...sent, stop: sent.stop ?? rejectsFailure },
    rejectsFailure,
    replaced: replaced.map(({ name }) => name),
    rejectsFile: rejected.length > 0 && !rejectsFailure ? rejectsFile : undefined,
    areRejectsEmpty: rejects?.countLines() === 0,
  });
};

const writeBody = async (delivery: Delivery, jobs: readonly Job[]) => {
  const { body, compression } = delivery.options;
  if (!body) return;
  const request = jobs[body.number - 1]?.request;
  if (!request) {
    const isEmpty = jobs.length === 0;
    const wanted = `at most ${jobs.length}, the number of planned requests`;
    throw invalidOptionValue(
      "--body",
      String(body.number),
      isEmpty ? "no --body, because no request is planned" : wanted,
    );
  }
  const chunks = composeBody(delivery.dataset, { envelope: delivery.envelope(), request });
  for await (const piece of compression ? await compress(chunks, compression) : chunks) await body.write(piece);
};

const maxPauseMs = 2000;

/** Sends the jobs, and then the groups that other runs claimed but did not log. */
const send = async (delivery: Delivery, jobs: readonly Job[]) => {
  const { host, outcomes, runLedger, maxWaitMs, onWait } = delivery.options;
  const sender = await delivery.sendJobs(jobs);
  let waitingSince: number | undefined;
  let takenGroups = removeTakenGroups(sender);
  try {
    while (takenGroups.length > 0 && !toSendResult(sender).stop) {
      await runLedger.acquire();
      await delivery.readPriorOutcomes();
      delivery.setPriorOutcomes(takenGroups);
      const groups = takenGroups.filter((group) => outcomes.outcomeOf(group) === "not_sent");
      if (groups.length === 0) break;
      const leaseMs = await runLedger.readOtherLeaseMs();
      if (waitingSince === undefined) onWait(leaseMs);
      waitingSince ??= host.elapsed();
      const waitedMs = host.elapsed() - waitingSince;
      if (waitedMs > maxWaitMs) throw ledgerBusy(runLedger.resultFacts?.path ?? "", waitedMs, leaseMs);
      await host.sleep(host.random() * maxPauseMs, host.signal);
      const requests = cutRequests(delivery.dataset, {
        envelope: delivery.envelope(),
        groups,
        limit: delivery.limit().bytes,
      });
      await delivery.sendJobs(requests.map((request) => ({ request })));
      takenGroups = removeTakenGroups(sender);
      // The wait restarts if this run claimed a group.
      if (takenGroups.length < groups.length) waitingSince = host.elapsed();
    }
  } catch (thrown) {
    stopSending(sender, toFailure(thrown));
  }
  return toSendResult(sender);
};

const requireValid = (dataset: Dataset, { skips, sends }: { skips: boolean; sends: boolean }) => {
  const { problems, groups } = dataset;
  const outcomes = rejectInvalid(dataset);
  if (problems.errors === 0) return outcomes;
  const valid = problems.isInputBroken ? 0 : groups.count - outcomes.groupsWith("rejected").length;
  if (skips && valid > 0) return outcomes;
  throw invalidInput(problems, { isSending: sends, valid });
};

const applyPriorOutcomes = (delivery: Delivery): readonly Job[] => {
  const { problems } = delivery.dataset;
  const { outcomes, priorOutcomes, ledgerArgs } = delivery.options;
  if (!priorOutcomes.isEmpty()) delivery.setPriorOutcomes(outcomes.groupsWith("not_sent"));
  delivery.reportPriorRuns(() => true);
  const { jobs, impossible } = delivery.planResends();
  for (const id of impossible) problems.report("resend-impossible", { id, ledgerArgs });
  const unresolvedCount = priorOutcomes.unknownEntries().length - jobs.length;
  if (unresolvedCount > 0) {
    const resentGroups = jobs.reduce((sum, { request }) => sum + request.groups.length, 0);
    const groups = Math.max(outcomes.groupsWith("unknown").length - resentGroups, 0);
    problems.report("unresolved-requests", { requests: unresolvedCount, groups, ledgerArgs });
  }
  return jobs;
};

const listRejected = (outcomes: GroupOutcomes, refused: readonly RejectedGroup[]) => {
  const reasons = new Map(refused.map(({ group, problems }) => [group, problems]));
  return Array.from(outcomes.groupsWith("rejected"), (group) => ({ group, problems: reasons.get(group) ?? [] }));
};
