/** Converts inputs of other tools to lines with one group each. */
import { dirname, join } from "node:path";
import type { Value } from "../../json/value.ts";
import { Breaks } from "../../system/breaks.ts";
import type { Host } from "../../system/host.ts";
import { formatList, pluralize, toOptionArgs } from "../../text/sentences.ts";
import { reportEmptyFolders } from "../input/names.ts";
import type { OpenedInputs } from "../input/open-inputs.ts";
import { closeSources, type RawRecord, type Source } from "../input/source.ts";
import { openSpool } from "../input/spool.ts";
import { answerColumns } from "../rules/names.ts";
import { Problems } from "../rules/problems.ts";
import { defaultStrictness } from "../rules/rules.ts";
import { breakAmbiguous, breakGroup, breakUnreadable, openBrokenGroups } from "./broken-records.ts";
import type { Format, FormatOptions, FormatRun, SourceRecord } from "./format.ts";
import { groupByKeys } from "./group-by.ts";
import * as lines from "./group-lines.ts";
import { isCompanion, ownFormat, recognizeInputs } from "./recognize.ts";
import { findCopies, type RolloutFault, RolloutParts } from "./rollout-parts.ts";
import * as records from "./source-records.ts";
import { UnreadKeys } from "./unread-keys.ts";

/** Without a file of another tool, there is no conversion. */
export interface ConvertedInputs extends Pick<OpenedInputs, "sources" | "skipped"> {
  readonly conversion?: Conversion;
}

export interface Conversion {
  readonly formats: readonly Readonly<{ format: Format; files: readonly string[]; groups: string }>[];
  /** Sentences, and how often each applies. */
  readonly notes: ReadonlyMap<string, number>;
  readonly recordProblems: Problems;
  readonly warnings: Problems;
  /** The number of records that are not JSON and have no known group. */
  readonly unreadableRecords: number;
  /** The values that no trajectory has, by path. */
  readonly unread: ReturnType<UnreadKeys["list"]>;
}

const maxNamedIds = 3;

/** @throws Failure `spool-failed`; the signal's reason; read errors */
export const convertInputs = async (options: FormatOptions, inputs: OpenedInputs): Promise<ConvertedInputs> => {
  const { sources, folders } = inputs;
  const { from } = options;
  const { byFormat, skipped, advice, isPart } = await recognizeInputs(inputs, options);
  const formatArgs = toOptionArgs({ from: from === "auto" ? undefined : from });
  reportEmptyFolders(folders, { skipped, problems: inputs.problems, options: formatArgs, advice });
  const known = [...byFormat.keys()];
  const listSkipped = (foundNames?: ReadonlySet<string>) =>
    [...inputs.skipped, ...skipped.map((file) => ({ file }))].filter(
      ({ file }) => !foundNames?.has(file) && !isCompanion(file, known) && !isPart(file),
    );
  const ownSources = byFormat.get(ownFormat) ?? [];
  const isOwn = new Set(ownSources);
  byFormat.delete(ownFormat);
  // Sources of other formats stay open, because records can refer to a document in another source.
  const otherSources = sources.filter((source) => !isOwn.has(source));
  const formats = [];
  for (const [format, files] of byFormat) {
    const opened = await records.openFiles(files, format, { ...options, problems: inputs.problems });
    if (opened.length > 0) formats.push({ format, files: opened });
  }
  if (formats.length === 0) {
    await closeSources(otherSources);
    return { sources: ownSources, skipped: listSkipped() };
  }
  const run = openRun(options, [formats.length, ownSources.length]);
  const results: Awaited<ReturnType<typeof convertFiles>>[] = [];
  for (const { format, files } of formats) results.push(await convertFiles(files, format, run));
  noteUnusedRewards(run);
  const converted = results.map(({ source }, at) => {
    const close = async () => await closeSources([source, ...otherSources]);
    return at > 0 ? source : { ...source, bytes: { ...source.bytes, close } };
  });
  return {
    sources: [...converted, ...ownSources],
    conversion: {
      formats: formats.map(({ format, files }, at) => ({
        format,
        files: files.map(({ name }) => name),
        groups: results[at]?.description ?? "",
      })),
      notes: run.notes,
      recordProblems: run.problems,
      warnings: run.warnings,
      unreadableRecords: results.reduce((sum, { unreadable }) => sum + unreadable, 0),
      unread: run.unread.list(),
    },
    skipped: [
      ...listSkipped(run.documents.foundNames),
      ...formats.flatMap(({ files }) => files.flatMap((file) => file.records.skipped ?? [])),
    ],
  };
};

