import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { loadedEarly } from "./house/bundle.ts";
import { breachesIn } from "./house/check.ts";
import { type Reach, type Room, rooms } from "./house/rooms.ts";

/** The files of the project's own folders; the text of those that are code. */
const projectFiles = (): ReadonlyMap<string, string> => {
  const paths = ["bin", "src", "test", "bench", "build"]
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)))
    .filter((path) => statSync(path).isFile());
  return new Map(paths.map((path) => [path, /\.(ts|js)$/.test(path) ? readFileSync(path, "utf8") : ""]));
};

describe("the house", () => {
  it("keeps the doors, the owners and the names of every room", () => {
    expect(breachesIn(projectFiles())).toEqual([]);
  });

  it("loads nothing before it is needed", async () => {
    expect(await loadedEarly()).toEqual([]);
  });
});

const header = "/** A planted file. */\n";

/** One planted file, and one beside it and beside its folder, so that there is no folder of one. */
const planted = (path: string, text: string): ReadonlyMap<string, string> =>
  new Map([
    [path, `${header}${text}\n`],
    [path.replace(/[^/]+$/, "beside.ts"), header],
    [path.replace(/[^/]+\/[^/]+$/, "beside.ts"), header],
  ]);

const namesOf = (fits: (room: Room) => boolean): string =>
  Object.entries(rooms)
    .filter(([, room]) => fits(room))
    .map(([name]) => name)
    .join(", ");

const mayOpen = (name: string): string => {
  const { opens = [], byType = [] } = rooms[name] ?? {};
  return [...opens, ...byType].join(", ") || "nothing";
};

const openTo = (name: string): string =>
  namesOf(({ opens, byType = [] }) => opens.includes(name) || byType.includes(name));

const mayReach = (part: Reach): string => namesOf(({ never = [] }) => !never.includes(part));

