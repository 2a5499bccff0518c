/** A trajectory: its conversation or its JSON, its metrics, and its problems. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { GroupDetail } from "../answers.ts";
import type { Query } from "../query.ts";
import { Conversation, FoldedText, LongText, parseTrajectory } from "./conversation.tsx";
import { Command, CopyButton, Position } from "./copy.tsx";
import { formatMeasure } from "./format.ts";
import { rememberGroup } from "./groups.tsx";
import { moveFocus, useKeys } from "./keys.tsx";
import { findMark } from "./match.tsx";
import { linkTo, replaceQuery } from "./navigation.ts";
import { PendingAnswer, ProblemList } from "./problems.tsx";
import { tokensOf } from "./tokens.tsx";
import { useAnswer } from "./use-answer.ts";

/** Characters of raw JSON that are shown at first. */
const maxRawLength = 100_000;

export const Trajectory = ({ query }: { readonly query: Query }) => {
  const { group = 1, trajectory = 1 } = query;
  const detail = useAnswer("group", { ...query, trajectory: undefined });
  const json = useAnswer("trajectory", query);
  const count = detail.value?.members.length ?? 0;
  rememberGroup(group);
  const step = (by: 1 | -1) => () => {
    const to = trajectory + by;
    if (to >= 1 && to <= count) replaceQuery({ ...query, trajectory: to });
  };
  useKeys({ n: step(1), p: step(-1) });
  if (detail.value === undefined || json.value === undefined) {
    return <PendingAnswer error={detail.error ?? json.error} />;
  }
  return <TrajectoryView detail={detail.value} json={json.value} query={query} at={trajectory - 1} />;
};

const TrajectoryView = ({
  detail,
  json,
  query,
  at,
}: {
  detail: GroupDetail;
  json: string;
  query: Query;
  at: number;
}) => {
  const { group, members } = detail;
  const member = members[at];
  const findings = detail.findings.filter(({ trajectory }) => trajectory === at);
  const parsed = parseTrajectory(json);
  const turns = parsed?.turns(0) ?? [];
  const metrics = Object.entries(member?.metrics ?? {});
  const isNotShown = ({ name, text }: { readonly name: string; readonly text: string }): boolean =>
    name !== "metrics" || metrics.length === 0 || Object.keys(JSON.parse(text)).length > metrics.length;
  const [isRaw, setRaw] = useState(false);
  const [isTinted, setTinted] = useState(true);
  const list = useRef<HTMLDivElement>(null);
  const article = useRef<HTMLElement>(null);
  useEffect(() => {
    if (article.current !== null) findMark(article.current)?.scrollIntoView({ block: "center" });
  }, []);
  useKeys({
    j: () => moveFocus(list.current, ".entry", 1),
    k: () => moveFocus(list.current, ".entry", -1),
    r: () => setRaw(!isRaw),
  });
  return (
    <article ref={article}>
      <p class="way">
        <a href={linkTo({ ...query, trajectory: undefined })}>group {group + 1}</a> › trajectory {at + 1} of{" "}
        {members.length}
      </p>
      <h1>reward {formatMeasure(member?.reward)}</h1>
      {member !== undefined && <Position {...member} />}
      {metrics.length > 0 && (
        <dl class="metrics">
          {metrics.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{formatMeasure(value)}</dd>
            </div>
          ))}
        </dl>
      )}
      <p class="tools">
        <button type="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          raw JSON <kbd>r</kbd>
        </button>{" "}
        <CopyButton text={json} name="the JSON" />{" "}
        {turns.some((turn) => tokensOf(turn).length > 0) && (
          <button type="button" aria-pressed={isTinted} onClick={() => setTinted(!isTinted)}>
            tint by log probability
          </button>
        )}
      </p>
      <ProblemList findings={findings.filter((finding) => finding.message_at === null)} />
      <div ref={list}>
        {isRaw || parsed === undefined ? (
          <section aria-label="raw JSON">
            <LongText text={json} kind="raw" maxCharacters={maxRawLength} />
          </section>
        ) : (
          <Conversation turns={turns} findings={findings} isTinted={isTinted} />
        )}
      </div>
      {!isRaw &&
        parsed?.others.filter(isNotShown).map(({ name, text }) => <FoldedText key={name} title={name} text={text} />)}
      <Command detail={detail} />
    </article>
  );
};
