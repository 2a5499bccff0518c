/** The whole input, as rules about it see it: its groups, and where their values stand. */
import { crc32 } from "node:zlib";
import { Locator, type Path, Places } from "../check/rules/places.ts";
import type { Spot } from "../check/rules/problems.ts";
import type { RuleData, RuleName } from "../check/rules/rules.ts";
import { unitsBefore } from "../input/columns.ts";
import { fileOf, inputChanged, placeOfLine, readRange, type Source } from "../input/source.ts";
import { newline, onOneLine } from "../json/walk.ts";
import type { Found } from "./parts/found.ts";
import { type Groups, groupClosing, groupOpening } from "./parts/groups.ts";
import type { Part } from "./parts/parts.ts";

/** What was read, and whom to tell of groups that are not valid after all. */
export interface GroupsRead {
  readonly sources: readonly Source[];
  readonly found: Found;
  readonly groups: Groups;
  /** How places are found; as by `locate` where nothing is said. */
  readonly find?: typeof locate;
}

/** The place of the value at a path of a part, or of the deepest value on the way that is there. */
export const locate = async (
  source: Source,
  { part, path }: { readonly part: Part; readonly path: Path },
): Promise<Spot> => await (await locatorIn(source, part))(path);

/** Finds places as `locate` does, each at or behind the one before: a part is read and walked over once for all of its. */
export const locatingInOrder = (): typeof locate => {
  let last: { readonly source: Source; readonly start: number; readonly of: Locating } | undefined;
  return async (source, { part, path }) => {
    if (last?.source !== source || last.start !== part.start) {
      last = { source, start: part.start, of: await locatorIn(source, part) };
    }
    return await last.of(path);
  };
};

type Locating = (path: Path) => Promise<Spot>;

const locatorIn = async ({ name, bytes: source, origin }: Source, part: Part): Promise<Locating> => {
  const { start, line } = part;
  if (origin !== undefined) {
    return async (path) => ({ ...(await origin.spotOf(line, path)), readAt: `${name}:${line}`, readPath: path });
  }
  const bytes = await readRange(source, part);
  const places = new Places({ bytes, start, line, unitsBefore: () => unitsBefore(source, part) });
  const locator = new Locator(bytes, { start: 0, end: bytes.length });
  return async (path) => {
    const at = locator.find(path).start;
    places.mark(at);
    return { file: name, ...places.of(at), path };
  };
};

/** The first file of what was read, or the first that it was made of, as it was named. */
export const firstFileOf = ({ sources: [first] }: Pick<GroupsRead, "sources">): string =>
  first === undefined ? "-" : fileOf(first);

/** Where a value of a part is; a part that begins its line need not be read for that. */
export const spotOf = async (
  { sources, found, find = locate }: GroupsRead,
  position: number,
  path: Path,
): Promise<Spot> => {
  const part = found.parts.at(position);
  const source = sources[part.source];
  if (source === undefined) return {};
  const line = placeOfLine(source, part.line);
  try {
    if (source.origin !== undefined || path.length > 0 || !(await beginsLine(source, part.start)))
      return await find(source, { part, path });
    return { ...line, column: 1, path, offset: part.start };
  } catch {
    // The file changed meanwhile: what can no longer be found is not looked at.
    return line;
  }
};

/** Where a value of a part is, as far as a problem of a rule there would be kept; what is reported next is of the part's input. */
export const spotToKeep = async (
  whole: GroupsRead,
  { rule, part, path }: { readonly rule: RuleName; readonly part: number; path(): Promise<Path> | Path },
): Promise<Spot> => {
  const { parts, problems } = whole.found;
  problems.of(whole.sources[parts.columns.source.at(part)]?.name);
  return problems.isKept(rule) ? await spotOf(whole, part, await path()) : {};
};