/** A breach of each rule: where it is planted, what is planted, and what is said. */
const breaches: readonly (readonly [rule: string, path: string, text: string, says: string])[] = [
  [
    "a closed door",
    "src/client/send.ts",
    'import { openService } from "../service/index.ts";',
    `src/client/send.ts:2: closed door: client imports src/service/index.ts; client may open ${mayOpen("client")}, and service is open to ${openTo("service")}`,
  ],
  [
    "a closed door that only a type goes through",
    "src/client/send.ts",
    'import type { Context } from "../context.ts";',
    `src/client/send.ts:2: closed door: client imports src/context.ts; client may open ${mayOpen("client")}, and context is open to ${openTo("context")}`,
  ],
  [
    "a closed door that is re-exported",
    "src/settings/read.ts",
    'export { openClient } from "../client/index.ts";',
    `src/settings/read.ts:2: closed door: settings imports src/client/index.ts; settings may open ${mayOpen("settings")}, and client is open to ${openTo("client")}`,
  ],
  [
    "a closed door inside a type",
    "src/contract/log.ts",
    'export type A = typeof import("../host.ts");',
    `src/contract/log.ts:2: closed door: contract imports src/host.ts; contract may open ${mayOpen("contract")}, and host is open to ${openTo("host")}`,
  ],
  [
    "a door upward",
    "src/trajectories/send/plan.ts",
    'export * from "../../output/index.ts";',
    `src/trajectories/send/plan.ts:2: closed door: trajectories imports src/output/index.ts; trajectories may open ${mayOpen("trajectories")}, and output is open to ${openTo("output")}`,
  ],
  [
    "a folder above, inside a room",
    "src/trajectories/read/whole.ts",
    'import { planRequests } from "../send/plan.ts";',
    "src/trajectories/read/whole.ts:2: upward: src/trajectories/read/whole.ts imports src/trajectories/send/plan.ts; from the ground up trajectories has rules, input, read/metrics, read/parts, read/kernel, read/scan, explain, read, ledger, send, follow",
  ],
  [
    "another program than the built one in bin",
    "bin/rollcall.js",
    'import { main } from "../src/main.ts";',
    "bin/rollcall.js:2: closed door: bin starts dist/main.cjs and nothing else, not src/main.ts",
  ],
  [
    "an import from outside of the program",
    "src/output/table/table.ts",
    'import "../../test/run.ts";',
    "src/output/table/table.ts:2: closed door: output imports test/run.ts, which is no part of the program",
  ],
  [
    "a room that nobody planned",
    "src/extras/one.ts",
    'import "../host.ts";',
    "src/extras/one.ts:2: unknown room: extras has no place in the house; test/house/rooms.ts says which rooms there are",
  ],
  [
    "a side door",
    "src/commands/log/declare.ts",
    'import type { Line } from "../../trajectories/input/lines.ts";',
    "src/commands/log/declare.ts:2: side door: commands imports src/trajectories/input/lines.ts; from outside trajectories only src/trajectories/index.ts is open",
  ],
  [
    "the side door of a test",
    "test/client/send.test.ts",
    'import { send } from "../../src/client/send.ts";',
    "test/client/send.test.ts:2: side door: a test imports src/client/send.ts; only src/client/index.ts is open",
  ],
  [
    "a value where only types are open",
    "src/commands/log/declare.ts",
    'import { openClient } from "../../client/index.ts";',
    "src/commands/log/declare.ts:2: loaded early: commands imports src/client/index.ts by value; only its types are open to commands, and context opens it when it is used",
  ],
  [
    "a door that is opened lazily by another than context",
    "src/commands/log/declare.ts",
    'await import("../../client/index.ts");',
    "src/commands/log/declare.ts:2: lazy door: commands opens src/client/index.ts with import(); only context may",
  ],
  [
    "an import of what is computed",
    "src/service/app.ts",
    "await import(String(1));",
    "src/service/app.ts:2: unread import: its target is computed, so that nobody can say what is loaded",
  ],
  [
    "a require",
    "src/service/app.ts",
    'require("./beside.ts");',
    "src/service/app.ts:2: unread import: require() is not how this house loads anything",
  ],
  [
    "a second owner",
    "src/service/app.ts",
    'import type { Agent } from "undici";',
    "src/service/app.ts:2: second owner: service imports undici, which belongs to client",
  ],
  [
    "a second owner that loads lazily",
    "src/output/table/table.ts",
    'await import("zod");',
    "src/output/table/table.ts:2: second owner: output imports zod, which belongs to contract",
  ],
  [
    "a package without an owner",
    "src/client/send.ts",
    'import got from "got";',
    "src/client/send.ts:2: package without an owner: client imports got; test/house/rooms.ts says which room owns a package",
  ],
  [
    "files in a command",
    "src/commands/log/declare.ts",
    'import { readFile } from "node:fs/promises";',
    `src/commands/log/declare.ts:2: out of reach: commands imports node:fs/promises; only ${mayReach("files")} may reach for files`,
  ],
  [
    "the network in trajectories",
    "src/trajectories/send/sender.ts",
    'import net from "node:net";',
    `src/trajectories/send/sender.ts:2: out of reach: trajectories imports node:net; only ${mayReach("the network")} may reach for the network`,
  ],
  [
    "the process as a module",
    "src/client/send.ts",
    'import { env } from "node:process";',
    `src/client/send.ts:2: out of reach: client imports node:process; only ${mayReach("the process")} may reach for the process`,
  ],
  [
    "process.env",
    "src/settings/read.ts",
    "export const a = process.env.HOME;",
    "src/settings/read.ts:2: global: settings uses process.env; bin, main, context may, everybody else is given a Host",
  ],
  [
    "process.stdout",
    "src/output/table/table.ts",
    'process.stdout.write("");',
    "src/output/table/table.ts:2: global: output uses process.stdout; bin, main, context may, everybody else is given a Host",
  ],
  [
    "the process taken apart",
    "src/output/table/table.ts",
    "export const { stdout } = process;",
    "src/output/table/table.ts:2: global: output uses process; bin, main, context may, everybody else is given a Host",
  ],
  [
    "the process handed on",
    "src/service/app.ts",
    "String(process);",
    "src/service/app.ts:2: global: service uses process; bin, main, context may, everybody else is given a Host",
  ],
  [
    "the clock",
    "src/client/send.ts",
    "export const now = Date.now();",
    "src/client/send.ts:2: global: client uses Date.now; bin, main, context may, everybody else is given a Host",
  ],
  [
    "the clock",
    "src/client/send.ts",
    "export const now = new Date();",
    "src/client/send.ts:2: global: client uses new Date(); bin, main, context may, everybody else is given a Host",
  ],
  [
    "chance",
    "src/client/send.ts",
    "export const random = Math.random;",
    "src/client/send.ts:2: global: client uses Math.random; bin, main, context may, everybody else is given a Host",
  ],
  [
    "the end of the process",
    "src/main.ts",
    "process.exit(1);",
    "src/main.ts:2: process.exit: nobody ends the process; throw a Failure, and main gives its exit code",
  ],
  [
    "a cast",
    "src/client/send.ts",
    "export const a = 1 as unknown;",
    "src/client/send.ts:2: as: a cast is a claim that nothing checks; parse the value where it comes in",
  ],
  [
    "an empty name of a file",
    "src/client/utils.ts",
    "",
    "src/client/utils.ts: empty name: utils.ts says nothing of what is inside; name it for what it knows",
  ],
  [
    "an empty name of a folder",
    "test/helpers/a.ts",
    "",
    "test/helpers/a.ts: empty name: helpers says nothing of what is inside; name it for what it knows",
  ],
];

