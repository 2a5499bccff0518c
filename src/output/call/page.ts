/** The page of a traced call: what matters first, then what went in and came out, then every other field (interface 2.4). */
import {
  type Cost,
  costsOf,
  inputsOf,
  microsecondsOf,
  modelsOf,
  nameOf,
  omittedKey,
  outputOf,
  saidStatus,
  stateOf,
  type Told,
  totalCost,
  usagesOf,
  without,
} from "../../calls/index.ts";
import { formatDecimal, shiftDecimal } from "../../decimal.ts";
import { filled, inline, isNothing, membersOf, type Spelled, valueAt } from "../../json/spelled.ts";
import { keyIn } from "../json/objects.ts";
import { grouped } from "../page/block.ts";
import type { Line, Page, Section, Tone } from "../view.ts";
import { type Part, type Turn, turnsOf } from "./conversation.ts";
import { sizeText, treeText } from "./tree.ts";

/** What of a traced call was asked for, and how its deployment spells it: cost and sizes are shown only where asked for. */
export interface CallAsked {
  readonly costs: boolean;
  readonly storageSize: boolean;
  readonly totalStorageSize: boolean;
  /** Whether a terminal gets long texts whole. Default no. */
  readonly full?: boolean;
  /** Whether what people and models wrote is shown. Default yes. */
  readonly content?: boolean;
  /** The word in front of `_user_id`, `_run_id` and of what the summary holds (interface 2.4). */
  readonly vendorPrefix: string;
}

/** What is known of a call, and what of it is shown: the same, but where its content is left out. */
interface ShownCall {
  readonly call: Spelled;
  readonly shown: Spelled;
}

/** The page of a call. Nothing in it is made safe yet. */
export const callPage = ({ call, shown }: ShownCall, asked: CallAsked): Page => {
  const inputs = inputsOf(shown);
  const output = outputOf(shown);
  return {
    sections: [
      { title: `Call ${nameOf(shown) ?? "without a name"}`, lines: firstLines(call, asked) },
      ...treeSection("Exception", valueAt(shown, "exception"), mostOfException),
      ...spoken("Inputs", inputs),
      ...spoken("Output", output),
      ...(inputs.items === undefined ? [] : treeSection("Other inputs", inputs.rest)),
      ...(output.items === undefined ? [] : treeSection("Other output", output.rest)),
      ...detailSection(shown, asked.vendorPrefix),
      ...treeSection("Attributes", valueAt(shown, "attributes")),
      ...treeSection("Summary", summaryOf(shown, asked)),
      ...treeSection("Other", otherOf(shown, asked)),
      ...omittedSection(shown, asked),
    ],
  };
};

/** Lines of a traceback that are shown where not all is: what was called first matters less than what broke. */
const mostOfException = 120;

const omittedSection = (shown: Spelled, { content }: CallAsked): readonly Section[] => {
  const lines = membersOf(content === false ? valueAt(shown, omittedKey) : undefined).map(({ key, value }) => ({
    label: key,
    text: sizeText(Number(inline(value))),
  }));
  return lines.length === 0 ? [] : [{ title: "Left out (--no-content)", lines }];
};

/** The page of the fields that were named: by their names on the wire, whatever they hold. */
export const fieldsPage = (call: Spelled, fields: readonly string[]): Page => {
  const found = fields.map((name) => ({ name, value: dotted(call, name) }));
  const isTree = ({ value }: { readonly value: Spelled | undefined }) =>
    value?.kind === "object" || value?.kind === "list" || value?.kind === "deep";
  const lines = found
    .filter((one) => !isTree(one))
    .map(({ name, value }) => ({ label: name, text: value === undefined ? "" : inline(value) }));
  return { sections: [{ lines }, ...found.filter(isTree).flatMap(({ name, value }) => treeSection(name, value))] };
};

/** The value at a dotted name; a key may hold dots itself. */
const dotted = (value: Spelled, name: string): Spelled | undefined => {
  const key = keyIn(new Set(membersOf(value).map((member) => member.key)), name);
  const inside = key === undefined ? undefined : valueAt(value, key);
  return key === undefined || inside === undefined || key === name
    ? inside
    : dotted(inside, name.slice(key.length + 1));
};

