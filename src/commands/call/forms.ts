/** Selects and prints the output form of `call read`. */
import {
  callFields,
  findDurationMicros,
  findModels,
  findOperation,
  findState,
  withPrefix,
} from "../../calls/call-facts.ts";
import { type ConversionResult, toMessages, toTrajectory } from "../../calls/convert-call.ts";
import { type CallPath, findPath, formatPath, type MissingStep, parsePath } from "../../calls/path.ts";
import { type CallCounts, openSummary } from "../../calls/summary.ts";
import { compileGlob } from "../../catalogs/filter.ts";
import { Failure } from "../../failure.ts";
import { findValue, parseRawJson, type RawJson, textAt, toRawJson } from "../../json/raw-json.ts";
import type { NamedColumn } from "../../output/json-fields.ts";
import { printList, printObjects } from "../../output/list.ts";
import { printPages, requirePage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import type { Column, KeyColumn } from "../../output/views.ts";
import { listCallArgs } from "../../session/connect.ts";
import type { Context } from "../../session/context.ts";
import { conflictingOptions, invalidOptionValue, requiredOptionMissing } from "../../system/failures.ts";
import { formatOwnCommand } from "../../system/program.ts";
import { formatList, pluralize } from "../../text/sentences.ts";
import { callPathMissing } from "../failures.ts";
import { type CallViewOptions, callSections } from "./call-page.ts";
import type { CallReadOptions } from "./command.ts";

/** `reply` has the call in its member `call`. If `call` lacks its content, figures are from the `whole` call. */
type CallReply = Readonly<{ call: RawJson; reply: RawJson; whole?: RawJson }>;
export type ReadCall = CallReply & { readonly id: string };

/** Known after the last reply. If `hasSeveral`, JSON is a list of calls. `canBeEmpty` allows an empty list. */
type CallTotals = Readonly<Record<"hasSeveral" | "canBeEmpty", boolean>>;

/** Iterating `calls` reads them from the service, in the order of the ids. */
interface SelectedCalls {
  readonly calls: AsyncIterable<ReadCall>;
  readonly totals: () => CallTotals & Readonly<Record<"requested" | "missing", number>>;
  readonly vendorPrefix: string;
}

/** Returns the columns of the list that the options select. */
export const selectColumns = (typed: Omit<CallReadOptions, "callId">): readonly NamedColumn[] => {
  if (typed.list) return listColumns;
  return typed.summary ? selectSummaryColumns(typed.costs) : listCallColumns({ ...typed, vendorPrefix: "vendor" });
};

type Form = (context: Context, typed: CallReadOptions, selected: SelectedCalls) => Promise<Failure | undefined>;

export const createCallFilter = ({ failed, running, op, model }: CallReadOptions, prefix: string) => {
  const states = [...(failed ? ["failed"] : []), ...(running ? ["running"] : [])];
  if (states.length === 0 && op === undefined && model === undefined) return undefined;
  const matchesOp = compileGlob(op ?? "*");
  const matchesModel = compileGlob(model ?? "*");
  return (call: RawJson) =>
    (states.length === 0 || states.includes(findState(call, prefix))) &&
    matchesOp(findOperation(call)) &&
    (model === undefined || findModels(call, prefix).some((name) => matchesModel(name)));
};

export const selectForm = (context: Context, typed: CallReadOptions): Form => {
  const { as, list, summary, path, reward, rewardFrom } = typed;
  if ((reward ?? rewardFrom) !== undefined && as !== "trajectory")
    throw requiredOptionMissing(reward === undefined ? "--reward-from" : "--reward", "--as trajectory");
  if (list || (as ?? path) !== undefined) checkForm(context, typed);
  if (list) return listForm;
  if (summary) return summaryForm;
  if (path !== undefined) return valueForm(parsePath(path, "--path"));
  if (as === "messages") return lineForm(as, toMessages);
  if (as === undefined) {
    requirePage(context.screen);
    return pageForm;
  }
  const source = selectReward(reward, rewardFrom);
  return lineForm(as, (call) => toTrajectory(call, source));
};

const checkForm = ({ screen: { fields, format } }: Context, { as, list, noContent }: CallReadOptions) => {
  const form = list ? "--list" : as === undefined ? "--path" : `--as ${as}`;
  if (!list && noContent) throw conflictingOptions(form, "--no-content", `${form} prints content`);
  const refused = list ? ["json", "jsonl"] : ["csv", ...(as === undefined ? [] : ["json"])];
  const why = `${form} has its own format`;
  const listHint = "omit --list, and pass -o jsonl --fields id,exception to print some keys of each call";
  if (!list && fields) throw conflictingOptions(form, "--fields", why);
  if (refused.includes(format)) throw conflictingOptions(form, `-o ${format}`, why, list ? listHint : undefined);
};

const selectReward = (reward: string | undefined, path = rewardField) => {
  if (reward === undefined) return { path: parsePath(path, "--reward-from") };
  const text = reward.trim();
  const isNumber = /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text) && Number.isFinite(Number(text));
  if (!isNumber) throw invalidOptionValue("--reward", reward, "a number such as 1 or -0.5");
  return { text };
};

