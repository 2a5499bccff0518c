/** The page as one file, with its data: it asks nobody, and what was read stays text. */
import { createHash } from "node:crypto";
import type { GroupData, GroupDetail, PageData, Row, State } from "./answers.ts";
import { documentOf, pageScript, pageStyle } from "./document.ts";
import { allGroups, rowsPerPage } from "./query.ts";
import type { Session } from "./session.ts";

/** Limits of a page in a file: a browser shows it at once, and it can be sent by mail. */
export const maxWritten = { groups: 2000, bytes: 20_000_000, findings: 2000 };

/** A page to be written. */
export interface WrittenPage {
  /** The document without its first line. */
  readonly pieces: readonly string[];
  readonly groups: { readonly read: number; readonly written: number };
  readonly trajectories: { readonly read: number; readonly written: number };
}

export interface WrittenOptions {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Redacts JSON that contains what was read. */
  readonly safe: (json: string) => string;
  readonly signal: AbortSignal;
}

/** Makes the page of a measured session, with the first groups that fit. @throws Failure `input-changed`; the signal's reason */
export const writtenPage = async (session: Session, { at, safe, signal }: WrittenOptions): Promise<WrittenPage> => {
  const [state, charts] = [await session.state(allGroups), await session.charts(allGroups)];
  if (state?.summary === undefined || charts === undefined) throw new Error("nothing was read");
  const findings = session.findings(maxWritten.findings);
  const block = (id: string, value: PageData | GroupData): string =>
    // A script that is not run ends at its end tag, and no `<` is left.
    `<script type="application/json" id="${id}">${safe(JSON.stringify(value)).replaceAll("<", "\\u003c")}</script>\n`;
  const blocks: string[] = [];
  const rows: PageData["rows"][number][] = [];
  let bytes = 0;
  for await (const row of rowsOf(session)) {
    signal.throwIfAborted();
    const size = session.reading.groups.bytesOf(row.group);
    if (bytes + size > maxWritten.bytes) continue;
    const detail = await session.group({ ...allGroups, group: row.group + 1 });
    if (detail === undefined) continue;
    bytes += size;
    const { place, valid, members, findings: own } = detail;
    const rewards = valid ? members.map(({ reward }) => reward) : [];
    rows.push({ row, file: place?.file ?? "", rewards, rules: [...new Set(own.map(({ rule }) => rule))] });
    blocks.push(block(`group-${row.group}`, { detail, trajectories: await trajectoriesOf(session, detail) }));
    if (rows.length === maxWritten.groups) break;
  }
  const written: State = { ...state, written: { at: new Date(at).toISOString(), groups: rows.length } };
  const { groups, trajectories } = state.summary;
  return {
    pieces: piecesOf([block("held", { state: written, charts, findings, rows }), ...blocks]),
    groups: { read: groups.read, written: rows.length },
    trajectories: { read: trajectories.read, written: rows.reduce((sum, { row }) => sum + row.size, 0) },
  };
};

async function* rowsOf(session: Session): AsyncGenerator<Row, void> {
  for (let page = 1; ; page++) {
    const rows = (await session.rows({ ...allGroups, page }))?.rows ?? [];
    yield* rows;
    if (rows.length < rowsPerPage) return;
  }
}

const trajectoriesOf = async (session: Session, { group, members }: GroupDetail): Promise<readonly string[]> => {
  const all: string[] = [];
  for (const at of members.keys()) {
    all.push((await session.trajectory({ ...allGroups, group: group + 1, trajectory: at + 1 })) ?? "");
  }
  return all;
};

/** The document, with blocks of data before its script. */
const piecesOf = (blocks: readonly string[]): readonly string[] => {
  const script = pageScript.replaceAll(/<(?=\/script|!--)/gi, "\\x3c");
  const policy = [
    "default-src 'none'",
    `script-src ${digestOf(script)}`,
    `style-src ${digestOf(pageStyle)}`,
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const blocksMark = "<!-- what was read -->";
  const head = [
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    '<meta name="referrer" content="no-referrer">',
    `<style>${pageStyle}</style>`,
    blocksMark,
  ].join("\n");
  const [before = "", after = ""] = documentOf({ head, body: `<script>${script}</script>` }).split(blocksMark);
  return [before, ...blocks, after];
};

const digestOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
