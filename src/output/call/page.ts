/** The page of a traced call: facts, inputs, output, then all other fields (interface 2.4). */
import {
  addCosts,
  type Cost,
  composeObject,
  findCallName,
  findDurationMicros,
  findModels,
  findState,
  type Media,
  omitMembers,
  omittedKey,
  type Part,
  readCosts,
  readInputs,
  readOutput,
  readStatus,
  readUsages,
  type Turn,
  toTurns,
} from "../../calls/index.ts";
import { formatDecimal, shiftDecimal } from "../../decimal.ts";
import {
  findValue,
  formatInline,
  isAbsent,
  membersOf,
  type RawJson,
  type RawMember,
  tryParseRawJson,
  withoutAbsent,
} from "../../json/raw-json.ts";
import { groupDigits } from "../page.ts";
import type { Line, Section } from "../views.ts";
import { findValues, formatValues } from "../wire.ts";
import { decodedSize, describeBinary, formatSize, formatTree } from "./tree.ts";

export interface CallViewOptions {
  readonly costs: boolean;
  readonly storageSize: boolean;
  readonly totalStorageSize: boolean;
  /** True if a terminal gets complete long texts. Default: false. */
  readonly full?: boolean;
  /** True if texts of people and models are shown. Default: true. */
  readonly content?: boolean;
  /** The deployment's prefix of `_user_id`, `_run_id` and others (interface 2.4). */
  readonly vendorPrefix: string;
}

/**
 * The sections of a call's page, not yet safe to print. Each section is made on request to save memory.
 * @param shown the call, without content if content is not shown
 */
export function* callSections(shown: RawJson, call: RawJson, options: CallViewOptions): Generator<Section, void> {
  const [inputs, output] = [readInputs(shown), readOutput(shown)];
  yield { title: `Call ${findCallName(shown) ?? "without a name"}`, lines: firstLines(call, options) };
  yield* treeSection("Exception", findValue(shown, "exception"), { maxBlockLines: maxExceptionLines });
  yield* conversationSections("Inputs", inputs);
  yield* conversationSections("Output", output);
  if (inputs.items !== undefined) yield* treeSection("Other inputs", inputs.rest);
  if (output.items !== undefined) yield* treeSection("Other output", output.rest);
  yield* lineSection("Details", detailLines(shown, options));
  yield* treeSection("Attributes", findValue(shown, "attributes"));
  yield* treeSection("Summary", summaryOf(shown, options));
  yield* treeSection("Other", otherFields(shown, options));
  if (options.content === false) yield* lineSection("Omitted (--no-content)", omittedLines(shown));
}

function* conversationSections(
  title: string,
  { items, rest }: ReturnType<typeof readInputs>,
): Generator<Section, void> {
  if (items === undefined) return yield* treeSection(title, rest);
  yield { title };
  for (const turn of toTurns(items)) yield* turnSections(turn, items.length === 1);
}

/** Maximum lines of a traceback on a bounded page. */
const maxExceptionLines = 120;

const treeSection = (title: string, value: RawJson | undefined, options: Section = {}): readonly Section[] =>
  value === undefined ? [] : [{ title, block: formatTree(value), isQuoted: true, ...options }];

const lineSection = (title: string, lines: readonly Line[]): readonly Section[] =>
  lines.length === 0 ? [] : [{ title, lines }];

/** Lines under one label. Only the first line has the label. */
const linesUnder = (label: string, texts: readonly string[]): readonly Line[] =>
  texts.map((text, at) => ({ label: at === 0 ? label : "", text }));

const fieldLines = (call: RawJson, label: string, field: string): readonly Line[] => {
  const value = findValue(call, field);
  return value === undefined ? [] : [{ label, text: formatInline(value) }];
};

