/** Hashes and checksums of Node, whose modules a short `check` needs not load. */
import process from "node:process";

let crypto: typeof import("node:crypto") | undefined;
let zlib: typeof import("node:zlib") | undefined;

const loadCrypto = () => {
  crypto ??= process.getBuiltinModule("node:crypto");
  return crypto;
};

export const hash = (algorithm: string, data: string | Uint8Array, encoding: "binary" | "hex" = "hex") =>
  loadCrypto().hash(algorithm, data, encoding);

export const createHash = (algorithm: string) => loadCrypto().createHash(algorithm);

export const crc32 = (data: string | Uint8Array, before?: number) => {
  zlib ??= process.getBuiltinModule("node:zlib");
  return zlib.crc32(data, before);
};
