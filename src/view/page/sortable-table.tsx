/** Draws lists of facts, and sortable tables. */
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { useListKeys } from "./navigation.tsx";

type FactsProps = { facts: Record<string, ComponentChildren>; class?: string; style?: { visibility: string } };

export const Facts = ({ facts, ...attributes }: FactsProps) => (
  <dl {...attributes}>
    {Object.entries(facts).map(
      ([name, value]) =>
        value !== false && (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ),
    )}
  </dl>
);

export interface PageColumn<Row> {
  name: string;
  /** Default: the name. */
  title?: string;
  class?: string;
  /** In rem. Default: the table decides. */
  width?: number;
  cell: (row: Row) => ComponentChildren;
  sort?: () => void;
}

interface TableProps<Row> {
  name: string;
  columns: readonly PageColumn<Row>[];
  rows: readonly Row[];
  classOf?: (row: Row) => string;
  /** The name of the column that sorts the rows. */
  by: string;
  isDescending: boolean;
}

const styleOf = (width: number | undefined) => (width === undefined ? undefined : { "--width": `${width}rem` });

export const Table = <Row,>({ name, columns, rows, classOf, by, isDescending }: TableProps<Row>) => {
  const body = useRef<HTMLTableSectionElement>(null);
  useListKeys(body, "a");
  const orderOf = (title: string) => (title !== by ? "none" : isDescending ? "descending" : "ascending");
  return (
    <table aria-label={name}>
      <thead>
        <tr>
          {columns.map(({ name: own, title = own, class: className, width, sort }) => (
            <th key={own} scope="col" class={className} style={styleOf(width)} aria-sort={sort && orderOf(own)}>
              {sort ? (
                <button type="button" class="sort" onClick={sort}>
                  {title}
                </button>
              ) : (
                title
              )}
              {own === by && <span aria-hidden="true">{isDescending ? " ↓" : " ↑"}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>
        {rows.map((row, at) => (
          <tr key={at} class={classOf?.(row)}>
            {columns.map(({ name: title, class: className, width, cell }) => (
              <td key={title} class={className} style={styleOf(width)} data-name={title}>
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
};
