/** A table: only rows on the screen are asked for and drawn, however many there are. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useKeys } from "./keys.tsx";
import { type Asking, useRows } from "./rows.ts";
import { number, percent } from "./text.ts";
import { openedFrom, walkedTo } from "./walk.ts";

/** Pixels of a row; page.css has them too. */
const rowHeight = 34;

/** Rows that are drawn above and below those on the screen. */
const beyond = 8;

/** Pixels that browsers can scroll through; more rows than fit stand closer when they are scrolled. */
const mostPixels = 8_000_000;

/** A column of a table. */
export interface TableColumn<Row, Key extends string> {
  /** What the table is sorted by at a click on its name; undefined where it can't be. */
  readonly key: Key | undefined;
  readonly name: string;
  readonly class: string;
  readonly cell: (row: Row) => ComponentChildren;
}

interface Shown<Row, Key extends string> extends Asking {
  /** What its rows are, such as `groups`. */
  readonly noun: string;
  readonly columns: readonly TableColumn<Row, Key>[];
  readonly sort: Key;
  readonly descending: boolean;
  readonly addressOf: (sort: { readonly sort: Key; readonly descending: boolean }) => string;
  readonly classOf: (row: Row) => string;
  /** The view that a row opens. */
  readonly opens: (row: Row) => string;
  /** What is said of how far the search is. */
  readonly searching: string;
}

interface Left {
  readonly name: string;
  readonly top: number;
  readonly scrolled: number;
}

let left: Left | undefined;

export const Table = <Row, Key extends string>(shown: Shown<Row, Key>) => {
  const { noun, columns, searching, opens } = shown;
  const { found, trouble, name, addressAt, rowAt, need } = useRows<Row>(shown);
  const selected = found?.selected ?? 0;
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [current, setCurrent] = useState(-1);
  // Keys come faster than anything is drawn.
  const latest = useRef(-1);
  const room = (box.current?.clientHeight ?? 600) - rowHeight;
  const pixels = Math.min(selected * rowHeight, mostPixels);
  const fitting = Math.ceil(room / rowHeight);
  const share = pixels <= room ? 0 : top / (pixels - room);
  const first = Math.max(0, Math.floor(share * Math.max(0, selected - room / rowHeight)) - beyond);
  const last = Math.min(selected, first + fitting + 2 * beyond);
  useEffect(() => {
    if (selected > 0) need(first, last);
  });
  // With what is drawn, not a frame later: a key may be pressed by then.
  useLayoutEffect(() => {
    box.current?.scrollTo({ top: 0 });
    latest.current = -1;
    setCurrent(-1);
  }, [name]);
  const focusOn = (at: number): void =>
    box.current?.querySelector<HTMLElement>(`[data-at="${at}"] a`)?.focus({ preventScroll: true });
  // What was drawn for a key may be seen only after the next one.
  useEffect(() => focusOn(latest.current), [current, first, rowAt(latest.current) === undefined]);
  const leave = useRef<(() => void) | undefined>(undefined);
  leave.current = () => {
    left = { name, top, scrolled: scrollY };
    for (let at = first; at < last; at++) {
      const row = rowAt(at);
      if (row !== undefined && opens(row) === location.hash) openedFrom({ name, addressAt, opens }, at, row);
    }
  };
  useLayoutEffect(() => () => leave.current?.(), []);
  // Who comes back finds it as it was left.
  const back = useRef(left);
  useLayoutEffect(() => {
    if (selected === 0) return;
    const was = back.current?.name === name ? back.current : undefined;
    back.current = undefined;
    if (was === undefined) return;
    box.current?.scrollTo({ top: was.top });
    scrollTo(0, was.scrolled);
    const at = walkedTo(name);
    if (at !== undefined) goTo(at);
  }, [selected > 0]);
  const go = (by: 1 | -1): void => goTo(latest.current + by);
  const goTo = (at: number): void => {
    const next = Math.min(selected - 1, Math.max(0, at));
    latest.current = next;
    setCurrent(next);
    focusOn(next);
    const scale = selected * rowHeight <= mostPixels ? 1 : mostPixels / (selected * rowHeight);
    const [from, to] = [next * rowHeight * scale, (next + 1) * rowHeight * scale];
    const above = box.current?.scrollTop ?? 0;
    if (from < above) box.current?.scrollTo({ top: from });
    else if (to > above + room) box.current?.scrollTo({ top: to - room });
  };
  useKeys({ j: () => go(1), k: () => go(-1) });
  const above =
    pixels <= room ? 0 : Math.min(share * (pixels - room), Math.max(0, top - (top % rowHeight) - beyond * rowHeight));
  return (
    <section aria-label={noun}>
      <p class="count" role="status">
        {found !== undefined && `${number(selected)} of ${number(found.of)} ${noun}`}
        {found === undefined && (trouble === undefined ? "reading…" : `no ${noun} are shown:`)}
        {found?.searched !== null && found?.searched !== undefined && found.searched.share < 1 && (
          <>
            {" "}
            · {searching} {percent(found.searched.share, 1)}
          </>
        )}
        {trouble !== undefined && <b class="trouble"> {trouble}</b>}
      </p>
      <div class="rows" ref={box} onScroll={(event) => setTop(event.currentTarget.scrollTop)}>
        <table aria-label={noun} aria-rowcount={selected + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <Heading key={column.name} column={column} shown={shown} />
              ))}
            </tr>
          </thead>
          <tbody>
            <Space pixels={above} />
            {Array.from({ length: Math.max(0, last - first) }, (_, index) => first + index).map((at) => (
              <TableRow key={at} at={at} row={rowAt(at)} shown={shown} />
            ))}
            <Space pixels={Math.max(0, pixels - above - (last - first) * rowHeight)} />
          </tbody>
        </table>
      </div>
    </section>
  );
};

/** Room of rows that are not drawn. */
const Space = ({ pixels }: { readonly pixels: number }) => (
  <tr class="space">
    <td style={{ height: `${pixels}px` }} />
  </tr>
);

const Heading = <Row, Key extends string>({
  column,
  shown,
}: {
  readonly column: TableColumn<Row, Key>;
  readonly shown: Shown<Row, Key>;
}) => {
  const { key, name } = column;
  const { sort, descending, columns, addressOf } = shown;
  if (key === undefined) {
    return (
      <th scope="col" class={column.class}>
        {name}
      </th>
    );
  }
  const isOn = sort === key;
  // Numbers are looked at from the largest on first.
  const next = isOn ? !descending : key !== columns[0]?.key;
  return (
    <th scope="col" class={column.class} aria-sort={isOn ? (descending ? "descending" : "ascending") : "none"}>
      <a href={addressOf({ sort: key, descending: next })}>
        {name}
        {isOn && <span aria-hidden="true">{descending ? " ↓" : " ↑"}</span>}
      </a>
    </th>
  );
};

const TableRow = <Row, Key extends string>({
  at,
  row,
  shown: { columns, classOf },
}: {
  readonly at: number;
  readonly row: Row | undefined;
  readonly shown: Shown<Row, Key>;
}) => (
  <tr data-at={at} aria-rowindex={at + 2} class={row === undefined ? "" : classOf(row)}>
    {columns.map((column, position) => (
      <td key={column.name} class={column.class}>
        {row === undefined ? position === 0 && "…" : column.cell(row)}
      </td>
    ))}
  </tr>
);
