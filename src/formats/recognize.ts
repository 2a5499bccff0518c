/** Lists the formats, and recognizes the format of each input. */
import { dirname, join } from "node:path";
import { UnusableInput } from "../input/failures.ts";
import * as input from "../input/index.ts";
import { Value } from "../messages/value.ts";
import type { ConvertibleInputs } from "./convert.ts";
import type { Format, FormatOptions } from "./format.ts";

const loadRows = async () => await import("./chat-rows.ts");
const loadDecodedRows = async () => await import("./decoded-rows.ts");

const formats: Readonly<Record<string, () => Promise<Format>>> = {
  atif: async () => (await import("./atif.ts")).atif,
  harbor: async () => (await import("./harbor.ts")).harbor,
  "mini-swe-agent": async () => (await import("./mini-swe-agent.ts")).miniSweAgent,
  "mini-swe-agent-messages": async () => (await import("./mini-swe-agent.ts")).miniSweAgentMessages,
  "verifiers-v0": async () => (await import("./verifiers-v0.ts")).verifiersV0,
  art: async () => (await import("./art.ts")).art,
  "verifiers-v1": async () => (await import("./verifiers-v1.ts")).verifiersV1,
  "nemo-gym": async () => (await import("./nemo-gym.ts")).nemoGym,
  "openai-chat": async () => (await loadRows()).openaiChat,
  trl: async () => (await loadRows()).trl,
  sharegpt: async () => (await loadRows()).shareGpt,
  openrlhf: async () => (await loadDecodedRows()).openrlhf,
  verl: async () => (await loadDecodedRows()).verl,
  skyrl: async () => (await loadDecodedRows()).skyrl,
  "nemo-rl": async () => (await loadDecodedRows()).nemoRl,
  inspect: async () => (await import("./inspect.ts")).inspect,
  tau2: async () => (await import("./tau2.ts")).tau2,
};

export const formatNames: readonly string[] = Object.keys(formats);

export const loadFormats = async () => await Promise.all(Object.values(formats).map((load) => load()));

type RecognizedInput = Awaited<ReturnType<typeof recognizeInput>>;

export const ownFormat: Format = {
  name: "rollcall",
  title: "",
  keys: { group: "", reward: "", sampled: "" },
  records: { text: "lines" },
  recognizes: () => false,
  open: () => ({ convert: () => [] }),
};

/** Reads one input at a time, to save memory. */
export const recognizeInputs = async (opened: ConvertibleInputs, options: FormatOptions) => {
  const { folders, problems } = opened;
  const { from, messagesFrom, allowsLossy } = options;
  const own = from === ownFormat.name ? ownFormat : await formats[from]?.();
  const given = messagesFrom ? (await loadRows()).messageRows(messagesFrom) : own;
  const inputs: RecognizedInput[] = [];
  for (const source of opened.sources) inputs.push(await recognizeInput(source, given, { ...opened, ...options }));
  const byFormat = new Map<Format, input.Source[]>();
  const skipped: string[] = [];
  for (const { source, formats, rejection, damagedKind } of addMissingFormats(dropParts(inputs), given)) {
    const location = { file: source.name };
    const [format = ownFormat, ...more] = formats;
    if (folders.has(source.name) && formats.length === 0 && damagedKind === undefined) skipped.push(source.name);
    else if (rejection) problems.report("not-json", rejection, location);
    else if (more.length > 0)
      problems.report("ambiguous-format", { formats: formats.map(({ name }) => name) }, location);
    else byFormat.set(format, [...(byFormat.get(format) ?? []), source]);
  }
  for (const [format, [first]] of byFormat) {
    if (format.isLossy !== true || allowsLossy) continue;
    problems.report("lossy-format", { format: format.name }, first ? { file: first.name } : {});
    byFormat.delete(format);
  }
  return { byFormat, skipped };
};

const recognizeInput = async (
  source: input.Source,
  given: Format | undefined,
  { folders, maxUnpackedBytes, host, rewardFrom, rewards }: ConvertibleInputs & FormatOptions,
) => {
  const head = input.readHead(source.bytes, input.sniffedBytes);
  const [container, error] = [input.findContainer(head), input.findFormatError(head, source.name)];
  const data = error?.rule === "not-json" ? error.data : undefined;
  // The given format applies to each argument, but not to each file of a folder.
  if (given && !folders.has(source.name)) {
    if (!container || given.records[container]) return { source, formats: [given] };
    return { source, formats: [], rejection: data && { ...data, instead: "correct or omit --from" } };
  }
  const { matching, unreadable, row } = await matchFormats(source, given ? [given] : await loadFormats(), {
    ...{ container, maxUnpackedBytes, signal: host.signal },
  });
  // `matchFormats` recognizes rollcall's format even if another format is given.
  const own = given ? matching.filter((format) => format === given) : matching;
  const columns = row && {
    unreadable: "its columns match no format",
    instead: input.columnAdvice(row, Boolean(rewardFrom ?? rewards)),
  };
  const reason = unreadable === undefined ? columns : { unreadable, instead: "write or copy the file again" };
  const rejection = own.length === 0 && data ? { ...data, ...reason } : undefined;
  const damagedKind: keyof input.RecordKinds | undefined =
    matching.length === 0 && unreadable !== undefined ? (container ?? "text") : undefined;
  return { source, formats: own, rejection, damagedKind };
};

