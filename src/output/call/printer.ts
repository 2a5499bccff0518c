/** Traced calls in each form: a page, the service's own JSON, or rows of the wire's names. */
import { headWithoutContent, quietly, withoutContent } from "../../calls/index.ts";
import { readSpelled } from "../../json/read-spelled.ts";
import { openRows } from "../json/objects.ts";
import { printPage, printPages } from "../page/page.ts";
import { oneLine } from "../screen/safe.ts";
import type { Screen } from "../screen/screen.ts";
import { fieldNamed } from "../table/fields.ts";
import { printList } from "../table/list.ts";
import type { Column, Page, Section, WireObjects } from "../view.ts";
import { type CallAsked, callPage, fieldsPage } from "./page.ts";

/** Prints traced calls in the form asked for, in the order given, as soon as the form allows it. */
export interface CallPrinter {
  /**
   * `bytes` is the call as the service wrote it: one JSON object. `reply` is what holds it under `call`: the document of
   * one call keeps what else it says.
   */
  print(bytes: Uint8Array, reply?: Uint8Array): Promise<void>;
  /**
   * Prints what had to wait for the last call. `several` ids asked for make the JSON `{"calls":[…]}`, one `{"call":{…}}`;
   * where a choice left nothing, a document may be empty.
   */
  end(about: { readonly several: boolean; readonly mayBeEmpty?: boolean }): Promise<void>;
  /** Prints what a person can use of what waited, since something else ends the run. */
  cut(): Promise<void>;
}

/** How a run's calls are printed. */
export interface CallPrinting {
  readonly screen: Screen;
  readonly asked: CallAsked;
  readonly markdown?: boolean;
}

/** Opens the printer for the form asked for. */
export const printCalls = (printing: CallPrinting): CallPrinter => {
  const { format, paged } = printing.screen;
  if (printing.markdown === true) return markdownPrinter(printing);
  if (format === "table" || format === "tsv") return pagePrinter(printing);
  const printer = format === "jsonl" && !paged ? linePrinter(printing) : documentPrinter(printing);
  const { content, vendorPrefix } = printing.asked;
  if (content !== false) return printer;
  return { ...printer, print: async (bytes) => await printer.print(withoutContent(bytes, vendorPrefix)) };
};

/** All calls in one document, once the last is there: half a document is none. */
const documentPrinter = ({ screen, asked }: CallPrinting): CallPrinter => {
  const calls: Uint8Array[] = [];
  let only: Uint8Array | undefined;
  return {
    cut: async () => undefined,
    print: async (bytes, reply) => {
      only = reply ?? replyOf(bytes);
      calls.push(bytes);
    },
    end: async ({ several, mayBeEmpty = false }) => {
      if (calls.length === 0 && !mayBeEmpty) return;
      const wire = several || only === undefined ? severalOf(calls) : { bytes: only, member: "call" };
      await printList(screen, { columns: columnsOf(asked), rows: calls, wire });
    },
  };
};

const severalOf = (calls: readonly Uint8Array[]): WireObjects => {
  const pieces = calls.flatMap((bytes, index) => (index === 0 ? [bytes] : [Buffer.from(","), bytes]));
  return { bytes: Buffer.concat([Buffer.from('{"calls":['), ...pieces, Buffer.from("]}")]), member: "calls" };
};

/** What holds a call and nothing else. */
const replyOf = (call: Uint8Array): Uint8Array => Buffer.concat([Buffer.from('{"call":'), call, Buffer.from("}")]);

const linePrinter = ({ screen, asked }: CallPrinting): CallPrinter => ({
  print: async (call, reply = replyOf(call)) => {
    const wire = { bytes: reply, member: "call" };
    await printList(screen, { columns: columnsOf(asked), rows: [call], wire });
  },
  end: async () => undefined,
  cut: async () => undefined,
});

/** A page a call, as it comes: by itself where a program or a file takes it, all of them through one pager where one may open. */
const pagePrinter = ({ screen, asked }: CallPrinting): CallPrinter => {
  const full = asked.full === true;
  let printed = 0;
  let pager: PagedPages | undefined;
  const end = async () => await pager?.end();
  return {
    print: async (bytes) => {
      const { sections } = pageOf(bytes, screen.fields, asked);
      const page = { sections: printed++ === 0 ? sections : [between, ...sections], full };
      if (!screen.paged) return await printPage(screen, page);
      pager ??= openPaged(screen);
      await pager.show(page);
    },
    end,
    cut: end,
  };
};

interface PagedPages {
  /** Resolves when the page was taken, or the reader left. */
  show(page: Page): Promise<void>;
  end(): Promise<void>;
}

const openPaged = (screen: Screen): PagedPages => {
  // Nothing is kept in between: a call is read when the one before it was taken.
  const { readable, writable } = new TransformStream<Page, Page>();
  const [pages, writer] = [readable.values(), writable.getWriter()];
  const shown = quietly(printPages(screen, pages).finally(async () => await pages.return?.()));
  return {
    show: async (page) => await Promise.race([writer.write(page).catch(() => undefined), shown]),
    end: async () => {
      void quietly(writer.close());
      await shown;
    },
  };
};

