/** Converts inputs of other tools to lines with one group each. */
import { basename, dirname, join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { findAmbiguousGroups } from "../check/rules/ambiguous-groups.ts";
import { type ProblemLocation, Problems } from "../check/rules/problems.ts";
import type { RuleData } from "../check/rules/rules.ts";
import { type FaultyText, reportSyntaxFault } from "../check/rules/syntax-faults.ts";
import { getErrorCode, readRegularFile } from "../files.ts";
import type { Host } from "../host.ts";
import { inputUnreadable } from "../input/failures.ts";
import * as input from "../input/index.ts";
import { bomLength } from "../json/json-bytes.ts";
import { requireFault } from "../json/reader.ts";
import { closeTruncated } from "../json/table.ts";
import { Value } from "../messages/value.ts";
import { pluralize, toOptionArgs } from "../sentences.ts";
import { formatRewardFrom } from "./build-trajectory.ts";
import { leaveOutCopies } from "./copies.ts";
import type { Format, FormatOptions, FormatRun, Rollout } from "./format.ts";
import { groupByKey } from "./group-by.ts";
import * as lines from "./group-lines.ts";
import { openReceipt } from "./receipt.ts";
import { isCompanion, ownFormat, recognizeInputs } from "./recognize.ts";
import * as records from "./source-records.ts";

export interface ConvertibleInputs extends input.OpenedInputs {
  host: Host;
  maxUnpackedBytes: number;
  /** True if nothing calls `LineOrigin.digestOf`. */
  skipsDigests?: boolean;
}

export type ConvertedInputs = Awaited<ReturnType<typeof convertInputs>>;

export type Conversion = NonNullable<ConvertedInputs["conversion"]>;

const maxNamedIds = 3;

/** @throws Failure `spool-failed`; the signal's reason; read errors */
export const convertInputs = async (options: FormatOptions, inputs: ConvertibleInputs) => {
  const { sources, folders } = inputs;
  const { rewards, hasReceipt, from, messagesFrom } = options;
  const { byFormat, skipped, advice } = await recognizeInputs(inputs, options);
  const formatArgs = toOptionArgs({ from: from === "auto" ? undefined : from, messagesFrom: messagesFrom?.join(".") });
  input.reportEmptyFolders(folders, { skipped, problems: inputs.problems, options: formatArgs, advice });
  const ownSources = byFormat.get(ownFormat) ?? [];
  byFormat.delete(ownFormat);
  // Sources of other formats stay open, because records can refer to a document in another source.
  const otherSources = sources.filter((source) => !ownSources.includes(source));
  const formats = [];
  for (const [format, files] of byFormat) {
    const opened = await records.openFiles(files, format, { ...inputs, hasReceipt });
    if (opened.length > 0) formats.push({ format, files: opened });
  }
  if (formats.length === 0) {
    await input.closeSources(otherSources);
    return { sources: ownSources, skipped };
  }
  const run = openRun(options, inputs, formats.length + ownSources.length > 1);
  const results: Awaited<ReturnType<typeof convertFiles>>[] = [];
  for (const { format, files } of formats) results.push(await convertFiles(files, format, run));
  // Unused ids are not an error, because a file of rewards can cover several runs.
  const unusedIds = [...(rewards?.keys() ?? [])].filter((id) => !run.usedRewardIds.has(id));
  const namedIds = `${unusedIds.slice(0, maxNamedIds).join(", ")}${unusedIds.length > maxNamedIds ? ", …" : ""}`;
  const unusedText = `--rewards contains ${pluralize(unusedIds.length, "id")} without a rollout: ${namedIds}`;
  if (unusedIds.length > 0) run.notes.set(unusedText, 1);
  for (const { name: part } of options.rewardFrom ?? [])
    if (run.usedRewardParts.size > 0 && !run.usedRewardParts.has(part))
      run.problems.report("reward-part-missing", { part });
  const converted = results.map(({ source }, at) => {
    const close = async () => await input.closeSources([source, ...otherSources]);
    return at > 0 ? source : { ...source, bytes: { ...source.bytes, close } };
  });
  return {
    sources: [...converted, ...ownSources],
    conversion: {
      formats: formats.map(({ format, files }) => ({ format, files: files.length })),
      rewardFrom: rewards ? "from --rewards" : options.rewardFrom && `\`${formatRewardFrom(options.rewardFrom)}\``,
      // Converting records again changes `run.notes`, so the result gets a copy.
      notes: new Map(run.notes),
      recordProblems: run.problems,
      /** The number of records that are not JSON and have no known group. */
      unreadableRecords: results.reduce((sum, { unreadable }) => sum + unreadable, 0),
      receipt: run.receipt && {
        data: run.receipt.data,
        records: () => {
          const written = results.flatMap(({ groups }) => groups);
          return lines.listRecordMappings(
            written,
            results.flatMap(({ copies }) => copies),
          );
        },
      },
    },
    skipped: skipped.filter((file) => !run.documents.foundNames.has(file) && !isCompanion(file, [...byFormat.keys()])),
  };
};

type ConversionRun = ReturnType<typeof openRun>;

const openRun = (options: FormatOptions, inputs: ConvertibleInputs, hasSeveralFormats: boolean) => {
  const { sources, host, skipsDigests = false } = inputs;
  const receipt = options.hasReceipt ? openReceipt() : undefined;
  const run = { options, hasSeveralFormats, host, skipsDigests, receipt, documents: openDocuments(sources) };
  const used = { usedRewardIds: new Set<string>(), usedRewardParts: new Set<string>() };
  return { ...run, ...used, problems: new Problems(), notes: new Map<string, number>() };
};

interface BrokenRecord extends Pick<RuleData<"record-invalid">, "contradictsGivenFormat"> {
  location: ProblemLocation;
  fault: string | FaultyText;
  keys?: readonly string[] | undefined;
}

const convertFiles = async (files: readonly records.ConvertedFile[], format: Format, run: ConversionRun) => {
  const { host, receipt, problems } = run;
  const title =
    files.length === 1 ? files[0]?.name : `${files.length} files${run.hasSeveralFormats ? ` of ${format.name}` : ""}`;
  const name = `${title} (as groups)`;
  const formatRun = openFormatRun(files, run);
  const { groupBy } = run.options;
  const isGroupedByKey = groupBy !== undefined && format.isGrouped !== true;
  const converter = groupByKey(format.open(formatRun), format, groupBy);
  const output = lines.openGroupLines(await input.openSpool(host), run);
  const { groups } = output;
  const ungrouped = new Map<lines.ConvertedGroup, Pick<BrokenRecord, "keys" | "location">>();
  let knownKeys: readonly string[] = [];
  let hasRecordedGroups = false;
  let flatKeys: readonly string[] = [];
  const isFormatGiven = run.options.from !== "auto" && run.options.messagesFrom === undefined;

  /** The faults of rollouts with an id, because another copy can be complete. */
  const faultsWithId = new Map<lines.WrittenRollout, () => void>();

  const breakGroup = (rollout: Rollout, at: records.RolloutPosition, broken: BrokenRecord) => {
    const { location, keys, fault, contradictsGivenFormat } = broken;
    const key = rollout.group ?? `broken ${at.record} ${rollout.part?.span.start} ${at.file.name}`;
    const { group, rollout: written } = output.addBroken(key, at, rollout);
    const report = () => {
      group.isBroken = true;
      if (rollout.group === undefined) ungrouped.set(group, { keys, location });
      const shown = { ...location, readAt: `${name}:${group.position + 1}` };
      if (typeof fault !== "string") reportSyntaxFault(fault, (rule, data) => problems.report(rule, data, shown));
      else problems.report("record-invalid", { format: format.name, fault, contradictsGivenFormat }, shown);
    };
    if (rollout.id === undefined) report();
    else faultsWithId.set(written, report);
  };

  const dropCopies = async () => {
    const copies = output.dropCopies();
    for (const { copy } of copies) faultsWithId.delete(copy);
    for (const report of faultsWithId.values()) report();
    if (copies.length > 0) run.notes.set("left out a copy of a rollout", copies.length);
    const notes = new Map(run.notes);
    if (receipt) await leaveOutCopies(copies, { format, converter, receipt });
    // Converting records again changes the notes.
    run.notes.clear();
    for (const [text, count] of notes) run.notes.set(text, count);
    return copies;
  };

  const breakUnreadable = (raw: input.RawRecord, at: records.RolloutPosition) => {
    const { bytes, member } = raw;
    const fault = raw.fault === undefined ? requireFault(bytes) : undefined;
    // If NaN and Infinity are the only faults, the record still names its groups.
    const lenient = fault && Value.parsePython(bytes);
    const completeStart = fault && closeTruncated(bytes.subarray(0, fault.at));
    const value = lenient ?? (completeStart && Value.parse(completeStart));
    const isLine = format.records.text === "lines" && raw.isDocument !== true && member === undefined;
    const text = fault && { bytes, fault, isLast: records.isAtEnd(raw), isDocument: !isLine, isFormatGiven };
    const record = value && records.toRecord(value, raw, at);
    const converted = record && records.convertRecord(converter, record);
    const mayLackGroup = !lenient && hasRecordedGroups && record?.isGroupDerived === true;
    const rollouts = mayLackGroup ? undefined : converted;
    const unknown = { group: value || member === undefined ? undefined : converter.groupOfMember?.(member) };
    const location = records.locateByte(raw, fault?.at ?? 0);
    for (const group of new Set((rollouts?.[0] ? rollouts : [unknown]).map((rollout) => rollout.group)))
      breakGroup({ group }, at, { fault: text ?? raw.fault ?? "", location });
    if (lenient) receipt?.addRecord(format, records.toRecord(lenient, raw, at));
  };

  const convertRaw = (raw: input.RawRecord, at: records.RolloutPosition) => {
    const record = records.parseRecord(format, raw, at);
    if (!record) return breakUnreadable(raw, at);
    const { value } = record;
    const rollouts = records.convertRecord(converter, record);
    if (record.group !== undefined && record.isGroupDerived !== true) hasRecordedGroups = true;
    if (!rollouts) return;
    const listKeys = () => (value.isText ? undefined : value.members().map(([key]) => key));
    for (const [position, rollout] of rollouts.entries()) {
      const { error, exception } = rollout;
      if (exception !== undefined) formatRun.note("converted a failed rollout to an exception of its group");
      if (!error) output.add(rollout, value, { ...at, position });
      else {
        const contradictsGivenFormat = isFormatGiven && !format.recognizes(record);
        const syntax = records.findSyntaxFault(raw, record, error.value);
        const { fault, location } = syntax ?? {
          fault: error.message,
          location: records.locateInRecord(raw, error.value),
        };
        const broken = { fault, location, keys: listKeys(), contradictsGivenFormat };
        breakGroup(rollout, { ...at, position }, broken);
      }
    }
    const isConverted = rollouts[0]?.error === undefined || rollouts[0].part !== undefined;
    if (isConverted && rollouts.length > 0 && knownKeys.length === 0) {
      knownKeys = listKeys() ?? [];
      flatKeys = [...value.flatMembers(), ...value.flatMembers("metadata")].flatMap(([key]) =>
        key === "reward" ? [] : key,
      );
    }
    receipt?.addRecord(format, record, isConverted ? rollouts : undefined);
  };

  const breakAmbiguous = () => {
    // A JSON record without any key of the first converted record is not part of a converted group.
    const possible = new Map(
      [...ungrouped].filter(([, { keys }]) => keys?.some((key) => knownKeys.includes(key)) !== false),
    );
    if (possible.size === 0) return;
    const hasOwnFile = ({ rollouts: [first, ...others] }: lines.ConvertedGroup) =>
      others.every(({ file }) => file === first?.file);
    // If groups have several records, and all of them in one file, then a record belongs to a group of its own file.
    const areFilesApart = groups.some(({ rollouts }) => rollouts.length > 1) && groups.every(hasOwnFile);
    const members = groups.flatMap((group) =>
      group.rollouts.map(({ file, record, span }) => ({
        fileSet: isGroupedByKey ? 0 : areFilesApart ? file.position : file.fileSet,
        group: group.position,
        isUnknown: possible.has(group),
        file,
        record,
        start: span?.start ?? 0,
        unknown: possible.get(group),
      })),
    );
    members.sort((a, b) => a.file.position - b.file.position || a.record - b.record || a.start - b.start);
    for (const [position, by] of findAmbiguousGroups(members, true)) {
      const [group, member] = [groups[position], members[by]];
      if (!group || !member || group.isBroken) continue;
      group.isBroken = true;
      const { label, line } = member.file.records.locate(member.record);
      const location = { file: name, line: position + 1, path: [] };
      const { keys, location: fault = {} } = member.unknown ?? {};
      const at = fault.column === undefined ? line : `${fault.line}:${fault.column}`;
      // Several records of a document can be on one line.
      const path = format.records.text === "document" ? (fault.path ?? []).join(".") : "";
      const unknownRecord = `the record at ${label}:${at}${path === "" ? "" : ` (${path})`}`;
      problems.report("ambiguous-group", { position: unknownRecord, isJson: keys !== undefined }, location);
    }
  };

  try {
    if (converter.preview) {
      await visitRecords(files, host, (raw, at) => {
        const record = records.parseRecord(format, raw, at);
        if (record) converter.preview?.(record);
      });
    }
    const folderFileSets = new Map<string, number>();
    await visitRecords(files, host, (raw, at) => {
      // Files of one folder share groups if each file is a single record.
      if (raw.isDocument) {
        const folder = dirname(at.file.name);
        at.file.fileSet = folderFileSets.get(folder) ?? at.file.fileSet;
        folderFileSets.set(folder, at.file.fileSet);
      }
      convertRaw(raw, at);
      return output.flushFull();
    });
    const copies = await dropCopies();
    for (const { file: fileName, position, group, fault } of converter.findFaults?.() ?? []) {
      const file = files.find((converted) => converted.name === fileName);
      if (!file) continue;
      const location = { file: file.records.locate(position).label, path: [] };
      breakGroup({ group }, { file, record: position, position: -1 }, { fault, location });
    }
    breakAmbiguous();
    const bytes = await output.end(host);
    const originals = lines.createLineOrigin({ files, groups, copies, format, converter });
    const keyUse = isGroupedByKey ? lines.findKeyUse(groups, flatKeys) : undefined;
    const source: input.Source = { name, bytes, originals: { ...originals, keyUse } };
    return {
      source,
      groups,
      copies,
      unreadable: [...ungrouped.values()].filter(({ keys }) => keys === undefined).length,
    };
  } catch (thrown) {
    await output.discard();
    throw thrown;
  }
};

const openFormatRun = (files: readonly records.ConvertedFile[], run: ConversionRun): FormatRun => {
  const { documents, receipt, notes } = run;
  const note = (text: string) => void notes.set(text, (notes.get(text) ?? 0) + 1);
  const firstRecords = new Map<string, string>();
  return {
    ...run,
    note,
    files: files.map((file) => file.name),
    readDocument: ({ file, member }, path) => {
      if (member === undefined) return documents.documentAt(file, path);
      const archive = files.find(({ name }) => name === file)?.records;
      return documents.load(`${file}!${path}`, () => archive?.readSibling?.(path));
    },
    isFirst: (id, { file, position }) => {
      const own = `${position} ${file}`;
      const first = firstRecords.get(id) ?? own;
      firstRecords.set(id, first);
      return first === own;
    },
    skip: (value, subject) => {
      note(`left out ${subject}`);
      receipt?.leaveOut(value, subject);
      return [];
    },
  };
};

const maxRecordsAtOnce = 256;

/** Awaits only promises, because an await takes longer than the conversion of a record. */
const visitRecords = async (
  files: readonly records.ConvertedFile[],
  { signal }: Host,
  visit: (raw: input.RawRecord, at: records.RolloutPosition) => Promise<void> | undefined | void,
) => {
  for (const file of files) {
    let record = 0;
    for await (const batch of file.records.batches()) {
      for (const raw of batch) {
        // Records that convert to nothing never let other tasks run.
        if (record % maxRecordsAtOnce === 0) await setImmediate();
        signal.throwIfAborted();
        const visiting = visit(raw, { file, record: record++, position: -1 });
        if (visiting) await visiting;
      }
    }
  }
};

/** Finds a document next to a remote file only if this document is an input. */
const openDocuments = (sources: readonly input.Source[]) => {
  const remotes = new Map(
    sources.flatMap((source) => (input.isRemote(source.name) ? [[join(source.name), source]] : [])),
  );
  const foundNames = new Set<string>();
  /** Caches the last document, because all records of a file use the same document. */
  let latest: { name: string; value: Value | undefined } | undefined;
  const load = (name: string, read: () => Buffer | undefined) => {
    if (latest?.name === name) return latest.value;
    const bytes = read();
    if (bytes) foundNames.add(name);
    latest = { name, value: bytes && Value.parse(bytes.subarray(bomLength(bytes)), name) };
    return latest.value;
  };
  return {
    foundNames,
    load,
    documentAt: (file: string, path: string) => {
      const name = join(dirname(file), path);
      const remote = remotes.get(name);
      if (remote) {
        const { name: url, bytes } = remote;
        return load(url, () => (bytes.size > input.maxDocumentBytes ? undefined : input.readHead(bytes, bytes.size)));
      }
      return file === "-" || input.isRemote(file) ? undefined : load(name, () => readDocumentFile(name));
    },
  };
};

const readDocumentFile = (path: string) => {
  try {
    return readRegularFile(path);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
