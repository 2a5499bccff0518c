/** Spellings of a secret that output must not contain, with their names. */
export const encodings: readonly (readonly [string, (text: string) => string])[] = [
  ["as it is", (text) => text],
  ["as JSON", (text) => JSON.stringify(text).slice(1, -1)],
  ["as base64", (text) => Buffer.from(text).toString("base64")],
  ["as url-safe base64", (text) => Buffer.from(text).toString("base64url")],
  ["as a header in base64", (text) => Buffer.from(`Authorization: Bearer ${text}\r\n`).toString("base64")],
  ["with a user in base64", (text) => Buffer.from(`api:${text}`).toString("base64")],
  ["with another user in base64", (text) => Buffer.from(`anna:${text}`).toString("base64")],
  ["in a URL", encodeURIComponent],
  ["in a URL in lower case", (text) => encodeURIComponent(text).replace(/%../g, (one) => one.toLowerCase())],
  ["in a form", (text) => encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`)],
];
