/** Opens files, folders, pipes, compressed files and URLs as sources of bytes that can be read at any offset. */
export { extractTexts } from "./column-values.ts";
export { findDecompressor } from "./decompress.ts";
export { createChangeDetector } from "./expand-names.ts";
export { inputChanged } from "./failures.ts";
export {
  blockBytes,
  countUnitsBefore,
  type Frame,
  findTextStart,
  type Lines,
  type LongText,
  readBlocks,
  readElements,
  readFrames,
} from "./frames.ts";
export { isRemote, isRolloutFile, plainUrl, reportEmptyFolders } from "./names.ts";
export { type OpenedInputs, openInputs } from "./open-inputs.ts";
export { openRecords, type RawRecord, type RecordKinds, type Records } from "./records.ts";
export type { RemoteAccess } from "./remote.ts";
export {
  answerColumns,
  type Container,
  columnAdvice,
  findColumns,
  findContainer,
  findRewardColumns,
  hasRollcallKey,
  isLikelyOwnFormat,
  pythonMessages,
  sniff,
  sniffedBytes,
} from "./sniff.ts";
export {
  type Bytes,
  closeSources,
  combineModes,
  fileOf,
  filesOf,
  findText,
  locateLine,
  maxDocumentBytes,
  memoryBytes,
  type Origin,
  type OriginRecord,
  type Position,
  readHead,
  readRange,
  ShrunkSourceError,
  type Source,
} from "./source.ts";
export { openSpool, type Spool } from "./spool.ts";
export { openTail, readIdentity, type Tail } from "./tail.ts";
