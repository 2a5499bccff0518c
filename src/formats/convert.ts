/** Converts inputs of other tools. Inputs in rollcall's format stay as they are. */
import { PackedTooLarge } from "../check/rules/packed.ts";
import type { Problems } from "../check/rules/problems.ts";
import { type Converted, type Convertible, isRemote, openRecords, reportWithout, type Source } from "../input/index.ts";
import { type Conversion, convertFiles, type ForeignChoice } from "./converted.ts";
import { openDocuments } from "./documents.ts";
import type { Format } from "./format.ts";
import type { ConvertedFile } from "./origin.ts";
import { ownFormat, type RecognizedInput, recognize } from "./recognize.ts";

/**
 * Converts inputs. A file that has no format, and was not given itself, is left out.
 * @throws Failure `spool-failed`; the signal's reason
 */
export const convertForeign = async (choice: ForeignChoice, inputs: Convertible): Promise<Converted<Conversion>> => {
  const { sources, folders, problems, maxUnpackedBytes } = inputs;
  const isNamed = (name: string): boolean => !folders.has(name);
  const used: RecognizedInput[] = [];
  const others: string[] = [];
  for (const one of await recognize(sources, { from: choice.from, isNamed, maxUnpackedBytes })) {
    const { source, formats, wrong, damaged } = one;
    if (!isNamed(source.name) && formats.length === 0 && damaged === undefined) others.push(source.name);
    else if (wrong === undefined) used.push(one);
    else problems.report("not-json", wrong, () => ({ file: source.name }));
  }
  const usedSources = used.map(({ source }) => source);
  const left = sources.filter((source) => !usedSources.includes(source));
  // A file at an address can be a document next to another: it is read from what was stored of it.
  const remotes = left.filter(({ name }) => isRemote(name));
  await closeAll(left.filter(({ name }) => !isRemote(name)));
  reportWithout(folders, { others, problems });
  const [format] = used.flatMap(({ formats }) => formats);
  if (format === undefined || used.every(({ formats }) => formats.length === 0 || formats.includes(ownFormat))) {
    await closeAll(remotes);
    return { sources: usedSources, others };
  }
  const isWrong = isRefused(used, format, { choice, problems });
  if (isWrong) await closeAll(usedSources);
  const files = isWrong ? [] : await openFiles(usedSources, format, { ...inputs, choice });
  if (files.length === 0) {
    await closeAll(remotes);
    return { sources: [], others };
  }
  const documents = openDocuments(sources);
  const { source, conversion } = await convertFiles(files, format, { host: inputs.host, choice, documents });
  const close = async (): Promise<void> => await closeAll([source, ...remotes]);
  const closing = { ...source, bytes: { ...source.bytes, close } };
  return { sources: [closing], conversion, others: others.filter((other) => !documents.read.has(other)) };
};

const closeAll = async (sources: Iterable<Source>): Promise<void> => {
  for (const { bytes } of sources) await bytes.close();
};

/** Reports files of several formats, and a format that has lost something, unless the person accepts that. */
const isRefused = (
  used: readonly RecognizedInput[],
  format: Format,
  { choice, problems }: { readonly choice: ForeignChoice; readonly problems: Problems },
): boolean => {
  const sound = used.filter(({ damaged }) => damaged === undefined);
  const files = new Map<string, string>();
  for (const { source, formats } of sound) {
    for (const { name } of formats.length === 0 ? [ownFormat] : formats)
      if (!files.has(name)) files.set(name, source.name);
  }
  if (files.size > 1) {
    const file = sound.find(({ formats }) => formats[0] !== format || formats.length > 1)?.source.name ?? "-";
    problems.report("format-in-doubt", { formats: [...files.keys()], files: [...files.values()] }, () => ({ file }));
    return true;
  }
  if (format.lossy !== true || choice.lossy) return false;
  const [first] = used;
  problems.report("format-lossy", { format: format.name }, () =>
    first === undefined ? {} : { file: first.source.name },
  );
  return true;
};

/** Opens the records of files of one format, in the order in which they are read. */
const openFiles = async (
  sources: readonly Source[],
  format: Format,
  { choice, problems, maxUnpackedBytes }: Convertible & { readonly choice: ForeignChoice },
): Promise<readonly ConvertedFile[]> => {
  const isLast = ({ name }: Source): number => (format.last?.test(name) === true ? 1 : 0);
  const kinds = { records: format.records, columns: choice.receipt ? undefined : format.columns };
  const files: ConvertedFile[] = [];
  for (const source of sources.toSorted((a, b) => isLast(a) - isLast(b))) {
    try {
      files.push({ name: source.name, records: await openRecords(source, kinds, maxUnpackedBytes) });
    } catch (thrown) {
      if (!(thrown instanceof PackedTooLarge)) throw thrown;
      problems.report("unpacked-too-large", { limit: thrown.limit }, () => ({ file: source.name }));
      await source.bytes.close();
    }
  }
  return files;
};