const pageForm: Form = async ({ screen }, typed, selected) => {
  await printCalls(screen, selected, { ...typed, vendorPrefix: selected.vendorPrefix });
};

/** Prints pages, or with `--fields` rows. */
export const printCalls = async (
  screen: Screen,
  { calls: replies, totals }: Readonly<{ calls: AsyncIterable<CallReply>; totals: () => CallTotals }>,
  options: CallViewOptions,
) => {
  const { format, fields } = screen;
  if (!fields && (format === "table" || format === "tsv")) return await printPages(screen, toPages(replies, options));
  const print = async (calls: readonly RawJson[], member: string, document: RawJson) => {
    const hasReward = calls.some((call) => findValue(call, ...rewardField.split(".")));
    await printList(screen, { columns: listCallColumns(options, hasReward), rows: calls, json: { document, member } });
  };
  if (format === "jsonl" && !screen.canPage) {
    for await (const { call, reply } of replies) await print([call], "call", reply);
    return;
  }
  const calls: RawJson[] = [];
  let lastReply: RawJson | undefined;
  for await (const { call, reply } of replies) {
    calls.push(call);
    lastReply = reply;
  }
  const { hasSeveral, canBeEmpty } = totals();
  if (lastReply && !hasSeveral) return await print(calls, "call", lastReply);
  if (!lastReply && !canBeEmpty) return;
  await print(calls, "calls", toRawJson({ calls }));
};

async function* toPages(replies: AsyncIterable<CallReply>, options: CallViewOptions) {
  for await (const { call, whole } of replies)
    yield { sections: callSections(call, options, whole), isFull: options.full };
}

/** The default of `--reward-from`. */
const rewardField = "attributes.reward";

const freeForm = ["attributes", "inputs", "output", "summary"];

const listCallColumns = ({ vendorPrefix, storageSize, totalStorageSize }: CallViewOptions, hasReward = false) =>
  [...callFields, ...(hasReward ? [rewardField] : [])]
    .filter((name) => storageSize || name !== "storage_size_bytes")
    .filter((name) => totalStorageSize || name !== "total_storage_size_bytes")
    .map((field) => ({ name: withPrefix(field, vendorPrefix), rank: 0, isFreeForm: freeForm.includes(field) }));

const listForm: Form = async ({ screen }, _, { calls, vendorPrefix: prefix }) => {
  const rows: ListedCall[] = [];
  try {
    for await (const { id, call, whole = call } of calls) rows.push(toListedCall(call, whole, id, prefix));
  } finally {
    await printObjects(screen, { data: rows }, { member: "data", columns: listColumns });
  }
};

const toListedCall = (call: RawJson, whole: RawJson, id: string, prefix: string) => {
  const micros = findDurationMicros(call);
  return {
    id,
    status: findState(call, prefix),
    op: findOperation(call) ?? "",
    model: findModels(whole, prefix).join(", "),
    started_at: textAt(call, "started_at") ?? "",
    seconds: micros === undefined || micros < 0 ? undefined : String(micros / 1_000_000),
    // The last line of a traceback is the message.
    exception: textAt(call, "exception")?.trimEnd().split("\n").at(-1)?.trim() ?? "",
  };
};
type ListedCall = ReturnType<typeof toListedCall>;

const listColumns: readonly KeyColumn<ListedCall>[] = [
  { name: "id", rank: 0 },
  { name: "status", rank: 0 },
  { name: "op", rank: 2 },
  { name: "model", rank: 3 },
  { name: "started_at", heading: "started", rank: 4 },
  { name: "seconds", heading: "s", rank: 5, align: "right" },
  { name: "exception", rank: 0 },
];

const summaryForm: Form = async ({ screen }, { costs }, { calls, totals, vendorPrefix }) => {
  const summarizer = openSummary(vendorPrefix);
  for await (const { call, whole } of calls) summarizer.add(call, whole);
  const { all, groups, rollUps, doubts, costDoubt } = summarizer.summary();
  const { missing, canBeEmpty } = totals();
  if (doubts.length > 0)
    screen.noteInResult(`the tokens of ${doubts.length} of ${all.calls} calls are not exact, because ${doubts[0]}`);
  if (all.unknown > 0)
    screen.noteInResult(`${all.unknown} of ${all.calls} calls ended with a status that rollcall does not know`);
  if (costs && all.cost.calls < all.calls) {
    const why = costDoubt ?? "the service sent no cost for the rest";
    screen.noteInResult(`the cost covers ${all.cost.calls} of ${all.calls} calls, because ${why}`);
  }
  if (all.calls > 0 || canBeEmpty) {
    // Only tables have a total, because a program that adds the rows would count each call twice.
    const total = screen.format === "table" ? [{ ...all, op: "all calls", model: "" }] : [];
    const rows = [...groups, ...total].map(({ op, model, ...counts }) => {
      return { op: op || null, model: model || null, ...toCounts(counts, costs) };
    });
    const document = toRawJson({ summary: { ...toCounts(all, costs), missing }, groups: rows });
    await printList(screen, { columns: selectSummaryColumns(costs), rows, json: { document, member: "groups" } });
  }
  if (rollUps > 0)
    screen.notice(
      `counted tokens and costs once, although ${pluralize(rollUps, "parent call")} includes its child calls`,
    );
};

