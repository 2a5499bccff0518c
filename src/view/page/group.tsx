/** A group: the common start of its trajectories, then the trajectories side by side, the best and the worst first. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Turn } from "../../calls/conversation.ts";
import type { GroupDetail, TrajectorySummary } from "../answers.ts";
import { type Query, rowsPerPage } from "../query.ts";
import { selectStripRewards } from "../select.ts";
import { Bar } from "./bar.tsx";
import { Conversation, LongText, useTrajectory } from "./conversation.tsx";
import { Command, Position } from "./copy.tsx";
import { counted, formatMeasure, formatSize } from "./format.ts";
import { rememberGroup } from "./groups.tsx";
import { moveFocus, useKeys } from "./keys.tsx";
import { MarkdownButton } from "./markdown.tsx";
import { findMark, Snippet } from "./match.tsx";
import { linkTo, replaceQuery } from "./navigation.ts";
import { PendingAnswer, ProblemList } from "./problems.tsx";
import { formatAdvantage, Reward, RewardStrip } from "./rewards.tsx";
import { Table, type TableColumn } from "./table.tsx";
import { useAnswer } from "./use-answer.ts";

/** Trajectories that are read immediately. Others are read on request. */
const maxInitiallyShown = 4;

/** A trajectory with its position in the group. */
type RankedMember = TrajectorySummary & { readonly at: number };

/** Ranks the best trajectory first, then the worst, then the others from the best down. */
const rankTrajectories = (members: readonly TrajectorySummary[]): readonly RankedMember[] => {
  const reward = (member: TrajectorySummary): number => member.reward ?? Number.NEGATIVE_INFINITY;
  const best = members.map((member, at) => ({ ...member, at })).sort((a, b) => reward(b) - reward(a) || a.at - b.at);
  const at = best.findIndex((member) => reward(member) === reward(best.at(-1) ?? member));
  // All are equal at 0, and the worst is already second at 1.
  const worst = at > 1 ? best.splice(at, 1) : [];
  return [...best.slice(0, 1), ...worst, ...best.slice(1)];
};

export const Group = ({ query }: { readonly query: Query }) => {
  const { group = 1 } = query;
  const { value, error } = useAnswer("group", query);
  rememberGroup(group);
  /** Steps by keys that were pressed before the previous group was read. */
  const pendingSteps = useRef(0);
  const go = (): void => {
    if (value === undefined || pendingSteps.current === 0) return;
    const by = Math.sign(pendingSteps.current);
    pendingSteps.current -= by;
    const to = by > 0 ? value.after : value.before;
    const page = value.at === null ? query.page : Math.floor((value.at + by) / rowsPerPage) + 1;
    if (to !== null) replaceQuery({ ...query, page, group: to + 1 });
  };
  useEffect(go, [value]);
  const step = (by: 1 | -1) => () => {
    pendingSteps.current += by;
    go();
  };
  useKeys({ n: step(1), p: step(-1) });
  if (value === undefined) return <PendingAnswer error={error} />;
  return <GroupView key={group} detail={value} query={query} step={step} />;
};

type GroupProps = { readonly detail: GroupDetail; readonly query: Query; readonly step: (by: 1 | -1) => () => void };

