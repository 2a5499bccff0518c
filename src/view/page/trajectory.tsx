/** Draws a trajectory as a conversation or JSON. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isFailedTurn, type Turn } from "../../conversation/turns.ts";
import { formatIndented, type RawMember } from "../../json/raw-json.ts";
import type { GroupDetail, TrajectorySummary } from "../answers.ts";
import * as conversation from "./conversation.tsx";
import { NavigationBar, useKeys, useLink, useListKeys, usePage } from "./navigation.tsx";
import { formatAdvantage, formatFact, formatMeasure, isTruncated, listFacts, Reward, Truncated } from "./numbers.tsx";
import { CopyablePosition, CopyButton, listFindings, ProblemList } from "./problems.tsx";
import { Facts } from "./sortable-table.tsx";

const maxRawLines = 1000;
const wideScreenPx = 1000;

type TrajectoryProps = { detail: GroupDetail; json: string };

export const Trajectory = ({ detail, json }: TrajectoryProps) => {
  const { query } = usePage();
  const index = detail.members.findIndex(({ at }) => at + 1 === query.trajectory);
  const member = detail.members[index];
  const findings = listFindings(detail, member?.at);
  const parsed = conversation.useTrajectory(json);
  const turns = parsed?.turns(0) ?? [];
  const { talk, isRaw, toggleRaw, show } = useTalk();
  const facts = listFactsAndMetrics(member);
  const isUnlisted = ({ key, value }: RawMember) =>
    key !== "metrics" || value.kind !== "object" || value.members.length > facts.metrics.length;
  return (
    <article>
      <Position detail={detail} index={index} />
      <div class="reader">
        <Outline turns={turns} show={show} />
        <div class="talk" ref={talk}>
          <div class="tools">{member !== undefined && <CopyablePosition {...member} />}</div>
          <Facts class="metrics" facts={Object.fromEntries([...facts.known, ...facts.metrics])} />
          <Tools json={json} isRaw={isRaw} toggleRaw={toggleRaw} />
          <ProblemList findings={findings.filter((finding) => finding.message_at === null)} />
          {isRaw || !parsed ? (
            <section aria-label="raw JSON" tabIndex={-1}>
              <conversation.LongText text={parsed?.indented() ?? json} kind="raw" lines={maxRawLines} />
            </section>
          ) : (
            <>
              <conversation.Conversation turns={turns} findings={findings} />
              {parsed.others.filter(isUnlisted).map(({ key, value }) => (
                <conversation.FoldedText key={key} title={key} text={formatIndented(value)} />
              ))}
            </>
          )}
        </div>
      </div>
    </article>
  );
};

const listFactsAndMetrics = (member: TrajectorySummary | undefined) => {
  const facts = member ? listFacts(member) : {};
  return {
    known: Object.entries(facts).flatMap(([name, value]) => (value ? [[name, formatFact(value)] as const] : [])),
    metrics: Object.entries(member?.metrics ?? {}).map(
      ([name, value]) => [Object.hasOwn(facts, name) ? `metrics.${name}` : name, formatMeasure(value)] as const,
    ),
  };
};

/** The focused message has the focus again after the JSON was shown. */
const useTalk = () => {
  const [isRaw, setRaw] = useState(false);
  const talk = useRef<HTMLDivElement>(null);
  const focusedMessage = useRef(-1);
  const findEntries = () => [...(talk.current?.querySelectorAll<HTMLElement>(".entry") ?? [])];
  const show = (position: number) => {
    const entry = findEntries()[position];
    entry?.focus({ preventScroll: true });
    entry?.scrollIntoView();
  };
  const toggleRaw = () => {
    if (!isRaw) focusedMessage.current = findEntries().findIndex((entry) => entry.matches(":focus-within"));
    setRaw(!isRaw);
  };
  useEffect(() => talk.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), []);
  useListKeys(talk, ".entry");
  useKeys({ r: toggleRaw });
  useLayoutEffect(() => {
    // The focused element may have disappeared.
    if (document.activeElement === document.body && !isRaw) show(focusedMessage.current);
    if (document.activeElement === document.body) talk.current?.querySelector("section")?.focus();
  }, [isRaw]);
  return { talk, isRaw, toggleRaw, show };
};

const Position = ({ detail, index }: { detail: GroupDetail; index: number }) => {
  const { prompt, members } = detail;
  const { query } = usePage();
  const link = useLink();
  const member = members[index];
  const neighbor = (to: number) => members[to] && { ...query, trajectory: members[to].at + 1 };
  return (
    <NavigationBar before={neighbor(index - 1)} after={neighbor(index + 1)}>
      <p class="way">
        <a href={link({ group: undefined, trajectory: undefined })}>groups</a> ›{" "}
        <a href={link({ trajectory: undefined })} title={prompt}>
          group {query.group}
        </a>{" "}
        ›
      </p>
      <h1>
        trajectory {query.trajectory} of {members.length}{" "}
        <span>
          <span class="quiet">reward</span> <Reward value={member?.reward} />
        </span>{" "}
        <span>
          <span class="quiet">advantage</span> {formatAdvantage(member?.facts?.advantage)}
        </span>{" "}
        {isTruncated(member) && <Truncated />}
      </h1>
    </NavigationBar>
  );
};

type ToolsProps = { json: string; isRaw: boolean; toggleRaw: () => void };

const Tools = ({ json, isRaw, toggleRaw }: ToolsProps) => (
  <p class="tools">
    <button type="button" aria-pressed={isRaw} onClick={toggleRaw}>
      raw JSON <kbd>r</kbd>
    </button>
    <CopyButton text={json} name="the JSON" />
  </p>
);

const Outline = ({ turns, show }: { turns: readonly Turn[]; show: (position: number) => void }) => (
  <nav class="outline" aria-label="outline">
    <details open={innerWidth >= wideScreenPx}>
      <summary>outline</summary>
      <ol>
        {turns.map((turn, position) => (
          <li key={turn.at}>
            <button type="button" class={isFailedTurn(turn) ? "trouble" : ""} onClick={() => show(position)}>
              <span class="n">{turn.at + 1}</span> <b>{turn.role ?? "?"}</b> {isFailedTurn(turn) && "error: "}
              {conversation.summarizeTurn(turn)}
            </button>
          </li>
        ))}
      </ol>
    </details>
  </nav>
);
