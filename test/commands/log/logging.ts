/** Runs `rollcall log` against a service with scripted answers. */

import { filesOf } from "../../support/inputs.ts";
import { type RunOptions, runRollcall } from "../../support/run.ts";
import { type Answer, type Exchange, scriptedServer } from "../../support/server.ts";

export const groups = "test/samples/airline.groups.jsonl";
export const line = (reward: number) => `{"messages_and_choices":[],"reward":${reward}}`;
export const group = (reward: number) => `{"trajectories":[${line(reward)}]}`;
export const two = () => filesOf(`${group(1)}\n${group(2)}\n`)[0] ?? "";

export const account = (url: string) => ({ ROLLCALL_BASE_URL: url, ROLLCALL_TOKEN: "token-1234" });

/** Logs to a service with these answers; returns the output and the received requests. */
export const log = async (args: readonly string[], answers: readonly Answer[], options: RunOptions = {}) => {
  const server = await scriptedServer(answers.map((answer): Exchange => ({ answer })));
  const ran = await runRollcall(["log", "m", ...args], { ...options, env: { ...account(server.url), ...options.env } });
  return { ...ran, received: server.received };
};

export const parsed = (text: string): unknown => JSON.parse(text);

export const sampleMetrics = {
  "train/reward": 0.25,
  "train/reward_std_dev": 0.22320508075688772,
  "train/exception_rate": 0,
  "train/num_messages": 29.325,
  "train/num_tool_calls": 6.425,
  "train/user_cost": 0.002866753246753247,
  "data/step_num_scenarios": 20,
  "data/step_num_trajectories": 80,
  "data/step_num_groups_submitted": 20,
  "data/step_num_groups_trainable": 10,
};

export const none = { read: 0, logged: 0, already_logged: 0, rejected: 0, unknown: 0, not_sent: 0 };
