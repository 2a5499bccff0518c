/** Groups as an expression sees them: no more of them is read, and parsed, than it may look at. */
import { isObject, type JsonObject } from "../../json/walk.ts";
import { membersIn, partsOf, Window } from "../contents.ts";
import type { Reading } from "../read.ts";
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
    for (const part of partsOf(this.#reading, group)) {
      const bytes = await this.#window.of(part);
      const isGroup = part.part.kind === "group";
      if (this.#members === undefined) {
        const value: unknown = JSON.parse(bytes.toString("utf8"));
        if (isGroup && isObject(value)) return { ...value, trajectories: objectsIn(value.trajectories) };
        trajectories.push(...objectsIn([value]));
      } else {
        trajectories.push(...membersIn(bytes, part.part, this.#members));
      }
    }
    return { trajectories };
  }
}

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