const GroupView = ({ detail, query, step }: GroupProps) => {
  const { group, of, key, words, mean, spread, place, logged, members, findings, untrainable, isReadable, match } =
    detail;
  const placed = rankTrajectories(members);
  const [sort, setSort] = useState<MemberSort>({ by: "reward", isDescending: true });
  const columns = columnsOf(detail, query, sort, setSort);
  const list = useRef<HTMLTableSectionElement>(null);
  useKeys({
    j: () => moveFocus(list.current, "a", 1),
    k: () => moveFocus(list.current, "a", -1),
  });
  const kind = isReadable ? counted(members.length, "trajectory") : "unreadable line";
  return (
    <article>
      <Bar step={step} hasBefore={detail.before !== null} hasAfter={detail.after !== null}>
        <p class="way">
          <a href={linkTo({ ...query, group: undefined })}>groups</a> › <b>{`group ${group + 1} of ${of}`}</b>
        </p>
        <RewardStrip rewards={selectStripRewards(members.flatMap(({ reward }) => reward ?? []))} />
        {mean !== null && (
          <span>
            <span class="quiet">mean</span> {formatMeasure(mean)} ± {formatMeasure(spread)}
          </span>
        )}
      </Bar>
      <h1>
        {words !== "" && <>{words} </>}
        <span class="quiet">{[kind, untrainable ?? [], key === null ? [] : `key ${key}`].flat().join(" · ")}</span>
      </h1>
      <Position place={place} />
      {logged !== null && (
        <p class="quiet">
          logged to {logged.model} as {logged.split}, {logged.at.slice(0, 19).replace("T", " ")} UTC
        </p>
      )}
      {match && (
        <p class="way">
          first match: <a href={linkTo({ ...query, trajectory: match.trajectory + 1 })}>{<Snippet match={match} />}</a>
        </p>
      )}
      <ProblemList findings={findings.filter(({ trajectory }) => trajectory === null)} />
      {isReadable && (
        <div class="members">
          <Table name="trajectories" columns={columns} rows={sortMembers(placed, columns, sort)} body={list} />
        </div>
      )}
      <SideBySide detail={detail} query={query} placed={placed} />
      <Command detail={detail} />
    </article>
  );
};

/** A column, with the number that sorts the table by it. */
interface MemberColumn extends TableColumn<RankedMember> {
  readonly value?: (member: RankedMember) => number | null | undefined;
}

type MemberSort = { readonly by: string; readonly isDescending: boolean };

/** Sorts trajectories by a column. Those without a value are last. */
const sortMembers = (
  members: readonly RankedMember[],
  columns: readonly MemberColumn[],
  { by, isDescending }: MemberSort,
): readonly RankedMember[] => {
  const { value = () => null } = columns.find(({ name }) => name === by) ?? {};
  const sign = isDescending ? -1 : 1;
  const rank = (member: RankedMember): number => (value(member) ?? Number.NaN) * sign;
  const compare = (a: number, b: number): number =>
    Number.isNaN(a) || Number.isNaN(b) ? Number(Number.isNaN(a)) - Number(Number.isNaN(b)) : a - b;
  return members.toSorted((a, b) => compare(rank(a), rank(b)) || a.at - b.at);
};

const columnsOf = (
  { members, findings, logged }: GroupDetail,
  query: Query,
  { by, isDescending }: MemberSort,
  setSort: (sort: MemberSort) => void,
): readonly MemberColumn[] => {
  const column = (
    name: string,
    value: (member: RankedMember) => number | null | undefined,
    cell: MemberColumn["cell"] = (member) => formatMeasure(value(member)),
  ): MemberColumn => ({
    ...{ name, class: "n", value, cell },
    onSort: () => setSort({ by: name, isDescending: name !== by || !isDescending }),
    order: name !== by ? undefined : isDescending ? "descending" : "ascending",
  });
  const problemsOf = ({ at }: RankedMember) => findings.filter(({ trajectory }) => trajectory === at).length;
  const link = ({ at }: RankedMember) => <a href={linkTo({ ...query, trajectory: at + 1 })}>trajectory {at + 1}</a>;
  const metrics = [...new Set(members.flatMap((member) => Object.keys(member.metrics)))];
  const call = { name: "call", cell: (member: RankedMember) => <code>{member.call}</code> };
  return [
    { ...column("trajectory", ({ at }) => at, link), class: "" },
    column(
      "reward",
      ({ reward }) => reward,
      ({ reward }) => <Reward value={reward} />,
    ),
    column(
      "advantage",
      ({ advantage }) => advantage,
      ({ advantage }) => formatAdvantage(advantage),
    ),
    ...metrics.map((name) => column(name, (member) => member.metrics[name])),
    column("messages", ({ messages }) => messages),
    column(
      "size",
      ({ bytes }) => bytes,
      ({ bytes }) => formatSize(bytes),
    ),
    column("problems", problemsOf, (member) => problemsOf(member) || ""),
    ...(logged === null ? [] : [call]),
  ];
};

