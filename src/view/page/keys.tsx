/** Keys: what the page does at each, and the list of them. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Route } from "./routes.ts";

/** What is done at a key; it is not, while somebody types. */
export const useKeys = (actions: Readonly<Record<string, () => void>>): void => {
  const current = useRef(actions);
  current.current = actions;
  // With what is drawn, not a frame later: a key that is pressed as soon as something is seen is meant for it.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      const { target } = event;
      const isTyping = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
      if (isTyping && event.key !== "Escape") return;
      if (isTyping && target instanceof HTMLElement) return target.blur();
      const action = current.current[event.key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
};

/** Each with the views that have it; all have those of none. */
const keys: readonly (readonly [keys: readonly string[], does: string, views?: readonly Route["view"][]])[] = [
  [["j", "k"], "the next, or the one before", ["groups", "group", "trajectory", "calls", "call"]],
  [["Enter"], "open it", ["groups", "group", "calls"]],
  [["Enter"], "unfold the message, or fold it", ["trajectory", "call"]],
  [["n", "p"], "the next group or trajectory, or the one before", ["group", "trajectory"]],
  [["n", "p"], "the next call, or the one before", ["call"]],
  [["/"], "search", ["groups", "calls"]],
  [["Escape"], "back up"],
  [["r"], "the raw JSON", ["trajectory", "call"]],
  [["?"], "this list"],
];

/** The list of keys. */
export const Help = ({ view, onClose }: { readonly view: Route["view"]; readonly onClose: () => void }) => (
  <section class="help" aria-label="keys">
    <dl>
      {keys
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

/** Moves the focus among elements of a list, from the one that has it or the last that had. */
export const moveFocus = (list: ParentNode | null, selector: string, by: 1 | -1): void => {
  const all = [...(list?.querySelectorAll<HTMLElement>(selector) ?? [])];
  const at = all.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const next = all[at < 0 ? (by > 0 ? 0 : all.length - 1) : at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
};
