/** Draws a trajectory as a conversation or JSON. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Turn } from "../../calls/conversation.ts";
import { formatIndented, type RawMember } from "../../json/raw-json.ts";
import type { GroupDetail } from "../answers.ts";
import {
  Conversation,
  FoldedText,
  hasError,
  LongText,
  summarizeTurn,
  tokensOf,
  useTrajectory,
} from "./conversation.tsx";
import { Command, CopyablePosition, CopyButton } from "./copy.tsx";
import { MarkdownButton } from "./markdown.tsx";
import { NavigationBar, nameOfGroup, nameOfList, useKeys, useLink, useListKeys, usePage } from "./navigation.tsx";
import { formatAdvantage, formatFact, formatMeasure, isTruncated, listFacts, Reward, Truncated } from "./numbers.tsx";
import { PendingAnswer, ProblemList } from "./problems.tsx";
import { Facts } from "./sortable-table.tsx";
import { useAnswer } from "./use-answer.ts";

const maxRawLines = 1000;
const wideScreenPx = 1000;

export const Trajectory = () => {
  const { query } = usePage();
  const detail = useAnswer("group", { ...query, trajectory: undefined });
  const json = useAnswer("trajectory", query);
  if (!detail.value || json.value === undefined) {
    return <PendingAnswer error={detail.error ?? json.error} />;
  }
  return <TrajectoryView detail={detail.value} json={json.value} />;
};

const TrajectoryView = ({ detail, json }: { detail: GroupDetail; json: string }) => {
  const { prompt, members } = detail;
  const { query, isMarkdownOn } = usePage();
  const link = useLink();
  const at = (query.trajectory ?? 1) - 1;
  const member = members[at];
  const findings = detail.findings.filter(({ trajectory }) => trajectory === at);
  const parsed = useTrajectory(json);
  const turns = parsed?.turns(0) ?? [];
  const facts = member ? listFacts(member) : {};
  const known = Object.entries(facts).flatMap(([name, value]) => (value ? [[name, formatFact(value)] as const] : []));
  const metrics = Object.entries(member?.metrics ?? {}).map(
    ([name, value]) => [Object.hasOwn(facts, name) ? `metrics.${name}` : name, formatMeasure(value)] as const,
  );
  const isUnlisted = ({ key, value }: RawMember) =>
    key !== "metrics" || value.kind !== "object" || value.members.length > metrics.length;
  const [isRaw, setRaw] = useState(false);
  const talk = useRef<HTMLDivElement>(null);
  useEffect(() => talk.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), []);
  const findEntries = () => [...(talk.current?.querySelectorAll<HTMLElement>(".entry") ?? [])];
  const focusedMessage = useRef(-1);
  const toggleRaw = () => {
    if (!isRaw) focusedMessage.current = findEntries().findIndex((entry) => entry.matches(":focus-within"));
    setRaw(!isRaw);
  };
  useListKeys(talk, ".entry");
  useKeys({ r: toggleRaw });
  const show = (position: number) => {
    const entry = findEntries()[position];
    entry?.focus({ preventScroll: true });
    entry?.scrollIntoView();
  };
  useLayoutEffect(() => {
    // The focused element may have disappeared.
    if (document.activeElement === document.body && !isRaw) show(focusedMessage.current);
    if (document.activeElement === document.body) talk.current?.querySelector("section")?.focus();
  }, [isRaw]);
  const neighbor = (to: number) => (members[to] ? { ...query, trajectory: to + 1 } : undefined);
  return (
    <article>
      <NavigationBar before={neighbor(at - 1)} after={neighbor(at + 1)}>
        <p class="way">
          <a href={link({ group: undefined, trajectory: undefined })}>{nameOfList(query)}</a> ›{" "}
          <a href={link({ trajectory: undefined })} title={prompt}>
            {nameOfGroup(query)}
          </a>{" "}
          ›
        </p>
        <h1>
          {member?.name} of {members.length}{" "}
          <span>
            <span class="quiet">reward</span> <Reward value={member?.reward} />
          </span>{" "}
          <span>
            <span class="quiet">advantage</span> {formatAdvantage(member?.facts?.advantage)}
          </span>{" "}
          {isTruncated(member) && <Truncated />}
        </h1>
      </NavigationBar>
      <div class="reader">
        <Outline turns={turns} show={show} />
        <div class="talk" ref={talk}>
          <div class="tools">
            {member !== undefined && <CopyablePosition {...member} />}
            <Command {...detail} />
          </div>
          <Facts class="metrics" facts={Object.fromEntries([...known, ...metrics])} />
          <p class="tools">
            <MarkdownButton />
            <button type="button" aria-pressed={isRaw} onClick={toggleRaw}>
              raw JSON <kbd>r</kbd>
            </button>
            <CopyButton text={json} name="the JSON" />
            {!isMarkdownOn && turns.some((turn) => tokensOf(turn).length > 0) && (
              <span class="quiet">tinted: unlikely tokens</span>
            )}
          </p>
          <ProblemList findings={findings.filter((finding) => finding.message_at === null)} />
          {isRaw || !parsed ? (
            <section aria-label="raw JSON" tabIndex={-1}>
              <LongText text={parsed?.indented() ?? json} kind="raw" lines={maxRawLines} />
            </section>
          ) : (
            <>
              <Conversation turns={turns} findings={findings} isTinted />
              {parsed.others.filter(isUnlisted).map(({ key, value }) => (
                <FoldedText key={key} title={key} text={formatIndented(value)} />
              ))}
            </>
          )}
        </div>
      </div>
    </article>
  );
};

const Outline = ({ turns, show }: { turns: readonly Turn[]; show: (position: number) => void }) => (
  <nav class="outline" aria-label="outline">
    <details open={innerWidth >= wideScreenPx}>
      <summary>outline</summary>
      <ol>
        {turns.map((turn, position) => (
          <li key={turn.at}>
            <button type="button" class={hasError(turn) ? "trouble" : ""} onClick={() => show(position)}>
              <span class="n">{turn.at + 1}</span> <b>{turn.role ?? "?"}</b> {hasError(turn) && "error: "}
              {summarizeTurn(turn)}
            </button>
          </li>
        ))}
      </ol>
    </details>
  </nav>
);
