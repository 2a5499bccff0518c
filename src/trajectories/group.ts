/** Puts parts into groups: adjacent trajectories with the same `group_id`, or all with the same value of a key. */
import { createHash } from "node:crypto";
import { type Column, digestBytes, type Parts } from "./columns.ts";

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
  /** Positions of a group's parts, in their order. */
  partsOf(group: number): Uint32Array;
  isValid(group: number): boolean;
  /** Makes a group not valid, whose parts are. */
  reject(group: number): void;
  trajectoriesOf(group: number): number;
  /** Bytes of a group in a request. */
  bytesOf(group: number): number;
  /** `digestBytes` for each group, in their order: of a group's bytes, or of its trajectories' digests. */
  digests(): Uint8Array;
}

/** Groups all parts. `keys` are the parts' group keys. */
export const groupParts = ({
  parts,
  keys,
  byKey,
}: {
  readonly parts: Parts;
  readonly keys: readonly (string | undefined)[];
  /** Whether trajectories belong together wherever they stand, instead of side by side in one file. */
  readonly byKey: boolean;
}): { readonly groups: Groups; readonly scattered: readonly Scattered[] } => {
  const groupOf = new Uint32Array(parts.count);
  const scattered: Scattered[] = [];
  const invalid = new Set<number>();
  let count = 0;
  let source = -1;
  let open: string | undefined;
  let known = new Map<string, { readonly group: number; readonly first: number }>();
  for (let at = 0; at < parts.count; at++) {
    const part = parts.at(at);
    const key = keys[at];
    if (part.source !== source && !byKey) known = new Map();
    if (part.source !== source) open = undefined;
    source = part.source;
    const belongs = key === undefined ? undefined : known.get(key);
    if (belongs === undefined) {
      if (key !== undefined) known.set(key, { group: count, first: at });
      groupOf[at] = count++;
    } else {
      groupOf[at] = belongs.group;
      if (!byKey && key !== undefined && key !== open) {
        scattered.push({ part: at, first: belongs.first, key });
        invalid.add(belongs.group);
      }
    }
    // What can't be read may have belonged to the group it stands in: it ends none.
    if (part.kind !== "unreadable") open = key;
    if (!part.valid) invalid.add(groupOf[at] ?? 0);
  }
  return { groups: groupsOf({ parts, groupOf, count, invalid }), scattered };
};

const groupsOf = ({
  parts,
  groupOf,
  count,
  invalid,
}: {
  readonly parts: Parts;
  readonly groupOf: Uint32Array;
  readonly count: number;
  readonly invalid: Set<number>;
}): Groups => {
  // A counting sort: the parts of each group side by side, in their order.
  const ends = new Uint32Array(count + 1);
  for (const group of groupOf) ends[group + 1] = (ends[group + 1] ?? 0) + 1;
  for (let group = 0; group < count; group++) ends[group + 1] = (ends[group + 1] ?? 0) + (ends[group] ?? 0);
  const next = ends.slice();
  const order = new Uint32Array(parts.count);
  for (const [at, group] of groupOf.entries()) {
    const place = next[group] ?? 0;
    order[place] = at;
    next[group] = place + 1;
  }
  const partsOf = (group: number): Uint32Array => order.subarray(ends[group], ends[group + 1]);
  return {
    count,
    partsOf,
    isValid: (group) => !invalid.has(group),
    reject: (group) => void invalid.add(group),
    trajectoriesOf: (group) => partsOf(group).reduce((sum, at) => sum + parts.at(at).trajectories, 0),
    bytesOf: (group) => {
      const own = partsOf(group);
      const bytes = own.reduce((sum, at) => sum + parts.at(at).length, 0);
      const [first = 0] = own;
      return parts.at(first).kind === "group"
        ? bytes
        : bytes + groupOpening.length + own.length - 1 + groupClosing.length;
    },
    digests: () => {
      const digests = new Uint8Array(count * digestBytes);
      for (let group = 0; group < count; group++)
        digests.set(digestOfGroup(parts, partsOf(group)), group * digestBytes);
      return digests;
    },
  };
};

/** First `digestBytes` of the digest of a group, by its parts. */
export const digestOfGroup = (parts: Parts, own: Uint32Array): Column => {
  const [first = 0] = own;
  if (parts.at(first).kind !== "trajectory") return parts.digestOf(first);
  const all = createHash("sha256").update("trajectories");
  for (const at of own) all.update(parts.digestOf(at));
  return all.digest().subarray(0, digestBytes);
};
