/** Groups as an expression sees them: no more of them is read, and parsed, than it may look at. */
import { isObject, type JsonObject } from "../../json/walk.ts";
import { membersIn, partsOf, Window } from "../contents.ts";
import type { Reading } from "../read.ts";
import type { Needed } from "./expression.ts";

/** The rewards of a group if they are known already. */
export type RewardsKnown = (group: number) => Float64Array | undefined;

/** What is seen of a group. */
interface SeenGroup {
  readonly trajectories: readonly JsonObject[];
  readonly exceptions?: unknown;
}

/** Opens what reads valid groups, one after the other. The function throws Failure `input-changed`. */
export const openSeen = (
  reading: Reading,
  { members, exceptions }: Needed,
  rewardsKnown: RewardsKnown = () => undefined,
): ((group: number) => Promise<SeenGroup>) => {
  const window = new Window();
  const isOfRewards = members.size === 0 && !exceptions;
  // If most members are needed, whole lines are parsed.
  const isWhole = exceptions || members.has("messages_and_choices");
  const names = [...members, "reward"];
  return async (group) => {
    const known = isOfRewards ? rewardsKnown(group) : undefined;
    if (known !== undefined) return { trajectories: Array.from(known, (reward) => ({ reward })) };
    const trajectories: JsonObject[] = [];
    for (const own of partsOf(reading, group)) {
      const bytes = await window.of(own);
      if (!isWhole) {
        trajectories.push(...membersIn(bytes, own.part, names));
        continue;
      }
      const value: unknown = JSON.parse(bytes.toString("utf8"));
      if (own.part.kind === "group" && isObject(value))
        return { ...value, trajectories: objectsIn(value.trajectories) };
      trajectories.push(...objectsIn([value]));
    }
    return { trajectories };
  };
};

const objectsIn = (value: unknown): readonly JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);
