/** The origin of lines that were made of records. For the position of a value, its record is converted again. */
import { hash } from "node:crypto";
import { type Path, PositionCounter } from "../check/rules/positions.ts";
import type { ProblemLocation } from "../check/rules/problems.ts";
import { countUnitsBefore, extractTexts, type Origin, type RawRecord, type Records } from "../input/index.ts";
import { replaceLineEnds } from "../json/walk.ts";
import type { Converter, Format, Rollout, SourceRecord } from "./format.ts";
import type { ConvertedGroup, WrittenRollout } from "./group-lines.ts";
import { findSource } from "./output-json.ts";
import type { RecordMapping } from "./receipt.ts";
import { ConversionError, Value } from "./value.ts";

export interface ConvertedFile {
  readonly name: string;
  readonly records: Records;
}

interface ConvertedInput {
  readonly files: readonly ConvertedFile[];
  readonly groups: readonly ConvertedGroup[];
  readonly format: Format;
  readonly converter: Converter;
}

/** The value of a record; undefined if it is not JSON. The bytes of a row are composed only if they are asked for. */
export const parseRecord = ({ hasNonFinite: nonFinite, jsonColumns }: Format, cut: RawRecord): Value | undefined => {
  if (cut.columns !== undefined && jsonColumns !== undefined) {
    const { bytes, texts } = extractTexts(cut.columns, jsonColumns);
    return Value.parse(bytes, { texts });
  }
  return nonFinite === true ? Value.parsePython(cut.bytes) : Value.parse(cut.bytes);
};

/** Returns what becomes of a record, or what is wrong with it. */
export const convertRecord = (
  converter: Converter,
  record: SourceRecord,
): readonly Rollout[] | undefined | ConversionError => {
  try {
    return converter.convert(record);
  } catch (thrown) {
    if (thrown instanceof ConversionError) return thrown;
    throw thrown;
  }
};

export const createOrigin = (made: ConvertedInput): Origin => {
  const { files, groups } = made;
  const rolloutsOf = (line: number): readonly WrittenRollout[] => groups[line - 1]?.rollouts ?? [];
  return {
    files: files.map(({ name }) => name),
    isBroken: (line) => groups[line - 1]?.isBroken === true,
    digestOf: (line, kept) => {
      const all = rolloutsOf(line);
      const trajectories = all.filter(({ length }) => length > 0);
      const chosen = new Set(kept?.map((at) => trajectories[at]));
      const own = kept === undefined ? all : all.filter((one) => one.length === 0 || chosen.has(one));
      // The order of the records does not change what a group is.
      const digests = own.map(({ digest }) => digest).sort();
      return hash("sha256", digests.join("\n"), "buffer");
    },
    positionOf: (line) => {
      const [first] = rolloutsOf(line);
      const { label = "the input", line: own = 1 } =
        files[first?.file ?? 0]?.records.positionOf(first?.record ?? 0) ?? {};
      return { file: label, line: own };
    },
    locationOf: async (line, path) => await locateValue(made, rolloutsOf(line), path),
    recordsOf: async (line) => await readRecords(made, rolloutsOf(line)),
    textOf: (label) => files.find(({ name }) => name === label)?.records.text,
  };
};

/** The records of groups, and what each became. */
export function* listRecordMappings({
  files,
  groups,
}: Pick<ConvertedInput, "files" | "groups">): Generator<RecordMapping, void> {
  for (const [at, group] of groups.entries()) {
    let trajectories = 0;
    for (const { file, record, length } of group.rollouts) {
      const { label = "", line = 1 } = files[file]?.records.positionOf(record) ?? {};
      yield { file: label, line, group: at + 1, trajectory: length > 0 ? ++trajectories : null };
    }
  }
}

/** The position in its record of the value at a path of a group. */
const locateValue = async (
  made: ConvertedInput,
  rollouts: readonly WrittenRollout[],
  path: Path,
): Promise<ProblemLocation> => {
  const [key, position] = path;
  const alike = rollouts.filter((one) => one.isException === (key === "exceptions") && one.position >= 0);
  const one = (typeof position === "number" ? alike[position] : undefined) ?? rollouts[0];
  const { cut, value, rollout } = one === undefined ? {} : await convertAgain(made, one);
  if (cut === undefined || value === undefined) return {};
  const built = rollout?.trajectory ?? rollout?.exception;
  const found = built === undefined || path.length < 2 ? undefined : findSource(built, path.slice(2));
  return found === undefined
    ? locateInRecord(cut, rollout?.part ?? value)
    : locateInRecord(cut, found.value, found.rest);
};

/** A record that was read again, as far as that is possible. */
interface RereadRecord {
  readonly cut?: RawRecord;
  readonly value?: Value;
  readonly rollout?: Rollout | undefined;
}

/** Reads the record of a rollout again, and converts it. */
const convertAgain = async (
  { files, format, converter }: ConvertedInput,
  one: WrittenRollout,
): Promise<RereadRecord> => {
  const { file, record, position } = one;
  const own = files[file];
  const cut = await own?.records.reread(record);
  if (own === undefined || cut === undefined) return {};
  const value = parseRecord(format, cut);
  if (value === undefined) return { cut };
  const rollouts = convertRecord(converter, { value, file: own.name, position: record, member: cut.member }) ?? [];
  return { cut, value, rollout: rollouts instanceof ConversionError ? undefined : rollouts[position] };
};

/** The records of a group, or the parts that it is made of, and the documents beside them: a line each, each once. */
const readRecords = async (made: ConvertedInput, rollouts: readonly WrittenRollout[]): Promise<readonly Buffer[]> => {
  const byPlace = new Map(rollouts.map((one) => [`${one.file} ${one.record} ${one.span?.start ?? 0}`, one]));
  const lines: Buffer[] = [];
  const documents = new Set<string>();
  for (const one of byPlace.values()) {
    const { cut, rollout } = await convertAgain(made, one);
    if (cut === undefined || cut.wrong !== undefined) continue;
    lines.push(replaceLineEnds(Buffer.from(cut.bytes.subarray(one.span?.start, one.span?.end))));
    for (const { document = "", bytes } of rollout?.documents ?? []) {
      if (!documents.has(document)) lines.push(replaceLineEnds(Buffer.from(bytes)));
      documents.add(document);
    }
  }
  return lines;
};

/** The position of a value in a record. @param rest the path from the value */
export const locateInRecord = (cut: RawRecord, value: Value, rest: Path = []): ProblemLocation => {
  const { document } = value;
  const line = document === undefined ? cut.line : 1;
  const place = cut.isComposed === true && document === undefined ? {} : { line };
  return { file: document ?? cut.label, ...place, path: [...value.path, ...rest] };
};

/** The position of a byte of a record that is not JSON. */
export const locateByte = (
  { bytes, start, line, label, isComposed: isMade, within }: RawRecord,
  offset: number,
): ProblemLocation => {
  if (isMade === true) return { file: label };
  const before = within && { unitsBefore: () => countUnitsBefore(within, { start, line }) };
  return { file: label, ...new PositionCounter({ bytes, start, line, ...before }).of(offset) };
};
