/** Has the kernel take lines, and gives back those that it leaves. */

import type { Found } from "../../groups/parts/found.ts";
import type { Span } from "../../json/walk.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { addBatch, addSums } from "../kernel/results.ts";
import type { Text } from "../rules/places.ts";

/**
 * Where the kernel left nearly all lines of a block, its last too, the next is read without it, after another such block three,
 * and so on up to so many: what it looks at in vain costs a tenth, and what it counts by itself it takes once enough are known.
 */
const mostWithoutKernel = 15;

/** It is worth its tenth where it takes at least one line for so many that it leaves. */
const mostLeftForOne = 6;

/** Lines of UTF-8 that the kernel is given. */
interface Passed {
  /** The bytes that are taken, and the same as lines where they are none. */
  readonly text: Text;
  readonly asLines?: Buffer;
  /** Position of their source among the inputs. */
  readonly source: number;
  /** Told of each batch before it is added; where it says false, that is the end. */
  readonly onBatch: (kernel: Kernel) => boolean;
  /** Told of a line that was left, and how many were gone over, this one included; where it says false, that is the end. */
  readonly onLeft: (left: Span, lines: number) => boolean;
}

/** The kernel, as one source is read with it. */
export class KernelLines {
  readonly #open: ((bytes?: number) => Kernel | undefined) | undefined;
  #kernel: Kernel | undefined;
  /** Blocks that are still to be read without the kernel. */
  #without = 0;
  #pause = 0;

  /** @param open opens it for so many bytes, where it is worth that */
  constructor(open: ((bytes?: number) => Kernel | undefined) | undefined) {
    this.#open = open;
  }

  /** The kernel, where it takes so many bytes. */
  opened(bytes: number): Kernel | undefined {
    this.#kernel ??= this.#open?.(bytes);
    return this.#kernel;
  }

  /** Whether the next block of so many bytes is given to it. */
  takes(bytes: number): boolean {
    return this.opened(bytes) !== undefined && this.#without-- <= 0;
  }

  /** Puts what it summed up to what was found. */
  settle(found: Found): void {
    if (this.#kernel !== undefined) addSums(found, this.#kernel);
  }

  /** Gives it lines; how many it went over, or undefined where somebody ended that. */
  pass(found: Found, { text, asLines = text.bytes, source, onBatch, onLeft }: Passed): number | undefined {
    const kernel = this.#kernel;
    if (kernel === undefined) return undefined;
    const { problems } = found;
    kernel.begin({ ...text, bytes: asLines });
    let [taken, findings] = [0, 0];
    const countOnly = () => kernel.countOnly((rule) => problems.isOnlyCounted(rule));
    const countedAtFirst = countOnly();
    while (kernel.next()) {
      const { left, lines, linesRead } = kernel;
      taken += lines;
      if (!onBatch(kernel)) return undefined;
      addBatch(found, { kernel, text, source });
      if (left === undefined) continue;
      findings++;
      if (!onLeft(left, linesRead)) return undefined;
      countOnly();
    }
    // What it counts from now on was left so far.
    const isInVain = findings > mostLeftForOne * taken && kernel.left !== undefined && countOnly() === countedAtFirst;
    this.#pause = isInVain ? Math.min(mostWithoutKernel, 2 * this.#pause + 1) : 0;
    this.#without = this.#pause;
    return kernel.linesRead;
  }
}
