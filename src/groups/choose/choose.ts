/** Chooses among what was read: trajectories by an expression or their rewards, groups by chance or by their part; what is left stays byte for byte. */
import { createHash } from "node:crypto";
import { lineText } from "../../check/rules/places.ts";
import type { Problems } from "../../check/rules/problems.ts";
import type { Host } from "../../host.ts";
import { fileOf, type Source } from "../../input/source.ts";
import { openKeeper } from "../../input/spool.ts";
import { isObject, type JsonObject, type Span } from "../../json/walk.ts";
import { lineOfGroup, trajectorySpans } from "../contents.ts";
import { spotOfGroup, unreadableIn } from "../positions.ts";
import { type LeftOutBy, type Reading, type ReadOptions, readSources, tellInInput } from "../read.ts";
import { factsOf, parseWhere, rewardOf, type Wanted } from "./expression.ts";
import { chosenName, errorsOf, type Kept, originOf } from "./origin.ts";

/** What is wanted of an input; all of it where nothing is said. */
export interface Choosing {
  /** An expression that is true of the trajectories that are wanted. */
  readonly where?: string | undefined;
  /** How many trajectories of each group, those of the highest rewards. */
  readonly best?: number | undefined;
  /** How many groups, which ones the seed decides. */
  readonly sample?: number | undefined;
  readonly seed: string;
  /** Which part of so many that groups fall into by their digests, from 1: parts have no group in common, and leave none out. */
  readonly shard?: { readonly part: number; readonly of: number } | undefined;
}

/** How what is wanted is read. */
export interface ChooseOptions extends Pick<ReadOptions, "host" | "splitNeeded" | "judgement" | "onProgress"> {
  readonly choosing: Choosing;
}

/** A group of a reading: its bytes, and where its trajectories stand in them. */
interface Seen {
  readonly group: number;
  readonly bytes: Buffer;
  readonly spans: readonly Span[];
  readonly value: JsonObject;
}

/** Bytes of a digest that say which shard its group falls into: as many as a number holds exactly. */
const lotBytes = 6;

/** Bytes that are held before they are written. */
const heldBytes = 2 ** 20;

/**
 * Reads once more what is wanted of a reading, which is closed with it. Groups that are not valid stay, and stay that.
 * @throws Failure `where-wrong`, `spool-failed`, `input-changed`; the signal's reason
 */
export const chooseOf = async (reading: Reading, { choosing, host, ...options }: ChooseOptions): Promise<Reading> => {
  const chooser = new Chooser(reading, choosing);
  const source = await chooser.keep(host);
  const isAnyLeft = chooser.lines.length > 0 || reading.groups.count === 0;
  const sources = isAnyLeft ? [source] : [];
  const chosen = await readSources(sources, {
    ...options,
    groupBy: undefined,
    split: reading.split,
    signal: host.signal,
  });
  await tellInInput(chosen.problems, sources);
  chosen.problems.merge(errorsOf(reading, chooser.lines).pack(), 0);
  chooser.warn(chosen.problems);
  // A machine that has no group of a small file has nothing to do, which is no fault of the choice.
  if (!isAnyLeft && choosing.shard === undefined) tellNothingLeft(reading, { chosen, leftOut: chooser.leftOut });
  const close = async () => {
    await source.bytes.close();
    await reading.close();
  };
  const { conversion, others, ownKeys } = reading;
  const chosenFrom = (group: number) => chooser.lines[group]?.group ?? group;
  return {
    ...chosen,
    chosenFrom,
    conversion,
    others,
    ownKeys,
    leftOut: chooser.leftOut,
    unreadable: unreadableIn(reading),
    close,
  };
};

/** Says that nothing is left of what was read, by which options. */
const tellNothingLeft = (
  { sources, groups }: Reading,
  { chosen, leftOut }: { readonly chosen: Pick<Reading, "problems">; readonly leftOut: LeftOutBy },
): void => {
  const [only, ...others] = sources;
  const by = Object.entries(leftOut).flatMap(([option, left]) => (left.groups > 0 ? [`--${option}`] : []));
  const place = only === undefined || others.length > 0 ? {} : { file: fileOf(only) };
  chosen.problems.report("nothing-chosen", { by, groups: groups.count }, () => place);
};

class Chooser {
  /** The groups that are kept, a line each. */
  readonly lines: Kept[] = [];
  readonly #reading: Reading;
  readonly #choosing: Choosing;
  readonly #wanted: Wanted | undefined;
  /** What a choice left out, by the option that did. */
  readonly leftOut: { readonly [Option in keyof LeftOutBy]: { trajectories: number; groups: number } };
  #changed = 0;
  #firstChanged = 0;

  constructor(reading: Reading, choosing: Choosing) {
    this.#reading = reading;
    this.#choosing = choosing;
    this.#wanted = choosing.where === undefined ? undefined : parseWhere(choosing.where);
    const asked = (["where", "best", "sample", "shard"] as const).filter((option) => choosing[option] !== undefined);
    this.leftOut = Object.fromEntries(asked.map((option) => [option, { trajectories: 0, groups: 0 }]));
  }

