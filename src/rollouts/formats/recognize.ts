/** Lists the formats, and recognizes the format of each input. */
import { basename, dirname, join } from "node:path";
import { Value } from "../../json/value.ts";
import { appendTo } from "../../text/lists.ts";
import { UnusableInput } from "../input/failures.ts";
import type { OpenedInputs } from "../input/open-inputs.ts";
import { openRecords, type RecordKinds } from "../input/records.ts";
import { type Container, findContainer, findFormatError, sniffedBytes } from "../input/sniff.ts";
import { maxDocumentBytes, type RawRecord, type ReadLimits, readHead, type Source } from "../input/source.ts";
import { suggestForMissingField } from "../rules/hints.ts";
import { splitFix } from "../rules/input-rules.ts";
import { shortenName } from "../rules/positions.ts";
import type { RuleData } from "../rules/rules.ts";
import type { Format, FormatOptions } from "./format.ts";
import { beginsWithOwnRecord, hasOnlyOwnKeys, hasOwnList, isOwnRecord, parseStart } from "./own-record.ts";
import { isAtEnd } from "./source-records.ts";

const loadRows = async () => await import("./rows.ts");

const formats: Readonly<Record<string, () => Promise<Format>>> = {
  atif: async () => (await import("./atif.ts")).atif,
  harbor: async () => (await import("./harbor.ts")).harbor,
  "mini-swe-agent": async () => (await import("./mini-swe-agent.ts")).miniSweAgent,
  "verifiers-v0": async () => (await import("./verifiers-v0.ts")).verifiersV0,
  art: async () => (await import("./art.ts")).art,
  "verifiers-v1": async () => (await import("./verifiers-v1.ts")).verifiersV1,
  "nemo-gym": async () => (await import("./nemo-gym.ts")).nemoGym,
  "openai-chat": async () => (await loadRows()).openaiChat,
  trl: async () => (await loadRows()).trl,
  verl: async () => (await loadRows()).verl,
  inspect: async () => (await import("./inspect.ts")).inspect,
  tau2: async () => (await import("./tau2.ts")).tau2,
  "lm-eval": async () => (await import("./lm-eval.ts")).lmEval,
};

export const formatNames: readonly string[] = Object.keys(formats);

export const loadFormats = async () => await Promise.all(Object.values(formats).map((load) => load()));

interface RecognizedInput {
  source: Source;
  /** Several formats if they fit equally well. */
  formats: readonly Format[];
  /** The reason why no format fits. */
  fault?: UnusableInput | undefined;
  /** The kind of a file that cannot be read. */
  damagedKind?: keyof RecordKinds | undefined;
  /** What a user can do with the file. */
  advice?: string | undefined;
}

export const ownFormat: Format = {
  name: "rollcall",
  title: "",
  keys: { group: "", reward: "", sampled: "" },
  records: { text: "lines" },
  recognizes: ({ value }, isGiven) => isOwnRecord(value) || (isGiven && hasOwnList(value)),
  open: () => ({ convert: () => [] }),
};

/** Rows of these formats have only common keys, so any other format that fits has a higher score. */
const scoresOfCommonRows: Readonly<Record<string, number>> = { "openai-chat": 1, trl: 2 };

/**
 * The score of a format is its specificity and, below 1, the share of the first records that it recognizes.
 * The format with the highest score is chosen.
 */
const scoreFormats = () => {
  const scores = new Map<Format, number>();
  const records: (readonly Format[])[] = [];
  const specificity = (format: Format) => (format === ownFormat ? 4 : (scoresOfCommonRows[format.name] ?? 3));
  return {
    isEmpty: () => scores.size === 0,
    add: (formats: readonly Format[]) => {
      records.push(formats);
      for (const format of formats)
        scores.set(format, (scores.get(format) ?? specificity(format)) + 1 / (maxFirstLines + 1));
    },
    /** Returns several formats only if they recognize the same record. Otherwise, the file has records of each. */
    best: () => {
      const highest = Math.max(...scores.values());
      const best = [...scores].flatMap(([format, score]) => (score === highest ? format : []));
      const isSame = records.some((formats) => best.filter((one) => formats.includes(one)).length > 1);
      return isSame ? best : best.slice(0, 1);
    },
  };
};

