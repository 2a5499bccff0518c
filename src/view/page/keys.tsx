/** The keys of the page, and the list of them. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { selectView } from "../query.ts";

/** Runs actions by key, except while somebody types. */
export const useKeys = (actions: Readonly<Record<string, () => void>>): void => {
  const current = useRef(actions);
  current.current = actions;
  // With the drawing, not a frame later: a key that is pressed as soon as something is seen is meant for it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const { target } = event;
      if (target instanceof HTMLInputElement) {
        if (event.key === "Escape") target.blur();
        return;
      }
      const action = current.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
};

type View = ReturnType<typeof selectView>;

/** Keys, with the views that have them; all views have the others. */
const keyBindings: readonly (readonly [keys: readonly string[], does: string, views?: readonly View[]])[] = [
  [["j", "k"], "the next, or the one before", ["groups", "group", "trajectory"]],
  [["Enter"], "open it", ["groups", "group"]],
  [["Enter"], "unfold the message, or fold it", ["trajectory"]],
  [["n", "p"], "the next group or trajectory, or the one before", ["group", "trajectory"]],
  [["/"], "search", ["groups"]],
  [["Escape"], "back up"],
  [["r"], "the raw JSON", ["trajectory"]],
  [["?"], "this list"],
];

/** The list of keys. */
export const KeyHelp = ({ view, onClose }: { readonly view: View; readonly onClose: () => void }) => (
  <section class="help" aria-label="keys">
    <dl>
      {keyBindings
        .filter(([, , views]) => views?.includes(view) !== false)
        .map(([names, does]) => (
          <div key={does}>
            <dt>
              {names.map((name) => (
                <kbd key={name}>{name}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
    </dl>
    <button type="button" onClick={onClose}>
      close
    </button>
  </section>
);

/** Moves the focus in a list, from the element that has it. False if there is no next element. */
export const moveFocus = (list: ParentNode | null, selector: string, by: 1 | -1): boolean => {
  const all = [...(list?.querySelectorAll<HTMLElement>(selector) ?? [])];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
};
