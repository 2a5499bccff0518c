/** What trajectories say that they took: tokens and cost, of their usage, their choices' or their metrics; nothing is computed. */
import { costIn, tokensIn } from "../calls/index.ts";
import { formatDecimal } from "../decimal.ts";
import { readSpelled } from "../json/read-spelled.ts";
import type { Spelled } from "../json/spelled.ts";
import { elementSpans, memberSpans, type Span, textOf, wholeOf } from "../json/walk.ts";

interface Spent {
  readonly tokens: number | undefined;
  readonly cost: number | undefined;
}

/** Names under which something of it stands: most trajectories have none, and are not gone over. */
const usageName = Buffer.from('"usage"');
const names = [
  usageName,
  ...['"prompt_tokens"', '"input_tokens"', '"total_tokens"', '"cost"', '"total_cost"', '_tokens_total_cost"'].map(
    (name) => Buffer.from(name),
  ),
];

/** What each trajectory took, of a group or one alone. `bytes` is one JSON object. */
export const spentIn = (bytes: Buffer): readonly Spent[] => {
  if (!names.some((name) => bytes.includes(name))) return [];
  const own = memberSpans(bytes, wholeOf(bytes));
  const group = own.get("trajectories");
  const all = group === undefined ? [own] : elementSpans(bytes, group).map((span) => memberSpans(bytes, span));
  return all.map((trajectory) => spentBy(bytes, trajectory));
};

const spentBy = (bytes: Buffer, members: ReadonlyMap<string, Span>): Spent => {
  const at = (span: Span | undefined): readonly Spelled[] =>
    span === undefined ? [] : [readSpelled(textOf(bytes, span))];
  const messages = members.get("messages_and_choices");
  const choices = messages !== undefined && bytes.includes(usageName) ? elementSpans(bytes, messages) : [];
  // The first of these that says something says all: a sum that stands beside its parts is no further one.
  const places = [
    at(members.get("usage")),
    choices.flatMap((span) => at(memberSpans(bytes, span).get("usage"))),
    at(members.get("metrics")),
  ];
  return {
    tokens: firstSum(places, (value) => numberOf(tokensIn(value))),
    cost: firstSum(places, (value) => {
      const cost = costIn(value);
      return cost === undefined ? undefined : Number(formatDecimal(cost));
    }),
  };
};

const numberOf = (count: bigint | undefined): number | undefined => (count === undefined ? undefined : Number(count));

/** The sum at the first place at which there is anything. */
const firstSum = (
  places: readonly (readonly Spelled[])[],
  amountIn: (value: Spelled) => number | undefined,
): number | undefined => {
  const amounts = places.map((values) => values.flatMap((value) => amountIn(value) ?? []));
  return amounts.find(({ length }) => length > 0)?.reduce((sum, one) => sum + one, 0);
};
