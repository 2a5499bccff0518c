/** The first page where calls are looked at: where they are from, and their table. */
import { type CallRow, type CallSelection, type CallSortKey, type CallsSummary, callStatuses } from "../call-shapes.ts";
import { parametersOf } from "../query.ts";
import { callAddress, callsAddress } from "./routes.ts";
import { SearchField } from "./search.tsx";
import { Table, type TableColumn } from "./table.tsx";
import { duration, moment, number, size } from "./text.ts";

export const Calls = ({
  calls: { from, unread, stopped },
  isRead,
  selection,
}: {
  readonly calls: CallsSummary;
  readonly isRead: boolean;
  readonly selection: CallSelection;
}) => (
  <>
    <h1>calls of {from}</h1>
    {stopped !== null && (
      <p role="alert" class="trouble">
        no more calls are read: {stopped}
      </p>
    )}
    <Filters selection={selection} unread={unread} />
    <Table<CallRow, CallSortKey>
      noun="calls"
      path="api/calls"
      parameters={parametersOf(selection)}
      edition={isRead}
      columns={columns}
      sort={selection.sort}
      descending={selection.descending}
      addressOf={(sorted) => callsAddress({ ...selection, ...sorted })}
      opens={({ id }) => callAddress(id)}
      classOf={({ facts }) => (facts === null ? "flat" : "")}
      searching="read"
    />
  </>
);

const columns: readonly TableColumn<CallRow, CallSortKey>[] = [
  { key: "call", name: "call", class: "words id", cell: ({ id }) => <a href={callAddress(id)}>{id}</a> },
  { key: "op", name: "operation", class: "wide", cell: ({ facts, why }) => facts?.op ?? why },
  { key: "model", name: "model", class: "wide", cell: ({ facts }) => facts?.model },
  { key: "status", name: "status", class: "n", cell: ({ facts, why }) => (why === null ? facts?.status : "unread") },
  { key: "when", name: "when", class: "when wide", cell: ({ facts }) => facts !== null && moment(facts.when) },
  { key: "tokens", name: "tokens", class: "n", cell: ({ facts }) => facts?.tokens != null && number(facts.tokens) },
  { key: "cost", name: "cost", class: "n wide", cell: ({ facts }) => facts?.cost != null && `$${facts.cost}` },
  { key: "size", name: "size", class: "n wide", cell: ({ facts }) => facts?.size != null && size(facts.size) },
  { key: "duration", name: "took", class: "n", cell: ({ facts }) => facts?.seconds != null && duration(facts.seconds) },
];

const Filters = ({ selection, unread }: { readonly selection: CallSelection; readonly unread: number }) => {
  const { status, text } = selection;
  return (
    <nav class="filters" aria-label="filters">
      {callStatuses
        .filter((one) => one !== "unread" || unread > 0)
        .map((one) => (
          <a
            key={one}
            class={status === one ? "on" : ""}
            href={callsAddress({ ...selection, status: status === one ? undefined : one })}
          >
            {one === "unread" ? `${number(unread)} could not be read` : one}
          </a>
        ))}
      <SearchField
        label="search for a text"
        keyName="/"
        sought={text}
        addressOf={(typed) => callsAddress({ ...selection, text: typed || undefined })}
      />
    </nav>
  );
};
