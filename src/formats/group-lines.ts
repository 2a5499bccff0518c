/** Writes groups as lines, as long as the rollouts of each stand side by side; where they don't, all lines are written anew at the end. */

import type { Host } from "../host.ts";
import { type Bytes, readRange } from "../input/source.ts";
import { type Keeper, openKeeper } from "../input/spool.ts";
import { LineWriter } from "./built.ts";
import type { Rollout } from "./format.ts";
import { lineStart, RolloutGroup, type Written } from "./rollout-groups.ts";

/** Bytes of what was made that are held before they are written. */
const heldBytes = 2 ** 20;

/** How a rollout goes into its group. */
interface Adding {
  readonly beside: Pick<Rollout, "exception" | "members">;
  /** Writes its trajectory, where it is one. */
  readonly write?: ((sink: LineWriter) => void) | undefined;
}

/** The lines of groups. */
export class GroupLines {
  /** In the order in which each was met first. */
  readonly groups: RolloutGroup[] = [];
  readonly #keeper: Keeper;
  readonly #areAcross: boolean;
  readonly #byKey = new Map<string, RolloutGroup>();
  readonly #sink = new LineWriter(2 * heldBytes);
  #written = 0;
  /** The group that was asked for last. */
  #last: { readonly key: string; readonly file: number; readonly group: RolloutGroup } | undefined;
  /** The group whose line is being written. */
  #open: RolloutGroup | undefined;
  #isInOrder = true;

  /** @param areAcross whether a group may have rollouts in several files */
  constructor(keeper: Keeper, { areAcross }: { readonly areAcross: boolean }) {
    this.#keeper = keeper;
    this.#areAcross = areAcross;
  }

  /** Whether there is so much that it should be flushed. */
  get isFull(): boolean {
    return this.#sink.length >= heldBytes;
  }

  /** Says which bytes no line ends are in, of those that are written next. */
  set withoutLines(bytes: Buffer | undefined) {
    this.#sink.withoutLines = bytes;
  }

  /** Adds a rollout to the group of a key. */
  add(key: string, one: Written, { beside, write }: Adding): void {
    const group = this.#groupOf(key, one.file);
    if (group.isEmpty) this.#begin(group);
    else if (group !== this.#open) this.#isInOrder = false;
    group.takeBeside(beside);
    if (write !== undefined) {
      if (group.trajectories++ > 0) this.#sink.text(",");
      one.start = this.#written + this.#sink.length;
      write(this.#sink);
      one.length = this.#written + this.#sink.length - one.start;
    }
    group.append(one);
    if (group.isMixed) this.#isInOrder = false;
  }

  /** Adds what could not be converted, so that its group can't be read; gives that. */
  addBroken(key: string, one: Written): RolloutGroup {
    const group = this.#groupOf(key, one.file);
    this.#isInOrder = false;
    group.isBroken = true;
    group.append(one);
    return group;
  }

  /** Ends the line of the group that is open. */
  close(): void {
    if (this.#open !== undefined) this.#sink.text(this.#open.lineEnd());
    this.#open = undefined;
  }

  async flush(): Promise<void> {
    const bytes = this.#sink.take();
    await this.#keeper.write(bytes);
    this.#written += bytes.length;
  }

  /** All lines. */
  async bytes(host: Host): Promise<Bytes> {
    const kept = this.#keeper.bytes();
    if (this.#isInOrder) return kept;
    const keeper = await openKeeper(host);
    for (const group of this.groups) {
      if (group.isMixed) group.sort();
      await this.#putTogether(group, kept);
      if (this.isFull) await keeper.write(this.#sink.take());
    }
    await keeper.write(this.#sink.take());
    await kept.close();
    return keeper.bytes();
  }

  async discard(): Promise<void> {
    await this.#keeper.discard();
  }

  #begin(group: RolloutGroup): void {
    this.close();
    this.#open = group;
    this.#sink.text(lineStart);
  }

  #groupOf(key: string, file: number): RolloutGroup {
    // Most stand behind others of their group.
    if (key === this.#last?.key && file === this.#last.file) return this.#last.group;
    const own = this.#areAcross ? key : `${file} ${key}`;
    let group = this.#byKey.get(own);
    if (group === undefined) {
      group = new RolloutGroup(this.groups.length);
      this.groups.push(group);
      this.#byKey.set(own, group);
    }
    this.#last = { key, file, group };
    return group;
  }

  async #putTogether(group: RolloutGroup, chunks: Bytes): Promise<void> {
    const sink = this.#sink;
    if (group.isBroken) return sink.text("!\n");
    sink.text(lineStart);
    for (const [at, one] of group.trajectoriesWritten().entries()) {
      if (at > 0) sink.text(",");
      const bytes = await readRange(chunks, one);
      sink.bytes(bytes, 0, bytes.length);
    }
    sink.text(group.lineEnd());
  }
}
