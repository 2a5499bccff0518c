/** References between ATIF documents: by the paths of files, and by ids. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import type { FormatRun, SourceRecord } from "./format.ts";
import { Unfit, type Value } from "./value.ts";

/** A document, and its file. */
export interface LocatedDocument {
  readonly document: Value;
  readonly file: string;
}

/** What a document refers to another by. */
export interface Reference {
  readonly path?: string | undefined;
  readonly trajectoryId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** A reference for people. */
export const referenceText = ({ path, trajectoryId, sessionId }: Reference): string =>
  path ?? (trajectoryId === undefined ? `session_id ${sessionId}` : `trajectory_id ${trajectoryId}`);

/** The file in which a document continues. */
export const continuationOf = (document: Value): Reference | undefined => {
  const path = document.textAt("continued_trajectory_ref");
  return path === undefined ? undefined : { path };
};

/** The documents of subagents that are in another. */
export const embeddedIn = (document: Value): readonly Value[] =>
  (document.get("subagent_trajectories")?.items() ?? []).filter(({ isObject }) => isObject);

/** The documents of subagents that steps refer to, and that are other files. */
export const subagentsOf = (document: Value): readonly Reference[] => {
  const embedded = new Set(embeddedIn(document).map((own) => own.textAt("trajectory_id") ?? own.textAt("session_id")));
  const steps = document.get("steps")?.items() ?? [];
  const results = steps.flatMap((step) => step.get("observation", "results")?.items() ?? []);
  return results
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

const referencesOf = (document: Value): readonly Reference[] => [
  ...[continuationOf(document) ?? []].flat(),
  ...subagentsOf(document),
  ...embeddedIn(document).flatMap(referencesOf),
];

/** Finds documents that others refer to, among those that were seen and next to them. */
export class Links {
  readonly #run: FormatRun;
  /** What documents refer to, by their files. */
  readonly #references = new Map<string, readonly Reference[]>();
  readonly #byTrajectory = new Map<string, string[]>();
  readonly #bySession = new Map<string, string[]>();
  readonly #sessions = new Map<string, string>();
  #owners: ReadonlyMap<string, string> | undefined;

  constructor(run: FormatRun) {
    this.#run = run;
  }

  /** Takes note of the ids of a document, and of its references. */
  look({ value, file: name }: Pick<SourceRecord, "value" | "file">): void {
    const file = join(name);
    const [trajectory, session] = [value.textAt("trajectory_id"), value.textAt("session_id")];
    if (trajectory !== undefined) addTo(this.#byTrajectory, trajectory, file);
    if (session !== undefined) {
      addTo(this.#bySession, session, file);
      this.#sessions.set(file, session);
    }
    this.#references.set(file, referencesOf(value));
  }

  /** True if another document refers to a file, which is a part of it then. @throws Unfit if that is a circle */
  isPart({ file, value }: Pick<SourceRecord, "value" | "file">): boolean {
    this.#owners ??= this.#ownersOfAll();
    const seen = new Set<string>();
    for (let at: string | undefined = join(file); at !== undefined; at = this.#owners.get(at)) {
      if (seen.has(at)) throw new Unfit(`it is a part of itself, by way of ${[...seen].join(", ")}`, value);
      seen.add(at);
    }
    return seen.size > 1;
  }

  /** Returns the document that another refers to; undefined if there is none. */
  find(reference: Reference, from: string): LocatedDocument | undefined {
    for (const file of this.#filesOf(reference, from)) {
      const document = this.#run.beside({ file: from }, relative(dirname(from), file));
      if (document?.get("steps") !== undefined) return { document, file };
    }
    return undefined;
  }

  /** Files that a reference can mean: that of its path, and the only one in its folder or below that has its id. */
  #filesOf({ path, trajectoryId, sessionId }: Reference, from: string): readonly string[] {
    const folder = dirname(join(from));
    const sameFolder = (files: readonly string[] = []): readonly string[] =>
      files.filter((file) => file !== join(from) && !relative(folder, file).startsWith(".."));
    const byTrajectory = trajectoryId === undefined ? [] : sameFolder(this.#byTrajectory.get(trajectoryId));
    // In newer documents, a session is that of the whole run: the same one does not tell documents apart.
    const isWholeRun = sessionId === undefined || this.#sessions.get(join(from)) === sessionId;
    const bySession = isWholeRun ? [] : sameFolder(this.#bySession.get(sessionId));
    return [
      ...(path === undefined ? [] : [join(folder, withinFolder(path))]),
      ...[byTrajectory, bySession].flatMap((files) => (files.length === 1 ? files : [])),
    ];
  }

  #ownersOfAll(): ReadonlyMap<string, string> {
    const owners = new Map<string, string>();
    for (const [from, references] of this.#references) {
      for (const reference of references) {
        const file = this.#filesOf(reference, from).find((one) => this.#references.has(one));
        if (file !== undefined && !owners.has(file)) owners.set(file, from);
      }
    }
    return owners;
  }
}

const addTo = (lists: Map<string, string[]>, key: string, file: string): void => {
  const own = lists.get(key);
  if (own === undefined) lists.set(key, [file]);
  else own.push(file);
};

/** A path that leads out of the folder is one of the machine that wrote it. The name of its file is looked for. */
const withinFolder = (path: string): string =>
  isAbsolute(path) || relative("", path).startsWith("..") ? basename(path) : path;
