/** Converts ATIF documents, which record the steps of an agent. */
import { basename, dirname, isAbsolute, join, relative } from "node:path";
import { toTools } from "../../conversation/apis/openai.ts";
import type { Json } from "../../json/output-json.ts";
import type { Value } from "../../json/value.ts";
import { convertSteps } from "./atif-steps.ts";
import { buildTrajectory, findReward, isUuid, listFileIds, replacedContextNote } from "./build-trajectory.ts";
import type { Format, FormatRun, SourceRecord } from "./format.ts";

export const atif: Format = {
  name: "atif",
  title: "ATIF trajectories",
  keys: { group: "one file", reward: "missing (pass --rewards)", sampled: "the agent's steps" },
  records: { text: "documents" },
  filePattern: /(?:^|\/)trajectory[^/]*\.json$/,
  recognizes: ({ value }) => value.textAt("schema_version")?.startsWith("ATIF-") && value.get("steps")?.isList,
  open: (run) => {
    const links = new Links(run);
    return {
      preview: (record) => links.addDocument(record),
      convert: (record) => (links.isPart(record) ? undefined : [convertRollout(run, record, links)]),
    };
  },
};

const convertRollout = (run: FormatRun, record: SourceRecord, links: Links) => {
  const { value } = record;
  record.group = { key: "trajectory", by: "file" };
  record.id = findId(value);
  const { documents, ...read } = readAtif(run, record, links);
  const ids = [value.get("trajectory_id"), value.get("session_id"), ...listFileIds(record)];
  return { documents, ...buildTrajectory({ ...read, reward: findReward(run, { record: value, ids }) }) };
};

/** Some agents write `unknown`. Since version 1.7, several documents have the same `session_id`. */
const findId = (document: Value) => {
  const [session, trajectory] = ["session_id", "trajectory_id"].map((key) => document.textAt(key));
  const isSession = Number(minorVersionOf(document)) < 7;
  const id = trajectory === undefined && !isSession ? undefined : `${session ?? ""} ${trajectory ?? ""}`;
  return [session, trajectory].some((text) => text !== undefined && isUuid(text)) ? id : undefined;
};

type History = Readonly<{ turns: readonly Json[]; tools: Json | undefined }>;

export const readAtif = (run: FormatRun, located: LocatedDocument, links = new Links(run)) => {
  const { value } = located;
  requireVersion(run, value);
  const reader = new AtifReader(run, links, modelOf(value));
  const { parts, histories } = reader.readHistories(located);
  const [main = { turns: [], tools: undefined }, ...others] = histories;
  const agent = value.members("agent").filter(([, { isScalar }]) => isScalar);
  return {
    ...main,
    histories: others.map(({ turns, tools }) => ({ messages_and_choices: turns, tools })),
    metrics: (parts.at(-1)?.value ?? value).metricMembers("final_metrics"),
    metadata: [...value.flatMembers(), ...agent.map(([key, member]) => [`agent.${key}`, member] as const)],
    startTime: readStartTime(value),
    documents: reader.documents,
  };
};

const minorVersionOf = (document: Value) => /^ATIF-v1\.(\d+)$/.exec(document.textAt("schema_version") ?? "")?.[1];

const requireVersion = (run: FormatRun, document: Value) => {
  const version = document.get("schema_version");
  const minor = minorVersionOf(document);
  if (minor === undefined) throw (version ?? document).error("schema_version is not between ATIF-v1.0 and ATIF-v1.7");
  if (Number(minor) > 7) run.note(`read ${version?.text} as ATIF-v1.7, so new fields may not be converted`);
};

const readStartTime = (document: Value) => {
  const time = document.get("steps", 0, "timestamp");
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/.test(time?.text ?? "") ? time : undefined;
};

const modelOf = (document: Value | undefined) => document?.get("agent", "model_name")?.text;

const nameOf = (document: Value) => document.get("agent", "name")?.text;

const copiedContentKeys = ["source", "message", "tool_calls", "observation"];

class AtifReader {
  /** The documents that the record refers to. */
  readonly documents: Value[] = [];
  readonly #seen = new Set<string>();
  readonly #run: FormatRun;
  readonly #links: Links;
  readonly #model: string | undefined;

  constructor(run: FormatRun, links: Links, model: string | undefined) {
    this.#run = run;
    this.#links = links;
    this.#model = model;
  }

