/** Recognizes formats by a file's first bytes, and suggests conversions. */
import { isObject, type JsonObject, parseJson } from "../json/json-bytes.ts";
import { formatList } from "../sentences.ts";
import { formatCommandLine } from "../shell-words.ts";
import { UnusableInput } from "./failures.ts";
import { isRemote } from "./names.ts";

export type Container = "zip" | "parquet";

export const sniffedBytes = 512;

const pipeAdvice = (command: string) => `decompress it into a pipe: ${command} … | rollcall … -`;

type FileKind = Record<"bytes" | "kind", string> & { at?: number; advice?: string; container?: Container };

/** Files of a kind have `bytes` (in Latin-1) at the offset `at` (default: 0). */
const kinds: readonly FileKind[] = [
  { bytes: "PAR1", kind: "a Parquet file", container: "parquet" },
  { bytes: "PK\x03\x04", kind: "a zip file", advice: pipeAdvice("unzip -p"), container: "zip" },
  { bytes: "ustar", at: 257, kind: "a tar archive", advice: pipeAdvice("tar -xOf") },
  {
    bytes: "version https://git-lfs.github.com/spec/",
    kind: "a pointer of Git LFS instead of the file",
    advice: "fetch the file: `git lfs pull`",
  },
  { bytes: "\xfd7zXZ", kind: "an xz file", advice: pipeAdvice("xz -dc") },
  { bytes: "BZh", kind: "a bzip2 file", advice: pipeAdvice("bzip2 -dc") },
];

const findKind = (head: Uint8Array) => {
  const text = Buffer.from(head).toString("latin1");
  return kinds.find(({ bytes, at = 0 }) => text.startsWith(bytes, at));
};

export const findContainer = (head: Uint8Array) => findKind(head)?.container;

const toShellWord = (name: string) => (name === "-" || isRemote(name) ? undefined : formatCommandLine([name]));

const notJson = (kind: string, advice = "convert it to JSON lines with one trajectory or group per line") =>
  new UnusableInput("not-json", { kind, instead: advice });

/** Returns undefined if the file can be JSON. */
export const findFormatError = (head: Uint8Array, name = "-") => {
  const [a, b, c, d] = head;
  const latin1 = Buffer.from(head).toString("latin1");
  const utf16 = (encoding: string) => new UnusableInput("utf-16", { encoding, name: toShellWord(name) });
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return utf16("UTF-32BE");
  if (a === 0xff && b === 0xfe) return utf16(c === 0 && d === 0 ? "UTF-32LE" : "UTF-16LE");
  if (a === 0xfe && b === 0xff) return utf16("UTF-16BE");
  const known = findKind(head);
  if (known) return notJson(known.kind, known.advice);
  // In UTF-16, each ASCII character contains a NUL byte.
  if (head.length >= 4 && a !== 0 && b === 0 && c !== 0 && d === 0) return utf16("UTF-16LE");
  if (head.length >= 4 && a === 0 && b !== 0 && c === 0 && d !== 0) return utf16("UTF-16BE");
  if (binaryHead.test(latin1)) return notJson("binary data");
  const text = latin1.replaceAll("\xef\xbb\xbf", "").trimStart();
  const kind = findTextKind(text);
  if (kind === csv || kind === tsv) return notJson(kind, csvAdvice(text, name));
  if (kind === markup && isRemote(name)) return notJson("a web page", pageAdvice);
  return kind && notJson(kind);
};

/** Matches only NUL bytes, or the start of Arrow, HDF5, Avro, SQLite, PDF, pickles and empty zip files. */
const binaryHead = /^(?:\0+$|ARROW1|\x89HDF|Obj\x01|SQLite format 3|%PDF|\x80\x04\x95|PK\x05\x06)/;

const csv = "CSV";
const tsv = "tab-separated text";
const markup = "XML or HTML";
const notJsonText = "data that is not JSON";
/** A tag whose attributes, if it has any, have values. */
const markupStart = /^<(?:[?!]|[a-z][\w:.-]*(?:\s*\/?>|\s[^<>]*=))/i;

const messagesColumn = /^(?:messages|conversations?|chat|dialog(?:ue)?|turns)$/i;
/** Matches names such as `reward`, `total_score` and `rewards.total`. */
const rewardPath =
  /(?:^|\.)(?:(?:total|final|overall|episode)_?)?(?:reward|score|rating|return)$|(?:reward|score|rating|eval)\w*\.(?:total|final|overall|value)$/i;

/** Matches names such as `my_reward` and `scores.style`, but not `scores.id`. */
const possiblePath = /(?:reward|score|rating)$|(?:reward|score|rating|eval)\w*\.(?!(?:.*[._])?(?:id|idx|index|step)$)/i;

/** If the choice is unclear, returns all possible names. */
export const findRewardColumns = (names: readonly string[]) => {
  const likely = names.filter((name) => rewardPath.test(name));
  const chosen = likely.length > 1 ? likely.filter((name) => name === "reward") : likely;
  return chosen.length > 0 ? chosen : names.filter((name) => possiblePath.test(name));
};

