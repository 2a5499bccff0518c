/** What became of another tool's values: how many of each file and path were carried, changed or left out; and of its records. */
import type { Built } from "./built.ts";
import type { Format, Rollout } from "./format.ts";
import { Value } from "./value.ts";

/** Values of a file with the same path, but for positions (`completion[].content`). */
interface Counted {
  readonly file: string;
  readonly path: string;
  count: number;
}

/** Values that have no place. */
interface LeftOut extends Counted {
  readonly reason: string;
}

/** Values that have a place, and where that is in a trajectory or exception. */
interface Placed extends Counted {
  readonly to: string;
}

/** A record, or a part of one, and what it became. */
export interface RecordMade {
  readonly file: string;
  readonly line: number;
  /** The number of its group among all that were made, from 1. */
  readonly group: number;
  /** Its number among the trajectories of its group, from 1; null of an exception, and of what could not be converted. */
  readonly trajectory: number | null;
}

/** The counts of a run; leaves are scalars, and empty lists and objects. */
export interface ReceiptData {
  readonly format: string;
  readonly leaves: { readonly read: number; readonly placed: number; readonly left_out: number };
  readonly left_out: readonly LeftOut[];
  /** Values that are said in another way, or by another value. */
  readonly changed: readonly Placed[];
  /** Values as they were written. */
  readonly carried: readonly Placed[];
}

/** Where a value stands in what was made, and whether it is said otherwise there. */
interface Place {
  readonly to: string;
  readonly isChanged: boolean;
}

/** What is known of a value: what it inherits from what holds it. */
interface Known {
  readonly path: string;
  readonly place: Place | undefined;
  readonly reason: string | undefined;
}

/** How the values of a record are counted. */
interface Counting {
  readonly file: string;
  readonly places: ReadonlyMap<Value, Place>;
  /** Why a value at a path has no place that nothing else is said of. */
  readonly reasonAt: (path: string) => string;
}

/** Counts what becomes of values, record by record. */
export class Receipt {
  /** Says which record became which group. */
  records: () => Iterable<RecordMade> = () => [];
  readonly #left = new Map<string, LeftOut>();
  readonly #changed = new Map<string, Placed>();
  readonly #carried = new Map<string, Placed>();
  readonly #counts = { read: 0, placed: 0, left_out: 0 };
  /** Why parts of the record that is taken next have no place. */
  readonly #reasons = new Map<Value, string>();
  /** Documents beside records that were counted: several records may be made of one. */
  readonly #documents = new Set<string>();

  /** Says why a part of the record that is taken next has no place. */
  leave(value: Value, why: string): void {
    if (!this.#reasons.has(value)) this.#reasons.set(value, why);
  }

  /** Takes a record and what became of it. */
  take(
    format: Format,
    { file, value, rollouts }: { readonly file: string; readonly value: Value; readonly rollouts: readonly Rollout[] },
  ): void {
    const places = new Map<Value, Place>();
    for (const { trajectory, exception, members = [], also, unfit, of = value } of rollouts) {
      for (const [own, to] of also?.() ?? []) addPlace(places, own, { to, isChanged: true });
      if (unfit !== undefined) this.leave(of, unconverted);
      if (trajectory !== undefined) addPlaces(places, trajectory, "trajectory");
      if (exception !== undefined) addPlaces(places, exception, "exception");
      for (const [key, built] of members) addPlaces(places, built, `group.${key}`);
    }
    const reasonAt = (path: string) =>
      rollouts.length === 0 ? "the record is no rollout by itself" : reasonIn(format, path);
    this.#count(value, { file, places, reasonAt });
    for (const document of rollouts.flatMap((rollout) => rollout.with ?? [])) {
      const label = document.document ?? "";
      if (this.#documents.has(label)) continue;
      this.#documents.add(label);
      this.#count(document, { file: label, places, reasonAt });
    }
    this.#reasons.clear();
  }

  /** Takes a record that could not be converted. */
  takeBroken({ file, value }: { readonly file: string; readonly value: Value }): void {
    this.#count(value, { file, places: new Map(), reasonAt: () => unconverted });
    this.#reasons.clear();
  }

  /** The counts of all of them, the largest first. */
  data(format: Format): ReceiptData {
    const sorted = <One extends Counted>(counts: ReadonlyMap<string, One>): readonly One[] =>
      [...counts.values()].sort((a, b) => b.count - a.count);
    return {
      format: format.name,
      leaves: { ...this.#counts },
      left_out: sorted(this.#left),
      changed: sorted(this.#changed),
      carried: sorted(this.#carried),
    };
  }

  #count(value: Value, counting: Counting, known: Known = atRoot): void {
    const place = counting.places.get(value) ?? known.place;
    const reason = this.#reasons.get(value) ?? known.reason;
    const below = (step: string): Known => ({
      path: joined(known.path, step),
      place: place === undefined || place.isChanged ? place : { ...place, to: joined(place.to, step) },
      reason,
    });
    if (value.isList && value.items().length > 0) {
      const inside = below("[]");
      for (const item of value.items()) this.#count(item, counting, inside);
      return;
    }
    const members = value.members();
    for (const [key, member] of members) this.#count(member, counting, below(key));
    if (members.length > 0) return;
    // A text whose JSON was looked at, and that has no place as a whole, counts as the values in it.
    if (value.innerSeen !== undefined && place === undefined)
      this.#count(value.innerSeen, counting, { ...known, reason });
    else
      this.#countLeaf(counting, {
        path: known.path,
        place,
        reason: reason ?? (value.isNull ? saysNothing : undefined),
      });
  }

  #countLeaf({ file, reasonAt }: Counting, { path, place, reason = reasonAt(path) }: Known): void {
    this.#counts.read++;
    if (place === undefined) {
      this.#counts.left_out++;
      countIn(this.#left, `${file} ${path} ${reason}`, () => ({ file, path, reason, count: 0 }));
      return;
    }
    this.#counts.placed++;
    const { to, isChanged } = place;
    countIn(isChanged ? this.#changed : this.#carried, `${file} ${path} ${to}`, () => ({ file, path, to, count: 0 }));
  }
}

const unconverted = "the record could not be converted";
const saysNothing = "null says nothing";
const atRoot: Known = { path: "", place: undefined, reason: undefined };

const countIn = <One extends Counted>(into: Map<string, One>, key: string, make: () => One): void => {
  let one = into.get(key);
  if (one === undefined) {
    one = make();
    into.set(key, one);
  }
  one.count++;
};

/** A path without its positions: `completion[].content`. */
const joined = (path: string, step: string): string =>
  path === "" || step === "[]" ? `${path}${step}` : `${path}.${step}`;

/** Adds where the values of what was built stand. */
const addPlaces = (places: Map<Value, Place>, built: Built, to: string): void => {
  if (built instanceof Value) addPlace(places, built, { to, isChanged: false });
  else if (built.kind === "said") for (const value of built.of) addPlace(places, value, { to, isChanged: true });
  else {
    for (const [at, member] of built.values.entries()) {
      addPlaces(places, member, built.kind === "list" ? `${to}[]` : `${to}.${built.keys[at]}`);
    }
  }
};

/** Of a value with several places, the first counts. */
const addPlace = (places: Map<Value, Place>, value: Value, place: Place): void => {
  if (!places.has(value)) places.set(value, place);
};

/** Why a value has no place, as its format says of it or of what holds it. */
const reasonIn = ({ left = {} }: Format, path: string): string => {
  const holder = Object.keys(left).find(
    (own) => path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`),
  );
  return (holder === undefined ? undefined : left[holder]) ?? "the interface has no place for it";
};
