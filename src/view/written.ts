/** The page as one file, which holds what it shows: nothing is asked for, and what was read stays text. */
import { createHash } from "node:crypto";
import { htmlOf, pageScript, pageStyle } from "./html.ts";
import type { Looked } from "./looked.ts";
import type { GroupDetail, Held, HeldGroup, HeldRow, State } from "./shapes.ts";

/** What a page in a file holds at most: browsers show that at once, and it can be sent by mail. */
export const mostHeld = { groups: 2000, bytes: 20_000_000, findings: 2000 };

/** A page to be written. */
export interface WrittenPage {
  /** The document behind its first line, piece by piece. */
  readonly pieces: readonly string[];
  readonly groups: { readonly read: number; readonly written: number };
  readonly trajectories: { readonly read: number; readonly written: number };
}

/** How it is made. */
export interface WrittenOptions {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Makes JSON safe that holds what was read. */
  readonly safe: (json: string) => string;
  readonly signal: AbortSignal;
}

/** The page of what was read and measured: of more than it may hold, the first groups that fit. @throws Failure `input-changed`; the signal's reason */
export const writtenPage = async (looked: Looked, { at, safe, signal }: WrittenOptions): Promise<WrittenPage> => {
  const state = looked.state();
  const [charts, findings] = [looked.charts(), looked.problems(undefined, mostHeld.findings)];
  if (state.summary === undefined || charts === undefined || findings === undefined)
    throw new Error("nothing was read");
  const blocks: string[] = [];
  const block = (id: string, value: Held | HeldGroup): string =>
    // In a script that is none, nothing ends it but its end tag, and no `<` is left.
    `<script type="application/json" id="${id}">${safe(JSON.stringify(value)).replaceAll("<", "\\u003c")}</script>\n`;
  const rows: HeldRow[] = [];
  let bytes = 0;
  for (let group = 0; group < state.progress.of && rows.length < mostHeld.groups; group++) {
    signal.throwIfAborted();
    if (bytes + looked.bytesOf(group) > mostHeld.bytes) continue;
    const held = await groupOf(looked, group);
    if (held === undefined) continue;
    bytes += looked.bytesOf(group);
    rows.push(held.row);
    blocks.push(block(`group-${group}`, held.group));
  }
  const written: State = { ...state, written: { at: new Date(at).toISOString(), groups: rows.length } };
  const own = block("held", { state: written, charts, findings, rows });
  const { groups, trajectories } = state.summary;
  return {
    pieces: documentOf([own, ...blocks]),
    groups: { read: groups.read, written: rows.length },
    trajectories: { read: trajectories.read, written: rows.reduce((sum, { row }) => sum + row.size, 0) },
  };
};

const groupOf = async (
  looked: Looked,
  group: number,
): Promise<{ readonly row: HeldRow; readonly group: HeldGroup } | undefined> => {
  const detail = await looked.group(group);
  const [row] = (await looked.rows({ sort: "group", descending: false }, { from: group, most: 1 }))?.rows ?? [];
  if (detail === undefined || row === undefined) return undefined;
  const trajectories: string[] = [];
  for (const at of detail.members.keys()) {
    trajectories.push((await looked.trajectory(group, at))?.toString("utf8") ?? "");
  }
  return { row: { row, ...filteredBy(detail) }, group: { detail, trajectories } };
};

const filteredBy = ({ place, valid, members, findings }: GroupDetail): Omit<HeldRow, "row"> => ({
  file: place.file,
  rewards: valid ? members.map(({ reward }) => reward) : [],
  rules: [...new Set(findings.map(({ rule }) => rule))],
});

const documentOf = (blocks: readonly string[]): readonly string[] => {
  const script = pageScript.replaceAll(/<(?=\/script|!--)/gi, "\\x3c");
  const policy = [
    "default-src 'none'",
    `script-src ${digestOf(script)}`,
    `style-src ${digestOf(pageStyle)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const head = [
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="referrer" content="no-referrer">',
    `<style>${pageStyle}</style>`,
    held,
  ].join("\n");
  const [before = "", after = ""] = htmlOf({ head, body: `<script>${script}</script>` }).split(held);
  return [before, ...blocks, after];
};

/** Stands where the blocks do. */
const held = "<!-- what was read -->";

const digestOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
