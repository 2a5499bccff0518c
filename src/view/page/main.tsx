/** Draws the header, and the view that the query selects. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { formatPercent } from "../../text/units.ts";
import { allGroups, formatQuery, type PageState, parentQuery, type Query, selectView } from "../answers.ts";
import { Group } from "./group.tsx";
import { Groups } from "./groups.tsx";
import { linkTo, PageProvider, parseHash, useKeys, useQuery } from "./navigation.tsx";
import { PendingAnswer } from "./problems.tsx";
import { Facts } from "./sortable-table.tsx";
import { Trajectory } from "./trajectory.tsx";
import { serverEndedEvent, storeFolds, storeToken, useAnswer } from "./use-answer.ts";

const keys = {
  "j k": "next or previous row or message",
  Enter: "open, or unfold the message",
  "n p": "next or previous group or trajectory",
  "← →": "next or previous bar or point (Tab leads to a plot)",
  "/": "search",
  Escape: "back to the parent view, or remove all filters",
  "[ ]": "previous or next error",
  e: "open or close all folds",
  r: "show the JSON",
  "?": "show the keys",
};

/** The view changes when its answers have arrived. */
const useShown = ({ message, ...query }: Query, isOpen: boolean) => {
  const view = selectView(query);
  const detail = useAnswer("group", isOpen && view !== "groups" ? { ...query, trajectory: undefined } : undefined);
  const json = useAnswer("trajectory", isOpen && view === "trajectory" ? query : undefined);
  const error = detail.error || json.error;
  const next = { query, message, error, detail: detail.value, json: json.value };
  const hasArrived = detail.value && (view === "group" || json.value !== undefined);
  const shown = useRef<typeof next | undefined>(undefined);
  if (view === "groups" || hasArrived || error) shown.current = next;
  return shown.current;
};

const App = () => {
  const { latest: state, error } = useAnswer("state", allGroups);
  const wanted = useQuery();
  const shown = useShown(wanted, state?.summary !== undefined);
  const isOpen = shown && state?.summary !== undefined;
  const { query = allGroups, message, detail, json } = shown ?? {};
  const view = selectView(query);
  const [hasEnded, setEnded] = useState(false);
  useEffect(() => addEventListener(serverEndedEvent, () => setEnded(true)), []);
  const fault = hasEnded
    ? "rollcall view has ended, so the page shows its last data. Start it again to see new data"
    : error;
  const trouble = fault ?? (state?.hasChanged && "the input has changed or grown since it was read");
  const [isHelpOpen, setHelpOpen] = useState(false);
  const toggleHelp = () => setHelpOpen(!isHelpOpen);
  const openedGroup = useRef(query.group);
  if (query.group !== undefined) openedGroup.current = query.group;
  // A second key can come before the next view.
  const goUp = () => location.assign(linkTo(parentQuery(parseHash(location.hash))));
  const main = useRef<HTMLElement>(null);
  const [isUnfolded, setUnfolded] = useState(() => storeFolds());
  const toggleFolds = () => setUnfolded(storeFolds(isUnfolded ? "closed" : "open"));
  useKeys({ "?": toggleHelp, e: toggleFolds, Escape: isHelpOpen ? toggleHelp : goUp });
  const title = {
    groups: "groups",
    group: `group ${query.group}`,
    trajectory: `trajectory ${query.trajectory} of group ${query.group}`,
  }[view];
  useLayoutEffect(() => {
    document.title = view === "groups" ? "rollcall view" : `${title} · rollcall view`;
    // The pressed button of the view can have the focus.
    if (!main.current?.contains(document.activeElement)) main.current?.focus({ preventScroll: true });
    if (view !== "groups") scrollTo(0, 0);
  }, [title]);
  useLayoutEffect(() => {
    // The focused filter may have disappeared.
    if (document.activeElement === document.body) main.current?.querySelector<HTMLElement>(".filters")?.focus();
  }, [formatQuery(query)]);
  return (
    <>
      <header>
        <a href="#/" class="home">
          <b>rollcall view</b>
        </a>
        {fault === undefined && state && <ReadingProgress state={state} />}
        <button type="button" onClick={toggleHelp} aria-expanded={isHelpOpen}>
          keys <kbd>?</kbd>
        </button>
      </header>
      {isHelpOpen && (
        <section class="help" aria-label="keys">
          <Facts facts={keys} />
        </section>
      )}
      <main
        ref={main}
        tabIndex={-1}
        aria-label={title}
        aria-busy={formatQuery({ ...wanted, message: undefined }) !== formatQuery(query)}
      >
        {trouble && (
          <p role="alert" class="bar trouble">
            {trouble}{" "}
            <button type="button" hidden={hasEnded} onClick={() => location.reload()}>
              reload
            </button>
          </p>
        )}
        {!isOpen && !trouble && <p class="quiet">reading…</p>}
        {isOpen && (
          <PageProvider value={{ query, scale: state.summary.scale, openedGroup: openedGroup.current, isUnfolded }}>
            {view === "groups" && <Groups state={state} summary={state.summary} />}
            {shown.error && <PendingAnswer error={shown.error} />}
            {view === "group" && detail && <Group key={formatQuery(query)} detail={detail} />}
            {view === "trajectory" && detail && json !== undefined && (
              <Trajectory key={formatQuery(query)} detail={detail} json={json} message={message} />
            )}
          </PageProvider>
        )}
      </main>
    </>
  );
};

const ReadingProgress = ({ state: { progress, written } }: { state: PageState }) => {
  const { phase, done, of } = progress;
  const writtenAt = written?.at.slice(0, 16).replace("T", " ");
  // A screen reader would read each change of a status aloud.
  return (
    <span class="reading" {...(done === of && { role: "status" })}>
      {phase !== "read" && `${phase}${of > 0 ? `, ${formatPercent(done, of)}` : ""}`}
      {writtenAt && `as of ${writtenAt} UTC`}
    </span>
  );
};

storeToken();
// The browser does not reload the page for a new token in the hash.
addEventListener("hashchange", () => storeToken() && location.reload());
render(<App />, document.body);
