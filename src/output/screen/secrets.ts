/** Blots secrets out of everything printed. */

/** What is said in a secret's place. */
const blot = "***";

/** Shorter ones hide nothing, and blotting them would shred what is printed. */
const shortest = 4;

/** From this length on, a name of a JSON member is blotted too; a shorter secret may be a word such as `data`. */
const shortestInNames = 8;

/** The secrets of a run. */
export interface Secrets {
  hide(secret: string): void;
  /** Text without the secrets known so far, in whichever spelling they stand in it. */
  blot(text: string): string;
  /** JSON without them: only inside strings, so that it stays JSON. */
  blotJson(json: string): string;
}

/** Opens an empty register of secrets. */
export const openSecrets = (): Secrets => {
  // Longest first, so that a secret that holds another leaves nothing of itself.
  let spellings: string[] = [];
  const known = new Set<string>();
  return {
    hide(secret) {
      for (const spelling of spellingsOf(secret)) if (spelling.length >= shortest) known.add(spelling);
      spellings = [...known].sort((a, b) => b.length - a.length);
    },
    blot: (text) => spellings.reduce((rest, spelling) => rest.replaceAll(spelling, blot), text),
    blotJson(json) {
      const present = spellings.filter((spelling) => json.includes(spelling));
      return present.length === 0 ? json : inStrings(json, present);
    },
  };
};

/** How a secret may stand in text: as it is, in JSON, in an address, in a Basic header. */
const spellingsOf = (secret: string): readonly string[] => {
  const trimmed = secret.trim();
  const lineByLine = trimmed.split(/[\r\n]+/);
  return [trimmed, ...lineByLine].flatMap((text) => [
    text,
    JSON.stringify(text).slice(1, -1),
    encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd")),
    Buffer.from(text).toString("base64"),
  ]);
};

/** Replaces inside the strings of valid JSON only. */
const inStrings = (json: string, spellings: readonly string[]): string => {
  const parts: string[] = [];
  let copied = 0;
  let open = json.indexOf('"');
  while (open >= 0) {
    const end = endOfString(json, open);
    const text = json.slice(open, end);
    const isName = /^\s*:/.test(json.slice(end, end + 16));
    const meant = isName ? spellings.filter((spelling) => spelling.length >= shortestInNames) : spellings;
    const blotted = meant.reduce((rest, spelling) => rest.replaceAll(spelling, blot), text);
    if (blotted !== text) {
      parts.push(json.slice(copied, open), blotted.startsWith('"') ? blotted : `"${blot}"`);
      copied = end;
    }
    open = json.indexOf('"', end);
  }
  return parts.join("") + json.slice(copied);
};

const endOfString = (json: string, open: number): number => {
  let from = open + 1;
  for (;;) {
    const close = json.indexOf('"', from);
    if (close < 0) return json.length;
    let before = close - 1;
    while (json[before] === "\\") before--;
    if ((close - before) % 2 === 1) return close + 1;
    from = close + 1;
  }
};
