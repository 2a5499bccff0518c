/** Converts files of other tools with the built program or in this process, and returns all results. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { runHere } from "../../support/here.ts";
import { runRollcall } from "../../support/run.ts";

interface Group {
  readonly trajectories: readonly object[];
}

/** Rows or texts of files by name. */
type Files = Readonly<Record<string, readonly (object | string)[] | string>>;

const linesOf = (rows: readonly (object | string)[]): string =>
  rows.map((row) => (typeof row === "string" ? row : JSON.stringify(row))).join("\n");

/** Writes files into a folder for this test; returns the folder. */
export const folderOf = (files: Files): string => {
  const folder = mkdtempSync(join(tmpdir(), "converting-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, typeof content === "string" ? content : linesOf(content));
  }
  return folder;
};

export const fileOf = (rows: readonly (object | string)[], name = "rows.jsonl"): string => {
  const file = join(mkdtempSync(join(tmpdir(), "rows-")), name);
  writeFileSync(file, linesOf(rows));
  return file;
};

/** Converts files in their order. Returns the groups, and the positions and messages of errors. */
export const convertFiles = async (files: Files, { args = [] }: { readonly args?: readonly string[] } = {}) => {
  const ran = await runRollcall(["convert", ...Object.keys(files), ...args], { cwd: folderOf(files) });
  const groups: readonly Group[] = ran.stdout.split("\n").flatMap((line) => (line === "" ? [] : JSON.parse(line)));
  return { code: ran.code, groups, errors: ran.stderr.split("\n").filter((line) => line.includes(" error: ")) };
};

/** Converts files in this process. Returns the groups, or the errors. */
export const convertHere = async (files: Files, args: readonly string[] = []) => {
  const folder = folderOf(files);
  const paths = Object.keys(files).map((name) => join(folder, name));
  const { stdout, stderr } = await runHere(["convert", ...paths, "-q", ...args]);
  return stdout === ""
    ? stderr
    : stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
};

const initialOf = ({ role }: { readonly role: string }): string => role.charAt(0);

type Turn = Readonly<{ role: string; message?: Readonly<{ role: string }> }>;

/** Shows the roles of turns, with capitals for choices, such as `s u A`. */
export const showTurns = (turns: readonly Turn[]): string =>
  turns.map((turn) => (turn.message ? initialOf(turn.message).toUpperCase() : initialOf(turn))).join(" ");

/** Shows the turns of a trajectory, or the errors. */
export const turnsHere = async (files: Files, args: readonly string[] = []): Promise<string> => {
  const groups = await convertHere(files, args);
  if (typeof groups === "string") return groups;
  return showTurns(groups[0].trajectories[0].messages_and_choices);
};

/** Returns the notes about the values of a file, without those that most conversions have. */
export const notesHere = async (content: Files[string], args: readonly string[] = []): Promise<readonly string[]> => {
  const file = join(folderOf({ "a.jsonl": content }), "a.jsonl");
  const { stdout } = await runHere(["check", file, "--json", "--fields", "notes", ...args]);
  const { notes }: { notes: readonly string[] } = JSON.parse(stdout);
  return notes.filter(
    (note) => !/^the input was read as|^added the missing finish_reason|^\d+ values? |no log probabilities/.test(note),
  );
};

/** Converts a file. Returns the groups and the notes. */
export const convertFile = async (file: string, args: readonly string[] = []) => {
  const folder = mkdtempSync(join(tmpdir(), "converted-"));
  const out = join(folder, "groups.jsonl");
  const rejects = args.includes("skip") ? ["--rejects", join(folder, "rejects.jsonl")] : [];
  const { code, stderr } = await runRollcall(["convert", file, ...args, ...rejects, "--out", out]);
  return {
    code,
    lines: existsSync(out) ? readFileSync(out, "utf8").split("\n").slice(0, -1) : [],
    notes: stderr.split("\n").flatMap((line) => /^note: (.*)/.exec(line)?.[1] ?? []),
    stderr,
  };
};

export const convertRows = async (rows: readonly (object | string)[], args: readonly string[] = []) =>
  await convertFile(fileOf(rows), args);

export const turn = (content: string, finish_reason = "stop") => ({
  finish_reason,
  index: 0,
  message: { role: "assistant", content },
});

export const user = (content: string) => ({ role: "user", content });
