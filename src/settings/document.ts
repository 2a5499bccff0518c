/** What a saved file holds: a JSON object with an object `profiles`, and in it an object a profile. */
import { Failure } from "../failure.ts";
import type { Members, Saved } from "./saved.ts";

/** Reads a saved file's bytes. @throws Failure `settings-broken`, with the line and column */
export const parseDocument = (bytes: Uint8Array, file: string): Pick<Saved, "document" | "profiles"> => {
  const document = parseObject(bytes, file);
  const { profiles = {} } = document;
  if (!isObject(profiles)) throw broken(file, "`profiles` is not an object");
  const entries = Object.entries(profiles).map(([name, members]): [string, Members] => {
    if (!isObject(members)) throw broken(file, `the profile "${name}" is not an object`);
    return [name, members];
  });
  return { document, profiles: new Map(entries) };
};

/** Reads a JSON object from a file's bytes. @throws Failure `settings-broken` */
export const parseObject = (bytes: Uint8Array, file: string): Members => {
  const text = decode(bytes);
  if (text === undefined) throw broken(file, "it is not UTF-8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw broken(file, "it is not JSON", cause);
  }
  if (!isObject(value)) throw broken(file, "it is not a JSON object");
  return value;
};

/** The text without its byte order mark; undefined where the bytes are not UTF-8. */
const decode = (bytes: Uint8Array): string | undefined => {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
};

const isObject = (value: unknown): value is Members =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const broken = (file: string, wrong: string, cause?: unknown): Failure<"settings-broken"> =>
  new Failure("settings-broken", { file, wrong }, { where: { file }, cause });
