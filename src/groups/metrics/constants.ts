/** What rewards and trajectories are told apart by. */

/** Rewards that differ by no more are equal (promises.md, "Metrics"). */
export const rewardTolerance = 1e-12;

/** What trajectories have that is trained on, in bits, and what they lack: a choice, a choice's logprobs, the tools that are called. */
export const withChoice = 1;
export const withoutChoice = 2;
export const withLogprobs = 4;
export const withoutLogprobs = 8;
export const withTools = 16;
export const withoutTools = 32;
