/** Displays numbers and rewards. */
import { isCutOff } from "../../rollouts/facts.ts";
import { relativePosition } from "../answer-queries.ts";
import type { Range, Slice, TrajectorySummary } from "../answers.ts";
import { usePage } from "./navigation.tsx";

export const formatCount = (value: number) =>
  Number.isInteger(value) && Math.abs(value) < 1000 ? String(value) : value.toLocaleString("en");

const withMinus = (digits: string) => digits.replace(/^-/, "−");

export const formatMeasure = (value: number | boolean | null | undefined) => {
  if (typeof value === "boolean") return String(value);
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size > 0 && (size >= 1e6 || size < 1e-3)) return withMinus(value.toExponential(2));
  // With 3 digits, a mean close to 1 would be 1.
  return withMinus(
    size < 1 ? String(Number(value.toPrecision(size < 0.9995 ? 3 : 6))) : formatCount(Number(value.toPrecision(6))),
  );
};

/** Bounds need 6 digits to separate similar values. */
const formatBound = (value: number) => withMinus(String(Number(value.toPrecision(6))));

export const formatRange = ([from, to, below]: Range) =>
  from === to ? formatBound(from) : `${formatBound(from)} to ${below ? "below " : ""}${formatBound(to)}`;

export const pluralizeCount = (count: number, noun: string) =>
  `${formatCount(count)} ${count === 1 ? noun : noun.endsWith("y") ? `${noun.slice(0, -1)}ies` : `${noun}s`}`;

export const useRewardStyle = () => {
  const { scale } = usePage();
  return (reward: number) => ({ "--share": relativePosition(reward, ...scale).toFixed(3) });
};

export const Reward = ({ value }: { value: number | null | undefined }) => {
  const styleOf = useRewardStyle();
  return (
    <span class="reward">
      {formatMeasure(value)}
      {typeof value === "number" && <i class="swatch" style={styleOf(value)} />}
    </span>
  );
};

type MomentsProps = { mean: number | null; spread: number | null; ci95?: Slice["ci95"] };

export const Moments = ({ mean, spread, ci95 }: MomentsProps) => (
  <>
    <b class="mean">{formatMeasure(mean)}</b>{" "}
    {ci95 && <span title={`95 % interval: ${ci95.map(formatMeasure).join(" to ")}`}>{formatHalfWidth(ci95)}</span>} sd{" "}
    {formatMeasure(spread)}
  </>
);

const formatHalfWidth = ([low = 0, high = 0]: readonly number[]) => `± ${formatMeasure((high - low) / 2)},`;

/** The facts of a trajectory with the headings of `stats --each trajectory`; only the step of an invalid trajectory. */
export const listFacts = ({ step, facts }: TrajectorySummary) => {
  const { reward, advantage, ...others } = facts ?? {};
  return Object.fromEntries(
    Object.entries({ step, ...others }).map(([name, value]) => [name.replace("_", " "), value]),
  );
};

/** An unknown fact is empty, never 0. */
export const formatFact = (value: number | string | boolean | null | undefined) =>
  typeof value === "number" ? formatCount(value) : (value ?? "");

export const isTruncated = (member: TrajectorySummary | undefined) => isCutOff(member?.facts?.finish_reason);

export const Truncated = () => (
  <span class="trouble" title="the last answer was cut off at the token limit">
    truncated
  </span>
);

const maxStripRewards = 16;

export const RewardStrip = ({ rewards }: { rewards: readonly number[] }) => {
  const styleOf = useRewardStyle();
  const sorted = rewards.toSorted((a, b) => a - b);
  const count = Math.min(sorted.length, maxStripRewards);
  const step = (sorted.length - 1) / Math.max(1, count - 1);
  const shown = Array.from({ length: count }, (_, at) => sorted[Math.round(at * step)] ?? 0);
  const noun = count < sorted.length ? `${count} of ${formatCount(sorted.length)} rewards` : "rewards";
  const text = `${noun} ${shown.map(formatMeasure).join(", ")}`;
  return shown.length === 0 ? null : (
    <span class="strip" role="img" aria-label={text} title={text}>
      {shown.map((reward, at) => (
        <i key={at} style={styleOf(reward)} />
      ))}
    </span>
  );
};

export const formatAdvantage = (advantage: number | null | undefined) =>
  `${(advantage ?? 0) > 0 ? "+" : ""}${formatMeasure(advantage)}`;
