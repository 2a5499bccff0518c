/** `log --follow`: its options, and what it says while it goes on. */
import type { Command } from "commander";
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import type { Meter, MeterForm, Screen } from "../../output/index.ts";
import type { FollowEvent, FollowOptions } from "../../trajectories/index.ts";

/** The options as typed. */
export interface TypedFollow {
  readonly follow?: boolean;
  readonly every?: string;
  readonly groupSize?: string;
  readonly groupIdle?: string;
}

/** What to follow, and when what was read of it is sent. */
export type FollowChoice = Pick<FollowOptions, "file" | "everyMs" | "groupSize" | "groupIdleMs">;

const everyDefault = "30s";
const idleDefault = "5m";

/** Declares the options. */
export const followOptions = (command: Command): Command =>
  command
    .optionsGroup("follow")
    .option("--follow", "go on with a file that a run still writes, until Ctrl-C")
    .option("--every <duration>", `the longest that a complete group waits (${everyDefault})`)
    .option("--group-size <n>", "trajectories of a complete group")
    .option("--group-idle <duration>", `without a new one it is complete too (${idleDefault})`);

/** What the options mean; undefined where nothing is followed. @throws Failure `option-value-wrong`, `options-contradict`, `option-needs` */
export const followChoice = async (
  context: Context,
  typed: TypedFollow & { readonly dryRun?: boolean; readonly oneRequest?: boolean },
  files: readonly string[],
): Promise<FollowChoice | undefined> => {
  if (typed.follow !== true) {
    for (const option of ["every", "groupSize", "groupIdle"] as const) {
      if (typed[option] !== undefined)
        throw new Failure("option-needs", { option: spelled[option], needs: "--follow" });
    }
    return undefined;
  }
  const contradict = (second: string, why: string) =>
    new Failure("options-contradict", { first: "--follow", second, why });
  if (typed.dryRun === true) throw contradict("--dry-run", "what is not sent can't be gone on with");
  if (typed.oneRequest === true) throw contradict("--one-request", "a file that is still written takes many requests");
  const [file, ...others] = files;
  if (file === undefined || file === "-" || others.length > 0) {
    const found = others.length > 0 ? "several files" : "standard input";
    throw contradict(found, "it goes on with one file, which it can read again");
  }
  return {
    file,
    everyMs: await durationOf(context, "--every", typed.every ?? everyDefault),
    groupSize: sizeOf(typed.groupSize),
    groupIdleMs: await durationOf(context, "--group-idle", typed.groupIdle ?? idleDefault),
  };
};

const spelled = { every: "--every", groupSize: "--group-size", groupIdle: "--group-idle" } as const;

const durationOf = async ({ settingsRoom }: Context, option: string, value: string): Promise<number> => {
  const { parseDuration } = await settingsRoom();
  const parsed = parseDuration(value);
  if (parsed.ok) return parsed.value;
  const { wanted, suggestion } = parsed;
  throw new Failure("option-value-wrong", {
    option,
    value,
    wanted,
    ...(suggestion === undefined ? {} : { suggestion }),
  });
};

/** More trajectories than this are no group of one scenario. */
const mostTrajectories = 1_000_000;

const sizeOf = (value: string | undefined): number | undefined => {
  if (value === undefined) return undefined;
  const size = /^\d{1,7}$/.test(value) ? Number(value) : 0;
  if (size >= 1 && size <= mostTrajectories) return size;
  throw new Failure("option-value-wrong", { option: "--group-size", value, wanted: "a number from 1 to 1000000" });
};

/** Says what becomes of a file: where progress is in lines or events, as one of them. */
export const tellEvent = (
  screen: Screen,
  meter: Meter,
  {
    event,
    file,
    progress,
  }: { readonly event: FollowEvent; readonly file: string; readonly progress?: MeterForm | undefined },
): void => {
  const text = sayings[event](file);
  if (progress === "lines" || progress === "json") meter.tell({ event: `file_${event}`, text, facts: { file } });
  else screen.notice(text);
};

const sayings: Readonly<Record<FollowEvent, (file: string) => string>> = {
  waiting: (file) => `${file} is not there yet: waiting for it`,
  moved: (file) =>
    `another file is called ${file} now: the old one was read to its end, and the new one is gone on with`,
  rewritten: (file) =>
    `${file} was written anew: all that was read of it was sent before, and it is read from its start`,
};