/** Matches a Python list of messages, as pandas writes it to CSV. */
export const pythonMessages = /^\s*\[\s*\{\s*'/;

/** The likeliest name is first. */
export const answerColumns: readonly string[] = ["completion", "response", "answer", "output", "generation"];

const unwrapJson = (value: unknown) =>
  typeof value === "string" && /^\s*[[{]/.test(value) ? (parseJson(value)?.value ?? value) : value;

const isConversation = (value: unknown) =>
  Array.isArray(value) && value.length > 1 && value.some((item) => isObject(item) && item.role === "assistant");

/** Messages at these paths lack the last answer, or contain choices. */
const skippedPaths = /^(?:request|input|responses_create_params)\.|(?:^|\.)(?:prompt|messages_and_choices)$/;

/** Finds messages by value, and the reward by name. */
export const findColumns = (row: JsonObject) => {
  const values = Object.entries(row).flatMap(([name, value]) => {
    const inner = unwrapJson(value);
    return isObject(inner)
      ? Object.entries(inner).map(([key, member]) => [`${name}.${key}`, unwrapJson(member)] as const)
      : [[name, inner] as const];
  });
  const [messages] = values.find(([name, value]) => !skippedPaths.test(name) && isConversation(value)) ?? [];
  const isNumeric = (value: unknown) => typeof value !== "object" && !Number.isNaN(Number(value));
  const numeric = findRewardColumns(values.flatMap(([name, value]) => (isNumeric(value) ? name : [])));
  const candidates = numeric.length > 0 ? numeric : findRewardColumns(Object.keys(row));
  const [reward, ...others] = candidates;
  const names = values.map(([name]) => name);
  return { names, messages, reward: others.length === 0 ? reward : undefined, rewards: candidates };
};

const columnOptions = (found: ReturnType<typeof findColumns>, { where = "", hasReward = false }) => {
  const { names, messages, reward = "REWARD_COLUMN" } = found;
  const column = messages ?? names.find((name) => messagesColumn.test(name));
  const isTrl = !column && names.includes("prompt");
  const from = isTrl ? ["--from", "trl"] : ["--messages-from", column ?? "MESSAGES_COLUMN"];
  const options = formatCommandLine(hasReward ? from : [...from, "--reward-from", reward]);
  const quoted = names.map((name) => formatCommandLine([name]));
  const placeholders = options.match(/\b(?:MESSAGES|REWARD)_COLUMN\b/g)?.join(" and ");
  const remark = ` (first replace ${placeholders}${where}; the columns are ${formatList(quoted)})`;
  return { options, remark: placeholders ? remark : "" };
};

/** @param hasReward true if an option names the reward */
export const columnAdvice = (row: JsonObject, hasReward: boolean) => {
  const own = ["messages_and_choices", "trajectories", "trajectory_groups"].find((name) => name in row);
  if (own) return `convert it to JSON lines, because rollcall reads the column ${own} only from JSON`;
  if ("chosen" in row && "rejected" in row)
    return "write a row for each answer, with its own reward, because rows with `chosen` and `rejected` only compare answers";
  const { options, remark } = columnOptions(findColumns(row), { hasReward });
  return `pass ${options}${remark}, or convert it to JSON lines`;
};

/** Suggests `--reward-from`, because no other option reads a string as the reward. */
const csvAdvice = (text: string, name: string) => {
  const [header = ""] = Buffer.from(text, "latin1").toString("utf8").split("\n");
  const [separator = ","] = /[,;\t]/.exec(header) ?? [];
  const delimiter = separator === "," ? "" : `, delimiter='${separator === ";" ? ";" : "\\t"}'`;
  const names = header.split(separator).map((column) => column.trim().replace(/^"(.*)"$/, "$1"));
  const columns = findColumns(Object.fromEntries(names.map((column) => [column, 0])));
  const { options, remark } = columnOptions(columns, { where: " near the end of the command" });
  const isPython = /\[\{'/.test(text);
  const object = isPython ? "{k: ast.literal_eval(v) if (v or '')[:2]=='[{' else v for k,v in row.items()}" : "row";
  const imports = `import ${isPython ? "ast," : ""}csv,json,sys; sys.stdin.reconfigure(encoding='utf-8-sig')`;
  const rows = `csv.DictReader(sys.stdin${delimiter})`;
  const script = `${imports}; csv.field_size_limit(2**30); [print(json.dumps(${object})) for row in ${rows}]`;
  const file = toShellWord(name);
  const out = toShellWord(`${file ? name.replace(/\.\w+$/, "") : "rows"}.groups.jsonl`);
  return `convert it${remark}: \`python3 -c "${script}" < ${file ?? "rows.csv"} | rollcall convert ${options} --out ${out}\``;
};

const pageAdvice =
  "use the URL of the file itself (on huggingface.co: /resolve/, not /blob/), or set HF_TOKEN and use hf://datasets/… for a private file";

/** Matches JSON after the first line, but not a Markdown link. */
const jsonLine = /\n\s*(?:\{|\[\s*(?:[[{\]"\d-]|$))/;

/** Matches lines that are neither JSON nor values of Python. */
const proseLine = /^[ \t]*(?![-{}[\]",:\d]|(?:true|false|none|null|nan|infinity)\b)\S/gim;

const findTextKind = (text: string) => {
  // Tab-separated values are not quoted, so a row can begin like JSON.
  if (/^[\w .-]+(?:\t[\w .-]+)+\r?\n/.test(text)) return tsv;
  if (jsonLine.test(text)) return undefined;
  if (text.startsWith("<")) return markupStart.test(text) ? markup : notJsonText;
  if (/^(?:---\s|- [\w"']|[a-z_][\w-]*:(?:\s|$))/i.test(text)) return "YAML";
  if (/^(?:nan|-?infinity|true|false|null|none)\b/i.test(text)) return undefined;
  const [, separator] = /^(?:[a-z_][\w .-]*|"[^"\n]*")([,;\t])(?=[^\n]*\n[^\n]*(?:"|\1)|[\w"]|$)/i.exec(text) ?? [];
  if (separator) return separator === "\t" ? tsv : csv;
  const isLink = /^\[[^"\n]*\]\(/.test(text);
  const isProse = isLink || (!/^[{["]/.test(text) && (text.match(proseLine)?.length ?? 0) > 1);
  return isProse ? notJsonText : undefined;
};
