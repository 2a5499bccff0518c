/** Identifiers of calls: UUIDs of version 7, so that they sort by the time they were made. */
import { randomBytes } from "node:crypto";

/** How many counter values one millisecond has (RFC 9562, 6.2, method 1: 12 bits). */
const perMillisecond = 4096;

/** `count` identifiers in ascending order. `now`: milliseconds since 1970. */
export const callIds = (count: number, now: number): readonly string[] => {
  const chance = randomBytes(8 * count);
  return Array.from({ length: count }, (_, index) => {
    // The clock may be run ahead of where the counter overflows (RFC 9562, 6.2).
    const time = (now + Math.floor(index / perMillisecond)).toString(16).padStart(12, "0");
    const counter = (index % perMillisecond).toString(16).padStart(3, "0");
    const random = chance.subarray(index * 8, index * 8 + 8);
    const variant = (((random[0] ?? 0) & 0x3f) | 0x80).toString(16);
    const rest = random.toString("hex", 1);
    return `${time.slice(0, 8)}-${time.slice(8)}-7${counter}-${variant}${rest.slice(0, 2)}-${rest.slice(2)}`;
  });
};
