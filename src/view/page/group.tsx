/** Draws the trajectories of a group side by side. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatRoundedSize } from "../../text/units.ts";
import { compareNaturally, compareNumbers } from "../answer-queries.ts";
import { type GroupDetail, rowsPerPage, type TrajectorySummary } from "../answers.ts";
import { Conversation, Fold, LongText, textOfParts, useTrajectory } from "./conversation.tsx";
import { Snippet } from "./filters.tsx";
import { commonFolder } from "./groups.tsx";
import { NavigationBar, useLink, usePage } from "./navigation.tsx";
import * as numbers from "./numbers.tsx";
import { CopyablePosition, listFindings, PendingAnswer, ProblemList } from "./problems.tsx";
import { type PageColumn, Table } from "./sortable-table.tsx";
import { useAnswer } from "./use-answer.ts";

const maxInitiallyShown = 4;

/** The order that the reader has chosen also applies to the next group. */
let chosenOrder: { by: string; isDescending: boolean } | undefined;

/** Sorts by reward, but puts the worst trajectory second. */
const rankTrajectories = (members: readonly TrajectorySummary[]) => {
  const reward = (member: TrajectorySummary) => member.reward ?? Number.NEGATIVE_INFINITY;
  const best = members.toSorted((a, b) => reward(b) - reward(a));
  const at = best.findIndex((member) => reward(member) === reward(best.at(-1) ?? member));
  if (at > 1) best.splice(1, 0, ...best.splice(at, 1));
  return best;
};

type GroupProps = { detail: GroupDetail };

export const Group = ({ detail }: GroupProps) => {
  const { key, members, untrainable, isReadable, exceptions, match } = detail;
  const { query } = usePage();
  const link = useLink();
  const sorted = useSortedTrajectories(detail);
  const shown = sorted.isChosen ? sorted.rows : rankTrajectories(members);
  const neighbor = (to: number | null, by: 1 | -1) => {
    const page = detail.at === null ? query.page : Math.floor((detail.at + by) / rowsPerPage) + 1;
    return to === null ? undefined : { ...query, page, group: to + 1 };
  };
  const facts = [
    isReadable ? numbers.pluralizeCount(members.length, "trajectory") : "unreadable line",
    untrainable === null || untrainable === "one trajectory" ? [] : untrainable,
    key === null ? [] : `key ${key}`,
  ].flat();
  return (
    <article>
      <NavigationBar before={neighbor(detail.before, -1)} after={neighbor(detail.after, 1)}>
        <p class="way">
          <a href={link({ group: undefined })}>groups</a> ›{" "}
          <b>{`group ${query.group} of ${numbers.formatCount(detail.of)}`}</b>
        </p>
        <numbers.RewardStrip rewards={members.flatMap(({ reward }) => reward ?? [])} />
        {detail.mean !== null && (
          <span>
            <span class="quiet">mean</span> <numbers.Moments {...detail} />
          </span>
        )}
      </NavigationBar>
      <h1>
        {detail.prompt || (detail.isReadable && <i>no prompt</i>)} <span class="quiet">{facts.join(" · ")}</span>
      </h1>
      <div class="tools">
        <CopyablePosition {...detail} />
      </div>
      {match && (
        <p class="way">
          first match: <a href={link({ trajectory: match.trajectory + 1 })}>{<Snippet match={match} />}</a>
        </p>
      )}
      <ProblemList findings={listFindings(detail, null)} />
      {exceptions.length > 0 && <h2>{numbers.pluralizeCount(exceptions.length, "exception")}</h2>}
      {exceptions.map((text, at) => (
        <LongText key={at} text={text} kind="raw" />
      ))}
      {isReadable && (
        <div class="members">
          <Table name="trajectories" {...sorted} />
        </div>
      )}
      {detail.common > 0 && <CommonMessages detail={detail} member={shown[0]} />}
      <section class="beside" aria-label="trajectories side by side">
        {shown.map((member, position) => (
          <TrajectoryColumn
            key={member.at}
            detail={detail}
            member={member}
            isShown={position < maxInitiallyShown || member.at === match?.trajectory}
          />
        ))}
      </section>
    </article>
  );
};

type TrajectoryColumn = PageColumn<TrajectorySummary> & {
  value: (member: TrajectorySummary) => number | boolean | string | null | undefined;
};

