/** Opens a screen on a test host, and makes a list of one text. */
import { toRawJson } from "../../src/json/raw-json.ts";
import { Screen, type ScreenOptions } from "../../src/output/screen.ts";
import type { Column, OutputFormat } from "../../src/output/views.ts";
import type { TestHost } from "../support/host.ts";

export type ScreenFlags = Omit<ScreenOptions, "format" | "fields"> &
  Readonly<{ json?: boolean; output?: OutputFormat | undefined; fields?: string | undefined }>;

export const toScreenOptions = ({ json = false, output, fields, ...others }: ScreenFlags): ScreenOptions => {
  return { ...others, format: json ? "json" : output, fields: fields?.split(",") };
};

export const screenOn = (host: TestHost, typed: ScreenFlags = {}) =>
  new Screen({ host, options: toScreenOptions(typed) });

const columns: readonly Column<{ readonly id: string }>[] = [
  { name: "id", heading: "id", rank: 0, cell: ({ id }) => id, value: ({ id }) => id },
];

/** Makes a list of one row whose only cell is the text. */
export const listOf = (id: string) => ({
  columns,
  rows: [{ id }],
  json: { document: toRawJson({ data: [{ id }] }), member: "data" },
});
