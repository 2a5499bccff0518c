/** The kernel that reads lines fast (docs/decisions/0018), as JavaScript sees it: lines go in, their facts come out. */
import { Trajectory } from "../../contract/log.ts";
import { calculatedNames } from "../../groups/metrics/metrics.ts";
import type { Sampled } from "../../groups/metrics/picture.ts";
import { newline, type Span } from "../../json/walk.ts";
import type { Text } from "../rules/places.ts";
import type { RuleName } from "../rules/rules.ts";
import * as layout from "./layout.ts";
import { program } from "./program.ts";

/** The kernel, compiled: threads share it. */
export type KernelModule = object;

/** The facts of lines, each in a row (kernel/written.ts). */
interface Columns {
  /** Where the value begins in the source, and how long it is. */
  readonly starts: Float64Array;
  readonly lengths: Float64Array;
  /** The number of the line. */
  readonly numbers: Float64Array;
  readonly flags: Float64Array;
  /** Trajectories. */
  readonly counts: Float64Array;
  /** The reward of a trajectory; 0 for a group. */
  readonly lineRewards: Float64Array;
  /** The newest policy version; NaN where there is none. */
  readonly versions: Float64Array;
  /** What its trajectories have to train on, and what they lack (metrics/constants.ts). */
  readonly trainings: Uint8Array;
  readonly keyStarts: Uint32Array;
  readonly keyLengths: Uint32Array;
  /** Of each trajectory. */
  readonly rewards: Float64Array;
  readonly prints: Uint32Array;
  /** Of each rule that is counted: how often lines of the batch break it. */
  readonly counted: Uint32Array;
}

/** Numbers that the kernel counts: of the batch, and of all lines taken since the last sums. */
type Count =
  | "lineCount"
  | "trajectoryCount"
  | "linesRead"
  | "leftStart"
  | "leftEnd"
  | "leastReward"
  | "mostReward"
  | "groupSum"
  | "trainableSum"
  | "exceptionSum"
  | "choiceSum"
  | "scoredSum"
  | "sampledSum"
  | "nameCount";

/** What the kernel is made of, as far as it is used here: where each column is, what it counts, and what can be asked of it. */
type Exports = Readonly<Record<keyof Columns | Count, { readonly value: number }>> & {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Where the input may be written to. */
  input(): number;
  setFlags(group: number, equalGroup: number, trajectory: number): void;
  begin(place: number, lines: number): void;
  scan(from: number, to: number): number;
  countOnly(rules: number): void;
  seriesOf(index: number): number;
  reset(): void;
  nameStart(index: number): number;
  nameLength(index: number): number;
  reserve(at: number, length: number): void;
  groupName(): number;
  setGroupName(length: number, isGiven: boolean): void;
};

/** Node has it, and its types don't. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => KernelModule;
  readonly Instance: new (module: KernelModule, imports: object) => { readonly exports: Exports };
};

/** Fields that have a meaning of their own, so that the kernel can't take them for a group key. */
const fields: ReadonlySet<string> = new Set(["trajectories", "trajectory_groups", ...Object.keys(Trajectory.shape)]);

