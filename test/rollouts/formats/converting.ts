/** Converts files of other tools, and tells what becomes of them. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runHere } from "../../support/here.ts";

type Rows = readonly (object | string)[];

/** Rows or texts of files by name. */
export type Files = Readonly<Record<string, Rows | string>>;

const linesOf = (rows: Rows): string =>
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

export const fileOf = (rows: Rows, name = "rows.jsonl"): string => join(folderOf({ [name]: rows }), name);

/** The file of --rewards with ids and rewards such as `s=1,t=0.5`. */
export const rewardsFile = (rewards: string): string =>
  fileOf(
    rewards.split(",").map((pair) => {
      const [id, reward] = pair.split("=");
      return { id, reward: Number(reward) };
    }),
    "rewards",
  );

type Message = Readonly<{
  role?: string;
  content?: unknown;
  reasoning_content?: string;
  tool_calls?: readonly { function: { name: string } }[];
  is_error?: boolean;
}>;
type Turn = Message & Readonly<{ message?: Message; finish_reason?: string }>;

const showTurn = ({ message, finish_reason: finish, ...own }: Turn): string => {
  const { role = "", content, reasoning_content: thought, tool_calls: calls = [], is_error } = message ?? own;
  const letter = message ? role.charAt(0).toUpperCase() : role.charAt(0);
  const usual = calls.length > 0 ? "tool_calls" : "stop";
  return [
    ...[letter, thought ? `~${thought}` : "", typeof content === "string" && content !== "" ? `:${content}` : ""],
    ...[...calls.map(({ function: { name } }) => `→${name}`), is_error ? "!" : ""],
    finish === undefined || finish === usual ? "" : `.${finish}`,
  ].join("");
};

interface Converted {
  readonly trajectories: readonly {
    readonly reward: number;
    readonly messages_and_choices: readonly Turn[];
    readonly additional_histories?: readonly { readonly messages_and_choices: readonly Turn[] }[];
  }[];
  readonly exceptions?: readonly { readonly type: string; readonly message: string }[];
}

/** Removes the mark of derived finish reasons, which most conversions have. */
const unmarked = (text: string): string => text.replaceAll(/,"derived_finish_reasons":\[[\d,]*\]/g, "");

/** Shows a group, such as `(s:be brief u:q A:a.length / u:q a) =1 !Timeout: late`. Capitals are choices. */
export const showGroup = ({ trajectories, exceptions = [] }: Converted): string =>
  [
    ...trajectories.map(({ messages_and_choices: main, additional_histories: histories = [], reward }) => {
      const all = [main, ...histories.map(({ messages_and_choices }) => messages_and_choices)];
      return `(${all.map((turns) => turns.map(showTurn).join(" ")).join(" / ")}) =${reward}`;
    }),
    ...exceptions.map(({ type, message }) => `!${type}: ${message}`),
  ].join(" ");

/** Records of a file, or the files. */
export type Input = Rows | Files;

/**
 * Converts an input. Returns each group as it is shown and as JSON, the notes and the errors. Without other arguments,
 * the reward is `r` if records have it, and 1 for the ids `s`, `t`, `a`, `b` and `c` of documents without a reward.
 */
export const tell = async (input: Input, typed = ""): Promise<string> => {
  const files = Array.isArray(input) ? { "a.jsonl": input } : (input as Files);
  const folder = folderOf(files);
  const text = JSON.stringify(files).replaceAll("\\", "");
  const unrated = /"(schema_version|trajectory_format)":/.test(text) ? "--rewards s=1,t=1,a=1,b=1,c=1" : "";
  const usual = text.includes('"r":') ? "--reward-from r" : unrated;
  // Without --from, trajectories with exchanges are passed on as they are.
  const from = text.includes('"exchanges":') ? "--from art" : "";
  const args = `${from} ${typed || usual}`.split(" ").filter(Boolean);
  const words = args.map((word, at) => (args[at - 1] === "--rewards" ? rewardsFile(word) : word));
  const paths = Object.keys(files).map((name) => join(folder, name));
  const { stdout, stderr } = await runHere(["convert", ...paths, ...words]);
  const groups = unmarked(stdout).split("\n").filter(Boolean);
  return [...groups.flatMap((line) => [showGroup(JSON.parse(line)), line]), stderr.replaceAll(`${folder}/`, "")].join(
    "\n",
  );
};

/** What an input becomes: parts of what is told, which ` & ` separates. A part after `no:` is not told. */
export type Row = readonly [what: string, input: Input, expected: string, args?: string];

export const itTells = (title: string, rows: readonly Row[]): void => {
  it.for(rows)(title, async ([, input, expected, args]) => {
    const text = await tell(input, args);
    for (const part of expected.split(" & ")) {
      if (part.startsWith("no:")) expect(text).not.toContain(part.slice(3));
      else expect(text).toContain(part);
    }
  });
};

/** Converts files in this process. Returns the groups, or the errors. */
export const convertHere = async (files: Files, args: readonly string[] = []) => {
  const folder = folderOf(files);
  const paths = Object.keys(files).map((name) => join(folder, name));
  const { stdout, stderr } = await runHere(["convert", ...paths, "-q", ...args]);
  const lines = unmarked(stdout).split("\n").filter(Boolean);
  return stdout === "" ? stderr : lines.map((line) => JSON.parse(line));
};

/** Returns the notes about the values of a file, without those that most conversions have. */
export const notesHere = async (content: Files[string], args: readonly string[] = []): Promise<readonly string[]> => {
  const file = join(folderOf({ "a.jsonl": content }), "a.jsonl");
  const { stdout } = await runHere(["check", file, "--json", "--fields", "notes", ...args]);
  const { notes }: { notes: readonly string[] } = JSON.parse(stdout);
  return notes.filter(
    (note) =>
      !/^the input was read as|^derived the missing finish_reason|not converted: |no log probabilities/.test(note),
  );
};

/** Converts a file. Returns the groups and the notes. */
export const convertFile = async (file: string, args: readonly string[] = []) => {
  const folder = folderOf({});
  const out = join(folder, "groups.jsonl");
  const rejects = args.includes("skip") ? ["--rejects", join(folder, "rejects.jsonl")] : [];
  const { code, stderr } = await runHere(["convert", file, ...args, ...rejects, "--out", out]);
  return {
    code,
    lines: existsSync(out) ? unmarked(readFileSync(out, "utf8")).split("\n").slice(0, -1) : [],
    notes: stderr.split("\n").flatMap((line) => /^note: (.*)/.exec(line)?.[1] ?? []),
    stderr,
  };
};

export const convertRows = async (rows: Rows, args: readonly string[] = []) => await convertFile(fileOf(rows), args);
