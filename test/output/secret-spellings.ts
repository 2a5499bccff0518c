/** Spellings of a secret, with their names. */
export const encodings: readonly (readonly [string, (text: string) => string])[] = [
  ["as it is", (text) => text],
  ["in capitals", (text) => text.toUpperCase()],
  ["as base64", (text) => Buffer.from(text).toString("base64")],
  ["as base64 without padding", (text) => Buffer.from(text).toString("base64").replaceAll("=", "")],
  ["as url-safe base64", (text) => Buffer.from(text).toString("base64url")],
  ["as a header in base64", (text) => Buffer.from(`Authorization: Bearer ${text}\r\n`).toString("base64")],
  ["with a user in base64", (text) => Buffer.from(`api:${text}`).toString("base64")],
  ["as hex", (text) => Buffer.from(text).toString("hex")],
  ["as hex in capitals", (text) => Buffer.from(text).toString("hex").toUpperCase()],
  ["in an address", encodeURIComponent],
  ["as percent", (text) => Buffer.from(text).toString("hex").replace(/../g, "%$&")],
  ["as percent in capitals", (text) => Buffer.from(text).toString("hex").toUpperCase().replace(/../g, "%$&")],
  ["as JSON", (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/")],
  ["as escapes of JSON", (text) => text.replace(/./gs, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`)],
  ["as escapes of bytes", (text) => Buffer.from(text).toString("hex").replace(/../g, "\\x$&")],
  ["as octal escapes", (text) => spellBytes(text, (byte) => `\\${byte.toString(8).padStart(3, "0")}`)],
  ["as quoted-printable", (text) => Buffer.from(text).toString("hex").toUpperCase().replace(/../g, "=$&")],
  [
    "as hex with colons",
    (text) =>
      Buffer.from(text)
        .toString("hex")
        .replace(/..(?=.)/g, "$&:"),
  ],
  ["as entities", (text) => text.replace(/./gsu, (c) => `&#${c.codePointAt(0)};`)],
  ["as hex entities", (text) => text.replace(/./gsu, (c) => `&#x${c.codePointAt(0)?.toString(16)};`)],
  ["with spaces", (text) => text.replace(/./gsu, "$& ")],
  ["with line ends", (text) => text.replace(/.{5}/gsu, "$&\n")],
  ["with tags", (text) => text.replaceAll("<", "").replace(/.{5}/gsu, "$&<b>")],
  ["as base64 with line ends", (text) => Buffer.from(text).toString("base64").replace(/.{7}/g, "$&\r\n")],
  [
    "as escapes of JSON in a URL",
    (text) => text.replace(/./gs, (c) => `%5Cu${c.charCodeAt(0).toString(16).padStart(4, "0")}`),
  ],
];

const spellBytes = (text: string, spell: (byte: number) => string): string =>
  Array.from(Buffer.from(text), (byte) => spell(byte)).join("");
