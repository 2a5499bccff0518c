/** Holds source files against the rooms: says for each breach which rule was broken and which room may do it. */
import { basename, dirname } from "node:path/posix";
import { type Import, readSource, type Source } from "./imports.ts";
import { doorOf, emptyNames, floors, hostRooms, openRooms, type Room, reachOf, rooms, testedInside } from "./rooms.ts";

/** Sentences, each `<file>:<line>: <rule>: <what to do instead>`, for the breaches in files given by path and text. */
export const breachesIn = (files: ReadonlyMap<string, string>): readonly string[] => {
  const sources = new Map<string, Source>();
  for (const [path, text] of files) if (/\.(ts|js)$/.test(path)) sources.set(path, readSource(path, text));
  return [
    ...namesWithoutMeaning([...files.keys()]),
    ...foldersOfOne([...files.keys()]),
    ...[...files].flatMap(([path, text]) => missingHeader(path, text)),
    ...[...sources].flatMap(([path, source]) => [...wrongImports(path, source), ...wrongUses(path, source)]),
    ...cycles(sources),
  ];
};

/** The room a file belongs to; undefined for what is not part of the house. */
export const roomOf = (path: string): string | undefined => {
  if (path === "package.json") return path;
  const [top, second] = path.split("/");
  if (top === "bin") return top;
  return top === "src" ? second?.replace(/\.ts$/, "") : undefined;
};

const wrongImports = (path: string, { imports }: Source): string[] =>
  imports.flatMap((one) => {
    const wrong = path.startsWith("test/") ? wrongInTest(one) : wrongInRoom(path, one);
    return wrong === undefined ? [] : [`${path}:${one.line}: ${wrong}`];
  });

/** Tests go through the rooms' doors as everybody else does. */
const wrongInTest = ({ to }: Import): string | undefined => {
  const room = roomOf(to);
  if (room === undefined || isDoor(to) || sideDoors.has(to) || testedInside.has(to)) return undefined;
  return `side door: a test imports ${to}; only ${doorOf(room)} is open`;
};

const wrongInRoom = (path: string, one: Import): string | undefined => {
  const from = roomOf(path);
  if (from === undefined) return undefined;
  const room = rooms[from];
  if (room === undefined)
    return `unknown room: ${from} has no place in the house; test/house/rooms.ts says which rooms there are`;
  if (one.to === "?") return "unread import: its target is computed, so that nobody can say what is loaded";
  if (one.to.startsWith("node:")) return wrongReach(from, room, one.to);
  if (!/^(src|bin|test|build|bench|dist)\/|^package\.json$/.test(one.to)) return wrongPackage(from, room, one.to);
  if (from === "bin")
    return one.to === "dist/main.cjs"
      ? undefined
      : `closed door: bin starts dist/main.cjs and nothing else, not ${one.to}`;
  return roomOf(one.to) === from ? wrongFloor(from, path, one) : wrongDoor(from, room, one);
};

const wrongReach = (from: string, room: Room, module: string): string | undefined => {
  const reach = reachOf[module.slice("node:".length)];
  if (reach === undefined || room.never?.includes(reach) !== true) return undefined;
  const may = roomsThat((other) => other.never?.includes(reach) !== true);
  return `out of reach: ${from} imports ${module}; only ${may} may reach for ${reach}`;
};

const wrongPackage = (from: string, room: Room, name: string): string | undefined => {
  if (room.owns?.includes(name) === true) return undefined;
  const owners = roomsThat((other) => other.owns?.includes(name) === true);
  return owners === "nobody"
    ? `package without an owner: ${from} imports ${name}; test/house/rooms.ts says which room owns a package`
    : `second owner: ${from} imports ${name}, which belongs to ${owners}`;
};

const wrongDoor = (from: string, room: Room, { to, kind }: Import): string | undefined => {
  const other = roomOf(to);
  if (other === undefined) return `closed door: ${from} imports ${to}, which is no part of the program`;
  if (room.sideDoors?.includes(to) === true && kind !== "lazy") return undefined;
  if (kind === "lazy") {
    if (room.lazily?.includes(other) === true && isDoor(to)) return undefined;
    const lazy = roomsThat((any) => any.lazily?.includes(other) === true);
    return `lazy door: ${from} opens ${to} with import(); only ${lazy} may`;
  }
  const byType = room.byType?.includes(other) === true;
  if (!byType && !room.opens.includes(other)) {
    const may = roomsThat((any) => any.opens.includes(other) || any.byType?.includes(other) === true);
    return `closed door: ${from} imports ${to}; ${from} may open ${listOf([...room.opens, ...(room.byType ?? [])])}, and ${other} is open to ${may}`;
  }
  if (!isDoor(to)) return `side door: ${from} imports ${to}; from outside ${other} only ${doorOf(other)} is open`;
  if (byType && kind === "value") {
    const lazy = roomsThat((any) => any.lazily?.includes(other) === true);
    return `loaded early: ${from} imports ${to} by value; only its types are open to ${from}, and ${lazy} opens it when it is used`;
  }
  return undefined;
};

