/** Converts files of another tool with the built program, and returns all results. */
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runRollcall } from "../support/run.ts";

export interface Converted {
  readonly code: number | null;
  /** The written groups. */
  readonly lines: readonly string[];
  readonly notes: readonly string[];
  /** Paths of values that were left out, with the reasons. */
  readonly left: readonly (readonly [path: string, reason: string])[];
  readonly stderr: string;
}

/** Writes rows into a new file, one per line. */
export const fileOf = (rows: readonly (object | string)[], name = "rows.jsonl"): string => {
  const file = join(mkdtempSync(join(tmpdir(), "rows-")), name);
  writeFileSync(file, rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n"));
  return file;
};

export const convertFile = async (file: string, args: readonly string[] = []): Promise<Converted> => {
  const folder = mkdtempSync(join(tmpdir(), "converted-"));
  const [out, receipt] = [join(folder, "groups.jsonl"), join(folder, "receipt.json")];
  const rejects = args.includes("skip") ? ["--rejects", join(folder, "rejects.jsonl")] : [];
  const ran = await runRollcall(["convert", file, ...args, ...rejects, "--out", out, "--receipt", receipt]);
  const lines = existsSync(out) ? readFileSync(out, "utf8").split("\n").slice(0, -1) : [];
  const { left_out = [] } = existsSync(receipt) ? JSON.parse(readFileSync(receipt, "utf8")) : {};
  return {
    code: ran.code,
    lines,
    notes: ran.stderr.split("\n").flatMap((line) => /^note: (.*)/.exec(line)?.[1] ?? []),
    left: left_out.map(({ path, reason }: { path: string; reason: string }) => [path, reason]),
    stderr: ran.stderr,
  };
};

export const convertRows = async (
  rows: readonly (object | string)[],
  args: readonly string[] = [],
): Promise<Converted> => await convertFile(fileOf(rows), args);

/** A choice. */
export const turn = (content: string, finish_reason = "stop") => ({
  finish_reason,
  index: 0,
  message: { role: "assistant", content },
});

export const user = (content: string) => ({ role: "user", content });
