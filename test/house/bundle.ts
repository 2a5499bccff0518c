/** Builds the program in memory and says which packages and rooms are loaded before anybody asked for them. */
import { dirname, join, relative } from "node:path";
import { type OutputChunk, type Plugin, rolldown } from "rolldown";
import { ownZod } from "../../build/own-zod.ts";
import { raw } from "../../build/raw.ts";
import { program as config } from "../../rolldown.config.ts";
import { roomOf } from "./check.ts";
import { loadedWith } from "./rooms.ts";

/** Sentences for what is loaded early, in the project or, for trying this out, in files given by path and text. */
export const loadedEarly = async (planted?: ReadonlyMap<string, string>): Promise<readonly string[]> => {
  const graph = new Map<string, readonly string[]>();
  const build = await rolldown({
    ...config,
    // What the SDK of MCP is given in place of others decides what is loaded with it.
    plugins: [raw(), planted === undefined ? ownZod() : filesFrom(planted), readGraph(graph)],
  });
  const { output } = await build.generate(config.output);
  await build.close();
  const chunks = new Map(output.flatMap((one) => (one.type === "chunk" ? [[one.fileName, one]] : [])));
  const doors = Object.keys(loadedWith);
  const main = new Set(loadedFrom("main.cjs", chunks));
  // Whatever a run opens stands on what it is itself.
  const run = new Set([...main, ...loadedAt("src/run.ts", chunks)]);
  const early = (door: string, before: ReadonlySet<OutputChunk>): string[] => {
    const loaded = loadedAt(door, chunks).filter((chunk) => !before.has(chunk));
    return earlyBehind(door, loaded, graph);
  };
  const later = doors.filter((door) => ![...run].some((chunk) => holds(chunk, door)));
  return [
    ...earlyBehind("src/main.ts", [...main], graph),
    ...early("src/run.ts", main),
    ...later.flatMap((door) => early(door, run)),
  ];
};

type Chunks = ReadonlyMap<string, OutputChunk>;
type Graph = ReadonlyMap<string, readonly string[]>;

const loadedAt = (door: string, chunks: Chunks): readonly OutputChunk[] => {
  const first = [...chunks.values()].find((chunk) => holds(chunk, door));
  return first === undefined ? [] : loadedFrom(first.fileName, chunks);
};

const earlyBehind = (door: string, loaded: readonly OutputChunk[], graph: Graph): string[] => {
  const allowed = loadedWith[door];
  const fine = [...(allowed?.packages ?? []), ...(allowed?.rooms ?? [])];
  const early = new Map<string, string>();
  for (const chunk of loaded) {
    const outside = chunk.imports.filter((name) => /^[@a-z]/.test(name) && !/^node:|\.cjs$/.test(name));
    for (const id of [...Object.keys(chunk.modules), ...outside]) {
      const name = packageOf(id) ?? roomOf(nameOf(id));
      if (name !== undefined && !fine.includes(name)) early.set(name, early.get(name) ?? id);
    }
  }
  return [...early].map(([name, id]) => {
    const trail = trailTo(id, door, graph).map((one) => packageOf(one) ?? nameOf(one));
    const way = [...new Set(trail)].join(" → ") || "the bundler's choice of chunks";
    return `${door}: loaded early: ${name}, by ${way}; import() it where it is used`;
  });
};

const holds = (chunk: OutputChunk, path: string): boolean =>
  Object.keys(chunk.modules).some((id) => nameOf(id) === path);

/** A chunk and all that is loaded with it. */
const loadedFrom = (name: string, chunks: Chunks): readonly OutputChunk[] => {
  const loaded = new Map<string, OutputChunk>();
  const add = (one: string): void => {
    const chunk = chunks.get(one);
    if (chunk === undefined || loaded.has(one)) return;
    loaded.set(one, chunk);
    for (const next of chunk.imports) add(next);
  };
  add(name);
  return [...loaded.values()];
};

/** The shortest way of static imports from a door to a module. */
const trailTo = (id: string, door: string, graph: Graph): readonly string[] => {
  const start = [...graph.keys()].find((one) => nameOf(one) === door);
  const trails: (readonly string[])[] = start === undefined ? [] : [[start]];
  const seen = new Set<string>();
  for (let trail = trails.shift(); trail !== undefined; trail = trails.shift()) {
    const last = trail.at(-1) ?? "";
    if (last === id) return trail;
    if (seen.has(last)) continue;
    seen.add(last);
    for (const next of graph.get(last) ?? []) trails.push([...trail, next]);
  }
  return [];
};

/** Path from the top of the project, or from the package on. */
const nameOf = (id: string): string => relative(process.cwd(), id.replace(/^\0/, "")).replace(/^.*node_modules\//, "");

const packageOf = (id: string): string | undefined => {
  const inside = id.split("/node_modules/").at(-1);
  if (inside === undefined || (inside === id && id.startsWith("/"))) return undefined;
  if (inside.startsWith("\0")) return undefined;
  return inside
    .split("/")
    .slice(0, inside.startsWith("@") ? 2 : 1)
    .join("/");
};

const readGraph = (graph: Map<string, readonly string[]>): Plugin => ({
  name: "read-graph",
  buildEnd() {
    for (const id of this.getModuleIds()) graph.set(id, this.getModuleInfo(id)?.importedIds ?? []);
  },
});

const filesFrom = (files: ReadonlyMap<string, string>): Plugin => ({
  name: "files-from",
  resolveId(source, importer) {
    const path = importer === undefined ? source : join(relative(process.cwd(), dirname(importer)), source);
    return files.has(path) ? `${process.cwd()}/${path}` : undefined;
  },
  load: (id) => files.get(relative(process.cwd(), id)),
});
