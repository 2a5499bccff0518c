/** Goes through the rows of the table that a view was opened from, in the order that the table has. */
import type { Listed } from "../shapes.ts";
import { askJson } from "./ask.ts";
import { showInstead } from "./routes.ts";

/** Rows of a table, as they are asked for. */
interface Walked<Row> {
  /** What is selected, in which order. */
  readonly name: string;
  readonly addressAt: (from: number, count: number) => string;
  readonly opens: (row: Row) => string;
}

/** A row whose view is shown. */
interface Step {
  readonly name: string;
  readonly at: number;
  readonly address: string;
  beside(by: 1 | -1): Promise<Step | undefined>;
}

let step: Step | undefined;
/** Keys come faster than anything is answered. */
let going: Promise<void> = Promise.resolve();

/** Remembers that the view of a row is opened. */
export const openedFrom = <Row>(rows: Walked<Row>, at: number, row: Row): void => {
  step = stepOf(rows, at, row);
};

const stepOf = <Row>(rows: Walked<Row>, at: number, row: Row): Step => ({
  name: rows.name,
  at,
  address: rows.opens(row),
  async beside(by) {
    if (at + by < 0) return undefined;
    const path = rows.addressAt(at + by, 1);
    const [next] = (await askJson<Listed<Row>>(path, new AbortController().signal)).rows;
    return next === undefined ? undefined : stepOf(rows, at + by, next);
  },
});

/** The row of a table whose view was shown last; undefined where it was opened from another one. */
export const walkedTo = (name: string): number | undefined => (step?.name === name ? step.at : undefined);

/** Goes to the view beside this one: in the order of the table that it was opened from, where it was, else to an address. */
export const goBeside = (by: 1 | -1, otherwise: string | undefined): void => {
  const from = step;
  if (from === undefined || from.address !== location.hash) {
    if (otherwise !== undefined) showInstead(otherwise);
    return;
  }
  going = going.then(async () => {
    if (step?.address !== location.hash) return;
    step = (await step.beside(by).catch(() => undefined)) ?? step;
    showInstead(step.address);
  });
};
