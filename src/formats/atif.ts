/** ATIF documents: what an agent did step by step, with continuations and subagents. */
import { basename, dirname, join } from "node:path";
import {
  continuationOf,
  embeddedIn,
  Links,
  type LocatedDocument,
  type Reference,
  referenceText,
  subagentsOf,
} from "./atif-links.ts";
import { replacesContext, stepsOf, turnsOf } from "./atif-steps.ts";
import { type Built, list, type Member, object } from "./built.ts";
import { type Format, type FormatRun, type Reasons, type Rollout, type SourceRecord, why } from "./format.ts";
import { functionTools } from "./messages.ts";
import { inGroup, judge, trajectoryOf } from "./rollout.ts";
import { flatIn, type Members, measuredIn, Unfit, type Value } from "./value.ts";

const part = "a history has no place for it: the trajectory has its first part's";

/** Reasons why values of ATIF documents have no place. */
export const leftOfAtif: Reasons = [
  ["they are made of the messages", "steps[].metrics.prompt_token_ids"],
  ["no logprobs are recorded with them", "steps[].metrics.completion_token_ids"],
  ["completion_token_ids are missing, or the turn was not sampled", "steps[].metrics.logprobs"],
  ["the interface has no place for the usage of a turn", "steps[].metrics"],
  ["the interface has no place for the time of a turn", "steps[].timestamp"],
  ["the histories are those that it names", "steps[].observation.results[].subagent_trajectory_ref"],
  ["the interface has no place for it on a turn", "steps"],
  [part, "agent schema_version session_id trajectory_id notes"],
  ["metrics are numbers, those of the last part", "final_metrics"],
];

export const atif: Format = {
  name: "atif",
  title: "ATIF trajectories",
  keys: { group: "each file by itself", reward: "--rewards", sampled: "the agent's steps" },
  records: { text: "document" },
  files: /(?:^|[/\\])trajectory[^/\\]*\.json(?:\.gz|\.zst)?$/,
  recognizes: ({ value }) =>
    value.textAt("schema_version")?.startsWith("ATIF-") === true && value.get("steps")?.isList === true,
  open: (run) => {
    const links = new Links(run);
    return {
      look: (record) => links.look(record),
      convert: (record) => (links.isPart(record) ? undefined : [rolloutOf(run, record, links)]),
    };
  },
  left: [...leftOfAtif, [part, "subagent_trajectories[]"], [why.nested, "extra"]],
};

const rolloutOf = (run: FormatRun, { value, file }: SourceRecord, links: Links): Rollout => {
  const group = "trajectory";
  return inGroup(group, () => {
    const { form, documents, main, others, ...read } = readAtif(run, { document: value, file }, links);
    const stem = basename(file).replace(/\.json(?:\.gz|\.zst)?$/, "");
    const ids = [value.get("trajectory_id"), value.get("session_id"), stem];
    const judged = judge(run, { record: value, ids });
    const trajectory = trajectoryOf({ ...read, ...main, histories: others.map(historyOf), judged, identity: form });
    return { group, with: documents, ...trajectory };
  });
};

/** Messages that a model saw, and its tools. */
interface History {
  readonly turns: readonly Built[];
  readonly tools: Built | undefined;
}

export const historyOf = ({ turns, tools }: History): Built => object({ messages_and_choices: list(turns), tools });

/** A document with those that belong to it. */
export interface AtifReading {
  readonly main: History;
  readonly others: readonly History[];
  readonly metrics: Members;
  readonly metadata: readonly Member[];
  readonly startTime: Value | undefined;
  /** What tells parts that are kept apart from the same parts joined. */
  readonly form: string;
  /** The documents in addition to the first. */
  readonly documents: readonly Value[];
}

/** Reads a document with its continuations and subagents. @throws Unfit */
export const readAtif = (run: FormatRun, located: LocatedDocument, links: Links): AtifReading => {
  const { document } = located;
  requireVersion(run, document);
  const reading = new Reading(run, links, modelOf(document));
  const parts = reading.partsOf(located);
  const [main, ...more] = reading.historiesOf(parts);
  const others = [...more, ...parts.flatMap((one) => reading.subagentHistories(one))];
  const agent = document.get("agent")?.members() ?? [];
  return {
    main: main ?? { turns: [], tools: undefined },
    others,
    metrics: measuredIn((parts.at(-1)?.document ?? document).get("final_metrics")),
    metadata: [
      ...flatIn(document),
      ...agent.flatMap(([key, value]) => (value.isScalar ? [[`agent.${key}`, value] as const] : [])),
    ],
    startTime: startTimeOf(document),
    form: run.options.histories && parts.length > 1 ? " in parts" : "",
    documents: reading.documents,
  };
};

/** The last minor version whose fields are known. */
const newestVersion = 7;

const requireVersion = (run: FormatRun, document: Value): void => {
  const version = document.get("schema_version");
  const [, major, minor] = /^ATIF-v(\d+)\.(\d+)$/.exec(version?.text ?? "") ?? [];
  if (major !== "1") throw new Unfit("schema_version is none of ATIF-v1.0 to ATIF-v1.7", version ?? document);
  if (Number(minor) > newestVersion) {
    run.note(`${version?.text} is newer than ATIF-v1.7: what it adds has no place`);
  }
};

