/** The CRC-32 of bytes that are put together from others whose CRC-32 is known: one look at all of them holds each against its own. */

/** The polynomial, its bits reversed, as zlib has it. */
const polynomial = 0xedb88320;

/** Lengths are below 2 to this power. */
const lengthBits = 31;

/** Entries of an operator: what each of eight half bytes comes to by itself. */
const operatorEntries = 128;

/** What a byte comes to: made once it is needed. */
let bytes: Int32Array | undefined;

/** For each power of two what as many bytes more do to a checksum, as far as they are made. */
const operators = new Int32Array(lengthBits * operatorEntries);
let made = 0;

/** The CRC-32 of bytes and one more byte, as a signed number. */
export const withByte = (checksum: number, byte: number): number => {
  bytes ??= byteTable();
  return ~((bytes[(~checksum ^ byte) & 0xff] ?? 0) ^ (~checksum >>> 8));
};

/** The CRC-32 of bytes and others behind them, of which there are `length`, as a signed number. */
export const joined = (checksum: number, behind: number, length: number): number => {
  let moved = checksum;
  for (let bit = 0, left = length; left > 0; bit++, left >>>= 1) {
    if (bit === made) makeOperator();
    if ((left & 1) !== 0) moved = operated(bit * operatorEntries, moved);
  }
  return moved ^ behind;
};

const operated = (at: number, value: number): number =>
  (operators[at + (value & 15)] ?? 0) ^
  (operators[at + 16 + ((value >>> 4) & 15)] ?? 0) ^
  (operators[at + 32 + ((value >>> 8) & 15)] ?? 0) ^
  (operators[at + 48 + ((value >>> 12) & 15)] ?? 0) ^
  (operators[at + 64 + ((value >>> 16) & 15)] ?? 0) ^
  (operators[at + 80 + ((value >>> 20) & 15)] ?? 0) ^
  (operators[at + 96 + ((value >>> 24) & 15)] ?? 0) ^
  (operators[at + 112 + (value >>> 28)] ?? 0);

/** Makes the operator for the next power of two: for one byte from the table of bytes, else by the one before, twice. */
const makeOperator = (): void => {
  bytes ??= byteTable();
  const at = made * operatorEntries;
  const before = at - operatorEntries;
  for (let bit = 0; bit < 32; bit++) {
    const value = 1 << bit;
    const moved = made === 0 ? (bytes[value & 0xff] ?? 0) ^ (value >>> 8) : operated(before, operated(before, value));
    const first = at + (bit >> 2) * 16;
    const step = 1 << (bit & 3);
    // Of what is linear, each entry is one bit's on top of those of the bits before.
    for (let other = 0; other < step; other++)
      operators[first + step + other] = (operators[first + other] ?? 0) ^ moved;
  }
  made++;
};

const byteTable = (): Int32Array => {
  const table = new Int32Array(256);
  for (let byte = 0; byte < table.length; byte++) {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = (value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ polynomial;
    table[byte] = value;
  }
  return table;
};
