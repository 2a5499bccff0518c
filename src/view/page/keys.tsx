/** The keys of the page, and their list. */
import { useLayoutEffect, useRef } from "preact/hooks";

export const useKeys = (actions: Readonly<Record<string, () => void>>): void => {
  const latestActions = useRef(actions);
  latestActions.current = actions;
  // A layout effect, so that a key works as soon as the page is drawn.
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || event.defaultPrevented) return;
      if (target instanceof HTMLInputElement) {
        if (key === "Escape") target.closest("main")?.querySelector<HTMLElement>(".rows")?.focus();
        return;
      }
      const action = latestActions.current[key];
      if (action === undefined) return;
      event.preventDefault();
      action();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
};

const keyBindings: readonly (readonly [keys: readonly string[], does: string])[] = [
  [["j", "k"], "next or previous row or message"],
  [["Enter"], "open, or unfold the message"],
  [["n", "p"], "next or previous group or trajectory"],
  [["←", "→"], "next or previous bar or dot"],
  [["/"], "search"],
  [["Escape"], "back to the parent view, or remove all filters"],
  [["m"], "render Markdown"],
  [["r"], "show the JSON"],
  [["?"], "show the keys"],
];

export const KeyHelp = () => (
  <section class="help" aria-label="keys">
    <dl>
      {keyBindings.map(([names, does]) => (
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
  </section>
);

/** True if the start of the element is visible, or below all that is visible. */
const isInSight = (element: HTMLElement): boolean => {
  const { left, width, top } = element.getBoundingClientRect();
  const hit = document.elementFromPoint(left + width / 2, top + 2);
  return top > 0 && (hit === null || element.contains(hit));
};

export const moveFocus = (list: ParentNode | null, selector: string, by: 1 | -1): boolean => {
  const elements = [...(list?.querySelectorAll<HTMLElement | SVGElement>(selector) ?? [])];
  const at = elements.findIndex((element) => element.contains(document.activeElement));
  // Without a focus, the first element in sight is next. A chart starts at its end.
  const first = elements.findIndex((element) => element instanceof SVGElement || isInSight(element));
  const next = at < 0 ? elements.at(by > 0 ? first : Math.max(0, first) - 1) : elements[at + by];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
  return next !== undefined;
};
