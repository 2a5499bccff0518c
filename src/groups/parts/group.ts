/** Puts parts into groups: adjacent trajectories with the same `group_id`, or all with the same value of a key. */
import { createHash } from "node:crypto";
import type { Parts } from "./columns.ts";
import { Digests, digestBytes } from "./digests.ts";
import type { GroupKeys } from "./group-keys.ts";
import { Numbers } from "./numbers.ts";

/** `{"trajectories":[` and `]}`, which make a group out of bare trajectories. */
export const groupOpening = Buffer.from('{"trajectories":[');
export const groupClosing = Buffer.from("]}");

/** A part whose group had already ended. */
export interface Scattered {
  readonly part: number;
  /** First part of its group. */
  readonly first: number;
  readonly key: string;
}

/** Groups, in the order of their first parts. */
export interface Groups {
  readonly count: number;
  /** Whether each part is a group by itself, of the same position. */
  readonly areParts: boolean;
  /** Position of a group's first part. */
  firstOf(group: number): number;
  /** Positions of a group's parts, in their order. */
  partsOf(group: number): Uint32Array;
  /** The group of the part at a position. */
  groupOf(part: number): number;
  /** Whether all are valid. */
  areValid(): boolean;
  isValid(group: number): boolean;
  /** Makes a group not valid, whose parts are. */
  reject(group: number): void;
  trajectoriesOf(group: number): number;
  /** Bytes of a group in a request. */
  bytesOf(group: number): number;
  /** The digest of each group, in their order: of a group's bytes, or of its trajectories' digests. Not to be changed. */
  digests(): Digests;
}

/** Groups all parts. `keys` are the parts' group keys. */
export const groupParts = ({
  parts,
  keys,
  byKey,
}: {
  readonly parts: Parts;
  readonly keys: Pick<GroupKeys, "at" | "areNone">;
  /** Whether trajectories belong together wherever they stand, instead of side by side in one file. */
  readonly byKey: boolean;
}): { readonly groups: Groups; readonly scattered: readonly Scattered[] } => {
  const invalid = new Uint8Array(parts.count);
  if (keys.areNone) {
    for (let at = 0; !parts.areUsual && at < parts.count; at++) if (!parts.isValid(at)) invalid[at] = 1;
    return { groups: groupsOf({ parts, order: oneByOne(parts.count), invalid }), scattered: [] };
  }
  const groupOf = new Uint32Array(parts.count);
  const firsts = Numbers.words();
  const scattered: Scattered[] = [];
  let source = -1;
  let open: string | undefined;
  let known = new Map<string, number>();
  for (let at = 0; at < parts.count; at++) {
    const own = parts.sourceOf(at);
    const key = keys.at(at);
    if (own !== source && !byKey) known = new Map();
    if (own !== source) open = undefined;
    source = own;
    const belongs = key === undefined ? undefined : known.get(key);
    const group = belongs ?? firsts.length;
    groupOf[at] = group;
    if (belongs === undefined) {
      if (key !== undefined) known.set(key, group);
      firsts.push(at);
    } else if (!byKey && key !== undefined && key !== open) {
      scattered.push({ part: at, first: firsts.at(belongs), key });
      invalid[belongs] = 1;
    }
    // What can't be read may have belonged to the group it stands in: it ends none.
    if (parts.kindOf(at) !== "unreadable") open = key;
    if (!parts.isValid(at)) invalid[group] = 1;
  }
  return { groups: groupsOf({ parts, order: orderOf(groupOf, firsts.length), invalid }), scattered };
};

/** Which parts make up which group. */
type Order = Pick<Groups, "count" | "firstOf" | "partsOf" | "groupOf">;

/** Each part is a group by itself. */
const oneByOne = (count: number): Order => ({
  count,
  firstOf: (group) => group,
  partsOf: (group) => Uint32Array.of(group),
  groupOf: (part) => part,
});

/** Parts of any group anywhere. */
const orderOf = (groupOf: Uint32Array, count: number): Order => {
  // A counting sort: the parts of each group side by side, in their order.
  const ends = new Uint32Array(count + 1);
  for (const group of groupOf) ends[group + 1] = (ends[group + 1] ?? 0) + 1;
  for (let group = 0; group < count; group++) ends[group + 1] = (ends[group + 1] ?? 0) + (ends[group] ?? 0);
  const next = ends.slice();
  const order = new Uint32Array(groupOf.length);
  for (const [at, group] of groupOf.entries()) {
    const place = next[group] ?? 0;
    order[place] = at;
    next[group] = place + 1;
  }
  return {
    count,
    firstOf: (group) => order[ends[group] ?? 0] ?? 0,
    partsOf: (group) => order.subarray(ends[group], ends[group + 1]),
    groupOf: (part) => groupOf[part] ?? 0,
  };
};

const groupsOf = ({
  parts,
  order,
  invalid,
}: {
  readonly parts: Parts;
  readonly order: Order;
  readonly invalid: Uint8Array;
}): Groups => {
  const { count, firstOf, partsOf } = order;
  const isAlone = count === parts.count;
  const trajectoriesOf = (group: number): number =>
    isAlone
      ? parts.trajectoriesOf(firstOf(group))
      : partsOf(group).reduce((sum, at) => sum + parts.trajectoriesOf(at), 0);
  const bytesOf = (group: number): number => {
    if (isAlone) return parts.lengthOf(firstOf(group)) + bytesAround(parts, { first: firstOf(group), of: 1 });
    const own = partsOf(group);
    const bytes = own.reduce((sum, at) => sum + parts.lengthOf(at), 0);
    return bytes + bytesAround(parts, { first: firstOf(group), of: own.length });
  };
  return {
    ...order,
    areParts: isAlone,
    areValid: () => !invalid.includes(1),
    isValid: (group) => invalid[group] !== 1,
    reject: (group) => {
      invalid[group] = 1;
    },
    trajectoriesOf,
    bytesOf,
    digests: () => {
      if (isAlone && !parts.has("trajectory")) return parts.digests;
      const digests = new Digests();
      for (let group = 0; group < count; group++) digests.append(digestOfGroup(parts, partsOf(group)));
      return digests;
    },
  };
};

/** Bytes that stand around and between the parts of a group in a request. */
const bytesAround = (parts: Parts, { first, of }: { readonly first: number; readonly of: number }): number =>
  parts.kindOf(first) === "group" ? 0 : groupOpening.length + of - 1 + groupClosing.length;

/** First `digestBytes` of the digest of a group, by its parts. */
export const digestOfGroup = (parts: Parts, own: Uint32Array): Uint8Array => {
  const [first = 0] = own;
  if (parts.kindOf(first) !== "trajectory") return parts.digests.at(first);
  const all = createHash("sha256").update("trajectories");
  for (const at of own) all.update(parts.digests.at(at));
  return all.digest().subarray(0, digestBytes);
};
