/** What became of every value of the input: where it stands now, or why it has no place. */
import type { Path } from "../rules/places.ts";
import { withoutSecrets } from "../rules/secrets.ts";
import { type Built, said } from "./built.ts";
import type { Format, Rollout } from "./format.ts";
import { Value } from "./value.ts";

/** Values of the input with the same path, but for positions (`completion[].content`). */
interface Counted {
  count: number;
}

/** Values that have no place. */
interface LeftOut extends Counted {
  readonly path: string;
  readonly reason: string;
  /** The first of them. */
  readonly example: { readonly file: string; readonly line: number; readonly path: Path; readonly value: string };
}

/** Values that have a place, and where that is in a trajectory or exception. */
interface Placed extends Counted {
  readonly path: string;
  readonly to: string;
}

/** What became of a run's input; leaves are scalars, and empty lists and objects. */
export interface ReceiptData {
  readonly format: string;
  readonly leaves: { readonly read: number; readonly placed: number; readonly left_out: number };
  readonly left_out: readonly LeftOut[];
  readonly placed: readonly Placed[];
}

/** Characters of an example that are shown. */
const longestExample = 120;

/** A span that has a place, and where. */
interface Covered {
  readonly start: number;
  readonly end: number;
  readonly to: string;
  /** Steps to it in the record, where all below it stands below `to`; undefined where what it says is said otherwise. */
  readonly steps: number | undefined;
}

/** Where a record stands. */
interface Place {
  readonly label: string;
  readonly line: number;
}

/** Counts what becomes of values, record by record. */
export class Receipt {
  readonly #left = new Map<string, LeftOut>();
  readonly #placed = new Map<string, Placed>();
  readonly #counts = { read: 0, placed: 0, left_out: 0 };
  /** Why parts of the record that is taken next have no place. */
  #reasons = new Covers();
  /** Documents beside records that were counted: several records may be made of one. */
  readonly #documents = new Set<string>();

  /** Says why a part of the record that is taken next has no place. */
  leave(value: Value, why: string): void {
    this.#reasons.add({ kind: "said", json: "", of: [value] }, why);
  }

