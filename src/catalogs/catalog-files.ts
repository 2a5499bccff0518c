/** Reads files with catalogs. */
import { Failure, type FailureLocation } from "../failure.ts";
import { bomLength, isObject, locateOffset } from "../json/json-bytes.ts";
import { requireFault } from "../json/reader.ts";
import { readUpTo } from "../system/files.ts";
import type { Host } from "../system/host.ts";
import { describeSystemCode, formatInputName } from "../text/sentences.ts";
import { formatCommandLine } from "../text/shell-words.ts";
import type { CatalogModel } from "../wire/contract/models.ts";
import { readListReply, toText } from "../wire/contract/replies.ts";

/** The catalogs of interface 4.4 and 4.5, in the order of the output. */
export const catalogNames = ["analysis", "router"] as const;
export type CatalogName = (typeof catalogNames)[number];

const maxFileBytes = 2 ** 29;

/**
 * Reads the format of `-o json` or `-o jsonl`. Rows of `catalog all` are listed by catalog.
 * @param sourceArgs options for the service and its catalogs
 */
export const readCatalogFile = async (file: string, host: Host, sourceArgs: readonly string[]) => {
  const list = formatCommandLine(["rollcall", "catalog", "all", ...sourceArgs, "--json"]);
  const catalogHint = `write the catalogs to a file: \`${list} > models.json\``;
  const invalid = (reason: string, where: FailureLocation = { file }) => {
    const message = `${formatInputName(file)} is not a catalog: ${reason}`;
    return new Failure("invalid_input", "invalid-catalog-file", message, { hint: catalogHint, where });
  };
  const bytes = await readUpTo(file === "-" ? host.stdin : file, maxFileBytes, host, (code, cause) => {
    const message = `cannot read ${formatInputName(file)}: ${describeSystemCode(code)}`;
    const hint = `check the name of the file, or ${catalogHint}`;
    return new Failure("invalid_input", "catalog-file-unreadable", message, { hint, where: { file }, cause });
  });
  if (!bytes) throw invalid("it is larger than 512 MiB");
  const content = bytes.subarray(bomLength(bytes));
  const document = readListReply(content);
  const reply = document && "value" in document ? document : (readEntryLines(content) ?? document);
  if (!reply) throw invalid("it is not JSON", { file, ...locateOffset(content, requireFault(content).at) });
  const models = "value" in reply ? reply.value : undefined;
  const entries = models?.entries.flatMap(({ value }): readonly FileEntry[] => {
    // `models --with-prices` has such a row for a model without a catalog entry.
    if (value.entry === null && "catalog" in value) return [];
    if (!isObject(value.entry)) return [{ catalog: null, entry: value }];
    return [{ catalog: catalogNames.find((name) => name === value.catalog) ?? null, entry: value.entry }];
  });
  // A list of trajectories, for example, has no ids.
  const hasId = entries?.some(({ entry }) => toText(entry.id) !== undefined);
  if (models && entries && (hasId || entries.length === 0)) return { models, entries };
  throw invalid("it has no list of models");
};

/** `catalog` is null in a file with one catalog. */
type FileEntry = Readonly<{ catalog: CatalogName | null; entry: CatalogModel }>;

const readEntryLines = (content: Buffer) => {
  const text = content.toString("utf8").trim();
  return text === "" ? undefined : readListReply(Buffer.from(`{"data":[${text.split(/\n\s*/).join()}]}`));
};
