/** Opens files, folders, pipes and URLs as sources of bytes. */

export { extractTexts } from "./column-values.ts";
export { findDecompressor } from "./decompress.ts";
export { createChangeDetector } from "./expand-names.ts";
export * from "./frames.ts";
export type { SkippedFile } from "./list-folder.ts";
export { isRemote, isRolloutFile, plainUrl, reportEmptyFolders } from "./names.ts";
export { type OpenedInputs, openInputs } from "./open-inputs.ts";
export * from "./records.ts";
export type { RemoteAccess } from "./remote-file.ts";
export * from "./sniff.ts";
export * from "./source.ts";
export { openSpool, type Spool } from "./spool.ts";
export * from "./tail.ts";