/** Reads one input at a time, to save memory. */
export const recognizeInputs = async (opened: OpenedInputs, options: FormatOptions) => {
  const { folders, problems } = opened;
  const { from } = options;
  const given = from === ownFormat.name ? ownFormat : await formats[from]?.();
  const inputs: RecognizedInput[] = [];
  for (const source of opened.sources)
    inputs.push(await recognizeInput(source, given, { ...options, folders: opened.folders }));
  const byFormat = new Map<Format, Source[]>();
  const skipped: string[] = [];
  const advice = new Map<string, string>();
  const parts = findParts(inputs);
  for (const recognized of addMissingFormats(dropParts(inputs, parts), given)) {
    const { source, formats, fault, damagedKind } = recognized;
    const [format = ownFormat, ...more] = formats;
    if (folders.has(source.name) && formats.length === 0 && damagedKind === undefined) {
      skipped.push(source.name);
      if (recognized.advice) advice.set(source.name, recognized.advice);
    } else if (fault && formats.length === 0) fault.report(problems, source.name);
    else if (more.length > 0)
      problems.report("ambiguous-format", { formats: formats.map(({ name }) => name) }, { file: source.name });
    else appendTo(byFormat, format, source);
  }
  return { byFormat, skipped, advice, isPart: parts.isPart };
};

const recognizeInput = async (
  source: Source,
  given: Format | undefined,
  { folders, ...options }: FormatOptions & Pick<OpenedInputs, "folders">,
): Promise<RecognizedInput> => {
  const head = readHead(source.bytes, sniffedBytes);
  const [container, error] = [findContainer(head), findFormatError(head)];
  const data = error?.rule === "not-json" ? error.data : undefined;
  const reject = (reason: Partial<RuleData<"not-json">> | undefined) =>
    data && new UnusableInput("not-json", { ...data, ...reason });
  if (given && container && !given.records[container]) {
    const canOmit = given !== ownFormat || container === "parquet";
    return { source, formats: [], fault: reject(canOmit ? { instead: "correct or omit --from" } : {}) };
  }
  // The given format applies to each argument, but not to each file of a folder.
  if (given && !folders.has(source.name)) return { source, formats: [given] };
  if (!container && !given && beginsWithOwnRecord(source.bytes)) return { source, formats: [ownFormat] };
  const { matching, unreadable, unusable, records } = await matchFormats(source, { ...options, container, given });
  if (matching.length > 0) return { source, formats: matching };
  if (container === "parquet" && records.length === 0 && unreadable === undefined)
    return { source, formats: [], fault: new UnusableInput("input-empty", { isEmpty: false }) };
  const { fault, fix } = splitFix(unreadable ?? "", "write or copy the file again");
  const damagedKind = unreadable === undefined ? undefined : (container ?? "text");
  const described = given ? undefined : describeUnknown(records, container);
  const rejection = described ? undefined : reject(unreadable === undefined ? {} : { unreadable: fault, instead: fix });
  return { source, formats: [], damagedKind, ...described, fault: unusable ?? described?.fault ?? rejection };
};

const maxNamedKeys = 8;

/** Describes records that no format recognizes, or returns rollcall's format, which reports their faults. */
const describeUnknown = (
  records: readonly Value[],
  container: Container | undefined,
): Partial<RecognizedInput> | undefined => {
  const objects = records.filter(({ isObject }) => isObject);
  const [first] = objects;
  if (!first) return container ? undefined : {};
  if (!container && objects.some(hasOwnList)) return { formats: [ownFormat] };
  if (!container && objects.some(hasOnlyOwnKeys)) return {};
  const advice = suggestForMissingField("messages_and_choices", first.data);
  // Only text can be in rollcall's format, whose check reports the advice.
  if (advice && !container) return { advice };
  const keys = first.members().map(([key]) => shortenName(key));
  const unknown = { keys: keys.slice(0, maxNamedKeys), formats: [...formatNames, ownFormat.name], advice };
  return { fault: new UnusableInput("unknown-format", unknown) };
};

