/** Calls in a table: their facts are read in the background, those on the screen first; a call itself when it is looked at. */
import { modelsOf, nameOf, openSummary, operationOf, stateOf, trajectoryOf } from "../calls/index.ts";
import { numberFrom, type Spelled, textFrom } from "../json/spelled.ts";
import { spellingsOf } from "../json/spellings.ts";
import type {
  CallDetail,
  CallFacts,
  CallRow,
  CallRows,
  CallSelection,
  CallSortKey,
  CallsSummary,
} from "./call-shapes.ts";
import type { Progress } from "./shapes.ts";

/** The calls that a page shows. */
export interface ShownCalls {
  readonly from: string;
  /** In their order, each once. */
  readonly ids: readonly string[];
  readonly atOnce: number;
  /** The deployment's own word in the summary of a call. */
  readonly vendorPrefix: string;
  commandOf(id: string): string;
  /** Reads a call; does not throw. */
  read(id: string): Promise<CallRead>;
}

/** What reading a call gave. */
export type CallRead =
  | {
      readonly kind: "found";
      /** What is shown of it: one JSON object. */
      readonly json: Buffer;
      /** What is known of it. */
      readonly head: Spelled;
      readonly lines: () => CallDetail["lines"];
    }
  /** `stops`: whether the next would end the same way. */
  | { readonly kind: "unread"; readonly why: string; readonly stops: boolean };

/** Bytes of calls that are kept to be searched; what no longer fits is found by its facts. */
const mostKept = 2 ** 27;

interface Entry {
  readonly id: string;
  readonly at: number;
  isAsked: boolean;
  facts: CallFacts | null;
  why: string | null;
  kept: Buffer | undefined;
}

/** The table. */
export class CallTable {
  readonly #shown: ShownCalls;
  readonly #entries: readonly Entry[];
  readonly #byId: ReadonlyMap<string, Entry>;
  /** Those on the screen that were not read yet. */
  #wanted: Entry[] = [];
  #next = 0;
  #running = 0;
  #read = 0;
  #unread = 0;
  #keptBytes = 0;
  #stopped: string | null = null;

  /** Begins to read them. */
  constructor(shown: ShownCalls) {
    this.#shown = shown;
    const unread = { isAsked: false, facts: null, why: null, kept: undefined };
    this.#entries = shown.ids.map((id, at): Entry => ({ id, at, ...unread }));
    this.#byId = new Map(this.#entries.map((entry) => [entry.id, entry]));
    this.#work();
  }

  /** Reads no more of them. */
  end(): void {
    this.#stopped ??= "rollcall view is ending";
  }

