/** The options of commands that read trajectories: what of the input they take, how other tools wrote it, how strictly it is checked. */
import {
  contradiction,
  count,
  custom,
  flag,
  type Kind,
  repeated,
  text,
  type Values,
  withExtra,
  wrongValue,
} from "../../cli/index.ts";
import { findNearest } from "../../nearest.ts";
import { type ReportFormat, reportFormats, requireReportFile, type Screen } from "../../output/index.ts";

/** A part of the groups, and how many parts there are. */
const parseShard = (word: string, option: string): { readonly part: number; readonly of: number } => {
  const [, part = 0, of = 0] = (/^([1-9]\d{0,5})\/([1-9]\d{0,5})$/.exec(word) ?? []).map(Number);
  if (part >= 1 && part <= of) return { part, of };
  throw wrongValue(option, word, "a part and how many there are, from 1/1 to 999999/999999");
};

/** Which of the trajectories and groups are taken. */
export const selectionOptions = withExtra(
  { group: "choosing" },
  {
    where: text("only trajectories for which it is true (CEL): 'reward > 0.5 && group.size >= 4'", "expression"),
    best: count("only the n trajectories of each group with the highest rewards"),
    sample: count("only n groups, by chance"),
    seed: { ...text("what decides which groups --sample takes (0)"), needs: "sample" },
    shard: custom("only groups whose digest falls into the ith of n parts: 3/64", "i/n", parseShard),
  },
);

/** How files of other tools are read. */
export const formatOptions = withExtra(
  { group: "formats" },
  {
    from: text("how another tool wrote the files; rollcall is its own shape (auto)", "format"),
    "reward-from": text("where a record has the reward, such as scores.correct.value", "path"),
    rewards: text('rewards by id: lines of {"id", "reward"}', "file"),
    lossy: flag("read formats that have lost tokens or turns too"),
    histories: flag("a continued trajectory keeps its parts as histories"),
  },
);

/** How strictly input is checked. */
export const strictnessOptions = withExtra(
  { group: "checks" },
  {
    strict: flag("warnings are errors"),
    allow: repeated("no warnings of a rule; more than once for several", "rule"),
  },
);

export const groupByOption = text("group trajectories by a key, wherever they stand", "key");
export const splitOption = text("the data split that they belong to, such as train", "name");

/** What was typed about inputs. */
export type InputOptions = Values<typeof selectionOptions & typeof formatOptions> &
  Partial<Values<typeof strictnessOptions>> & {
    readonly file: readonly string[];
    readonly groupBy: string | undefined;
  };

/** A report for a build system; without a file it goes to standard output. */
interface ReportRequest {
  readonly form: ReportFormat;
  readonly file: string | undefined;
}

const parseReport = (word: string, option: string): ReportRequest => {
  const [, name = "", file] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
  const form = reportFormats.find((one) => one === name);
  if (form !== undefined && file !== "") return { form, file };
  const wanted = "github, junit, or one of them with a file: junit=report.xml";
  throw wrongValue(option, word, wanted, form === undefined ? findNearest(name, reportFormats) : undefined);
};

/** Reports of problems in the forms of build systems. */
export const reportOption: Kind<readonly ReportRequest[]> = {
  ...repeated("github or junit, for a build system; =file writes a file; more than once for several", "form"),
  parse: (words, option) => words.map((word) => parseReport(word, option)),
};

/** Checks that reports do not overwrite an input or another file. @throws Failure `conflicting-options`, `report-exists` */
export const requireReportFiles = (
  { isForProgram }: Screen,
  { report: asked, inputs }: { readonly report: readonly ReportRequest[]; readonly inputs: readonly string[] },
): void => {
  const why = "standard output holds one of them; --report with =file writes a file";
  const [first, second] = asked.filter(({ file }) => file === undefined);
  if (first !== undefined && isForProgram) throw contradiction(`--report ${first.form}`, "--json", why);
  for (const { file } of asked) if (file !== undefined) requireReportFile(file, inputs);
  if (first === undefined || second === undefined) return;
  throw contradiction(`--report ${first.form}`, `--report ${second.form}`, why);
};
