/** What rewards and trajectories are told apart by. */

/** Rewards that differ by no more are equal (promises.md, "Metrics"). */
export const rewardTolerance = 1e-12;

/** What trajectories have to train on, and what they lack, in bits: a choice, its logprobs, tools that are called. */
export const withChoice = 1;
export const withoutChoice = 2;
export const withLogprobs = 4;
export const withoutLogprobs = 8;
export const withTools = 16;
export const withoutTools = 32;