const matchesPath = (pattern: RegExp | undefined, name: string) =>
  pattern?.test(
    name
      .replaceAll("\\", "/")
      .toLowerCase()
      .replace(/\.(?:gz|zst)$/, ""),
  ) === true;

const fitsName = ({ filePattern }: Format, { name }: Source) => matchesPath(filePattern, name);

export const isCompanion = (file: string, formats: readonly Format[]) =>
  formats.some(({ companions }) => matchesPath(companions, file));

/** Gives an unrecognized file the only format that fits: the given format, or a format of another input. */
const addMissingFormats = (inputs: readonly RecognizedInput[], given: Format | undefined) => {
  const known = new Set(given ? [given] : inputs.flatMap(({ formats }) => formats));
  return inputs.map((recognized): RecognizedInput => {
    const { source, damagedKind: kind, fault } = recognized;
    if (recognized.formats.length > 0 || (!kind && fault?.rule === "not-json")) return recognized;
    const fitting = [...known].filter((one) => (kind ? one.records[kind] : fitsName(one, source)));
    return fitting.length === 1 ? { source, formats: fitting } : recognized;
  });
};

/** Finds files in folders next to records, which are parts of these records. */
const findParts = (inputs: readonly RecognizedInput[]) => {
  const known = inputs.flatMap(({ formats }) => formats);
  const owner = known.find(({ partFolders }) => partFolders);
  const isRecord = ({ source, formats }: RecognizedInput) =>
    owner && (formats[0] ?? known.find((candidate) => fitsName(candidate, source))) === owner;
  const records = new Set(inputs.filter(isRecord).map(({ source }) => dirname(join(source.name))));
  const parents = new Set([...records].map((folder) => dirname(folder)));
  const listParts = (name: string) =>
    owner ? listFolders(join(name)).filter((folder) => owner.partFolders?.test(basename(folder))) : [];
  return {
    isPart: (name: string) => listParts(name).some((folder) => records.has(dirname(folder))),
    /** Returns the folder of a part whose record is not written yet. */
    findUnfinished: (name: string) => listParts(name).find((folder) => parents.has(dirname(dirname(folder)))),
  };
};

/** Removes parts of records, and recognizes no format in parts of a record that is not written yet. */
const dropParts = (inputs: readonly RecognizedInput[], parts: ReturnType<typeof findParts>) => {
  const folderOf = ({ name }: Source) => dirname(join(name));
  const ownFolders = new Set(inputs.map(({ source }) => folderOf(source)));
  return inputs.flatMap((recognized): RecognizedInput | readonly [] => {
    const { source } = recognized;
    if (parts.isPart(source.name)) return [];
    const unfinished = parts.findUnfinished(source.name);
    if (unfinished === undefined) return recognized;
    // Files of deeper folders would repeat the hint.
    if (unfinished !== folderOf(source) && ownFolders.has(unfinished)) return [];
    return { source, formats: [], advice: unfinishedHint };
  });
};

const listFolders = (path: string): readonly string[] => {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...listFolders(folder)];
};

const unfinishedHint = "wait until the result of the rollout is written, or omit the rollout";

interface MatchOptions extends FormatOptions {
  container: Container | undefined;
  given: Format | undefined;
}

const noJson = "it contains no JSON";

/** After a format fits, reads no more records than this. */
const maxReadBytes = 2 ** 20;