/** Inside a room with folders the way goes down, from a folder to those below; `index.ts` is above them all. */
const wrongFloor = (room: string, path: string, { to, kind }: Import): string | undefined => {
  const own = floors[room];
  if (own === undefined || path === doorOf(room)) return undefined;
  const [at, of] = [path, to].map((file) => own.indexOf(file.split("/").slice(2, -1).join("/")));
  if (at === undefined || of === undefined || kind === "type" || (of >= 0 && of <= at)) return undefined;
  if (at < 0) return `unknown folder: ${room} has ${listOf(own)}, from the ground up`;
  return `upward: ${path} imports ${to}; from the ground up ${room} has ${listOf(own)}`;
};

const sideDoors = new Set(Object.values(rooms).flatMap((room) => room.sideDoors ?? []));

const isDoor = (path: string): boolean => {
  const room = roomOf(path) ?? "";
  return doorOf(room) === path || openRooms.has(room);
};

const wrongUses = (path: string, { uses }: Source): string[] => {
  const room = roomOf(path);
  if (room === undefined) return [];
  return uses.flatMap(({ what, line }) => {
    const wrong = wrongUse(room, what);
    return wrong === undefined ? [] : [`${path}:${line}: ${wrong}`];
  });
};

const wrongUse = (room: string, what: string): string | undefined => {
  if (what === "process.exit" || what === "process.abort" || what === "process.reallyExit")
    return `${what}: nobody ends the process; throw a Failure, and main gives its exit code`;
  if (what === "as") return "as: a cast is a claim that nothing checks; parse the value where it comes in";
  if (what === "require") return "unread import: require() is not how this house loads anything";
  if (hostRooms.has(room)) return undefined;
  return `global: ${room} uses ${what}; ${listOf([...hostRooms])} may, everybody else is given a Host`;
};

const namesWithoutMeaning = (paths: readonly string[]): string[] =>
  paths.flatMap((path) => {
    const empty = path.split("/").find((part) => emptyNames.has(part.replace(/\..*$/, "").toLowerCase()));
    return empty === undefined
      ? []
      : [`${path}: empty name: ${empty} says nothing of what is inside; name it for what it knows`];
  });

/** The top of the tree, what is outside the program, and the folders of tests: one a room, however much there is to it. */
const mayHoldOne = /^(src|bin|bench|test|test\/[^/]+)$/;

const foldersOfOne = (paths: readonly string[]): string[] => {
  const children = new Map<string, Set<string>>();
  for (const path of paths) {
    for (let at = path; dirname(at) !== "."; at = dirname(at)) {
      const folder = dirname(at);
      children.set(folder, (children.get(folder) ?? new Set()).add(basename(at)));
    }
  }
  return [...children]
    .filter(([folder, names]) => names.size === 1 && !mayHoldOne.test(folder))
    .map(([folder, [name]]) => `${folder}: folder of one: it holds only ${name}; a folder with one file is a file`);
};

const missingHeader = (path: string, text: string): string[] =>
  path.startsWith("src/") && path.endsWith(".ts") && !text.startsWith("/** ")
    ? [`${path}:1: no header: a module starts with one sentence that says what it is for`]
    : [];

const cycles = (sources: ReadonlyMap<string, Source>): string[] => {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    const seen = trail.indexOf(path);
    if (seen >= 0)
      found.push(`${path}: cycle: ${[...trail.slice(seen), path].join(" → ")}; move what both need below both`);
    if (seen >= 0 || done.has(path)) return;
    for (const to of new Set(sources.get(path)?.imports.map((one) => one.to) ?? []))
      if (sources.has(to)) walk(to, [...trail, path]);
    done.add(path);
  };
  for (const path of sources.keys()) walk(path, []);
  return found;
};

/** The names of the rooms for which something holds. */
const roomsThat = (holds: (room: Room) => boolean): string =>
  listOf(
    Object.entries(rooms).flatMap(([name, room]) => (holds(room) ? [name] : [])),
    "nobody",
  );

const listOf = (words: readonly string[], none = "nothing"): string => words.join(", ") || none;
