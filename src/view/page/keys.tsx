/** The keys of the page, and their list. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { selectView } from "../query.ts";

/** Runs actions by key, except in a text field. */
export const useKeys = (actions: Readonly<Record<string, () => void>>): void => {
  const current = useRef(actions);
  current.current = actions;
  // A layout effect, so that a key pressed right after the drawing has its effect.
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

/** Keys, and the views that have them. Default: all views. */
const keyBindings: readonly (readonly [keys: readonly string[], does: string, views?: readonly View[]])[] = [
  [["j", "k"], "next or previous row or message", ["groups", "group", "trajectory"]],
  [["Enter"], "open", ["groups", "group"]],
  [["Enter"], "unfold or fold the message", ["trajectory"]],
  [["n", "p"], "next or previous group or trajectory", ["group", "trajectory"]],
  [["/"], "search", ["groups"]],
  [["Escape"], "back to the parent view"],
  [["m"], "render Markdown", ["group", "trajectory"]],
  [["r"], "show the JSON", ["trajectory"]],
  [["?"], "show the keys"],
];

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

/** Moves the focus in a list. False if the list ends. */
export const moveFocus = (list: ParentNode | null, selector: string, by: 1 | -1): boolean => {
  const all = [...(list?.querySelectorAll<HTMLElement>(selector) ?? [])];
  const at = all.findIndex((one) => one.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
};
