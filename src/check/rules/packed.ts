/** What is wrong with compressed data, whatever packed it. */

/** Its end is missing, it is damaged, or other bytes follow it. */
export type PackedFault = "cut" | "corrupt" | "more";

/** Compressed data that is not whole. */
export class PackedBroken extends Error {
  readonly by: "gzip" | "zstd";
  readonly fault: PackedFault;
  constructor(by: "gzip" | "zstd", fault: PackedFault, cause?: unknown) {
    super(`invalid ${by} data`, { cause });
    this.by = by;
    this.fault = fault;
  }
}

/** Compressed data that holds more than is unpacked. */
export class PackedTooLarge extends Error {
  /** In bytes. */
  readonly limit: number;
  constructor(limit: number) {
    super("unpacks to too much");
    this.limit = limit;
  }
}
