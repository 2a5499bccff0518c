/** Maps converted lines to records. Converts a record again to locate one of its values. */
import { hash } from "node:crypto";
import { type Path, PositionCounter } from "../check/rules/positions.ts";
import { UnusableInput } from "../input/failures.ts";
import * as input from "../input/index.ts";
import { replaceLineEnds } from "../json/walk.ts";
import type { ConvertibleInputs } from "./convert.ts";
import type { Converter, Format, Rollout, SourceRecord } from "./format.ts";
import type { ConvertedFile, ConvertedGroup, RolloutPosition, WrittenRollout } from "./group-lines.ts";
import { findSource } from "./output-json.ts";
import { ConversionError, Value } from "./value.ts";

/** Returns the files in reading order. */
export const openFiles = async (
  sources: readonly input.Source[],
  format: Format,
  { hasReceipt, problems, maxUnpackedBytes }: ConvertibleInputs & { hasReceipt: boolean },
) => {
  const isLast = ({ name }: input.Source) => format.lastFilePattern?.test(name) === true;
  const kinds = { records: format.records, columns: hasReceipt ? undefined : format.columns };
  const files: ConvertedFile[] = [];
  for (const source of sources.toSorted((a, b) => Number(isLast(a)) - Number(isLast(b)))) {
    try {
      const records = await input.openRecords(source, kinds, maxUnpackedBytes);
      const position = files.length;
      files.push({ name: source.name, records, position, fileSet: format.groupsSpanFiles ? 0 : position });
    } catch (thrown) {
      if (!(thrown instanceof UnusableInput)) throw thrown;
      thrown.report(problems, source.name);
    }
  }
  return files;
};

/** Returns undefined for invalid JSON. Texts of `jsonColumns` are not copied into the JSON of a row. */
export const parseRecord = (format: Format, raw: input.RawRecord, at: RolloutPosition): SourceRecord | undefined => {
  const { hasNonFinite, jsonColumns } = format;
  if (raw.wrong !== undefined) return undefined;
  const { bytes, texts } =
    raw.columns && jsonColumns ? input.extractTexts(raw.columns, jsonColumns) : { bytes: raw.bytes };
  const value = hasNonFinite ? Value.parsePython(bytes) : Value.parse(bytes, undefined, texts);
  return value && toRecord(value, raw, at);
};

export const toRecord = (value: Value, { member }: input.RawRecord, at: RolloutPosition): SourceRecord => ({
  value,
  file: at.file.name,
  position: at.record,
  member,
});

/** If the conversion fails, the record becomes one rollout with the error. */
export const convertRecord = (converter: Converter, record: SourceRecord): readonly Rollout[] | undefined => {
  try {
    return converter.convert(record)?.map((rollout) => ({ group: record.group, ...rollout }));
  } catch (thrown) {
    if (thrown instanceof ConversionError) return [{ group: record.group, error: thrown }];
    throw thrown;
  }
};

type Converted = Readonly<{
  files: readonly ConvertedFile[];
  groups: readonly ConvertedGroup[];
  format: Format;
  converter: Converter;
}>;

export const createLineOrigin = ({ files, groups, format, converter }: Converted): input.LineOrigin => {
  const rolloutsOf = (line: number) => groups[line - 1]?.rollouts ?? [];
  const convertAgain = async (written: WrittenRollout) => {
    const raw = await written.file.records.reread(written.record);
    const record = raw && parseRecord(format, raw, written);
    const rollouts = record && convertRecord(converter, record);
    return { raw, value: record?.value, rollout: rollouts?.[written.position] };
  };
  return {
    files: files.map(({ name }) => name),
    canRegroup: format.takesGroupKey === true && files.length > 1,
    isBroken: (line) => groups[line - 1]?.isBroken === true,
    digestOf: (line, kept) => {
      const rollouts = rolloutsOf(line);
      const trajectories = rollouts.filter(({ length }) => length > 0);
      const selected = new Set(kept?.map((at) => trajectories[at]) ?? trajectories);
      const chosen = rollouts.filter((rollout) => rollout.length === 0 || selected.has(rollout));
      // The order of the records does not change the group.
      const digests = chosen.map(({ digest }) => digest).sort();
      return hash("sha256", digests.join("\n"), "buffer");
    },
    positionOf: (line) => {
      const [first] = rolloutsOf(line);
      const record = first?.file.records.locate(first.record) ?? { label: "the input", line: 1 };
      return { file: record.label, line: record.line };
    },
    async locationOf(line, path) {
      const [key, position] = path;
      const rollouts = rolloutsOf(line);
      const isException = key === "exceptions";
      const candidates = rollouts.filter((one) => (one.length === 0) === isException && one.position >= 0);
      const written = (typeof position === "number" ? candidates[position] : undefined) ?? rollouts[0];
      const { raw, value, rollout } = written ? await convertAgain(written) : {};
      if (!raw || !value) return {};
      const json = rollout?.trajectory ?? rollout?.exception;
      const source = json === undefined || path.length < 3 ? undefined : findSource(json, path.slice(2));
      return locateInRecord(raw, source?.value ?? rollout?.part ?? value, source?.rest);
    },
    /** Returns each record (or part) and each document of a group once, on one line. */
    async recordsOf(line) {
      const parts = rolloutsOf(line).map(
        (one) => [`${one.file.position} ${one.record} ${one.span?.start ?? 0}`, one] as const,
      );
      const records: input.OriginRecord[] = [];
      const documents = new Set<string>();
      const add = (file: string, line: number, bytes: Buffer) =>
        records.push({ file, line, bytes: replaceLineEnds(Buffer.from(bytes)) });
      for (const written of new Map(parts).values()) {
        const { raw, rollout } = await convertAgain(written);
        if (!raw || raw.wrong !== undefined) continue;
        const { label, line } = written.file.records.locate(written.record);
        add(label, line, raw.bytes.subarray(written.span?.start, written.span?.end));
        for (const { document = "", bytes } of rollout?.documents ?? []) {
          if (!documents.has(document)) add(document, 1, bytes);
          documents.add(document);
        }
      }
      return records;
    },
    textOf: (label) => files.find(({ name }) => name === label)?.records.text,
  };
};

/** Numbers of groups, and of trajectories in a group, start at 1. */
export function* listRecordMappings(groups: readonly ConvertedGroup[]) {
  for (const [at, { rollouts }] of groups.entries()) {
    let trajectories = 0;
    for (const { file, record, length } of rollouts) {
      const { label, line } = file.records.locate(record);
      yield { file: label, line, group: at + 1, trajectory: length > 0 ? ++trajectories : null };
    }
  }
}

/** @param rest the path below the value */
export const locateInRecord = (raw: input.RawRecord, value: Value, rest: Path = []) => {
  const { document } = value;
  const path = [...value.path, ...rest];
  if (document !== undefined) return { file: document, line: 1, path };
  return { file: raw.label, ...(!raw.isComposed && { line: raw.line }), path };
};

export const locateByte = (raw: input.RawRecord, offset: number) => {
  const { bytes, start, line, label, isComposed, within } = raw;
  if (isComposed) return { file: label };
  const before = within && { unitsBefore: () => input.countUnitsBefore(within, { start, line }) };
  return { file: label, ...new PositionCounter({ bytes, start, line, ...before }).locate(offset) };
};
