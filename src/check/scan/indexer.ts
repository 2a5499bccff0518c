/** Recognises what a JSON value of the input is (a request, a group, a trajectory, an array of them), and adds it to the index. */
import { hash } from "node:crypto";
import { crc32 } from "node:zlib";
import type { Trajectory, TrajectoryGroup } from "../../contract/log.ts";
import { rewardTolerance } from "../../groups/metrics/constants.ts";
import { factsOf, printOf } from "../../groups/metrics/facts.ts";
import { addLengths, addMetrics, lookAtReward } from "../../groups/metrics/picture.ts";
import { type Found, nothingFound } from "../../groups/parts/found.ts";
import type { Part } from "../../groups/parts/parts.ts";
import { elementsOf } from "../../json/table.ts";
import {
  elements,
  isObject,
  type JsonObject,
  type Member,
  members,
  type Span,
  textOf,
  wholeOf,
} from "../../json/walk.ts";
import type { Judgement } from "../rules/judgement.ts";
import { Locator, type Path, Places, type Text } from "../rules/places.ts";
import type { Spot } from "../rules/problems.ts";
import type { RuleData, RuleName } from "../rules/rules.ts";
import { secretsIn } from "../rules/secrets.ts";
import { kindOf, type Report } from "../rules/values.ts";
import { groupKeyOf } from "./group-key.ts";
import type { Unreadable } from "./long-fault.ts";
import { checkRequest, isBareSplit } from "./request-checks.ts";
import { checkGroup, checkTrajectory } from "./type-checks.ts";

/** A value of a text, with its place in it. */
interface Value {
  readonly value: unknown;
  readonly span: Span;
  /** Path from the root of the text's value. */
  readonly path: Path;
}

/** Where a value is taken from. */
interface Context {
  readonly text: Text;
  readonly places: Pick<Places, "mark" | "of">;
}

/** How values are taken. */
interface IndexerOptions {
  /** Name of the source, and its position among the inputs. */
  readonly file: string;
  readonly source: number;
  readonly groupBy: string | undefined;
  readonly judgement: Judgement;
  /** What is added to; nothing yet where it is left out. */
  readonly found?: Found;
}

/** Takes problems of a value, and knows whether one of them makes it invalid. */
interface Reporter {
  readonly report: Report;
  /** Finds values of the value. */
  readonly locator: Locator;
  /** Reports what looks like a secret in the value's bytes, at the values that hold it. */
  reportSecrets(): void;
  readonly failed: boolean;
}

/** Adds parsed values to the index. */
export class Indexer {
  readonly found: Found;
  readonly #file: string;
  readonly #source: number;
  readonly #groupBy: string | undefined;

  constructor({ file, source, groupBy, judgement, found = nothingFound(judgement) }: IndexerOptions) {
    this.found = found;
    this.#file = file;
    this.#source = source;
    this.#groupBy = groupBy;
  }

  /** Takes the value whose bytes are the span of a text. */
  take(text: Text, { value, span }: { readonly value: unknown; readonly span: Span }): void {
    const context = { text, places: new Places(text) };
    if (!Array.isArray(value)) {
      this.#takeOne(context, { value, span, path: [] });
      return;
    }
    let at = 0;
    for (const element of elements(text.bytes, span.start)) {
      this.#takeOne(context, { value: value[at], span: element, path: [at] });
      at++;
    }
  }

  /** Takes an element of a list by itself: of that in a request where `isGroup`. Its path is that in the list's text. */
  takeElement(text: Text, { isGroup, ...unit }: Value & { readonly isGroup: boolean }): void {
    const context = { text, places: new Places(text) };
    if (isGroup) this.#takeGroup(context, unit);
    else this.#takeOne(context, unit);
  }

  /** Takes a request whose groups were taken; what stands behind them is a text of its own. */
  takeRest(head: Text, { value, tail }: { readonly value: unknown; readonly tail: Text }): void {
    const bytes = Buffer.concat([head.bytes, tail.bytes]);
    const [before, behind] = [new Places(head), new Places(tail)];
    const length = head.bytes.length;
    const places = {
      mark: (at: number) => before.mark(at),
      of: (at: number) => (at < length ? before.of(at) : behind.of(at - length)),
    };
    this.#takeOne({ text: { ...head, bytes }, places }, { value, span: wholeOf(bytes), path: [] });
  }

  /** Takes what can't be parsed: it counts as a group without trajectories. */
  takeUnreadable(text: Text, span: Span): void {
    this.#push({ text, places: new Places(text) }, span, unreadable);
  }

