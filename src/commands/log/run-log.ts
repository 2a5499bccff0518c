/** Reads rollouts, and logs them once or while their file grows. */
import { isFailure } from "../../failure.ts";
import { formatLease, formatUpgrade } from "../../logging/ledger/failures.ts";
import { requireLedger } from "../../logging/ledger/ledger.ts";
import type { LogResult } from "../../logging/send/log-result.ts";
import type { LogEvents, LogSetup } from "../../logging/send/policy.ts";
import { checkFactFields } from "../../output/list.ts";
import { outputFailed } from "../../output/sink.ts";
import type { Dataset } from "../../rollouts/dataset/read-dataset.ts";
import { isRolloutFile } from "../../rollouts/input/names.ts";
import { missingSplit } from "../../rollouts/rules/failures.ts";
import * as connect from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { checkOutputFiles } from "../../session/output-files.ts";
import { printWarnings } from "../../session/print-problems.ts";
import { attachDataset, readRollouts, readStrictness } from "../../session/read-rollouts.ts";
import type { Settings } from "../../settings/read.ts";
import { conflictingOptions, invalidOptionValue } from "../../system/failures.ts";
import { checkDatabaseMode, hasContent, ignoreErrors } from "../../system/files.ts";
import { describeSystemCode, pluralize, toOptionArgs } from "../../text/sentences.ts";
import { logTrajectories } from "../../wire/contract/endpoint.ts";
import type { LogOptions } from "./command.ts";
import * as logReport from "./log-report.ts";

export const log = async (context: Context, typed: LogOptions) => {
  const run = await openRun(context, typed);
  await (run.follow ? logFollowed(run, run.follow) : logFiles(run));
};

const openRun = async (context: Context, typed: LogOptions): Promise<logReport.LogRun> => {
  const { split, batch, maxRequestSize } = typed;
  const settings = await connect.readEffectiveSettings(context, { split, batch, max_request_size: maxRequestSize });
  const follow = parseFollowOptions(typed);
  const policy = await readPolicy(context, typed, settings);
  await checkBeforeInput(context, typed, { settings, policy });
  return { context, settings, typed, policy, follow, meter: context.screen.startMeter() };
};

const readPolicy = async ({ flags }: Context, typed: LogOptions, settings: Settings) => {
  const ledger = await selectLedger(typed, settings);
  const { modelId, dryRun, resendLogged, concurrency, onInvalid, onUnknown, rejects } = typed;
  return {
    ...{ modelId, dryRun, resendLogged, concurrency, onInvalid, onUnknown, rejects },
    ledger,
    account: settings.require("account"),
    hasIdempotencyKeys: settings.require("idempotency") === "auto",
    batch: settings.get("batch"),
    maxRequestBytes: settings.require("max_request_size"),
    maxWaitMs: settings.require("max_wait"),
    honorsKeys: settings.local,
    ledgerArgs: [
      ...(ledger ? toOptionArgs({ ledger: typed.ledger }) : ["--no-ledger"]),
      ...connect.listServiceArgs(flags),
    ],
  };
};

/** Checks what the run needs after the input, so that a failure costs no reading. */
const checkBeforeInput = async (
  context: Context,
  typed: LogOptions,
  { settings, policy }: Pick<logReport.LogRun, "settings" | "policy">,
) => {
  const { modelId } = typed;
  const { ledger, maxWaitMs } = policy;
  if (["", ".", ".."].includes(modelId)) throw invalidOptionValue("<model-id>", modelId, "a model id");
  if (typed.file.length === 0 && isRolloutFile(modelId))
    throw invalidOptionValue("<model-id>", modelId, "a model id, found a file (write the model id before the files)");
  checkOutputFiles(typed, ["the ledger ", ledger?.path]);
  if (ledger) checkDatabaseMode(ledger.path, context.screen.warn);
  // Input that can be read only once must not be read for a ledger that cannot be used.
  if (ledger && (typed.file.length === 0 || !typed.file.every((file) => ignoreErrors(() => hasContent(file))))) {
    const options = { host: context.host, maxWaitMs, isWritten: !typed.dryRun, onUnavailable: () => undefined };
    await requireLedger(ledger, options);
  }
  checkFactFields(context.screen, logReport.documentKeys);
  if (!(typed.dryRun && connect.hasNoLogUrl(settings))) {
    const parameters = { model_id: modelId };
    await connect.checkRequest(context, settings, logTrajectories, { parameters, isSent: !typed.dryRun });
  }
};

const logFiles = async (run: logReport.LogRun) => {
  const { context, meter } = run;
  const dataset = await readFiles(run);
  const result = await (await import("../../logging/send/log-dataset.ts"))
    .logDataset(dataset, toLogSetup(run, dataset.split))
    .finally(meter.stop)
    .catch(async (thrown: unknown) => {
      if (isFailure(thrown, "invalid-input")) await printWarnings(context, dataset, dataset.scan.problems.sorted());
      throw thrown;
    });
  await finishRun(run, dataset, result);
};

const readFiles = async (run: logReport.LogRun) => {
  const { context, settings, typed, meter } = run;
  const reading = readRollouts(context, typed, {
    settings,
    split: settings.get("split"),
    isSplitRequired: true,
    onProgress: ({ bytes, of: ofBytes }) => meter.show({ phase: "checking", bytes, ofBytes }),
  });
  return await reading.finally(meter.stop).catch((thrown: unknown) => {
    throw isFailure(thrown, "interrupted") ? thrown.withDetails({ unsent: true }) : thrown;
  });
};

