/** What is wrong with compressed data, whatever packed it. */

/** Its end is missing, it is damaged, or other bytes follow it. */
export type CompressionFault = "cut" | "corrupt" | "more";

/** Compressed data that is not whole. */
export class CompressedDataError extends Error {
  readonly by: "gzip" | "zstd";
  readonly fault: CompressionFault;
  constructor(by: "gzip" | "zstd", fault: CompressionFault, cause?: unknown) {
    super(`invalid ${by} data`, { cause });
    this.by = by;
    this.fault = fault;
  }
}

/** Compressed data that holds more than is unpacked. */
export class DecompressedSizeError extends Error {
  /** In bytes. */
  readonly limit: number;
  constructor(limit: number) {
    super("unpacks to too much");
    this.limit = limit;
  }
}
