/** Draws the mean rewards of steps or files with their intervals, and the shares of truncated and failed rollouts. */
import { formatPercent } from "../../text/units.ts";
import type { Charts, Slice } from "../answers.ts";
import { Chart, FilterLink, findEnds, maxCountCharacters, toX, toY } from "./charts.tsx";
import { usePage } from "./navigation.tsx";
import { formatCount, formatMeasure, pluralizeCount, useRewardStyle } from "./numbers.tsx";

type Series = Charts["series"][number];

type SeriesProps = Series & { whole: Slice; isFiltered: boolean; stepName: string };

export const SeriesChart = ({ by, values: given, of, whole, isFiltered, stepName }: SeriesProps) => {
  const styleOf = useRewardStyle();
  // Without a filter, the gray values would be behind equal ones.
  const values = isFiltered ? given : given.map(({ value, all }) => ({ value, all, selected: all }));
  const slices = values.flatMap(({ all, selected }) => (selected ? [all, selected] : [all]));
  const means = [whole, ...slices].flatMap(({ mean, ci95 }) => [mean ?? [], ci95 ?? []].flat());
  const { min, max, start, end } = findEnds(means, usePage().scale);
  const xOf = (at: number) => toX(at, 0, values.length - 1);
  const yOf = (value = 0) => toY(value, min, max);
  const nameOf = (value: string | null) => value?.split("/").at(-1) ?? `no ${by}`;
  const names = values.map(({ value }) => nameOf(value));
  const isNamed = names.join(" ").length <= maxCountCharacters;
  const kinds = shareKinds.filter((kind) => whole[kind] > 0);
  const drawLine = (key: "all" | "selected") => {
    const points = values.flatMap((value, at) => (value[key]?.mean == null ? [] : { at, y: yOf(value[key].mean) }));
    return points.slice(1).map(({ at, y }, before) => {
      const { at: from = 0, y: y1 } = points[before] ?? {};
      return <line key={at} class={`step ${key}`} x1={xOf(from)} y1={y1} x2={xOf(at)} y2={y} />;
    });
  };
  const drawInterval = (x: string, key: "all" | "selected", ci95: Slice["ci95"] | undefined) =>
    ci95 && <line class={`interval ${key}`} x1={x} x2={x} y1={yOf(ci95[0])} y2={yOf(ci95[1])} />;
  return (
    <Chart
      name={`mean reward by ${by === "step" ? stepName : by}`}
      legend={[
        whole.ci95 && <span title="the 95 % interval of all">┄ all</span>,
        values.length < of && `the first ${formatCount(values.length)} of ${formatCount(of)} values`,
        ...kinds.map((kind) => (
          <span key={kind} class={kind}>
            ■ {kind === "failures" ? "failed" : kind}
          </span>
        )),
      ]}
      x={isNamed ? names : [names[0], names.at(-1)]}
      y={["mean", end, start]}
      below={kinds.length > 0 ? drawShares(values, kinds) : undefined}
    >
      {whole.ci95?.map((bound) => (
        <line key={bound} class="band" x1="0" x2="100%" y1={yOf(bound)} y2={yOf(bound)} />
      ))}
      {isFiltered && drawLine("all")}
      {drawLine("selected")}
      {values.map(({ value, all, selected }, at) => {
        const { mean } = selected ?? all;
        if (mean === null) return null;
        const style = selected ? styleOf(mean) : { "--color": "var(--rest)" };
        const title = by === "step" && value !== null ? `${stepName} ${value}` : (value ?? nameOf(value));
        const point = [
          isFiltered && drawInterval(xOf(at), "all", all.ci95),
          drawInterval(xOf(at), "selected", selected?.ci95),
          <circle key="dot" class="dot" style={style} cx={xOf(at)} cy={yOf(mean)} r={4} />,
        ];
        if (value === null) return <g key={at}>{point}</g>;
        return (
          <FilterLink key={at} name={`${title}: ${describe(selected ?? all)}`} filter={{ [by]: value }}>
            {point}
          </FilterLink>
        );
      })}
    </Chart>
  );
};

const shareKinds = ["truncated", "failures"] as const;
type ShareKind = (typeof shareKinds)[number];

const shareOf = (slice: Slice | null, kind: ShareKind) => {
  if (!slice) return 0;
  const rollouts = slice.trajectories + (kind === "failures" ? slice.failures : 0);
  return rollouts === 0 ? 0 : slice[kind] / rollouts;
};

const drawShares = (values: Series["values"], kinds: readonly ShareKind[]) => {
  const slices = values.flatMap(({ all, selected }) => [all, selected]);
  const highest = Math.max(0, ...slices.flatMap((slice) => kinds.map((kind) => shareOf(slice, kind)))) || 1;
  const width = Math.min(30 / values.length, 2);
  const children = values.flatMap(({ all, selected }, at) =>
    kinds.flatMap((kind, nth) =>
      [...new Set([all, selected])].map((slice) => {
        const height = (100 * shareOf(slice, kind)) / highest;
        const x = `calc(${toX(at, 0, values.length - 1)} + ${(nth - kinds.length / 2) * width}%)`;
        const size = { y: `${100 - height}%`, width: `${width}%`, height: `${height}%` };
        return (
          <rect
            key={`${at} ${kind} ${slice === all}`}
            class={slice === selected ? kind : "rest"}
            style={{ x }}
            {...size}
          />
        );
      }),
    ),
  );
  return { top: formatPercent(highest, 1, Math.round), children };
};

const describe = ({ mean, ci95, trainable, groups, truncated, failures }: Slice) => {
  const interval = ci95 ? ` (${ci95.map(formatMeasure).join(" to ")})` : "";
  const counts = `${trainable} of ${pluralizeCount(groups, "group")} trainable`;
  return `a mean of ${formatMeasure(mean)}${interval}, ${counts}, ${formatCount(truncated)} truncated, ${formatCount(failures)} failed`;
};