const logFollowed = async (run: logReport.LogRun, follow: NonNullable<logReport.LogRun["follow"]>) => {
  const { context, typed, meter } = run;
  const setup = toLogSetup(run, run.settings.get("split"));
  const state = { phase: "following", bytes: 0, ofBytes: undefined, groups: 0 };
  const { dataset, result } = await (await import("../../logging/send/follow/follow.ts"))
    .followFile({
      ...setup,
      policy: { ...setup.policy, ...follow, groupBy: typed.groupBy, strictness: readStrictness(typed) },
      events: {
        ...setup.events,
        onEvent: (event) => context.screen.notice(logReport.followNotices[event](follow.file)),
        onRead: (bytes) => meter.show(Object.assign(state, { bytes })),
        onProgress: (progress) => {
          meter.show(Object.assign(state, { groups: progress.groups }));
          setup.events.onProgress(progress);
        },
      },
    })
    .finally(meter.stop);
  attachDataset(context, dataset);
  if (dataset.note !== undefined) context.screen.notice(dataset.note);
  await finishRun(run, dataset, result);
};

const finishRun = async (run: logReport.LogRun, dataset: Dataset, result: LogResult) => {
  await printWarnings(run.context, dataset, result.warnings);
  await printOutcome(run, result).catch((thrown: unknown) => {
    if (!isFailure(thrown, "output-failed")) throw thrown;
    if (!result.failure) throw outputFailed(thrown.details.systemCode ?? "", result.groups);
  });
  const failure = logReport.toRunFailure(run, result);
  if (failure) throw failure;
};

/** After other failures, only programs get the result, because it tells a person no more than the message. */
const codesWithResult = ["partial", "unknown_outcome", "interrupted"];

const printOutcome = async (run: logReport.LogRun, result: LogResult) => {
  const { code } = result.failure ?? {};
  const isJson = code !== "invalid_input" && run.context.screen.isJson;
  if (code !== undefined && !isJson && !codesWithResult.includes(code)) return;
  run.context.screen.ignoreSignal();
  await logReport.printResult(run, result, result.status === "planned" ? await findPlanTarget(run) : undefined);
};

const findPlanTarget = async (run: logReport.LogRun): Promise<logReport.PlanTarget | undefined> => {
  const { context, settings, policy } = run;
  const { modelId, hasIdempotencyKeys: hasKeys } = policy;
  if (connect.hasNoLogUrl(settings)) return undefined;
  const client = await connect.openServiceClient(context, settings);
  const target = client.describeRequest(logTrajectories, { model_id: modelId });
  return { ...target, hasKeys, url: settings.local ? "the local service" : target.url };
};

/** @throws Failure `missing-split` */
const toLogSetup = (run: logReport.LogRun, split: string | undefined): LogSetup => {
  if (split === undefined) throw missingSplit([]);
  const { context, settings, typed, policy } = run;
  const { host, screen } = context;
  return {
    policy: { ...policy, split },
    tools: {
      host,
      redact: screen.cleaner.json,
      clean: screen.cleaner.outside,
      destination: async () =>
        typed.dryRun && connect.hasNoLogUrl(settings)
          ? ""
          : await connect.resolveLogDestination(context, settings, typed.modelId),
      client: () => connect.openServiceClient(context, settings),
    },
    events: toLogEvents(run),
  };
};

const toLogEvents = (run: logReport.LogRun): LogEvents => {
  const { context, follow, meter } = run;
  const { screen } = context;
  return {
    onOpen: ({ path, created, upgradedFrom }) => {
      const keep = ". Keep this file between jobs, for example in a cache, and pass --ledger <file> --require-ledger";
      if (created) screen.notice(`began a new ledger at ${path}${context.host.env.CI ? keep : ""}`);
      if (upgradedFrom !== undefined) screen.notice(formatUpgrade(path));
    },
    onResend: (requests) => {
      const which = `resending ${pluralize(requests, "request")} of unknown outcome`;
      screen.notice(`${which}. The service honors Idempotency-Key, so it logs nothing twice`);
    },
    onUnavailable: (code) =>
      screen.notice(
        `the ledger database is unavailable (${describeSystemCode(code)}). rollcall sends nothing, and tries again for at most --max-wait`,
      ),
    onWait: (leaseMs) =>
      screen.notice(`waiting for another run that logs to the same model and split${formatLease(leaseMs)}`),
    onProgress: (progress) => {
      const { retry, ...sent } = progress;
      if (!follow) meter.show({ phase: "sending", ...sent, waiting: retry && connect.formatRetry(retry) });
      if (retry) logReport.noteRetry(screen, retry);
    },
  };
};

const selectLedger = async (typed: LogOptions, settings: Settings) => {
  // A dry run without a URL has no destination.
  if (typed.noLedger || (typed.dryRun && connect.hasNoLogUrl(settings))) return undefined;
  const location = await settings.ledgerLocation(typed.ledger);
  return { ...location, require: typed.requireLedger, startsNew: typed.newLedger };
};

/** @throws Failure `conflicting-options`, `invalid-option-value` */
const parseFollowOptions = (typed: LogOptions) => {
  if (!typed.follow) return undefined;
  const { from = "auto", every: everyMs, groupIdle: groupIdleMs, groupSize } = typed;
  if (from !== "auto" && from !== "rollcall")
    throw conflictingOptions("--follow", `--from ${from}`, "--follow reads only rollcall's format");
  const [file = "-", ...others] = typed.file;
  if (file === "-" || others.length > 0)
    throw conflictingOptions(
      "--follow",
      others.length > 0 ? "several files" : "standard input",
      "--follow needs exactly one file",
    );
  return { file, everyMs, groupSize, groupIdleMs };
};
