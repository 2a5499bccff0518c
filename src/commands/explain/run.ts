/** What `rollcall explain` does. */
import type { Context } from "../../context.ts";
import { Failure, type Problem, type Reason } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import {
  type Column,
  drawnText,
  type Line,
  printDocument,
  printList,
  printPage,
  type Section,
  sentencesOf,
  textColumn,
} from "../../output/index.ts";
import { reasonTopic, type Topic, topics } from "./pages.ts";

/** Lists all topics, or explains those of a name. @throws Failure `option-value-wrong` */
export const run = async (context: Context, name: string | undefined): Promise<void> => {
  if (name === undefined) await listTopics(context, topics);
  else await explain(context, name);
};

/** A topic in a list. */
interface Listed {
  readonly topic: Topic;
  /** What it is in a few words: of a reason, what its example says. */
  readonly about: string;
}

const listed = async (topics: readonly Topic[]): Promise<readonly Listed[]> =>
  await Promise.all(
    topics.map(async (topic) => ({
      topic,
      about: topic.kind === "reason" ? (await sentencesOf(topic.example)).message : topic.about,
    })),
  );

const listTopics = async (context: Context, topics: readonly Topic[]): Promise<void> => {
  const rows = await listed(topics);
  const bytes = Buffer.from(JSON.stringify({ topics: rows.map(listedDocument) }));
  await printList(context.screen, { columns, rows, wire: { bytes, member: "topics" } });
};

const listedDocument = ({ topic, about }: Listed) => ({
  name: topic.name,
  kind: topic.kind,
  about,
  code: topic.kind === "rule" ? null : codeOf(topic),
  exit_codes: topic.kind === "rule" ? [] : topic.exitCodes,
  severity: topic.kind === "rule" ? topic.severity : null,
});

const codeOf = (topic: Exclude<Topic, { readonly kind: "rule" }>): string =>
  topic.kind === "code" ? topic.name : topic.code;

const columns: readonly Column<Listed>[] = [
  textColumn("name", { rank: 0, text: ({ topic }) => topic.name }),
  textColumn("kind", { rank: 1, text: ({ topic }) => topic.kind }),
  textColumn("about", { rank: 0, text: ({ about }) => about }),
  textColumn("code", { rank: 3, text: ({ topic }) => (topic.kind === "rule" ? "" : codeOf(topic)) }),
  textColumn("exit_codes", {
    heading: "exit codes",
    rank: 4,
    text: ({ topic }) => (topic.kind === "rule" ? "" : topic.exitCodes.join(", ")),
  }),
  textColumn("severity", { rank: 5, text: ({ topic }) => (topic.kind === "rule" ? topic.severity : "") }),
];

/** In JSON the objects of the list, with `reasons` and `example` added. @throws Failure `option-value-wrong` */
const explain = async (context: Context, typed: string): Promise<void> => {
  const { screen } = context;
  const name = typed.replace(/^\[(.*)\]$/, "$1");
  const found = topics.filter((topic) => topic.name === name || (topic.kind === "code" && isExit(topic, name)));
  if (found.length === 0) {
    throw new Failure("option-value-wrong", {
      option: "<name>",
      value: typed,
      wanted: "an error code, an exit code or a rule, as `rollcall explain` lists them",
      suggestion: nearest(
        name,
        topics.map((topic) => topic.name),
      ),
    });
  }
  if (context.screen.isForProgram) {
    const rows = await listed(found);
    const explained = await Promise.all(
      rows.map(async (row) => ({ ...listedDocument(row), ...(await more(context, row.topic)) })),
    );
    await printDocument(screen, { topics: explained }, "topics");
    return;
  }
  if (screen.format === "csv") return await listTopics(context, found);
  const sections = await Promise.all(found.map(async (topic) => await sectionsOf(context, topic)));
  await printPage(screen, { sections: sections.flat() });
};

const isExit = ({ exitCodes }: { readonly exitCodes: readonly number[] }, name: string): boolean =>
  exitCodes.some((exit) => String(exit) === name);

const more = async ({ screen }: Context, topic: Topic) => ({
  reasons: topic.kind === "code" ? topic.reasons : [],
  example: topic.kind === "code" ? null : await drawnText(screen, await exampleOf(topic)),
});

const exampleOf = async (topic: Exclude<Topic, { readonly kind: "code" }>): Promise<Failure | Problem> =>
  topic.kind === "rule" ? await topic.example() : topic.example;

const sectionsOf = async ({ screen }: Context, topic: Topic): Promise<readonly Section[]> => [
  { title: topic.name, lines: linesOf(topic) },
  ...(topic.kind === "code"
    ? [{ title: "Reasons", block: (await Promise.all(topic.reasons.map(reasonText))).join("\n") }]
    : [{ title: "Example", block: await drawnText(screen, await exampleOf(topic), blockIndent) }]),
];

/** A reason, what its example says, and what to do about it. */
const reasonText = async (name: Reason): Promise<string> => {
  const { message, hint } = await sentencesOf(reasonTopic(name).example);
  return [name, `  ${message}`, ...(hint === undefined ? [] : [`  hint: ${hint}`])].join("\n");
};

/** Columns that a page leaves before a block. */
const blockIndent = 2;

const linesOf = (topic: Topic): readonly Line[] => {
  if (topic.kind === "code") {
    return [
      { label: "kind", text: `error code, exit code ${topic.exitCodes.join(", ")}` },
      { label: "when", text: topic.about },
    ];
  }
  if (topic.kind === "reason") {
    return [
      { label: "kind", text: `a reason of ${topic.code}, exit code ${topic.exitCodes.join(", ")}` },
      { label: "when", text: topic.about },
    ];
  }
  const { severity } = topic;
  const judged = `--strict makes it an error, --allow ${topic.name} silences it`;
  return [
    { label: "kind", text: `a rule: ${severity === "error" ? "an error" : "a warning"}` },
    ...(topic.judged && severity === "warning" ? [{ label: "options", text: judged }] : []),
    { label: "why", text: topic.about },
  ];
};
