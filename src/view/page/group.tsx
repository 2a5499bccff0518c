/** One group: its trajectories side by side, the best and the worst first, below what they have in common. */
import type { RefObject } from "preact";
import { useRef, useState } from "preact/hooks";
import { conversationOf } from "../../calls/conversation.ts";
import type { GroupDetail, Member } from "../shapes.ts";
import { askJson, askText, useAnswer } from "./ask.ts";
import { Conversation } from "./conversation.tsx";
import { LogCommand, PlaceShown } from "./copy.tsx";
import { conversationIn } from "./entries.ts";
import { moveFocus, useKeys } from "./keys.tsx";
import { ProblemsOf } from "./problems.tsx";
import { groupAddress, tableAddress, trajectoryAddress } from "./routes.ts";
import { counted, measure, size } from "./text.ts";
import { goBeside } from "./walk.ts";

/** Trajectories that are read at once; others when they are asked for. */
const shownFirst = 4;

/** The best first, the worst beside it, then the others from the best down. */
const orderOf = (members: readonly Member[]): readonly number[] => {
  const reward = (at: number): number => members[at]?.reward ?? Number.NEGATIVE_INFINITY;
  const best = members.map((_, at) => at).sort((a, b) => reward(b) - reward(a) || a - b);
  const worst = best.length > 2 ? best.splice(-1, 1) : [];
  return [...best.slice(0, 1), ...worst, ...best.slice(1)];
};

export const Group = ({ group }: { readonly group: number }) => {
  const answer = useAnswer(`api/groups/${group}`, askJson<GroupDetail>);
  const of = useRef(0);
  if (answer.state === "there") of.current = answer.value.of;
  const address = (to: number) => (to >= 0 && to < of.current ? groupAddress(to) : undefined);
  // Keys come faster than a group is read.
  useKeys({
    n: () => goBeside(1, address(group + 1)),
    p: () => goBeside(-1, address(group - 1)),
  });
  if (answer.state === "waiting") return <p class="quiet">reading…</p>;
  if (answer.state === "trouble") return <p role="alert">{answer.text}</p>;
  return <Shown key={group} detail={answer.value} />;
};

const Shown = ({ detail }: { readonly detail: GroupDetail }) => {
  const { group, of, place, members, common, findings, untrainable, command, isReadable } = detail;
  const order = orderOf(members);
  const list = useRef<HTMLTableSectionElement>(null);
  useKeys({
    j: () => moveFocus(list.current, "a", 1),
    k: () => moveFocus(list.current, "a", -1),
  });
  return (
    <article>
      <p class="way">
        <a href={tableAddress()}>groups</a> › group {group + 1} of {of}
      </p>
      <h1>
        {isReadable ? counted(members.length, "trajectory") : "a line that can't be read"}
        {untrainable !== null && <span class="quiet"> · {untrainable}</span>}
      </h1>
      <PlaceShown place={place} />
      <ProblemsOf findings={findings.filter(({ trajectory }) => trajectory === null)} />
      <MemberTable detail={detail} order={order} body={list} />
      {common > 0 && order[0] !== undefined && <Common group={group} first={order[0]} common={common} />}
      <section class="beside" aria-label="trajectories side by side">
        {order.map((at, position) => (
          <Beside key={at} detail={detail} at={at} isShown={position < shownFirst} />
        ))}
      </section>
      <LogCommand command={command} />
    </article>
  );
};

const MemberTable = ({
  detail: { group, members, findings },
  order,
  body,
}: {
  readonly detail: GroupDetail;
  readonly order: readonly number[];
  readonly body: RefObject<HTMLTableSectionElement | null>;
}) => {
  const names = [...new Set(members.flatMap(({ metrics }) => Object.keys(metrics)))];
  return (
    <div class="members">
      <table aria-label="trajectories">
        <thead>
          <tr>
            <th scope="col">trajectory</th>
            {["reward", ...names, "messages", "size", "problems"].map((name) => (
              <th key={name} scope="col" class="n">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {order.map((at) => {
            const { reward, metrics, messages, bytes } = members[at] ?? nobody;
            const problems = findings.filter(({ trajectory }) => trajectory === at).length;
            return (
              <tr key={at}>
                <td>
                  <a href={trajectoryAddress(group, at)}>trajectory {at + 1}</a>
                </td>
                <td class="n">
                  <b>{measure(reward)}</b>
                </td>
                {names.map((name) => (
                  <td key={name} class="n">
                    {measure(metrics[name])}
                  </td>
                ))}
                <td class="n">{messages}</td>
                <td class="n">{size(bytes)}</td>
                <td class="n">{problems === 0 ? "" : problems}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
};

const nobody: Pick<Member, "reward" | "metrics" | "messages" | "bytes"> = {
  reward: null,
  metrics: {},
  messages: 0,
  bytes: 0,
};

/** What all of them begin with: read once, and folded. */
const Common = ({
  group,
  first,
  common,
}: {
  readonly group: number;
  readonly first: number;
  readonly common: number;
}) => {
  const json = useAnswer(`api/groups/${group}/${first}`, askText);
  const items = json.state === "there" ? (conversationIn(json.value)?.items ?? []) : [];
  return (
    <details class="common">
      <summary>the same {counted(common, "message")} to begin with</summary>
      <Conversation turns={conversationOf(items.slice(0, common))} />
    </details>
  );
};

const Beside = ({
  detail: { group, members, common, findings },
  at,
  isShown,
}: {
  readonly detail: GroupDetail;
  readonly at: number;
  readonly isShown: boolean;
}) => {
  const [isAsked, setAsked] = useState(isShown);
  const json = useAnswer(isAsked ? `api/groups/${group}/${at}` : undefined, askText);
  const conversation = json.state === "there" ? conversationIn(json.value) : undefined;
  return (
    <section class="column" aria-label={`trajectory ${at + 1}`}>
      <h2>
        <a href={trajectoryAddress(group, at)}>trajectory {at + 1}</a>{" "}
        <span class="reward">{measure(members[at]?.reward)}</span>
      </h2>
      {!isAsked && (
        <button type="button" onClick={() => setAsked(true)}>
          show
        </button>
      )}
      {json.state === "trouble" && <p role="alert">{json.text}</p>}
      {json.state === "there" && conversation === undefined && <p>this is no trajectory that can be shown</p>}
      {conversation !== undefined && (
        <>
          {common > 0 && (
            <p class="parts">
              {common === conversation.items.length ? "nothing follows what all of them have" : "they part here"}
            </p>
          )}
          <Conversation
            turns={conversationOf(conversation.items, common)}
            findings={findings.filter(({ trajectory }) => trajectory === at)}
          />
        </>
      )}
    </section>
  );
};