type ComparedProps = { readonly detail: GroupDetail; readonly query: Query; readonly placed: readonly RankedMember[] };

/** The trajectories after their common start. The first is compared with the second, the others with the first. */
const SideBySide = ({ detail, query, placed }: ComparedProps) => {
  const [first, second] = placed;
  const answers = [useMember(query, first), useMember(query, second)];
  const parsed = [useTrajectory(answers[0]?.value), useTrajectory(answers[1]?.value)];
  const compared = [first, second].map((member, at) => ({
    turns: parsed[at]?.turns(detail.common) ?? [],
    name: `trajectory ${(member?.at ?? 0) + 1}`,
  }));
  return (
    <>
      <p class="tools">
        <MarkdownButton />
      </p>
      {detail.common > 0 && <CommonMessages count={detail.common} turns={parsed[0]?.turns(0, detail.common) ?? []} />}
      <section class="beside" aria-label="trajectories side by side">
        {placed.map((member, position) => (
          <TrajectoryColumn
            key={member.at}
            {...{ detail, member, query }}
            answer={answers[position]}
            isShown={position < maxInitiallyShown}
            compared={placed.length > 1 ? compared[position === 0 ? 1 : 0] : undefined}
          />
        ))}
      </section>
    </>
  );
};

const useMember = (query: Query, member: RankedMember | undefined) =>
  useAnswer("trajectory", member === undefined ? undefined : { ...query, trajectory: member.at + 1 });

/** The common first messages of all trajectories, folded. */
const CommonMessages = ({ count, turns }: { readonly count: number; readonly turns: readonly Turn[] }) => {
  const folded = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (folded.current !== null && findMark(folded.current) !== null) folded.current.open = true;
  }, [turns.length]);
  return (
    <details class="common" ref={folded}>
      <summary>{counted(count, "message")} at the start of all trajectories</summary>
      <Conversation turns={turns} />
    </details>
  );
};

interface ColumnProps {
  readonly detail: GroupDetail;
  readonly member: RankedMember;
  readonly query: Query;
  readonly isShown: boolean;
  /** Undefined if the column reads its trajectory. */
  readonly answer: ReturnType<typeof useMember> | undefined;
  readonly compared: { readonly turns: readonly Turn[]; readonly name: string } | undefined;
}

const TrajectoryColumn = ({ detail, member, query, isShown, answer, compared }: ColumnProps) => {
  const { common } = detail;
  const { at, reward, advantage, messages } = member;
  const findings = detail.findings.filter(({ trajectory: about }) => about === at);
  const [isRequested, setRequested] = useState(isShown);
  const own = useMember(query, isRequested && answer === undefined ? member : undefined);
  const { value, error } = answer ?? own;
  const trajectory = useTrajectory(value);
  return (
    <section class="column" aria-label={`trajectory ${at + 1}`}>
      <h2>
        <a href={linkTo({ ...query, trajectory: at + 1 })}>trajectory {at + 1}</a> <Reward value={reward} />
        <span class="quiet">{formatAdvantage(advantage)}</span>
      </h2>
      {!isRequested && (
        <button type="button" onClick={() => setRequested(true)}>
          show
        </button>
      )}
      {error !== undefined && <p role="alert">{error}</p>}
      <ProblemList findings={findings.filter(({ message_at }) => message_at === null)} />
      {value !== undefined && trajectory === undefined && <LongText text={value} kind="raw" />}
      {trajectory !== undefined && common > 0 && common === messages && <p class="parts">ends here</p>}
      {trajectory !== undefined && common < messages && compared !== undefined && (
        <p class="parts">
          <ins>marked</ins> words are missing in {compared.name}
        </p>
      )}
      {trajectory !== undefined && (
        <Conversation turns={trajectory.turns(common)} findings={findings} compared={compared} />
      )}
    </section>
  );
};
