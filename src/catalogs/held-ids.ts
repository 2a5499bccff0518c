/** Ids of models that were read before: words to complete without asking a service. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { newline } from "../json/walk.ts";
import { heldFolder } from "./copies.ts";

/** The ids of all catalogs that are held, whatever their service; none where nothing can be read. */
export const heldIds = (folder: string): readonly string[] => {
  try {
    const files = readdirSync(heldFolder(folder));
    return [...new Set(files.flatMap((file) => idsIn(join(heldFolder(folder), file))))].sort();
  } catch {
    return [];
  }
};

const idsIn = (path: string): readonly string[] => {
  try {
    const bytes = readFileSync(path);
    const document: unknown = JSON.parse(bytes.toString("utf8", bytes.indexOf(newline) + 1));
    const data: unknown = typeof document === "object" && document !== null ? Reflect.get(document, "data") : undefined;
    return Array.isArray(data) ? data.flatMap(idOf) : [];
  } catch {
    return [];
  }
};

const idOf = (entry: unknown): readonly string[] => {
  const id: unknown = typeof entry === "object" && entry !== null ? Reflect.get(entry, "id") : undefined;
  return typeof id === "string" ? [id] : [];
};
