/** Which columns of a table fit the terminal, and how wide each is. */

/** What a column would like. */
export interface Wanted {
  /** The lower, the longer it stays; 0 is never left out. */
  readonly rank: number;
  readonly isNumber: boolean;
  readonly isEmpty: boolean;
  /** The width that shows everything, and the width that it is content with. */
  readonly natural: number;
  readonly content: number;
  /** The width that it must have, so that rows are told apart. */
  readonly least?: number;
}

/** Between two columns. */
export const gap = "  ";

/** A text that must be cut keeps this many columns while there is another to cut. */
const textLeast = 8;

/** Leaves out columns, empty ones first and then by rank, until the others have what they are content with. */
export const fitting = <Column extends Wanted>(columns: readonly Column[], width: number): readonly Column[] => {
  let shown = columns;
  for (;;) {
    if (total(shown.map(({ content }) => content)) <= width) return shown;
    const leaves = shown.reduce<Column | undefined>((last, one) => (goesBefore(one, last) ? one : last), undefined);
    if (leaves === undefined || leaves.rank === 0) return shown;
    shown = shown.filter((column) => column !== leaves);
  }
};

const goesBefore = (one: Wanted, other: Wanted | undefined): boolean => {
  if (one.rank === 0) return false;
  if (other === undefined || one.isEmpty !== other.isEmpty) return other === undefined || one.isEmpty;
  return one.rank >= other.rank;
};

const total = (widths: readonly number[]): number =>
  widths.reduce((sum, width) => sum + width, 0) + gap.length * Math.max(0, widths.length - 1);

/** Widths that fit: the widest text gives way first, numbers last of all. Zero for columns that there is no room for. */
export const shrunk = (columns: readonly Wanted[], width: number): readonly number[] => {
  const widths = columns.map(({ natural }) => Math.min(natural, width));
  let over = total(widths) - width;
  const shrink = (may: (column: Wanted) => boolean, least: number): void => {
    const leastOf = (column: Wanted): number => Math.max(least, Math.min(column.least ?? 0, width));
    while (over > 0) {
      const widest = columns.reduce(
        (best, column, at) =>
          may(column) && (widths[at] ?? 0) > Math.max(leastOf(column), widths[best] ?? 0) ? at : best,
        -1,
      );
      if (widest < 0) return;
      widths[widest] = (widths[widest] ?? 0) - 1;
      over--;
    }
  };
  shrink(({ isNumber }) => !isNumber, textLeast);
  shrink(() => true, 1);
  for (let at = widths.length - 1; at > 0 && over > 0; at--) {
    over -= (widths[at] ?? 0) + gap.length;
    widths[at] = 0;
  }
  return widths;
};
