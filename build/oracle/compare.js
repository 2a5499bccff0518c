/** Compares what was observed of two builds, and gives each difference its kind: where it is, and the shape of the change. */

/**
 * Compares two plays of a case. A difference that a case shows in several runs counts once. If runs stand on the runs before
 * them (`isStateful`), those after the first with another end are not compared: they differ because of it.
 * @returns the differences, each with `family` (command and form of its output), `path`, `shape`, `old` and `new`
 */
export const differencesBetween = (olds, news, { isStateful }) => {
  const found = new Map();
  for (const [at, old] of olds.entries()) {
    const own = news[at] ?? { args: [], parts: [] };
    const all = compareRun(old, own);
    const differences = isStateful && all.some(isTurning) ? all.filter(({ path }) => !/^std/.test(path)) : all;
    for (const difference of differences) {
      const { path, shape, old: before, new: after } = difference;
      const key = JSON.stringify([path, shape, before, after]);
      if (!found.has(key)) found.set(key, difference);
    }
    if (isStateful && differences.some(isTurning)) break;
  }
  return [...found.values()];
};

/** True if what follows in the case differs because of this difference: another end, or another state of a request. */
const isTurning = ({ path }) => /^(?:exit code|command line)$|^ledger\b.*(?:\.state|rows\[\])$/.test(path);

const compareRun = (old, own) => {
  const about = { family: familyOf(old.args, old.columns), args: old.args };
  if (old.lacking !== undefined) {
    const { in: path, what: detail } = old.lacking;
    return [{ ...about, family: "commands and options", path, shape: "absent", detail, old: "", new: "" }];
  }
  const [before, after] = [old, own].map(({ args }) => args.join(" "));
  if (before !== after) return [{ ...about, path: "command line", shape: "changed", old: before, new: after }];
  const differences = old.parts.flatMap(([part, value], at) => compareValues(part, value, own.parts[at]?.[1]));
  const [end] = differences;
  // A run of log that ends otherwise differs in everything: its end says why.
  const told =
    about.family.startsWith("log") && end?.path === "exit code" ? [{ ...end, ...endOf(old, own) }] : differences;
  return told.map((difference) => ({ ...about, ...difference }));
};

const endOf = (old, own) => {
  const [before, after] = [old, own].map(({ parts }) => {
    const [, code] = parts[0];
    const [, , [, stderr]] = parts;
    return { code, text: `${code}: ${stderr.trim()}`, error: documentsIn(stderr)?.value?.error?.code };
  });
  const named = ({ code, error }) => (error === undefined ? `${code}` : `${code} ${error}`);
  return { shape: `${named(before)} → ${named(after)}`, old: before.text, new: after.text };
};

/** Command words and form of output, such as `check --json`. */
const familyOf = (args, columns) => {
  if (args.includes("-h") || args.includes("--help")) return "help";
  const words = [];
  for (const word of args) {
    if (!/^[a-z]+$/.test(word) || words.length === (nouns.has(words[0]) ? 2 : 1)) break;
    words.push(word);
  }
  const form = args.includes("--json") ? "--json" : args.includes("-o") ? `-o ${args[args.indexOf("-o") + 1]}` : "";
  return [...words, form, columns === undefined ? "" : "(terminal)"].filter((word) => word !== "").join(" ");
};

const nouns = new Set(["ledger", "call", "catalog", "auth", "config", "serve", "profile"]);

const compareValues = (part, old, own) => {
  if (old === own) return [];
  if (part === "exit code") return [{ path: part, shape: `${old} → ${own}`, old, new: own }];
  if (part === "ledger") return compareLedgers(old, own);
  if (typeof old !== "string" || typeof own !== "string") return compareJson(part, old, own);
  const [before, after] = [documentsIn(old), documentsIn(own)];
  if (before === undefined || after === undefined) return compareText(part, old, own);
  const differences = compareJson(part, before.value, after.value);
  const rest = compareText(part, before.rest, after.rest);
  if (differences.length + rest.length > 0) return [...differences, ...rest];
  return [{ path: part, shape: "spelling of JSON", ...firstDifference(old, own) }];
};

