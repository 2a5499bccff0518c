/** Text inside a web page: nothing in it can be taken for markup. */

const references: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Text as it stands between tags, or in an attribute between quotes. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => references[found] ?? "");

/** Attributes with values that are safe in them; those without a value are left out. */
export const attributes = (values: Readonly<Record<string, string | number | undefined>>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [` ${name}="${escaped(String(value))}"`]))
    .join("");
