/** Converts files of other tools to groups. */

import { isObject, parseJson } from "../../json/json-bytes.ts";
import { digitsAt, findMember, tryParseRawJson } from "../../json/raw-json.ts";
import { Breaks } from "../../system/breaks.ts";
import { readUpTo } from "../../system/files.ts";
import type { Host } from "../../system/host.ts";
import { describeSystemCode } from "../../text/sentences.ts";
import { formatCommandLine } from "../../text/shell-words.ts";
import { ZstdUnsupported } from "../input/decompress.ts";
import { invalidRewards, UnusableInput } from "../input/failures.ts";
import { bytesPerFile, type OpenedInputs } from "../input/open-inputs.ts";
import { decompressBytes } from "../input/spool.ts";
import type { ConvertedInputs } from "./convert-inputs.ts";
import type { FormatOptions } from "./format.ts";
import { beginsWithOwnRecord } from "./recognize.ts";

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
export const readRewardsFile = async (file: string, host: Host, maxUnpackedBytes = Number.POSITIVE_INFINITY) => {
  // A command can read its inputs several times.
  if (file === "-") throw invalidRewards("--rewards does not read standard input", "save the rewards in a file");
  const toFailure = (why: string) => invalidRewards(`cannot read --rewards ${file}: ${why}`);
  const bytes = await readUpTo(file, Number.POSITIVE_INFINITY, host, (code) => toFailure(describeSystemCode(code)));
  const decompressed = await decompressBytes(bytes ?? Buffer.alloc(0), maxUnpackedBytes).catch((thrown: unknown) => {
    throw thrown instanceof UnusableInput || thrown instanceof ZstdUnsupported ? toFailure(thrown.message) : thrown;
  });
  const text = new TextDecoder().decode(decompressed);
  const report = readReport(text, file);
  if (report) return report;
  const rewards = new Map<string, string>();
  for (const [at, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue;
    const value = tryParseRawJson(line);
    const [name, reward] = [findMember(value, "id")?.text, digitsAt(value, "reward")];
    if (name === undefined || reward === undefined)
      throw invalidRewards(
        `${file}:${at + 1}: expected a line such as {"id": "a", "reward": 1}, or a report of SWE-bench`,
        findCommand(text, file),
      );
    if (rewards.has(name) && rewards.get(name) !== reward)
      throw invalidRewards(`--rewards ${file}: ${name} has two rewards`);
    rewards.set(name, reward);
  }
  return rewards;
};

/** The lists of a report of SWE-bench, which counts empty patches and errors as not resolved. */
const reportLists = { resolved_ids: "1", unresolved_ids: "0", empty_patch_ids: "0", error_ids: "0" };
const otherLists: ReadonlySet<string> = new Set(["submitted_ids", "completed_ids", "incomplete_ids"]);

const readReport = (text: string, file: string) => {
  const report: unknown = /"resolved_ids"/.test(text) ? parseJson(text)?.value : undefined;
  if (!isObject(report)) return undefined;
  const rewards = new Map<string, string>();
  for (const [key, reward] of Object.entries(reportLists)) {
    const ids = report[key];
    // Older reports have no list of empty patches.
    if (ids === undefined) continue;
    if (!Array.isArray(ids) || ids.some((id) => typeof id !== "string"))
      throw invalidRewards(`--rewards ${file}: ${key} is not a list of ids`);
    for (const id of ids.map(String)) {
      if (rewards.has(id) && rewards.get(id) !== reward)
        throw invalidRewards(`--rewards ${file}: ${id} is resolved and not resolved`);
      rewards.set(id, reward);
    }
  }
  for (const [key, ids] of Object.entries(report)) {
    if (!key.endsWith("_ids") || !Array.isArray(ids) || otherLists.has(key)) continue;
    const unknown = ids.find((id) => !rewards.has(String(id)));
    if (unknown !== undefined)
      throw invalidRewards(`--rewards ${file}: ${unknown} is in the list ${key}, whose reward rollcall does not know`);
  }
  return rewards;
};

/** Results of SWE-bench: an object for each instance, in lines, in a list, or by the id of the instance. */
const toRewards = `
  if type == "array" then .[] elif has("instance_id") then . else to_entries[] | {instance_id: .key} + .value end
  | {id: .instance_id, reward: (if .resolved then 1 else 0 end)}`;

const findCommand = (text: string, file: string) =>
  /"resolved"\s*:\s*(?:true|false)/.test(text)
    ? `convert it: \`${formatCommandLine(["jq", "-c", toRewards.trim().replaceAll(/\n */g, " "), file])} > rewards.jsonl\``
    : undefined;
