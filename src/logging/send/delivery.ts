/** Connects the sender with the ledger and the rejects file. */

import { isFailure } from "../../failure.ts";
import { collectContents } from "../../rollouts/dataset/contents.ts";
import { subtractFromMetrics } from "../../rollouts/dataset/group-metrics.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { dedupKeyBytes } from "../../rollouts/index/dedup-keys.ts";
import { type Entry, findGroups, isLogged } from "../ledger/entries.ts";
import { canResend } from "./attempt-request.ts";
import { type BodyLimit, createEnvelope, planRequest } from "./plan.ts";
import { openRejects } from "./rejects.ts";
import type { DeliverOptions, DeliveryState } from "./send-options.ts";
import { emptySendResult } from "./send-result.ts";
import { collectDedupKeys, sendJobs } from "./sender.ts";
import { type Job, Sender, toSendResult } from "./sender-state.ts";

export type Delivery = ReturnType<typeof openDelivery>;

export const openDelivery = (dataset: Dataset, options: DeliverOptions & DeliveryState) => {
  const { runLedger, priorOutcomes, outcomes, dedupKeys, numberOf } = options;
  const { groups, problems } = dataset;
  const canReject = options.onInvalid === "skip" || options.onRefused === "skip";
  const rejectsFile = canReject ? resolveRejectsPath(options.file, options.rejects) : undefined;
  const written = runLedger.writtenFiles;
  let sender: Sender | undefined;
  const sendResult = () => (sender ? toSendResult(sender) : emptySendResult());
  const envelope = () => createEnvelope(dataset, options.split);

  const toJob = ({ id, key, firstTried, ...entry }: Entry) => {
    const groups = Uint32Array.from(findGroups(entry.dedupKeys, dedupKeys.find));
    if (groups.length * dedupKeyBytes < entry.dedupKeys.length) return undefined;
    const current = envelope();
    const request = planRequest(dataset, { envelope: current, groups });
    const isSameEnvelope = request.bytes === entry.bytes && current.digest === entry.envelopeDigest;
    const isSame =
      isSameEnvelope &&
      (entry.contents.length === 0 || Buffer.compare(entry.contents, collectContents(dataset, groups)) === 0);
    return isSame ? { request, recorded: { id, key, firstTried } } : undefined;
  };

  return {
    dataset,
    options,
    rejectsFile,
    rejects: rejectsFile === undefined ? undefined : openRejects(dataset, { ...options, path: rejectsFile, written }),
    envelope,
    sendResult,
    limit(): BodyLimit {
      const { maxRequestBytes } = options;
      const { sizeLimit = { bytes: maxRequestBytes } } = runLedger;
      const bytes = Math.min(maxRequestBytes, sizeLimit.bytes);
      return { ...sizeLimit, bytes, isDiscovered: bytes < maxRequestBytes };
    },
    readPriorOutcomes: async () => await priorOutcomes.addEntries(runLedger.entries()),
    setPriorOutcomes(groups: Iterable<number>) {
      for (const group of groups) outcomes.set(group, priorOutcomes.outcomeOf(numberOf(group)));
    },
    planResends() {
      const jobs: Job[] = [];
      const impossible: string[] = [];
      for (const entry of priorOutcomes.unknownEntries().filter((entry) => canResend(entry, options))) {
        const job = toJob(entry);
        if (job) jobs.push(job);
        else impossible.push(entry.id);
      }
      return { jobs, impossible };
    },
    findIdempotencyKey: ({ request, recorded }: Job) =>
      recorded?.key ?? runLedger.findPlannedKey(collectDedupKeys(request, dedupKeys)),
    async sendJobs(jobs: readonly Job[], isAfterSignal = false): Promise<Sender> {
      sender ??= new Sender(dataset, { ...options, client: await options.client(), envelope: envelope() });
      await sendJobs(sender, jobs, isAfterSignal);
      return sender;
    },
    async subtractRefused() {
      const refused = sendResult().refused.map(({ group }) => group);
      await subtractFromMetrics(dataset, refused).catch((thrown: unknown) => {
        if (!isFailure(thrown, "input-changed") && !isFailure(thrown, "input-unreadable")) throw thrown;
      });
    },
    /** These groups are sent, because the account is a part of their identity. */
    async reportOtherAccounts() {
      const found = new Set<number>();
      let [last, account] = [0, ""];
      for await (const entry of runLedger.entriesOfOtherAccounts()) {
        const logged = isLogged(entry.state) ? findGroups(entry.dedupKeys, dedupKeys.find) : [];
        for (const group of logged) found.add(group);
        if (logged.length > 0 && entry.lastTried >= last) [last, account] = [entry.lastTried, entry.scope.account];
      }
      const at = new Date(last).toISOString();
      const facts = { groups: found.size, at, account, ownAccount: options.account };
      if (found.size > 0) problems.report("logged-before", facts);
    },
    reportPriorRuns(isCounted: (group: number) => boolean) {
      let elsewhere = 0;
      let differently = 0;
      for (let group = 0; group < groups.count && !priorOutcomes.isEmpty(); group++) {
        if (!isCounted(group)) continue;
        if (priorOutcomes.wasLoggedElsewhere(numberOf(group))) elsewhere++;
        if (priorOutcomes.wasLoggedDifferently(numberOf(group))) differently++;
      }
      if (differently > 0) problems.report("logged-differently", { groups: differently });
      if (elsewhere > 0 && options.batch === undefined) {
        const at = new Date(priorOutcomes.loggedElsewhereAt()).toISOString();
        problems.report("logged-before", { groups: elsewhere, at });
      }
      const { resultFacts: ledger } = runLedger;
      if (ledger?.created === true && options.host.env.CI) problems.report("new-ledger", { path: ledger.path });
    },
  };
};

export const resolveRejectsPath = (firstInput: string, rejects = `${firstInput}.rejected`) => rejects;
