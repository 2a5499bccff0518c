/** Reads and changes the query in the URL, and handles keys. */
import { type ComponentChildren, createContext, type RefObject } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { compilePattern } from "../../json/raw-json.ts";
import { allGroups, formatQuery, parseQuery, type Query, type RewardBounds } from "../answers.ts";

interface PageContext {
  query: Query;
  scale: RewardBounds;
  /** The group that the reader opened last. */
  openedGroup: number | undefined;
  /** True if all folds are open. */
  isUnfolded: boolean;
}

const firstPage: PageContext = { query: allGroups, scale: [0, 1], openedGroup: undefined, isUnfolded: false };

const Context = createContext(firstPage);

export const PageProvider = Context.Provider;

export const usePage = () => useContext(Context);

/** Without a search, the pattern matches nothing. */
export const useSearchedPattern = () => {
  const { text } = usePage().query;
  return text ? compilePattern(text) : /(?!)/;
};

export const useLink = () => {
  const { query } = usePage();
  return (changes: Partial<Query>) => linkTo({ ...query, ...changes });
};

export const useFilter = (filter: Partial<Query>) => {
  const { query } = usePage();
  const isOn = formatQuery({ ...query, ...filter }) === formatQuery(query);
  const removed = Object.fromEntries(Object.keys(filter).map((key) => [key, undefined]));
  const href = linkTo({ ...query, page: 1, ...(isOn ? removed : filter) });
  return { href, ...(isOn && { "aria-current": "true" as const }) };
};

/** As in page.css, where the browser's text size also counts. */
export const isNarrow = () => innerWidth < 66.6 * remSize();

export const remSize = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize);

export const useWidth = (element: RefObject<Element | null>) => {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => setWidth(element.current?.clientWidth ?? 0);
    const observer = new ResizeObserver(measure);
    measure();
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return width;
};

export const linkTo = (query: Query) => {
  const json = formatQuery(query);
  return `#/${json === "{}" ? "" : encodeURIComponent(json)}`;
};

export const parseHash = (hash: string) => {
  try {
    return parseQuery(decodeURIComponent(hash.replace(/^#\/?/, ""))) ?? allGroups;
  } catch {
    return allGroups;
  }
};

export const replaceQuery = (query: Query) => {
  history.replaceState(null, "", linkTo(query));
  dispatchEvent(new HashChangeEvent("hashchange"));
};

export const useQuery = (): Query => {
  const [hash, setHash] = useState(location.hash);
  useEffect(() => addEventListener("hashchange", () => setHash(location.hash)), []);
  return parseHash(hash);
};

export const useKeys = (actions: Record<string, () => void>) => {
  const latestActions = useRef(actions);
  latestActions.current = actions;
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || event.defaultPrevented) return;
      if (target instanceof HTMLInputElement) {
        if (key === "Escape") target.closest("main")?.querySelector<HTMLElement>(".rows")?.focus();
        return;
      }
      const action = latestActions.current[key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
};

const isInSight = (element: HTMLElement) => {
  const { left, width, top } = element.getBoundingClientRect();
  const hit = document.elementFromPoint(left + width / 2, top + 2);
  return top > 0 && (hit === null || element.contains(hit));
};

export const moveFocus = (list: ParentNode | null, selector: string, by: 1 | -1) => {
  const elements = [...(list?.querySelectorAll<HTMLElement | SVGElement>(selector) ?? [])];
  const at = elements.findIndex((element) => element.contains(document.activeElement));
  // If no element has the focus, ← begins with the last element of a chart.
  const first = elements.findIndex((element) => element instanceof SVGElement || isInSight(element));
  const next = at < 0 ? elements.at(by > 0 ? first : Math.max(0, first) - 1) : elements[at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
};

export const useListKeys = (list: RefObject<HTMLElement | null>, selector: string) =>
  useKeys({ j: () => moveFocus(list.current, selector, 1), k: () => moveFocus(list.current, selector, -1) });

type NavigationBarProps = { children: ComponentChildren; before: Query | undefined; after: Query | undefined };

/** The clicked button gets the focus again in the next group or trajectory. */
let pressedButton: string | undefined;

export const NavigationBar = ({ children, before, after }: NavigationBarProps) => {
  const show = (query: Query | undefined, button?: string) => () => {
    pressedButton = button;
    if (query) replaceQuery(query);
  };
  useKeys({ p: show(before), n: show(after) });
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    bar.current?.querySelector<HTMLElement>(`[name="${pressedButton}"]`)?.focus({ preventScroll: true });
    pressedButton = undefined;
    document.documentElement.style.setProperty("--bar", `${bar.current?.offsetHeight}px`);
  }, []);
  return (
    <div class="position" ref={bar}>
      {children}
      <span class="steps">
        <button type="button" name="before" disabled={before === undefined} onClick={show(before, "before")}>
          ‹ previous <kbd>p</kbd>
        </button>
        <button type="button" name="after" disabled={after === undefined} onClick={show(after, "after")}>
          next › <kbd>n</kbd>
        </button>
      </span>
    </div>
  );
};

history.scrollRestoration = "manual";