/** Reads a text that is a JSON document, lines of JSON, or ends with a line that is a JSON object. */
const documentsIn = (text) => {
  const whole = jsonIn(text);
  if (whole !== undefined) return { value: whole, rest: "" };
  const lines = text.trimEnd().split("\n");
  const values = lines.map(jsonIn);
  if (values.every((value) => value !== undefined)) return { value: values, rest: "" };
  const last = values.at(-1);
  return last === undefined ? undefined : { value: last, rest: lines.slice(0, -1).join("\n") };
};

const jsonIn = (text) => {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const typeOf = (value) => (value === null ? "null" : Array.isArray(value) ? "array" : typeof value);

const compareJson = (path, old, own) => {
  if (isObject(old) && isObject(own)) return compareObjects(path, old, own);
  if (Array.isArray(old) && Array.isArray(own)) return compareArrays(path, old, own);
  if (old === own) return [];
  if (old === undefined || own === undefined)
    return [{ path, shape: old === undefined ? "added" : "removed", old, new: own }];
  if (typeof old === "string" && typeof own === "string") return compareStrings(path, old, own);
  const shape = typeOf(old) === typeOf(own) ? "changed" : `${typeOf(old)} → ${typeOf(own)}`;
  return [
    { path, shape: typeof old === "boolean" && typeof own === "boolean" ? `${old} → ${own}` : shape, old, new: own },
  ];
};

const compareStrings = (path, old, own) => {
  const [before, after] = [jsonIn(old), jsonIn(own)];
  // A body is the text of a document: what differs in it is said by its own path.
  if (isObject(before) && isObject(after)) {
    const differences = compareJson(path, before, after);
    return differences.length > 0 ? differences : [{ path, shape: "spelling of JSON", ...firstDifference(old, own) }];
  }
  if (old.includes("\n") || own.includes("\n")) return compareText(path, old, own);
  return [{ path, shape: /\(rule /.test(path) ? "changed" : `changed: ${templateOf(old)}`, old, new: own }];
};

const compareObjects = (path, old, own) => {
  const base = path + tagOf(old, own);
  const keys = [...new Set([...Object.keys(old), ...Object.keys(own)])];
  const differences = keys.flatMap((key) => compareJson(`${base}.${nameOf(key, base)}`, old[key], own[key]));
  const common = keys.filter((key) => key in old && key in own);
  const order = (object) =>
    Object.keys(object)
      .filter((key) => common.includes(key))
      .join(", ");
  if (order(old) !== order(own))
    differences.push({ path: base, shape: "order of keys", old: order(old), new: order(own) });
  return differences;
};

/** A rule or an error code tells apart what has the same path. */
const tagOf = (old, own) => {
  if (typeof own.rule === "string" && own.rule === old.rule) return `(rule ${own.rule})`;
  if (typeof own.code === "string" && own.code === old.code && typeof own.message === "string")
    return `(code ${own.code})`;
  return "";
};

/** Keys that come from data, such as names of metrics, are one; so are keys with a number. */
const nameOf = (key, path) =>
  /^[a-zA-Z][-\w]*$/.test(key) && !/\bmetrics$/.test(path) ? key.replace(/\d+$/, "*") : "*";

const compareArrays = (path, old, own) => {
  const [before, after] = [old, own].map((all) => all.map((value) => ({ value, text: JSON.stringify(value) })));
  const counts = new Map();
  for (const { text } of after) counts.set(text, (counts.get(text) ?? 0) + 1);
  const take = (text) => {
    const count = counts.get(text) ?? 0;
    counts.set(text, count - 1);
    return count > 0;
  };
  const gone = before.filter(({ text }) => !take(text));
  const isLeft = new Map(counts);
  const come = after
    .toReversed()
    .filter(({ text }) => {
      const count = isLeft.get(text);
      isLeft.set(text, count - 1);
      return count > 0;
    })
    .reverse();
  if (gone.length + come.length === 0) {
    const moved = before.findIndex(({ text }, at) => text !== after[at].text);
    return moved < 0 ? [] : [{ path: `${path}[]`, shape: "order", old: old[moved], new: own[moved] }];
  }
  const differences = [];
  const rest = come.map(({ value }) => value);
  const pairUp = (values, sameAs) =>
    values.filter((value) => {
      const at = rest.findIndex((other) => sameAs(other) === sameAs(value));
      if (at < 0) return true;
      differences.push(...compareElement(`${path}[]`, value, ...rest.splice(at, 1)));
      return false;
    });
  let left = gone.map(({ value }) => value);
  // Groups of a body are there or not; conversions say what changed in one.
  if (!path.endsWith(".trajectory_groups")) left = pairUp(pairUp(left, identityOf), (value) => value?.rule);
  for (const value of left) differences.push(...compareElement(`${path}[]`, value, undefined));
  for (const value of rest) differences.push(...compareElement(`${path}[]`, undefined, value));
  return differences;
};

/** An element that is only in one of the arrays keeps its rule in the path. */
const compareElement = (path, old, own) => {
  const value = old ?? own;
  const tag = isObject(value) && (old === undefined || own === undefined) ? tagOf(value, value) : "";
  return compareJson(path + tag, old, own);
};

/** What stays when the rest of an element changes: elements with the same are compared with each other. */
const identityOf = (value) => {
  if (!isObject(value)) return typeOf(value);
  const { rule, file, line, id, name, key } = value;
  if (id !== undefined) return JSON.stringify(id);
  return JSON.stringify([rule, file, line, name, key]);
};

const compareText = (path, old, own) => {
  const [before, after] = [old.split("\n"), own.split("\n")];
  while (before.length > 0 && after.length > 0 && before.at(-1) === after.at(-1)) {
    before.pop();
    after.pop();
  }
  const [gone, come] = unmatched(before, after);
  const differences = [];
  for (let at = 0; at < Math.max(gone.length, come.length); at++) {
    differences.push(lineDifference(path, gone[at], come[at]));
  }
  if (differences.length === 0 && old !== own) return [{ path, shape: "order of lines", ...firstDifference(old, own) }];
  return differences;
};

/** The lines that are only in one of two texts, in their order. */
const unmatched = (before, after) => {
  const only = (lines, others) => {
    const counts = new Map();
    for (const line of others) counts.set(line, (counts.get(line) ?? 0) + 1);
    return lines.filter((line) => {
      const count = counts.get(line) ?? 0;
      counts.set(line, count - 1);
      return count <= 0;
    });
  };
  return [only(before, after), only(after, before)];
};

const lineDifference = (path, old, own) => {
  const rule = /\[([a-z]+(?:-[a-z]+)*)\]$/.exec(own ?? old)?.[1];
  const base = rule === undefined ? path : `${path}(rule ${rule})`;
  if (old === undefined || own === undefined)
    return { path: base, shape: old === undefined ? "line added" : "line removed", old, new: own };
  if (old.replaceAll(/\s+/g, "") === own.replaceAll(/\s+/g, "")) return { path, shape: "white space", old, new: own };
  const template = path.startsWith("stderr") && rule === undefined ? `: ${templateOf(old)}` : "";
  return { path: base, shape: `line changed${template}`, old, new: own };
};

/** A message without what it is about. */
const templateOf = (text) =>
  text
    .replaceAll(/"[^"]*"|'[^']*'/g, "“…”")
    .replaceAll(/[0-9a-f]{16,}/g, "<hex>")
    .replaceAll(/\d[\d.,]*/g, "N")
    .replaceAll(/[\w.-]+\.(?:jsonl?|db|eval|parquet|rejected|reasons|xml|html)\b/g, "<file>")
    .slice(0, 60);

/** The surroundings of the first difference of two texts. */
const firstDifference = (old, own) => {
  let at = 0;
  while (old[at] === own[at]) at++;
  const part = (text) => text.slice(Math.max(0, at - 40), at + 80);
  return { old: part(old), new: part(own) };
};

/** A ledger whose tables are others is one difference; else its rows are compared. */
const compareLedgers = (old, own) => {
  const tables = (ledger) =>
    JSON.stringify([ledger.version, Object.entries(ledger.tables ?? {}).map(([name, { columns }]) => [name, columns])]);
  if (tables(old) !== tables(own))
    return [{ path: "ledger", shape: "other tables", old: tables(old), new: tables(own) }];
  return compareJson("ledger", old.tables, own.tables);
};
