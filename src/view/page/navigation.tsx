/** Reads and changes the query in the URL, handles keys, and restores scroll positions. */
import { type ComponentChildren, createContext, type RefObject } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { allGroups, formatQuery, parseQuery, type Query, type RewardBounds, selectView } from "../answers.ts";

const scale: RewardBounds = [0, 1];

const Context = createContext({ query: allGroups, scale, isMarkdownOn: false, toggleMarkdown: (): void => undefined });

export const PageProvider = Context.Provider;

export const usePage = () => useContext(Context);

export const useSearchedText = () => usePage().query.text ?? "";

export const useLink = () => {
  const { query } = usePage();
  return (changes: Partial<Query>) => linkTo({ ...query, ...changes });
};

/** The name of the view above a group. */
export const nameOfList = ({ problems, reading, compare }: Query) =>
  problems === undefined ? (reading ? "reading list" : compare ? "comparison" : "groups") : "problems";

/** A group of two runs is a prompt. */
export const nameOfGroup = ({ compare, group }: Query) => `${compare ? "prompt" : "group"} ${group}`;

export const useFilter = (filter: Partial<Query>) => {
  const { query } = usePage();
  const isOn = formatQuery({ ...query, ...filter }) === formatQuery(query);
  const removed = Object.fromEntries(Object.keys(filter).map((key) => [key, undefined]));
  const href = linkTo({ ...query, page: 1, ...(isOn ? removed : filter) });
  return { href, ...(isOn && { "aria-current": "true" as const }) };
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

/** `nth` is the index of the focused link among the links to `href`. */
type ViewPosition = Readonly<{ top: number; rowsTop: number; href: string; nth: number }>;

const positions = new Map<string, ViewPosition>();
let shownQuery = parseHash(location.hash);
let leftQuery = shownQuery;
history.scrollRestoration = "manual";

const keyOf = (query: Query) => formatQuery({ ...query, page: 1 });
const linksTo = (href: string) => [...document.querySelectorAll<HTMLElement>(`main a[href="${CSS.escape(href)}"]`)];

// This listener runs first, so the page still shows the previous view.
addEventListener("hashchange", () => {
  const href = document.activeElement?.getAttribute("href") ?? "";
  const nth = linksTo(href).findIndex((link) => link.matches(":focus"));
  const rowsTop = document.querySelector(".rows")?.scrollTop ?? 0;
  positions.set(keyOf(shownQuery), { top: scrollY, rowsTop, href, nth });
  [leftQuery, shownQuery] = [shownQuery, parseHash(location.hash)];
});

/** If the reader returns from a group to the table, the link to this group gets the focus. */
const findPosition = (query: Query) => {
  const position = positions.get(keyOf(query));
  const isFromGroup = selectView(query) === "groups" && leftQuery.group !== undefined;
  if (!position || !isFromGroup) return position;
  return { ...position, href: linkTo({ ...leftQuery, trajectory: undefined }), nth: 0 };
};

/** Tries again at each change of the page's size, until the reader acts or the position is reached. */
export const restorePosition = (main: HTMLElement) => {
  const { top = 0, rowsTop = 0, href = "", nth = -1 }: Partial<ViewPosition> = findPosition(shownQuery) ?? {};
  const observer = new ResizeObserver(() => move());
  const end = () => observer.disconnect();
  const move = () => {
    const link = linksTo(href)[nth];
    link?.focus();
    main.querySelector(".rows")?.scrollTo(0, rowsTop);
    link?.scrollIntoView({ block: "nearest" });
    scrollTo(0, top);
    if (scrollY > top - 1 && linksTo(href).length > nth) end();
  };
  for (const element of [main, ...main.querySelectorAll("tbody")]) observer.observe(element);
  move();
  for (const input of ["wheel", "keydown", "pointerdown"]) addEventListener(input, end, { once: true });
  return end;
};
