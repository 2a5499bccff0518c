/** The bar of a group or a trajectory, which stays visible: its position, its rewards, and buttons to its neighbors. */
import type { ComponentChildren } from "preact";

interface BarProps {
  readonly children: ComponentChildren;
  /** Shows the next or the previous group or trajectory. */
  readonly step: (by: 1 | -1) => () => void;
  readonly hasBefore: boolean;
  readonly hasAfter: boolean;
}

export const Bar = ({ children, step, hasBefore, hasAfter }: BarProps) => (
  <div class="position">
    {children}
    <span class="steps">
      <button type="button" disabled={!hasBefore} onClick={step(-1)}>
        ‹ previous <kbd>p</kbd>
      </button>
      <button type="button" disabled={!hasAfter} onClick={step(1)}>
        next › <kbd>n</kbd>
      </button>
    </span>
  </div>
);