export const fieldSections = (call: RawJson, fields: readonly string[]): readonly Section[] => {
  const found = fields.map((name) => ({ name, values: findValues(call, name) ?? [] }));
  const treeIn = ({ values: [value, ...others] }: { readonly values: readonly RawJson[] }) =>
    others.length === 0 && (value?.kind === "object" || value?.kind === "list") ? value : undefined;
  const lines = found.flatMap((one) =>
    treeIn(one) === undefined ? [{ label: one.name, text: formatValues(one.values) }] : [],
  );
  return [{ lines }, ...found.flatMap((one) => treeSection(one.name, treeIn(one)))];
};

const tones = { ok: "good", failed: "bad", running: "warning", deleted: "faint" } as const;

const firstLines = (
  call: RawJson,
  { vendorPrefix, costs, storageSize, totalStorageSize }: CallViewOptions,
): readonly Line[] => {
  const state = findState(call, vendorPrefix);
  const said = readStatus(call, vendorPrefix);
  const odd = said === undefined || ["success", "error", "running"].includes(said) ? "" : ` (${said})`;
  const reward = findValue(call, "attributes", "reward");
  return [
    { label: "status", text: `${state}${odd}`, tone: tones[state] },
    ...(reward?.kind === "number" || reward?.kind === "word" ? linesUnder("reward", [formatInline(reward)]) : []),
    ...linesUnder("duration", durationTexts(findDurationMicros(call))),
    ...linesUnder("model", modelTexts(findModels(call, vendorPrefix))),
    ...linesUnder("tokens", tokenTexts(call)),
    ...(costs ? linesUnder("cost", costTexts(readCosts(call, vendorPrefix))) : []),
    ...(storageSize ? linesUnder("size", [formatSizeField(call, "storage_size_bytes")]) : []),
    ...(totalStorageSize ? linesUnder("total size", [formatSizeField(call, "total_storage_size_bytes")]) : []),
    ...fieldLines(call, "id", "id"),
    ...fieldLines(call, "parent", "parent_id"),
    ...fieldLines(call, "thread", "thread_id"),
    ...fieldLines(call, "turn", "turn_id"),
  ];
};

