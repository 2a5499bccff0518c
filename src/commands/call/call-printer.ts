/** Prints traced calls as pages, rows or JSON. */

import { callFields, withPrefix } from "../../calls/call-facts.ts";
import { findValue, type RawJson, toRawJson } from "../../json/raw-json.ts";
import { printList } from "../../output/list.ts";
import { printPages } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import { type CallViewOptions, callSections } from "./call-page.ts";

/** `reply` has the call in its member `call`. */
export type CallReply = Readonly<{ call: RawJson; reply: RawJson }>;

/** Known after the last reply. If `hasSeveral`, JSON is a list of calls. `canBeEmpty` allows an empty list. */
export type CallTotals = Readonly<Record<"hasSeveral" | "canBeEmpty", boolean>>;

type PrintedCalls = Readonly<{ calls: AsyncIterable<CallReply>; totals: () => CallTotals }>;

/** Prints pages, or with `--fields` rows. */
export const printCalls = async (
  screen: Screen,
  { calls: replies, totals }: PrintedCalls,
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
  for await (const { call } of replies) yield { sections: callSections(call, options), isFull: options.full };
}

/** The default of `--reward-from`. */
const rewardField = "attributes.reward";

const freeForm = ["attributes", "inputs", "output", "summary"];

export const listCallColumns = ({ vendorPrefix, storageSize, totalStorageSize }: CallViewOptions, hasReward = false) =>
  [...callFields, ...(hasReward ? [rewardField] : [])]
    .filter((name) => storageSize || name !== "storage_size_bytes")
    .filter((name) => totalStorageSize || name !== "total_storage_size_bytes")
    .map((field) => ({ name: withPrefix(field, vendorPrefix), rank: 0, isFreeForm: freeForm.includes(field) }));
