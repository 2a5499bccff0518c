/** Takes compression off a reply's body, up to a bound. */
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { openGathered } from "./gathered.ts";

/** A body as it was before it was compressed, or as much of it as could be had. */
export interface Decoded {
  readonly bytes: Uint8Array;
  /** Why it is not whole: it ended early or is damaged, is over the bound, or is compressed in a way that there is no decoder for. */
  readonly fault: "cut" | "too-long" | "unknown-encoding" | undefined;
}

const decoders = new Map([
  ["gzip", createGunzip],
  ["x-gzip", createGunzip],
  ["deflate", createInflate],
  ["br", createBrotliDecompress],
]);

/** Services compress once; more than this is not meant well. */
const mostLayers = 2;

/** Decodes a body by its `Content-Encoding`; never holds more than `limit` bytes of it. */
export const decode = async (bytes: Uint8Array, encoding: string | undefined, limit: number): Promise<Decoded> => {
  const names = (encoding ?? "")
    .toLowerCase()
    .split(",")
    .flatMap((name) => {
      const trimmed = name.trim();
      return trimmed === "" || trimmed === "identity" ? [] : [trimmed];
    });
  if (bytes.length === 0) return { bytes, fault: undefined };
  if (names.length > mostLayers) return { bytes, fault: "unknown-encoding" };
  let decoded: Decoded = { bytes, fault: undefined };
  for (const name of names.reverse()) {
    const open = decoders.get(name);
    if (open === undefined) return { bytes, fault: "unknown-encoding" };
    const layer = await read(open(), decoded.bytes, limit);
    decoded = { bytes: layer.bytes, fault: decoded.fault ?? layer.fault };
  }
  return decoded;
};

const read = (decoder: ReturnType<typeof createGunzip>, bytes: Uint8Array, limit: number): Promise<Decoded> =>
  new Promise((resolve) => {
    const whole = openGathered(limit);
    const end = (fault: Decoded["fault"]) => {
      decoder.destroy();
      resolve({ bytes: whole.read(), fault });
    };
    decoder
      .on("data", (chunk: Uint8Array) => {
        whole.add(chunk);
        if (whole.tooLong) end("too-long");
      })
      .once("end", () => end(undefined))
      .once("error", () => end("cut"))
      .end(bytes);
  });
