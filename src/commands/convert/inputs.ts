/** How `log`, `check`, `convert`, `view` and `ledger` read their inputs: files and addresses, and what is chosen of them. */

import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import type { Failure } from "../../failure.ts";
import { type Choosing, chooseOf, type Reading, type ReadOptions, readTrajectories } from "../../groups/index.ts";
import type { Fetched } from "../../input/index.ts";
import type { Settings } from "../../settings/index.ts";

/** What is read, and how; who is told how far that is. */
interface InputsAsked
  extends Omit<ReadOptions, "host" | "maxUnpackedBytes" | "onOpened" | "onProgress" | "remote" | "splitNeeded">,
    Partial<Pick<ReadOptions, "onOpened" | "onProgress" | "splitNeeded">> {
  readonly settings: Settings;
  /** What of the inputs is wanted; undefined where all is. */
  readonly choosing: Choosing | undefined;
  readonly onFetched?: (fetched: Fetched) => void;
}

const tellNobody = (): void => undefined;

/** Reads inputs, and says what a choice left out. @throws Failure as `readTrajectories` and `chooseOf` */
export const readInputs = async (
  context: Context,
  { settings, choosing, onFetched = tellNobody, ...asked }: InputsAsked,
): Promise<Reading> => {
  const { host, screen, flags } = context;
  const options = { splitNeeded: false, onOpened: tellNobody, onProgress: tellNobody, ...asked, host };
  const reading = await readTrajectories({
    ...options,
    maxUnpackedBytes: settings.require("max_unpacked_size"),
    remote: {
      host,
      timeoutMs: settings.get("timeout"),
      maxWaitMs: settings.require("max_wait"),
      waitsForHost: settings.source("max_wait") === "command line",
      insecureHttp: settings.get("insecure_http") === true,
      hide: screen.hide,
      onAgain: (why: Failure, maxWaitMs: number) => void screen.again(why, maxWaitMs),
      trace: flags.debug ? screen.trace : undefined,
      onFetched,
    },
  });
  tellRepeated(context, reading);
  return choosing === undefined ? reading : await chosen(context, reading, { ...options, choosing });
};

/** Names of files that are said to be named more than once. */
const mostRepeated = 3;

const tellRepeated = ({ screen }: Context, { repeated = [] }: Pick<Reading, "repeated">): void => {
  if (repeated.length === 0) return;
  const more = repeated.length > mostRepeated ? ` and ${repeated.length - mostRepeated} more` : "";
  const names = repeated.slice(0, mostRepeated).join(", ");
  screen.notice(
    `${counted(repeated.length, "file is", "files are")} named more than once, and read once: ${names}${more}`,
  );
};

const chosen = async (
  { screen, host }: Context,
  reading: Reading,
  { choosing, splitNeeded, judgement, onProgress }: Parameters<typeof chooseOf>[1],
): Promise<Reading> => {
  const options = { host, choosing, splitNeeded, judgement, onProgress };
  const left = await chooseOf(reading, options).catch(async (thrown: unknown) => {
    await reading.close();
    throw thrown;
  });
  for (const [by, { trajectories, groups }] of Object.entries(left.leftOut ?? {})) {
    if (trajectories + groups === 0) continue;
    const whole = groups === 0 ? "" : `, ${counted(groups, "group")} as a whole`;
    screen.notice(`--${by} left out ${counted(trajectories, "trajectory", "trajectories")}${whole}`);
  }
  return left;
};
