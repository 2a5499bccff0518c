/** A table whose headings can be buttons that sort the rows. */
import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";

export interface TableColumn<Row> {
  readonly name: string;
  readonly class?: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly sort?: () => void;
  readonly order?: "ascending" | "descending" | undefined;
}

interface TableProps<Row> {
  readonly name: string;
  readonly columns: readonly TableColumn<Row>[];
  readonly rows: readonly Row[];
  readonly body: RefObject<HTMLTableSectionElement | null>;
  readonly classOf?: (row: Row) => string;
  /** Number of rows that each frame adds. Default: all rows. */
  readonly rowsPerFrame?: number;
}

export const Table = <Row,>(props: TableProps<Row>) => {
  const { name, columns, rows, body, classOf, rowsPerFrame = Number.POSITIVE_INFINITY } = props;
  const [drawn, setDrawn] = useState(rowsPerFrame);
  const toLine = (row: Row, at: number) => (
    <tr key={at} class={classOf?.(row)}>
      {columns.map(({ name: title, class: className, cell }) => (
        <td key={title} class={className} data-name={title}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
  // Preact does not draw an element again if it is the same object.
  const lines = useMemo(() => rows.map(toLine), [rows]);
  useEffect(() => {
    if (drawn < rows.length) setDrawn(drawn + rowsPerFrame);
  }, [drawn, rows]);
  return (
    <table aria-label={name}>
      <thead>
        <tr>
          {columns.map(({ name: title, class: className, sort, order }) => (
            <th key={title} scope="col" class={className} data-name={title} aria-sort={sort && (order ?? "none")}>
              {sort === undefined ? (
                title
              ) : (
                <button type="button" class="sort" onClick={sort}>
                  {title}
                </button>
              )}
              {order !== undefined && <span aria-hidden="true">{order === "descending" ? " ↓" : " ↑"}</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody ref={body}>{lines.slice(0, drawn)}</tbody>
    </table>
  );
};
