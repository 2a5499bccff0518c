/** Writes valid and damaged zip archives. */
import { crc32, deflateRawSync } from "node:zlib";

export interface Member {
  readonly name: string;
  readonly text: string;
  /** Default: deflate. */
  readonly method?: "stored" | "deflate" | "zstd" | "bzip2";
  /** Replace its length, checksum and position. */
  readonly claims?: { readonly length?: number; readonly crc?: number; readonly at?: number };
  /** Replaces its compressed bytes. */
  readonly packed?: (bytes: Buffer) => Buffer;
  readonly isEncrypted?: boolean;
}

const methods = { stored: 0, deflate: 8, bzip2: 12, zstd: 93 };

export const archiveOf = (members: readonly Member[]): Buffer => {
  const [files, list]: [Buffer[], Buffer[]] = [[], []];
  let at = 0;
  for (const member of members) {
    const { name, text, method = "deflate", claims = {}, packed = (bytes: Buffer) => bytes } = member;
    const content = Buffer.from(text);
    const bytes = packed(packers[method](content));
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(member.isEncrypted === true ? 0x801 : 0x800, 2);
    facts.writeUInt16LE(methods[method], 4);
    facts.writeUInt32LE(claims.crc ?? crc32(content), 10);
    facts.writeUInt32LE(bytes.length, 14);
    facts.writeUInt32LE(claims.length ?? content.length, 18);
    facts.writeUInt16LE(Buffer.byteLength(name), 22);
    // Only the header before a member has an extra field.
    const local = Buffer.from(facts);
    local.writeUInt16LE(4, 24);
    files.push(Buffer.from("PK\x03\x04"), local, Buffer.from(`${name}up\0\0`), bytes);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(claims.at ?? at, 10);
    list.push(Buffer.from("PK\x01\x02\x14\0"), facts, rest, Buffer.from(name));
    at += 34 + Buffer.byteLength(name) + bytes.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(members.length, 8);
  end.writeUInt16LE(members.length, 10);
  end.writeUInt32LE(Buffer.concat(list).length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...files, ...list, end]);
};

/** A frame of zstd with uncompressed bytes. */
export const zstdFrame = (content: Buffer): Buffer => {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt32LE(content.length, 5);
  head.writeUIntLE((content.length << 3) | 1, 9, 3);
  return Buffer.concat([head, content]);
};

const packers: Readonly<Record<keyof typeof methods, (content: Buffer) => Buffer>> = {
  stored: (content) => content,
  deflate: (content) => deflateRawSync(content),
  bzip2: (content) => content,
  zstd: (content) => {
    const half = content.length >> 1;
    const skipped = Buffer.from([0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0, 1, 2]);
    return Buffer.concat([zstdFrame(content.subarray(0, half)), skipped, zstdFrame(content.subarray(half))]);
  },
};
