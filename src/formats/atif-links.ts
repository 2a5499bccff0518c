/** References between ATIF documents: by the paths of files, and by ids. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { Run, SourceRecord } from "./format.ts";
import type { Value } from "./value.ts";

export type LocatedDocument = Pick<SourceRecord, "value" | "file">;

export interface Reference {
  readonly path?: string | undefined;
  /** `trajectory_id <id>`, then `session_id <id>`. */
  readonly ids: readonly string[];
}

const idsOf = (value: Value) =>
  ["trajectory_id", "session_id"].flatMap((key) => {
    const id = value.textAt(key);
    return id === undefined ? [] : `${key} ${id}`;
  });

/** Returns the path of the next part. */
export const continuationOf = (document: Value) => document.textAt("continued_trajectory_ref");

export const listEmbedded = (document: Value) =>
  document.items("subagent_trajectories").filter(({ isObject }) => isObject);

/** Omits references to embedded documents. */
export const listSubagents = (document: Value): readonly Reference[] => {
  const embedded = new Set(listEmbedded(document).map((subagent) => idsOf(subagent)[0]));
  const results = document.items("steps").flatMap((step) => step.items("observation", "results"));
  return results
    .flatMap((result) => {
      const references = result.get("subagent_trajectory_ref");
      return references?.isObject ? [references] : (references?.items() ?? []);
    })
    .map((reference) => ({ path: reference.textAt("trajectory_path"), ids: idsOf(reference) }))
    .filter(({ path, ids }) => !embedded.has(ids[0]) && (path !== undefined || ids.length > 0));
};

const listReferences = (document: Value): readonly Reference[] => [
  { path: continuationOf(document), ids: [] },
  ...listSubagents(document),
  ...listEmbedded(document).flatMap(listReferences),
];

export type Links = ReturnType<typeof openLinks>;

/** Finds documents that other documents refer to, among the inputs and next to them. */
export const openLinks = (run: Run) => {
  const documents = new Map<string, { readonly ids: readonly string[]; readonly references: readonly Reference[] }>();
  const filesById = new Map<string, string[]>();
  /** For each file, the first document that refers to the file. */
  let owners: Map<string, string> | undefined;
  /** An id counts only if exactly one file below the folder of `from` has this id. */
  const filesOf = ({ path, ids }: Reference, from: string) => {
    const fromFile = join(from);
    const folder = dirname(fromFile);
    const isBelow = (file: string) => file !== fromFile && !relative(folder, file).startsWith("..");
    const files = path === undefined ? [] : [join(folder, toLocalPath(path))];
    for (const id of ids) {
      // In newer versions, all documents of a run have the same `session_id`, so it identifies no document.
      if (id.startsWith("session_id") && documents.get(fromFile)?.ids.includes(id)) continue;
      const matches = filesById.get(id)?.filter(isBelow) ?? [];
      if (matches.length === 1) files.push(...matches);
    }
    return files;
  };
  const findOwners = () => {
    const ownersByFile = new Map<string, string>();
    for (const [from, { references }] of documents) {
      for (const reference of references) {
        const file = filesOf(reference, from).find((candidate) => documents.has(candidate));
        if (file !== undefined && !ownersByFile.has(file)) ownersByFile.set(file, from);
      }
    }
    return ownersByFile;
  };

  return {
    addDocument({ value, file: name }: LocatedDocument): void {
      const file = join(name);
      const ids = idsOf(value);
      for (const id of ids) filesById.set(id, [...(filesById.get(id) ?? []), file]);
      documents.set(file, { ids, references: listReferences(value) });
    },
    /** True if another document refers to a file. @throws ConversionError if the references are circular */
    isPart({ file, value }: LocatedDocument): boolean {
      owners ??= findOwners();
      const seen = new Set<string>();
      for (let at: string | undefined = join(file); at !== undefined; at = owners.get(at)) {
        if (seen.has(at)) throw value.error(`the document refers to itself through ${[...seen].join(", ")}`);
        seen.add(at);
      }
      return seen.size > 1;
    },
    find(reference: Reference, from: string): LocatedDocument | undefined {
      for (const file of filesOf(reference, from)) {
        const value = run.readDocument({ file: from }, relative(dirname(from), file));
        if (value?.get("steps") !== undefined) return { value, file };
      }
      return undefined;
    },
  };
};

/** An absolute path, or a path that leaves the folder, is from another machine. */
const toLocalPath = (path: string) => (isAbsolute(path) || relative("", path).startsWith("..") ? basename(path) : path);
