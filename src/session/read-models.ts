/** Reads the list of inference models (interface 2.3). */
import { noteDefects } from "../output/lists/sort-rows.ts";
import type { Settings } from "../settings/read.ts";
import { saveIds } from "../settings/saved-files.ts";
import { listModels as endpoint } from "../wire/contract/models.ts";
import { openServiceClient } from "./connect.ts";
import type { Context } from "./context.ts";

export const readModels = async (context: Context, settings: Settings) => {
  const client = await openServiceClient(context, settings);
  const { value: models } = await client.send(endpoint, { parameters: {}, body: undefined });
  const ids = models.entries.map(({ value }) => value.id);
  saveIds(context.host, "models", ids);
  noteDefects(context.screen, models, "the list of models");
  return models;
};