const startTimeOf = (document: Value): Value | undefined => {
  const time = document.get("steps", 0, "timestamp");
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/.test(time?.text ?? "") ? time : undefined;
};

const modelOf = (document: Value | undefined): string | undefined => document?.get("agent", "model_name")?.text;

/** Reads documents that belong to one trajectory. */
class Reading {
  /** Documents in addition to the first, in the order in which they were found. */
  readonly documents: Value[] = [];
  readonly #run: FormatRun;
  readonly #links: Links;
  /** The model whose trajectory it is. */
  readonly #model: string | undefined;
  readonly #seen = new Set<string>();

  constructor(run: FormatRun, links: Links, model: string | undefined) {
    this.#run = run;
    this.#links = links;
    this.#model = model;
  }

  /** A document and its continuations. */
  partsOf(located: LocatedDocument): readonly LocatedDocument[] {
    this.#seen.add(join(located.file));
    const parts = [located];
    for (let next = this.#continued(located); next !== undefined; next = this.#continued(next)) parts.push(next);
    return parts;
  }

  #continued({ document, file }: LocatedDocument): LocatedDocument | undefined {
    const reference = continuationOf(document);
    return (
      reference &&
      this.#follow(reference, file, () => {
        const looked = join(dirname(file), referenceText(reference));
        this.#run.note(`${file} goes on in ${looked}, which is not there: the trajectory ends before it`);
      })
    );
  }

  /** The parts of a trajectory as one history, or each as its own. @throws Unfit */
  historiesOf(parts: readonly LocatedDocument[]): readonly History[] {
    const first = parts[0]?.document;
    const isSampled = this.#isSampled(first);
    const isOne = parts.length > 1 && !this.#run.options.histories;
    if (isOne) {
      this.#run.note(
        "a continued trajectory is put together: its later turns follow a context that the model did not see " +
          "(--histories keeps its parts apart)",
      );
    }
    const histories = parts.map(({ document }, at) => {
      const steps = stepsOf(document);
      if (steps.some(replacesContext)) {
        this.#run.note(
          "a summary or an edit replaced the context: the turns behind it follow what the model did not see",
        );
      }
      const own = isOne && at > 0 ? this.#withoutCopies(steps, first) : steps;
      const turns = own.flatMap((step) => turnsOf(this.#run, step, isSampled));
      return { turns, tools: functionTools(document.get("agent", "tool_definitions")) };
    });
    return isOne ? [{ turns: histories.flatMap(({ turns }) => turns), tools: histories[0]?.tools }] : histories;
  }

  /** The histories of the subagents of a document, and of theirs. @throws Unfit */
  subagentHistories({ document, file }: LocatedDocument): readonly History[] {
    const embedded = embeddedIn(document).map((own) => ({ document: own, file }));
    const files = subagentsOf(document).flatMap((reference) => {
      const missing = () =>
        this.#run.note(`a subagent's trajectory is not there: looked for ${referenceText(reference)}`);
      return this.#follow(reference, file, missing) ?? [];
    });
    return [...embedded, ...files].flatMap((own) => {
      const parts = this.partsOf(own);
      return [...this.historiesOf(parts), ...parts.flatMap((one) => this.subagentHistories(one))];
    });
  }

  /** The document that a file refers to; undefined if it is missing, or was read before. */
  #follow(reference: Reference, from: string, onMissing: () => void): LocatedDocument | undefined {
    const found = this.#links.find(reference, from);
    if (found === undefined) onMissing();
    if (found === undefined || this.#seen.has(found.file)) return undefined;
    this.#seen.add(found.file);
    this.documents.push(found.document);
    return found;
  }

  #isSampled(document: Value | undefined): boolean {
    const model = modelOf(document);
    const isSampled = model === undefined || this.#model === undefined || model === this.#model;
    if (!isSampled) this.#run.note("a subagent's model is another: its turns are plain messages");
    return isSampled;
  }

  /** The steps of a continuation without copies: those that are marked or, if none is, those of the beginning. */
  #withoutCopies(steps: readonly Value[], first: Value | undefined): readonly Value[] {
    const before = first?.get("steps")?.items() ?? [];
    const isMarked = steps.some((step) => step.get("is_copied_context") !== undefined);
    const content = (step: Value | undefined) => [step?.textAt("source"), step?.get("message")?.raw].join(" ");
    const different = steps.findIndex((step, at) => content(step) !== content(before[at]));
    const repeated = different < 0 ? steps.length : different;
    const isCopied = (step: Value, at: number): boolean =>
      isMarked ? step.get("is_copied_context")?.isTrue === true : at < repeated;
    for (const step of steps.filter(isCopied)) this.#run.leave(step, "a continuation repeats what it continues");
    return steps.filter((step, at) => !isCopied(step, at));
  }
}
