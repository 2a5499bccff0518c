/** `rollcall models`: the models that can be called. */
import type { Command } from "commander";
import type { Context, Start } from "../context.ts";
import type { InferenceModel } from "../contract/models.ts";
import { known } from "../contract/odd.ts";
import type { Column } from "../output/index.ts";
import { dayCell, sortValue, textCell } from "./cells.ts";
import { examples } from "./help.ts";
import {
  limitOf,
  type Order,
  orderOf,
  selected,
  selectionNotice,
  selectionOptions,
  type TypedSelection,
} from "./selection.ts";

/** What `models` was asked for. */
interface ModelsOptions {
  readonly pattern: string | undefined;
  readonly order: readonly Order<InferenceModel>[];
  readonly limit: number | undefined;
}

/** Declares `models` (service-interface 4.2). */
export const declareModels = (parent: Command, start: Start): void => {
  const command = parent
    .command("models")
    .description("list the models that can be called")
    .argument("[pattern]", "words of the id, or a glob such as 'qwen*'");
  selectionOptions(command).action(async (pattern: string | undefined, typed: TypedSelection, own: Command) => {
    const context = start(own);
    await listModels(context, { pattern, order: orderOf(typed.sort, modelColumns), limit: limitOf(typed.limit) });
  });
  examples(command, ["rollcall models --local", "rollcall models 'qwen*' --sort -created --json --local"]);
};

const listModels = async (context: Context, { pattern, order, limit }: ModelsOptions): Promise<void> => {
  const { screen } = context;
  const endpoint = (await context.contract.models()).listModels;
  const client = await context.client(await context.settings());
  const progress = screen.progress("listing the models");
  const reply = await client.send(endpoint, { parameters: {}, body: undefined }).finally(progress.stop);
  const entries = reply.value.data;
  const selection = selected({ entries, matches: await matcherFor(context, pattern), order, limit });
  const about = { pattern, of: entries.length, filtered: false, none: "the service lists no models" };
  const sentence = selectionNotice(selection, about);
  if (sentence !== undefined) screen.notice(sentence);
  const wire = { bytes: reply.bytes, member: "data", kept: selection.kept };
  await screen.list({ columns: modelColumns, rows: selection.rows, wire });
};

const matcherFor = async (context: Context, pattern = ""): Promise<(model: InferenceModel) => boolean> => {
  if (pattern === "") return () => true;
  const matches = (await context.catalogs()).matchesPattern(pattern);
  return ({ id }) => matches({ id: known(id) ?? "", name: "" });
};

/** The fields of service-interface 2.3; their order is a promise (cli.md, "Output"). */
export const modelColumns: readonly Column<InferenceModel>[] = [
  {
    name: "id",
    heading: "id",
    rank: 0,
    cell: ({ id }, spelled) => textCell(id, spelled),
    value: ({ id }) => sortValue(id),
  },
  {
    name: "created",
    heading: "created",
    rank: 2,
    cell: ({ created }, spelled) => dayCell(created, spelled),
    value: ({ created }) => sortValue(created) || undefined,
  },
  {
    name: "owned_by",
    heading: "owned by",
    rank: 1,
    cell: ({ owned_by }, spelled) => textCell(owned_by, spelled),
    value: ({ owned_by }) => sortValue(owned_by),
  },
  {
    name: "root",
    heading: "root",
    rank: 3,
    cell: ({ root }, spelled) => textCell(root, spelled),
    value: ({ root }) => sortValue(root),
  },
  {
    name: "object",
    heading: "object",
    rank: 4,
    cell: ({ object }, spelled) => textCell(object, spelled),
    value: ({ object }) => sortValue(object),
  },
];
