/** A table whose headings can be buttons that sort the rows. */
import type { ComponentChildren, RefObject } from "preact";

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
}

export const Table = <Row,>({ name, columns, rows, body, classOf }: TableProps<Row>) => (
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
    <tbody ref={body}>
      {rows.map((row, at) => (
        <tr key={at} class={classOf?.(row)}>
          {columns.map(({ name: title, class: className, cell }) => (
            <td key={title} class={className} data-name={title}>
              {cell(row)}
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  </table>
);
