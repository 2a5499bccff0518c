/** `rollcall view --local`: the calls that were logged to the local service on a page. */
import { readHead } from "../../calls/index.ts";
import { localService, settingsInForce } from "../../connect.ts";
import type { Context } from "../../context.ts";
import { Failure, failureOf } from "../../failure.ts";
import { callLines, sentencesOf } from "../../output/index.ts";
import { commandLine } from "../../shell-words.ts";
import type { CallRead } from "../../view/index.ts";
import { type CallShown, usualConcurrency } from "../call/options.ts";
import { type CallOutcome, openCallReader, openPatience } from "../call/reader.ts";
import type { TypedView } from "./command.ts";
import { servePage } from "./serve.ts";

/** What a page of calls asks for beside them. */
const shown: CallShown = { costs: true, storageSize: true, totalStorageSize: false, full: true, content: true };

/** Serves a page of the calls of the local service until a signal. @throws Failure `options-contradict`; as `servePage` */
export const viewCalls = async (context: Context, typed: TypedView): Promise<void> => {
  requireNothingOfFiles(typed);
  const settings = await settingsInForce(context);
  const project = settings.require("project");
  const vendorPrefix = settings.require("vendor_prefix");
  const service = await localService(context, settings);
  const readOne = await openCallReader(context, settings, shown);
  const isTrouble = openPatience();
  const read = async (id: string): Promise<CallRead> => {
    const outcome = await readOne(id).catch(
      (thrown: unknown): CallOutcome => ({ kind: "failed", id, failure: failureOf(thrown), endsAll: true }),
    );
    const stops = isTrouble(outcome) || (outcome.kind === "failed" && outcome.endsAll);
    if (outcome.kind !== "found") return await unread(context, outcome, stops);
    const json = Buffer.from(context.screen.safe.verbatimJson(Buffer.from(outcome.bytes).toString()));
    const lines = () => callLines(json, { ...shown, vendorPrefix });
    return { kind: "found", json, head: readHead(json), lines };
  };
  await servePage(context, typed, async (viewer, onOpened) => {
    viewer.showCalls({
      from: `${project}, the local service`,
      ids: await service.callIds(project),
      atOnce: usualConcurrency,
      vendorPrefix,
      read,
      commandOf: (id) => commandLine(["rollcall", "call", "read", id, "--local"]),
    });
    onOpened();
  });
};

/** @throws Failure `options-contradict` for options of inputs */
const requireNothingOfFiles = ({ port: _port, noOpen: _noOpen, file: _file, ...others }: TypedView): void => {
  const other = Object.entries(others).find(([, value]) => value !== undefined && value !== false)?.[0];
  if (other === undefined) return;
  const way =
    "a page in a file shows trajectories: rollcall ledger calls --local | rollcall call read - --local --as trajectory | rollcall view - --html <file>";
  throw new Failure("options-contradict", {
    first: "--local without files",
    second: `--${other.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    why: "it is about files of rollouts",
    ...(others.html === undefined ? {} : { way }),
  });
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
