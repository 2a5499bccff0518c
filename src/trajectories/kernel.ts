/** The kernel that reads lines fast (docs/decisions/0018), as JavaScript sees it: lines go in, their facts come out. */
import { newline } from "../json.ts";
import { calculatedNames } from "./metrics.ts";

/** The kernel, compiled: threads share it. */
export type KernelModule = object;

/** What the kernel is made of, as far as it is used here. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  /** Where the input may be written to. */
  input(): number;
  /** Where the facts of lines are written to. */
  written(): number;
  linesWritten(): number;
  begin(): void;
  lines(): number;
  scan(from: number, to: number): number;
  names(): number;
  nameStart(index: number): number;
  nameLength(index: number): number;
  reserve(at: number, length: number): void;
  groupName(): number;
  setGroupName(length: number, isGiven: boolean): void;
}

/** Node has it, and its types don't. */
declare const WebAssembly: {
  readonly Instance: new (module: KernelModule, imports: object) => { readonly exports: Exports };
};

/** Fields that have a meaning of their own, so that the kernel can't take them for a group key. */
const fields: ReadonlySet<string> = new Set([
  "trajectories",
  "trajectory_groups",
  "messages_and_choices",
  "tools",
  "additional_histories",
  "reward",
  "initial_policy_version",
  "final_policy_version",
  "metrics",
  "metadata",
  "logs",
  "start_time",
]);

