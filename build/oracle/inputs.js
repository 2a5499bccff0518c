/** Writes the input files that both builds read: samples, examples of the rules, generated lines, and damaged versions. */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { rolldown } from "rolldown";
import { damagedLines, damages, edgeLines, ordinaryLine } from "./damaged-lines.js";
import { foreignFiles } from "./foreign-rows.js";
import { generatedFiles } from "./generated-lines.js";
import { chooserFrom } from "./random.js";

/** How many inputs of each kind a run reads. */
const amounts = {
  full: {
    generated: 300,
    damagedGenerated: 100,
    damagesOfSample: 24,
    damagesOfExample: 3,
    linesPerFile: 8,
    everyKey: 1,
  },
  quick: {
    generated: 20,
    damagedGenerated: 10,
    damagesOfSample: 2,
    damagesOfExample: 0,
    linesPerFile: 80,
    everyKey: 40,
  },
};

/**
 * Writes all inputs below `folder`. Samples and examples are those of the commit.
 * @returns for each its `name`, `kind`, `files`, the options that it is read with, and the file that it is checked `against`
 */
export const writeInputs = async ({ commit, folder, quick }) => {
  mkdirSync(folder, { recursive: true });
  const amount = quick ? amounts.quick : amounts.full;
  const every = quick ? 3 : 1;
  const samples = [...samplesIn(join(commit, "test/samples")), ...foreignFiles()].filter((_, at) => at % every === 0);
  const examples = await examplesIn(commit, folder);
  const lines = { damaged: damagedLines().map(latinOf), edge: edgeLines().map(latinOf), example: linesOf(examples) };
  const generated = generatedFiles(amount.generated, 1);
  const all = [
    ...samples.map(({ kind, name, bytes }) => ({ kind, name, files: { [name]: bytes } })),
    ...Object.entries(together).map(([name, pattern]) => {
      const own = samples.filter((sample) => pattern.test(sample.name));
      return { kind: "foreign", name, files: Object.fromEntries(own.map((sample) => [sample.name, sample.bytes])) };
    }),
    ...examples,
    ...samples.flatMap(({ name, bytes }, at) => damagedVersions(name, shortened(bytes), amount.damagesOfSample, at)),
    ...samples
      .filter(({ kind }) => kind === "foreign")
      .flatMap(({ name, bytes }, at) => withoutKeys(name, shortened(bytes), at))
      .filter((_, at) => at % amount.everyKey === 0),
    ...examples.flatMap(({ files, args }, at) => {
      const [[name, content] = []] = Object.entries(files);
      if (content === undefined) return [];
      return damagedVersions(name, Buffer.from(content), amount.damagesOfExample, at, at).map((one) => ({
        ...one,
        args,
      }));
    }),
    ...["damaged", "edge"].flatMap((name) => filesOf(name, lines[name], amount.linesPerFile)),
    ...generated.map((bytes, at) => ({
      kind: "generated",
      name: `generated ${at}`,
      files: { "generated.jsonl": bytes },
    })),
    ...generated
      .slice(0, amount.damagedGenerated)
      .flatMap((bytes, at) => damagedVersions("generated.jsonl", bytes, 1, at, at)),
    ...Object.entries(quick ? {} : lines).map(([name, odd]) => {
      return { kind: "large", name: `${name} lines among ordinary ones`, files: { "large.jsonl": amongOrdinary(odd) } };
    }),
  ];
  return all.map((input, at) => written(input, join(folder, `${at}`)));
};

/** Writes the files of an input; a file without content is missing. */
const written = ({ kind, name, files, args = [], against }, folder) => {
  mkdirSync(folder);
  const pathOf = ([file, content]) => {
    if (content !== undefined) writeFileSync(join(folder, file), content);
    return join(folder, file);
  };
  const other = against === undefined ? undefined : pathOf(["val.jsonl", against]);
  return { kind, name, files: Object.entries(files).map(pathOf), args, against: other };
};

