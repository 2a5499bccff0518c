/** Calls on a page: those that were named, those of the local service, or those that `call read` would read. */
import { headWithoutContent, readHead, withoutContent } from "../../calls/index.ts";
import { localService, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure, failureOf } from "../../failure.ts";
import { callLines, sentencesOf } from "../../output/index.ts";
import type { Settings } from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import type { CallRead } from "../../view/index.ts";
import { callIds, choosing } from "../call/meant.ts";
import { type CallChoice, type CallShown, idTyped, type ReadOptions, usualConcurrency } from "../call/options.ts";
import { type CallOutcome, openCallReader, openPatience } from "../call/reader.ts";
import type { Asked } from "./read.ts";
import { servePage, type TypedServing } from "./serve.ts";

/** Whether calls are to be looked at: those of the local service where nothing else is named. */
export const wantsCalls = ({ flags }: Context, { files, typed }: Asked): boolean =>
  typed.calls === true || (files.length === 0 && (flags.local || flags.profile === "local"));

/** What a page of calls asks for beside them. */
const shown: CallShown = { costs: true, storageSize: true, totalStorageSize: false, full: true, content: true };

/** Serves a page of calls until a signal. @throws Failure `options-contradict`, `option-needs`; as `servePage` */
export const viewCalls = async (context: Context, { files, typed }: Asked): Promise<void> => {
  const { calls: _calls, port: _port, open: _open, ...others } = typed;
  const [other] = Object.keys(others);
  if (other !== undefined) {
    const second = `--${other.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    throw new Failure("options-contradict", {
      first: typed.calls === true ? "--calls" : "--local without files",
      second,
      why: "it is about files of rollouts",
      ...(typed.html === undefined ? {} : { way: pageOfCalls(typed.calls === true) }),
    });
  }
  const settings = await settingsInForce(context);
  const usual = { shown, choice: undefined, concurrency: usualConcurrency, typed };
  if (files.length === 0 && settings.local) {
    const service = await localService(context, settings);
    const stored = async function* () {
      yield* await service.callIds(settings.require("project"));
    };
    return await showCalls(context, { ...usual, settings, ids: stored });
  }
  if (files.length === 0 && context.host.terminal.stdin) {
    throw new Failure("option-needs", { option: "--calls", needs: "ids of calls, or - for those of standard input" });
  }
  const words = files.length === 0 ? ["-"] : files.map(idTyped);
  const ids = (stop: AbortSignal) => callIds(context.host, { words, mayBeEmpty: false }, stop);
  await showCalls(context, { ...usual, settings, ids });
};

/** How calls come into a page that is a file: as the trajectories that they are. */
const pageOfCalls = (areNamed: boolean): string => {
  const read = (words: string) => `rollcall call read ${words} --as trajectory`;
  const command = areNamed ? read("<id…>") : `rollcall ledger calls --local | ${read("- --local")}`;
  return `a page in a file shows trajectories: ${command} | rollcall view - --html <file>`;
};

/** Serves the calls that `call read` would read, until a signal. @throws as `servePage`, and what the ids end with */
export const webCalls = async (
  context: Context,
  settings: Settings,
  { words, choice, shown, concurrency, web: typed }: ReadOptions & { readonly web: TypedServing },
): Promise<void> => {
  const ids = (stop: AbortSignal) => callIds(context.host, { words, mayBeEmpty: choice !== undefined }, stop);
  await showCalls(context, { settings, ids, shown, choice, concurrency, typed });
};

/** Which calls are shown, and how. */
interface CallsAsked {
  readonly settings: Settings;
  readonly ids: (stop: AbortSignal) => Iterable<string> | AsyncIterable<string>;
  readonly shown: CallShown;
  readonly choice: CallChoice | undefined;
  readonly concurrency: number;
  readonly typed: TypedServing;
}

/** Serves calls until a signal. @throws as `servePage`, and what the ids end with */
const showCalls = async (context: Context, asked: CallsAsked): Promise<void> => {
  const { settings, ids, choice, concurrency, typed } = asked;
  const project = settings.require("project");
  const vendorPrefix = settings.require("vendor_prefix");
  const readOne = await openCallReader(context, settings, asked.shown);
  const isMeant = choosing(choice, vendorPrefix);
  const isTrouble = openPatience();
  const read = async (id: string): Promise<CallRead> => {
    const outcome = await readOne(id).catch(
      (thrown: unknown): CallOutcome => ({ kind: "failed", id, failure: failureOf(thrown), endsAll: true }),
    );
    const stops = isTrouble(outcome) || (outcome.kind === "failed" && outcome.endsAll);
    if (outcome.kind !== "found") return await unread(context, outcome, stops);
    return isMeant(outcome.bytes)
      ? found(context, outcome.bytes, { ...asked.shown, vendorPrefix })
      : { kind: "left out" };
  };
  const from = settings.local ? `${project}, the local service` : `${project}, ${settings.address("base")}`;
  const stop = new AbortController();
  try {
    await servePage(context, typed, async (viewer, onOpened) => {
      const calls = {
        from,
        ids: ids(stop.signal),
        areChosen: choice !== undefined,
        costs: asked.shown.costs,
        sizes: asked.shown.storageSize,
        atOnce: concurrency,
        vendorPrefix,
      };
      await viewer.showCalls({ ...calls, read, commandOf: (id) => commandOf(context, id) });
      onOpened();
    });
  } finally {
    stop.abort();
  }
};

/** What reads a call anew, of the service in force. */
const commandOf = ({ flags: { local, profile } }: Context, id: string): string => {
  const service = local ? ["--local"] : profile === undefined ? [] : ["--profile", profile];
  return commandLine(["rollcall", "call", "read", id, ...service]);
};

const found = (
  { screen: { safe } }: Context,
  bytes: Uint8Array,
  asked: CallShown & { readonly vendorPrefix: string },
): CallRead => {
  const { content, vendorPrefix } = asked;
  const whole = Buffer.from(safe.verbatimJson(Buffer.from(bytes).toString()));
  const json = content ? whole : Buffer.from(withoutContent(whole, vendorPrefix));
  return {
    kind: "found",
    json,
    head: content ? readHead(whole) : headWithoutContent(whole, vendorPrefix),
    lines: () => callLines(whole, asked),
  };
};

const unread = async (
  { screen: { safe } }: Context,
  outcome: Exclude<CallOutcome, { readonly kind: "found" }>,
  stops: boolean,
): Promise<CallRead> => {
  if (outcome.kind === "missing") return { kind: "unread", why: "there is no such call", stops };
  const { message, hint } = await sentencesOf(outcome.failure);
  return { kind: "unread", why: safe.line(hint === undefined ? message : `${message}; ${hint}`), stops };
};
