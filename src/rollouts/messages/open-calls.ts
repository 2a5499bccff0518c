/** Pairs results of tools with calls, for rules, facts and conversations. */

type Waiting<Call> = { readonly call: Call; isOpen: boolean };

/** Calls in their order. The calls before `next` have results. */
interface Queue<Call> {
  readonly calls: Waiting<Call>[];
  next: number;
}

/** A result answers the first open call with its id or name, or else the one that has waited longest. */
export class OpenCalls<Call> {
  readonly #all: Queue<Call> = { calls: [], next: 0 };
  readonly #byKey = new Map<string, Queue<Call>>();

  /** @param keys such as the id of the call */
  add(call: Call, ...keys: readonly (string | undefined)[]) {
    const waiting = { call, isOpen: true };
    this.#all.calls.push(waiting);
    for (const key of keys) {
      const queue = key === undefined ? undefined : this.#byKey.get(key);
      if (queue) queue.calls.push(waiting);
      else if (key !== undefined) this.#byKey.set(key, { calls: [waiting], next: 0 });
    }
  }

  /**
   * Returns the call that the result answers; undefined if no open call fits.
   * @param key default: any call
   */
  take(key?: string): Call | undefined {
    const queue = key === undefined ? this.#all : this.#byKey.get(key);
    while (queue && queue.next < queue.calls.length) {
      const first = queue.calls[queue.next++];
      if (!first?.isOpen) continue;
      first.isOpen = false;
      return first.call;
    }
    return undefined;
  }

  /** Returns the calls without a result, in their order. */
  open(): readonly Call[] {
    return this.#all.calls.flatMap(({ call, isOpen }) => (isOpen ? [call] : []));
  }
}