/** Reports a problem of a group, at a path of one of its parts, or of its first as a whole; as an error the group is not valid. */
export const reportOfGroup = async <Name extends RuleName>(
  whole: GroupsRead,
  rule: Name,
  {
    data,
    group,
    part = whole.groups.firstOf(group),
    path = [],
  }: { readonly data: RuleData<Name>; readonly group: number; readonly part?: number; readonly path?: Path },
): Promise<void> => {
  const spot = await spotToKeep(whole, { rule, part, path: () => path });
  if (whole.found.problems.report(rule, data, () => spot) === "error") whole.groups.reject(group);
};

const beginsLine = async ({ bytes }: Source, start: number): Promise<boolean> =>
  start === 0 || (await readRange(bytes, { start: start - 1, length: 1 }))[0] === newline;

/** Lines that can't be read, or records of another tool whose group nobody knows: each of them counts as a group. */
export const unreadableIn = ({
  found: { parts },
  conversion,
}: GroupsRead & { readonly conversion?: { readonly unplaced: number } | undefined }): number => {
  if (conversion !== undefined) return conversion.unplaced;
  let lines = 0;
  const count = parts.areUsual ? 0 : parts.count;
  for (let at = 0; at < count; at++) if (parts.kindOf(at) === "unreadable") lines++;
  return lines;
};

/** The value of a part, as it stands in its source now. */
export const partValue = async ({ bytes }: Source, part: Part): Promise<unknown> =>
  JSON.parse((await readRange(bytes, part)).toString("utf8"));

/** The file and line of a group's first part. */
export const spotOfGroup = (
  { groups, found, sources }: GroupsRead,
  group: number,
): { readonly file: string; readonly line: number } => {
  const part = found.parts.at(groups.firstOf(group));
  const source = sources[part.source];
  return source === undefined ? { file: "the input", line: part.line } : placeOfLine(source, part.line);
};

/** A part of a group, and the input that it stands in. */
export interface GroupPart {
  readonly source: Source;
  readonly part: Part;
}

/** The parts of a group, in their order. */
export const partsOf = ({ groups, found, sources }: GroupsRead, group: number): readonly GroupPart[] =>
  Array.from(groups.partsOf(group)).flatMap((at) => {
    const part = found.parts.at(at);
    const source = sources[part.source];
    return source === undefined ? [] : [{ source, part }];
  });

/** Bytes that are those which were read of a part. @throws Failure `input-changed` where they are not */
export const unchanged = (bytes: Buffer, { source, part }: GroupPart): Buffer => {
  if (bytes.length === part.length && crc32(bytes) === part.checksum) return bytes;
  throw inputChanged(source.name);
};

/** The bytes of a part, as they were read. @throws Failure `input-changed` where they are not those any more */
export const bytesOf = async (own: GroupPart): Promise<Buffer> => unchanged(await rangeOf(own.source, own.part), own);

/** A range of a source. @throws Failure `input-changed` where it is not there any more */
export const rangeOf = async ({ name, bytes }: Source, range: Pick<Part, "start" | "length">): Promise<Buffer> =>
  await readRange(bytes, range).catch(() => {
    throw inputChanged(name);
  });

const comma = Buffer.from(",");

/** A group as one line, without its end: the bytes of its parts as they stand, but for line ends between their values. @throws Failure `input-changed` */
export const lineOfGroup = async (read: GroupsRead, group: number): Promise<Buffer> => {
  const pieces: Buffer[] = [];
  for (const own of partsOf(read, group)) {
    const line = onOneLine(await bytesOf(own));
    if (own.part.kind !== "trajectory") return line;
    pieces.push(pieces.length === 0 ? groupOpening : comma, line);
  }
  return Buffer.concat([...pieces, groupClosing]);
};

/** The valid groups, a line each. @throws Failure `input-changed` */
export async function* groupLines(read: GroupsRead): AsyncGenerator<Buffer, void> {
  for (let group = 0; group < read.groups.count; group++) {
    if (read.groups.isValid(group)) yield Buffer.concat([await lineOfGroup(read, group), Buffer.from("\n")]);
  }
}
