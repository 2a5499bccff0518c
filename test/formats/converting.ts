/** Converts files of other tools with the built program, and returns all results. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { runRollcall } from "../support/run.ts";

export interface Conversion {
  readonly code: number | null;
  /** The written groups, one per line. */
  readonly lines: readonly string[];
  /** The same, parsed. */
  readonly groups: readonly Group[];
  readonly notes: readonly string[];
  /** Errors: position and message, without the folder. */
  readonly errors: readonly string[];
  /** Paths of values that were left out, by the reason. */
  readonly left: Readonly<Record<string, readonly string[]>>;
}

export interface Group {
  readonly trajectories: readonly Trajectory[];
  readonly exceptions?: readonly object[];
}

export interface Trajectory {
  readonly messages_and_choices: readonly object[];
  readonly reward: number;
  readonly [key: string]: unknown;
}

/** Files by their names: rows that become lines, or their text. */
export type Files = Readonly<Record<string, readonly unknown[] | string>>;

export const sampleText = (name: string): string => readFileSync(resolve("test/samples/formats", name), "utf8");

/** Writes files into a folder for this test; returns the folder. */
export const folderOf = (files: Files): string => {
  const folder = mkdtempSync(join(tmpdir(), "converting-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : content.map((row) => JSON.stringify(row)).join("\n"));
  }
  return folder;
};

/** Converts the named files, or all in their order. */
export const convertFiles = async (
  files: Files,
  {
    names = Object.keys(files),
    args = [],
  }: { readonly names?: readonly string[]; readonly args?: readonly string[] } = {},
): Promise<Conversion> => {
  const folder = folderOf(files);
  const [out, receipt] = [join(folder, "out.groups"), join(folder, "out.receipt")];
  const given = ["convert", ...names, ...args, "--out", out, "--receipt", receipt];
  const { code, stderr } = await runRollcall(given, { cwd: folder });
  const lines = existsSync(out) ? readFileSync(out, "utf8").split("\n").slice(0, -1) : [];
  const said = stderr.split("\n");
  const after = (pattern: RegExp): readonly string[] => said.flatMap((line) => pattern.exec(line)?.[1] ?? []);
  return {
    code,
    lines,
    groups: lines.map((line) => JSON.parse(line)),
    notes: after(/^note: (?!\d+ of \d+ values dropped)(.*)/),
    errors: said.filter((line) => line.includes(" error: ")),
    left: existsSync(receipt) ? leftIn(readFileSync(receipt, "utf8")) : {},
  };
};

const leftIn = (receipt: string): Readonly<Record<string, readonly string[]>> => {
  const { left_out: left }: { left_out: readonly { path: string; reason: string }[] } = JSON.parse(receipt);
  const reasons = new Set(left.map(({ reason }) => reason));
  return Object.fromEntries(
    [...reasons].sort().map((reason) => [
      reason,
      left
        .filter((one) => one.reason === reason)
        .map(({ path }) => path)
        .sort(),
    ]),
  );
};

/** A choice. */
export const sampled = (message: string | object, finish_reason = "stop") => ({
  finish_reason,
  index: 0,
  message: typeof message === "string" ? { role: "assistant", content: message } : message,
});

export const user = (content: string) => ({ role: "user", content });

/** A call in the form of the interface. */
export const called = (id: string, name: string, args = "{}") => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
