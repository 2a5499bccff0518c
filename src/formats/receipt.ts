/** Counts what becomes of another tool's values: how many of each file and path were carried, changed or left out. */
import type { Built } from "./built.ts";
import type { Format, Rollout } from "./format.ts";
import { reasonFor } from "./reasons.ts";
import { Value } from "./value.ts";

/** Values of a file with the same path, except positions (`completion[].content`). */
interface ValueCount {
  readonly file: string;
  readonly path: string;
  count: number;
}

interface LeftOutValues extends ValueCount {
  readonly reason: string;
}

interface PlacedValues extends ValueCount {
  /** Their path in a trajectory, an exception or a group. */
  readonly to: string;
}

/** A record, or a part of one, and what it became. */
export interface RecordMade {
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
  readonly left_out: readonly LeftOutValues[];
  /** Values that are said in another way, or by another value. */
  readonly changed: readonly PlacedValues[];
  /** Values as they were written. */
  readonly carried: readonly PlacedValues[];
}

/** The place of a value in what was made. */
interface Place {
  readonly to: string;
  readonly isChanged: boolean;
}

/** What a value inherits from what contains it. */
interface Inherited {
  readonly path: string;
  readonly place: Place | undefined;
  readonly reason: string | undefined;
}

const unconverted = "the record could not be converted";
const saysNothing = "null says nothing";
const atRoot: Inherited = { path: "", place: undefined, reason: undefined };

/** Counts record by record. */
export class Receipt {
  /** Says what each record became. */
  records: () => Iterable<RecordMade> = () => [];
  readonly #left = new Map<string, LeftOutValues>();
  readonly #changed = new Map<string, PlacedValues>();
  readonly #carried = new Map<string, PlacedValues>();
  readonly #counts = { read: 0, placed: 0, left_out: 0 };
  /** Why parts of the next record have no place, by the ids of values. */
  readonly #reasons = new Map<number, string>();
  /** Documents next to records that were counted: several records can be made of one. */
  readonly #documents = new Set<string>();

  /** Is told why a part of the next record has no place. */
  leave({ id }: Value, why: string): void {
    if (!this.#reasons.has(id)) this.#reasons.set(id, why);
  }

  /** Counts a record and what became of it; nothing if it could not be converted. */
  take(
    format: Format,
    record: { readonly file: string; readonly value: Value; readonly rollouts: readonly Rollout[] | undefined },
  ): void {
    const { rollouts } = record;
    const places = new Map<number, Place>();
    for (const { trajectory, exception, members = [], also, unfit, of = record.value } of rollouts ?? []) {
      for (const [own, to] of also?.() ?? []) addPlace(places, own, { to, isChanged: true });
      if (unfit !== undefined) this.leave(of, unconverted);
      addPlaces(places, trajectory, "trajectory");
      addPlaces(places, exception, "exception");
      for (const [key, built] of members) addPlaces(places, built, `group.${key}`);
    }
    const reasonAt = (path: string): string => {
      if (rollouts === undefined) return unconverted;
      return rollouts.length === 0 ? "the record is no rollout by itself" : reasonFor(format.left, path);
    };
    const count = (file: string, value: Value, inherited: Inherited): void => {
      const { path } = inherited;
      const place = places.get(value.id) ?? inherited.place;
      const reason = this.#reasons.get(value.id) ?? inherited.reason;
      const [items, members] = [value.items(), value.members()];
      const countBelow = (step: string, own: Value): void => {
        const carried = place && !place.isChanged ? { ...place, to: joined(place.to, step) } : place;
        count(file, own, { path: joined(path, step), place: carried, reason });
      };
      for (const item of items) countBelow("[]", item);
      for (const [key, member] of members) countBelow(key, member);
      if (items.length > 0 || members.length > 0) return;
      // A text whose JSON was read, and that has no place as a whole, counts as the values in it.
      const inner = place === undefined ? value.innerSeen : undefined;
      if (inner !== undefined) count(file, inner, { ...inherited, reason });
      else if (place !== undefined) this.#countPlaced(file, path, place);
      else this.#countLeft({ file, path, reason: reason ?? (value.isNull ? saysNothing : reasonAt(path)) });
    };
    count(record.file, record.value, atRoot);
    for (const document of rollouts?.flatMap((rollout) => rollout.with ?? []) ?? []) {
      const name = document.document ?? "";
      if (!this.#documents.has(name)) count(name, document, atRoot);
      this.#documents.add(name);
    }
    this.#reasons.clear();
  }

  /** The counts, the largest first. */
  data(format: Format): ReceiptData {
    const sorted = <One extends ValueCount>(counts: ReadonlyMap<string, One>): readonly One[] =>
      [...counts.values()].sort((a, b) => b.count - a.count);
    return {
      format: format.name,
      leaves: { ...this.#counts },
      left_out: sorted(this.#left),
      changed: sorted(this.#changed),
      carried: sorted(this.#carried),
    };
  }

  #countLeft({ file, path, reason }: Omit<LeftOutValues, "count">): void {
    this.#counts.read++;
    this.#counts.left_out++;
    countIn(this.#left, `${file} ${path} ${reason}`, () => ({ file, path, reason, count: 0 }));
  }

  #countPlaced(file: string, path: string, { to, isChanged }: Place): void {
    this.#counts.read++;
    this.#counts.placed++;
    countIn(isChanged ? this.#changed : this.#carried, `${file} ${path} ${to}`, () => ({ file, path, to, count: 0 }));
  }
}

const countIn = <One extends ValueCount>(into: Map<string, One>, key: string, make: () => One): void => {
  const one = into.get(key) ?? make();
  into.set(key, one);
  one.count++;
};

/** A path without its positions: `completion[].content`. */
const joined = (path: string, step: string): string =>
  path === "" || step === "[]" ? `${path}${step}` : `${path}.${step}`;

/** Adds the places of the values of what was built. */
const addPlaces = (places: Map<number, Place>, built: Built | undefined, to: string): void => {
  if (built === undefined) return;
  if (built instanceof Value) addPlace(places, built, { to, isChanged: false });
  else if (built.kind === "said") for (const value of built.of) addPlace(places, value, { to, isChanged: true });
  else {
    for (const [at, member] of built.values.entries()) {
      addPlaces(places, member, built.kind === "list" ? `${to}[]` : `${to}.${built.keys[at]}`);
    }
  }
};

/** If a value has several places, the first counts. */
const addPlace = (places: Map<number, Place>, { id }: Value, place: Place): void => {
  if (!places.has(id)) places.set(id, place);
};
