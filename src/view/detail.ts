/** Reads a group: its trajectories, their common messages, and the command that logs it. */
import { computeMoments, type Dataset, locateGroup, readGroupTrajectories } from "../groups/index.ts";
import { elementsOf, type JsonValue, memberAt, parseValue, readRoot, spanOf } from "../json/table.ts";
import { isObject } from "../json/walk.ts";
import { formatCommandLine } from "../shell-words.ts";
import type { GroupDetail, TrajectorySummary } from "./answers.ts";

export interface ViewInput {
  readonly dataset: Dataset;
  /** The arguments of the command that logs a group. */
  readonly inputOptions: {
    readonly files: readonly string[];
    readonly options: readonly string[];
    readonly where: string | undefined;
    readonly groupBy: string | undefined;
  };
  /** For each group of the local service. */
  readonly logged?: readonly LoggedGroup[] | undefined;
}

export interface LoggedGroup {
  readonly model: string;
  readonly split: string;
  /** Milliseconds since 1970. */
  readonly loggedAt: number;
  /** In the order of the trajectories. */
  readonly callIds: readonly string[];
}

type GroupContent = Pick<
  GroupDetail,
  "of" | "place" | "logged" | "valid" | "isReadable" | "members" | "common" | "command"
>;

/** @throws Failure `input-changed` */
export const readGroupDetail = async (shown: ViewInput, group: number): Promise<GroupContent> => {
  const { dataset, logged: all } = shown;
  const { groups, found } = dataset;
  const logged = all?.[group];
  const trajectories = (await readGroupTrajectories(dataset, group)).map((one) => ({
    ...one,
    root: readRoot(one.bytes),
  }));
  const values = trajectories.map(({ root }) => valuesOf(root));
  const rewards = values.flatMap(({ reward }) => reward ?? []);
  const { mean, deviation } = rewards.length === 0 ? { mean: 0, deviation: 0 } : computeMoments(rewards);
  return {
    of: groups.count,
    place: all === undefined ? locateGroup(dataset, group) : null,
    logged: logged === undefined ? null : { ...logged, at: new Date(logged.loggedAt).toISOString() },
    valid: groups.isValid(group),
    isReadable: found.parts.kindOf(groups.firstOf(group)) !== "unreadable",
    members: trajectories.map(({ bytes, place, root }, at): TrajectorySummary => {
      const { reward = null, metrics = {} } = values[at] ?? {};
      return {
        place: all === undefined ? place : null,
        call: logged?.callIds[at] ?? null,
        bytes: bytes.length,
        reward,
        advantage: reward === null || deviation === 0 ? null : (reward - mean) / deviation,
        metrics,
        messages: elementsOf(memberAt(root, "messages_and_choices")).length,
      };
    }),
    common: commonOf(trajectories),
    command: commandOf(shown, group),
  };
};

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

const valuesOf = (root: JsonValue | undefined): Pick<TrajectorySummary, "reward" | "metrics"> => {
  const [reward, metrics] = ["reward", "metrics"].map((key) => {
    const value = memberAt(root, key);
    return value === undefined ? undefined : parseValue(value);
  });
  const numbers = Object.entries(isObject(metrics) ? metrics : {}).flatMap(([name, value]) =>
    isNumber(value) ? [[name, value] as const] : [],
  );
  return { reward: isNumber(reward) ? reward : null, metrics: Object.fromEntries(numbers) };
};

/** Counts the first messages that have equal bytes in all trajectories. */
const commonOf = (all: readonly { readonly bytes: Buffer; readonly root: JsonValue | undefined }[]): number => {
  const messages = all.map(({ bytes, root }) =>
    elementsOf(memberAt(root, "messages_and_choices")).map((message) => {
      const { start, end } = spanOf(message);
      return bytes.subarray(start, end);
    }),
  );
  const [first = [], ...others] = messages;
  if (others.length === 0) return 0;
  const end = first.findIndex((one, at) => others.some((other) => other[at]?.equals(one) !== true));
  return end < 0 ? first.length : end;
};

/** Returns the command that logs a group alone; null for an invalid group and for standard input, read only once. */
const commandOf = ({ dataset, inputOptions, logged }: ViewInput, group: number): string | null => {
  if (logged !== undefined) {
    return formatCommandLine(["rollcall", "call", "read", ...(logged[group]?.callIds ?? []), "--local"]);
  }
  const { files, options, where } = inputOptions;
  if (files.includes("-") || !dataset.groups.isValid(group)) return null;
  const isIt = `group.number == ${(dataset.originalGroup?.(group) ?? group) + 1}`;
  const chosen = where === undefined ? isIt : `${isIt} && (${where})`;
  // The user replaces the model, and the split if the input has none.
  const split = dataset.split ?? "train";
  return formatCommandLine(["rollcall", "log", "my-model", "--split", split, ...options, "--where", chosen, ...files]);
};
