/** How a text is spelled in JSON: as it is, beyond ASCII as escapes, and in JSON that is text itself, as arguments of calls are. */
export const listSpellings = (text: string): readonly string[] => {
  const plain = JSON.stringify(text).slice(1, -1);
  const ascii = plain.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  const inside = [plain, ascii].map((spelled) => JSON.stringify(spelled).slice(1, -1));
  return [...new Set([plain, ascii, ...inside])];
};