const useSortedTrajectories = ({ members, findings }: GroupDetail) => {
  const link = useLink();
  const [chosen, setChosen] = useState(chosenOrder);
  const { by, isDescending } = chosen ?? { by: "reward", isDescending: true };
  const column = (name: string, value: TrajectoryColumn["value"]): TrajectoryColumn => {
    const sort = () => {
      chosenOrder = { by: name, isDescending: name !== by || !isDescending };
      setChosen(chosenOrder);
    };
    return { name, class: "n", value, cell: (member) => numbers.formatFact(value(member)), sort };
  };
  const advantageOf = (member: TrajectorySummary) => member.facts?.advantage;
  const problemsOf = ({ at }: TrajectorySummary) => listFindings({ findings }, at).length;
  const linkTo = ({ at }: TrajectorySummary) => <a href={link({ trajectory: at + 1 })}>trajectory {at + 1}</a>;
  const facts = Object.keys(members[0] ? numbers.listFacts(members[0]) : {})
    .filter((name) => members.some((member) => numbers.listFacts(member)[name]))
    .map((name) => column(name, (member) => numbers.listFacts(member)[name]));
  const files = members.map(({ position }) => position.file);
  const fileOf = ({ position }: TrajectorySummary) => position.file.slice(commonFolder(files).length);
  const known: readonly TrajectoryColumn[] = [
    { ...column("trajectory", ({ at }) => at), class: "", cell: linkTo },
    { ...column("reward", ({ reward }) => reward), cell: ({ reward }) => <numbers.Reward value={reward} /> },
    { ...column("advantage", advantageOf), cell: (member) => numbers.formatAdvantage(advantageOf(member)) },
    ...(new Set(files).size > 1 ? [{ ...column("file", fileOf), class: "" }] : []),
    ...facts,
    column("messages", ({ messages }) => messages),
    { ...column("size", ({ bytes }) => bytes), cell: ({ bytes }) => formatRoundedSize(bytes) },
    { ...column("problems", problemsOf), cell: (member) => problemsOf(member) || "" },
  ];
  // A metric can have the name of another column.
  const nameOf = (metric: string) => (known.some(({ name }) => name === metric) ? `metrics.${metric}` : metric);
  const metrics = [...new Set(members.flatMap((member) => Object.keys(member.metrics)))].map((metric) => ({
    ...column(nameOf(metric), (member) => member.metrics[metric]),
    cell: (member: TrajectorySummary) => numbers.formatMeasure(member.metrics[metric]),
  }));
  const columns = [...known.slice(0, -3), ...metrics, ...known.slice(-3)];
  const sorted = columns.find(({ name }) => name === by);
  const rows = [...members];
  const texts = [...new Set(rows.map((member) => String(sorted?.value(member))))].sort(compareNaturally);
  const rank = (member: TrajectorySummary) => {
    const value = sorted?.value(member);
    return typeof value === "string" ? texts.indexOf(value) : Number(value ?? Number.NaN);
  };
  rows.sort((a, b) => compareNumbers(rank(a), rank(b), isDescending));
  return { columns, rows, by, isDescending, isChosen: chosen !== undefined };
};

const useRankedTrajectory = (member: TrajectorySummary | undefined) => {
  const { query } = usePage();
  const { value, error } = useAnswer("trajectory", member && { ...query, trajectory: member.at + 1 });
  return { value, error, parsed: useTrajectory(value) };
};

/** Equal messages have the problems of the first trajectory. */
const CommonMessages = ({ detail, member }: GroupProps & { member: TrajectorySummary | undefined }) => {
  const { value, error, parsed } = useRankedTrajectory(member);
  const turns = parsed?.turns(0, detail.common) ?? [];
  const title = `${numbers.pluralizeCount(detail.common, "message")} at the start of all trajectories`;
  const isOpen = detail.members.every(({ messages }) => messages === detail.common);
  const { at = 0 } = member ?? {};
  return (
    <Fold class="common" title={title} text={turns.map(({ parts }) => textOfParts(parts)).join("\n")} isOpen={isOpen}>
      {value === undefined && <PendingAnswer error={error} />}
      <Conversation trajectory={at + 1} turns={turns} findings={listFindings(detail, at)} />
    </Fold>
  );
};

type ColumnProps = GroupProps & { member: TrajectorySummary; isShown: boolean };

const TrajectoryColumn = ({ detail, member, isShown }: ColumnProps) => {
  const { common, isReadable } = detail;
  const { at, reward, facts, messages } = member;
  const name = isReadable ? `trajectory ${at + 1}` : "the line";
  const link = useLink();
  const findings = listFindings(detail, at);
  const [isRequested, setRequested] = useState(isShown);
  useEffect(() => setRequested(isRequested || isShown), [isShown]);
  const show = ({ currentTarget }: { currentTarget: HTMLElement }) => {
    currentTarget.closest("section")?.focus();
    setRequested(true);
  };
  const { value, error, parsed } = useRankedTrajectory(isRequested ? member : undefined);
  const turns = useMemo(() => parsed?.turns(common), [parsed]);
  return (
    <section class="column" aria-label={name} tabIndex={-1}>
      <h2>
        <a href={link({ trajectory: at + 1 })}>{name}</a> <numbers.Reward value={reward} />
        <span class="quiet">{numbers.formatAdvantage(facts?.advantage)}</span>{" "}
        {numbers.isTruncated(member) && <numbers.Truncated />}
      </h2>
      {!isRequested && (
        <button type="button" aria-label={`show ${name}`} onClick={show}>
          show
        </button>
      )}
      <ProblemList findings={findings.filter(({ message_at }) => message_at === null)} />
      {isRequested && value === undefined && <PendingAnswer error={error} />}
      {value !== undefined && turns === undefined && <LongText text={value} kind="raw" />}
      {turns && common > 0 && common === messages && <p class="parts">ends here</p>}
      {turns && <Conversation trajectory={at + 1} turns={turns} findings={findings} />}
    </section>
  );
};