/** Whether the kernel can find the group key of that name. */
const isGroupName = (name: string): boolean => /^[ !#-[\]-~]{1,200}$/.test(name) && !fields.has(name);

/** What the kernel makes of a line: it is left to whoever parses it, or there is nothing to say about it. */
export type LineKind = "left" | "group" | "trajectory";

const kinds: readonly LineKind[] = ["left", "group", "trajectory"];

const pageBytes = 2 ** 16;

/** Bytes behind the input that may be looked at, in vain. */
const spareBytes = 64;

/** Words of a line's and a trajectory's facts, and of a metric's (kernel/written.ts). */
const lineWords = 10;
const trajectoryWords = 8;
const metricWords = 4;

/** A kernel at work: a cursor over the lines of a block, and over the trajectories and metrics of each. */
export class Kernel {
  readonly #exports: Exports;
  readonly #input: number;
  readonly #written: number;
  /** Names of metrics by their numbers. */
  readonly #names: string[] = [];
  #bytes: Buffer;
  #words: Uint32Array;
  #doubles: Float64Array;
  /** The input that was not gone over yet. */
  #at = 0;
  #to = 0;
  /** Lines written that were not looked at yet. */
  #left = 0;
  #line = 0;
  #nextLine = 0;
  #trajectory = 0;
  #nextTrajectory = 0;
  #metric = 0;

  private constructor(module: KernelModule) {
    const scalars = { roundedOf: (start: number, end: number) => Number(this.#bytes.toString("latin1", start, end)) };
    this.#exports = new WebAssembly.Instance(module, { scalars }).exports;
    this.#input = this.#exports.input();
    this.#written = this.#exports.written() >>> 2;
    const { buffer } = this.#exports.memory;
    this.#bytes = Buffer.from(buffer);
    this.#words = new Uint32Array(buffer);
    this.#doubles = new Float64Array(buffer);
    this.#grow(0);
    for (const name of calculatedNames) {
      this.#exports.reserve(this.#input, this.#bytes.write(name, this.#input, "latin1"));
    }
  }

  /** Puts the kernel to work; undefined where it can't find group keys of that name. */
  static open(module: KernelModule, groupBy: string | undefined): Kernel | undefined {
    if (groupBy !== undefined && !isGroupName(groupBy)) return undefined;
    const kernel = new Kernel(module);
    const name = groupBy ?? "group_id";
    kernel.#bytes.write(name, kernel.#exports.groupName(), "latin1");
    kernel.#exports.setGroupName(name.length, groupBy !== undefined);
    return kernel;
  }

  /** Takes whole lines of UTF-8; the last one may lack its end. */
  begin(bytes: Buffer): void {
    this.#grow(bytes.length);
    this.#bytes.set(bytes, this.#input);
    this.#at = this.#input;
    this.#to = this.#input + bytes.length;
    if (bytes.length > 0 && bytes.at(-1) !== newline) this.#bytes[this.#to++] = newline;
    this.#left = 0;
    this.#exports.begin();
  }

  /** Goes on to the next line that is not blank; false where there is none. */
  next(): boolean {
    while (this.#left === 0) {
      if (this.#at >= this.#to) return false;
      this.#at = this.#exports.scan(this.#at, this.#to);
      this.#left = this.#exports.linesWritten();
      this.#nextLine = this.#written;
    }
    this.#left--;
    this.#line = this.#nextLine;
    this.#nextLine = this.#word(8) >>> 2;
    this.#nextTrajectory = this.#line + lineWords;
    return true;
  }

  /** Lines gone over, blank ones included: all of the block once `next` was false. */
  get lines(): number {
    return this.#exports.lines();
  }

  get kind(): LineKind {
    return kinds[this.#word(0)] ?? "left";
  }

  /** Lines of the block before this one. */
  get line(): number {
    return this.#word(1);
  }

  /** Where the line begins and ends in the block. */
  get start(): number {
    return this.#word(2) - this.#input;
  }

  get end(): number {
    return this.#word(3) - this.#input;
  }

  /** Where its value does; not known of a line that is left. */
  get valueStart(): number {
    return this.#word(4) - this.#input;
  }

  get valueEnd(): number {
    return this.#word(5) - this.#input;
  }

  /** Of a group: its trajectories, and its exceptions. */
  get trajectories(): number {
    return this.#word(6);
  }

  get exceptions(): number {
    return this.#word(7);
  }

  /** Of a trajectory: its group key as JSON; undefined where it has none. */
  get groupKey(): string | undefined {
    const start = this.#word(6);
    return start === 0 ? undefined : this.#bytes.toString("latin1", start, start + this.#word(7));
  }

  /** Goes on to the next trajectory of the line. */
  nextTrajectory(): void {
    this.#trajectory = this.#nextTrajectory;
    this.#metric = this.#trajectory + trajectoryWords - metricWords;
    this.#nextTrajectory += trajectoryWords + this.metrics * metricWords;
  }

  get reward(): number {
    return this.#doubles[this.#trajectory >>> 1] ?? 0;
  }

  /** The newest policy version; NaN where there is none. */
  get version(): number {
    return this.#doubles[(this.#trajectory >>> 1) + 1] ?? 0;
  }

  get turns(): number {
    return this.#words[this.#trajectory + 4] ?? 0;
  }

  get characters(): number {
    return this.#words[this.#trajectory + 5] ?? 0;
  }

  get print(): number {
    return this.#words[this.#trajectory + 6] ?? 0;
  }

  get metrics(): number {
    return this.#words[this.#trajectory + 7] ?? 0;
  }

  /** Goes on to the next metric of the trajectory. */
  nextMetric(): void {
    this.#metric += metricWords;
  }

  get metricName(): string {
    const index = this.#words[this.#metric] ?? 0;
    return this.#names[index] ?? this.#nameOf(index);
  }

  get metricValue(): number {
    return this.#doubles[(this.#metric >>> 1) + 1] ?? 0;
  }

  #nameOf(index: number): string {
    for (let at = this.#names.length; at <= index; at++) {
      const start = this.#exports.nameStart(at);
      this.#names.push(this.#bytes.toString("latin1", start, start + this.#exports.nameLength(at)));
    }
    return this.#names[index] ?? "";
  }

  #word(at: number): number {
    return this.#words[this.#line + at] ?? 0;
  }

  /** Makes room for an input. */
  #grow(length: number): void {
    const { memory } = this.#exports;
    const wanted = this.#input + length + spareBytes;
    if (wanted <= memory.buffer.byteLength) return;
    memory.grow(Math.ceil((wanted - memory.buffer.byteLength) / pageBytes));
    this.#bytes = Buffer.from(memory.buffer);
    this.#words = new Uint32Array(memory.buffer);
    this.#doubles = new Float64Array(memory.buffer);
  }
}