const scoreRecords = async (source: Source, possible: readonly Format[], options: MatchOptions) => {
  const { container, given } = options;
  const limits = { maxUnpackedBytes: options.maxUnpackedBytes, signal: options.host.signal };
  const scores = scoreFormats();
  const records: Value[] = [];
  let unreadable = container ? undefined : noJson;
  let unusable: UnusableInput | undefined;
  let bytesRead = 0;
  try {
    const firstRecords: AsyncIterable<FirstRecord> = container
      ? // All possible formats read the same records from this container.
        readRawRecords(source, possible[0]?.records ?? {}, limits)
      : readFirstRecords(source, limits, () => !scores.isEmpty());
    for await (const raw of firstRecords) {
      const { member, fault, kind, value = fault === undefined ? Value.parse(raw.bytes) : undefined } = raw;
      if (!value) {
        if (records.length === 0) unreadable = fault ?? noJson;
        const start = container ? undefined : parseStart(raw.bytes);
        if (start && isOwnRecord(start) && possible.includes(ownFormat)) scores.add([ownFormat]);
        continue;
      }
      unreadable = undefined;
      records.push(value);
      bytesRead += raw.bytes.length;
      const record = { value, file: source.name, position: 0, member };
      const isReadable = (one: Format) =>
        !kind || one === ownFormat || [kind, "documents"].includes(one.records.text ?? "");
      const fits = (one: Format) => one.recognizes(record, one === given);
      scores.add(possible.filter((one) => isReadable(one) && fits(one)));
      if (container || (!scores.isEmpty() && bytesRead > maxReadBytes)) break;
    }
  } catch (thrown) {
    if (!(thrown instanceof UnusableInput)) throw thrown;
    unreadable = thrown.message;
    unusable = thrown;
  }
  return { scores, records, unreadable, unusable };
};

/** A damaged or too large file matches the only possible format, or none. */
const matchFormats = async (source: Source, options: MatchOptions) => {
  const { container, given } = options;
  const candidates = given ? [given] : [...(await loadFormats()), ownFormat];
  const possible = candidates.filter(({ records }) => records[container ?? "text"]);
  const { scores, records, unreadable, unusable } = await scoreRecords(source, possible, options);
  const isPossible = (one: Format) =>
    container
      ? unreadable !== undefined
      : source.bytes.size > maxDocumentBytes && one.records.text !== "lines" && fitsName(one, source);
  const remaining = scores.isEmpty() ? possible.filter(isPossible) : [];
  const matching = remaining.length === 1 ? remaining : scores.best();
  return { matching, records, unreadable, unusable };
};

type FirstRecord = RawRecord & Readonly<{ kind?: "lines" | "document"; value?: Value }>;

const maxFirstLines = 20;

/**
 * Yields objects and invalid JSON from the first lines, then the whole file if it can be a document.
 * @param isDone true if the caller needs no document
 */
async function* readFirstRecords(
  source: Source,
  limits: ReadLimits,
  isDone: () => boolean,
): AsyncGenerator<FirstRecord, void> {
  const { bytes } = source;
  const isList = /^[\s\ufeff]*\[/.test(readHead(bytes, sniffedBytes).toString("utf8"));
  let count = 0;
  let hasLines = false;
  for await (const raw of readRawRecords(source, { text: "lines" }, limits)) {
    const value = Value.parsePython(Buffer.from(raw.bytes));
    const isWhole = raw.isDocument || (count === 0 && isAtEnd(raw));
    if (value?.isObject || (value && isWhole)) {
      yield isWhole ? { ...raw, value } : { ...raw, value, kind: "lines" };
      // A file that starts with `[` can still be a document.
      hasLines ||= count === 0 && !isList;
    } else if (!value) yield raw;
    if (isWhole || ++count === maxFirstLines) break;
  }
  if (hasLines || isDone() || bytes.size > maxDocumentBytes) return;
  for await (const raw of readRawRecords(source, { text: "document" }, limits)) {
    const value = Value.parsePython(raw.bytes);
    if (value) yield { ...raw, value, kind: "document" };
  }
}

async function* readRawRecords(source: Source, records: RecordKinds, limits: ReadLimits) {
  const opened = await openRecords(source, records, limits);
  const first = await opened.readFirst?.();
  if (first) yield first;
  if (!opened.readFirst) for await (const batch of opened.batches()) yield* batch;
}
