/** Counts what becomes of another tool's values: how many of each file and path were carried, changed or left out. */
import type { Format, Rollout } from "./format.ts";
import { childrenOf, type OutputJson, sourcesOf } from "./output-json.ts";
import { Value } from "./value.ts";

/** Values of a file with the same path, without positions (`completion[].content`), and the same reason or target. */
type ValueCount<Outcome extends string> = Readonly<Record<"file" | "path" | Outcome, string>> & { count: number };

/** The group of a record, or of a part of one. */
export interface RecordMapping {
  readonly file: string;
  readonly line: number;
  /** Its number among all groups, from 1. */
  readonly group: number;
  /** Its number among the trajectories of its group, from 1; null if it is not a trajectory. */
  readonly trajectory: number | null;
}

/** The counts of a run. Leaves are scalars, and empty arrays and objects. */
export interface ReceiptData {
  readonly format: string;
  readonly leaves: { readonly read: number; readonly placed: number; readonly left_out: number };
  readonly left_out: readonly ValueCount<"reason">[];
  /** Values that are written in another way, or by another value. */
  readonly changed: readonly ValueCount<"to">[];
  /** Values that are written with their bytes. */
  readonly carried: readonly ValueCount<"to">[];
}

/** The path of a converted value in a trajectory, an exception or a group. */
interface Target {
  readonly to: string;
  readonly isChanged: boolean;
}

interface InheritedState {
  readonly path: string;
  readonly target?: Target | undefined;
  readonly reason?: string | undefined;
}

interface ConvertedRecord {
  readonly format: Format;
  readonly file: string;
  readonly value: Value;
  /** Undefined if it could not be converted. */
  readonly rollouts: readonly Rollout[] | undefined;
}

const unconverted = "the record could not be converted";

export type Receipt = ReturnType<typeof openReceipt>;

export const openReceipt = (records: () => Iterable<RecordMapping>) => {
  const formats = new Set<string>();
  const left = new Map<string, ValueCount<"reason">>();
  const changed = new Map<string, ValueCount<"to">>();
  const carried = new Map<string, ValueCount<"to">>();
  /** Reasons for parts of the next record, by the ids of values. */
  const reasons = new Map<number, string>();
  /** Counted documents next to records, because several records can share one. */
  const documents = new Set<string>();
  /** Targets of the values of the next record, by their ids. */
  const targets = new Map<number, Target>();
  const leaveOut = ({ id }: Value, reason: string): void => {
    if (!reasons.has(id)) reasons.set(id, reason);
  };
  return {
    records,
    /** Sets the reason for a part of the next record. */
    leaveOut,
    /** Sets the target of a value of the next record that is written by another value. */
    repeat: (value: Value, to: string): void => addTarget(targets, value, { to, isChanged: true }),
    addRecord({ format, file, value, rollouts }: ConvertedRecord): void {
      formats.add(format.name);
      for (const { trajectory, exception, members = [], error, part = value } of rollouts ?? []) {
        if (error !== undefined) leaveOut(part, unconverted);
        if (exception !== undefined) leaveOut(part, "a failed rollout becomes only an exception");
        addTargets(targets, trajectory, "trajectory");
        addTargets(targets, exception, "exception");
        for (const [key, json] of members) addTargets(targets, json, `group.${key}`);
      }
      const reasonAt = (path: string): string => {
        if (rollouts === undefined) return unconverted;
        return rollouts.length === 0 ? "the record is not a rollout" : findReason(format, path);
      };
      const countAll = (file: string, own: Value, inherited: InheritedState): void => {
        const { path } = inherited;
        const target = targets.get(own.id) ?? inherited.target;
        const reason = reasons.get(own.id) ?? inherited.reason;
        const inside = [...own.items().map((item) => ["[]", item] as const), ...own.members()];
        for (const [step, one] of inside) {
          const below = target && !target.isChanged ? { ...target, to: joinPath(target.to, step) } : target;
          countAll(file, one, { path: joinPath(path, step), target: below, reason });
        }
        if (inside.length > 0) return;
        // The values in a string with parsed JSON count, unless the string itself has a target.
        const inner = target === undefined ? own.cachedEmbeddedJson : undefined;
        if (inner !== undefined) countAll(file, inner, { ...inherited, reason });
        else if (target !== undefined) increment(target.isChanged ? changed : carried, { file, path, to: target.to });
        else increment(left, { file, path, reason: reason ?? (own.isNull ? "the value is null" : reasonAt(path)) });
      };
      countAll(file, value, { path: "" });
      for (const document of rollouts?.flatMap((rollout) => rollout.documents ?? []) ?? []) {
        const name = document.document ?? "";
        if (!documents.has(name)) countAll(name, document, { path: "" });
        documents.add(name);
      }
      reasons.clear();
      targets.clear();
    },
    /** Returns the counts, sorted from the largest. */
    data(): ReceiptData {
      const lists = { left_out: sortCounts(left), changed: sortCounts(changed), carried: sortCounts(carried) };
      const placed = sumCounts(lists.changed) + sumCounts(lists.carried);
      const left_out = sumCounts(lists.left_out);
      return { format: [...formats].join(", "), leaves: { read: placed + left_out, placed, left_out }, ...lists };
    },
  };
};

const sortCounts = <Count extends { readonly count: number }>(counts: ReadonlyMap<string, Count>): readonly Count[] =>
  [...counts.values()].sort((a, b) => b.count - a.count);

const sumCounts = (counts: readonly { readonly count: number }[]): number =>
  counts.reduce((sum, { count }) => sum + count, 0);

const increment = <Key extends Readonly<Record<string, string>>>(
  counts: Map<string, Key & { count: number }>,
  key: Key,
): void => {
  const name = Object.values(key).join(" ");
  const known = counts.get(name);
  if (known === undefined) counts.set(name, { ...key, count: 1 });
  else known.count++;
};

/** Appends to a path without positions: `completion[].content`. */
const joinPath = (path: string, step: string): string =>
  path === "" || step === "[]" ? `${path}${step}` : `${path}.${step}`;

const addTargets = (targets: Map<number, Target>, json: OutputJson | undefined, to: string): void => {
  if (json === undefined) return;
  if (json instanceof Value) addTarget(targets, json, { to, isChanged: false });
  for (const value of sourcesOf(json)) addTarget(targets, value, { to, isChanged: true });
  for (const [key, child] of childrenOf(json)) {
    addTargets(targets, child, typeof key === "number" ? `${to}[]` : `${to}.${key}`);
  }
};

/** The first target of a value counts. */
const addTarget = (targets: Map<number, Target>, { id }: Value, target: Target): void => {
  if (!targets.has(id)) targets.set(id, target);
};

/** Returns the reason of the longest path that includes a value. */
const findReason = ({ leftOutReasons = [], rolloutList }: Format, path: string): string => {
  const inside = rolloutList !== undefined && path.startsWith(rolloutList) ? path.slice(rolloutList.length + 1) : path;
  let found = { reason: "the interface has no field for it", length: 0 };
  for (const [reason, paths] of leftOutReasons) {
    for (const own of paths.split(" ")) {
      const includes = inside.startsWith(own) && ["", ".", "["].includes(inside.charAt(own.length));
      if (includes && own.length > found.length) found = { reason, length: own.length };
    }
  }
  return found.reason;
};
