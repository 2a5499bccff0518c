/** How `log`, `check`, `convert`, `view` and `ledger` read their inputs, and what they say about them. */
import { judgementOf } from "../../check/index.ts";
import { contradiction, wrongValue } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { counted } from "../../counted.ts";
import type { Failure } from "../../failure.ts";
import { writeOut, writeWhole } from "../../files.ts";
import { formatNames, readRewards } from "../../formats/index.ts";
import { checkWhere, chooseOf, type Reading, type ReadOptions, readTrajectories } from "../../groups/index.ts";
import { type Fetched, modeOf } from "../../input/index.ts";
import { nearest } from "../../nearest.ts";
import type { Settings } from "../../settings/index.ts";
import type { Choosing, Foreign, Judging } from "./options.ts";

/** The inputs that were typed, and how they are read. Functions are called as reading goes on. */
interface InputsAsked
  extends Pick<ReadOptions, "groupBy">,
    Partial<
      Pick<
        ReadOptions,
        "goesOn" | "isOnlyLookedAt" | "judgement" | "meanwhile" | "onOpened" | "onProgress" | "splitNeeded"
      >
    > {
  readonly settings: Settings;
  readonly files: readonly string[];
  readonly typed: Choosing & Foreign & Partial<Judging>;
  readonly split: string | undefined;
  /** True if what becomes of every value of another tool's files is counted. */
  readonly receipt?: boolean;
  readonly onFetched?: (fetched: Fetched) => void;
}

const doNothing = (): void => undefined;

/**
 * Checks what was typed about inputs, before anything is read. Returns what then reads them.
 * @throws Failure `option-value-wrong`, `options-contradict`, `where-wrong`, `input-invalid`
 */
export const openInputs = async (
  { host, screen, flags }: Context,
  { settings, typed, receipt = false, onFetched = doNothing, ...asked }: InputsAsked,
): Promise<() => Promise<Reading>> => {
  const { where, best, sample, seed = "0", shard, strict = false, allow = [] } = typed;
  const judgement = asked.judgement ?? judgementOf({ strict, allow });
  const foreign = foreignMeant(typed, receipt);
  if (where !== undefined) await checkWhere(where);
  const isChosen = [where, best, sample, shard].some((value) => value !== undefined);
  const options = {
    splitNeeded: false,
    onOpened: doNothing,
    onProgress: doNothing,
    ...asked,
    host,
    judgement,
    foreign,
  };
  return async () => {
    const reading = await readTrajectories({
      ...options,
      isOnlyLookedAt: !isChosen && asked.isOnlyLookedAt === true,
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
    sayRepeated(screen, reading);
    if (!isChosen) return reading;
    const chosen = await chooseOf(reading, { ...options, choosing: { where, best, sample, seed, shard } }).catch(
      async (thrown: unknown) => {
        await reading.close();
        throw thrown;
      },
    );
    sayLeftOut(screen, chosen);
    return chosen;
  };
};

/** Reads inputs. @throws Failure as `openInputs`, and what reading ends with */
export const readInputs = async (context: Context, asked: InputsAsked): Promise<Reading> =>
  await (await openInputs(context, asked))();

const foreignMeant = (typed: Foreign, receipt: boolean): ReadOptions["foreign"] => {
  const { from = "auto", rewardFrom, rewards, lossy, histories } = typed;
  const names = ["auto", "rollcall", ...formatNames];
  if (!names.includes(from)) throw wrongValue("--from", from, names.join(", "), nearest(from, names));
  if (rewardFrom !== undefined && rewards !== undefined)
    throw contradiction("--reward-from", "--rewards", "a trajectory has one reward");
  return {
    from,
    receipt,
    rewardFrom: rewardFrom?.split(".").map((step) => (/^\d+$/.test(step) ? Number(step) : step)),
    rewards: rewards === undefined ? undefined : readRewards(rewards),
    lossy,
    histories,
  };
};

/** Names that a notice has at most. */
const maxNames = 3;

const firstNames = (names: readonly string[], more: string): string =>
  `${names.slice(0, maxNames).join(", ")}${names.length > maxNames ? ` and ${names.length - maxNames} more${more}` : ""}`;

const sayRepeated = (screen: Context["screen"], { repeated = [] }: Pick<Reading, "repeated">): void => {
  if (repeated.length === 0) return;
  const files = counted(repeated.length, "file is", "files are");
  screen.notice(`${files} named more than once, and read once: ${firstNames(repeated, "")}`);
};

const sayLeftOut = (screen: Context["screen"], { leftOut = {} }: Pick<Reading, "leftOut">): void => {
  for (const [by, { trajectories, groups }] of Object.entries(leftOut)) {
    if (trajectories + groups === 0) continue;
    const whole = groups === 0 ? "" : `, ${counted(groups, "group")} as a whole`;
    screen.notice(`--${by} left out ${counted(trajectories, "trajectory", "trajectories")}${whole}`);
  }
};

/** Says which format was recognized, what people should know about its conversion, and which files have no rollouts. */
export const sayConversion = (
  { screen }: Context,
  { conversion, others = [] }: Pick<Reading, "conversion" | "others">,
): void => {
  if (conversion !== undefined) {
    const { format, files, notes } = conversion;
    const { group, reward, sampled } = format.keys;
    const what = files === 1 ? "the input is" : `${files} files are`;
    screen.notice(
      `${what} read as ${format.title} (--from ${format.name}): group from ${group}, reward from ${reward}, sampled: ${sampled}`,
    );
    for (const [text, count] of notes) screen.notice(count === 1 ? text : `${text} (${count} times)`);
  }
  if (others.length > 0) screen.notice(`left out, since no rollouts are in them: ${firstNames(others, " files")}`);
};

/** The progress of a read, in percent. */
export const percentText = (label: string, { bytes, of }: { readonly bytes: number; readonly of: number }): string =>
  `${label}, ${of === 0 ? 100 : Math.floor((bytes / of) * 100)}%`;

/** The progress of an input at an address, for a person. */
export const fetchedText = ({ bytes, of }: Fetched): string =>
  of === undefined
    ? `fetching, ${Math.floor(bytes / 1e6)} MB`
    : percentText("fetching", { bytes, of: Math.max(1, of) });

/** Writes the receipt of a conversion: counts, then each record on its own line. @throws Failure `out-unwritable` */
export const writeReceipt = (
  { screen }: Context,
  file: string,
  { conversion, sources }: Pick<Reading, "conversion" | "sources">,
): void => writeOut(file, () => writeWhole(file, receiptPieces(conversion, screen.safe.verbatimJson), modeOf(sources)));

function* receiptPieces(conversion: Reading["conversion"], redact: (json: string) => string): Generator<string, void> {
  if (conversion?.receipt === undefined) return yield "null\n";
  const counts = redact(JSON.stringify(conversion.receipt.data(conversion.format), null, 2));
  yield `${counts.slice(0, -"\n}".length)},\n  "records": [`;
  let between = "";
  for (const record of conversion.receipt.records()) {
    yield `${between}\n    ${redact(JSON.stringify(record))}`;
    between = ",";
  }
  yield "\n  ]\n}\n";
}
