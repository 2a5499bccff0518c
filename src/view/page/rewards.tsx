/** Displays rewards in a scale of colors and heights, from the lowest to the highest reward of the input. */
import { relativePosition } from "../answer-queries.ts";
import { formatMeasure } from "./format.ts";
import { usePage } from "./page-context.ts";

/** Styles a reward by its position in the scale, from 0 to 1. The style sheet derives color and height from it. */
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

export const Moments = ({ mean, spread }: { mean: number | null; spread: number | null }) => (
  <>
    <b class="mean">{formatMeasure(mean)}</b> ± {formatMeasure(spread)}
  </>
);

const maxStripRewards = 16;

export const RewardStrip = ({ rewards }: { rewards: readonly number[] }) => {
  const styleOf = useRewardStyle();
  const sorted = rewards.toSorted((a, b) => a - b);
  const count = Math.min(sorted.length, maxStripRewards);
  const step = (sorted.length - 1) / Math.max(1, count - 1);
  const shown = Array.from({ length: count }, (_, at) => sorted[Math.round(at * step)] ?? 0);
  const text = `rewards ${shown.map(formatMeasure).join(", ")}`;
  return shown.length === 0 ? null : (
    <span class="strip" role="img" aria-label={text} title={text}>
      {shown.map((reward, at) => (
        <i key={at} style={styleOf(reward)} />
      ))}
    </span>
  );
};

export const formatAdvantage = (advantage: number | null | undefined) =>
  typeof advantage === "number" ? `${advantage < 0 ? "−" : "+"}${Math.abs(advantage).toFixed(2)}` : "–";
