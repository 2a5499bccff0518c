/** Prints statistics as a page. */
import { printPage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import type { Line, Section } from "../../output/views.ts";
import { lengthNames } from "../../rollouts/facts.ts";
import type { Mean } from "../../rollouts/stats/intervals.ts";
import type { Stats } from "../../rollouts/stats/stats-slice.ts";
import type { DatasetStats } from "../../rollouts/stats/stats-slices.ts";
import { pluralize } from "../../text/sentences.ts";
import { formatForDisplay as format, formatShare } from "../../text/units.ts";

export const printStatsPage = async (screen: Screen, { whole, rewards }: DatasetStats) => {
  const counts = [
    { label: "groups", text: String(whole.groups) },
    { label: "trajectories", text: String(whole.trajectories) },
    ...(whole.exceptions > 0 ? [{ label: "exceptions", text: String(whole.exceptions) }] : []),
  ];
  const sections: readonly Section[] = [
    { lines: counts },
    { title: "Reward", lines: listRewards(whole) },
    { title: "Trajectories by reward", lines: listRanges(rewards) },
    { title: `Solved, with a reward of at least ${whole.solved?.at}`, lines: listSolved(whole) },
    { title: "Last finish reasons", lines: listFinishes(whole) },
    { title: "Lengths", lines: listLengths(whole) },
    { title: "Tools", lines: listTools(whole) },
    { title: "Metrics", lines: listMetrics(whole) },
  ];
  await printPage(screen, { sections });
};

const formatMean = ({ mean, ci95 }: Mean) =>
  ci95 ? `${format(mean)}, between ${ci95.map(format).join(" and ")} (95 % interval)` : format(mean);

const formatPart = ({ trajectories }: { trajectories: number }, of: number) =>
  trajectories < of ? ` (${trajectories} of ${of} trajectories)` : "";

const listRewards = ({ reward, solved }: Stats): readonly Line[] => {
  if (!reward || !solved) return [];
  const { std_dev, within_group_std_dev, min, p10, p50, p90, max } = reward;
  return [
    { label: "mean", text: formatMean(reward) },
    { label: "standard deviation", text: `${format(std_dev)}, within groups ${format(within_group_std_dev)}` },
    { label: "min, median, max", text: [min, p50, max].map(format).join(", ") },
    { label: "p10, p90", text: [p10, p90].map(format).join(", ") },
  ];
};

const barWidth = 24;

const drawBar = (share: number) => {
  const eighths = Math.round(share * barWidth * 8);
  const rest = eighths % 8;
  const partial = rest === 0 ? "" : String.fromCharCode("█".charCodeAt(0) + 8 - rest);
  return "█".repeat(Math.floor(eighths / 8)) + partial;
};

const listRanges = (rewards: Float64Array): readonly Line[] => {
  const bars = computeBars(rewards);
  const max = Math.max(...bars.map(({ count }) => count));
  const text = (count: number) => `${String(count).padStart(String(max).length)}  ${drawBar(count / max)}`.trimEnd();
  return bars.map(({ name, count }) => ({ label: name, text: text(count) }));
};

const maxBars = 8;

/** Returns at most eight ranges of ascending rewards, or single rewards, with their numbers of trajectories. */
export const computeBars = (rewards: Float64Array) => {
  const distinct: number[] = [];
  for (const value of rewards) {
    // Adding 0 turns -0 into 0.
    if (value !== distinct.at(-1)) distinct.push(value + 0);
    if (distinct.length > maxBars) break;
  }
  const [min = 0, max = min] = [rewards.at(0), rewards.at(-1)];
  if (distinct.length <= maxBars) {
    const names = distinct.map(format);
    const areDistinct = new Set(names).size === names.length;
    return distinct.map((value, at) => {
      const count = rewards.lastIndexOf(value) - rewards.indexOf(value) + 1;
      return { name: (areDistinct && names[at]) || String(value), count };
    });
  }
  const minStep = (max - min) / (maxBars - 2);
  const magnitude = 10 ** Math.floor(Math.log10(minStep));
  const step = ([1, 2, 2.5, 5].find((factor) => factor * magnitude >= minStep) ?? 10) * magnitude;
  const start = Math.floor(min / step) * step;
  // Large rewards with small differences need many digits.
  const edge = (at: number) => String(Number((start + at * step).toPrecision(12)));
  const length = Math.max(1, Math.ceil(max / step - start / step - 1e-9));
  // Rounding errors must not move a value on an edge to the lower bar.
  const barOf = (value: number) => Math.min(length - 1, Math.floor(value / step - start / step + 1e-9));
  const bars = Array.from({ length }, (_, at) => ({ name: `${edge(at)} – ${edge(at + 1)}`, count: 0 }));
  for (const value of rewards) {
    const bar = bars[barOf(value)];
    if (bar) bar.count++;
  }
  return bars;
};

const listSolved = ({ solved }: Stats): readonly Line[] => {
  if (!solved) return [];
  const { always, sometimes, never, pass } = solved;
  const of = always + sometimes + never;
  const counts = Object.entries({ always, sometimes, never }).map(([label, count]) => {
    const share = formatShare(count / of).padStart(4);
    return { label, text: `${String(count).padStart(String(of).length)} ${share}  ${drawBar(count / of)}`.trimEnd() };
  });
  const passes = pass.flatMap(({ k, groups, value, all }) => {
    if (value === null || all === null) return [];
    const ofAll = k > 1 ? `, all solved ${format(all)}` : "";
    return { label: `pass@${k}`, text: `${format(value)}${ofAll} (${pluralize(groups, "group")})` };
  });
  return [...counts, ...passes];
};

const listFinishes = ({ finish_reasons, trajectories: of }: Stats): readonly Line[] =>
  (finish_reasons ?? []).flatMap(({ name, trajectories, reward }) => {
    if (trajectories === 0) return [];
    const mean = reward === null ? "" : `, mean reward ${format(reward)}`;
    const share = formatShare(trajectories / of);
    return { label: name ?? "not recorded", text: `${trajectories} (${share})${mean}` };
  });

const listLengths = (stats: Stats): readonly Line[] =>
  lengthNames.flatMap((name) => {
    if (!stats[name]) return [];
    const { mean, p50, p95, max } = stats[name];
    const part = formatPart(stats[name], stats.trajectories);
    const text = `mean ${format(mean)}, median ${format(p50)}, p95 ${format(p95)}, max ${max}${part}`;
    return { label: name.replaceAll("_", " "), text };
  });

const listTools = ({ tools }: Stats): readonly Line[] =>
  (tools ?? []).map(({ name, calls, errors, unanswered }) => {
    const share = calls > 0 ? ` (${formatShare(errors / calls)})` : "";
    const failed = errors > 0 ? `, ${pluralize(errors, "error")}${share}` : "";
    const open = unanswered > 0 ? `, ${unanswered} unanswered` : "";
    const tone = failed || open ? "warning" : undefined;
    return { label: name ?? "(unknown)", text: `${pluralize(calls, "call")}${failed}${open}`, tone };
  });

const listMetrics = ({ metrics, trajectories: of }: Stats): readonly Line[] =>
  Object.entries(metrics ?? {}).map(([label, metric]) => ({
    label,
    text: formatMean(metric) + formatPart(metric, of),
  }));