const firstLines = (call: Spelled, asked: CallAsked): readonly Line[] => {
  const status = statusOf(call, asked.vendorPrefix);
  const costs = costLines(call, asked.vendorPrefix);
  const duration = durationOf(call);
  return [
    { label: "status", text: status.text, tone: status.tone },
    ...labelled("reward", rewardOf(call)),
    ...(duration === undefined ? [] : labelled("took", [duration])),
    ...labelled("model", modelLines(call, asked)),
    ...labelled("tokens", tokensOf(call)),
    ...(asked.costs ? labelled("cost", costs.length === 0 ? ["not given by the service"] : costs) : []),
    ...(asked.storageSize ? labelled("size", [sizeOf(call, "storage_size_bytes")]) : []),
    ...(asked.totalStorageSize ? labelled("total size", [sizeOf(call, "total_storage_size_bytes")]) : []),
    ...labelled("id", fieldTexts(call, "id")),
    ...labelled("parent", fieldTexts(call, "parent_id")),
    ...labelled("thread", fieldTexts(call, "thread_id")),
    ...labelled("turn", fieldTexts(call, "turn_id")),
  ];
};

/** Models of a call that are named in one line; the rest is counted. */
const namedModels = 5;

const modelLines = (call: Spelled, { vendorPrefix }: CallAsked): readonly string[] => {
  const models = modelsOf(call, vendorPrefix);
  if (models.length === 0) return [];
  const more = models.length - namedModels;
  return [`${models.slice(0, namedModels).join(", ")}${more > 0 ? ` and ${more} more` : ""}`];
};

/** The reward that `--as trajectory` takes where nobody says another. */
const rewardOf = (call: Spelled): readonly string[] => {
  const reward = valueAt(call, "attributes", "reward");
  return reward?.kind === "number" || reward?.kind === "word" ? [inline(reward)] : [];
};

/** Lines under one label: only the first carries it. */
const labelled = (label: string, texts: readonly string[]): readonly Line[] =>
  texts.map((text, index) => ({ label: index === 0 ? label : "", text }));

const fieldTexts = (call: Spelled, field: string): readonly string[] => {
  const value = valueAt(call, field);
  return value === undefined ? [] : [inline(value)];
};

const spoken = (title: string, { items, rest }: Told): readonly Section[] =>
  items === undefined ? treeSection(title, rest) : [{ title }, ...turnsOf(items).flatMap(turnSections)];

/** A turn: what was said first stands under its title, everything else under titles of its own. */
const turnSections = ({ role, about, parts }: Turn): readonly Section[] => {
  const [first, ...rest] = parts;
  const said = first !== undefined && first.title === undefined ? first : undefined;
  return [
    { title: about === "" ? role : `${role} (${about})`, level: 2, ...blockOf(said?.text ?? "") },
    ...(said === undefined ? parts : rest).map(partSection),
  ];
};

const partSection = ({ title = "text", text, result }: Part): Section => ({
  title,
  level: 3,
  ...blockOf(text),
  ...(result === undefined ? {} : { beside: { title: result.title, block: result.text } }),
});

const blockOf = (text: string): Section => (text === "" ? {} : { block: text, quoted: true });

const treeSection = (title: string, value: Spelled | undefined, most?: number): readonly Section[] =>
  value === undefined ? [] : [{ title, block: treeText(value), quoted: true, ...(most === undefined ? {} : { most }) }];

const details: readonly (readonly [label: string, field: string])[] = [
  ["display name", "display_name"],
  ["operation", "op_name"],
  ["project", "project_id"],
  ["trace", "trace_id"],
  ["started", "started_at"],
  ["ended", "ended_at"],
  ["deleted", "deleted_at"],
];

/** The fields whose names begin with the deployment's own word. */
const vendorDetails: readonly (readonly [label: string, field: string])[] = [
  ["user id", "user_id"],
  ["username", "username"],
  ["run", "run_id"],
  ["run step", "run_step"],
  ["run step end", "run_step_end"],
];

const detailSection = (call: Spelled, prefix: string): readonly Section[] => {
  const lines = [
    ...details.flatMap(([label, field]) => labelled(label, fieldTexts(call, field))),
    ...vendorDetails.flatMap(([label, field]) => labelled(label, fieldTexts(call, vendorField(call, prefix, field)))),
  ];
  return lines.length === 0 ? [] : [{ title: "Details", lines }];
};

/** Name of a vendor field: under the deployment's prefix, else as the interface spells it. */
const vendorField = (call: Spelled, prefix: string, field: string): string =>
  valueAt(call, `${prefix}_${field}`) === undefined ? `vendor_${field}` : `${prefix}_${field}`;

const summaryOf = (call: Spelled, { costs }: CallAsked): Spelled | undefined => {
  const summary = valueAt(call, "summary");
  if (costs || summary?.kind !== "object") return summary;
  const members = summary.members.filter(({ key }) => key !== "costs");
  return { kind: "object", members: members.map((one) => ({ ...one, value: withoutCosts(one.value) })) };
};

