/** What `call read` makes of the calls it reads, one by one: pages, a summary, one value of each, or lines for `log`. */
import type { CallUnfit } from "../../calls/failures.ts";
import {
  findPath,
  headWithoutContent,
  messagesOf,
  openSummary as openSummarizer,
  readHead,
  trajectoryOf,
} from "../../calls/index.ts";
import type { Context } from "../../context.ts";
import type { Failure } from "../../failure.ts";
import { textOf } from "../../json/walk.ts";
import { type CallPrinter, printCallSummary, printCalls, printList, type Screen } from "../../output/index.ts";
import { callPathMissing, callsUnfit } from "../failures.ts";
import { type ListedCall, listColumns, listedCall } from "./columns.ts";
import type { CallForm, CallShown } from "./options.ts";
import type { FoundCall } from "./reader.ts";

/** Takes calls in their order. */
export interface CallResults {
  take(call: FoundCall): Promise<void>;
  /** Prints what had to wait for the last call. Gives what could not be done, if anything. */
  end(about: Ended): Promise<readonly Failure[]>;
  /** Prints what a person can use of what waited, since something else ends the run. */
  cut(): Promise<void>;
}

/** How many calls were asked for, are not there, and were chosen among; no choice where that is undefined. */
interface Ended {
  readonly asked: number;
  readonly missing: number;
  readonly chosen: number | undefined;
}

/** Opens the results in the form asked for. */
export const openCallResults = async (
  context: Context,
  { form, shown, vendorPrefix }: { readonly form: CallForm; readonly shown: CallShown; readonly vendorPrefix: string },
): Promise<CallResults> => {
  if (form.kind === "summary") return await openSummary(context, { shown, vendorPrefix });
  if (form.kind === "list") return openList(context, { shown, vendorPrefix });
  if (form.kind === "value") return await openValues(context, form);
  if (form.kind === "page") {
    const { screen } = context;
    const printer = printCalls({ screen, asked: { ...shown, vendorPrefix }, markdown: form.markdown });
    return pages(printer, form.markdown ? () => undefined : (count) => tellOfList(screen, count));
  }
  return await openConverted(context, form);
};

/** So many pages of calls that were chosen among others are more than somebody reads who looks for one. */
const manyPages = 3;

/** Says that many calls have a short form too. */
const tellOfList = ({ format, notice }: Screen, count: number): void => {
  const isPages = format === "table" || format === "tsv";
  if (isPages && count >= manyPages) notice(`${count} calls are shown whole: --list has a line of each`);
};

const pages = (printer: CallPrinter, tell: (count: number) => void): CallResults => {
  let count = 0;
  return {
    take: async ({ bytes, reply }) => {
      count++;
      await printer.print(bytes, reply);
    },
    end: async ({ asked, chosen }) => {
      await printer.end({
        several: asked > 1 || chosen !== undefined,
        mayBeEmpty: (chosen !== undefined && chosen > 0) || asked === 0,
      });
      if (chosen !== undefined) tell(count);
      return [];
    },
    cut: async () => await printer.cut(),
  };
};

const openList = (
  { screen }: Context,
  { shown: { content }, vendorPrefix }: { readonly shown: CallShown; readonly vendorPrefix: string },
): CallResults => {
  const rows: ListedCall[] = [];
  const print = async () => await printList(screen, { columns: listColumns, rows });
  return {
    take: async ({ id, bytes }) => {
      const call = content ? readHead(bytes) : headWithoutContent(bytes, vendorPrefix);
      rows.push(listedCall(call, { id, vendorPrefix }));
    },
    end: async () => {
      await print();
      return [];
    },
    cut: print,
  };
};

const openSummary = async (
  context: Context,
  { shown: { costs, content }, vendorPrefix }: { readonly shown: CallShown; readonly vendorPrefix: string },
): Promise<CallResults> => {
  const { screen } = context;
  const summarizer = openSummarizer(vendorPrefix);
  return {
    take: async ({ bytes }) => summarizer.add(content ? readHead(bytes) : headWithoutContent(bytes, vendorPrefix)),
    end: async ({ asked, missing, chosen = 0 }) => {
      const summary = summarizer.summary();
      if (summary.all.calls + chosen > 0 || asked === 0) await printCallSummary(screen, { summary, costs, missing });
      const { calls, cost } = summary.all;
      if (costs && cost.calls < calls) {
        screen.notice(`the cost is that of ${cost.calls} of ${calls} calls: the service gave none for the others`);
      }
      if (summary.odd > 0) {
        screen.notice(`in ${summary.odd} of ${calls} calls a time, a number of tokens or an amount can't be used`);
      }
      return [];
    },
    cut: async () => undefined,
  };
};

const openValues = async (context: Context, { path }: Extract<CallForm, { kind: "value" }>): Promise<CallResults> => {
  const { screen } = context;
  const missing: {
    readonly id: string;
    readonly at: string;
    readonly near: string | undefined;
    readonly there: readonly string[];
  }[] = [];
  return {
    take: async ({ id, bytes }) => {
      const found = findPath(bytes, path);
      if (found.kind === "missing") {
        missing.push({ id, ...found });
        return;
      }
      const text = textOf(bytes, found.span);
      const value: unknown = !screen.isForProgram && text.startsWith('"') ? JSON.parse(text) : undefined;
      if (typeof value === "string") await screen.verbatim([value, "\n"], "text");
      else await screen.verbatim([text, "\n"], "json");
    },
    end: async ({ asked }) => {
      const [first] = missing;
      if (first === undefined) return [];
      const ids = missing.map(({ id }) => id);
      return [callPathMissing({ ids, asked, at: first.at, near: first.near, there: first.there })];
    },
    cut: async () => undefined,
  };
};

const openConverted = async (
  context: Context,
  form: Extract<CallForm, { kind: "trajectory" | "messages" }>,
): Promise<CallResults> => {
  const unfit: { readonly id: string; readonly why: CallUnfit }[] = [];
  return {
    take: async ({ id, bytes }) => {
      const converted = form.kind === "messages" ? messagesOf(bytes) : trajectoryOf(bytes, form.reward);
      if (converted.kind === "unfit") unfit.push({ id, why: converted.why });
      else
        await context.screen.verbatim([textOf(converted.line, { start: 0, end: converted.line.length }), "\n"], "json");
    },
    end: async ({ asked }) => (unfit.length === 0 ? [] : [callsUnfit({ calls: unfit, asked, into: form.kind })]),
    cut: async () => undefined,
  };
};
