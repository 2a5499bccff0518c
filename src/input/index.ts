/** Opens files, folders, pipes, compressed files and addresses as sources of bytes that can be read at any range. */

export { createChangeDetector as openStamp } from "./change-detector.ts";
export { type Columns, columnToJson as columnJson, extractTexts as rowWithTexts } from "./column-values.ts";
export { countUnitsBefore as unitsBefore } from "./columns.ts";
export { findDecompressor as decompressorOf } from "./decompress.ts";
export { reportEmptyFolders as reportWithout } from "./folder.ts";
export {
  blockBytes,
  type Frame,
  findTextStart as textStart,
  isBlank,
  type LineRange as Range,
  type Lines,
  type LongText,
  readBlocks as blocksOf,
  readElements as elementsOf,
  readFrames as frames,
  toFirstFrame as firstFrame,
} from "./frames.ts";
export { type ConvertedInputs as Converted, type ConvertibleInputs as Convertible, openInputs } from "./open-inputs.ts";
export { openRecords, type RawRecord as Cut, type RecordKinds, type Records } from "./records.ts";
export type { FetchProgress as Fetched, RemoteAccess } from "./remote.ts";
export { isRemote, plainUrl as plainName } from "./remote-urls.ts";
export {
  type Container,
  hasOwnKey as holdsOwnKey,
  isLikelyOwnFormat as beginsAsOwn,
  ownHeadBytes,
  ownKeyBytes,
  sniff,
  sniffedBytes,
} from "./sniff.ts";
export {
  type Bytes,
  combineModes as modeOf,
  descriptorBytes,
  fileOf,
  findText as textOf,
  inputChanged,
  locateLine as placeOfLine,
  maxDocumentBytes as longestDocument,
  memoryBytes,
  type Origin,
  type Position,
  readHead,
  readRange,
  ShrunkSourceError as Shrunk,
  type Source,
} from "./source.ts";
export { openSpool, type Spool } from "./spool.ts";
export { NotAFile, readIdentity as identityOf, Tail } from "./tail.ts";