const withoutCosts = (value: Spelled): Spelled =>
  value.kind === "object" ? { ...value, members: value.members.filter(({ key }) => key !== "costs") } : value;

const placed = [
  ...["id", "exception", "inputs", "output", "attributes", "summary"],
  ...["storage_size_bytes", "total_storage_size_bytes", "parent_id", "thread_id", "turn_id"],
  ...details.map(([, field]) => field),
];

const otherOf = (call: Spelled, { vendorPrefix: prefix, content }: CallAsked): Spelled | undefined => {
  const vendor = vendorDetails.map(([, field]) => vendorField(call, prefix, field));
  const rest = without(call, [...placed, ...vendor, ...(content === false ? [omittedKey] : [])]);
  const members = filled(membersOf(rest));
  return members.length === 0 ? undefined : { kind: "object", members };
};

interface CallStatus {
  readonly text: string;
  readonly tone: Tone;
}

const tones = { ok: "good", failed: "bad", running: "warning", deleted: "faint" } as const;

/** Deleted, failed, running or ok; a status word nobody knows is shown beside. */
const statusOf = (call: Spelled, prefix: string): CallStatus => {
  const said = saidStatus(call, prefix);
  const odd = said === undefined || ["success", "error", "running"].includes(said) ? "" : ` (${said})`;
  const state = stateOf(call, prefix);
  return { text: `${state}${odd}`, tone: tones[state] };
};

/** From start to end, exact to the microsecond below a minute; undefined where it can't be known. */
const durationOf = (call: Spelled): string | undefined => {
  const micros = microsecondsOf(call);
  if (micros === undefined) return undefined;
  return micros < 0 ? "not known: it ended before it started" : durationText(micros);
};

const durationText = (micros: number): string => {
  if (micros < 1_000_000) return `${micros / 1000} ms`;
  if (micros < 60_000_000) return `${micros / 1_000_000} s`;
  const seconds = Math.round(micros / 1_000_000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = `${String(seconds % 60).padStart(2, "0")} s`;
  return hours === 0
    ? `${minutes} min ${rest}`
    : `${grouped(String(hours))} h ${String(minutes).padStart(2, "0")} min ${rest}`;
};

const tokensOf = (call: Spelled): readonly string[] =>
  usagesOf(call).map(({ model, prompt, completion, total }) => {
    const parts = [
      ...(prompt === undefined ? [] : [`${grouped(prompt)} prompt`]),
      ...(completion === undefined ? [] : [`${grouped(completion)} completion`]),
      ...(total === undefined ? [] : [`${grouped(total)} total`]),
    ];
    return `${parts.join(", ")}${model === undefined ? "" : `  ${model}`}`;
  });

/** Costs, a line a model and a sum where there are several; empty where the service gave none. */
const costLines = (call: Spelled, prefix: string): readonly string[] => {
  const costs = costsOf(call, prefix);
  const all = costs.length > 1 ? totalCost(costs) : undefined;
  return [...costs.map(costText), ...(all === undefined ? [] : [`$${all} in all`])];
};

const costText = ({ model, parts, unit, total }: Cost): string => {
  const money = (amount: string): string => (unit === "USD" ? `$${amount}` : `${amount} ${unit}`);
  const shown = parts.map(({ what, amount }) => `${money(exact(amount))} ${what}`).join(" + ");
  return `${total === undefined ? "" : `${money(formatDecimal(total))} = `}${shown}  ${model}`;
};

/** An amount without an exponent; one that is no decimal number stays as it is spelled. */
const exact = (cost: string): string => (/[eE]/.test(cost) ? (shiftDecimal(cost, 0) ?? cost) : cost);

/** A size that was asked for. Assumed: the total is null on calls that are not a root. */
const sizeOf = (call: Spelled, field: "storage_size_bytes" | "total_storage_size_bytes"): string => {
  const size = valueAt(call, field);
  if (size?.kind === "number") return exactSize(size.text);
  if (!isNothing(size)) return inline(size);
  const below = field === "total_storage_size_bytes" && valueAt(call, "parent_id") !== undefined;
  return below ? "not known: this is not a root call" : "not given by the service";
};

const exactSize = (digits: string): string => {
  const exactly = `${grouped(digits)} ${digits === "1" ? "byte" : "bytes"}`;
  return /^\d{5,}$/.test(digits) ? `${exactly} (${sizeText(Number(digits))})` : exactly;
};