const matchesPath = (pattern: RegExp | undefined, name: string) =>
  pattern?.test(name.replaceAll("\\", "/").replace(/\.(?:gz|zst)$/, "")) === true;

const fitsName = ({ filePattern }: Format, { name }: input.Source) => matchesPath(filePattern, name);

export const isCompanion = (file: string, formats: readonly Format[]) =>
  formats.some(({ companions }) => matchesPath(companions, file));

/** Gives an unrecognized file the only format that fits: the given format, or a format of another input. */
const addMissingFormats = (inputs: readonly RecognizedInput[], given: Format | undefined) => {
  const known = new Set(given ? [given] : inputs.flatMap(({ formats }) => formats));
  return inputs.map((recognized): RecognizedInput => {
    const { source, damagedKind: kind, rejection } = recognized;
    if (recognized.formats.length > 0 || (!kind && rejection)) return recognized;
    const fitting = [...known].filter((one) => (kind ? one.records[kind] : fitsName(one, source)));
    return fitting.length === 1 ? { source, formats: fitting } : recognized;
  });
};

const dropParts = (inputs: readonly RecognizedInput[]) => {
  const known = inputs.flatMap(({ formats }) => formats);
  const parts = new Set(
    inputs.flatMap(({ source, formats: [first] }) => {
      const format = first ?? known.find((candidate) => fitsName(candidate, source));
      return (format?.partFolders ?? []).map((folder) => join(dirname(source.name), folder));
    }),
  );
  const isPart = (path: string): boolean => {
    const folder = dirname(path);
    return parts.has(folder) || (folder !== path && isPart(folder));
  };
  return parts.size === 0 ? inputs : inputs.filter(({ source }) => !isPart(join(source.name)));
};

/** A damaged or too large file matches the only possible format, or none. */
const matchFormats = async (
  source: input.Source,
  candidates: readonly Format[],
  { container, ...limits }: input.ReadLimits & { container: input.Container | undefined },
) => {
  const { name: file, bytes } = source;
  if (!container && input.hasRollcallKey(bytes)) return { matching: [ownFormat] };
  const possible = candidates.filter(({ records }) => records[container ?? "text"]);
  let unreadable = container ? undefined : noJson;
  try {
    const firstRecords: AsyncIterable<FirstRecord> = container
      ? // All possible formats read the same records from this container.
        readRawRecords(source, possible[0]?.records ?? {}, limits)
      : readFirstRecords(source, limits);
    for await (const raw of firstRecords) {
      const { member, fault, kind, columns, value = fault === undefined ? Value.parse(raw.bytes) : undefined } = raw;
      unreadable = value ? undefined : (fault ?? noJson);
      if (!value) continue;
      const record = { value, file, position: 0, member };
      const matching = possible.filter((one) => (!kind || kind === one.records.text) && one.recognizes(record));
      if (matching.length > 0 || container) return { matching, row: columns && { ...columns, ...Object(value.data) } };
    }
  } catch (thrown) {
    if (!(thrown instanceof UnusableInput)) throw thrown;
    unreadable = thrown.message;
  }
  const isPossible = (one: Format) =>
    container
      ? unreadable !== undefined
      : bytes.size > input.maxDocumentBytes && one.records.text === "document" && fitsName(one, source);
  const remaining = possible.filter(isPossible);
  return { matching: remaining.length === 1 ? remaining : [], unreadable };
};

const noJson = "it contains no JSON";

type FirstRecord = input.RawRecord & Readonly<{ kind?: "lines" | "document"; value?: Value }>;

const maxFirstLines = 20;

/** Yields objects from the first lines, then the whole file if the file can be a document. */
async function* readFirstRecords(source: input.Source, limits: input.ReadLimits): AsyncGenerator<FirstRecord, void> {
  const { bytes } = source;
  const isList = /^[\s\ufeff]*\[/.test(input.readHead(bytes, input.sniffedBytes).toString("utf8"));
  let count = 0;
  let hasLines = false;
  for await (const raw of readRawRecords(source, { text: "lines" }, limits)) {
    const value = Value.parsePython(Buffer.from(raw.bytes));
    // A line end has up to two bytes.
    const isWhole = raw.isDocument || (count === 0 && raw.start + raw.bytes.length >= bytes.size - 2);
    if (value?.isObject || (value && isWhole)) {
      yield isWhole ? { ...raw, value } : { ...raw, value, kind: "lines" };
      // A file that starts with `[` can still be a document.
      hasLines ||= count === 0 && !isList;
    }
    if (isWhole || ++count === maxFirstLines) break;
  }
  if (hasLines || bytes.size > input.maxDocumentBytes) return;
  for await (const raw of readRawRecords(source, { text: "document" }, limits)) {
    const value = Value.parsePython(raw.bytes);
    if (value) yield { ...raw, value, kind: "document" };
  }
}

async function* readRawRecords(source: input.Source, records: input.RecordKinds, limits: input.ReadLimits) {
  const opened = await input.openRecords(source, { records }, limits);
  const first = await opened.readFirst?.();
  if (first) yield first;
  if (!opened.readFirst) for await (const batch of opened.batches()) yield* batch;
}
