/** Lists the facts of a trajectory (metrics.md), in Node and in browsers. */

/** What facts are read from. */
export interface FactRow {
  readonly reward: number;
  /** The mean reward of the group before a selection; null without a finite reward. */
  readonly mean: number | null;
  /** True if the reward is at least `--pass`. */
  readonly isSolved: boolean;
  readonly finishReason: string | undefined;
  /** The facts of the type `count`, by name; null if unknown. */
  readonly counts: Readonly<Record<string, number | null>>;
}

export type FactValue = number | boolean | string | null;

/** OpenAI's reasons (openai-python, types/chat/chat_completion.py). */
export const finishReasons: ReadonlySet<string> = new Set(
  "stop length tool_calls content_filter function_call".split(" "),
);

/** True for the finish reason of an answer that the token limit cut off. */
export const isCutOff = (finishReason: unknown) => finishReason === "length";

export interface Fact {
  readonly name: string;
  /** For docs/reference/metrics.md. */
  readonly about: string;
  /** Says when the value is null. Default: never. */
  readonly unknown?: string;
  readonly type: "number" | "count" | "flag" | "text";
  /** True if `stats` shows the distribution of the counts. */
  readonly isLength?: true;
  /** How a group's value follows from those of its trajectories. Default: groups have no value. */
  readonly inGroup?: "mean" | "sum";
  /** The ranks of the columns of trajectories and of groups: a narrow terminal shows low ranks. */
  readonly ranks: readonly [trajectory: number, group?: number];
  /** Default: the count with this name. */
  readonly read?: (row: FactRow) => FactValue;
}

const list = [
  {
    name: "reward",
    about: "the reward",
    unknown: "it is not finite",
    type: "number",
    inGroup: "mean",
    ranks: [0, 0],
    read: ({ reward }) => (Number.isFinite(reward) ? reward : null),
  },
  {
    name: "advantage",
    about: "the reward minus the mean of the rewards of its group",
    unknown: "the reward is not finite",
    type: "number",
    ranks: [5],
    read: ({ reward, mean }) => (Number.isFinite(reward) && mean !== null ? reward - mean : null),
  },
  {
    name: "solved",
    about: "true if the reward is at least `--pass` (default 1), with a tolerance of 1e-12",
    unknown: "the reward is not finite",
    type: "flag",
    inGroup: "sum",
    ranks: [7, 2],
    read: ({ reward, isSolved }) => (Number.isFinite(reward) ? isSolved : null),
  },
  {
    name: "turns",
    about: "choices. Without choices: assistant messages",
    type: "count",
    isLength: true,
    inGroup: "mean",
    ranks: [3, 5],
  },
  {
    name: "characters",
    about:
      "code points of the content, the reasoning and the arguments of tool calls in the turns. If a turn has the reasoning under two names, the longer one",
    type: "count",
    isLength: true,
    inGroup: "mean",
    ranks: [6, 6],
  },
  {
    name: "tokens",
    about:
      "sampled tokens with recorded log probabilities (elements of `logprobs.content` and `refusal`). If no turn has them, the number that the record states (`completion_tokens`, `output_tokens`, also in `usage`, `token_usage`, `metadata` and `metrics`)",
    unknown: "the record has neither",
    type: "count",
    isLength: true,
    inGroup: "mean",
    ranks: [6, 6],
  },
  {
    name: "finish_reason",
    about: "the `finish_reason` of the last choice",
    unknown: "there is no choice, or a converted record states none",
    type: "text",
    ranks: [2],
    read: ({ finishReason }) => finishReason ?? null,
  },
  {
    name: "tool_calls",
    about: "tool calls in the turns",
    type: "count",
    inGroup: "sum",
    ranks: [4, 7],
  },
  {
    name: "tool_errors",
    about: "results of the calls in the turns, and results without a known call, that are marked as errors (see below)",
    type: "count",
    inGroup: "sum",
    ranks: [3, 6],
  },
  {
    name: "unanswered",
    about: "tool calls in the turns before the last message that have no result",
    type: "count",
    inGroup: "sum",
    ranks: [7, 8],
  },
] as const satisfies readonly Fact[];

type KnownFact = (typeof list)[number];
type ValueOf<One> = One extends { readonly read: (row: FactRow) => infer Value } ? Value : number | null;
export type FactValues = { readonly [One in KnownFact as One["name"]]: ValueOf<One> };
export type CountName = Extract<KnownFact, { readonly type: "count" }>["name"];
export type LengthName = Extract<KnownFact, { readonly isLength: true }>["name"];

export const facts: readonly Fact[] = list;

/** The facts of which groups have a summary. */
export const groupFacts = facts.filter(({ inGroup }) => inGroup !== undefined);

/** The key of a group with the indexes of the trajectories whose last finish reason `convert` derived. */
export const derivedFinishesKey = "derived_finish_reasons";

export const countNames: readonly CountName[] = list.flatMap((fact) => (fact.type === "count" ? fact.name : []));
export const lengthNames: readonly LengthName[] = list.flatMap((fact) => ("isLength" in fact ? fact.name : []));

export const countIndexes: Readonly<Record<CountName, number>> = Object.fromEntries(
  countNames.map((name, at): readonly unknown[] => [name, at]),
);

export const mapLengths = <Value>(map: (name: LengthName) => Value): Record<LengthName, Value> =>
  Object.fromEntries(lengthNames.map((name): readonly unknown[] => [name, map(name)]));

export const mapFacts = <Value>(of: readonly Fact[], map: (fact: Fact) => Value): Readonly<Record<string, Value>> =>
  Object.fromEntries(of.map((fact) => [fact.name, map(fact)]));

const readFact = ({ name, read }: Fact, row: FactRow): FactValue => (read ? read(row) : (row.counts[name] ?? null));

export const readFacts = (row: FactRow): FactValues =>
  Object.fromEntries(facts.map((fact): readonly unknown[] => [fact.name, readFact(fact, row)]));
