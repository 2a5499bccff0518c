/** Returns the ways in which JSON spells a text: plain, with non-ASCII escaped, and both again in a string of JSON. */
export const listSpellings = (text: string): readonly string[] => {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const inside = [plain, ascii].map((spelled) => JSON.stringify(spelled).slice(1, -1));
  return [...new Set([plain, ascii, ...inside])];
};
