/** What `rollcall view` reads: inputs, or what was logged to the local service. */
import { contradiction, optionName } from "../../cli/index.ts";
import { localService, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { readSources } from "../../groups/index.ts";
import { openSpool, openStamp } from "../../input/index.ts";
import { elementsOf, memberAt, rootOf, spanOf } from "../../json/table.ts";
import { onOneLine, textOf } from "../../json/walk.ts";
import type { LoggedGroup, Shown } from "../../view/index.ts";
import { openInputs, sayConversion } from "../inputs/read.ts";
import type { TypedView } from "./command.ts";

/** Functions that are called with the bytes read so far, and once there is something to read. */
interface ReadingTold {
  onRead(bytes: number, of: number): void;
  onOpened(): void;
}

/** Something that can be read, and read again. */
interface Viewed {
  /** Returns a function that is true if something else would be read now. */
  stamp(): Promise<() => boolean | Promise<boolean>>;
  read(): Promise<Shown>;
}

/** Checks all that was typed, before anything is read. */
export const openViewed = async (context: Context, typed: TypedView, told: ReadingTold): Promise<Viewed> => {
  const { file: files } = typed;
  const { flags, host } = context;
  if (files.length === 0 && (flags.local || flags.profile === "local")) return await openLogged(context, typed, told);
  const settings = await settingsInForce(context);
  const read = await openInputs(context, {
    ...{ settings, typed, split: settings.get("split"), goesOn: true, onOpened: told.onOpened },
    onProgress: ({ bytes, of }) => told.onRead(bytes, of),
    onFetched: ({ bytes, of = 0 }) => told.onRead(bytes, of),
  });
  return {
    stamp: async () => openStamp(files, host),
    read: async () => {
      const reading = await read();
      sayConversion(context, reading);
      return { reading, asked: askedFor(typed) };
    },
  };
};

/** What was asked for, as a command that logs it asks. The numbers of groups tell which were a sample, or are a shard. */
const askedFor = (typed: TypedView): Shown["asked"] => {
  const { file: files, where, best, groupBy, from, rewardFrom, rewards, lossy, histories } = typed;
  const options = Object.entries({ groupBy, best, from, rewardFrom, rewards, lossy, histories });
  return {
    files: files.length === 0 ? ["-"] : files,
    options: options.flatMap(([name, value]) => {
      if (value === undefined || value === false) return [];
      return value === true ? [optionName(name)] : [optionName(name), String(value)];
    }),
    where,
  };
};

/** Opens the groups that were logged to the local service. @throws Failure `options-contradict` */
const openLogged = async (context: Context, typed: TypedView, told: ReadingTold): Promise<Viewed> => {
  const { port: _port, noOpen: _noOpen, html: _html, file: _file, ...others } = typed;
  const other = Object.entries(others).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (other !== undefined)
    throw contradiction("--local without files", optionName(other), "it is about files of rollouts");
  const { host, screen } = context;
  const settings = await settingsInForce(context);
  const project = settings.require("project");
  const service = await localService(context, settings);
  const newest = async () => {
    for await (const { callIds } of service.requests(project)) return callIds[0];
    return undefined;
  };
  /** Writes the groups as lines, without the secrets of this run. */
  const spoolGroups = async () => {
    const spool = await openSpool(host);
    const logged: LoggedGroup[] = [];
    try {
      for await (const { model, split, loggedAt, callIds, readBody } of service.requests(project)) {
        const bytes = Buffer.from(await readBody());
        let first = 0;
        for (const group of elementsOf(memberAt(rootOf(bytes), "trajectory_groups"))) {
          const size = elementsOf(memberAt(group, "trajectories")).length;
          const line = onOneLine(Buffer.from(screen.safe.verbatimJson(textOf(bytes, spanOf(group)))));
          await spool.write(Buffer.concat([line, Buffer.from("\n")]));
          logged.push({ model, split, loggedAt, callIds: callIds.slice(first, first + size) });
          first += size;
        }
      }
    } catch (thrown) {
      await spool.discard();
      throw thrown;
    }
    return { logged, bytes: spool.bytes() };
  };
  return {
    stamp: async () => {
      const before = await newest();
      return async () => (await newest()) !== before;
    },
    read: async () => {
      const { logged, bytes } = await spoolGroups();
      told.onOpened();
      const name = `${project}, the local service`;
      const read = await readSources(logged.length === 0 ? [] : [{ name, bytes, touched: async () => false }], {
        ...{ split: undefined, splitNeeded: false, groupBy: undefined, signal: host.signal },
        onProgress: ({ bytes: done, of }) => told.onRead(done, of),
      });
      const reading = { ...read, close: async () => await bytes.close() };
      return { reading, asked: { files: [name], options: [], where: undefined }, logged };
    },
  };
};
