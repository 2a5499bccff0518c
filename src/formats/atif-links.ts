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

/** Returns the file that continues a document. */
export const findContinuation = (document: Value): Reference | undefined => {
  const path = document.textAt("continued_trajectory_ref");
  return path === undefined ? undefined : { path };
};

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
      return references?.isObject === true ? [references] : (references?.items() ?? []);
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
  ...[findContinuation(document) ?? []].flat(),
  ...listSubagents(document),
  ...listEmbedded(document).flatMap(listReferences),
];

export type Links = ReturnType<typeof openLinks>;

/** Finds documents that others refer to, among the inputs and next to them. */
export const openLinks = (run: FormatRun) => {
  const references = new Map<string, readonly Reference[]>();
  const sessions = new Map<string, string>();
  const byTrajectory = new Map<string, string[]>();
  const bySession = new Map<string, string[]>();
  let owners: ReadonlyMap<string, string> | undefined;

  /** Returns the files that a reference can mean: by its path, or by an id of one file in its folder or below. */
  const filesOf = ({ path, trajectoryId, sessionId }: Reference, from: string): readonly string[] => {
    const folder = dirname(join(from));
    const ownFile = (files: readonly string[] = []): readonly string[] => {
      const found = files.filter((file) => file !== join(from) && !relative(folder, file).startsWith(".."));
      return found.length === 1 ? found : [];
    };
    // In newer documents, all documents of a run have the same session.
    const isWholeRun = sessionId === undefined || sessions.get(join(from)) === sessionId;
    return [
      ...(path === undefined ? [] : [join(folder, toLocalPath(path))]),
      ...(trajectoryId === undefined ? [] : ownFile(byTrajectory.get(trajectoryId))),
      ...(isWholeRun ? [] : ownFile(bySession.get(sessionId))),
    ];
  };
  const findOwners = (): ReadonlyMap<string, string> => {
    const found = new Map<string, string>();
    for (const [from, own] of references) {
      for (const reference of own) {
        const file = filesOf(reference, from).find((one) => references.has(one));
        if (file !== undefined && !found.has(file)) found.set(file, from);
      }
    }
    return found;
  };

  return {
    /** Adds the ids and references of a document. */
    addDocument({ value, file: name }: Pick<SourceRecord, "value" | "file">): void {
      const file = join(name);
      const [trajectory, session] = [value.textAt("trajectory_id"), value.textAt("session_id")];
      if (trajectory !== undefined) addTo(byTrajectory, trajectory, file);
      if (session !== undefined) {
        addTo(bySession, session, file);
        sessions.set(file, session);
      }
      references.set(file, listReferences(value));
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

const addTo = (lists: Map<string, string[]>, key: string, file: string): void =>
  void lists.set(key, [...(lists.get(key) ?? []), file]);

/** A path out of the folder belongs to the machine that wrote it, so only the name of its file counts. */
const toLocalPath = (path: string): string =>
  isAbsolute(path) || relative("", path).startsWith("..") ? basename(path) : path;
