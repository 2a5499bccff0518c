/** Errors of compressed data. */

/** Truncated, corrupt, or followed by other bytes. */
export type CompressionFault = "cut" | "corrupt" | "more";

export class CompressedDataError extends Error {
  readonly by: "gzip" | "zstd";
  readonly fault: CompressionFault;
  constructor(by: "gzip" | "zstd", fault: CompressionFault, cause?: unknown) {
    super(`invalid ${by} data`, { cause });
    this.by = by;
    this.fault = fault;
  }
}

export class DecompressedSizeError extends Error {
  readonly limit: number;
  constructor(limit: number) {
    super("unpacks to too much");
    this.limit = limit;
  }
}
