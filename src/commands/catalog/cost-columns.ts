/** The columns of `catalog cost`. */
import type { CatalogName, Cost } from "../../catalogs/index.ts";
import type { Column } from "../../output/index.ts";

/** A model with what the usage costs there. */
export interface CostRow {
  readonly catalog: CatalogName;
  readonly id: string | undefined;
  readonly name: string | undefined;
  readonly cost: Cost;
}

type CostColumn = Column<CostRow>;

/** The columns: what it costs altogether, and each item of it, in US dollars. */
export const costColumns = ({ several }: { readonly several: boolean }): readonly CostColumn[] => [
  { name: "id", heading: "id", rank: 0, cell: ({ id }) => id ?? "", value: ({ id }) => id },
  {
    name: "total",
    heading: "total\n$",
    align: "decimal",
    rank: 0,
    cell: ({ cost }) => cost.total ?? "",
    mark: ({ cost }) => (cost.total === null ? { text: "not known", tone: "warning" } : undefined),
    value: ({ cost }) => cost.total ?? undefined,
  },
  {
    name: "not_stated",
    heading: "price\nnot stated",
    rank: 1,
    cell: ({ cost }) => cost.not_stated.join(", "),
    value: ({ cost }) => cost.not_stated,
  },
  item("prompt", { heading: "prompt\n$", rank: 2, names: ["prompt"] }),
  item("completion", { heading: "completion\n$", rank: 3, names: ["completion"] }),
  item("input_cache_read", { heading: "cache read\n$", rank: 4, names: ["input_cache_read", "input_cache_reads"] }),
  item("image", { heading: "image\n$", rank: 6, names: ["image"] }),
  item("request", { heading: "request\n$", rank: 7, names: ["request"] }),
  ...(several
    ? [{ name: "catalog", heading: "catalog", rank: 0, cell: catalogOf, value: catalogOf } satisfies CostColumn]
    : []),
  { name: "name", heading: "name", rank: 9, cell: ({ name }) => name ?? "", value: ({ name }) => name },
];

const catalogOf = ({ catalog }: CostRow): string => catalog;

const item = (
  name: string,
  { names, ...shown }: { readonly heading: string; readonly rank: number; readonly names: readonly string[] },
): CostColumn => {
  const costIn = ({ cost: { items } }: CostRow): string | undefined =>
    items.find(({ price }) => names.includes(price))?.cost ?? undefined;
  return { name, ...shown, align: "decimal", cell: (row) => costIn(row) ?? "", value: costIn };
};