/** Versions of a file, each with the next kind of damage from `first` on. */
const damagedVersions = (name, bytes, count, seed, first = 0) => {
  const choose = chooserFrom(seed);
  return Array.from({ length: count }, (_, at) => {
    const { what, content } = damagedBytes(bytes, choose, first + at);
    return { kind: "damaged", name: `${name}, ${what}`, files: { [name]: content } };
  });
};

/** Versions of a file of another tool: for each of its keys, one without the key, and one in which the key has another value. */
const withoutKeys = (name, bytes, seed) => {
  if (!isText(bytes)) return [];
  const choose = chooserFrom(seed);
  const text = bytes.toString("latin1");
  return [...new Set(text.match(key))].flatMap((own) => {
    const [at, end] = choose.oneOf(
      Array.from(text.matchAll(new RegExp(`${own}\\s*:`, "g")), ({ index, 0: all }) => [index, all.length]),
    );
    const versions = { absent: `"renamed":`, "of another type": `${own}:${choose.oneOf(damages.slice(1))},"renamed":` };
    return Object.entries(versions).map(([what, more]) => {
      const content = Buffer.from(splice(text, at, at + end, more), "latin1");
      return { kind: "damaged", name: `${name}, ${own} ${what}`, files: { [name]: content } };
    });
  });
};

const filesOf = (name, lines, linesPerFile) =>
  Array.from({ length: Math.ceil(lines.length / linesPerFile) }, (_, at) => {
    const own = lines.slice(at * linesPerFile, (at + 1) * linesPerFile);
    const files = { "lines.jsonl": Buffer.from(own.join("\n"), "latin1") };
    return { kind: "generated", name: `${name} lines ${at}`, files };
  });

/** The examples that are lines of a file and need no option. */
const linesOf = (examples) =>
  examples
    .filter(({ args, against }) => args.length === 0 && against === undefined)
    .flatMap(({ files }) => Object.values(files).map((content = "\0") => latinOf(content).trim()))
    .filter((text) => !/^\x1f|\0/.test(text));

const samplesIn = (folder) => {
  const paths = [folder, join(folder, "formats")].flatMap((own) => readdirSync(own).map((name) => join(own, name)));
  return paths
    .filter((path) => statSync(path).isFile() && !/README|\/(call|catalog|models)\b[^/]*$/.test(path))
    .map((path) => ({
      kind: path.includes("formats/") ? "foreign" : "sample",
      name: basename(path),
      bytes: readFileSync(path),
    }));
};

/** Samples that are read in one run. */
const together = {
  "ATIF files": /^atif/,
  "verifiers files": /^verifiers/,
  "files of several formats": /^(?:nemo|wordle|mini)/,
};

/** Loads the rules from the sources of the commit, and gives the inputs that fire and pass each. */
const examplesIn = async (commit, folder) => {
  const src = join(commit, "src");
  const path = readdirSync(src, { recursive: true }).find((name) => /(^|\/)rules\/(rules|index)\.ts$/.test(name));
  if (path === undefined) throw new Error(`no rules in ${src}`);
  const build = await rolldown({ input: join(src, path), platform: "node", logLevel: "silent" });
  const file = join(folder, "rules.mjs");
  await build.write({ file, format: "esm", codeSplitting: false });
  await build.close();
  const { rules } = await import(pathToFileURL(file).href);
  return Object.entries(rules).flatMap(([rule, { example }]) =>
    Object.entries({ fires: example.fires, passes: example.passes }).flatMap(([what, inputs]) => {
      if (inputs === undefined) return [];
      const { files, split, groupBy, against } = inputs;
      const args = [
        ...(split === undefined ? [] : ["--split", split]),
        ...(groupBy === undefined ? [] : ["--group-by", groupBy]),
      ];
      return [{ kind: "example", name: `${rule} ${what}`, files, args, against }];
    }),
  );
};

/** Bytes of a sample that is damaged; the first lines are enough. */
const damagedBytesAtMost = 200_000;

const shortened = (bytes) => {
  if (bytes.length <= damagedBytesAtMost) return bytes;
  return bytes.subarray(0, bytes.lastIndexOf("\n", damagedBytesAtMost) + 1);
};

