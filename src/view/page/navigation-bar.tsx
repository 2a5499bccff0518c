/** The bar of a group or a trajectory, which stays visible: its position, its rewards, and buttons to its neighbors. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Query } from "../query.ts";
import { useKeys } from "./keys.tsx";
import { replaceQuery } from "./page-context.ts";

type NavigationBarProps = { children: ComponentChildren; before: Query | undefined; after: Query | undefined };

/** The name of the pressed button, which gets the focus again in the next bar. */
let pressed: string | undefined;

export const NavigationBar = ({ children, before, after }: Readonly<NavigationBarProps>) => {
  const show = (query: Query | undefined, button?: string) => () => {
    pressed = button;
    if (query !== undefined) replaceQuery(query);
  };
  useKeys({ p: show(before), n: show(after) });
  const bar = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    bar.current?.querySelector<HTMLElement>(`[name="${pressed}"]`)?.focus({ preventScroll: true });
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