describe("the check of the house", () => {
  it.each(breaches)("sees %s", (_rule, path, text, says) => {
    expect(breachesIn(planted(path, text))[0]).toBe(says);
  });

  it("sees a cycle, also where only types go round", () => {
    const files = new Map([
      ["src/client/send.ts", `${header}import "./retry.ts";`],
      ["src/client/retry.ts", `${header}import type { Sent } from "./index.ts";`],
      ["src/client/index.ts", `${header}export * from "./send.ts";`],
    ]);
    expect(breachesIn(files)).toEqual([
      "src/client/send.ts: cycle: src/client/send.ts → src/client/retry.ts → src/client/index.ts → src/client/send.ts; move what both need below both",
    ]);
  });

  it("sees a folder of one", () => {
    expect(breachesIn(new Map([["src/client/send.ts", header]]))).toEqual([
      "src/client: folder of one: it holds only send.ts; a folder with one file is a file",
    ]);
  });

  it("sees a file without a header", () => {
    expect(breachesIn(new Map([["src/host.ts", "export {};"]]))).toEqual([
      "src/host.ts:1: no header: a module starts with one sentence that says what it is for",
    ]);
  });

  it("finds nothing wrong with what the house allows", () => {
    const files = new Map([
      ["bin/rollcall.js", 'const { main } = require("../dist/main.cjs");'],
      [
        "src/context.ts",
        `${header}const { openClient } = await import("./client/index.ts"); export const at = Date.now;`,
      ],
      ["src/client/index.ts", `${header}export { openClient } from "./send.ts";`],
      [
        "src/client/send.ts",
        `${header}import { fetch } from "undici"; import type { Host } from "../host.ts"; await import("./pool.ts");`,
      ],
      ["src/client/pool.ts", `${header}export const when = new Date(0); export const kinds = ["a"] as const;`],
      ["src/host.ts", `${header}import type { Readable } from "node:stream";`],
      [
        "src/service/index.ts",
        `${header}import { metricsOf } from "../trajectories/read/metrics/metrics.ts"; export * from "./log.ts";`,
      ],
      ["src/service/log.ts", `${header}import { logEndpoint } from "../contract/log.ts";`],
    ]);
    expect(breachesIn(files)).toEqual([]);
  });

  it("sees a package and a room that are loaded with the program", async () => {
    const files = new Map([
      [
        "src/main.ts",
        'import { a } from "./commands/models/declare.ts"; export const main = async () => [a, await import("./client/index.ts")];',
      ],
      [
        "src/commands/models/declare.ts",
        'import { z } from "zod"; import "libsql"; import "../../settings/index.ts"; export const a = z.string();',
      ],
      ["src/settings/index.ts", "globalThis.settings = 1;"],
      ["src/client/index.ts", 'import chalk from "chalk"; globalThis.b = chalk;'],
    ]);
    expect(await loadedEarly(files)).toEqual([
      "src/main.ts: loaded early: zod, by src/main.ts → src/commands/models/declare.ts → zod; import() it where it is used",
      "src/main.ts: loaded early: settings, by src/main.ts → src/commands/models/declare.ts → src/settings/index.ts; import() it where it is used",
      "src/main.ts: loaded early: commands, by src/main.ts → src/commands/models/declare.ts; import() it where it is used",
      "src/main.ts: loaded early: libsql, by src/main.ts → src/commands/models/declare.ts → libsql; import() it where it is used",
      "src/client/index.ts: loaded early: chalk, by src/client/index.ts → chalk; import() it where it is used",
    ]);
  });
});
