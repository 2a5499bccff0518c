/** Runs commands on files of the root folder, and removes the texts of rollouts from their documents. */
import { type Failure, isFailure, toProblemDocument } from "../../failure.ts";
import { isObject } from "../../json/json-bytes.ts";
import type { RootFile, RootFileOpener } from "../../mcp/root.ts";
import { redactMessage } from "../../rollouts/rules/rules.ts";
import type { CheckDocument } from "../check/output.ts";

type Problems = CheckDocument["problems"];

/** The result contains no text of the files except keys, the split, and names such as those of tools. */
export const readInRoot = async <Ran extends Readonly<{ printed: string; failure: Failure | undefined }>>(
  open: RootFileOpener,
  run: (paths: readonly string[]) => Promise<Ran>,
  values: readonly string[],
) => {
  const files: RootFile[] = [];
  try {
    for (const value of values) files.push(open(value));
    const ran = await run(files.map(({ path }) => path));
    const { printed, failure } = ran;
    if (failure && !isFailure(failure, "invalid-input")) return ran;
    // An unreadable input has no document.
    const document: { readonly problems?: Problems } = JSON.parse(printed || '{"status":"invalid"}');
    const errors = (failure?.details.problems ?? []).map(toProblemDocument);
    const problems = (document.problems ?? errors).map(({ advice: _, ...problem }) => {
      return { ...problem, message: redactMessage(problem) };
    });
    const hidden = hideTexts({ ...document, problems }, files);
    return { ...ran, printed: JSON.stringify(hidden), failure: undefined };
  } finally {
    for (const file of files) file.close();
  }
};

/** These quote keys, prompts or values of records. */
const omittedPaths = ["warnings", "notes", "changed.key", "changed.prompt"];

/** The values at these paths are positions in files. */
const filePaths = ["problems.file", "changed.at_a", "changed.at_b", "by.value"];

/** @param path the keys of the objects around the value */
const hideTexts = (value: unknown, files: readonly RootFile[], path: readonly string[] = []): unknown => {
  const place = path.join(".");
  if (omittedPaths.includes(place)) return undefined;
  if (Array.isArray(value)) return value.map((item) => hideTexts(item, files, path));
  if (isObject(value)) {
    const members = Object.entries(value).map(([key, member], at) => {
      const name = hideSentence(key);
      // An object has each key once.
      return [name === key ? key : `${name} ${at + 1}`, hideTexts(member, files, [...path, key])];
    });
    return Object.fromEntries(members);
  }
  if (typeof value !== "string" || place === "problems.message") return value;
  return filePaths.includes(place) ? nameFile(value, files) : hideSentence(value);
};

const omitted = "[text omitted]";

/** Names the file of a position, and the row or member of the file, unless the member's name could be a sentence. */
const nameFile = (position: string, files: readonly RootFile[]) => {
  const file = files.find(({ path }) => position.startsWith(path) && /^(?:$|[#!:])/.test(position.slice(path.length)));
  if (!file) return omitted;
  const rest = position.slice(file.path.length);
  return /^(?:#row \d+|![\w./-]{1,200})?(?::\d+)?$/.test(rest) ? `${file.name}${rest}` : file.name;
};

/** Keeps names such as `length` and `search.web`. Omits sentences and URLs, which an agent could follow. */
const hideSentence = (name: string) => (/^(?!.*\/\/)[\w.:/@$-]{1,64}$/.test(name) ? name : omitted);
