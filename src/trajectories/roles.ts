/** The roles of messages, and what other frameworks call them. */
import { nearest } from "../nearest.ts";

/** Roles of messages. Assumed: what deployed services accept. */
export const roles: ReadonlySet<string> = new Set(["developer", "system", "user", "assistant", "tool", "function"]);

/** What other frameworks call the roles. */
const otherRoles: ReadonlyMap<string, string> = new Map([
  ["human", "user"],
  ["gpt", "assistant"],
  ["ai", "assistant"],
  ["bot", "assistant"],
  ["model", "assistant"],
  ["chatbot", "assistant"],
  ["observation", "tool"],
  ["function_response", "tool"],
  ["ipython", "tool"],
]);

/** Characters of a role that is no role that are looked at. */
const longestRole = 20;

/** The role that was probably meant. */
export const suggestedRole = (role: unknown): string | undefined =>
  typeof role === "string"
    ? (otherRoles.get(role.toLowerCase()) ?? nearest(role.slice(0, longestRole), roles))
    : undefined;
