/** Counts what becomes of another tool's values: how many of each file and path were carried, changed or left out. */

import type { Format, LeftOutReasons, Rollout } from "./format.ts";
import type { OutputJson } from "./output-json.ts";
import { Value } from "./value.ts";

/** Values of a file with the same path, except positions (`completion[].content`), and the same reason or place. */
type ValueCount<Said extends string> = Readonly<Record<"file" | "path" | Said, string>> & { count: number };

/** A record, or a part of one, and what it became. */
export interface RecordMapping {
  readonly file: string;
  readonly line: number;
  /** The number of its group among all groups, from 1. */
  readonly group: number;
  /** Its number among the trajectories of its group, from 1; null of an exception, and of what is broken. */
  readonly trajectory: number | null;
}

/** The counts of a run. Leaves are scalars, and empty arrays and objects. */
export interface ReceiptData {
  readonly format: string;
  readonly leaves: { readonly read: number; readonly placed: number; readonly left_out: number };
  readonly left_out: readonly ValueCount<"reason">[];
  /** Values that are said in another way, or by another value; then values as they were written. */
  readonly changed: readonly ValueCount<"to">[];
  readonly carried: readonly ValueCount<"to">[];
}

interface Target {
  /** Its path in a trajectory, an exception or a group. */
  readonly to: string;
  readonly isChanged: boolean;
}

/** What a value inherits from what contains it. */
interface InheritedTarget {
  readonly path: string;
  readonly place: Target | undefined;
  readonly reason: string | undefined;
}

/** A record, and what became of it; nothing if it could not be converted. */
interface ConvertedRecord {
  readonly file: string;
  readonly value: Value;
  readonly rollouts: readonly Rollout[] | undefined;
}

const unconvertedReason = "the record could not be converted";
const atRoot: InheritedTarget = { path: "", place: undefined, reason: undefined };

export type Receipt = ReturnType<typeof openReceipt>;

/** Opens the receipt of a format. @param records what each record became */
export const openReceipt = (format: Format, records: () => Iterable<RecordMapping>) => {
  const left = new Map<string, ValueCount<"reason">>();
  const changed = new Map<string, ValueCount<"to">>();
  const carried = new Map<string, ValueCount<"to">>();
  /** Why parts of the next record have no place, by the ids of values. */
  const reasons = new Map<number, string>();
  /** Documents next to records that were counted: several records can be made of one. */
  const documents = new Set<string>();
  const leave = ({ id }: Value, why: string): void => {
    if (!reasons.has(id)) reasons.set(id, why);
  };
  const sumOf = (...all: readonly ReadonlyMap<string, { readonly count: number }>[]): number =>
    all.flatMap((one) => [...one.values()]).reduce((sum, { count }) => sum + count, 0);
  return {
    records,
    /** Is told why a part of the next record has no place. */
    leave,
    addRecord({ file, value, rollouts }: ConvertedRecord): void {
      const places = new Map<number, Target>();
      for (const {
        trajectory,
        exception,
        members = [],
        repeatedValues: also,
        error: unfit,
        part: of = value,
      } of rollouts ?? []) {
        for (const [own, to] of also?.() ?? []) addTarget(places, own, { to, isChanged: true });
        if (unfit !== undefined) leave(of, unconvertedReason);
        addTargets(places, trajectory, "trajectory");
        addTargets(places, exception, "exception");
        for (const [key, built] of members) addTargets(places, built, `group.${key}`);
      }
      const reasonAt = (path: string): string => {
        if (rollouts === undefined) return unconvertedReason;
        return rollouts.length === 0 ? "the record is no rollout by itself" : findReason(format.left, path);
      };
      const countAll = (file: string, own: Value, inherited: InheritedTarget): void => {
        const { path } = inherited;
        const place = places.get(own.id) ?? inherited.place;
        const reason = reasons.get(own.id) ?? inherited.reason;
        const inside = [...own.items().map((item) => ["[]", item] as const), ...own.members()];
        for (const [step, one] of inside) {
          const below = place && !place.isChanged ? { ...place, to: joinPath(place.to, step) } : place;
          countAll(file, one, { path: joinPath(path, step), place: below, reason });
        }
        if (inside.length > 0) return;
        // A text whose JSON was read, and that has no place as a whole, counts as the values in it.
        const inner = place === undefined ? own.cachedEmbeddedJson : undefined;
        if (inner !== undefined) countAll(file, inner, { ...inherited, reason });
        else if (place !== undefined) increment(place.isChanged ? changed : carried, { file, path, to: place.to });
        else increment(left, { file, path, reason: reason ?? (own.isNull ? "null says nothing" : reasonAt(path)) });
      };
      countAll(file, value, atRoot);
      for (const document of rollouts?.flatMap((rollout) => rollout.documents ?? []) ?? []) {
        const name = document.document ?? "";
        if (!documents.has(name)) countAll(name, document, atRoot);
        documents.add(name);
      }
      reasons.clear();
    },
    /** The counts, the largest first. */
    data(): ReceiptData {
      const sorted = <One extends { readonly count: number }>(counts: ReadonlyMap<string, One>): readonly One[] =>
        [...counts.values()].sort((a, b) => b.count - a.count);
      const leaves = { read: sumOf(left, changed, carried), placed: sumOf(changed, carried), left_out: sumOf(left) };
      const lists = { left_out: sorted(left), changed: sorted(changed), carried: sorted(carried) };
      return { format: format.name, leaves, ...lists };
    },
  };
};

const increment = <Of extends Readonly<Record<string, string>>>(
  into: Map<string, Of & { count: number }>,
  of: Of,
): void => {
  const key = Object.values(of).join(" ");
  const known = into.get(key);
  if (known === undefined) into.set(key, { ...of, count: 1 });
  else known.count++;
};

/** A path without its positions: `completion[].content`. */
const joinPath = (path: string, step: string): string =>
  path === "" || step === "[]" ? `${path}${step}` : `${path}.${step}`;

/** Adds the places of the values of what was built. */
const addTargets = (places: Map<number, Target>, built: OutputJson | undefined, to: string): void => {
  if (built === undefined) return;
  if (built instanceof Value) addTarget(places, built, { to, isChanged: false });
  else if (built.kind === "said") for (const value of built.sources) addTarget(places, value, { to, isChanged: true });
  else {
    for (const [at, member] of built.values.entries()) {
      addTargets(places, member, built.kind === "list" ? `${to}[]` : `${to}.${built.keys[at]}`);
    }
  }
};

/** If a value has several places, the first counts. */
const addTarget = (places: Map<number, Target>, { id }: Value, place: Target): void => {
  if (!places.has(id)) places.set(id, place);
};

/** The reason for a value: that of the longest path that includes it. */
const findReason = (reasons: LeftOutReasons = [], path: string): string => {
  let found = { reason: "the interface has no place for it", length: 0 };
  for (const [reason, paths] of reasons) {
    for (const own of paths.split(" ")) {
      const includes = path.startsWith(own) && ["", ".", "["].includes(path.charAt(own.length));
      if (includes && own.length > found.length) found = { reason, length: own.length };
    }
  }
  return found.reason;
};
