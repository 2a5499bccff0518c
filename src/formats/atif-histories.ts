/** ATIF documents that belong together → the histories of one trajectory. */
import { dirname, join } from "node:path";
import { continuationOf, embeddedIn, type Links, type Located, subagentsOf, wordsOf } from "./atif-links.ts";
import { replacesContext, type StepReading, stepsOf, turnsOf } from "./atif-turns.ts";
import { type Built, type Composed, list, object } from "./built.ts";
import { type FormatRun, Unfit } from "./format.ts";
import { functionTools } from "./tool-calls.ts";
import type { Value } from "./value.ts";

/** What a document and those that belong to it are made of. */
export interface AtifReading {
  /** Messages and tools of the trajectory, and its other histories. */
  readonly histories: Readonly<Record<"messages_and_choices" | "tools" | "additional_histories", Built | undefined>>;
  readonly metrics: readonly (readonly [string, Value])[];
  readonly metadata: readonly (readonly [string, Value])[];
  readonly startTime: Value | undefined;
  /** What tells parts that are kept apart from the same put together. */
  readonly form: string;
  /** The documents beside the first. */
  readonly documents: readonly Value[];
}

/** Reads a document with its continuations and subagents. @throws Unfit */
export const readAtif = (
  run: FormatRun,
  { located, links, group }: { readonly located: Located; readonly links: Links; readonly group: string },
): AtifReading => {
  const { document } = located;
  requireVersion(run, document, group);
  const reading = new Reading(run, { links, group, model: document.get("agent", "model_name")?.text });
  const parts = reading.partsOf(located);
  const [first, ...more] = reading.historiesOf(parts);
  const others = [...more, ...parts.flatMap((one) => reading.subagentHistories(one))];
  const last = parts.at(-1)?.document ?? document;
  return {
    histories: {
      messages_and_choices: first?.messages,
      tools: first?.tools,
      additional_histories: others.length === 0 ? undefined : list(others.map(historyOf)),
    },
    metrics: (last.get("final_metrics")?.members() ?? []).filter(([, { isMeasured }]) => isMeasured),
    metadata: metadataOf(document),
    startTime: startTimeOf(document),
    form: run.asked.histories && parts.length > 1 ? " in parts" : "",
    documents: reading.documents,
  };
};

/** Versions up to which fields are known. */
const newest = 7;

const requireVersion = (run: FormatRun, document: Value, group: string): void => {
  const version = document.get("schema_version");
  const [, major, minor] = /^ATIF-v(\d+)\.(\d+)$/.exec(version?.text ?? "") ?? [];
  if (major !== "1") throw new Unfit("schema_version is none of ATIF-v1.0 to ATIF-v1.7", version ?? document, group);
  if (Number(minor) > newest) run.note(`${version?.text} is newer than ATIF-v1.7: what it adds has no place`);
};

/** Scalars of a document, and those of its agent. */
const metadataOf = (document: Value): readonly (readonly [string, Value])[] => [
  ...document.members().filter(([, { isFlat }]) => isFlat),
  ...(document.get("agent")?.members() ?? [])
    .filter(([, { isScalar }]) => isScalar)
    .map(([key, value]) => [`agent.${key}`, value] as const),
];

const startTimeOf = (document: Value): Value | undefined => {
  const time = document.get("steps", 0, "timestamp");
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?$/.test(time?.text ?? "") ? time : undefined;
};

interface History {
  readonly messages: Built;
  readonly tools: Built | undefined;
}

const historyOf = ({ messages, tools }: History): Composed => object({ messages_and_choices: messages, tools });

/** Reads documents that belong to one trajectory. */
class Reading {
  /** Documents beside the first, in the order in which they were come across. */
  readonly documents: Value[] = [];
  readonly #run: FormatRun;
  readonly #links: Links;
  readonly #group: string;
  /** The model whose trajectory it is. */
  readonly #model: string | undefined;
  readonly #seen = new Set<string>();

  constructor(
    run: FormatRun,
    { links, group, model }: { readonly links: Links; readonly group: string; readonly model: string | undefined },
  ) {
    this.#run = run;
    this.#links = links;
    this.#group = group;
    this.#model = model;
  }

