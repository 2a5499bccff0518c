/** All formats of other tools, by the values of `--from`. */
import type { Path } from "../check/rules/positions.ts";
import type { Format } from "./format.ts";

/** In the order in which files are compared with the formats. */
const formats: Readonly<Record<string, () => Promise<Format>>> = {
  atif: async () => (await import("./atif.ts")).atif,
  harbor: async () => (await import("./harbor.ts")).harbor,
  "mini-swe-agent": async () => (await import("./mini-swe-agent.ts")).miniSweAgent,
  "mini-swe-agent-messages": async () => (await import("./mini-swe-agent.ts")).miniSweAgentMessages,
  "verifiers-v0": async () => (await import("./verifiers-v0.ts")).verifiersV0,
  art: async () => (await import("./art.ts")).art,
  "verifiers-v1": async () => (await import("./verifiers-v1.ts")).verifiersV1,
  "nemo-gym": async () => (await import("./nemo-gym.ts")).nemoGym,
  "openai-chat": async () => (await import("./chat-rows.ts")).openaiChat,
  trl: async () => (await import("./chat-rows.ts")).trl,
  sharegpt: async () => (await import("./chat-rows.ts")).shareGpt,
  openrlhf: async () => (await import("./chat-rows.ts")).openrlhf,
  verl: async () => (await import("./chat-rows.ts")).verl,
  skyrl: async () => (await import("./chat-rows.ts")).skyrl,
  "nemo-rl": async () => (await import("./chat-rows.ts")).nemoRl,
  inspect: async () => (await import("./inspect.ts")).inspect,
  tau2: async () => (await import("./tau2.ts")).tau2,
};

export const formatNames: readonly string[] = Object.keys(formats);

/** Returns the format of a name (undefined if there is none), or of rows with messages at `messagesFrom`. */
export const loadFormat = async (name: string, messagesFrom: Path | undefined): Promise<Format | undefined> => {
  if (messagesFrom !== undefined) return (await import("./chat-rows.ts")).messageRows(messagesFrom);
  return Object.hasOwn(formats, name) ? await formats[name]?.() : undefined;
};

export const loadFormats = async (): Promise<readonly Format[]> =>
  await Promise.all(Object.values(formats).map(async (load) => await load()));
