/** Converts files of other tools to groups. */
import { readUpTo } from "../files.ts";
import type { Host } from "../host.ts";
import { invalidRewards } from "../input/failures.ts";
import { digitsAt, findMember, tryParseRawJson } from "../json/raw-json.ts";
import { describeSystemCode } from "../sentences.ts";
import { formatCommandLine } from "../shell-words.ts";
import type { ConvertedInputs } from "./convert-inputs.ts";
import type { ConvertibleInputs, FormatOptions } from "./format.ts";
import { beginsWithOwnRecord } from "./recognize.ts";

export type { Conversion } from "./convert-inputs.ts";
export type { Format, FormatOptions } from "./format.ts";
export { listInexactValues, type ReceiptData, sumCounts } from "./receipt.ts";

/** Loads converters only if an input can need a conversion. @throws Failure `spool-failed`; the signal's reason */
export const convertOpened = async (options: FormatOptions, inputs: ConvertibleInputs): Promise<ConvertedInputs> => {
  const { sources } = inputs;
  if (options.from === "auto" && sources.every(({ bytes }) => beginsWithOwnRecord(bytes)))
    return { sources, skipped: inputs.skipped };
  return await (await import("./convert-inputs.ts")).convertInputs(options, inputs);
};

/** Reads the file of `--rewards` without rounding. @throws Failure `invalid-option-value` */
export const readRewardsFile = async (file: string, host: Host) => {
  const bytes = await readUpTo(file, Number.POSITIVE_INFINITY, host, (code) =>
    invalidRewards(`cannot read --rewards ${file}: ${describeSystemCode(code)}`),
  );
  const rewards = new Map<string, string>();
  const text = bytes?.toString("utf8") ?? "";
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = tryParseRawJson(line);
    const [name, reward] = [findMember(value, "id")?.text, digitsAt(value, "reward")];
    if (name === undefined || reward === undefined)
      throw invalidRewards(
        `${file}:${at + 1}: expected a line such as {"id": "a", "reward": 1}`,
        findCommand(text, file),
      );
    if (rewards.has(name) && rewards.get(name) !== reward)
      throw invalidRewards(`--rewards ${file}: ${name} has two rewards`);
    rewards.set(name, reward);
  }
  return rewards;
};

/** Results of SWE-bench: a line for each instance, or a report with lists of their ids. */
const findCommand = (text: string, file: string) => {
  const filter = /"resolved"\s*:/.test(text)
    ? "{id: .instance_id, reward: (if .resolved then 1 else 0 end)}"
    : /"resolved_ids"\s*:/.test(text) && "{id: .resolved_ids[], reward: 1}, {id: .unresolved_ids[], reward: 0}";
  return filter ? `convert it: \`${formatCommandLine(["jq", "-c", filter, file])} > rewards.jsonl\`` : undefined;
};

export { formatNames, loadFormats } from "./recognize.ts";
