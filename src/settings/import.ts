/** Reads settings that are to be imported: all of them checked before any is saved. */
import { Failure, type Problem } from "../failure.ts";
import { codeOf } from "../files.ts";
import type { Host } from "../host.ts";
import { nearest } from "../nearest.ts";
import { readStdin } from "./ask.ts";
import { type Broken, type Members, parseDocument } from "./document.ts";
import { isSecretName } from "./listing.ts";
import { type Layers, problemPlace, savedText, wrongProblem } from "./resolve.ts";
import { readBounded } from "./secrets.ts";
import { isAddress, settingNamed, settingNames, settings } from "./values.ts";

/** More than any settings have; a file that is larger was named by mistake. */
const longestBytes = 1024 * 1024;

/**
 * The settings in a file, or with `-` in standard input.
 * @throws Failure `import-unreadable`, `import-broken`, `import-refused` with a problem for each setting that can't be used
 */
export const readImport = async (
  host: Host,
  { from, layers }: { readonly from: string; readonly layers: Layers },
): Promise<Members> => {
  const name = from === "-" ? "(standard input)" : from;
  const bytes = from === "-" ? await readStdin(host, longestBytes) : await readFile(from, host);
  if (bytes === undefined)
    throw new Failure("import-unreadable", { from: name, code: "EFBIG" }, { where: { file: name } });
  const document = parseDocument(bytes, name, broken);
  const problems = Object.entries(document.members).flatMap(([key, value]): Problem[] => {
    const wrong = problemOf(key, value, layers);
    return wrong === undefined
      ? []
      : [{ ...problemPlace(document.where([key])), path: [key], severity: "error", ...wrong }];
  });
  if (problems.length > 0) throw new Failure("import-refused", { from: name, count: problems.length }, { problems });
  return document.members;
};

const broken: Broken = ({ wrong, where }) => new Failure("import-broken", { wrong, where }, { where });

const readFile = async (file: string, host: Host): Promise<Buffer | undefined> =>
  await readBounded(file, { host, longest: longestBytes }).catch((cause: unknown) => {
    host.signal.throwIfAborted();
    throw new Failure("import-unreadable", { from: file, code: codeOf(cause) }, { where: { file }, cause });
  });

/** What is wrong with one member; undefined where it can be saved. The value of what may be secret is never told. */
const problemOf = (
  key: string,
  value: unknown,
  layers: Layers,
): Pick<Problem, "rule" | "message" | "advice"> | undefined => {
  const name = settingNamed(key);
  if (name === undefined && isSecretName(key)) {
    const advice = "take it out of the file, and save it with `rollcall auth login`";
    return { rule: "secret-in-settings", message: `${key} is a secret, not a setting`, advice };
  }
  if (name === undefined) {
    const meant = nearest(key, settingNames);
    const message = `there is no setting ${key}`;
    return { rule: "setting-unknown", message, ...(meant === undefined ? {} : { advice: `did you mean ${meant}?` }) };
  }
  if (layers.local && (isAddress(name) || name === "credential_command")) {
    return { rule: "setting-of-service", message: `the local service has its own ${name}` };
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
    return { rule: "setting-wrong", message: `${name} is neither a text nor a number nor true or false` };
  }
  const text = savedText(value);
  const parsed = settings[name].parse(text, layers);
  return parsed.ok ? undefined : wrongProblem({ name, text, parsed });
};
