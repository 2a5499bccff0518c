/** `--report`: problems in the form of a build system, on standard output or in a file. */
import type { Context } from "../../context.ts";
import { Failure } from "../../failure.ts";
import { nearest } from "../../nearest.ts";
import { type ReportForm, reportForms, requireReportPlace } from "../../output/index.ts";

/** A report that is asked for; without a file it stands on standard output. */
export interface ReportAsked {
  readonly form: ReportForm;
  readonly file: string | undefined;
}

/**
 * What each `--report` means; none of them is written over an input or another's file.
 * @throws Failure `option-value-wrong`, `options-contradict`, `report-exists`
 */
export const reportsAsked = (
  typed: readonly string[],
  { context, inputs }: { readonly context: Context; readonly inputs: readonly string[] },
): readonly ReportAsked[] => {
  const asked = typed.map((one) => reportAsked(one, context));
  for (const { file } of asked) if (file !== undefined) requireReportPlace(file, inputs);
  const [first, second] = asked.filter(({ file }) => file === undefined);
  if (first !== undefined && second !== undefined) {
    const why = "standard output holds one of them; --report with =file writes a file";
    throw new Failure("options-contradict", {
      first: `--report ${first.form}`,
      second: `--report ${second.form}`,
      why,
    });
  }
  return asked;
};

/** What a `--report` means. @throws Failure `option-value-wrong`, `options-contradict` */
const reportAsked = (typed: string, { screen }: Context): ReportAsked => {
  const at = typed.indexOf("=");
  const [name, file] = at < 0 ? [typed, undefined] : [typed.slice(0, at), typed.slice(at + 1)];
  const form = reportForms.find((one) => one === name);
  if (form === undefined || file === "") {
    throw new Failure("option-value-wrong", {
      option: "--report",
      value: typed,
      wanted: "github, junit, or one of them with a file: junit=report.xml",
      suggestion: form === undefined ? nearest(name, reportForms) : undefined,
    });
  }
  if (file === undefined && screen.isForProgram) {
    const why = "standard output holds one of them; --report with =file writes a file";
    throw new Failure("options-contradict", { first: `--report ${form}`, second: "--json", why });
  }
  return { form, file };
};
