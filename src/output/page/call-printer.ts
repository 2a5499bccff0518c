/** Traced calls in each form: a page, the service's own JSON, or rows of the wire's names. */
import { headWithoutContent, withoutContent } from "../../calls/index.ts";
import { readSpelled } from "../../json/spelled.ts";
import { openRows } from "../json/wire.ts";
import { safeText } from "../screen/safe.ts";
import { requireField } from "../table/fields.ts";
import type { Column, Page, Section } from "../view.ts";
import { pageMarkdown } from "./call-markdown.ts";
import { callPage, fieldsPage } from "./call-page.ts";
import { type CallAsked, type CallPrinter, type CallPrinting, callFields } from "./calls.ts";
import { openChannel } from "./channel.ts";

/** Opens the printer for the form asked for. */
export const callPrinter = (printing: CallPrinting): CallPrinter => {
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
  return {
    cut: async () => undefined,
    print: async (bytes) => void calls.push(bytes),
    end: async ({ several }) => {
      if (calls.length === 0) return;
      const [open, close] = several ? ['{"calls":[', "]}"] : ['{"call":', "}"];
      const pieces = calls.flatMap((bytes, index) => (index === 0 ? [bytes] : [Buffer.from(","), bytes]));
      const bytes = Buffer.concat([Buffer.from(open), ...pieces, Buffer.from(close)]);
      await screen.list({
        columns: columnsOf(asked),
        rows: calls,
        wire: { bytes, member: several ? "calls" : "call" },
      });
    },
  };
};

const linePrinter = ({ screen, asked }: CallPrinting): CallPrinter => ({
  print: async (call) => {
    const bytes = Buffer.concat([Buffer.from('{"call":'), call, Buffer.from("}")]);
    await screen.list({ columns: columnsOf(asked), rows: [call], wire: { bytes, member: "call" } });
  },
  end: async () => undefined,
  cut: async () => undefined,
});

/** A page a call, as it comes: by itself where a program or a file takes it, all of them through one pager where one may open. */
const pagePrinter = ({ screen, asked }: CallPrinting): CallPrinter => {
  const full = asked.full === true;
  const channel = openChannel<Page>();
  let printed = 0;
  let shown: Promise<void> | undefined;
  const end = async () => {
    channel.end();
    await shown;
  };
  return {
    print: async (bytes) => {
      const { sections } = pageOf(bytes, screen.fields, asked);
      const page = { sections: printed++ === 0 ? sections : [between, ...sections], full };
      if (!screen.paged) return await screen.page(page);
      shown ??= quietly(screen.pages(channel.values).finally(channel.leave));
      await Promise.race([channel.push(page), shown]);
    },
    end,
    cut: end,
  };
};

/** One that fails is noticed by whoever prints next, or at the end. */
const quietly = (promise: Promise<void>): Promise<void> => {
  promise.catch(() => undefined);
  return promise;
};

/** A document a call, in whatever form: it is for a person, in a file. */
const markdownPrinter = ({ screen, asked }: CallPrinting): CallPrinter => {
  let printed = 0;
  return {
    print: async (bytes) => {
      const text = pageMarkdown(pageOf(bytes, screen.fields, asked), safeText);
      await screen.verbatim(printed++ === 0 ? text : `\n${text}`, "text");
    },
    end: async () => undefined,
    cut: async () => undefined,
  };
};

const pageOf = (bytes: Uint8Array, fields: readonly string[] | undefined, asked: CallAsked): Page => {
  const shown = asked.content === false ? withoutContent(bytes, asked.vendorPrefix) : bytes;
  const spelled = readSpelled(shown);
  if (fields === undefined) {
    const call = asked.content === false ? headWithoutContent(bytes, asked.vendorPrefix) : spelled;
    return callPage({ call, shown: spelled }, asked);
  }
  const wire = openRows(shown, [{ start: 0, end: shown.length }]);
  for (const name of fields) requireField({ name, known: namesOf(asked), wire });
  return fieldsPage(spelled, fields);
};

/** Keeps two calls apart by more than two sections of one. */
const between: Section = { block: "" };

const freeForm = new Set(["attributes", "inputs", "output", "summary"]);

/** The fields of interface 2.4 in its order, under the deployment's own word. */
const namesOf = ({ vendorPrefix }: CallAsked): readonly string[] =>
  callFields.map((name) => name.replace(/^vendor_/, `${vendorPrefix}_`));

/** Sizes only where they were asked for. */
const columnsOf = (asked: CallAsked): readonly Column<Uint8Array>[] =>
  namesOf(asked)
    .filter((name) => asked.storageSize || name !== "storage_size_bytes")
    .filter((name) => asked.totalStorageSize || name !== "total_storage_size_bytes")
    .map((name) => ({
      name,
      heading: name,
      rank: 0,
      freeForm: freeForm.has(name),
      cell: () => "",
      value: () => undefined,
    }));
