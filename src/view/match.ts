/** The match of a searched text in a group. The server and an exported page find it in the same way. */
import { listSpellings } from "../json/spellings.ts";
import type { SearchMatch } from "./answers.ts";

/** Maximum characters of JSON before and after a match. */
const maxContext = { before: 16, after: 120 };

/** Finds the first trajectory with a text, and the characters around it. Null if no trajectory contains it. */
export const findMatch = (trajectories: readonly string[], text: string): SearchMatch | null => {
  const spellings = listSpellings(text);
  for (const [trajectory, json] of trajectories.entries()) {
    const positions = spellings.map((spelled) => ({ at: json.indexOf(spelled), length: spelled.length }));
    const [first] = positions.filter(({ at }) => at >= 0).sort((a, b) => a.at - b.at);
    if (first === undefined) continue;
    const { at, length } = first;
    const [before = ""] = /(?:\\.|[^"\\])*$/s.exec(json.slice(Math.max(0, at - maxContext.before), at)) ?? [];
    const [after = ""] = /^(?:\\.|[^"\\])*/s.exec(json.slice(at + length, at + length + maxContext.after)) ?? [];
    return { trajectory, before: decodeEscapes(before), text, after: decodeEscapes(after) };
  }
  return null;
};

/** Decodes the escapes of a part of a JSON string, which may begin or end within an escape, to one line. */
const decodeEscapes = (part: string): string =>
  part
    .replaceAll(/\\+(?:u([0-9a-f]{4})|(.))/gi, (_, code?: string, letter?: string) => {
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      return letter === undefined || /[nrtbf]/.test(letter) ? " " : letter;
    })
    .replaceAll(/\s+/g, " ");