  readHistories(located: LocatedDocument): { parts: LocatedDocument[]; histories: readonly History[] } {
    this.#seen.add(join(located.file));
    const parts = [located];
    for (let next = this.#readContinuation(located); next; next = this.#readContinuation(next)) parts.push(next);
    const own = this.#historiesOf(parts);
    const subagents = parts.flatMap((part) => this.#subagentsOf(part));
    return { parts, histories: [...own, ...subagents.flatMap((one) => this.readHistories(one).histories)] };
  }

  #readReference(reference: Reference, from: LocatedDocument, missing: string) {
    const document = this.#links.find(reference, from);
    if (!document) this.#run.note(missing);
    if (!document || this.#seen.has(document.file)) return undefined;
    this.#seen.add(document.file);
    this.documents.push(document.value);
    return document;
  }

  #readContinuation(located: LocatedDocument) {
    const { value, file } = located;
    const path = value.textAt("continued_trajectory_ref");
    if (path === undefined) return undefined;
    const missing = `${file} continues in ${join(dirname(file), path)}, which is missing, so the trajectory ends early`;
    return this.#readReference({ path, ids: [] }, located, missing);
  }

  #subagentsOf(located: LocatedDocument) {
    return [
      ...listEmbedded(located.value).map((value) => ({ ...located, value })),
      ...listSubagents(located.value).flatMap((reference) => {
        const missing = `a subagent's trajectory is missing: ${reference.path ?? reference.ids[0]}`;
        return this.#readReference(reference, located, missing) ?? [];
      }),
    ];
  }

  #historiesOf(parts: readonly LocatedDocument[]): readonly History[] {
    const run = this.#run;
    const first = parts[0]?.value;
    const isSameModel = this.#isSameModel(modelOf(first));
    const isJoined = parts.length > 1;
    if (isJoined) run.note("joined the parts of a continued trajectory");
    const histories = parts.map(({ value }, at) => {
      const allSteps = findSteps(value);
      if (allSteps.some(replacesContext)) run.note(replacedContextNote);
      const steps = isJoined && at > 0 ? this.#withoutCopies(allSteps, first?.items("steps") ?? []) : allSteps;
      this.#noteComposed(value);
      const hasCalls = (step: Value | undefined) => step?.has("tool_calls", 0) === true;
      if (nameOf(value) === "codex" && steps.some((step, at) => hasCalls(step) && hasCalls(steps[at - 1])))
        run.note("each call of Codex is a turn, although the model can have made several calls at once");
      const own = steps.filter((step) => !isSidechain(step));
      return {
        turns: convertSteps(run, own, { model: this.#model, isSampled: isSameModel }),
        tools: toTools(run, value.get("agent", "tool_definitions")),
        sidechains: splitSidechains(steps).map((one) => this.#convertSidechain(one, isSameModel)),
      };
    });
    const sidechains = histories.flatMap((history) => history.sidechains);
    if (!isJoined) return [...histories, ...sidechains];
    return [{ turns: histories.flatMap(({ turns }) => turns), tools: histories[0]?.tools }, ...sidechains];
  }

  /** With raw_content, Harbor records the model's text, and no calls. */
  #noteComposed(document: Value) {
    const isParsed = /^(?:terminus-2|openhands)$/.test(nameOf(document) ?? "");
    if (isParsed && document.items("steps").some((step) => step.has("tool_calls", 0)))
      this.#run.note(
        "took the text that Harbor composed of an answer, not the model's (set raw_content of trajectory_config)",
      );
  }

  #isSameModel(model: string | undefined) {
    const isSame = this.#model === undefined || (model ?? this.#model) === this.#model;
    if (!isSame)
      this.#run.note("converted the turns of a subagent to messages, not choices, because another model sampled them");
    return isSame;
  }

  #convertSidechain(steps: readonly Value[], isSampled: boolean): History {
    this.#run.note("converted the turns of a subagent in the same document to an additional history");
    const isOneAgent = steps.findLastIndex((step) => step.textAt("source") === "user") === 0;
    if (!isOneAgent) this.#run.note("kept turns as messages that can be of several subagents at once");
    const model = steps.map((step) => step.textAt("model_name")).find((name) => name !== undefined);
    const isOwn = isSampled && isOneAgent && this.#isSameModel(model);
    return { turns: convertSteps(this.#run, steps, { model: this.#model, isSampled: isOwn }), tools: undefined };
  }

  /** If no step has `is_copied_context`, removes the common start of `steps` and `before`. */
  #withoutCopies(steps: readonly Value[], before: readonly Value[]) {
    const isMarked = steps.some((step) => step.has("is_copied_context"));
    const content = (step: Value | undefined) => copiedContentKeys.map((key) => step?.get(key)?.raw).join(" ");
    const different = steps.findIndex((step, at) => content(step) !== content(before[at]));
    const repeated = different < 0 ? steps.length : different;
    return steps.filter((step, at) => {
      const isCopied = isMarked ? step.get("is_copied_context")?.isTrue : at < repeated;
      if (isCopied) this.#run.unread?.keep(step);
      return !isCopied;
    });
  }
}

const isSidechain = (step: Value) => step.get("extra", "is_sidechain")?.isTrue === true;

/** Harbor puts the steps of subagents between those of Claude Code's main agent. */
const splitSidechains = (steps: readonly Value[]) => {
  const sidechains: Value[][] = [];
  for (const [at, step] of steps.entries()) {
    if (!isSidechain(step)) continue;
    if (at === 0 || sidechains.at(-1)?.at(-1) !== steps[at - 1]) sidechains.push([]);
    sidechains.at(-1)?.push(step);
  }
  return sidechains;
};

