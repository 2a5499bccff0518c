/** Formats the page, and exports a page that sends no requests. */
import { createHash } from "node:crypto";
import { formatJsonPieces, toRawJson } from "../json/raw-json.ts";
import { Breaks } from "../system/breaks.ts";
import type { Host } from "../system/host.ts";
import type { GroupData, GroupRow, PageData } from "./answers.ts";
import type { ViewInput } from "./group-content.ts";
import conversationStyle from "./page/conversation.css?raw";
import pageScript from "./page/main.tsx?page";
import baseStyle from "./page/page.css?raw";
import { readSession } from "./session.ts";

export { pageScript };
export const pageStyle = `${baseStyle}${conversationStyle}`;

export const formatDocument = (head: string, body: readonly string[]) => [
  `<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>rollcall view</title>
<link rel="icon" href="data:,">
${head}
</head>
<body>
<noscript>This page needs JavaScript.</noscript>
`,
  ...body,
  "\n</body>\n</html>\n",
];

export const formatPolicy = (script: string, style: string, extra: readonly string[] = []) => {
  const directives = ["default-src 'none'", `script-src ${script}`, `style-src ${style}`, "img-src data:"];
  return [...directives, "base-uri 'none'", "form-action 'none'", ...extra].join("; ");
};

/** A browser opens pages beyond these limits slowly. */
export const exportLimits = { groups: 2000, bytes: 20_000_000 };

const pageStart = "<!doctype html>\n<!-- a page by rollcall view -->\n";

/** @throws Failure `input-changed`; the signal's reason */
export const exportPage = async (input: ViewInput, { now, signal }: Host, redactJson: (json: string) => string) => {
  const { store } = await readSession(input, signal);
  const breaks = new Breaks(signal);
  const formatBlock = async (id: string, value: PageData | GroupData) => {
    const pieces = [`<script type="application/json" id="${id}">`];
    for (const piece of formatJsonPieces(toRawJson(value), "")) {
      // Without `<`, no text can end the script element.
      pieces.push(redactJson(piece).replaceAll("<", "\\u003c"));
      if (breaks.isDue(8 * piece.length)) await breaks.take();
    }
    return [...pieces, "</script>\n"];
  };
  const blocks: string[] = [];
  let bytes = 0;
  const rows: GroupRow[] = [];
  for (const facts of store.groups) {
    const { group } = facts;
    if (rows.length === exportLimits.groups) break;
    const data = await store.readGroup(group);
    const size = data.trajectories.reduce((sum, { length }) => sum + length, data.rest.length);
    if (bytes + size > exportLimits.bytes) continue;
    bytes += size;
    rows.push(await store.readRow(facts));
    for (const piece of await formatBlock(`group-${group}`, data)) blocks.push(piece);
  }
  const state = { ...store.state(), written: { at: new Date(now()).toISOString(), groups: rows.length } };
  const data = { count: store.count, state, charts: await store.charts(), rows };
  const script = pageScript.replaceAll(/<(?=\/script|!--)/gi, "\\x3c");
  const policy = formatPolicy(digestOf(script), digestOf(pageStyle));
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${pageStyle}</style>`;
  return {
    pieces: [
      pageStart,
      ...formatDocument(head, [...(await formatBlock("data", data)), ...blocks, `<script>${script}</script>`]),
    ],
    groups: rows.length,
    trajectories: rows.reduce((sum, { size }) => sum + size, 0),
  };
};

const digestOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