/** Unused ids are not an error, because a file of rewards can cover several runs. */
const noteUnusedRewards = ({ options, usedRewards, notes }: ConversionRun) => {
  const unusedIds = [...(options.rewards?.keys() ?? [])].filter((id) => !usedRewards.has(id));
  const unusedText = `--rewards contains ${pluralize(unusedIds.length, "id")} without a rollout`;
  if (unusedIds.length > 0) notes.set(`${unusedText}: ${formatList(unusedIds, maxNamedIds)}`, 1);
};

type ConversionRun = ReturnType<typeof openRun>;

const openRun = (options: FormatOptions, [formats, own]: readonly [number, number]) => ({
  unread: new UnreadKeys(),
  options,
  hasSeveralFormats: formats + own > 1,
  /** Files in rollcall's format ignore the options of conversions. */
  hasOtherFormats: formats > 1,
  documents: records.openDocuments(),
  usedRewards: new Set<string>(),
  kinds: new Set<string>(),
  /** Each problem is an error. */
  problems: new Problems({ ...defaultStrictness, strict: true }),
  warnings: new Problems(),
  notes: new Map<string, number>(),
  noted: 0,
  /** False while records are converted again. */
  isCounting: true,
});

/** A conversion of all files of one format. */
type FormatConversion = Awaited<ReturnType<typeof openConversion>>;

const openConversion = async (files: readonly records.ConvertedFile[], format: Format, run: ConversionRun) => {
  const title =
    files.length === 1 ? files[0]?.name : `${files.length} files${run.hasSeveralFormats ? ` of ${format.name}` : ""}`;
  const { from } = run.options;
  const groupBy = format.isGrouped ? undefined : run.options.groupBy;
  const formatRun = openFormatRun(files, format, run);
  const converter = format.open(formatRun);
  /** The keys of the first converted record. */
  const keys: Readonly<Record<"all" | "flat", readonly string[]>> = { all: [], flat: [] };
  return {
    run,
    files,
    format,
    formatRun,
    name: `${title} (as groups)`,
    isFormatGiven: from !== "auto",
    isGroupedByKey: groupBy !== undefined,
    converter: groupBy ? groupByKeys(converter, groupBy) : converter,
    parts: new RolloutParts(),
    output: new lines.GroupLines(await openSpool(run.options.host), run.options),
    broken: openBrokenGroups(),
    keys,
    hasRecordedGroups: false,
  };
};

const convertFiles = async (files: readonly records.ConvertedFile[], format: Format, run: ConversionRun) => {
  const { host } = run.options;
  const conversion = await openConversion(files, format, run);
  const { output, converter, broken } = conversion;
  const { groups } = output;
  try {
    await previewRecords(conversion);
    const folderFileSets = new Map<string, number>();
    await visitRecords(files, host, (raw, at) => {
      // Files of one folder share groups if each file is a single record.
      if (raw.isDocument) {
        const folder = dirname(at.file.name);
        at.file.fileSet = folderFileSets.get(folder) ?? at.file.fileSet;
        folderFileSets.set(folder, at.file.fileSet);
      }
      convertRaw(conversion, raw, at);
      return output.flushFull();
    });
    run.isCounting = false;
    for (const note of conversion.isGroupedByKey ? [] : (converter.listNotes?.() ?? [])) countNote(run, note);
    await reportFaults(conversion);
    if (!conversion.hasRecordedGroups) broken.dropGrouped();
    breakAmbiguous(conversion);
    const bytes = await output.end(host);
    const originals = lines.createLineOrigin({ ...conversion, groups });
    const keyUse = conversion.isGroupedByKey ? lines.findKeyUse(groups, conversion.keys.flat) : undefined;
    const { split = "" } = run.options;
    const ofOtherSplits = groups.length === 0 && run.kinds.size > 0 ? { split, kinds: [...run.kinds] } : undefined;
    const source: Source = { name: conversion.name, bytes, originals: { ...originals, keyUse, ofOtherSplits } };
    return { source, description: lines.describeGroups(output), unreadable: broken.countUnreadable() };
  } catch (thrown) {
    await output.discard();
    throw thrown;
  }
};

