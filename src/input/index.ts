/** Opens files, folders, pipes, compressed files and addresses as sources of bytes that can be read at any range. */

export { type Columns, columnJson, rowWithTexts } from "./column-json.ts";
export { unitsBefore } from "./columns.ts";
export { decompressorOf } from "./decompress.ts";
export { reportWithout } from "./folder.ts";
export {
  blockBytes,
  blocksOf,
  elementsOf,
  type Frame,
  firstFrame,
  frames,
  isBlank,
  type Lines,
  type LongText,
  type Range,
  textStart,
} from "./frames.ts";
export { type Converted, type Convertible, openInputs } from "./inputs.ts";
export { type Cut, openRecords, type RecordKinds, type Records } from "./records.ts";
export type { Fetched, RemoteAccess } from "./remote.ts";
export { isRemote, plainName } from "./remote-names.ts";
export {
  beginsAsOwn,
  type Container,
  holdsOwnKey,
  ownHeadBytes,
  ownKeyBytes,
  sniff,
  sniffedBytes,
} from "./sniff.ts";
export {
  type Bytes,
  descriptorBytes,
  fileOf,
  inputChanged,
  longestDocument,
  memoryBytes,
  modeOf,
  type Origin,
  type Position,
  placeOfLine,
  readHead,
  readRange,
  Shrunk,
  type Source,
  textOf,
} from "./source.ts";
export { openSpool, type Spool } from "./spool.ts";
export { openStamp } from "./stamp.ts";
export { identityOf, NotAFile, Tail } from "./tail.ts";
