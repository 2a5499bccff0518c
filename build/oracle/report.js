/** Groups differences by their kind, marks those that are expected, and prints the groups with an example of each. */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "./builds.js";
import { expected } from "./expected.js";

/** Kinds that differ in one respect only are one group if there are more than this. */
const maxKinds = 3;

/** Characters of an example that are printed. */
const maxExample = 300;

/** Collects differences while the cases run. A case with a new kind of difference keeps its inputs and everything that was observed. */
export const openReport = () => {
  const folder = join(cacheFolder, "report");
  rmSync(folder, { recursive: true, force: true });
  const kinds = new Map();
  let count = 0;
  return {
    /** Adds the differences of a case. `keep` copies what the case was run with into a folder. */
    add(differences, { name, keep }) {
      let example;
      for (const difference of differences) {
        count++;
        const { args, old, new: own } = difference;
        const entry = { ...difference, old: textOf(old), new: textOf(own), case: name, line: args.join(" ") };
        const known = expected.findIndex((one) => isMatch(one, entry));
        // Everything that one entry of expected.js explains is one group.
        const key = known < 0 ? JSON.stringify([placeOf(entry), entry.shape]) : `${known}`;
        const kind = kinds.get(key);
        if (kind !== undefined) {
          kind.count++;
          kind.families.add(entry.family);
          kind.details.add(entry.detail);
          continue;
        }
        if (example === undefined) {
          example = join(folder, `${kinds.size + 1}`);
          keep(example);
        }
        const families = new Set([entry.family]);
        kinds.set(key, { entry, known, count: 1, families, details: new Set([entry.detail]), example });
      }
    },
    /** Prints the groups. @returns true if everything is explained */
    print(comparisons) {
      const groups = merged([...kinds.values()]).sort((a, b) => a.known - b.known || b.count - a.count);
      const unexplained = groups.filter(({ known }) => known < 0).length;
      groups.forEach((group, at) => void console.log(describe(group, at + 1)));
      for (const [at, { why }] of expected.entries()) {
        if (!groups.some(({ known }) => known === at)) console.log(`expected, but did not occur: ${why}\n`);
      }
      console.log(
        `${comparisons} comparisons, ${count} differences in ${groups.length} groups, ${unexplained} unexplained`,
      );
      return unexplained === 0;
    },
  };
};

const textOf = (value) => (typeof value === "string" ? value : (JSON.stringify(value) ?? "(absent)"));

/** True if each pattern of an expected difference matches. */
const isMatch = ({ why, ...patterns }, entry) =>
  Object.entries(patterns).every(([name, pattern]) =>
    pattern instanceof RegExp ? pattern.test(entry[name] ?? "") : entry[name] === pattern,
  );

/**
 * Where a difference is. A rule, a message, a file, a ledger and a request are the same for each command, and all pages of the
 * reference are the same.
 */
const placeOf = ({ family, path }) => {
  const rule = /\(rule [^)]*\)[^(]*$/.exec(path)?.[0];
  if (rule !== undefined) return rule;
  if (/^(?:help|schema|commands|completion|explain)\b/.test(family))
    return `${family.split(" ")[0]} ${path.split(/[.[(]/)[0]}`;
  return /^(?:stderr|ledger|requests|file)\b/.test(path) ? path : `${family} ${path}`;
};

/** Joins the kinds that differ only in their shape, then those that differ only in their rule, if they are many. */
const merged = (kinds) => {
  const byShape = joined(kinds, "shapes", ({ entry }) => placeOf(entry));
  return joined(byShape, "rules", ({ entry }) => {
    const place = placeOf(entry);
    return place.startsWith("(rule ") ? `${place.replace(/[^)]*/, "")} ${entry.shape}` : `${place} ${entry.shape}`;
  });
};

const joined = (kinds, what, keyOf) => {
  const all = new Map();
  for (const kind of kinds) {
    const key = `${kind.known} ${keyOf(kind)}`;
    all.set(key, [...(all.get(key) ?? []), kind]);
  }
  return [...all.values()].flatMap((own) => {
    if (own.length <= maxKinds) return own;
    const [first] = own.sort((a, b) => b.count - a.count);
    const count = own.reduce((sum, one) => sum + one.count, 0);
    const families = new Set(own.flatMap((one) => [...one.families]));
    const shape = `${first.entry.shape} (and ${own.length - 1} other ${what})`;
    return [{ ...first, count, families, entry: { ...first.entry, shape } }];
  });
};

const describe = ({ entry, known, count, families, details, example }, number) => {
  const cut = (text) => (text.length > maxExample ? `${text.slice(0, maxExample)}…` : text);
  const named = [...details].filter((detail) => detail !== undefined);
  return [
    `${number}. ${known < 0 ? "UNEXPLAINED" : "explained"} ×${count}: ${[...families].slice(0, 4).join(", ")}: ${entry.path}: ${entry.shape}`,
    ...(known < 0 ? [] : [`   why: ${expected[known].why}`]),
    ...(named.length === 0 ? [] : [`   ${named.join(", ")}`]),
    `   case: ${entry.case}`,
    `   line: rollcall ${entry.line}`,
    `   kept: ${example}`,
    `   old: ${cut(entry.old)}`,
    `   new: ${cut(entry.new)}`,
    "",
  ].join("\n");
};

/** Copies the inputs of a case, and writes what was observed of both builds next to them. */
export const keepExample = (folder, { inputs, olds, news }) => {
  mkdirSync(folder, { recursive: true });
  for (const path of inputs) cpSync(path, join(folder, "inputs", path.split("/").at(-1)), { recursive: true });
  for (const [name, seen] of Object.entries({ old: olds, new: news })) {
    const runs = seen.map(({ args, parts }) => [
      `$ rollcall ${args.join(" ")}`,
      ...parts.map(
        ([part, value]) => `--- ${part}\n${typeof value === "string" ? value : JSON.stringify(value, undefined, 1)}`,
      ),
    ]);
    writeFileSync(join(folder, `${name}.txt`), runs.flat().join("\n"));
  }
};
