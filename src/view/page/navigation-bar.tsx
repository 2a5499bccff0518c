/** The bar of a group or a trajectory, which stays visible: its position, its rewards, and buttons to its neighbors. */
import type { ComponentChildren } from "preact";
import type { Query } from "../query.ts";
import { useKeys } from "./keys.tsx";
import { replaceQuery } from "./page-context.ts";

interface NavigationBarProps {
  readonly children: ComponentChildren;
  readonly before: Query | undefined;
  readonly after: Query | undefined;
}

export const NavigationBar = ({ children, before, after }: NavigationBarProps) => {
  const show = (query: Query | undefined) => () => {
    if (query !== undefined) replaceQuery(query);
  };
  useKeys({ p: show(before), n: show(after) });
  return (
    <div class="position">
      {children}
      <span class="steps">
        <button type="button" disabled={before === undefined} onClick={show(before)}>
          ‹ previous <kbd>p</kbd>
        </button>
        <button type="button" disabled={after === undefined} onClick={show(after)}>
          next › <kbd>n</kbd>
        </button>
      </span>
    </div>
  );
};
