/** What `rollcall explain` does. */
import { wrongValue } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { nearest } from "../../nearest.ts";
import { drawnText, type Line, printDocument, printPage, type Section } from "../../output/index.ts";
import { printOwn } from "../lists/own.ts";
import { type Topic, topics } from "./topics.ts";

/** Lists all topics, or explains those of a name. @throws Failure `option-value-wrong` */
export const run = async (context: Context, name: string | undefined): Promise<void> => {
  if (name === undefined) await listTopics(context, topics);
  else await explain(context, name);
};

const listTopics = async ({ screen }: Context, rows: readonly Topic[]): Promise<void> =>
  await printOwn(screen, {
    member: "topics",
    rows: rows.map(listedDocument),
    columns: { name: 0, kind: 1, about: 0, code: 3, exit_codes: { heading: "exit codes", rank: 4 }, severity: 5 },
  });

const listedDocument = (topic: Topic) => ({
  name: topic.name,
  kind: topic.kind,
  about: topic.about,
  code: topic.kind === "code" ? topic.name : null,
  exit_codes: topic.kind === "code" ? topic.exitCodes : [],
  severity: topic.kind === "rule" ? topic.severity : null,
});

/** Explains a name; in JSON an `example` is added to the objects of the list. @throws Failure `option-value-wrong` */
const explain = async (context: Context, typed: string): Promise<void> => {
  const { screen } = context;
  const name = typed.replace(/^\[(.*)\]$/, "$1");
  const found = topics.filter((topic) => topic.name === name || (topic.kind === "code" && isExit(topic, name)));
  if (found.length === 0) {
    const names = topics.map((topic) => topic.name);
    const wanted = "an error code, an exit code or a rule, as `rollcall explain` lists them";
    throw wrongValue("<name>", typed, wanted, nearest(name, names));
  }
  if (context.screen.isForProgram) {
    const explained = await Promise.all(
      found.map(async (topic) => ({ ...listedDocument(topic), example: await exampleText(context, topic) })),
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

/** The example of a rule, as a terminal shows it; null for a code. */
const exampleText = async ({ screen }: Context, topic: Topic, indent = 0): Promise<string | null> =>
  topic.kind === "code" ? null : await drawnText(screen, await topic.example(), indent);

const sectionsOf = async (context: Context, topic: Topic): Promise<readonly Section[]> => {
  const example = await exampleText(context, topic, blockIndent);
  const page = { title: topic.name, lines: linesOf(topic) };
  return example === null ? [page] : [page, { title: "Example", block: example }];
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
  const { severity } = topic;
  const judged = `--strict makes it an error, --allow ${topic.name} silences it`;
  return [
    { label: "kind", text: `a rule: ${severity === "error" ? "an error" : "a warning"}` },
    ...(topic.judged && severity === "warning" ? [{ label: "options", text: judged }] : []),
    { label: "why", text: topic.about },
  ];
};
