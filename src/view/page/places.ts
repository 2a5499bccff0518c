/** Returns the reader to each view as it was left: its scroll position, that of its table, and the focused link. */
import { formatQuery, type Query, selectView } from "../query.ts";
import { linkTo, parseHash } from "./page-context.ts";

interface Place {
  readonly top: number;
  readonly rowsTop: number;
  readonly href: string;
  readonly nth: number;
}

const places = new Map<string, Place>();
let shown = parseHash(location.hash);
let left = shown;
history.scrollRestoration = "manual";

/** All pages of a table have one place. */
const keyOf = (query: Query): string => formatQuery({ ...query, page: 1 });
const linksTo = (href: string) => [...document.querySelectorAll<HTMLElement>(`main a[href="${CSS.escape(href)}"]`)];

// This listener is the first, so the view that is left is still drawn.
addEventListener("hashchange", () => {
  const href = document.activeElement?.getAttribute("href") ?? "";
  const nth = linksTo(href).findIndex((link) => link.matches(":focus"));
  places.set(keyOf(shown), { top: scrollY, rowsTop: document.querySelector(".rows")?.scrollTop ?? 0, href, nth });
  [left, shown] = [shown, parseHash(location.hash)];
});

/** Returns the place of a view. The link in a table is that of the last group, which n and p can change. */
export const findPlace = (query: Query): Place | undefined => {
  const place = places.get(keyOf(query));
  const isFromGroup = selectView(query) === "groups" && left.group !== undefined;
  return place && isFromGroup ? { ...place, href: linkTo({ ...left, trajectory: undefined }), nth: 0 } : place;
};

/** Returns to the place of the view while it is being drawn, until the reader moves. Returns what ends this. */
export const returnToPlace = (main: HTMLElement): (() => void) => {
  const { top, rowsTop, href, nth } = findPlace(shown) ?? { top: 0, rowsTop: 0, href: "", nth: -1 };
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
  for (const own of ["wheel", "keydown", "pointerdown"]) addEventListener(own, end, { once: true });
  return end;
};
