/** Names what is inlined as base64 instead of showing it: its type and its size. */

/** Shorter ones are as short as what would be said of them. */
const shortest = 64;

/** What to say of a `data:` address that holds base64; undefined for any other text. */
export const binaryText = (text: string): string | undefined => {
  if (!text.startsWith("data:") || text.length < shortest) return undefined;
  const head = /^data:([\w.+-]+\/[\w.+-]+)?[^,]{0,200};base64,/.exec(text);
  return head === null ? undefined : `[${head[1] ?? "data"}, ${sizeText(base64Bytes(text.slice(head[0].length)))}]`;
};

/** Bytes that a base64 text stands for. */
export const base64Bytes = (text: string): number => {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.floor(((text.length - padding) * 3) / 4);
};

/** A size a person can compare, exact below 10,000 bytes. */
export const sizeText = (bytes: number): string => {
  if (bytes < 10_000) return `${grouped(String(bytes))} ${bytes === 1 ? "byte" : "bytes"}`;
  const units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size.toFixed(size < 99.95 ? 1 : 0)} ${units[unit]}`;
};

/** Digits in groups of three: `1,873`. Anything but a whole number of a readable length stays as it is. */
export const grouped = (digits: string): string =>
  /^-?\d{4,30}$/.test(digits) ? digits.replaceAll(/\B(?=(\d{3})+$)/g, ",") : digits;