  /** The same of a text that is not held. */
  takeLongUnreadable({ line, start, length, checksum, digest }: Omit<Unreadable, "around" | "at" | "fault">): void {
    const { parts } = this.found;
    const facts = { ...unreadable, ...unmeasured, source: this.#source, line, start, length };
    parts.push({ ...facts, checksum: parts.isMarked ? checksum : 0 }, parts.isMarked ? digest : noDigest);
  }

  #takeOne(context: Context, unit: Value): void {
    const { value } = unit;
    context.places.mark(unit.span.start);
    if (!isObject(value)) {
      this.#reporterOf(context, unit).report("not-an-object", { found: kindOf(value) }, []);
      this.#push(context, unit.span, unreadable);
    } else if (Object.hasOwn(value, "trajectory_groups") || isBareSplit(value)) {
      this.found.shapes.add("requests");
      this.#takeRequest(context, unit, value);
    } else if (Object.hasOwn(value, "trajectories")) {
      this.found.shapes.add("groups");
      this.#takeGroup(context, unit);
    } else {
      this.found.shapes.add("trajectories");
      this.#takeTrajectory(context, unit, value);
    }
  }

  #takeRequest(context: Context, unit: Value, value: JsonObject): void {
    const own = new Map<string, Member>();
    let list: Span | undefined;
    const met = new Set<string>();
    const twice = new Set<string>();
    for (const member of members(context.text.bytes, unit.span.start)) {
      if (member.key === "trajectory_groups") list = member.value;
      else if (member.key !== "split") own.set(member.key, member);
      if (met.has(member.key) && !own.has(member.key)) twice.add(member.key);
      met.add(member.key);
    }
    const groups = value.trajectory_groups;
    checkRequest(value, { twice, report: this.#reporterOf(context, unit).report });
    this.#addRequest(context, { unit, split: value.split, own });
    if (list === undefined || twice.size > 0 || !Array.isArray(groups)) {
      this.#push(context, unit.span, unreadable);
      return;
    }
    let at = 0;
    for (const span of elements(context.text.bytes, list.start)) {
      context.places.mark(span.start);
      this.#takeGroup(context, { value: groups[at], span, path: [...unit.path, "trajectory_groups", at] });
      at++;
    }
  }

  #addRequest(
    { text, places }: Context,
    { unit, split, own }: { unit: Value; split: unknown; own: ReadonlyMap<string, Member> },
  ): void {
    const keys = Array.from(own, ([key, { keySpan, value }]) => {
      return [key, { name: textOf(text.bytes, keySpan), value: textOf(text.bytes, value) }] as const;
    });
    const locator = new Locator(text.bytes, unit.span);
    this.found.requests.add({
      split: typeof split === "string" ? split : undefined,
      keys: new Map(keys),
      spotOf: (key) => {
        const own = key === undefined ? [] : [key];
        const at = locator.find(own).start;
        return { file: this.#file, ...places.of(at), path: [...unit.path, ...own] };
      },
    });
  }

  #takeGroup(context: Context, unit: Value): void {
    const reporter = this.#reporterOf(context, unit);
    const { report, locator } = reporter;
    const [list, ...others] = locator.membersCalled("trajectories");
    if (others.length > 0) report("duplicate-key", { key: "trajectories" }, ["trajectories"]);
    const group = checkGroup(unit.value, report);
    reporter.reportSecrets();
    const valid = group !== undefined && !reporter.failed;
    if (valid) {
      const { tally } = this.found;
      for (const trajectory of group.trajectories) tally.addTrajectory(trajectory);
      const exceptions = Array.isArray(group.exceptions) ? group.exceptions.length : 0;
      tally.closeGroup({ rewards: group.trajectories.map(({ reward }) => reward), exceptions });
    }
    const measured = valid
      ? this.#measure(
          context.text,
          trajectoriesIn(
            group,
            elementsOf(list).map((one) => locator.spanOf(one)),
          ),
        )
      : unmeasured;
    const trajectories = group?.trajectories.length ?? lengthOf(unit.value);
    this.#push(context, unit.span, { kind: "group", valid, trajectories, reward: 0 }, measured);
  }

  #takeTrajectory(context: Context, unit: Value, value: JsonObject): void {
    const reporter = this.#reporterOf(context, unit);
    const { report, locator } = reporter;
    const trajectory = checkTrajectory(value, report);
    reporter.reportSecrets();
    const key = groupKeyOf(value, {
      groupBy: this.#groupBy,
      report,
      textAt: (path) => {
        const { start, end } = locator.find(path);
        return context.text.bytes.subarray(start, end);
      },
    });
    const valid = trajectory !== undefined && !reporter.failed;
    if (valid) this.found.tally.addTrajectory(trajectory);
    const reward = trajectory?.reward ?? 0;
    const measured = valid ? this.#measure(context.text, [{ trajectory, span: unit.span }]) : unmeasured;
    this.#push(context, unit.span, { kind: "trajectory", valid, trajectories: 1, reward }, measured);
    if (key !== undefined) this.found.keys.set(this.found.parts.count - 1, key.text);
  }

  /** Adds valid trajectories of the next part to the distributions; gives what the part keeps of them. */
  #measure({ bytes }: Text, trajectories: Iterable<SpannedTrajectory>): Measured {
    const { picture, extremes, parts } = this.found;
    const prints: number[] = [];
    let newest = Number.NaN;
    let training = 0;
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { trajectory, span } of trajectories) {
      const facts = factsOf(trajectory, printOf(bytes, span));
      const { reward, version } = facts;
      addLengths(picture, facts);
      addMetrics(picture, trajectory.metrics);
      if (Number.isFinite(reward)) lookAtReward(extremes, reward, parts.count, prints.length);
      prints.push(facts.print);
      training |= facts.training;
      if (Number.isNaN(newest) || version > newest) newest = version;
      least = Math.min(least, reward);
      most = Math.max(most, reward);
    }
    return { prints, training, version: newest, equal: prints.length > 1 && most - least <= rewardTolerance };
  }

  #push({ text, places }: Context, span: Span, facts: PartFacts, measured = unmeasured): void {
    const { parts } = this.found;
    const { prints, equal, version, training } = measured;
    const own = text.bytes.subarray(span.start, span.end);
    const place = { source: this.#source, line: places.mark(span.start), start: text.start + span.start };
    parts.push(
      {
        ...facts,
        ...place,
        equal,
        version,
        training,
        length: own.length,
        checksum: parts.isMarked ? crc32(own) : 0,
      },
      // A digest that comes as a text costs less than one that comes with memory of its own.
      parts.isMarked ? Buffer.from(hash("sha256", own, "binary"), "latin1") : noDigest,
    );
    for (let at = 0; at < facts.trajectories; at++) parts.prints.push(prints[at] ?? 0);
  }

  /** Takes problems of a value by their paths in it. */
  #reporterOf({ text, places }: Context, { span, path: base }: Value): Reporter {
    const locator = new Locator(text.bytes, span);
    let failed = false;
    const take = <Name extends RuleName>(rule: Name, data: RuleData<Name>, spot: () => Spot): void => {
      if (this.found.problems.report(rule, data, spot) === "error") failed = true;
    };
    const spotOf = (own: Path): Spot => {
      const at = locator.find(own).start;
      return { file: this.#file, ...places.of(at), path: [...base, ...own] };
    };
    return {
      locator,
      report: (rule, data, own) => take(rule, data, () => spotOf(own)),
      reportSecrets: () => {
        for (const { start, kind } of secretsIn(text.bytes, span)) {
          // The place is the value's, as of every problem; what is shown is the secret's.
          const spot = () => ({ ...spotOf(locator.pathAt(start)), offset: text.start + start });
          take("secret-in-content", { kind }, spot);
        }
      },
      get failed() {
        return failed;
      },
    };
  }
}

/** A trajectory, and where its bytes stand. */
interface SpannedTrajectory {
  readonly trajectory: Trajectory;
  readonly span: Span;
}

function* trajectoriesIn(
  { trajectories }: TrajectoryGroup,
  spans: readonly Span[],
): Generator<SpannedTrajectory, void> {
  for (const [at, span] of spans.entries()) {
    const trajectory = trajectories[at];
    if (trajectory !== undefined) yield { trajectory, span };
  }
}

type PartFacts = Pick<Part, "kind" | "valid" | "trajectories" | "reward">;

/** What a part keeps of its trajectories. */
interface Measured extends Pick<Part, "equal" | "version" | "training"> {
  readonly prints: readonly number[];
}

/** What a part keeps where its trajectories are not counted. */
const unmeasured: Measured = { prints: [], training: 0, version: Number.NaN, equal: false };

const noDigest = new Uint8Array();

const unreadable = { kind: "unreadable", valid: false, trajectories: 0, reward: 0 } as const;

const lengthOf = (group: unknown): number =>
  isObject(group) && Array.isArray(group.trajectories) ? group.trajectories.length : 0;
