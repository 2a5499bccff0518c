/** Finds structural keys that stand twice, which a parsed value no longer shows. */
import { members, type Span } from "../../../json/walk.ts";

/** How escapes begin that a key made of small letters could hide behind: `\u0061` to `\u007a`. */
const letterEscape = Buffer.from("\\u00");

/**
 * Whether an object has a key (of small letters and underscores) twice. The object's members are only walked where its
 * bytes hold the key's spelling twice, or an escape that might hide it.
 */
export const hasKeyTwice = (bytes: Buffer, span: Span, key: string): boolean => {
  const own = bytes.subarray(span.start, span.end);
  const spelled = Buffer.from(`"${key}"`);
  const first = own.indexOf(spelled);
  const mayBeTwice = first < 0 || own.indexOf(spelled, first + spelled.length) >= 0 || own.indexOf(letterEscape) >= 0;
  if (!mayBeTwice) return false;
  let count = 0;
  for (const member of members(own, 0)) if (member.key === key) count++;
  return count > 1;
};