const findSteps = (document: Value) => {
  const steps = document.require("steps");
  const items = steps.items();
  if (items.length === 0) throw steps.error("steps is empty");
  const broken = items.find(({ isObject }) => !isObject);
  if (broken) throw broken.error("a step is not an object");
  return items;
};

const replacesContext = (step: Value) => {
  const holders = [step, step.get("observation"), ...step.items("observation", "results")];
  const isEdit = (holder: Value | undefined) =>
    holder?.has("context_management") || holder?.has("extra", "context_management");
  if (holders.some(isEdit)) return true;
  const text = step.textAt("source") === "system" ? (step.textAt("message") ?? "") : "";
  const isSummary = /summari[sz]|compact|condens/i.test(text) && /context|histor|conversation/i.test(text);
  return text.length < maxNoticeLength && isSummary;
};

/** The limit in UTF-16 units. A longer system message is a prompt, not a notice. */
const maxNoticeLength = 2000;

type LocatedDocument = Pick<SourceRecord, "value" | "file">;

interface Reference {
  path?: string | undefined;
  ids: readonly string[];
}

const listIds = (value: Value) =>
  ["trajectory_id", "session_id"].flatMap((key) => {
    const id = value.textAt(key);
    return id === undefined ? [] : `${key} ${id}`;
  });

const listEmbedded = (document: Value) => document.items("subagent_trajectories").filter(({ isObject }) => isObject);

const listSubagents = (document: Value) => {
  const embedded = new Set(listEmbedded(document).map((subagent) => listIds(subagent)[0]));
  const results = document.items("steps").flatMap((step) => step.items("observation", "results"));
  return results
    .flatMap((result) => {
      const references = result.get("subagent_trajectory_ref");
      return references?.isObject ? [references] : (references?.items() ?? []);
    })
    .map((reference) => ({ path: reference.textAt("trajectory_path"), ids: listIds(reference) }))
    .filter(({ path, ids }) => !embedded.has(ids[0]) && (path !== undefined || ids.length > 0));
};

const listReferences = (document: Value): readonly Reference[] => [
  { path: document.textAt("continued_trajectory_ref"), ids: [] },
  ...listSubagents(document),
  ...listEmbedded(document).flatMap(listReferences),
];

class Links {
  readonly #documents = new Map<string, { ids: readonly string[]; references: readonly Reference[] }>();
  readonly #filesById = new Map<string, string[]>();
  readonly #run: FormatRun;
  #owners: Map<string, string> | undefined;

  constructor(run: FormatRun) {
    this.#run = run;
  }

  addDocument({ value, file: name }: LocatedDocument) {
    const file = join(name);
    const ids = listIds(value);
    for (const id of ids) this.#filesById.set(id, [...(this.#filesById.get(id) ?? []), file]);
    this.#documents.set(file, { ids, references: listReferences(value) });
  }

  /** True if another document refers to the file. @throws ConversionError for circular references */
  isPart({ file, value }: LocatedDocument) {
    this.#owners ??= this.#findOwners();
    const seen = new Set<string>();
    for (let at: string | undefined = join(file); at !== undefined; at = this.#owners.get(at)) {
      if (seen.has(at)) throw value.error(`the document refers to itself through ${[...seen].join(", ")}`);
      seen.add(at);
    }
    return seen.size > 1;
  }

  find(reference: Reference, from: LocatedDocument): LocatedDocument | undefined {
    for (const file of this.#filesOf(reference, from.file)) {
      const value = this.#run.readDocument(from, relative(dirname(from.file), file));
      if (value?.get("steps")) return { value, file };
    }
    return undefined;
  }

  #findOwners() {
    const found = new Map<string, string>();
    for (const [from, { references }] of this.#documents) {
      for (const reference of references) {
        const file = this.#filesOf(reference, from).find((candidate) => this.#documents.has(candidate));
        if (file !== undefined && !found.has(file)) found.set(file, from);
      }
    }
    return found;
  }

  /** Ignores an id that several files below the folder of `from` have. */
  #filesOf({ path, ids }: Reference, from: string) {
    const fromFile = join(from);
    const folder = dirname(fromFile);
    const isBelow = (file: string) => file !== fromFile && !relative(folder, file).startsWith("..");
    const files = path === undefined ? [] : [join(folder, toLocalPath(path))];
    for (const id of ids) {
      // In newer versions of ATIF, all documents of a run have the same `session_id`.
      if (id.startsWith("session_id") && this.#documents.get(fromFile)?.ids.includes(id)) continue;
      const matches = this.#filesById.get(id)?.filter(isBelow) ?? [];
      if (matches.length === 1) files.push(...matches);
    }
    return files;
  }
}

/** Returns the file name alone if the path is absolute or leads to a parent folder. */
const toLocalPath = (path: string) => (isAbsolute(path) || relative("", path).startsWith("..") ? basename(path) : path);
