/** Decompresses the bodies of replies, and recognizes web pages. */
import type { Transform } from "node:stream";
import { getErrorCode } from "../../system/files.ts";
import type { ReplyHeaders } from "../contract/replies.ts";
import type { ExchangeResult } from "./exchange.ts";
import { TransportError } from "./transport-error.ts";

export type ReplyBody = Pick<ExchangeResult, "bytes" | "headers" | "error">;

/** If the body cannot be decompressed, `bytes` is its decompressed beginning. */
export const decodeBody = async <Reply extends ReplyBody>(reply: Reply, maxLength: number): Promise<Reply> => {
  let { bytes, error } = reply;
  const encodings = readEncodings(reply.headers);
  if (bytes.length === 0) return reply;
  for (const encoding of encodings.reverse()) {
    const decoded = await decompress(bytes, encoding, maxLength);
    bytes = decoded.bytes;
    error ??= decoded.code === undefined ? undefined : new TransportError(decoded.code);
  }
  return { ...reply, bytes, error };
};

const readEncodings = (headers: ReplyHeaders) =>
  (headers["content-encoding"] ?? "")
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((name) => name !== "" && name !== "identity");

type Decoded = Readonly<{ bytes: Uint8Array; code?: string | undefined }>;

const decompress = async (bytes: Uint8Array, encoding: string, maxLength: number): Promise<Decoded> => {
  if (!/^(br|deflate|(x-)?gzip)$/.test(encoding)) return { bytes: Buffer.alloc(0), code: "UNKNOWN_ENCODING" };
  const { createBrotliDecompress, createInflateRaw, createUnzip } = await import("node:zlib");
  if (encoding === "br") return await collect(createBrotliDecompress(), bytes, maxLength);
  const decoded = await collect(createUnzip(), bytes, maxLength);
  // Some servers name a body without zlib's header `deflate`.
  if (encoding !== "deflate" || decoded.code !== "BAD_ENCODING" || decoded.bytes.length > 0) return decoded;
  return await collect(createInflateRaw(), bytes, maxLength);
};

const collect = (decompressor: Transform, bytes: Uint8Array, maxLength: number) =>
  new Promise<Decoded>((resolve) => {
    const pieces: Buffer[] = [];
    let length = 0;
    const end = (code?: string) => {
      decompressor.destroy();
      resolve({ bytes: Buffer.concat(pieces), code });
    };
    decompressor.on("data", (piece: Buffer) => {
      pieces.push(piece.subarray(0, maxLength - length));
      length += piece.length;
      if (length > maxLength) end("TOO_LONG");
    });
    decompressor.on("end", () => end());
    decompressor.on("error", (thrown) => end(getErrorCode(thrown) === "Z_BUF_ERROR" ? "CUT" : "BAD_ENCODING"));
    decompressor.end(bytes);
  });

/** The tags that begin a page (WHATWG MIME Sniffing, 7.1), and others that error pages begin with. */
const pageStart =
  /^<(?:!doctype|html|head|body|title|meta|link|base|style|(no)?script|iframe|frameset|h[1-6r]|div|font|table|center|form|main|section|article|header|img|svg|span|pre|ul|a|b|br|p)(?![\w:.-])/i;

/** A web page comes from a gateway, not from the service. True also for a cut body that may be the beginning of one. */
export const isWebPage = ({ bytes, headers, error }: ReplyBody) => {
  const isNamedPage = /html/i.test(headers["content-type"] ?? "");
  const from = Math.max(
    0,
    bytes.findIndex((byte) => byte > 0x20),
  );
  // Without its zeros, UTF-16 is readable enough.
  const decoded = new TextDecoder().decode(bytes.subarray(from, from + maxSearchedBytes)).replaceAll("\0", "");
  const text = decoded.replace(/^[\s\ufeff\ufffd]+/, "");
  if (isNamedPage && text.startsWith("<")) return true;
  const rest = skipProlog(text);
  if (rest === "") return text !== "" || (error !== undefined && isNamedPage);
  return pageStart.test(rest) || (error !== undefined && /^<[!\w-]*$/.test(rest));
};

export const maxSearchedBytes = 4 * 1024 * 1024;

/** Skips comments and declarations such as `<?xml …?>`. */
const skipProlog = (text: string) => {
  for (let rest = text; ; ) {
    const end = rest.startsWith("<!--") ? "-->" : rest.startsWith("<?") ? "?>" : undefined;
    if (end === undefined) return rest;
    const at = rest.indexOf(end, 2);
    rest = at < 0 ? "" : rest.slice(at + end.length).trimStart();
  }
};
