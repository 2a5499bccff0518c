/** Converts inputs of other tools to groups, one per line. Inputs in rollcall's format stay unchanged. */
import { Problems } from "../check/rules/problems.ts";
import type { Host } from "../host.ts";
import { closeSources, type OpenedInputs, reportEmptyFolders, type Source } from "../input/index.ts";
import { pluralize, toOptionArgs } from "../sentences.ts";
import { convertFiles, openDocuments } from "./convert-files.ts";
import type { FormatOptions } from "./format.ts";
import type { ConvertedGroup } from "./group-lines.ts";
import { listRecordMappings, openFiles } from "./origin.ts";
import { openReceipt } from "./receipt.ts";
import { ownFormat, recognizeInputs } from "./recognize.ts";

export interface ConvertibleInputs extends OpenedInputs {
  readonly host: Host;
  readonly maxUnpackedBytes: number;
  /** True if nothing calls `LineOrigin.digestOf`. */
  readonly skipsDigests?: boolean;
}

export type ConvertedInputs = Awaited<ReturnType<typeof convertInputs>>;

export type Conversion = NonNullable<ConvertedInputs["conversion"]>;

const maxNamedIds = 3;

/** The converted sources come first. */
export const convertInputs = async (options: FormatOptions, inputs: ConvertibleInputs) => {
  const { sources, folders } = inputs;
  const { rewards, hasReceipt, from, messagesFrom } = options;
  const { byFormat, skipped } = await recognizeInputs(inputs, options);
  const formatArgs = toOptionArgs({ from: from === "auto" ? undefined : from, messagesFrom: messagesFrom?.join(".") });
  reportEmptyFolders(folders, { skipped, problems: inputs.problems, options: formatArgs });
  const ownSources = byFormat.get(ownFormat) ?? [];
  byFormat.delete(ownFormat);
  // Sources without a format stay open, too, because `documents` may read a remote file as a document of another file.
  const otherSources = sources.filter((source) => !ownSources.includes(source));
  const formats = [];
  for (const [format, files] of byFormat) {
    const opened = await openFiles(files, format, { ...inputs, hasReceipt });
    if (opened.length > 0) formats.push({ format, files: opened });
  }
  if (formats.length === 0) {
    await closeSources(otherSources);
    return { sources: ownSources, skipped };
  }
  const groups: ConvertedGroup[] = [];
  const run = openRun(options, inputs, formats.length + ownSources.length > 1);
  const converted: Source[] = [];
  let unreadableRecords = 0;
  for (const { format, files } of formats) {
    const { source, unreadable, groups: newGroups } = await convertFiles(files, format, run);
    converted.push(source);
    for (const group of newGroups) groups.push(group);
    unreadableRecords += unreadable;
  }
  // Unused rewards are only a note, because the file can have the rewards of several runs.
  const unusedIds = [...(rewards?.keys() ?? [])].filter((id) => !run.usedRewardIds.has(id));
  const namedIds = `${unusedIds.slice(0, maxNamedIds).join(", ")}${unusedIds.length > maxNamedIds ? ", …" : ""}`;
  const unusedText = `--rewards has ${pluralize(unusedIds.length, "id")} without a rollout: ${namedIds}`;
  if (unusedIds.length > 0) run.notes.set(unusedText, 1);
  const [first] = converted;
  if (first) {
    const close = async () => await closeSources([first, ...otherSources]);
    converted[0] = { ...first, bytes: { ...first.bytes, close } };
  }
  return {
    sources: [...converted, ...ownSources],
    conversion: {
      formats: formats.map(({ format, files }) => ({ format, files: files.length })),
      /** Undefined if the format determines the rewards. */
      rewardFrom: rewards ? "--rewards" : options.rewardFrom?.join("."),
      // A copy, because notes of records that are converted again to locate a problem must not count.
      notes: new Map(run.notes),
      recordProblems: run.problems,
      /** Records that are not JSON and whose group is unknown. Each counts as a group. */
      unreadableRecords,
      receipt: run.receipt && { data: run.receipt.data, records: () => listRecordMappings(groups) },
    },
    skipped: skipped.filter((file) => !run.documents.foundNames.has(file)),
  };
};

export type ConversionRun = ReturnType<typeof openRun>;

const openRun = (options: FormatOptions, inputs: ConvertibleInputs, hasSeveralFormats: boolean) => {
  const { sources, host, skipsDigests = false } = inputs;
  const state = { problems: new Problems(), notes: new Map<string, number>(), usedRewardIds: new Set<string>() };
  const receipt = options.hasReceipt ? openReceipt() : undefined;
  return { ...state, options, hasSeveralFormats, host, skipsDigests, receipt, documents: openDocuments(sources) };
};
