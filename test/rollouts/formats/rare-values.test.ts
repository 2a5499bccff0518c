/** Values that few records have, and what they become. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { convertHere as convert, folderOf, user } from "./converting.ts";

const said = (content: string, more: object = {}) => ({ role: "assistant", content, ...more });
const chat = { messages: [user("q"), said("a")], reward: 1 };
const rewardsOf = (rewards: Readonly<Record<string, number>>): readonly string[] => {
  const lines = Object.entries(rewards).map(([id, reward]) => ({ id, reward }));
  return ["--rewards", join(folderOf({ r: lines }), "r")];
};

describe("the reward of a row", () => {
  it.each("id idx uid example_id instance_id trajectory_id session_id".split(" "))(
    "is that of its %s in the file of --rewards, at the top level or in metadata",
    async (key) => {
      const rows = [
        { ...chat, [key]: "s" },
        { ...chat, metadata: { [key]: "t" } },
      ];
      const groups = await convert({ "a.jsonl": rows }, rewardsOf({ s: 0.25, t: 0.75 }));
      const rewards = groups.flatMap((group: { trajectories: object[] }) => group.trajectories);
      expect(rewards).toMatchObject([{ reward: 0.25 }, { reward: 0.75 }]);
    },
  );

  it.each([
    ["TRUE", 1],
    ["False", 0],
    ["-1.5E2", -150],
    [true, 1],
    [false, 0],
  ])("can be %j with --reward-from", async (r, reward) => {
    expect(await convert({ "a.jsonl": [{ ...chat, r }] }, ["--reward-from", "r"])).toMatchObject([
      { trajectories: [{ reward }] },
    ]);
  });

  it("is missing without an id for --rewards", async () => {
    const simulated = { task_id: 1, termination_reason: "stop", reward_info: { reward: 1 }, messages: chat.messages };
    expect(await convert({ "a.jsonl": [simulated] }, rewardsOf({ x: 1 }))).toContain(
      "the record has no id for --rewards",
    );
  });

  it.each(["advantage", "advantages"])("is the sum of the columns of TRL if the row has an %s", async (key) => {
    const row = { prompt: "q", completion: "a", [key]: 0.5, x_reward: 1, y_reward: 0, step: 3, task_id: 7 };
    expect(await convert({ "a.jsonl": [row] })).toContain(
      "pass --reward-from x_reward --reward-from y_reward, because TRL",
    );
  });
});
