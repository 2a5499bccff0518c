/** Which ATIF documents refer to each other: by the paths of files, and by ids. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { type FormatRun, type SourceRecord, Unfit } from "./format.ts";
import type { Value } from "./value.ts";

/** A document, and the file that it is. */
export interface Located {
  readonly document: Value;
  readonly file: string;
}

/** What a document refers to another by. */
interface Reference {
  readonly path?: string | undefined;
  readonly trajectoryId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/** What a reference says that is not there. */
export const wordsOf = ({ path, trajectoryId, sessionId }: Reference): string =>
  path ?? (trajectoryId === undefined ? `session_id ${sessionId}` : `trajectory_id ${trajectoryId}`);

/** The file in which a document goes on. */
export const continuationOf = (document: Value): Reference | undefined => {
  const path = document.get("continued_trajectory_ref")?.text;
  return path === undefined ? undefined : { path };
};

/** The documents of subagents that stand in another. */
export const embeddedIn = (document: Value): readonly Value[] =>
  (document.get("subagent_trajectories")?.items() ?? []).filter(({ isObject }) => isObject);

/** The documents of subagents that steps refer to, and that stand in other files. */
export const subagentsOf = (document: Value): readonly Reference[] => {
  const embedded = new Set(embeddedIn(document).map((own) => idOf(own)));
  const results = (document.get("steps")?.items() ?? []).flatMap(
    (step) => step.get("observation", "results")?.items() ?? [],
  );
  return results
    .flatMap((result) => {
      const references = result.get("subagent_trajectory_ref");
      return references?.isObject === true ? [references] : (references?.items() ?? []);
    })
    .map((reference) => ({
      path: reference.get("trajectory_path")?.text,
      trajectoryId: reference.get("trajectory_id")?.text,
      sessionId: reference.get("session_id")?.text,
    }))
    .filter(({ trajectoryId, sessionId }) => !embedded.has(trajectoryId ?? sessionId))
    .filter((reference) => Object.values(reference).some((value) => value !== undefined));
};

const idOf = (document: Value): string | undefined =>
  document.get("trajectory_id")?.text ?? document.get("session_id")?.text;

const referencesOf = (document: Value): readonly Reference[] => [
  ...[continuationOf(document) ?? []].flat(),
  ...subagentsOf(document),
  ...embeddedIn(document).flatMap(referencesOf),
];

/** Finds documents that others refer to, among those that were looked at and beside them. */
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

  /** Remembers what a document is called, and what it refers to. */
  look({ value, file: name }: Pick<SourceRecord, "value" | "file">): void {
    const file = join(name);
    const [trajectory, session] = [value.get("trajectory_id")?.text, value.get("session_id")?.text];
    if (trajectory !== undefined) addTo(this.#byTrajectory, trajectory, file);
    if (session !== undefined) {
      addTo(this.#bySession, session, file);
      this.#sessions.set(file, session);
    }
    this.#references.set(file, referencesOf(value));
  }

  /** Whether another document refers to a file, so that it is a part of that. @throws Unfit where they refer to each other in a circle */
  isPart({ file, value }: Pick<SourceRecord, "value" | "file">): boolean {
    this.#owners ??= this.#ownersOfAll();
    const seen = new Set<string>();
    for (let at: string | undefined = join(file); at !== undefined; at = this.#owners.get(at)) {
      if (seen.has(at)) throw new Unfit(`it is a part of itself, by way of ${[...seen].join(", ")}`, value);
      seen.add(at);
    }
    return seen.size > 1;
  }

  /** The document that one refers to; undefined where it is not there. */
  find(reference: Reference, from: string): Located | undefined {
    for (const file of this.#filesOf(reference, from)) {
      const document = this.#run.beside({ file: from }, relative(dirname(from), file));
      if (document?.get("steps") !== undefined) return { document, file };
    }
    return undefined;
  }

  /** Files that a reference may mean: that of its path, and those in the same folder or below that have its id alone. */
  #filesOf({ path, trajectoryId, sessionId }: Reference, from: string): readonly string[] {
    const folder = dirname(join(from));
    // A session is the whole run's in newer documents: what has the same one is not told by it.
    const bySession = sessionId === undefined || this.#sessions.get(join(from)) === sessionId ? [] : sessionId;
    const found = [
      [trajectoryId ?? []].flat().flatMap((id) => this.#byTrajectory.get(id) ?? []),
      [bySession].flat().flatMap((id) => this.#bySession.get(id) ?? []),
    ].map((files) => files.filter((file) => file !== join(from) && isBelow(folder, file)));
    return [
      ...(path === undefined ? [] : [join(folder, withinFolder(path))]),
      ...found.flatMap((files) => (files.length === 1 ? files : [])),
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

const isBelow = (folder: string, file: string): boolean => !relative(folder, file).startsWith("..");

/** A path that leads out of the folder is one of the machine that wrote it: its file's name is looked for. */
const withinFolder = (path: string): string => (isAbsolute(path) || !isBelow("", path) ? basename(path) : path);
