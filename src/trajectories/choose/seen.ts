/** Groups as an expression sees them: no more of them is read, and parsed, than it may look at. */
import {
  closeBrace,
  closeBracket,
  isObject,
  type JsonObject,
  openBrace,
  openBracket,
  Walker,
} from "../../json/walk.ts";
import { Window } from "../read/look.ts";
import type { Reading } from "../read/read.ts";
import { partsOf, unchanged } from "../read/whole.ts";
import type { Needed } from "./expression.ts";

/** The rewards of a group, where they are known already. */
export type RewardsKnown = (group: number) => Float64Array | undefined;

/** What is seen of a group. */
interface SeenGroup {
  readonly trajectories: readonly JsonObject[];
  readonly exceptions?: unknown;
}

/** The groups of a reading, one behind the other. */
export class SeenGroups {
  readonly #reading: Reading;
  readonly #rewardsKnown: RewardsKnown;
  /** Members of trajectories that are parsed; undefined where whole lines are, since most of them is needed. */
  readonly #members: ReadonlySet<string> | undefined;
  readonly #isOfRewards: boolean;
  readonly #window = new Window();

  constructor(
    reading: Reading,
    { needed: { members, exceptions }, rewardsKnown }: { readonly needed: Needed; readonly rewardsKnown: RewardsKnown },
  ) {
    this.#reading = reading;
    this.#rewardsKnown = rewardsKnown;
    this.#isOfRewards = members.size === 0 && !exceptions;
    this.#members = exceptions || members.has("messages_and_choices") ? undefined : new Set([...members, "reward"]);
  }

  /** A valid group. @throws Failure `input-changed` */
  async at(group: number): Promise<SeenGroup> {
    const known = this.#isOfRewards ? this.#rewardsKnown(group) : undefined;
    if (known !== undefined) return { trajectories: Array.from(known, (reward) => ({ reward })) };
    const trajectories: JsonObject[] = [];
    for (const own of partsOf(this.#reading, group)) {
      const bytes = unchanged(await this.#window.read(own), own);
      const isGroup = own.part.kind === "group";
      if (this.#members === undefined) {
        const value: unknown = JSON.parse(bytes.toString("utf8"));
        if (isGroup && isObject(value)) return { ...value, trajectories: objectsIn(value.trajectories) };
        trajectories.push(...objectsIn([value]));
      } else {
        const walker = new Walker(bytes);
        trajectories.push(...(isGroup ? trajectoriesAt(walker, this.#members) : [membersAt(walker, this.#members)]));
      }
    }
    return { trajectories };
  }
}

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

const trajectoriesAt = (walker: Walker, members: ReadonlySet<string>): readonly JsonObject[] => {
  const trajectories: JsonObject[] = [];
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    if (walker.key() !== "trajectories") {
      walker.skip();
      continue;
    }
    for (let next = walker.enter(openBracket); next; next = walker.next(closeBracket))
      trajectories.push(membersAt(walker, members));
  }
  return trajectories;
};

/** The members of an object that are wanted: of one that stands there twice the last, as JSON has it. */
const membersAt = (walker: Walker, members: ReadonlySet<string>): JsonObject => {
  const found = new Map<string, unknown>();
  for (let more = walker.enter(openBrace); more; more = walker.next(closeBrace)) {
    const key = walker.key();
    if (members.has(key)) found.set(key, walker.value());
    else walker.skip();
  }
  return Object.fromEntries(found);
};
