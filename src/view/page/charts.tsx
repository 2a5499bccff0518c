/** Plots: a bar for rewards that are close, a dot for groups whose mean and spread are; a click filters by it. */
import type { ComponentChildren } from "preact";
import { isSame, middleOf, shareIn } from "../range.ts";
import type { Bar, Dot, Selection } from "../shapes.ts";
import { groupsAddress } from "./routes.ts";
import { counted, measure, rangeText } from "./text.ts";

/** The plots' own units, which the page stretches. */
const [width, height] = [400, 130];
const edge = 8;

/** A drawing whose marks are links: it is heard as a group of them, not as a picture. */
export const Plot = ({
  name,
  viewBox,
  children,
}: {
  readonly name: string;
  /** Where it has units of its own, which are stretched. */
  readonly viewBox?: string;
  readonly children: ComponentChildren;
}) => (
  // biome-ignore lint/a11y/useSemanticElements: a fieldset holds no drawing
  <svg role="group" aria-label={name} {...(viewBox === undefined ? {} : { viewBox, preserveAspectRatio: "none" })}>
    {children}
  </svg>
);

/** How many trajectories have which reward. */
export const RewardChart = ({
  bars,
  selection,
  isMeasured,
}: {
  readonly bars: readonly Bar[];
  readonly selection: Selection;
  readonly isMeasured: boolean;
}) => {
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const step = width / Math.max(1, bars.length);
  const [first, last] = [bars[0], bars.at(-1)];
  return (
    <figure>
      <figcaption>rewards of trajectories{isMeasured ? "" : ", measuring…"}</figcaption>
      <Plot name="rewards of trajectories" viewBox={`0 0 ${width} ${height}`}>
        {bars.map(({ range, count }, at) => {
          if (count === 0) return null;
          const isOn = isSame(selection.reward, range);
          const name = `${counted(count, "trajectory")} with a reward of ${rangeText(range)}`;
          const tall = Math.max(2, (count / most) * (height - edge));
          return (
            <a
              key={at}
              href={groupsAddress({ ...selection, reward: isOn ? undefined : range })}
              aria-label={name}
              class={isOn ? "on" : ""}
            >
              <title>{name}</title>
              <rect class="room" x={at * step} y={0} width={step} height={height} />
              <rect class="bar" x={at * step + step * 0.08} y={height - tall} width={step * 0.84} height={tall} />
            </a>
          );
        })}
      </Plot>
      <Axis from={first?.range[0]} to={last?.range[1]} name="reward" />
    </figure>
  );
};

/** Which groups have signal: their mean to the right, their spread up. */
export const SpreadChart = ({
  dots,
  selection,
  isMeasured,
}: {
  readonly dots: readonly Dot[];
  readonly selection: Selection;
  readonly isMeasured: boolean;
}) => {
  const means = dots.flatMap(({ mean: [from, to] }) => [from, to]);
  const [least, most] = [Math.min(...means), Math.max(...means)];
  const widest = Math.max(...dots.map(({ spread }) => spread[1]), 0);
  const largest = Math.max(...dots.map(({ groups }) => groups), 1);
  return (
    <figure>
      <figcaption>groups by mean and spread{isMeasured ? "" : ", measuring…"}</figcaption>
      <Plot name="groups by mean and spread">
        {dots.map(({ mean, spread, groups }) => {
          const isOn = isSame(selection.mean, mean) && isSame(selection.spread, spread);
          const chosen = isOn ? { mean: undefined, spread: undefined } : { mean, spread };
          const name = `${counted(groups, "group")} with a mean of ${rangeText(mean)} and a spread of ${rangeText(spread)}`;
          return (
            <a
              key={`${mean} ${spread}`}
              href={groupsAddress({ ...selection, ...chosen })}
              aria-label={name}
              class={isOn ? "on" : ""}
            >
              <title>{name}</title>
              <circle
                class={spread[1] === 0 ? "dot flat" : "dot"}
                cx={`${2 + shareIn(middleOf(mean[0], mean[1]), least, most) * 96}%`}
                cy={`${93 - shareIn(middleOf(spread[0], spread[1]), 0, widest || 1) * 86}%`}
                r={2.5 + 6 * Math.sqrt(groups / largest)}
              />
            </a>
          );
        })}
      </Plot>
      <Axis
        from={dots.length === 0 ? undefined : least}
        to={dots.length === 0 ? undefined : most}
        name={`mean; spread up to ${measure(widest)}`}
      />
    </figure>
  );
};

const Axis = ({
  from,
  to,
  name,
}: {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly name: string;
}) => (
  <div class="axis">
    <span>{measure(from)}</span>
    <span>{name}</span>
    <span>{measure(to)}</span>
  </div>
);