  /** Keeps what is wanted as a source of its own. */
  async keep(host: Host): Promise<Source> {
    const keeper = await openKeeper(host);
    const { groups } = this.#reading;
    const sampled = this.#sampled();
    let held: Buffer[] = [];
    let length = 0;
    const flush = async () => {
      await keeper.write(Buffer.concat(held));
      held = [];
      length = 0;
    };
    try {
      for (let group = 0; group < groups.count; group++) {
        host.signal.throwIfAborted();
        const line = await this.#lineOf(group, sampled);
        if (line === undefined) continue;
        held.push(line);
        length += line.length;
        if (length >= heldBytes) await flush();
      }
      await flush();
    } catch (thrown) {
      await keeper.discard();
      throw thrown;
    }
    const { descriptor, ...bytes } = keeper.bytes();
    // Lines that stand for what is not valid are known here alone, and to no other thread.
    const shared = groups.areValid() && descriptor !== undefined ? { ...bytes, descriptor } : bytes;
    const name = chosenName(this.#reading);
    return { name, bytes: shared, touched: async () => false, origin: originOf(this.#reading, this.lines) };
  }

  /** Says that groups lost some of their trajectories. */
  warn(problems: Problems): void {
    if (this.#changed === 0) return;
    const place = spotOfGroup(this.#reading, this.#firstChanged);
    problems.report("baseline-changed", { groups: this.#changed }, () => place);
  }

  /** Groups that chance chooses: those whose digests come first with the seed, wherever they stand. */
  #sampled(): ReadonlySet<number> | undefined {
    const { sample, seed } = this.#choosing;
    if (sample === undefined) return undefined;
    const { groups } = this.#reading;
    const digests = groups.digests();
    const drawn = Array.from({ length: groups.count }, (_, group) => ({
      group,
      lot: createHash("sha256").update(`${seed} `).update(digests.at(group)).digest("hex"),
    })).filter(({ group }) => groups.isValid(group));
    const first = drawn.sort((a, b) => (a.lot < b.lot ? -1 : a.lot > b.lot ? 1 : a.group - b.group)).slice(0, sample);
    return new Set(first.map(({ group }) => group));
  }

  /** By the digest that the group is known by, wherever it stands and whatever is chosen of it. */
  #isOfShard(group: number): boolean {
    const { shard } = this.#choosing;
    if (shard === undefined) return true;
    const digest = Buffer.from(this.#reading.groups.digests().at(group));
    return digest.readUIntBE(0, lotBytes) % shard.of === shard.part - 1;
  }

  async #lineOf(group: number, sampled: ReadonlySet<number> | undefined): Promise<Buffer | undefined> {
    const { groups } = this.#reading;
    if (!groups.isValid(group)) {
      this.lines.push({ group, positions: [], isPart: false });
      return Buffer.from("!\n");
    }
    if (sampled?.has(group) === false) {
      this.#leave("sample", groups.trajectoriesOf(group), 1);
      return undefined;
    }
    if (!this.#isOfShard(group)) {
      this.#leave("shard", groups.trajectoriesOf(group), 1);
      return undefined;
    }
    const seen = await seenGroup(this.#reading, group);
    const positions = this.#chosen(seen);
    const isPart = positions.length < seen.spans.length;
    if (isPart && positions.length === 0) return undefined;
    if (isPart && this.#changed++ === 0) this.#firstChanged = group;
    this.lines.push({ group, positions, isPart });
    return Buffer.concat([isPart ? partOf(seen, positions) : seen.bytes, Buffer.from("\n")]);
  }

  #chosen({ group, value, spans }: Seen): readonly number[] {
    const { best } = this.#choosing;
    const trajectories = Array.isArray(value.trajectories) ? value.trajectories.filter(isObject) : [];
    let kept = spans.map((_, at) => at);
    const wanted = this.#wanted;
    if (wanted !== undefined) {
      const facts = factsOf(value, { trajectories, group });
      const place = () => lineText(spotOfGroup(this.#reading, group));
      const before = kept.length;
      kept = kept.filter((at) => wanted(trajectories[at] ?? {}, facts, place));
      this.#leave("where", before - kept.length, before > 0 && kept.length === 0 ? 1 : 0);
    }
    if (best !== undefined && kept.length > best) {
      this.#leave("best", kept.length - best, 0);
      const byReward = kept.toSorted((a, b) => rewardOf(trajectories[b]) - rewardOf(trajectories[a]) || a - b);
      kept = byReward.slice(0, best).sort((a, b) => a - b);
    }
    return kept;
  }

  #leave(by: keyof LeftOutBy, trajectories: number, groups: number): void {
    const left = this.leftOut[by];
    if (left === undefined) return;
    left.trajectories += trajectories;
    left.groups += groups;
  }
}

/** A group, parsed. @throws Failure `input-changed` */
const seenGroup = async (reading: Reading, group: number): Promise<Seen> => {
  const bytes = await lineOfGroup(reading, group);
  const value: unknown = JSON.parse(bytes.toString("utf8"));
  return { group, bytes, spans: trajectorySpans(bytes), value: isObject(value) ? value : {} };
};

/** A group's text with some of its trajectories, all else as it stood. */
const partOf = ({ bytes, spans }: Seen, positions: readonly number[]): Buffer => {
  const [first, last] = [spans[0], spans.at(-1)];
  if (first === undefined || last === undefined) return bytes;
  const kept = positions.flatMap((at, index) => {
    const span = spans[at];
    if (span === undefined) return [];
    const own = bytes.subarray(span.start, span.end);
    return index === 0 ? [own] : [Buffer.from(","), own];
  });
  return Buffer.concat([bytes.subarray(0, first.start), ...kept, bytes.subarray(last.end)]);
};
