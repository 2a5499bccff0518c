/** The page: what was read at its top, one view below it, and the keys that go from one to the other. */
import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CallsSummary } from "../call-shapes.ts";
import type { State } from "../shapes.ts";
import { askJson, Trouble, takeToken } from "./ask.ts";
import { Call } from "./call.tsx";
import { Calls } from "./calls.tsx";
import { Group } from "./group.tsx";
import { Groups } from "./groups.tsx";
import { Help, useKeys } from "./keys.tsx";
import { Problems } from "./problems.tsx";
import { allCalls, allGroups, groupAddress, isOpenedFromAbove, type Route, tableAddress, useRoute } from "./routes.ts";
import { number, percent } from "./text.ts";
import { Trajectory } from "./trajectory.tsx";

/** How often the page asks how far reading is. */
const againMs = 250;

/** How far reading is; asked for until all was measured. */
const useReading = (): { readonly state: State | undefined; readonly trouble: string | undefined } => {
  const [state, setState] = useState<State>();
  const [trouble, setTrouble] = useState<string>();
  useEffect(() => {
    const leaving = new AbortController();
    const ask = async (): Promise<void> => {
      const said = await askJson<State>("api/state", leaving.signal);
      setState(said);
      if (!isRead(said)) setTimeout(() => void ask().catch(tell), againMs);
    };
    const tell = (thrown: unknown) => {
      if (thrown instanceof Trouble) setTrouble(thrown.message);
    };
    ask().catch(tell);
    return () => leaving.abort();
  }, []);
  return { state, trouble };
};

/** The view above; of those below a table the table as it was. */
const upFrom = (route: Route): string | undefined => {
  if (route.view === "groups" || route.view === "calls") return undefined;
  return route.view === "trajectory" ? groupAddress(route.group) : tableAddress();
};

const App = () => {
  const route = useRoute();
  const { state, trouble } = useReading();
  const [isHelpOpen, setHelpOpen] = useState(false);
  const main = useRef<HTMLElement>(null);
  const up = upFrom(route);
  useKeys({
    "?": () => setHelpOpen(!isHelpOpen),
    Escape: () => {
      if (isHelpOpen) setHelpOpen(false);
      else if (up !== undefined) isOpenedFromAbove() ? history.back() : location.assign(up);
    },
  });
  const title = titleOf(route);
  useLayoutEffect(() => {
    document.title = title === undefined ? "rollcall view" : `${title} · rollcall view`;
    main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
  }, [title]);
  return (
    <>
      <header>
        <a href="#/" class="home">
          rollcall view
        </a>
        {trouble === undefined && <Reading state={state} />}
        <button type="button" onClick={() => setHelpOpen(!isHelpOpen)} aria-expanded={isHelpOpen}>
          keys <kbd>?</kbd>
        </button>
      </header>
      {isHelpOpen && <Help view={route.view} onClose={() => setHelpOpen(false)} />}
      <main ref={main} tabIndex={-1} aria-label={title ?? "groups"}>
        {trouble !== undefined && (
          <p role="alert" class="trouble">
            {trouble}
          </p>
        )}
        {trouble === undefined && state?.summary === undefined && state?.calls === undefined && (
          <p class="quiet">reading…</p>
        )}
        {state?.summary !== undefined && <View route={route} state={state} />}
        {state?.calls !== undefined && <CallsView route={route} calls={state.calls} isRead={isRead(state)} />}
      </main>
    </>
  );
};

const View = ({ route, state }: { readonly route: Route; readonly state: State }) => {
  if (route.view === "group") return <Group group={route.group} />;
  if (route.view === "trajectory") return <Trajectory group={route.group} trajectory={route.trajectory} />;
  if (route.view === "call") return <p role="alert">groups are shown here, no calls</p>;
  if (route.view === "problems") return <Problems rule={route.rule} />;
  return <Groups state={state} selection={route.view === "groups" ? route.selection : allGroups} />;
};

const isRead = ({ progress }: State): boolean => progress.phase === "read";

const CallsView = ({
  route,
  calls,
  isRead,
}: {
  readonly route: Route;
  readonly calls: CallsSummary;
  readonly isRead: boolean;
}) => {
  if (route.view === "call") return <Call id={route.id} />;
  if (route.view === "group" || route.view === "trajectory") return <p role="alert">calls are shown here, no groups</p>;
  return <Calls calls={calls} isRead={isRead} selection={route.view === "calls" ? route.selection : allCalls} />;
};

/** What a view is called; nothing for the first one. */
const titleOf = (route: Route): string | undefined => {
  if (route.view === "call") return `call ${route.id}`;
  if (route.view === "calls" || route.view === "problems") return route.view;
  if (route.view === "groups") return undefined;
  const group = `group ${route.group + 1}`;
  return route.view === "group" ? group : `trajectory ${route.trajectory + 1} of ${group}`;
};

const Reading = ({ state }: { readonly state: State | undefined }) => {
  const { phase = "opening", done = 0, of = 0 } = state?.progress ?? {};
  if (phase === "read") {
    const at = state?.written?.at.slice(0, 16).replace("T", " ");
    return (
      <span class="reading" role="status">
        {at !== undefined && `as of ${at} UTC`}
      </span>
    );
  }
  const text =
    phase === "opening"
      ? "opening"
      : phase === "reading"
        ? `reading, ${percent(done, of)}`
        : phase === "calls"
          ? `reading, ${number(done)} of ${number(of)} calls`
          : `measuring, ${number(done)} of ${number(of)} groups`;
  return (
    <span class="reading" role="status">
      {text} {of > 0 && <progress value={done} max={of} aria-label={text} />}
    </span>
  );
};

takeToken();
// An address that is pasted over that of an earlier run loads nothing by itself.
addEventListener("hashchange", () => takeToken() && location.reload());
render(<App />, document.body);
