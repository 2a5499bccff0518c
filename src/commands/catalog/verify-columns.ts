/** The columns of `catalog verify`. */
import type { Verified } from "../../catalogs/index.ts";
import type { Column } from "../../output/index.ts";

type FindingColumn = Column<Verified>;

const text = (
  name: string,
  { heading = name, rank, cell }: { heading?: string; rank: number; cell: (row: Verified) => string },
): FindingColumn => ({ name, heading, rank, cell, value: cell });

/** The columns. */
export const findingColumns: readonly FindingColumn[] = [
  text("id", { rank: 0, cell: ({ locked }) => locked.id }),
  text("rule", { heading: "finding", rank: 0, cell: ({ problem }) => problem.rule }),
  text("field", { heading: "of", rank: 0, cell: ({ finding }) => fieldOf(finding.path) }),
  text("locked", { rank: 0, cell: ({ finding }) => finding.locked }),
  text("now", { rank: 0, cell: ({ finding }) => finding.now }),
  text("severity", { rank: 1, cell: ({ problem }) => problem.severity }),
  text("replacement", { rank: 2, cell: ({ replacement }) => replacement?.id ?? "" }),
  text("replacement_price", {
    heading: "its prices\n$/M",
    rank: 3,
    cell: ({ replacement }) => (replacement === undefined ? "" : `${replacement.prompt} / ${replacement.completion}`),
  }),
  {
    ...text("line", { heading: "line of\nthe lock", rank: 4, cell: ({ problem }) => String(problem.line ?? "") }),
    align: "right",
  },
  text("catalog", { rank: 5, cell: ({ locked }) => locked.catalog }),
];

/** The part of a fact's name that its rule does not say. */
const fieldOf = ([first, second]: Verified["finding"]["path"]): string => {
  if (first === "pricing") return String(second);
  return /^(input|output)_modalities$/.exec(String(first))?.[1] ?? "";
};
