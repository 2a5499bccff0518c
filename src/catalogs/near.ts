/** Finds the model of a catalog that was probably meant by an id that none has. */
import { nearest } from "../nearest.ts";

/** The part of an id behind its last slash, in lower case. */
export const lastPart = (id: string): string => id.slice(id.lastIndexOf("/") + 1).toLowerCase();

/** The id that differs by letters in other case, by what stands before its name, or by a few mistakes. */
export const nearestId = (id: string, all: readonly string[]): string | undefined => {
  const ids = id === "" ? [] : all.filter((one) => one !== "");
  const lower = id.toLowerCase();
  return (
    ids.find((one) => one.toLowerCase() === lower) ??
    ids.find((one) => lastPart(one) === lastPart(id)) ??
    nearest(id, ids) ??
    onlyWith(lower, ids)
  );
};

const onlyWith = (part: string, ids: readonly string[]): string | undefined => {
  const found = new Set(ids.filter((one) => one.toLowerCase().includes(part)));
  return found.size === 1 ? [...found][0] : undefined;
};
