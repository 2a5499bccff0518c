/** Traced calls in each form: a page, the service's own JSON, or rows of the wire's names. */
import { callPage } from "./call-page.ts";
import type { CallPrinter, CallPrinting } from "./calls.ts";
import { readSpelled } from "./spelled.ts";
import type { Section } from "./view.ts";

/** Opens the printer for the form asked for. */
export const callPrinter = (printing: CallPrinting): CallPrinter => {
  const { format } = printing.screen;
  if (format === "jsonl") return linePrinter(printing);
  return format === "table" || format === "tsv" ? pagePrinter(printing) : documentPrinter(printing);
};

/** All calls in one document, once the last is there: half a document is none. */
const documentPrinter = ({ screen }: CallPrinting): CallPrinter => {
  const calls: Uint8Array[] = [];
  return {
    print: async (bytes) => void calls.push(bytes),
    end: async ({ several }) => {
      if (calls.length === 0) return;
      const [open, close] = several ? ['{"calls":[', "]}"] : ['{"call":', "}"];
      const pieces = calls.flatMap((bytes, index) => (index === 0 ? [bytes] : [Buffer.from(","), bytes]));
      await screen.raw(Buffer.concat([Buffer.from(open), ...pieces, Buffer.from(close)]), several ? "calls" : "call");
    },
  };
};

const linePrinter = ({ screen }: CallPrinting): CallPrinter => ({
  print: async (bytes) => await screen.raw(bytes),
  end: async () => undefined,
});

/** One page of all calls, so that a pager opens once. */
const pagePrinter = ({ screen, asked }: CallPrinting): CallPrinter => {
  const sections: Section[] = [];
  return {
    print: async (bytes) => void sections.push(...callPage(readSpelled(bytes), asked).sections),
    end: async () => {
      if (sections.length > 0) await screen.page({ sections });
    },
  };
};
