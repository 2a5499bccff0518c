/** Base addresses: what is accepted as one, and what an endpoint's path is put behind. */
import { meant, type Parsed, unusable } from "./measures.ts";

/** Reads a base address: an http or https URL without user, password, query and fragment; without the trailing slash. */
export const parseAddress = (text: string): Parsed<string> => {
  if (/[\s\p{Cc}\\]/u.test(text)) return unusable("an address without white space, control characters and backslashes");
  if (!/^https?:\/\//i.test(text)) return unusable("an address that begins with https:// or http://", withScheme(text));
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined) return unusable("an address such as https://api.example.com");
  const plain = `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
  if (url.username !== "" || url.password !== "" || /^[a-z]+:\/\/[^/?#]*@/i.test(text)) {
    return unusable("an address without a user or a password in it", plain);
  }
  if (/[?#]/.test(text)) return unusable("an address without a query or a fragment", plain);
  return meant(plain);
};

/** The address that was meant where its scheme was left out. */
const withScheme = (text: string): string | undefined => {
  const rest = text.replace(/^(?:[a-z][a-z0-9+.-]*:)?\/\//i, "");
  const guess = `${isLoopbackName(rest) ? "http" : "https"}://${rest}`;
  const parsed = URL.canParse(guess) ? parseAddress(guess) : undefined;
  return parsed?.ok ? parsed.value : undefined;
};

const isLoopbackName = (text: string): boolean => /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?=[:/]|$)/i.test(text);

/** An inference address without its trailing `/v1`, which the endpoint's path begins with. */
export const withoutVersion = (address: string): string => address.replace(/\/v1$/, "");

/** What of an address may be shown: no user and password, no query and fragment. */
export const shownAddress = (text: string): string =>
  text.replace(/[?#].*$/s, (rest) => `${rest[0]}…`).replace(/^([a-z][a-z0-9+.-]*:)?(\/\/)?[^/@]*@/i, "$1$2…@");