/** The duration, exact to the microsecond below a minute. */
const durationTexts = (micros: number | undefined): readonly string[] => {
  if (micros === undefined) return [];
  if (micros < 0) return ["unknown (the call ended before it started)"];
  if (micros < 1_000_000) return [`${micros / 1000} ms`];
  if (micros < 60_000_000) return [`${micros / 1_000_000} s`];
  const seconds = Math.round(micros / 1_000_000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const two = (value: number): string => String(value).padStart(2, "0");
  const before = hours === 0 ? `${minutes} min` : `${groupDigits(String(hours))} h ${two(minutes)} min`;
  return [`${before} ${two(seconds % 60)} s`];
};

const maxModels = 5;

const modelTexts = (models: readonly string[]): readonly string[] => {
  const more = models.length > maxModels ? ` and ${models.length - maxModels} more` : "";
  return models.length === 0 ? [] : [`${models.slice(0, maxModels).join(", ")}${more}`];
};

const tokenTexts = (call: RawJson): readonly string[] =>
  readUsages(call).map(({ model, ...usage }) => {
    const parts = Object.entries(usage).flatMap(([kind, count]) =>
      count === undefined ? [] : [`${groupDigits(count)} ${kind}`],
    );
    return `${parts.join(", ")}${model === undefined ? "" : `  ${model}`}`;
  });

const costTexts = (costs: readonly Cost[]): readonly string[] => {
  if (costs.length === 0) return ["not provided by the service"];
  const all = costs.length > 1 ? addCosts(costs) : undefined;
  return [...costs.map(costText), ...(all === undefined ? [] : [`$${all} total`])];
};

const costText = ({ model, parts, unit, total }: Cost): string => {
  const money = (amount: string): string => (unit === "USD" ? `$${amount}` : `${amount} ${unit}`);
  // Amounts are shown without exponents. A value that is not a decimal number keeps its spelling.
  const exact = (amount: string): string => (/[eE]/.test(amount) ? (shiftDecimal(amount, 0) ?? amount) : amount);
  const shown = parts.map(({ what, amount }) => `${money(exact(amount))} ${what}`).join(" + ");
  return `${total === undefined ? "" : `${money(formatDecimal(total))} = `}${shown}  ${model}`;
};

/** Assumed: the total is null if the call is not a root call. */
const formatSizeField = (call: RawJson, field: "storage_size_bytes" | "total_storage_size_bytes"): string => {
  const size = findValue(call, field);
  if (size === undefined) {
    const isBelow = field === "total_storage_size_bytes" && findValue(call, "parent_id") !== undefined;
    return isBelow ? "unknown (this is not a root call)" : "not provided by the service";
  }
  if (size.kind !== "number") return formatInline(size);
  const exactly = `${groupDigits(size.text)} ${size.text === "1" ? "byte" : "bytes"}`;
  return /^\d{5,}$/.test(size.text) ? `${exactly} (${formatSize(Number(size.text))})` : exactly;
};

/** Labels of fields. `vendor_` is replaced by the setting vendor_prefix. */
const detailLabels = Object.entries({
  display_name: "display name",
  op_name: "operation",
  project_id: "project",
  trace_id: "trace",
  started_at: "started",
  ended_at: "ended",
  deleted_at: "deleted",
  vendor_user_id: "user id",
  vendor_username: "username",
  vendor_run_id: "run",
  vendor_run_step: "run step",
  vendor_run_step_end: "run step end",
});

const detailsOf = (call: RawJson, prefix: string): readonly (readonly [field: string, label: string])[] =>
  detailLabels.map(([field, label]) => {
    const own = field.replace(/^vendor_/, `${prefix}_`);
    return [findValue(call, own) === undefined ? field : own, label];
  });

const detailLines = (call: RawJson, { vendorPrefix }: CallViewOptions): readonly Line[] =>
  detailsOf(call, vendorPrefix).flatMap(([field, label]) => fieldLines(call, label, field));

const summaryOf = (call: RawJson, { costs }: CallViewOptions): RawJson | undefined => {
  const summary = findValue(call, "summary");
  if (costs || summary?.kind !== "object") return summary;
  const withoutCosts = (members: readonly RawMember[]) => members.filter(({ key }) => key !== "costs");
  return composeObject(
    withoutCosts(summary.members).map(({ key, value }) => ({
      key,
      value: value.kind === "object" ? composeObject(withoutCosts(value.members)) : value,
    })),
  );
};

const fieldsShownElsewhere = [
  ...["id", "exception", "inputs", "output", "attributes", "summary"],
  ...["storage_size_bytes", "total_storage_size_bytes", "parent_id", "thread_id", "turn_id"],
];

const otherFields = (call: RawJson, { vendorPrefix, content }: CallViewOptions): RawJson | undefined => {
  const shown = [...fieldsShownElsewhere, ...detailsOf(call, vendorPrefix).map(([field]) => field)];
  const rest = withoutAbsent(membersOf(omitMembers(call, content === false ? [...shown, omittedKey] : shown)));
  return rest.length === 0 ? undefined : composeObject(rest);
};

const omittedLines = (call: RawJson): readonly Line[] =>
  membersOf(findValue(call, omittedKey)).map(({ key, value }) => ({
    label: key,
    text: formatSize(Number(formatInline(value))),
  }));

/** True if the title of a choice has the member. Other members, such as log probabilities, are below the message. */
const isTitleMember = ({ key, value }: RawMember): boolean =>
  ["finish_reason", "index", "stop_reason"].includes(key) && value.kind !== "object" && value.kind !== "list";

/** The sections of a turn. Its first text is below the title of the turn. Other parts have their own titles. */
const turnSections = ({ role, name, toolCallId, around, parts }: Turn, isAlone: boolean): readonly Section[] => {
  const also = around.filter((member) => !isTitleMember(member));
  const short = around.filter((member) => isTitleMember(member) && !(isAlone && member.key === "index"));
  const about = [
    ...[name, toolCallId].flatMap((text) => (text === undefined ? [] : [quoteName(text)])),
    ...short.map(({ key, value }) => `${key.replaceAll("_", " ")} ${quoteName(formatInline(value))}`),
  ].join(", ");
  const shown = parts.flatMap(partSections);
  if (also.length > 0) shown.push(...partSections({ kind: "also", members: also }));
  const [first, ...rest] = mergeTexts(shown);
  const isSaid = first?.title === undefined;
  const title = role === undefined ? "not a message" : /^[a-z][\w-]{0,30}$/i.test(role) ? role : JSON.stringify(role);
  return [
    { ...(isSaid ? first : {}), title: about === "" ? title : `${title} (${about})`, level: 2 },
    ...(isSaid || first === undefined ? rest : [first, ...rest]).map((part) => ({ title: "text", ...part })),
  ];
};

/** Quotes a name or id that could be mistaken for rollcall's own text. */
const quoteName = (name: string): string => (/^[\p{L}\p{N}_.:/@+-]{1,120}$/u.test(name) ? name : JSON.stringify(name));

const formatId = (id: string | undefined): string => (id === undefined ? "" : ` (${quoteName(id)})`);

const textSection = (text: string): Section => (text === "" ? { level: 3 } : { level: 3, block: text, isQuoted: true });

const mergeTexts = (parts: readonly Section[]): readonly Section[] => {
  const all: Section[] = [];
  for (const part of parts) {
    const last = all.at(-1);
    if (last === undefined || last.title !== undefined || part.title !== undefined) all.push(part);
    else all.splice(-1, 1, textSection(`${last.block ?? ""}\n${part.block ?? ""}`));
  }
  return all;
};

/** The sections of a part. A tool call includes its result. */
const partSections = (part: Part): Section[] => {
  const titled = (title: string, text = ""): Section => ({ title, ...textSection(text) });
  if (part.kind === "said") return [textSection(formatTree(part.value))];
  if (part.kind === "result") return [titled(`← result${formatId(part.id)}`, flattenParts(part.parts))];
  if (part.kind === "media") return [titled(mediaText(part))];
  if (part.kind === "no call") return [titled("→ not a call", formatTree(part.value))];
  if (part.kind === "also") return [titled("other fields", formatTree(composeObject(part.members)))];
  if (part.kind !== "call") return [titled(part.kind, part.text)];
  const { name, id, callArguments, result } = part;
  const parsed =
    callArguments?.kind === "text" ? (tryParseRawJson(callArguments.text) ?? callArguments) : callArguments;
  const text = isAbsent(parsed) ? "{}" : formatTree(parsed);
  const call = titled(`→ ${name === undefined ? "unnamed tool" : quoteName(name)}${formatId(id)}`);
  // The result repeats the tool's name only if it is another tool.
  const of = result?.name === undefined || result.name === name ? "" : ` of ${quoteName(result.name)}`;
  return [
    text === "{}" || text === "" ? call : { ...call, block: text, isQuoted: true },
    ...(result === undefined
      ? []
      : [{ ...titled(`← result${of}`), block: flattenParts(result.parts), isQuoted: true }]),
  ];
};

/** Joins parts into one text, with their titles in brackets. */
const flattenParts = (parts: readonly Part[]): string =>
  parts
    .flatMap(partSections)
    .flatMap(({ title, block = "" }) => [
      ...(title === undefined ? [] : [`[${title}]`]),
      ...(block === "" ? [] : [block]),
    ])
    .join("\n");

/** Describes an image, a sound or a file by its type and size, or its URL. */
const mediaText = ({ mediaType, url, data, name, format }: Media): string => {
  if (url !== undefined) return `${mediaType}: ${describeBinary(url)?.slice(1, -1) ?? quoteName(url)}`;
  if (data === undefined) return `${mediaType}: ${quoteName(name ?? "")}`;
  return `${mediaType}: ${format === undefined ? "" : `${quoteName(format)}, `}${formatSize(decodedSize(data))}`;
};
