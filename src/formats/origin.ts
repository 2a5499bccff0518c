/** Where lines come from that were made of another tool's records; for the path of a value the record is converted again. */
import { hash } from "node:crypto";
import { type Path, Places } from "../check/rules/places.ts";
import type { Spot } from "../check/rules/problems.ts";
import { rowWithTexts } from "../input/column-json.ts";
import { unitsBefore } from "../input/columns.ts";
import type { Cut, Records } from "../input/records.ts";
import type { Origin } from "../input/source.ts";
import { onOneLine } from "../json/walk.ts";
import { sourceAt } from "./built.ts";
import { type Converter, type Format, type Rollout, type SourceRecord, Unfit } from "./format.ts";
import type { RecordMade } from "./receipt.ts";
import type { RolloutGroup, Written } from "./rollout-groups.ts";
import { Value } from "./value.ts";

/** A file that is converted. */
export interface ConvertedFile {
  readonly name: string;
  readonly records: Records;
}

/** What lines were made of, and by what. */
interface Made {
  readonly files: readonly ConvertedFile[];
  readonly groups: readonly RolloutGroup[];
  readonly format: Format;
  readonly converter: Converter;
}

/** The value of a record; undefined where it is no JSON. */
export const recordIn = (
  { nonFinite, jsonColumns }: Pick<Format, "nonFinite" | "jsonColumns">,
  cut: Cut,
): Value | undefined => {
  if (cut.columns !== undefined && jsonColumns !== undefined) {
    const { bytes, texts } = rowWithTexts(cut.columns, jsonColumns);
    return Value.of(bytes, { texts });
  }
  return nonFinite === true ? Value.ofPython(cut.bytes) : Value.of(cut.bytes);
};

/** Where the lines of groups come from. */
export const originOf = (made: Made): Origin => {
  const { files, groups } = made;
  const rolloutsOf = (line: number): readonly Written[] => groups[line - 1]?.rollouts() ?? [];
  return {
    files: files.map(({ name }) => name),
    isBroken: (line) => groups[line - 1]?.isBroken === true,
    digestOf: (line, kept) => {
      const trajectories = groups[line - 1]?.trajectoriesWritten() ?? [];
      const left = new Set(kept?.map((at) => trajectories[at]));
      const own = rolloutsOf(line).filter((one) => kept === undefined || one.length === 0 || left.has(one));
      // Rows that were shuffled, or files named in another order, are the same group.
      return hash(
        "sha256",
        own
          .map(({ digest }) => digest)
          .sort()
          .join("\n"),
        "buffer",
      );
    },
    placeOf: (line) => {
      const [first] = rolloutsOf(line);
      const place = files[first?.file ?? 0]?.records.placeOf(first?.record ?? 0);
      return { file: place?.label ?? "the input", line: place?.line ?? 1 };
    },
    spotOf: async (line, path) => await spotOf(made, rolloutsOf(line), path),
    recordsOf: async (line) => await recordsOf(made, rolloutsOf(line)),
    textOf: (label) => files.find(({ name }) => name === label)?.records.text,
  };
};

/** The records of groups, and what each became. */
export function* recordsMade(
  files: readonly ConvertedFile[],
  groups: readonly RolloutGroup[],
): Generator<RecordMade, void> {
  for (const [at, group] of groups.entries()) {
    let trajectories = 0;
    for (const { file, record, length } of group.rollouts()) {
      const { label = "", line = 1 } = files[file]?.records.placeOf(record) ?? {};
      yield { file: label, line, group: at + 1, trajectory: length > 0 ? ++trajectories : null };
    }
  }
}

/** The record of the value at a path of a group, and its path there. */
const spotOf = async (made: Made, rollouts: readonly Written[], path: Path): Promise<Spot> => {
  const [list, position] = path;
  const isException = list === "exceptions";
  const alike = rollouts.filter((one) => one.isException === isException && one.position >= 0);
  const one = (typeof position === "number" ? alike[position] : undefined) ?? rollouts[0];
  const { cut, value, rollout } = (one === undefined ? undefined : await madeAgain(made, one)) ?? {};
  if (cut === undefined || value === undefined) return {};
  const built = rollout?.trajectory ?? rollout?.exception;
  const found = built === undefined || path.length < 2 ? undefined : sourceAt(built, path.slice(2));
  return found === undefined ? spotIn(cut, rollout?.of ?? value) : spotIn(cut, found.value, found.rest);
};

/** The record of a rollout, read again, and what becomes of it as far as it can be converted. */
const madeAgain = async ({ files, format, converter }: Made, { file, record, position }: Written) => {
  const own = files[file];
  const cut = await own?.records.again(record);
  const value = cut === undefined ? undefined : recordIn(format, cut);
  if (own === undefined || cut === undefined || value === undefined) return { cut };
  const source = { value, file: own.name, position: record, member: cut.member };
  return { cut, value, rollout: convertedAgain(converter, source)[position] };
};

const convertedAgain = (converter: Converter, record: SourceRecord): readonly Rollout[] => {
  try {
    return converter.convert(record) ?? [];
  } catch (thrown) {
    if (thrown instanceof Unfit) return [];
    throw thrown;
  }
};

/** The records of a group, or what of them it is made of, and the documents beside them, on lines of their own, each once. */
const recordsOf = async (made: Made, rollouts: readonly Written[]): Promise<readonly Buffer[]> => {
  const byPlace = new Map(rollouts.map((one) => [`${one.file} ${one.record} ${one.span?.start ?? 0}`, one]));
  const lines: Buffer[] = [];
  const documents = new Set<string>();
  for (const one of byPlace.values()) {
    const { cut, rollout } = await madeAgain(made, one);
    if (cut === undefined || cut.wrong !== undefined) continue;
    lines.push(onOneLine(Buffer.from(cut.bytes.subarray(one.span?.start, one.span?.end))));
    for (const { document = "", bytes } of rollout?.with ?? []) {
      if (documents.has(document)) continue;
      documents.add(document);
      lines.push(onOneLine(Buffer.from(bytes)));
    }
  }
  return lines;
};

/** The line of a record, and the path of a value in it; `way` leads there from `value`. */
export const spotIn = (cut: Cut, value: Value, way: Path = []): Spot => {
  const { document } = value;
  const line = document === undefined ? cut.line : 1;
  const place = cut.isMade === true && document === undefined ? {} : { line };
  return { file: document ?? cut.label, ...place, path: [...value.path, ...way] };
};

/** The character of a record that is no JSON. */
export const placeIn = ({ bytes, start, line, label, isMade, within }: Cut, offset: number): Spot => {
  if (isMade === true) return { file: label };
  const before = within === undefined ? {} : { unitsBefore: () => unitsBefore(within, { start, line }) };
  return { file: label, ...new Places({ bytes, start, line, ...before }).of(offset) };
};
