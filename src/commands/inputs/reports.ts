/** `--report`: problems in the form of a build system, on standard output or in a file. */
import { contradiction, wrongValue } from "../../cli/index.ts";
import type { Context } from "../../context.ts";
import { nearest } from "../../nearest.ts";
import { type ReportForm, reportForms, requireReportPlace } from "../../output/index.ts";

/** A report; without a file it goes to standard output. */
interface ReportAsked {
  readonly form: ReportForm;
  readonly file: string | undefined;
}

const why = "standard output holds one of them; --report with =file writes a file";

/**
 * Parses each `--report`. None of them overwrites an input or another file.
 * @throws Failure `option-value-wrong`, `options-contradict`, `report-exists`
 */
export const reportsAsked = (
  typed: readonly string[],
  { screen, inputs }: { readonly screen: Context["screen"]; readonly inputs: readonly string[] },
): readonly ReportAsked[] => {
  const asked = typed.map(parseReport);
  const [first, second] = asked.filter(({ file }) => file === undefined);
  if (first !== undefined && screen.isForProgram) throw contradiction(`--report ${first.form}`, "--json", why);
  for (const { file } of asked) if (file !== undefined) requireReportPlace(file, inputs);
  if (first === undefined || second === undefined) return asked;
  throw contradiction(`--report ${first.form}`, `--report ${second.form}`, why);
};

const parseReport = (typed: string): ReportAsked => {
  const at = typed.indexOf("=");
  const [name, file] = at < 0 ? [typed, undefined] : [typed.slice(0, at), typed.slice(at + 1)];
  const form = reportForms.find((one) => one === name);
  if (form !== undefined && file !== "") return { form, file };
  const wanted = "github, junit, or one of them with a file: junit=report.xml";
  throw wrongValue("--report", typed, wanted, form === undefined ? nearest(name, reportForms) : undefined);
};