  progress(): Progress {
    const isRead = this.#stopped !== null || this.#read === this.#entries.length;
    return { phase: isRead ? "read" : "calls", done: this.#read, of: this.#entries.length };
  }

  summary(): CallsSummary {
    return { from: this.#shown.from, unread: this.#unread, stopped: this.#stopped };
  }

  rows(selection: CallSelection, { from, most }: { readonly from: number; readonly most: number }) {
    const needles = selection.text === undefined ? [] : spellingsOf(selection.text).map((text) => Buffer.from(text));
    const selected = this.#entries.filter((entry) => this.#isSelected(entry, selection, needles));
    sortEntries(selected, selection);
    const rows = selected.slice(from, from + most);
    this.#wanted = rows.filter(({ isAsked }) => !isAsked);
    this.#work();
    const { phase, done, of } = this.progress();
    const listed: CallRows = {
      selected: selected.length,
      of,
      rows: rows.map(rowOf),
      searched: phase === "read" ? null : { share: Math.min(0.999, done / Math.max(1, of)), found: selected.length },
    };
    return listed;
  }

  /** Reads a call; undefined where it is none of those that are shown. */
  async call(id: string): Promise<CallDetail | undefined> {
    const entry = this.#byId.get(id);
    if (entry === undefined) return undefined;
    const read = await this.#shown.read(id);
    this.#take(entry, read);
    const found = read.kind === "found" ? read : undefined;
    const converted = found === undefined ? undefined : trajectoryOf(found.json, { kind: "attributes" });
    return {
      ...rowOf(entry),
      at: entry.at,
      of: this.#entries.length,
      before: this.#entries[entry.at - 1]?.id ?? null,
      after: this.#entries[entry.at + 1]?.id ?? null,
      command: this.#shown.commandOf(id),
      lines: found?.lines() ?? [],
      json: found?.json.toString() ?? "",
      trajectory: converted?.kind === "converted" ? Buffer.from(converted.line).toString() : null,
    };
  }

  #isSelected(entry: Entry, { status, text }: CallSelection, needles: readonly Buffer[]): boolean {
    const { facts, why, kept, id } = entry;
    if (status !== undefined && status !== (why === null ? facts?.status : "unread")) return false;
    if (text === undefined) return true;
    const words = [id, why, facts?.name, facts?.op, facts?.model];
    return words.some((word) => word?.includes(text)) || needles.some((needle) => kept?.includes(needle));
  }

  #work(): void {
    while (this.#stopped === null && this.#running < this.#shown.atOnce) {
      const entry = this.#following();
      if (entry === undefined) return;
      entry.isAsked = true;
      this.#running++;
      void this.#shown.read(entry.id).then((read) => {
        this.#running--;
        this.#take(entry, read);
        if (read.kind === "unread" && read.stops) this.#stopped ??= read.why;
        this.#work();
      });
    }
  }

  #following(): Entry | undefined {
    for (let entry = this.#wanted.shift(); entry !== undefined; entry = this.#wanted.shift()) {
      if (!entry.isAsked) return entry;
    }
    while (this.#entries[this.#next]?.isAsked === true) this.#next++;
    return this.#entries[this.#next];
  }

  /** Takes what reading a call gave, for the first time or once more. */
  #take(entry: Entry, read: CallRead): void {
    if (entry.facts === null && entry.why === null) this.#read++;
    if (entry.why !== null) this.#unread--;
    this.#keptBytes -= entry.kept?.length ?? 0;
    entry.isAsked = true;
    entry.why = read.kind === "unread" ? read.why : null;
    entry.facts = read.kind === "found" ? factsOf(read.head, this.#shown.vendorPrefix) : null;
    const bytes = read.kind === "found" ? read.json : undefined;
    entry.kept = this.#keptBytes + (bytes?.length ?? 0) <= mostKept ? bytes : undefined;
    this.#keptBytes += entry.kept?.length ?? 0;
    if (entry.why !== null) this.#unread++;
  }
}

const rowOf = ({ id, facts, why }: Entry): CallRow => ({ id, facts, why });

const factsOf = (head: Spelled, prefix: string): CallFacts => {
  const summarizer = openSummary(prefix);
  summarizer.add(head);
  const { duration, tokens, cost } = summarizer.summary().all;
  const size = numberFrom(head, "storage_size_bytes");
  return {
    name: nameOf(head) ?? "",
    op: operationOf(head) ?? "",
    model: modelsOf(head, prefix).join(", "),
    status: stateOf(head, prefix),
    when: textFrom(head, "started_at") ?? "",
    tokens: tokens.total === undefined ? null : Number(tokens.total),
    cost: cost.usd ?? null,
    size: size === undefined ? null : Number(size),
    seconds: duration.p50 ?? null,
  };
};

/** Sorts; what has nothing to be sorted by comes last, whichever way. */
const sortEntries = (entries: Entry[], { sort, descending }: CallSelection): void => {
  const sign = descending ? -1 : 1;
  if (sort === "call") {
    if (descending) entries.reverse();
    return;
  }
  const values = new Map(entries.map((entry) => [entry, sortedBy(entry, sort)]));
  entries.sort((one, other) => {
    const [a, b] = [values.get(one), values.get(other)];
    if (a === undefined || b === undefined)
      return Number(a === undefined) - Number(b === undefined) || one.at - other.at;
    return (a < b ? -sign : a > b ? sign : 0) || one.at - other.at;
  });
};

const sortedBy = ({ facts, why }: Entry, sort: Exclude<CallSortKey, "call">): string | number | undefined => {
  if (sort === "status") return why === null ? facts?.status : "unread";
  if (sort === "op" || sort === "model") return facts?.[sort] === "" ? undefined : facts?.[sort];
  if (sort === "duration") return facts?.seconds ?? undefined;
  const value = facts?.[sort] ?? null;
  const number = value === null ? Number.NaN : sort === "when" ? Date.parse(String(value)) : Number(value);
  return Number.isNaN(number) ? undefined : number;
};
