/** Converts files of other tools to groups. */

import { digitsAt, findMember, tryParseRawJson } from "../../json/raw-json.ts";
import { Breaks } from "../../system/breaks.ts";
import { readUpTo } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { describeSystemCode } from "../../text/sentences.ts";
import { invalidRewards } from "../input/failures.ts";
import { bytesPerFile, type OpenedInputs } from "../input/open-inputs.ts";
import type { ConvertedInputs } from "./convert-inputs.ts";
import type { FormatOptions } from "./format.ts";
import { beginsWithOwnRecord } from "./own-record.ts";

/** Loads converters only if an input can need a conversion. @throws Failure `spool-failed`; the signal's reason */
export const convertOpened = async (options: FormatOptions, inputs: OpenedInputs): Promise<ConvertedInputs> => {
  const { sources } = inputs;
  const breaks = new Breaks(options.host.signal);
  let isOwn = options.from === "auto";
  for (const { bytes } of isOwn ? sources : []) {
    if (breaks.isDue(bytesPerFile)) await breaks.take();
    isOwn &&= beginsWithOwnRecord(bytes);
  }
  if (isOwn) return { sources, skipped: inputs.skipped };
  return await (await import("./convert-inputs.ts")).convertInputs(options, inputs);
};

/** Reads the file of `--rewards` without rounding. @throws Failure `invalid-option-value` */
export const readRewardsFile = async (file: string, host: Host) => {
  // A command can read its inputs several times.
  if (file === "-") throw invalidRewards("--rewards does not read standard input", "save the rewards in a file");
  const toFailure = (why: string) => invalidRewards(`cannot read --rewards ${file}: ${why}`);
  const bytes = await readUpTo(file, Number.POSITIVE_INFINITY, host, (code) => toFailure(describeSystemCode(code)));
  const text = new TextDecoder().decode(bytes);
  const rewards = new Map<string, string>();
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = tryParseRawJson(line);
    const [name, reward] = [findMember(value, "id")?.text, digitsAt(value, "reward")];
    if (name === undefined || reward === undefined)
      throw invalidRewards(`${file}:${at + 1}: expected a line such as {"id": "a", "reward": 1}`);
    if (rewards.has(name) && rewards.get(name) !== reward)
      throw invalidRewards(`--rewards ${file}: ${name} has two rewards`);
    rewards.set(name, reward);
  }
  return rewards;
};
