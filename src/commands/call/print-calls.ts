/** Prints traced calls as pages, rows or JSON, or one value of each. */
import { callFields, withPrefix } from "../../calls/call-facts.ts";
import { type CallPath, findPath, formatPath, type MissingStep, parsePath } from "../../calls/path.ts";
import { Failure, type FailureDetails } from "../../failure.ts";
import { findValue, type RawJson, toRawJson } from "../../json/raw-json.ts";
import type { NamedColumn } from "../../output/json-fields.ts";
import { printList } from "../../output/list.ts";
import { printPages, requirePage } from "../../output/page.ts";
import type { Screen } from "../../output/screen.ts";
import { conflictingOptions } from "../../system/failures.ts";
import { formatList, formatSuggestion } from "../../text/sentences.ts";
import { type CallViewOptions, callSections } from "./call-page.ts";

/** `reply` has the call in its member `call`. */
export type ReadCall = Readonly<{ id: string; call: RawJson; reply: RawJson }>;

/** Iterating `calls` reads them from the service, in the order of the ids. `requested` counts the ids so far. */
type Calls = Readonly<{ calls: AsyncIterable<ReadCall>; requested: () => number }>;

/** Checks the options, and returns the function that prints. @throws Failure */
export const selectPrinter = (screen: Screen, path: string | undefined) => {
  if (path === undefined) {
    requirePage(screen);
    return async (read: Calls, options: CallViewOptions) => await printCalls(screen, read, options);
  }
  if (screen.fields) throw conflictingOptions("--path", "--fields", "--path has its own format");
  const steps = parsePath(path, "--path");
  return async (read: Calls) => await printValues(screen, read, steps);
};

/** Prints pages, or with `--fields` rows. */
const printCalls = async (screen: Screen, { calls: replies, requested }: Calls, options: CallViewOptions) => {
  const { format, fields } = screen;
  if (!fields && (format === "table" || format === "tsv"))
    return void (await printPages(screen, toPages(replies, options)));
  const print = async (calls: readonly RawJson[], member: string, document: RawJson) => {
    const hasReward = calls.some((call) => findValue(call, ...rewardField.split(".")));
    await printList(screen, { columns: listColumns(options, hasReward), rows: calls, json: { document, member } });
  };
  const calls: RawJson[] = [];
  let lastReply: RawJson | undefined;
  for await (const { call, reply } of replies) {
    calls.push(call);
    lastReply = reply;
  }
  if (!lastReply) return;
  await (requested() > 1 ? print(calls, "calls", toRawJson({ calls })) : print(calls, "call", lastReply));
};

async function* toPages(replies: AsyncIterable<ReadCall>, options: CallViewOptions) {
  for await (const { call } of replies) yield { sections: callSections(call, options), isFull: false };
}

const rewardField = "attributes.reward";

const freeForm = ["attributes", "inputs", "output", "summary"];

export const listColumns = (
  { vendorPrefix, storageSize, totalStorageSize }: CallViewOptions,
  hasReward = false,
): readonly (NamedColumn & Readonly<{ rank: number; isFreeForm: boolean }>)[] =>
  [...callFields, ...(hasReward ? [rewardField] : [])]
    .filter((name) => storageSize || name !== "storage_size_bytes")
    .filter((name) => totalStorageSize || name !== "total_storage_size_bytes")
    .map((field) => ({ name: withPrefix(field, vendorPrefix), rank: 0, isFreeForm: freeForm.includes(field) }));

/** Returns a failure if calls have no such value. */
const printValues = async (screen: Screen, { calls, requested }: Calls, path: CallPath) => {
  const ids: string[] = [];
  const values: string[] = [];
  let missing: MissingStep | undefined;
  for await (const { id, call } of calls) {
    const found = findPath(call, path);
    if (found.kind === "missing") {
      ids.push(id);
      missing ??= found;
    } else if (found.value.kind === "text" && !screen.isJson) {
      await screen.printText(`${found.value.text}\n`);
    } else if (screen.format === "json") values.push(found.value.json);
    else await screen.print([found.value.json, "\n"], "json");
  }
  if (values.length > 0) await screen.print([requested() > 1 ? `[${values.join(",")}]` : values.join(), "\n"], "json");
  return missing && callPathMissing(missing, formatPath(path), ids, requested());
};

const formatCalls = (ids: readonly string[], requested: number) =>
  requested === 1 ? `call \`${ids[0]}\`` : `${ids.length} of ${requested} calls`;

const formatIds = (ids: readonly string[], requested: number) =>
  requested === 1 ? "" : `: ${formatList([...new Set(ids)])}`;

export const callsMissing = (
  { ids, requested, project }: { ids: readonly string[]; requested: number; project: string },
  details: FailureDetails = {},
) => {
  const reason = details.http?.said === undefined ? "" : ` (the service says: ${details.http.said})`;
  const found = formatCalls(ids, requested);
  const message = `cannot find ${found} in project ${project}${formatIds(ids, requested)}${reason}`;
  const hint = "pass the whole id, check the service, and pass the project of the call with --project";
  return new Failure("not_found", "calls-missing", message, { ...details, hint });
};

const callPathMissing = (missing: MissingStep, path: string, ids: readonly string[], requested: number) => {
  const [at, found] = ids.length > 1 ? [path, []] : [missing.path, missing.candidates];
  const has = ids.length === 1 ? "has" : "have";
  const reason = found.length === 0 ? "" : ` (found: ${formatList(found)})`;
  const message = `${formatCalls(ids, requested)} ${has} no value at \`${at}\`${formatIds(ids, requested)}${reason}`;
  const hint = "omit --path to see the whole call";
  return new Failure("not_found", "call-path-missing", message, formatSuggestion(missing.near, hint));
};
