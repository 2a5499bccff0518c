/** Defines the columns of model lists (interface 2.3 and 2.5), whose order output.md promises. */
import * as catalogs from "../../catalogs/index.ts";
import { type CellTag, type Column, readSpelledObject } from "../../output/index.ts";

type Row = catalogs.CatalogRow;

/** `priced` lists the inference models with their catalog entries. */
export type ListName = catalogs.CatalogName | "all" | "priced";

/** @param now ms since 1970; 0 tags no deprecation */
export const rowColumns = (of: ListName, now = 0): readonly Column<Row>[] => {
  const isJoined = of === "all" || of === "priced";
  const toColumn = (field: catalogs.FieldColumn): Column<Row> => {
    const column = isJoined ? { ...field, path: `entry.${field.name}` } : field;
    if (field.name !== "deprecation_date") return column;
    const tag = ({ entry }: Row) => entry && tagDeprecation(catalogs.deprecationDay(entry), now);
    return { ...column, tag };
  };
  const [id, ...fields] = catalogs.catalogFields;
  const others = fields.map(toColumn);
  if (!isJoined) return [id, ...others];
  const catalog: Column<Row> = {
    name: "catalog",
    heading: "catalog",
    rank: 0,
    cell: ({ catalog }) => catalog ?? "none",
    value: ({ catalog }) => catalog,
  };
  if (of === "all") return [toColumn(id), catalog, ...others];
  const [modelId, ...modelFields] = catalogs.modelFields;
  const modelColumns = modelFields.map((field) => {
    return { ...field, name: `model.${field.name}`, heading: `model\n${field.heading}`, rank: 20 + field.rank };
  });
  return [{ ...toColumn(modelId), cell: spellModelId, value: spellModelId }, catalog, ...others, ...modelColumns];
};

const spellModelId = ({ model }: Row) => (model ? readSpelledObject(model.raw).text("id") : "");

const warnDays = 30;

export const tagDeprecation = (day: string | null | undefined, now: number): CellTag | undefined => {
  const today = catalogs.utcDay(now);
  if (!day || day > catalogs.utcDay(now + warnDays * catalogs.dayMs)) return undefined;
  if (day > today) return { text: "soon", textElsewhere: "ends soon", tone: "warning" };
  return { text: day < today ? "past" : "today", textElsewhere: "deprecated", tone: "bad" };
};

/** Returns `prompt` for `pricing.prompt`, and `input` for `input_modalities`. */
export const formatFactName = (field: string) =>
  /^pricing\.(.*)$/s.exec(field)?.[1] ?? /^(input|output)_modalities\b/.exec(field)?.[1] ?? "";
