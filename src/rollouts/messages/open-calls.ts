/** Pairs results of tools with calls, for rules, facts and conversations. */

interface CallsOfKey {
  /** Positions of the calls, in their order. */
  readonly positions: number[];
  answered: number;
}

/** A result answers the first open call with its id or name, or else the one that has waited longest. */
export class OpenCalls<Call> {
  readonly #keyOf: (call: Call) => string | undefined;
  /** Undefined: answered. */
  readonly #calls: (Call | undefined)[] = [];
  /** Only results out of order need this map, so the calls up to `#indexed` are in it. */
  #byKey: Map<string, CallsOfKey> | undefined;
  #indexed = 0;
  #oldest = 0;

  constructor(keyOf: (call: Call) => string | undefined) {
    this.#keyOf = keyOf;
  }

  add(call: Call) {
    this.#calls.push(call);
  }

  /**
   * Returns the call that the result answers; undefined if no open call fits.
   * @param key default: any call
   * @param isOpen false for a call that has a result
   */
  take(key?: string, isOpen: (call: Call) => boolean = () => true): Call | undefined {
    let call = this.#takeFirst(key);
    while (call !== undefined && !isOpen(call)) call = this.#takeFirst(key);
    return call;
  }

  #takeFirst(key: string | undefined) {
    const calls = this.#calls;
    while (this.#oldest < calls.length && calls[this.#oldest] === undefined) this.#oldest++;
    const oldest = calls[this.#oldest];
    if (oldest !== undefined && (key === undefined || this.#keyOf(oldest) === key)) return this.#takeAt(this.#oldest);
    return key === undefined ? undefined : this.#takeByKey(key);
  }

  #takeByKey(key: string) {
    for (; this.#indexed < this.#calls.length; this.#indexed++) this.#index(this.#calls[this.#indexed]);
    const own = this.#byKey?.get(key);
    while (own && own.answered < own.positions.length) {
      const call = this.#takeAt(own.positions[own.answered++] ?? 0);
      if (call !== undefined) return call;
    }
    return undefined;
  }

  #index(call: Call | undefined) {
    const key = call === undefined ? undefined : this.#keyOf(call);
    if (key === undefined) return;
    this.#byKey ??= new Map();
    const own = this.#byKey.get(key) ?? { positions: [], answered: 0 };
    if (own.positions.push(this.#indexed) === 1) this.#byKey.set(key, own);
  }

  #takeAt(position: number) {
    const call = this.#calls[position];
    this.#calls[position] = undefined;
    return call;
  }

  /** Returns the calls without a result, in their order. */
  open(): readonly Call[] {
    return this.#calls.filter((call) => call !== undefined);
  }
}
