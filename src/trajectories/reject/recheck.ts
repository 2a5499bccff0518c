/** Checks a line once more, by itself: of a rule that was broken thousands of times, not every problem was kept. */
import type { Problem } from "../../failure.ts";
import { memoryBytes } from "../input/source.ts";
import { nothingFound } from "../read/parts/found.ts";
import { Scan } from "../read/scan/scan.ts";
import type { Judgement } from "../rules/judgement.ts";
import { Problems } from "../rules/problems.ts";

/** What is checked, and what it was. */
export interface Checked {
  readonly bytes: Buffer;
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** Whether the bytes are the whole line, so that columns in them are those of the file. */
  readonly isWhole: boolean;
}

/** Opens the checking: it gives the errors in a line that can be seen without any other. */
export const openRecheck = (judgement: Judgement): ((checked: Checked) => readonly Problem[]) => {
  // What else is found is nobody's concern, but to make it anew for each line takes longer than the check.
  const found = nothingFound(judgement);
  return ({ bytes, file, line, isWhole }) => {
    const problems = new Problems(judgement);
    const source = { name: file, bytes: memoryBytes([]), changed: async () => false };
    const scan = new Scan(source, { index: 0, groupBy: undefined, judgement, found: { ...found, problems } });
    scan.takeBlock({ kind: "lines", bytes, start: 0, last: false });
    const errors = problems.sorted([file]).filter(({ severity }) => severity === "error");
    return errors.map(({ column, ...problem }) => ({
      ...problem,
      line,
      ...(column === undefined || !isWhole ? {} : { column }),
    }));
  };
};
