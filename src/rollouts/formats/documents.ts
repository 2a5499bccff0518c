/** Reads the documents next to a record, which are not records themselves. */
import { basename, dirname, join } from "node:path";
import { bomLength } from "../../json/json-bytes.ts";
import { ConversionError, Value } from "../../json/value.ts";
import { getErrorCode, readRegularFile } from "../../system/files.ts";
import { inputUnreadable } from "../input/failures.ts";

interface SideDocument {
  readonly name: string;
  readonly bytes: Buffer;
  /** NaN and Infinity are empty objects. Undefined for other text than JSON. */
  readonly value: Value | undefined;
}

/** A document that the record needs is not JSON. */
export class DocumentError extends ConversionError {
  readonly document: SideDocument;

  constructor(document: SideDocument, record: Value) {
    super(`the document ${document.name} is not JSON`, record);
    this.document = document;
  }
}

export const openDocuments = () => {
  const foundNames = new Set<string>();
  /** Caches the last document, because all records of a file use the same document. */
  let latest: { name: string; document: SideDocument | undefined } | undefined;
  const load = (name: string, read: () => Buffer | undefined) => {
    if (latest?.name === name) return latest.document;
    const content = read();
    if (content) foundNames.add(name);
    const bytes = content?.subarray(bomLength(content));
    latest = { name, document: bytes && { name, bytes, value: Value.parsePython(bytes, name) } };
    return latest.document;
  };
  return {
    foundNames,
    load,
    findFile: (file: string, path: string) => {
      const name = join(dirname(file), path);
      return file === "-" ? undefined : load(name, () => readDocumentFile(name));
    },
    /** @throws DocumentError for other text than strict JSON */
    require: (document: SideDocument | undefined, record: Value) => {
      if (document && document.value?.bytes !== document.bytes) throw new DocumentError(document, record);
      return document?.value;
    },
  };
};

const readDocumentFile = (path: string) => {
  try {
    return readRegularFile(path);
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw inputUnreadable(basename(path), code, { cause: thrown });
  }
};
