/** Converts files of other tools to groups; nothing of it is loaded before a file may be of another tool. */
import {
  type ConvertedInputs,
  type ConvertibleInputs,
  isLikelyOwnFormat,
  ownHeadBytes,
  readHead,
  type Source,
} from "../input/index.ts";
import type { Conversion, ConversionOptions } from "./convert.ts";

export type { Conversion, ConversionOptions } from "./convert.ts";
export type { Format } from "./format.ts";
export { formatNames, loadFormats } from "./formats.ts";
export type { ReceiptData } from "./receipt.ts";
export { readRewards } from "./rewards.ts";

/**
 * Returns how inputs are opened that are converted. Default: all inputs have rollcall's format.
 * `convert` throws Failure `spool-failed`, and the signal's reason.
 */
export const selectConversion = (choice: ConversionOptions | undefined) => {
  if (choice === undefined) return {};
  const convert = async (inputs: ConvertibleInputs): Promise<ConvertedInputs<Conversion>> => {
    const { sources } = inputs;
    if (choice.from === "auto" && (await haveOwnFormat(sources))) return { sources, others: [] };
    return await (await import("./convert.ts")).convertInputs(choice, inputs);
  };
  return { convert, takesContainers: choice.from !== "rollcall" };
};

/** True if all inputs begin as rollcall's format usually does, so that other formats need not be loaded. */
const haveOwnFormat = async (sources: readonly Source[]): Promise<boolean> => {
  for (const { bytes } of sources) if (!isLikelyOwnFormat(await readHead(bytes, ownHeadBytes))) return false;
  return true;
};
