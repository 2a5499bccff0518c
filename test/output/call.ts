/** Prints calls in the process of the test, and finds parts of the output. */
import { readFileSync } from "node:fs";
import type { CallViewOptions } from "../../src/commands/call/call-page.ts";
import { selectPrinter } from "../../src/commands/call/print-calls.ts";
import { parseRawJson } from "../../src/json/raw-json.ts";
import { testHost } from "../support/host.ts";
import { type ScreenFlags, screenOn } from "./printed-text.ts";

export const nothing: CallViewOptions = {
  costs: false,
  storageSize: false,
  totalStorageSize: false,
  vendorPrefix: "vendor",
};

export async function* repliesWith(calls: readonly string[]) {
  for (const call of calls) yield { id: "", call: parseRawJson(call), reply: parseRawJson(`{"call":${call}}`) };
}

export const everything: CallViewOptions = { ...nothing, costs: true, storageSize: true, totalStorageSize: true };

/** Prints calls as `call read` does. Returns standard output. */
export const printCall = async (
  calls: readonly string[],
  { asked = nothing, typed = {} }: { readonly asked?: CallViewOptions; readonly typed?: ScreenFlags } = {},
): Promise<string> => {
  const host = testHost();
  const screen = screenOn(host, typed);
  await selectPrinter(screen, undefined)({ calls: repliesWith(calls), requested: () => calls.length }, asked);
  return host.printed();
};

export const page = async (call: unknown, asked?: CallViewOptions): Promise<string> =>
  await printCall([typeof call === "string" ? call : JSON.stringify(call)], asked === undefined ? {} : { asked });

export const under = (text: string, title: string): readonly string[] => {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.trim() === title);
  const indent = (line: string): number => line.length - line.trimStart().length;
  const own = indent(lines[at] ?? "");
  const after = lines.slice(at + 1);
  const end = after.findIndex((line) => line !== "" && indent(line) <= own);
  // A rail precedes each line of untrusted text.
  const content = (end < 0 ? after : after.slice(0, end)).map((line) => line.slice(own + 2).replace(/^│ ?/, ""));
  return content.slice(0, content.findLastIndex((line) => line !== "") + 1);
};

export const findLabeledText = (text: string, label: string): string | undefined =>
  text
    .split("\n")
    .map((line) => line.trim())
    .find((line) => line.startsWith(`${label}  `))
    ?.slice(label.length)
    .trim();

export const sample = (name: string): string => {
  const text = readFileSync(`test/samples/${name}`, "utf8");
  return text.slice(text.indexOf(":") + 1, text.lastIndexOf("}"));
};

export const spoken = (messages: unknown, rest: object = {}): unknown => ({ id: "c", inputs: { messages }, ...rest });