/** The sums are exact, so they can have more digits than a number of JavaScript. */
const toCounts = ({ cost, ...counts }: CallCounts, costs: boolean) => {
  const usd = cost.usd === null ? null : parseRawJson(cost.usd);
  return { ...counts, ...(costs ? { cost: { ...cost, usd } } : {}) };
};

const selectSummaryColumns = (costs: boolean) => summaryColumns.filter(({ name }) => costs || name !== "cost.usd");

const right = { align: "right" } as const;
const decimal = { align: "decimal" } as const;

/** Users rely on the order of the columns (output.md). */
const summaryColumns: readonly Column<unknown>[] = [
  { name: "op", rank: 0 },
  { name: "model", rank: 0, hasNames: true },
  { name: "calls", rank: 0, ...right },
  { name: "failed", rank: 2, ...right },
  { name: "running", rank: 8, ...right },
  { name: "deleted", rank: 9, ...right },
  { name: "seconds.p50", heading: "p50\ns", rank: 4, ...decimal },
  { name: "seconds.p95", heading: "p95\ns", rank: 5, ...decimal },
  { name: "tokens.prompt", heading: "prompt\ntokens", rank: 6, ...right },
  { name: "tokens.completion", heading: "completion\ntokens", rank: 7, ...right },
  { name: "tokens.total", heading: "total\ntokens", rank: 3, ...right },
  { name: "cost.usd", heading: "cost\n$", rank: 0, isRounded: true, ...decimal },
];

const valueForm =
  (path: CallPath): Form =>
  async ({ screen }, _, { calls, totals }) => {
    const ids: string[] = [];
    const values: string[] = [];
    let missing: MissingStep | undefined;
    for await (const { id, call } of calls) {
      const found = findPath(call, path);
      if (found.kind === "missing") {
        ids.push(id);
        missing ??= found;
      } else if (found.value.kind === "text" && !screen.isForProgram) {
        await screen.printText(`${found.value.text}\n`);
      } else if (screen.format === "json") values.push(found.value.json);
      else await screen.printUnpaged([found.value.json, "\n"], "json");
    }
    const { requested, hasSeveral, canBeEmpty } = totals();
    if (screen.format === "json" && (values.length > 0 || canBeEmpty))
      await screen.printUnpaged(
        [hasSeveral || values.length === 0 ? `[${values.join(",")}]` : values.join(), "\n"],
        "json",
      );
    return missing && callPathMissing(missing, formatPath(path), ids, requested);
  };

const lineForm =
  (into: "trajectory" | "messages", convert: (call: RawJson) => ConversionResult): Form =>
  async ({ screen, flags }, _, { calls, totals }) => {
    const obstacles: { id: string; why: string; needsReward?: true }[] = [];
    for await (const { id, call } of calls) {
      const converted = convert(call);
      if ("why" in converted) obstacles.push({ id, ...converted });
      else {
        for (const { message: at, reference } of converted.references) {
          const message = `message ${at} of ${id} has a reference to another object (${reference}), not its content`;
          const advice = "replace the reference with the content before you train on the message";
          screen.warn({ rule: "reference-in-content", severity: "warning", message, advice });
        }
        await screen.printUnpaged([converted.line, "\n"], "json");
      }
    }
    const [first] = obstacles;
    if (!first) return undefined;
    const { requested } = totals();
    const which = requested === 1 ? "the call" : `${obstacles.length} of ${requested} calls`;
    const reasons = formatList(obstacles.map(({ id, why }) => `${id} (${why})`));
    const result = into === "trajectory" ? "a trajectory" : "messages";
    return new Failure("invalid_input", "calls-unconvertible", `cannot convert ${which} to ${result}: ${reasons}`, {
      hint: obstacles.some(({ needsReward }) => needsReward)
        ? "pass the reward with --reward <number>, or its path in the call with --reward-from <path>"
        : `examine ${requested === 1 ? "the call" : "one of these calls"}: \`${formatOwnCommand(listCallArgs(first.id, flags))}\``,
    });
  };