/** Shows the converter each record, of the files that need it. */
const previewRecords = async ({ converter, files, format, run }: FormatConversion) => {
  if (!converter.preview) return;
  const preview = (raw: RawRecord, at: records.RolloutPosition) => {
    const record = records.parseRecord(format, raw, at);
    return record && converter.preview?.(record) === false ? false : undefined;
  };
  const needed: records.ConvertedFile[] = [];
  for (const file of files) {
    const first = await file.records.readFirst?.();
    if (!first || preview(first, { file, record: 0, position: -1 }) !== false) needed.push(file);
  }
  await visitRecords(needed, run.options.host, preview);
};

/** Reports faults that depend on several records. */
const reportFaults = async (conversion: FormatConversion) => {
  const { run, parts, output, broken } = conversion;
  const breaks = new Breaks(run.options.host.signal);
  broken.reportFaults(output.groups);
  for (const found of [...parts.findParts(), ...findCopies(output.groups)]) {
    if (breaks.isDue()) await breaks.take();
    reportPart(conversion, found);
  }
};

const convertRaw = (conversion: FormatConversion, raw: RawRecord, at: records.RolloutPosition) => {
  const { run, format, converter, keys, isFormatGiven } = conversion;
  const record = records.parseRecord(format, raw, at);
  if (!record) return breakUnreadable(conversion, raw, at);
  const { value } = record;
  const { noted } = run;
  const rollouts = records.convertRecord(converter, record);
  if (record.group && !record.group.isDerived) conversion.hasRecordedGroups = true;
  if (!rollouts) return;
  if (rollouts.length === 0 && run.noted === noted) conversion.formatRun.skip("a record without a rollout");
  for (const [position, rollout] of rollouts.entries()) {
    const { error, exception } = rollout;
    if (exception !== undefined) conversion.formatRun.note("converted a failed rollout to an exception of its group");
    if (!error) {
      const row = rollout.part ? { ...record, value: rollout.part } : record;
      conversion.parts.add(format, row, conversion.output.add(rollout, value, { ...at, position }));
    } else if (isOtherLine(format, record)) conversion.formatRun.warn("not-a-rollout", undefined, record);
    else {
      const { fault, location } = records.locateFault(raw, error);
      const contradictsGivenFormat = isFormatGiven && !format.recognizes(record);
      const broken = { fault, location, keys: listKeys(value), contradictsGivenFormat };
      breakGroup(conversion, rollout, { ...at, position }, broken);
    }
  }
  const isConverted = rollouts[0]?.error === undefined || rollouts[0].part !== undefined;
  if (isConverted && rollouts.length > 0 && keys.all.length === 0) {
    const flat = [...value.flatMembers(), ...value.flatMembers("metadata")].map(([key]) => key);
    conversion.keys = { all: listKeys(value) ?? [], flat: flat.filter((key) => key !== "reward") };
  }
  if (conversion.formatRun.unread) run.unread.addRecord(value, isConverted ? rollouts : undefined);
};

const turnKeys = ["messages", "prompt", "input", "reward", "rewards", "score", ...answerColumns];

/** True for a line of a file of rows with neither turns nor a reward, such as a summary. */
const isOtherLine = (format: Format, { value }: SourceRecord) =>
  format.listTurns !== undefined &&
  !value.hasAny(...turnKeys) &&
  value.members().every(([, one]) => one.numberCount !== undefined || !one.items().some(({ isObject }) => isObject));

