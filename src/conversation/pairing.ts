/** Pairs results of tools with calls, for rules, facts and conversations. */
import { type RawJson, textAt } from "../json/raw-json.ts";
import { callsOf, isResult, messageOf } from "./message.ts";

/** Calls in their order. The calls before `next` have results. */
type Queue<Call> = { readonly calls: { readonly call: Call; isOpen: boolean }[]; next: number };

/** A result answers the first open call with its id or name, or else the one that has waited longest. */
export class OpenCalls<Call> {
  /** The queue of all calls has no key. */
  readonly #queues = new Map<string | undefined, Queue<Call>>();

  /** @param keys such as the id of the call */
  add(call: Call, ...keys: readonly (string | undefined)[]) {
    const waiting = { call, isOpen: true };
    for (const key of new Set([undefined, ...keys])) {
      const queue = this.#queues.get(key);
      if (queue) queue.calls.push(waiting);
      else this.#queues.set(key, { calls: [waiting], next: 0 });
    }
  }

  /**
   * Returns the call that the result answers; undefined if no open call fits.
   * @param key default: any call
   */
  take(key?: string): Call | undefined {
    const queue = this.#queues.get(key);
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
    const all = this.#queues.get(undefined)?.calls ?? [];
    return all.flatMap(({ call, isOpen }) => (isOpen ? [call] : []));
  }
}

/** A call, the index of its message, and that of the message with its result. */
export type PairedCall = { readonly call: RawJson; readonly at: number; result: number | undefined };

/** Pairs the calls in messages and choices with their results. */
export const pairCalls = (items: readonly RawJson[], from = 0): readonly PairedCall[] => {
  const calls: PairedCall[] = [];
  const open = new OpenCalls<PairedCall>();
  for (const [at, item] of items.entries()) {
    if (at < from) continue;
    const answered = isResult(item) ? open.take(textAt(item, "tool_call_id") || undefined) : undefined;
    if (answered) answered.result = at;
    for (const call of callsOf(messageOf(item))) {
      const made: PairedCall = { call, at, result: undefined };
      calls.push(made);
      open.add(made, textAt(call, "id") || undefined);
    }
  }
  return calls;
};
