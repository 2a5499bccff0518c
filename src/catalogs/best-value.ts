/** The models of best value: no other takes as much context for as little. */
import { compareDecimals, type Decimal } from "../decimal.ts";

/** A model with both of its measures. */
interface Priced {
  /** Tokens. */
  readonly context: number;
  readonly price: Decimal;
}

/** The models that no other beats: each other one takes less context, or costs more, or is alike in both. */
export const bestValueOf = <Of extends Priced>(models: readonly Of[]): ReadonlySet<Of> => {
  const sorted = [...models].sort((a, b) => b.context - a.context || compareDecimals(a.price, b.price));
  const best = new Set<Of>();
  let last: Of | undefined;
  for (const model of sorted) {
    const difference = last === undefined ? -1 : compareDecimals(model.price, last.price);
    const isAlike = difference === 0 && model.context === last?.context;
    if (difference >= 0 && !isAlike) continue;
    best.add(model);
    last = model;
  }
  return best;
};
