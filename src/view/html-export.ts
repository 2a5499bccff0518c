/** Formats the page, and exports a page that sends no requests. */
import { createHash } from "node:crypto";
import { formatJsonPieces, toRawJson } from "../json/raw-json.ts";
import * as table from "../json/table.ts";
import { Breaks } from "../system/breaks.ts";
import type { Host } from "../system/host.ts";
import { listByKey } from "../text/lists.ts";
import { compareNumbers, compareSteps, listSteps } from "./answer-queries.ts";
import type { GroupData, GroupFacts, GroupRow, PageData } from "./answers.ts";
import type { ViewInput } from "./group-content.ts";
import conversationStyle from "./page/conversation.css?raw";
import pageScript from "./page/main.tsx?page";
import baseStyle from "./page/page.css?raw";
import { openSession } from "./session.ts";

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
  const { store, finish } = openSession(input.dataset, input.groupBy, signal);
  await finish(input);
  const breaks = new Breaks(signal);
  const formatBlock = async (id: string, value: PageData | GroupData | GroupRow) => {
    const pieces = [`<script type="application/json" id="${id}">`];
    for (const piece of formatJsonPieces(toRawJson(value), "")) {
      // Without `<`, no text can end the script element.
      pieces.push(redactJson(piece).replaceAll("<", "\\u003c"));
      if (breaks.isDue(8 * piece.length)) await breaks.take();
    }
    return [...pieces, "</script>\n"];
  };
  const rows: GroupRow[] = [];
  let lacksLogprobs = false;
  const formatData = async () => {
    const written = listGroupSteps(rows);
    const steps = [...listGroupSteps(store.groups)]
      .sort(([a], [b]) => compareSteps(a, b))
      .map(([step, { length: of }]) => ({ step, groups: written.get(step)?.length ?? 0, of }));
    const at = new Date(now()).toISOString();
    const state = { ...store.state(), written: { at, groups: rows.length, lacksLogprobs, steps } };
    return await formatBlock("data", { count: store.count, state, charts: await store.charts(), rows });
  };
  const script = pageScript.replaceAll(/<(?=\/script|!--)/gi, "\\x3c");
  const policy = formatPolicy(digestOf(script), digestOf(pageStyle));
  const head = `<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="referrer" content="no-referrer">
<style>${pageStyle}</style>`;
  const format = (body: readonly string[]) => [
    pageStart,
    ...formatDocument(head, [...body, `<script>${script}</script>`]),
  ];
  const blocks: string[] = [];
  let bytes = countBytes(format(await formatData()));
  for (const facts of rankGroups(store.groups)) {
    const { group } = facts;
    if (rows.length === exportLimits.groups) break;
    const read = await store.readGroup(group);
    const data = { ...read, trajectories: read.trajectories.map(omitLogprobs) };
    // A block has more bytes, and takes long to format.
    const least = data.trajectories.reduce((sum, { length }) => sum + length, data.rest.length);
    if (bytes + least > exportLimits.bytes) continue;
    const row = await store.readRow(facts);
    const block = await formatBlock(`group-${group}`, data);
    const size = countBytes([...block, ...(await formatBlock("row", row))]);
    if (bytes + size > exportLimits.bytes) continue;
    bytes += size;
    lacksLogprobs ||= data.trajectories.some((json, at) => json !== read.trajectories[at]);
    rows.push(row);
    for (const piece of block) blocks.push(piece);
  }
  rows.sort((a, b) => a.group - b.group);
  return {
    pieces: format([...(await formatData()), ...blocks]),
    groups: rows.length,
    trajectories: rows.reduce((sum, { size }) => sum + size, 0),
  };
};

const countBytes = (pieces: readonly string[]) => pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0);

/** In turns over the steps, the newest first. In each step, the lowest means are first. */
const rankGroups = (groups: readonly GroupFacts[]) => {
  const meanOf = ({ mean }: GroupFacts) => mean ?? Number.NaN;
  const sorted = groups.toSorted((a, b) => compareSteps(b.step, a.step) || compareNumbers(meanOf(a), meanOf(b), false));
  const steps = [...listByKey(sorted, ({ step }) => step).values()];
  const turns = steps.flatMap((own) => own.map((facts, turn) => ({ facts, turn })));
  return turns.sort((a, b) => a.turn - b.turn).map(({ facts }) => facts);
};

/** Each list has a step once per group. */
const listGroupSteps = (groups: readonly GroupFacts[]) =>
  listByKey(
    groups.flatMap((facts) => [...new Set(listSteps(facts))]),
    (step) => step,
  );

/** Log probabilities are most of the bytes of a choice, and the page does not show them. */
const omitLogprobs = (json: string) => {
  if (!json.includes('"logprobs"')) return json;
  const bytes = Buffer.from(json);
  const pieces: Buffer[] = [];
  let from = 0;
  for (const choice of table.elementsOf(table.memberAt(table.readRoot(bytes), "messages_and_choices"))) {
    const logprobs = table.memberAt(choice, "logprobs");
    if (!logprobs) continue;
    const { start, end } = table.spanOf(logprobs);
    pieces.push(bytes.subarray(from, start), Buffer.from("null"));
    from = end;
  }
  return Buffer.concat([...pieces, bytes.subarray(from)]).toString();
};

const digestOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
