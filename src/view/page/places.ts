/** Where the reader left each view, by its hash, for a return to it. The table also remembers its own position. */
const places = new Map<string, { readonly top: number; readonly href: string; readonly nth: number }>();
let shown = "";
history.scrollRestoration = "manual";
const linksTo = (href: string) => [...document.querySelectorAll<HTMLElement>(`main a[href="${href}"]`)];

// This listener is the first, so the view that is left is still drawn.
addEventListener("hashchange", () => {
  const href = document.activeElement?.getAttribute("href") ?? "";
  places.set(shown, { top: scrollY, href, nth: linksTo(href).findIndex((link) => link.matches(":focus")) });
  shown = location.hash;
});

/** Returns to the place of the view while it is being drawn, until the reader moves. Returns what ends this. */
export const returnToPlace = (main: HTMLElement): (() => void) => {
  shown = location.hash;
  const { top, href, nth } = places.get(shown) ?? { top: 0, href: "", nth: -1 };
  const observer = new ResizeObserver(() => move());
  const end = () => observer.disconnect();
  const move = () => {
    linksTo(href)[nth]?.focus();
    scrollTo(0, top);
    if (scrollY > top - 1 && linksTo(href).length > nth) end();
  };
  observer.observe(main);
  move();
  for (const own of ["wheel", "keydown", "pointerdown"]) addEventListener(own, end, { once: true });
  return end;
};
