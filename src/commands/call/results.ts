/** What `call read` makes of the calls it reads, one by one: pages, lines, a summary, one value of each, or lines for `log`. */
import type { CallUnfit } from "../../calls/failures.ts";
import {
  findPath,
  headWithoutContent,
  messagesOf,
  microsecondsOf,
  modelsOf,
  openSummary,
  operationOf,
  readHead,
  stateOf,
  trajectoryOf,
} from "../../calls/index.ts";
import type { Context } from "../../context.ts";
import type { Failure } from "../../failure.ts";
import { type Spelled, textFrom } from "../../json/spelled.ts";
import { textOf } from "../../json/walk.ts";
import { printCallSummary, printCalls, printList } from "../../output/index.ts";
import { callPathMissing, callsUnfit } from "../failures.ts";
import { ownColumns } from "../lists/own.ts";
import type { CallForm, CallShown } from "./options.ts";
import type { FoundCall } from "./reader.ts";

/** Takes calls in their order. */
export interface CallResults {
  take(call: FoundCall): Promise<void>;
  /** Prints what had to wait for the last call. Returns what could not be done, if anything. */
  end(about: Ended): Promise<Failure | undefined>;
  /** Prints what a person can use of what waited, if something else ends the run. */
  cut?(): Promise<void>;
}

/** How many calls were asked for, do not exist, and were left out by a choice; undefined without one. */
interface Ended {
  readonly asked: number;
  readonly missing: number;
  readonly chosen: number | undefined;
}

/** How calls are shown. */
interface Asked {
  readonly form: CallForm;
  readonly shown: CallShown;
  readonly vendorPrefix: string;
}

/** Opens the results in the form asked for. */
export const openCallResults = (context: Context, asked: Asked): CallResults => {
  const { form } = asked;
  if (form.kind === "summary") return summaryOf(context, asked);
  if (form.kind === "list") return listOf(context, asked);
  if (form.kind === "value") return valuesOf(context, form);
  return form.kind === "page" ? pagesOf(context, asked, form.markdown) : linesOf(context, form);
};

/** From so many pages of calls that were chosen among others on, a person may want a shorter form. */
const manyPages = 3;

const pagesOf = ({ screen }: Context, { shown, vendorPrefix }: Asked, markdown: boolean): CallResults => {
  const printer = printCalls({ screen, asked: { ...shown, vendorPrefix }, markdown });
  let count = 0;
  return {
    take: async ({ bytes, reply }) => {
      count++;
      await printer.print(bytes, reply);
    },
    end: async ({ asked, chosen }) => {
      const mayBeEmpty = (chosen !== undefined && chosen > 0) || asked === 0;
      await printer.end({ several: asked > 1 || chosen !== undefined, mayBeEmpty });
      const isPages = !markdown && (screen.format === "table" || screen.format === "tsv");
      if (chosen !== undefined && isPages && count >= manyPages)
        screen.notice(`${count} calls are shown whole: --list has a line of each`);
      return undefined;
    },
    cut: async () => await printer.cut(),
  };
};

const headOf = ({ bytes }: FoundCall, { shown: { content }, vendorPrefix }: Asked): Spelled =>
  content ? readHead(bytes) : headWithoutContent(bytes, vendorPrefix);

const listOf = ({ screen }: Context, asked: Asked): CallResults => {
  const rows: ListedCall[] = [];
  const print = async () => await printList(screen, { columns: listColumns, rows });
  return {
    take: async (call) => void rows.push(listedCall(headOf(call, asked), call.id, asked)),
    end: async () => void (await print()),
    cut: print,
  };
};

/** Characters at the end of an exception that are searched for its last line, which says what it is. */
const maxException = 2000;

/** A line's facts. `id` is what the call was asked for by. */
const listedCall = (call: Spelled, id: string, { vendorPrefix }: Asked) => {
  const micros = microsecondsOf(call);
  const exception = (textFrom(call, "exception") ?? "").trimEnd().slice(-maxException);
  return {
    id,
    status: stateOf(call, vendorPrefix),
    op: operationOf(call) ?? "",
    model: modelsOf(call, vendorPrefix).join(", "),
    started_at: textFrom(call, "started_at") ?? "",
    seconds: micros === undefined || micros < 0 ? undefined : String(micros / 1_000_000),
    exception: exception.split("\n").at(-1)?.trim() ?? "",
  };
};
type ListedCall = ReturnType<typeof listedCall>;

/** What distinguishes calls comes first. */
const listColumns = ownColumns<ListedCall>({
  id: 0,
  status: 0,
  op: 2,
  model: 3,
  started_at: { rank: 4, heading: "started" },
  seconds: { rank: 5, heading: "s", align: "right" },
  exception: 1,
});

const summaryOf = ({ screen }: Context, asked: Asked): CallResults => {
  const { costs } = asked.shown;
  const summarizer = openSummary(asked.vendorPrefix);
  return {
    take: async (call) => summarizer.add(headOf(call, asked)),
    end: async ({ asked: count, missing, chosen = 0 }) => {
      const summary = summarizer.summary();
      const { calls, cost } = summary.all;
      if (calls + chosen > 0 || count === 0) await printCallSummary(screen, { summary, costs, missing });
      if (costs && cost.calls < calls)
        screen.notice(`the cost is that of ${cost.calls} of ${calls} calls: the service gave none for the others`);
      if (summary.odd > 0)
        screen.notice(`in ${summary.odd} of ${calls} calls a time, a number of tokens or an amount can't be used`);
      return undefined;
    },
  };
};

type MissingValue = Extract<ReturnType<typeof findPath>, { kind: "missing" }>;

const valuesOf = ({ screen }: Context, { path }: Extract<CallForm, { kind: "value" }>): CallResults => {
  const ids: string[] = [];
  let first: MissingValue | undefined;
  return {
    take: async ({ id, bytes }) => {
      const found = findPath(bytes, path);
      if (found.kind === "missing") {
        ids.push(id);
        first ??= found;
        return;
      }
      const text = textOf(bytes, found.span);
      const value: unknown = !screen.isForProgram && text.startsWith('"') ? JSON.parse(text) : undefined;
      if (typeof value === "string") await screen.verbatim([value, "\n"], "text");
      else await screen.verbatim([text, "\n"], "json");
    },
    end: async ({ asked }) => {
      if (first === undefined) return undefined;
      const { at, near, there } = first;
      return callPathMissing({ ids, asked, at, near, there });
    },
  };
};

const linesOf = ({ screen }: Context, form: Extract<CallForm, { kind: "trajectory" | "messages" }>): CallResults => {
  const unfit: { readonly id: string; readonly why: CallUnfit }[] = [];
  return {
    take: async ({ id, bytes }) => {
      const converted = form.kind === "messages" ? messagesOf(bytes) : trajectoryOf(bytes, form.reward);
      if (converted.kind === "unfit") unfit.push({ id, why: converted.why });
      else await screen.verbatim([Buffer.from(converted.line).toString(), "\n"], "json");
    },
    end: async ({ asked }) => (unfit.length === 0 ? undefined : callsUnfit({ calls: unfit, asked, into: form.kind })),
  };
};
