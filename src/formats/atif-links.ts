/** References between ATIF documents: by the paths of files, and by ids. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { FormatRun, SourceRecord } from "./format.ts";
import { ConversionError, type Value } from "./value.ts";

export interface LocatedDocument {
  readonly document: Value;
  readonly file: string;
}

export interface Reference {
  readonly path?: string | undefined;
  readonly trajectoryId?: string | undefined;
  readonly sessionId?: string | undefined;
}

export const formatReference = ({ path, trajectoryId, sessionId }: Reference): string =>
  path ?? (trajectoryId === undefined ? `session_id ${sessionId}` : `trajectory_id ${trajectoryId}`);

/** Returns the path of the file that continues a document. */
export const continuationOf = (document: Value): string | undefined => document.textAt("continued_trajectory_ref");

/** Returns the documents of subagents within another. */
export const listEmbedded = (document: Value): readonly Value[] =>
  document.items("subagent_trajectories").filter(({ isObject }) => isObject);

/** Returns the documents of subagents that steps refer to, in other files. */
export const listSubagents = (document: Value): readonly Reference[] => {
  const embedded = new Set(
    listEmbedded(document).map((own) => own.textAt("trajectory_id") ?? own.textAt("session_id")),
  );
  return document
    .items("steps")
    .flatMap((step) => step.items("observation", "results"))
    .flatMap((result) => {
      const references = result.get("subagent_trajectory_ref");
      return references?.isObject === true ? [references] : result.items("subagent_trajectory_ref");
    })
    .map((reference) => ({
      path: reference.textAt("trajectory_path"),
      trajectoryId: reference.textAt("trajectory_id"),
      sessionId: reference.textAt("session_id"),
    }))
    .filter(({ trajectoryId, sessionId }) => !embedded.has(trajectoryId ?? sessionId))
    .filter((reference) => Object.values(reference).some((value) => value !== undefined));
};

const listReferences = (document: Value): readonly Reference[] => [
  { path: continuationOf(document) },
  ...listSubagents(document),
  ...listEmbedded(document).flatMap(listReferences),
];

export type Links = ReturnType<typeof openLinks>;

/** Finds documents that others refer to, among the inputs and next to them. */
export const openLinks = (run: FormatRun) => {
  const documents = new Map<
    string,
    { readonly session: string | undefined; readonly references: readonly Reference[] }
  >();
  const filesById = new Map<string, string[]>();
  /** The first document that refers to each file. */
  let owners: Map<string, string> | undefined;

  /** Returns the files that a reference can mean: by its path, or by an id of one file in its folder or below. */
  const filesOf = ({ path, trajectoryId, sessionId }: Reference, from: string): readonly string[] => {
    const own = join(from);
    const folder = dirname(own);
    const fileWith = (id: string): readonly string[] => {
      const isBelow = (file: string) => file !== own && !relative(folder, file).startsWith("..");
      const found = filesById.get(id)?.filter(isBelow) ?? [];
      return found.length === 1 ? found : [];
    };
    // In newer documents, all documents of a run have the same session.
    const isWholeRun = sessionId === undefined || documents.get(own)?.session === sessionId;
    return [
      ...(path === undefined ? [] : [join(folder, toLocalPath(path))]),
      ...(trajectoryId === undefined ? [] : fileWith(`trajectory_id ${trajectoryId}`)),
      ...(isWholeRun ? [] : fileWith(`session_id ${sessionId}`)),
    ];
  };
  const findOwners = (): Map<string, string> => {
    const found = new Map<string, string>();
    for (const [from, { references }] of documents) {
      for (const reference of references) {
        const file = filesOf(reference, from).find((one) => documents.has(one));
        if (file !== undefined && !found.has(file)) found.set(file, from);
      }
    }
    return found;
  };

  return {
    /** Adds the ids and references of a document. */
    addDocument({ value, file: name }: Pick<SourceRecord, "value" | "file">): void {
      const file = join(name);
      for (const key of ["trajectory_id", "session_id"]) {
        const id = value.textAt(key);
        const files = filesById.get(`${key} ${id}`);
        if (files !== undefined) files.push(file);
        else if (id !== undefined) filesById.set(`${key} ${id}`, [file]);
      }
      documents.set(file, { session: value.textAt("session_id"), references: listReferences(value) });
    },

    /** True if another document refers to a file, which is then a part of it. @throws ConversionError for a circle */
    isPart({ file, value }: Pick<SourceRecord, "value" | "file">): boolean {
      owners ??= findOwners();
      const seen = new Set<string>();
      for (let at: string | undefined = join(file); at !== undefined; at = owners.get(at)) {
        if (seen.has(at)) {
          throw new ConversionError(`the document refers to itself through ${[...seen].join(", ")}`, value);
        }
        seen.add(at);
      }
      return seen.size > 1;
    },

    /** Returns the referenced document; undefined if there is none. */
    find(reference: Reference, from: string): LocatedDocument | undefined {
      for (const file of filesOf(reference, from)) {
        const document = run.readDocument({ file: from }, relative(dirname(from), file));
        if (document?.get("steps") !== undefined) return { document, file };
      }
      return undefined;
    },
  };
};

/** A path out of the folder belongs to the machine that wrote it, so only the name of its file counts. */
const toLocalPath = (path: string): string =>
  isAbsolute(path) || relative("", path).startsWith("..") ? basename(path) : path;