const isText = (bytes) => !bytes.includes(0) && bytes.toString("utf8").includes("{");

const damagedBytes = (bytes, choose, at) => {
  const [what, damage] = damageKinds[at % damageKinds.length];
  const latin = bytes.toString("latin1");
  return {
    what: `${what} (${at})`,
    content: Buffer.from(isText(bytes) ? damage(latin, choose) : damageOfBinary(latin, choose), "latin1"),
  };
};

const splice = (text, start, end, more = "") => text.slice(0, start) + more + text.slice(end);
const changeLines = (text, change) => {
  const lines = text.split("\n");
  change(lines);
  return lines.join("\n");
};
const flipped = (text, at) => splice(text, at, at + 1, String.fromCharCode(text.charCodeAt(at) ^ 4));
const replaceOne = (text, pattern, choose, replace) => {
  const match = choose.oneOf(Array.from(text.matchAll(pattern)));
  return match === undefined ? text : splice(text, match.index, match.index + match[0].length, replace(match[0]));
};
const scalar = /(?<=":\s*)(?:"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null)/g;
const key = /"\w+"(?=\s*:)/g;

const damageKinds = [
  ["cut", (text, choose) => text.slice(0, choose.below(text.length))],
  ["a value of another type", (text, choose) => replaceOne(text, scalar, choose, () => choose.oneOf(damages.slice(1)))],
  ["a byte flipped", (text, choose) => flipped(text, choose.below(text.length))],
  ["a key renamed", (text, choose) => replaceOne(text, key, choose, () => '"renamed"')],
  ["a line deleted", (text, choose) => changeLines(text, (lines) => lines.splice(choose.below(lines.length), 1))],
  [
    "a line repeated",
    (text, choose) => changeLines(text, (lines) => lines.splice(choose.below(lines.length), 0, choose.oneOf(lines))),
  ],
  ["lines reversed", (text) => changeLines(text, (lines) => lines.reverse())],
  ["CRLF", (text) => text.replaceAll("\n", "\r\n")],
  ["BOM", (text) => `\xef\xbb\xbf${text}`],
  ["blank lines", (text) => text.replaceAll("\n", "\n \n\n")],
  ["two lines joined", (text) => text.replace("\n", "")],
  ["a byte that is not UTF-8", (text, choose) => splice(text, ...Array(2).fill(choose.below(text.length)), "\xff")],
  ["a NUL byte", (text, choose) => splice(text, ...Array(2).fill(choose.below(text.length)), "\0")],
  ["a key twice", (text, choose) => replaceOne(text, key, choose, (own) => `${own}:null,${own}`)],
  ["gzip", (text) => gzipSync(Buffer.from(text, "latin1")).toString("latin1")],
  ["gzip, cut", (text) => gzipSync(Buffer.from(text, "latin1")).subarray(0, -20).toString("latin1")],
];

const damageOfBinary = (text, choose) =>
  choose.below(3) === 0 ? text.slice(0, choose.below(text.length)) : flipped(text, choose.below(text.length));

/** Length of the ranges that threads read. */
const rangeBytes = 2 ** 13;

/** Where a line begins, seen from the edge of a range: at it, ending at it, and across it. */
const positions = [() => 0, (length) => -length, (length) => -Math.ceil(length / 2)];

/** Bytes as a text with a character for each, because a file may contain what is not UTF-8. */
const latinOf = (content) => Buffer.from(content).toString("latin1");

/** A large file in which each odd line is next to ordinary lines, at the edge of a range. */
const amongOrdinary = (odd) => {
  const lines = [];
  let length = 0;
  const add = (line) => {
    lines.push(line);
    length += line.length + 1;
  };
  const ordinary = (at, filler) => latinOf(ordinaryLine(at, filler));
  for (const [index, line] of odd.entries()) {
    const start = positions[index % positions.length](line.length + 1);
    const after = (length + ordinary(index, "").length + 1 - start) % rangeBytes;
    add(ordinary(index, "x".repeat((rangeBytes - after) % rangeBytes)));
    add(line);
  }
  return Buffer.from([...lines, odd[0]].join("\n"), "latin1");
};