const reportPart = ({ name, run }: FormatConversion, found: RolloutFault) => {
  const { group, rollout } = found;
  const { label: file, line } = rollout.file.records.locate(rollout.record);
  if (found.kind === "possible-part")
    return run.warnings.report("rollout-in-parts", { isCertain: false }, { file, line, path: [] });
  group.isBroken = true;
  const location = { file, line, path: [], readAt: `${name}:${group.position + 1}` };
  if (found.kind !== "copy") return run.problems.report("rollout-in-parts", { isCertain: true }, location);
  const first = found.other.file.records.locate(found.other.record);
  return run.problems.report("duplicate-rollout", { position: `${first.label}:${first.line}` }, location);
};

const countNote = (run: ConversionRun, text: string) => {
  run.noted++;
  run.notes.set(text, (run.notes.get(text) ?? 0) + 1);
};

const listKeys = (value: Value) => (value.isText ? undefined : value.members().map(([key]) => key));

const openFormatRun = (files: readonly records.ConvertedFile[], format: Format, run: ConversionRun): FormatRun => {
  const { documents } = run;
  run.isCounting = true;
  // The values of the other columns of Parquet are unknown.
  const areAllRead = !Array.isArray(format.records.parquet) || files.every(({ records }) => records.text);
  const note = (text: string) => {
    if (run.isCounting) countNote(run, text);
  };
  const recordsOf = new Map(files.map((file) => [join(file.name), file.records]));
  let last = { file: "", path: "", name: "" };
  const find = ({ file, member }: Pick<SourceRecord, "file" | "member">, path: string) => {
    if (member !== undefined)
      return documents.load(`${file}!${path}`, () => recordsOf.get(join(file))?.readSibling?.(path));
    if (last.file !== file || last.path !== path) last = { file, path, name: join(dirname(file), path) };
    const { name } = last;
    const listed = records.parseListedName(name);
    const read = listed && recordsOf.get(listed.file)?.readNow;
    return read ? documents.load(name, () => read(listed.position)) : documents.findFile(file, name);
  };
  return {
    ...run,
    unread: areAllRead ? run.unread : undefined,
    note,
    warn: (rule, data, { file, position }) => {
      const { label, line } = recordsOf.get(join(file))?.locate(position) ?? { label: file, line: 1 };
      const location = { file: label, line, path: [] };
      if (run.isCounting) run.warnings.report(rule, data, location);
    },
    files: files.map((file) => file.name),
    readDocument: (record, path) => documents.require(find(record, path), record.value),
    readSettings: (record, path) => find(record, path)?.value,
    isFirst: openFirstRecords(),
    skip: (subject) => {
      note(`left out ${subject}`);
      return [];
    },
  };
};

const openFirstRecords = (): FormatRun["isFirst"] => {
  const firstRecords = new Map<string, string>();
  return (id, { file, position }) => {
    const own = `${position} ${file}`;
    const first = firstRecords.get(id) ?? own;
    firstRecords.set(id, first);
    return first === own;
  };
};

/** Converting a record costs as much as reading this many bytes, and 16 times its own. */
const bytesPerRecord = 2 ** 15;

type Visit = (raw: RawRecord, at: records.RolloutPosition) => Promise<void> | false | undefined | void;

/** Awaits only promises, because an await takes longer than the conversion of a record. */
const visitRecords = async (files: readonly records.ConvertedFile[], { signal }: Host, visit: Visit) => {
  const breaks = new Breaks(signal);
  const visitFile = async (file: records.ConvertedFile) => {
    let record = 0;
    for await (const batch of file.records.batches()) {
      for (const raw of batch) {
        if (record === 0 || breaks.isDue(bytesPerRecord + 16 * raw.bytes.length)) await breaks.take();
        const visiting = visit(raw, { file, record: record++, position: -1 });
        if (visiting === false) return;
        if (visiting) await visiting;
      }
    }
  };
  for (const file of files) await visitFile(file);
};
