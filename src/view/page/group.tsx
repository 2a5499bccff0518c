/** A group: its trajectories next to each other, the best and the worst first, after what they have in common. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { GroupDetail, Member } from "../answers.ts";
import { type Query, rowsPerPage } from "../query.ts";
import { addressOf, replaceBy } from "./address.ts";
import { useAnswer } from "./ask.ts";
import { Conversation, parseTrajectory } from "./conversation.tsx";
import { Command, Position } from "./copy.tsx";
import { rememberGroup } from "./groups.tsx";
import { moveFocus, useKeys } from "./keys.tsx";
import { NoAnswer, ProblemList } from "./problems.tsx";
import { Table, type TableColumn } from "./table.tsx";
import { counted, measure, size } from "./text.ts";

/** Trajectories that are read immediately; the others when they are asked for. */
const shownFirst = 4;

/** A trajectory, and its position in the group. */
interface Placed extends Member {
  readonly at: number;
}

/** The best trajectory first, then the worst one, then the others from the best down. */
const sortMembers = (members: readonly Member[]): readonly Placed[] => {
  const reward = (member: Member): number => member.reward ?? Number.NEGATIVE_INFINITY;
  const best = members.map((member, at) => ({ ...member, at })).sort((a, b) => reward(b) - reward(a) || a.at - b.at);
  const worst = best.length > 2 ? best.splice(-1, 1) : [];
  return [...best.slice(0, 1), ...worst, ...best.slice(1)];
};

export const Group = ({ query }: { readonly query: Query }) => {
  const { group = 1 } = query;
  const { value, trouble } = useAnswer("group", query);
  rememberGroup(group);
  /** Keys come faster than groups are read: steps that are still to go. */
  const steps = useRef(0);
  const go = (): void => {
    if (value === undefined || steps.current === 0) return;
    const by = Math.sign(steps.current);
    steps.current -= by;
    const to = by > 0 ? value.after : value.before;
    const page = value.at === null ? query.page : Math.floor((value.at + by) / rowsPerPage) + 1;
    if (to !== null) replaceBy({ ...query, page, group: to + 1 });
  };
  useEffect(go, [value]);
  const step = (by: 1 | -1) => () => {
    steps.current += by;
    go();
  };
  useKeys({ n: step(1), p: step(-1) });
  if (value === undefined) return <NoAnswer trouble={trouble} />;
  return <Shown key={group} detail={value} query={query} />;
};

const Shown = ({ detail, query }: { readonly detail: GroupDetail; readonly query: Query }) => {
  const { group, of, place, logged, members, common, findings, untrainable, isReadable } = detail;
  const placed = sortMembers(members);
  const list = useRef<HTMLTableSectionElement>(null);
  useKeys({
    j: () => moveFocus(list.current, "a", 1),
    k: () => moveFocus(list.current, "a", -1),
  });
  return (
    <article>
      <p class="way">
        <a href={addressOf({ ...query, group: undefined })}>groups</a> › group {group + 1} of {of}
      </p>
      <h1>
        {isReadable ? counted(members.length, "trajectory") : "a line that can't be read"}
        {untrainable !== null && <span class="quiet"> · {untrainable}</span>}
      </h1>
      <Position place={place} />
      {logged !== null && (
        <p class="quiet">
          logged to {logged.model} as {logged.split}, {logged.at.slice(0, 19).replace("T", " ")} UTC
        </p>
      )}
      <ProblemList findings={findings.filter(({ trajectory }) => trajectory === null)} />
      <div class="members">
        <Table name="trajectories" columns={columnsOf(detail, query)} rows={placed} body={list} />
      </div>
      {common > 0 && <Common query={query} at={placed[0]?.at ?? 0} common={common} />}
      <section class="beside" aria-label="trajectories side by side">
        {placed.map((member, position) => (
          <Beside key={member.at} detail={detail} member={member} query={query} isShown={position < shownFirst} />
        ))}
      </section>
      <Command detail={detail} />
    </article>
  );
};

const columnsOf = ({ members, findings, logged }: GroupDetail, query: Query): readonly TableColumn<Placed>[] => [
  {
    name: "trajectory",
    cell: ({ at }) => <a href={addressOf({ ...query, trajectory: at + 1 })}>trajectory {at + 1}</a>,
  },
  { name: "reward", class: "n", cell: ({ reward }) => <b>{measure(reward)}</b> },
  ...[...new Set(members.flatMap(({ metrics }) => Object.keys(metrics)))].map(
    (name): TableColumn<Placed> => ({ name, class: "n", cell: ({ metrics }) => measure(metrics[name]) }),
  ),
  { name: "messages", class: "n", cell: ({ messages }) => messages },
  { name: "size", class: "n", cell: ({ bytes }) => size(bytes) },
  {
    name: "problems",
    class: "n",
    cell: ({ at }) => findings.filter(({ trajectory }) => trajectory === at).length || "",
  },
  ...(logged === null ? [] : [{ name: "call", cell: ({ call }: Placed) => <code>{call}</code> }]),
];

/** What all trajectories begin with: read once, and folded. */
const Common = ({ query, at, common }: { readonly query: Query; readonly at: number; readonly common: number }) => {
  const { value } = useAnswer("trajectory", { ...query, trajectory: at + 1 });
  const turns = value === undefined ? [] : (parseTrajectory(value)?.turns(0, common) ?? []);
  return (
    <details class="common">
      <summary>the same {counted(common, "message")} to begin with</summary>
      <Conversation turns={turns} />
    </details>
  );
};

const Beside = ({
  detail: { common, findings },
  member: { at, reward, messages },
  query,
  isShown,
}: {
  readonly detail: GroupDetail;
  readonly member: Placed;
  readonly query: Query;
  readonly isShown: boolean;
}) => {
  const [isAsked, setAsked] = useState(isShown);
  const own = { ...query, trajectory: at + 1 };
  const { value, trouble } = useAnswer("trajectory", isAsked ? own : undefined);
  const trajectory = value === undefined ? undefined : parseTrajectory(value);
  return (
    <section class="column" aria-label={`trajectory ${at + 1}`}>
      <h2>
        <a href={addressOf(own)}>trajectory {at + 1}</a> <span class="reward">{measure(reward)}</span>
      </h2>
      {!isAsked && (
        <button type="button" onClick={() => setAsked(true)}>
          show
        </button>
      )}
      {trouble !== undefined && <p role="alert">{trouble}</p>}
      {value !== undefined && trajectory === undefined && <p>this is no trajectory that can be shown</p>}
      {trajectory !== undefined && common > 0 && (
        <p class="parts">{common === messages ? "nothing follows what all of them have" : "they part here"}</p>
      )}
      {trajectory !== undefined && (
        <Conversation
          turns={trajectory.turns(common)}
          findings={findings.filter(({ trajectory: about }) => about === at)}
        />
      )}
    </section>
  );
};
