/** What a saved file holds: a JSON object with an object `profiles`, and in it an object a profile. */
import { Failure, type Where } from "../failure.ts";
import { faultOf } from "../json/fault.ts";
import { isObject, positionOf, spanAt } from "../json/walk.ts";

/** A JSON object of a file. */
export type Members = Readonly<Record<string, unknown>>;

/** A file's JSON object, and where things stand in it. */
export interface JsonDocument {
  readonly members: Members;
  /** Where the value at a path stands; nothing where there is none. */
  where(path: readonly string[]): Where;
}

/** What is said of a text that is no document. */
export type Broken = (about: { readonly wrong: string; readonly where: Where }) => Failure;

/** Reads a JSON object from a file's bytes. @throws what `broken` makes */
export const parseDocument = (bytes: Uint8Array, file: string, broken: Broken): JsonDocument => {
  const text = decode(bytes);
  if (text === undefined) throw broken({ wrong: "it is not UTF-8", where: { file } });
  const value = parse(text, file, broken);
  if (!isObject(value)) throw broken({ wrong: "it is not a JSON object", where: { file } });
  const own = Buffer.from(text);
  const where = (path: readonly string[]): Where => {
    const span = spanAt(own, path);
    return span === undefined ? { file } : { file, ...positionOf(own, span.start) };
  };
  return { members: value, where };
};

const parse = (text: string, file: string, broken: Broken): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // What JSON.parse says is left away: it quotes the text, and in that there may be keys.
    const own = Buffer.from(text);
    const where = { file, ...positionOf(own, faultOf(own).at) };
    throw broken({ wrong: text.trim() === "" ? "it is empty" : "it is not JSON", where });
  }
};

/** The profiles of a saved file. @throws Failure `settings-broken` */
export const profilesOf = (document: JsonDocument): ReadonlyMap<string, Members> => {
  const { profiles = {} } = document.members;
  if (!isObject(profiles)) {
    throw settingsBroken({ wrong: "`profiles` is not an object", where: document.where(["profiles"]) });
  }
  return new Map(
    Object.entries(profiles).map(([name, saved]): [string, Members] => {
      if (isObject(saved)) return [name, saved];
      const where = document.where(["profiles", name]);
      throw settingsBroken({ wrong: `the profile "${name}" is not an object`, where });
    }),
  );
};

/** The failure of a saved file that can't be understood. */
export const settingsBroken: Broken = ({ wrong, where }) => new Failure("settings-broken", { wrong, where }, { where });

/** The text without its byte order mark; undefined where the bytes are not UTF-8. */
const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};