  /** Takes a record and what became of it. */
  take(
    format: Format,
    { cut, value, rollouts }: { readonly cut: Place; readonly value: Value; readonly rollouts: readonly Rollout[] },
  ): void {
    const covered = new Covers();
    for (const { trajectory, exception, members = [], also, unfit, of = value } of rollouts) {
      for (const [own, to] of also?.() ?? []) covered.add(said(null, own), to);
      if (unfit !== undefined) this.leave(of, "the record could not be converted");
      if (trajectory !== undefined) covered.add(trajectory, "trajectory");
      if (exception !== undefined) covered.add(exception, "exception");
      for (const [key, built] of members) covered.add(built, `group.${key}`);
    }
    const why = rollouts.length === 0 ? "the record is no rollout by itself" : undefined;
    const reasonOf = (leaf: Value) => this.#reasonOf(leaf) ?? why ?? reasonIn(format, leaf);
    this.#count(value, { cut, covered, reasonOf });
    for (const document of rollouts.flatMap((rollout) => rollout.with ?? [])) {
      const label = document.document ?? "";
      if (this.#documents.has(label)) continue;
      this.#documents.add(label);
      this.#count(document, { cut: { label, line: 1 }, covered, reasonOf });
    }
    this.#reasons = new Covers();
  }

  /** Takes a record that could not be converted. */
  takeBroken({ cut, value }: { readonly cut: Place; readonly value: Value }): void {
    this.#count(value, { cut, covered: new Covers(), reasonOf: () => "the record could not be converted" });
    this.#reasons = new Covers();
  }

  /** What became of all of them. */
  data(format: Format): ReceiptData {
    const byCount = (a: Counted, b: Counted): number => b.count - a.count;
    return {
      format: format.name,
      leaves: { ...this.#counts },
      left_out: [...this.#left.values()].sort(byCount),
      placed: [...this.#placed.values()].sort(byCount),
    };
  }

  #count(
    record: Value,
    {
      cut,
      covered,
      reasonOf,
    }: {
      readonly cut: Place;
      readonly covered: Covers;
      readonly reasonOf: (leaf: Value) => string;
    },
  ): void {
    for (const leaf of leavesOf(record, (value) => covered.of(value) !== undefined)) {
      this.#counts.read++;
      const path = patternOf(leaf.path);
      const place = covered.of(leaf);
      if (place !== undefined) {
        this.#counts.placed++;
        const below = place.steps === undefined ? "" : patternOf(leaf.path.slice(place.steps));
        const to = below === "" || below.startsWith("[") ? `${place.to}${below}` : `${place.to}.${below}`;
        countIn(this.#placed, `${path} ${to}`, () => ({ path, to, count: 0 }));
        continue;
      }
      this.#counts.left_out++;
      const reason = reasonOf(leaf);
      countIn(this.#left, `${path} ${reason}`, () => {
        const value = withoutSecrets(leaf.raw).slice(0, longestExample);
        return { path, count: 0, reason, example: { file: cut.label, line: cut.line, path: leaf.path, value } };
      });
    }
  }

  #reasonOf(leaf: Value): string | undefined {
    return this.#reasons.of(leaf)?.to ?? (leaf.isNull ? "null says nothing" : undefined);
  }
}

const countIn = <One extends Counted>(into: Map<string, One>, key: string, make: () => One): void => {
  let one = into.get(key);
  if (one === undefined) {
    one = make();
    into.set(key, one);
  }
  one.count++;
};

/** What of the input has a place. */
class Covers {
  readonly #byBytes = new Map<Buffer, Covered[]>();
  readonly #sorted = new Map<Buffer, { readonly covered: readonly Covered[]; readonly ends: readonly number[] }>();

  /** Adds what a built value covers. */
  add(built: Built, to: string): void {
    if (built instanceof Value || built.kind === "said") {
      const isCopied = built instanceof Value;
      for (const value of isCopied ? [built] : built.of) {
        const own = this.#byBytes.get(value.bytes) ?? [];
        own.push({ ...value.span, to, steps: isCopied ? value.path.length : undefined });
        this.#byBytes.set(value.bytes, own);
      }
      return;
    }
    for (const [at, member] of built.values.entries()) {
      this.add(member, built.kind === "list" ? `${to}[]` : `${to}.${built.keys[at]}`);
    }
  }

  /** What covers a value; the innermost of several, and the first of the same. */
  of({ bytes, span }: Value): Covered | undefined {
    const { covered, ends } = this.#sortedOf(bytes);
    let [low, high] = [0, covered.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((covered[middle]?.start ?? 0) <= span.start) low = middle + 1;
      else high = middle;
    }
    // Nothing before a position reaches further than its end says.
    for (let at = low - 1; at >= 0 && (ends[at] ?? 0) >= span.end; at--) {
      const one = covered[at];
      if (one !== undefined && one.end >= span.end) return one;
    }
    return undefined;
  }

  #sortedOf(bytes: Buffer) {
    let sorted = this.#sorted.get(bytes);
    if (sorted === undefined) {
      const covered = [...(this.#byBytes.get(bytes) ?? [])].reverse().sort((a, b) => a.start - b.start);
      let end = 0;
      sorted = { covered, ends: covered.map((one) => (end = Math.max(end, one.end))) };
      this.#sorted.set(bytes, sorted);
    }
    return sorted;
  }
}

/** The leaves of a value; of a text whose JSON was looked at, and that has no place as a whole, those of its JSON. */
function* leavesOf(value: Value, isPlaced: (value: Value) => boolean): Generator<Value, void> {
  const children = value.isList ? value.items() : value.members().map(([, member]) => member);
  if (children.length > 0) for (const child of children) yield* leavesOf(child, isPlaced);
  else if (value.innerSeen !== undefined && !isPlaced(value)) yield* leavesOf(value.innerSeen, isPlaced);
  else yield value;
}

/** A path without its positions: `completion[].content`. */
const patternOf = (path: Path): string =>
  path.reduce<string>(
    (pattern, step) => (typeof step === "number" ? `${pattern}[]` : pattern === "" ? step : `${pattern}.${step}`),
    "",
  );

/** Why a value has no place, as its format says of it or of what holds it. */
const reasonIn = ({ left = {} }: Format, leaf: Value): string => {
  const path = patternOf(leaf.path);
  const holder = Object.keys(left).find(
    (own) => path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`),
  );
  return (holder === undefined ? undefined : left[holder]) ?? "the interface has no place for it";
};