  /** A document and those that it goes on in. */
  partsOf(located: Located): readonly Located[] {
    this.#seen.add(join(located.file));
    const parts = [located];
    for (let next = this.#continued(located); next !== undefined; next = this.#continued(next)) parts.push(next);
    return parts;
  }

  #continued({ document, file }: Located): Located | undefined {
    const reference = continuationOf(document);
    const next = reference === undefined ? undefined : this.#follow(reference, { document, file });
    if (next !== "missing" || reference === undefined) return next === "missing" ? undefined : next;
    const looked = join(dirname(file), wordsOf(reference));
    this.#run.note(`${file} goes on in ${looked}, which is not there: the trajectory ends before it`);
    return undefined;
  }

  /** The parts of a trajectory as one history, or each as its own. @throws Unfit */
  historiesOf(parts: readonly Located[]): readonly History[] {
    const reading = this.#readingOf(parts[0]?.document);
    const isOne = parts.length > 1 && !this.#run.asked.histories;
    if (isOne) {
      this.#run.note(
        "a continued trajectory is put together: its later turns follow a context that the model did not see (--histories keeps its parts apart)",
      );
    }
    const histories = parts.map(({ document }, at) => {
      const steps = stepsOf(document, this.#group);
      if (steps.some(replacesContext)) {
        this.#run.note(
          "a summary or an edit replaced the context: the turns behind it follow what the model did not see",
        );
      }
      const own = isOne && at > 0 ? this.#withoutCopies(steps, parts[0]?.document) : steps;
      return { turns: turnsOf(own, reading), tools: functionTools(document.get("agent", "tool_definitions")) };
    });
    const whole = isOne ? [{ ...histories[0], turns: histories.flatMap(({ turns }) => turns) }] : histories;
    return whole.map(({ turns, tools }) => ({ messages: list(turns), tools }));
  }

  /** The histories of the subagents of a document, and of theirs. @throws Unfit */
  subagentHistories({ document, file }: Located): readonly History[] {
    const embedded = embeddedIn(document).map((own) => ({ document: own, file }));
    const files = subagentsOf(document).flatMap((reference) => {
      const found = this.#follow(reference, { document, file });
      if (found !== "missing") return found ?? [];
      this.#run.note(`a subagent's trajectory is not there: looked for ${wordsOf(reference)}`);
      return [];
    });
    return [...embedded, ...files].flatMap((own) => {
      const parts = this.partsOf(own);
      return [...this.historiesOf(parts), ...parts.flatMap((one) => this.subagentHistories(one))];
    });
  }

  /** The document that another refers to; undefined where it was read before. */
  #follow(reference: Parameters<Links["find"]>[0], from: Located): Located | "missing" | undefined {
    const found = this.#links.find(reference, from.file);
    if (found === undefined) return "missing";
    if (this.#seen.has(found.file)) return undefined;
    this.#seen.add(found.file);
    this.documents.push(found.document);
    return found;
  }

  #readingOf(document: Value | undefined): StepReading {
    const model = document?.get("agent", "model_name")?.text;
    const isSampled = model === undefined || this.#model === undefined || model === this.#model;
    if (!isSampled) this.#run.note("a subagent's model is another: its turns are plain messages");
    return { run: this.#run, group: this.#group, isSampled };
  }

  /** The steps of a continuation behind those that it repeats: marked as copied, or, where none is, the same as at the beginning. */
  #withoutCopies(steps: readonly Value[], first: Value | undefined): readonly Value[] {
    const before = first?.get("steps")?.items() ?? [];
    const isMarked = steps.some((step) => step.get("is_copied_context") !== undefined);
    const said = (step: Value | undefined) => [step?.get("source")?.text, step?.get("message")?.raw].join(" ");
    const different = steps.findIndex((step, at) => said(step) !== said(before[at]));
    const copied = new Set(
      isMarked
        ? steps.filter((step) => step.get("is_copied_context")?.isTrue === true)
        : steps.slice(0, different < 0 ? steps.length : different),
    );
    for (const step of copied) this.#run.leave(step, "a continuation repeats what it continues");
    return steps.filter((step) => !copied.has(step));
  }
}