/** Whether the kernel can find the group key of that name. */
const isGroupName = (name: string): boolean => /^[ !#-[\]-~]{1,200}$/.test(name) && !fields.has(name);

/** Rules that the kernel counts, and their bits. */
export const countedRules: readonly { readonly rule: RuleName; readonly bit: number }[] = [
  { rule: "null-field", bit: layout.nullField },
  { rule: "tool-calls-null", bit: layout.toolCallsNull },
  { rule: "start-time-zone", bit: layout.startTimeZone },
  { rule: "metadata-nested", bit: layout.metadataNested },
  { rule: "metric-type", bit: layout.metricType },
  { rule: "metric-name", bit: layout.metricName },
  { rule: "role-unknown", bit: layout.roleUnknown },
  { rule: "no-assistant", bit: layout.noAssistant },
  { rule: "tool-call-id-missing", bit: layout.toolCallIdMissing },
  { rule: "tool-call-unanswered", bit: layout.toolCallUnanswered },
  { rule: "last-call-unanswered", bit: layout.lastCallUnanswered },
  { rule: "tool-unlisted", bit: layout.toolUnlisted },
  { rule: "tool-incomplete", bit: layout.toolIncomplete },
  { rule: "policy-order", bit: layout.policyOrder },
  { rule: "policy-mixed", bit: layout.policyMixed },
];

/** Flags of a group with equal rewards, and of a trajectory by itself. */
const equalFlags = 8;
const trajectoryFlags = 1;

const pageBytes = 2 ** 16;

/** Bytes behind the input that may be looked at, in vain. */
const spareBytes = 64;

/** Compiled once, whatever is read with it. */
let compiled: KernelModule | undefined;

/** The kernel; undefined where it can't be compiled, and lines are read without it. */
export const compileKernel = (): KernelModule | undefined => {
  try {
    if (program !== "") compiled ??= new WebAssembly.Module(Buffer.from(program, "base64"));
  } catch {
    // A processor without SIMD, or a Node without WebAssembly.
  }
  return compiled;
};

/** Opens the kernel when it is asked for first; gives undefined where there is none, or where it can't find group keys of that name. */
export const kernelOnce = (
  module: KernelModule | undefined,
  groupBy: string | undefined,
): (() => Kernel | undefined) => {
  let opened: { readonly kernel: Kernel | undefined } | undefined;
  return () => {
    opened ??= { kernel: module === undefined ? undefined : Kernel.open(module, groupBy) };
    return opened.kernel;
  };
};

/** What the kernel summed up of lines that were taken. */
export interface KernelSums {
  readonly memory: ArrayBuffer;
  /** Where a series stands in it (kernel/series.ts). */
  seriesOf(index: number): number;
  readonly groups: number;
  /** Groups whose rewards differ. */
  readonly trainable: number;
  readonly exceptions: number;
  readonly sampled: Sampled;
  /** Names of metrics: not all of them are of lines that were taken. */
  readonly names: readonly string[];
}

/** A kernel at work: it takes the lines of a block as far as it can, batch by batch. */
export class Kernel {
  readonly #exports: Exports;
  readonly #input: number;
  /** Names of metrics by their numbers. */
  readonly #names: string[] = [];
  #bytes: Buffer;
  #columns: Columns;
  /** The input that was not gone over yet. */
  #at = 0;
  #to = 0;

  private constructor(module: KernelModule) {
    const scalars = { roundedOf: (start: number, end: number) => Number(this.#bytes.toString("latin1", start, end)) };
    this.#exports = new WebAssembly.Instance(module, { scalars }).exports;
    this.#input = this.#exports.input();
    this.#bytes = Buffer.from(this.#exports.memory.buffer);
    this.#columns = this.#newColumns();
    this.#grow(0);
    this.#exports.setFlags(0, equalFlags, this.aloneFlags);
    for (const name of calculatedNames) {
      this.#exports.reserve(this.#input, this.#bytes.write(name, this.#input, "latin1"));
    }
  }

  /** Puts the kernel to work; undefined where it can't find group keys of that name, or has no room. */
  static open(module: KernelModule, groupBy: string | undefined): Kernel | undefined {
    if (groupBy !== undefined && !isGroupName(groupBy)) return undefined;
    const kernel = Kernel.#started(module);
    if (kernel === undefined) return undefined;
    const name = groupBy ?? "group_id";
    kernel.#bytes.write(name, kernel.#exports.groupName(), "latin1");
    kernel.#exports.setGroupName(name.length, groupBy !== undefined);
    return kernel;
  }

  static #started(module: KernelModule): Kernel | undefined {
    try {
      return new Kernel(module);
    } catch (thrown) {
      // V8 reserves some gigabytes of addresses for it, which a limit on them may forbid (`ulimit -v`).
      if (thrown instanceof RangeError) return undefined;
      throw thrown;
    }
  }

  /** Takes whole lines of UTF-8, which stand somewhere in the source; the last one may lack its end. */
  begin({ bytes, start, line }: Text): void {
    this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#input);
    this.#at = this.#input;
    this.#to = this.#input + bytes.length;
    if (bytes.length > 0 && bytes.at(-1) !== newline) this.#bytes[this.#to++] = newline;
    this.#exports.begin(start, line);
  }

  /** Takes lines until one is left, or there are enough for now; false where there are none any more. */
  next(): boolean {
    if (this.#at >= this.#to) return false;
    this.#at = this.#exports.scan(this.#at, this.#to);
    return true;
  }

  /** Lines gone over, blank ones and one that is left included. */
  get linesRead(): number {
    return this.#exports.linesRead.value;
  }

  /** The line that ends the batch, since it is left to whoever parses it: where it stands in the input. */
  get left(): Span | undefined {
    const { leftStart, leftEnd } = this.#exports;
    if (leftStart.value === 0) return undefined;
    return { start: leftStart.value - this.#input, end: leftEnd.value - this.#input };
  }

  /** How many lines and trajectories the batch has: so many numbers of each column are its own. */
  get lines(): number {
    return this.#exports.lineCount.value;
  }

  get trajectories(): number {
    return this.#exports.trajectoryCount.value;
  }

  /** The smallest and the largest reward of the batch. */
  get rewardEnds(): readonly [number, number] {
    return [this.#exports.leastReward.value, this.#exports.mostReward.value];
  }

  /** Says of which rules nothing but the number is wanted; gives them, as bits. Lines that break others are left. */
  countOnly(isWanted: (rule: RuleName) => boolean): number {
    const rules = countedRules.reduce((bits, { rule, bit }) => bits | (isWanted(rule) ? 1 << bit : 0), 0);
    this.#exports.countOnly(rules);
    return rules;
  }

  /** How often lines of the batch break rules that are only counted. */
  get counted(): readonly { readonly rule: RuleName; readonly count: number }[] {
    return countedRules.map(({ rule, bit }) => ({ rule, count: this.#columns.counted[bit] ?? 0 }));
  }

  /** The facts of the batch; valid until the next one. */
  get columns(): Columns {
    return this.#columns;
  }

  /** Forgets what was summed up. */
  forget(): void {
    this.#exports.reset();
  }

  /** What was summed up since the last time. It begins anew when `take` has looked at it. */
  takeSums(take: (sums: KernelSums) => void): void {
    const { memory, ...own } = this.#exports;
    take({
      memory: memory.buffer,
      seriesOf: own.seriesOf,
      groups: own.groupSum.value,
      trainable: own.trainableSum.value,
      exceptions: own.exceptionSum.value,
      sampled: {
        choices: own.choiceSum.value,
        scored: own.scoredSum.value,
        trajectories: own.sampledSum.value,
      },
      names: Array.from({ length: own.nameCount.value }, (_, index) => this.#nameOf(index)),
    });
    own.reset();
  }

  /** Flags of a line that is a trajectory by itself. */
  get aloneFlags(): number {
    return trajectoryFlags;
  }

  /** The group key of a line, as JSON; undefined where it has none. */
  groupKey(line: number): string | undefined {
    const { keyStarts, keyLengths } = this.#columns;
    const start = keyStarts[line] ?? 0;
    return start === 0 ? undefined : this.#bytes.toString("latin1", start, start + (keyLengths[line] ?? 0));
  }

  #nameOf(index: number): string {
    for (let at = this.#names.length; at <= index; at++) {
      const start = this.#exports.nameStart(at);
      this.#names.push(this.#bytes.toString("latin1", start, start + this.#exports.nameLength(at)));
    }
    return this.#names[index] ?? "";
  }

  #newColumns(): Columns {
    const { buffer } = this.#exports.memory;
    const doubles = (name: keyof Columns, length: number) =>
      new Float64Array(buffer, this.#exports[name].value, length);
    const words = (name: keyof Columns, length: number) => new Uint32Array(buffer, this.#exports[name].value, length);
    return {
      starts: doubles("starts", layout.mostLines),
      lengths: doubles("lengths", layout.mostLines),
      numbers: doubles("numbers", layout.mostLines),
      flags: doubles("flags", layout.mostLines),
      counts: doubles("counts", layout.mostLines),
      lineRewards: doubles("lineRewards", layout.mostLines),
      versions: doubles("versions", layout.mostLines),
      trainings: new Uint8Array(buffer, this.#exports.trainings.value, layout.mostLines),
      keyStarts: words("keyStarts", layout.mostLines),
      keyLengths: words("keyLengths", layout.mostLines),
      rewards: doubles("rewards", layout.mostTrajectories),
      prints: words("prints", layout.mostTrajectories),
      counted: words("counted", layout.countedRules),
    };
  }

  /** Makes room for an input. */
  #grow(length: number): void {
    const { memory } = this.#exports;
    const wanted = this.#input + length + spareBytes;
    if (wanted <= memory.buffer.byteLength) return;
    memory.grow(Math.ceil((wanted - memory.buffer.byteLength) / pageBytes));
    this.#bytes = Buffer.from(memory.buffer);
    this.#columns = this.#newColumns();
  }
}
