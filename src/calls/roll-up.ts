/** Counts the tokens and costs of a call once, although its parent calls include them. */
import { addDecimals, compareDecimals, type Decimal, multiplyDecimals, zero } from "../text/decimal.ts";
import { type TokenKind, tokenKinds } from "./usage.ts";

export type Amounts = Readonly<Partial<Record<TokenKind | "usd", Decimal>>>;
type AmountsByModel = ReadonlyMap<string, Amounts>;

interface TreeCall {
  readonly id: string | undefined;
  readonly parentId: string | undefined;
  readonly traceId: string | undefined;
  /** Has only amounts of this call after `removeRollUps`. */
  amounts: AmountsByModel;
  /** Models with an unknown cost, also of an included child. */
  readonly unpriced: Set<string>;
}

/**
 * Subtracts the amounts of child calls from those of their parents. Returns the number of these parents.
 * Assumed: a parent has at least the amounts of its children if it includes them.
 */
export const removeRollUps = (calls: readonly TreeCall[]) => {
  const children = findChildren(calls);
  const isChild = new Set([...children.values()].flat());
  const ordered = calls.filter((call) => !isChild.has(call));
  // Grows in the loop. Calls in a cycle are never reached, and keep their amounts.
  for (const call of ordered) for (const child of children.get(call) ?? []) ordered.push(child);
  const wholes = new Map<TreeCall, AmountsByModel>();
  let rollUps = 0;
  for (const call of ordered.toReversed()) {
    const below = (children.get(call) ?? []).map((child) => wholes.get(child) ?? child.amounts);
    const inChildren = below.reduce(addByModel, new Map());
    const included = new Map(
      [...inChildren].filter(([model, amounts]) => isIncluded(amounts, call.amounts.get(model))),
    );
    const others = new Map([...inChildren].filter(([model]) => !included.has(model)));
    wholes.set(call, addByModel(call.amounts, others));
    if (included.size === 0) continue;
    rollUps++;
    for (const child of children.get(call) ?? [])
      for (const model of child.unpriced) if (included.has(model)) call.unpriced.add(model);
    call.amounts = new Map(
      Array.from(call.amounts, ([model, amounts]) => [model, combine(amounts, included.get(model) ?? {}, subtract)]),
    );
  }
  return rollUps;
};

/** If the parent is unknown, the only root of the trace is the parent, because it includes all calls. */
const findChildren = (calls: readonly TreeCall[]) => {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const roots = new Map<string | undefined, TreeCall | undefined>();
  for (const call of calls)
    if (call.parentId === undefined) roots.set(call.traceId, roots.has(call.traceId) ? undefined : call);
  const children = new Map<TreeCall, TreeCall[]>();
  for (const call of calls) {
    if (call.parentId === undefined) continue;
    const parent = byId.get(call.parentId) ?? (call.traceId === undefined ? undefined : roots.get(call.traceId));
    const siblings = parent && (children.get(parent) ?? []);
    if (siblings) children.set(parent, siblings);
    siblings?.push(call);
  }
  return children;
};

const kinds = [...tokenKinds, "usd"] as const;

const add = (a: Amounts, b: Amounts): Amounts => ({ ...b, ...combine(a, b, addDecimals) });

/** Returns only the kinds of `a`. */
const combine = (a: Amounts, b: Amounts, compute: (a: Decimal, b: Decimal) => Decimal): Amounts =>
  Object.fromEntries(
    kinds.flatMap((kind) => {
      const amount = a[kind];
      return amount ? [[kind, compute(amount, b[kind] ?? zero)]] : [];
    }),
  );

const addByModel = (sums: AmountsByModel, more: AmountsByModel): AmountsByModel =>
  new Map([...sums, ...Array.from(more, ([model, amounts]) => [model, add(sums.get(model) ?? {}, amounts)] as const)]);

/** Never below zero, because services round costs. */
const subtract = (whole: Decimal, part: Decimal) => {
  const rest = addDecimals(whole, multiplyDecimals(part, { digits: -1n, places: 0 }));
  return rest.digits < 0n ? zero : rest;
};

/** Allows for rounding. Costs are compared only without tokens. */
const isIncluded = (part: Amounts, whole: Amounts = {}) => {
  const common = kinds.filter((kind) => part[kind] && whole[kind]);
  const compared = common[0] === "usd" ? common : common.filter((kind) => kind !== "usd");
  const rounded = (kind: (typeof kinds)[number]) =>
    multiplyDecimals(part[kind] ?? zero, { digits: 999_999_999n, places: 9 });
  return compared.length > 0 && compared.every((kind) => compareDecimals(rounded(kind), whole[kind] ?? zero) <= 0);
};
