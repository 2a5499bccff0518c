/** Removes harmful characters from texts for people. */

const lineEnds = /\r\n?|[\u000b\u000c\u0085\u2028\u2029]/g;

/** CSI sequences, and control strings on one line, such as titles and links. No string contains another start. */
const escapeSequences =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]P_^X]|[\u009d\u0090\u009f\u009e\u0098])[^\u0007\n\u001b\u0090\u0098\u009c-\u009f]*(?:\u0007|\u001b\\|\u009c)/g;

/** Control, direction and invisible characters. Scripts and emoji need U+200C and U+200D, so both stay. */
export const harmfulCharacters =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udfff]/gu;

export const sanitizeText = (text: string) => {
  if (text.search(lineEnds) < 0 && text.search(harmfulCharacters) < 0) return text;
  return text.replace(lineEnds, "\n").replace(escapeSequences, "").replace(harmfulCharacters, "");
};
