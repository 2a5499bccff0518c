/** Draws a trajectory as a conversation or JSON. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { isFailedTurn, type Turn } from "../../conversation/turns.ts";
import { formatIndented, type RawMember } from "../../json/raw-json.ts";
import type { GroupDetail, TrajectorySummary } from "../answers.ts";
import * as conversation from "./conversation.tsx";
import { isNarrow, NavigationBar, useKeys, useLink, useListKeys, usePage } from "./navigation.tsx";
import { formatAdvantage, formatFact, formatMeasure, isTruncated, listFacts, Reward, Truncated } from "./numbers.tsx";
import { CopyablePosition, CopyButton, listFindings, ProblemList } from "./problems.tsx";
import { Facts } from "./sortable-table.tsx";

const maxRawLines = 1000;

type TrajectoryProps = { detail: GroupDetail; json: string; message: number | undefined };

export const Trajectory = ({ detail, json, message }: TrajectoryProps) => {
  const { query } = usePage();
  const index = detail.members.findIndex(({ at }) => at + 1 === query.trajectory);
  const member = detail.members[index];
  const findings = listFindings(detail, member?.at);
  const parsed = conversation.useTrajectory(json);
  const turns = parsed?.turns(0) ?? [];
  const { talk, isRaw, toggleRaw, show } = useTalk(turns, message);
  const facts = listFactsAndMetrics(member, parsed?.others ?? []);
  return (
    <article>
      <Position detail={detail} index={index} />
      <div class="reader">
        <Outline turns={turns} talk={talk} show={show} />
        <div class="talk" ref={talk}>
          <p class="tools">
            {member !== undefined && <CopyablePosition {...member} />}
            <button type="button" aria-pressed={isRaw} onClick={toggleRaw}>
              raw JSON <kbd>r</kbd>
            </button>
            <CopyButton text={json} name="the JSON" />
          </p>
          <Facts class="metrics" facts={facts.shown} />
          <ProblemList findings={findings.filter((finding) => finding.message_at === null)} />
          {isRaw || !parsed ? (
            <section aria-label="raw JSON" tabIndex={-1}>
              <conversation.LongText text={parsed?.indented() ?? json} kind="raw" lines={maxRawLines} />
            </section>
          ) : (
            <>
              <conversation.Conversation trajectory={query.trajectory ?? 0} turns={turns} findings={findings} />
              {facts.others.map(({ key, value }) => (
                <conversation.FoldedText key={key} title={key} text={formatIndented(value)} />
              ))}
            </>
          )}
        </div>
      </div>
    </article>
  );
};

const maxFactLength = 60;

const isFact = ({ value: { kind, text } }: RawMember) =>
  kind !== "list" && kind !== "object" && text.length <= maxFactLength && !text.includes("\n");

/** Also lists the short values of the trajectory and of its objects, such as `metadata`. Other members are folded. */
const listFactsAndMetrics = (member: TrajectorySummary | undefined, members: readonly RawMember[]) => {
  const shown: Record<string, string> = {};
  for (const [name, value] of Object.entries(member ? listFacts(member) : {}))
    if (value) shown[name] = String(formatFact(value));
  const add = (holder: string, name: string, text: string) => {
    if (shown[name] !== text) shown[Object.hasOwn(shown, name) ? `${holder}.${name}` : name] = text;
  };
  const metrics = Object.entries(member?.metrics ?? {});
  for (const [name, value] of metrics) add("metrics", name, formatMeasure(value));
  const others = members.filter((other) => {
    const { key, value } = other;
    const isMetric = (name: string) => key === "metrics" && metrics.some(([metric]) => metric === name);
    const values = value.kind === "object" ? value.members.filter((one) => !isMetric(one.key)) : [other];
    for (const one of values.filter(isFact)) add(key, one.key, one.value.text);
    return !values.every(isFact);
  });
  return { shown, others };
};

/** True for the message at the top of the screen, below the bar. */
const isAtTop = (entry: HTMLElement) => entry.getBoundingClientRect().bottom > 100;
const isFocused = (entry: HTMLElement) => entry.matches(":focus-within");

type Talk = RefObject<HTMLDivElement | null>;

const findEntries = ({ current }: Talk) => [...(current?.querySelectorAll<HTMLElement>(".entry") ?? [])];

/** The focused message has the focus again after the JSON was shown. */
const useTalk = (turns: readonly Turn[], message = 0) => {
  const [isRaw, setRaw] = useState(false);
  const talk = useRef<HTMLDivElement>(null);
  const focusedMessage = useRef(-1);
  const show = (position = -1) => {
    const entry = findEntries(talk)[position];
    entry?.focus({ preventScroll: true });
    entry?.scrollIntoView();
    return entry;
  };
  const toggleRaw = () => {
    if (!isRaw) focusedMessage.current = findEntries(talk).findIndex(isFocused);
    setRaw(!isRaw);
  };
  const errors = turns.flatMap((turn, position) => (isFailedTurn(turn) ? position : []));
  const findCurrent = () => {
    const entries = findEntries(talk);
    return entries.findIndex(entries.some(isFocused) ? isFocused : isAtTop);
  };
  useEffect(() => talk.current?.querySelector("mark")?.scrollIntoView({ block: "center" }), []);
  useEffect(() => {
    if (message > 0) conversation.openFolds(show(turns.findLastIndex(({ at }) => at < message)));
  }, [message]);
  useListKeys(talk, ".entry");
  useKeys({
    r: toggleRaw,
    "]": () => show(errors.find((position) => position > findCurrent())),
    "[": () => show(errors.findLast((position) => position < findCurrent())),
  });
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

type OutlineProps = { turns: readonly Turn[]; talk: Talk; show: (position: number) => void };

const Outline = ({ turns, talk, show }: OutlineProps) => {
  const nav = useRef<HTMLElement>(null);
  const [current, setCurrent] = useState(-1);
  useEffect(() => {
    const ending = new AbortController();
    const follow = ({ type }: Event) =>
      setCurrent(findEntries(talk).findIndex(type === "scroll" ? isAtTop : isFocused));
    for (const type of ["scroll", "focusin"]) addEventListener(type, follow, { signal: ending.signal });
    return () => ending.abort();
  }, []);
  useLayoutEffect(() => {
    const { offsetTop = 0 } = nav.current?.querySelector<HTMLElement>("[aria-current]") ?? {};
    nav.current?.scrollTo({ top: offsetTop - nav.current.clientHeight / 2 });
  }, [current]);
  return (
    <nav class="outline" aria-label="outline" ref={nav}>
      <details open={!isNarrow()}>
        <summary>outline</summary>
        <ol>
          {turns.map((turn, position) => (
            <li key={turn.at} {...(position === current && { "aria-current": "true" })}>
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
};