/** A document a call, in whatever form: it is for a person, in a file. */
const markdownPrinter = ({ screen, asked }: CallPrinting): CallPrinter => {
  let printed = 0;
  return {
    print: async (bytes) => {
      const pieces = pageMarkdown(pageOf(bytes, screen.fields, asked), screen.safe.text);
      if (printed++ > 0) await screen.print(["\n---\n\n"], { kind: "lines", paged: false });
      await screen.print(pieces, { kind: "lines", paged: false });
    },
    end: async () => undefined,
    cut: async () => undefined,
  };
};

const pageOf = (bytes: Uint8Array, fields: readonly string[] | undefined, asked: CallAsked): Page => {
  const shown = asked.content === false ? withoutContent(bytes, asked.vendorPrefix) : bytes;
  const spelled = readSpelled(Buffer.from(shown).toString());
  if (fields === undefined) {
    const call = asked.content === false ? headWithoutContent(bytes, asked.vendorPrefix) : spelled;
    return callPage({ call, shown: spelled }, asked);
  }
  const wire = openRows(shown, [{ start: 0, end: shown.length }]);
  const columns = columnsOf({ ...asked, storageSize: true, totalStorageSize: true });
  return fieldsPage(
    spelled,
    fields.map((name) => fieldNamed(name, { columns, wire })),
  );
};

/** Keeps two calls apart by more than two sections of one. */
const between: Section = { isRule: true };

const freeForm = new Set(["attributes", "inputs", "output", "summary"]);

/** The fields of a call in the order of interface 2.4; `vendor_` stands for the deployment's own word. */
export const callFields = [
  "id",
  "project_id",
  "op_name",
  "trace_id",
  "started_at",
  "attributes",
  "inputs",
  "display_name",
  "parent_id",
  "thread_id",
  "turn_id",
  "ended_at",
  "exception",
  "output",
  "summary",
  "vendor_user_id",
  "vendor_username",
  "vendor_run_id",
  "vendor_run_step",
  "vendor_run_step_end",
  "deleted_at",
  "storage_size_bytes",
  "total_storage_size_bytes",
] as const;

/** The fields of interface 2.4 in its order, under the deployment's own word. */
const namesOf = ({ vendorPrefix }: CallAsked): readonly string[] =>
  callFields.map((name) => name.replace(/^vendor_/, `${vendorPrefix}_`));

/** Where a logged trajectory's reward is, and what `--as trajectory` takes where nobody says another. */
const rewardField = "attributes.reward";

/** Sizes only where they were asked for, rewards behind all else where calls have some. */
const columnsOf = (asked: CallAsked): readonly Column<Uint8Array>[] =>
  [...namesOf(asked), rewardField]
    .filter((name) => asked.storageSize || name !== "storage_size_bytes")
    .filter((name) => asked.totalStorageSize || name !== "total_storage_size_bytes")
    .map((name) => ({
      name,
      heading: name,
      rank: 0,
      freeForm: freeForm.has(name),
      onlyWhereSome: name === rewardField,
      cell: () => "",
      value: () => undefined,
    }));

/** The Markdown of a page in pieces, each of which begins where a line does or goes on with a line end. `clean` makes text of several lines safe. */
function* pageMarkdown({ sections }: Page, clean: (text: string) => string): Generator<string, void> {
  let isFirst = true;
  for (const section of sections) {
    for (const pieces of sectionMarkdown(section, clean)) {
      if (!isFirst) yield "\n\n";
      isFirst = false;
      yield* pieces;
    }
  }
  yield "\n";
}

function* sectionMarkdown(section: Section, clean: (text: string) => string): Generator<readonly string[], void> {
  const { title, level = 1, lines = [], block, beside, note } = section;
  const heading = (text: string) => `${"#".repeat(level)} ${escaped(oneLine(clean(text)))}`;
  if (title !== undefined) yield [heading(title)];
  if (lines.length > 0) yield [lines.map(({ label, text }) => itemText(clean(label), clean(text))).join("\n")];
  if (block !== undefined) yield fenced(clean(block));
  if (note !== undefined) yield [escaped(note)];
  if (beside === undefined) return;
  yield [heading(beside.title)];
  yield fenced(clean(beside.block));
}

const itemText = (label: string, text: string): string =>
  label === "" ? `  ${escaped(oneLine(text))}` : `- ${escaped(oneLine(label))}: ${escaped(oneLine(text))}`;

/** What Markdown, or the HTML in it, could take for something else than text. */
const escaped = (text: string): string => text.replaceAll(/[\\`*_{}[\]<>()#+!|~&$@]|:(?=\/)/g, "\\$&");

/** A fence that is longer than any inside, around the text as it is. */
const fenced = (text: string): readonly string[] => {
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  return [`${fence}text\n`, text.replace(/\n$/, ""), `\n${fence}`];
};
