/** Converts files of other tools to groups; nothing of it is loaded before a file may be of another tool. */
import { beginsAsOwn, ownHeadBytes } from "../input/sniff.ts";
import { readHead, type Source } from "../input/source.ts";
import type { Converting, Foreign, ForeignChoice } from "./convert.ts";

export type { Conversion, ForeignChoice } from "./convert.ts";
export type { Format } from "./format.ts";
export { formatNames, loadFormats } from "./formats.ts";
export type { ReceiptData } from "./receipt.ts";
export { readRewards } from "./rewards.ts";

/** Converts open inputs. @throws Failure `spool-failed`; the signal's reason */
export type Convert = (converting: Converting) => Promise<Foreign>;

/** Returns how inputs are opened that are converted. Default: all inputs have rollcall's format. */
export const conversionAs = (
  choice: ForeignChoice | undefined,
): { readonly convert?: Convert; readonly takesContainers?: boolean } => {
  if (choice === undefined) return {};
  const convert: Convert = async (converting) => {
    const { sources } = converting;
    if (choice.from === "auto" && (await areOwn(sources))) return { sources, conversion: undefined, others: [] };
    return await (await import("./convert.ts")).convertForeign(choice, converting);
  };
  return { convert, takesContainers: choice.from !== "rollcall" };
};

/** True if all inputs begin as rollcall's format usually does, so that other formats need not be loaded. */
const areOwn = async (sources: readonly Source[]): Promise<boolean> => {
  for (const { bytes } of sources) if (!beginsAsOwn(await readHead(bytes, ownHeadBytes))) return false;
  return true;
};
