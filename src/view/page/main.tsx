/** The page: its header, the view of its query, and the keys that lead from one view to another. */
import { render } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import * as z from "zod/mini";
import type { State } from "../answers.ts";
import { allGroups, type Query, viewOf } from "../query.ts";
import { goUp, useQuery } from "./address.ts";
import { takeToken, useAnswer } from "./ask.ts";
import { Group } from "./group.tsx";
import { Groups } from "./groups.tsx";
import { Help, useKeys } from "./keys.tsx";
import { Problems } from "./problems.tsx";
import { number, percent } from "./text.ts";
import { Trajectory } from "./trajectory.tsx";

const isRead = ({ progress }: State): boolean => progress.phase === "read";

const App = () => {
  const query = useQuery();
  const view = viewOf(query);
  const { value: state, trouble } = useAnswer("state", allGroups, { isComplete: isRead });
  const [isHelpOpen, setHelpOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  useKeys({
    "?": () => setHelpOpen(!isHelpOpen),
    Escape: () => (isHelpOpen ? setHelpOpen(false) : goUp(query)),
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
        {trouble === undefined && <Reading state={state} />}
        <button type="button" onClick={() => setHelpOpen(!isHelpOpen)} aria-expanded={isHelpOpen}>
          keys <kbd>?</kbd>
        </button>
      </header>
      {isHelpOpen && <Help view={view} onClose={() => setHelpOpen(false)} />}
      <main ref={main} tabIndex={-1} aria-label={title ?? "groups"}>
        {trouble !== undefined && (
          <p role="alert" class="trouble">
            {trouble}
          </p>
        )}
        {trouble === undefined && state?.summary === undefined && <p class="quiet">reading…</p>}
        {state?.summary !== undefined && <View query={query} state={state} />}
      </main>
    </>
  );
};

const View = ({ query, state }: { readonly query: Query; readonly state: State }) => {
  const view = viewOf(query);
  if (view === "group") return <Group query={query} />;
  if (view === "trajectory") return <Trajectory query={query} />;
  return view === "problems" ? <Problems query={query} /> : <Groups query={query} state={state} />;
};

/** The name of a view; undefined for the first one. */
const titleOf = (query: Query): string | undefined => {
  const { group, trajectory } = query;
  const view = viewOf(query);
  if (view === "groups" || view === "problems") return view === "groups" ? undefined : view;
  return view === "group" ? `group ${group}` : `trajectory ${trajectory} of group ${group}`;
};

const Reading = ({ state }: { readonly state: State | undefined }) => {
  const { phase, done, of } = state?.progress ?? { phase: "opening", done: 0, of: 0 };
  const writtenAt = state?.written?.at.slice(0, 16).replace("T", " ");
  const text = {
    opening: "opening",
    reading: `reading, ${percent(done, of)}`,
    measuring: `measuring, ${number(done)} of ${number(of)} groups`,
    read: writtenAt === undefined ? "" : `as of ${writtenAt} UTC`,
  }[phase];
  return (
    <span class="reading" role="status">
      {text}
      {phase !== "read" && of > 0 && <progress value={done} max={of} aria-label={text} />}
    </span>
  );
};

// The page's policy forbids compiling text.
z.config({ jitless: true });
takeToken();
// An address that is pasted over that of an earlier run loads nothing itself.
addEventListener("hashchange", () => takeToken() && location.reload());
render(<App />, document.body);
