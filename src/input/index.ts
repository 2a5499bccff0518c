/** Opens files, folders, pipes, compressed files and URLs as sources of bytes that can be read at any offset. */

export { createChangeDetector } from "./change-detector.ts";
export { type Columns, columnToJson, extractTexts } from "./column-values.ts";
export { countUnitsBefore } from "./columns.ts";
export { findDecompressor } from "./decompress.ts";
export { inputChanged } from "./failures.ts";
export { isRolloutFile, reportEmptyFolders } from "./folder.ts";
export {
  blockBytes,
  type Frame,
  findTextStart,
  isBlank,
  type LineRange,
  type Lines,
  type LongText,
  readBlocks,
  readElements,
  readFrames,
  toFirstFrame,
} from "./frames.ts";
export { type ConvertedInputs, type ConvertibleInputs, openInputs } from "./open-inputs.ts";
export { openRecords, type RawRecord, type RecordKinds, type Records } from "./records.ts";
export type { FetchProgress, RemoteAccess } from "./remote.ts";
export { isRemote, plainUrl } from "./remote-urls.ts";
export {
  type Container,
  findContainer,
  hasOwnKey,
  isLikelyOwnFormat,
  ownHeadBytes,
  ownKeyBytes,
  sniff,
  sniffedBytes,
} from "./sniff.ts";
export {
  type Bytes,
  combineModes,
  descriptorBytes,
  fileOf,
  findText,
  locateLine,
  maxDocumentBytes,
  memoryBytes,
  type Origin,
  type Position,
  readHead,
  readRange,
  ShrunkSourceError,
  type Source,
} from "./source.ts";
export { openSpool, type Spool } from "./spool.ts";
export { NotAFile, readIdentity, Tail } from "./tail.ts";
