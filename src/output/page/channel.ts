/** Hands values from who makes them to who takes them one by one. */

/** A channel that holds one value at a time. */
export interface Channel<Value> {
  /** What was pushed, until the end. */
  readonly values: AsyncIterable<Value>;
  /** Resolves when the value was taken and another may come, or nobody takes any more. */
  push(value: Value): Promise<void>;
  /** Nothing more will be pushed. */
  end(): void;
  /** Nothing more will be taken. */
  leave(): void;
}

/** Opens an empty channel. */
export const openChannel = <Value>(): Channel<Value> => {
  let held: { readonly value: Value; readonly taken: () => void } | undefined;
  let wake: (() => void) | undefined;
  let ended = false;
  let left = false;
  const take = (): Value | undefined => {
    const { value, taken } = held ?? {};
    held = undefined;
    taken?.();
    return value;
  };
  async function* values(): AsyncGenerator<Value, void> {
    for (;;) {
      const value = take();
      if (value !== undefined) yield value;
      else if (ended) return;
      else {
        await new Promise<void>((settle) => {
          wake = settle;
        });
      }
    }
  }
  return {
    values: values(),
    push: (value) =>
      new Promise((settle) => {
        if (left) return settle();
        held = { value, taken: settle };
        wake?.();
      }),
    end() {
      ended = true;
      wake?.();
    },
    leave() {
      left = true;
      take();
    },
  };
};
