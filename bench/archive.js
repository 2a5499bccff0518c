import { closeSync, openSync, writeSync } from "node:fs";
import { crc32, deflateRawSync } from "node:zlib";

/** Returns the zip64 end that an archive with more than 65,535 members needs. */
const composeZip64End = (members, { directory, at }) => {
  const end = Buffer.alloc(52);
  end.writeBigUInt64LE(44n, 0);
  end.writeUInt16LE(45, 10);
  end.writeBigUInt64LE(BigInt(members), 20);
  end.writeBigUInt64LE(BigInt(members), 28);
  end.writeBigUInt64LE(BigInt(directory), 36);
  end.writeBigUInt64LE(BigInt(at), 44);
  const place = Buffer.alloc(16);
  place.writeBigUInt64LE(BigInt(at + directory), 4);
  place.writeUInt32LE(1, 12);
  return [Buffer.from("PK\u0006\u0006"), end, Buffer.from("PK\u0006\u0007"), place];
};

/** Writes a zip archive member by member. */
export const writeArchive = async (file, members) => {
  const archive = openSync(file, "w");
  const entries = [];
  let [count, at] = [0, 0];
  for await (const [name, text] of members) {
    count++;
    const [bytes, label] = [Buffer.from(text), Buffer.from(name)];
    const packed = deflateRawSync(bytes);
    const facts = Buffer.alloc(26);
    facts.writeUInt16LE(20, 0);
    facts.writeUInt16LE(8, 4);
    facts.writeUInt32LE(crc32(bytes), 10);
    facts.writeUInt32LE(packed.length, 14);
    facts.writeUInt32LE(bytes.length, 18);
    facts.writeUInt16LE(label.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    entries.push(Buffer.concat([Buffer.from("PK\u0001\u0002\u0014\u0000"), facts, place, label]));
    at += writeSync(archive, Buffer.concat([Buffer.from("PK\u0003\u0004"), facts, label, packed]));
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(Math.min(count, 0xffff), 4);
  end.writeUInt16LE(Math.min(count, 0xffff), 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(at, 12);
  const long = composeZip64End(count, { directory: directory.length, at });
  writeSync(archive, Buffer.concat([directory, ...long, Buffer.from("PK\u0005\u0006"), end]));
  closeSync(archive);
};
