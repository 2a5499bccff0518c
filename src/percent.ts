/** Text with percent escapes, as addresses have it. */

/** What the escapes stand for; a text with a stray `%`, as in a password, stands for itself. */
export const unescapedPercent = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};
