/** The page: its header, and the view of its query. */
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import * as z from "zod/mini";
import type { PageState } from "../answers.ts";
import { allGroups, type Query, selectView } from "../query.ts";
import { formatCount, formatPercent } from "./format.ts";
import { Group } from "./group.tsx";
import { Groups } from "./groups.tsx";
import { KeyHelp, useKeys } from "./keys.tsx";
import { MarkdownProvider } from "./markdown.tsx";
import { SearchedTextProvider } from "./match.tsx";
import { navigateUp, useQuery } from "./navigation.ts";
import { ProblemsView } from "./problems.tsx";
import { RewardScaleProvider } from "./rewards.tsx";
import { Trajectory } from "./trajectory.tsx";
import { storeToken, useAnswer } from "./use-answer.ts";

const isRead = ({ progress }: PageState): boolean => progress.phase === "read";

const App = () => {
  const query = useQuery();
  const view = selectView(query);
  const { value: state, error } = useAnswer("state", allGroups, { isComplete: isRead });
  const [isHelpOpen, setHelpOpen] = useState(false);
  const [isMarkdownOn, setMarkdownOn] = useState(false);
  const toggleMarkdown = () => setMarkdownOn(!isMarkdownOn);
  const main = useRef<HTMLElement>(null);
  useKeys({
    "?": () => setHelpOpen(!isHelpOpen),
    m: toggleMarkdown,
    Escape: () => (isHelpOpen ? setHelpOpen(false) : navigateUp(query)),
  });
  const title = titleOf(query);
  useLayoutEffect(() => {
    document.title = title === undefined ? "rollcall view" : `${title} · rollcall view`;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <header>
        <a href="#/" class="home">
          <b>rollcall view</b>
        </a>
        {error === undefined && <ReadingProgress state={state} />}
        <button type="button" onClick={() => setHelpOpen(!isHelpOpen)} aria-expanded={isHelpOpen}>
          keys <kbd>?</kbd>
        </button>
      </header>
      {isHelpOpen && <KeyHelp view={view} onClose={() => setHelpOpen(false)} />}
      <main ref={main} tabIndex={-1} aria-label={title ?? "groups"}>
        {error !== undefined && (
          <p role="alert" class="trouble">
            {error}
          </p>
        )}
        {error === undefined && state?.summary === undefined && <p class="quiet">reading…</p>}
        {state?.summary !== undefined && (
          <SearchedTextProvider value={query.text ?? ""}>
            <MarkdownProvider value={{ isOn: isMarkdownOn, toggle: toggleMarkdown }}>
              <RewardScaleProvider value={state.summary.reward}>
                <View query={query} state={state} />
              </RewardScaleProvider>
            </MarkdownProvider>
          </SearchedTextProvider>
        )}
      </main>
    </>
  );
};

const View = ({ query, state }: { readonly query: Query; readonly state: PageState }) => {
  const view = selectView(query);
  if (view === "group") return <Group query={query} />;
  if (view === "trajectory") return <Trajectory query={query} />;
  return view === "problems" ? <ProblemsView query={query} /> : <Groups query={query} state={state} />;
};

/** The title of a view; undefined for the first view. */
const titleOf = (query: Query): string | undefined => {
  const { group, trajectory } = query;
  const view = selectView(query);
  if (view === "groups" || view === "problems") return view === "groups" ? undefined : view;
  return view === "group" ? `group ${group}` : `trajectory ${trajectory} of group ${group}`;
};

const ReadingProgress = ({ state }: { readonly state: PageState | undefined }) => {
  const { phase, done, of } = state?.progress ?? { phase: "opening", done: 0, of: 0 };
  const writtenAt = state?.written?.at.slice(0, 16).replace("T", " ");
  const text = {
    opening: "opening",
    reading: `reading, ${formatPercent(done, of)}`,
    measuring: `measuring, ${formatCount(done)} of ${formatCount(of)} groups`,
    read: writtenAt === undefined ? "" : `as of ${writtenAt} UTC`,
  }[phase];
  return (
    <span class="reading" role="status">
      {text}
      {phase !== "read" && of > 0 && <progress value={done} max={of} aria-label={text} />}
    </span>
  );
};

// The page's policy forbids to compile code.
z.config({ jitless: true });
storeToken();
// A pasted URL that differs only in its hash loads nothing.
addEventListener("hashchange", () => storeToken() && location.reload());
render(<App />, document.body);
