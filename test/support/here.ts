/** Runs a command line in the test's own process, on a host of the test: a tenth of the time of the built program. */
import { type Context, globalFlags, openContext, type TypedOptions } from "../../src/context.ts";
import { exitCodeOf, failureOf } from "../../src/failure.ts";
import type { Host, Terminal } from "../../src/host.ts";
import { openScreen, printFailure, screenWords, screenWordsOf } from "../../src/output/index.ts";
import { obey } from "../../src/program.ts";
import { testHost } from "./host.ts";
import { outputFaults } from "./outputs.ts";
import type { Ran } from "./run.ts";

/** The input of a run. */
export interface HereOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
  /** True if the replies of the service break its interface, so that the output may break its schema. */
  readonly damaged?: boolean;
}

/** The time of every run in this process. */
export const nowHere = testHost().now();

/**
 * Runs a command line that needs no working directory, signal or process of its own.
 * @throws if its JSON does not match the schema
 */
export const runHere = async (
  args: readonly string[],
  { env = {}, stdin = "", damaged = false }: HereOptions = {},
): Promise<Ran> => {
  const host = testHost({ env, stdin });
  const ran = { code: await exitCodeOn(host, args), stdout: host.printed(), stderr: host.said() };
  const faults = damaged ? [] : outputFaults({ args, ...ran });
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return ran;
};

/** Runs a command line on a terminal, on which no time passes, so no spinner appears. Returns both streams in the order of their writes. */
export const runHereOnTerminal = async (
  args: readonly string[],
  { env = {}, columns }: { readonly env?: HereOptions["env"]; readonly columns: number },
): Promise<{ readonly code: number; readonly written: string }> => {
  const terminal: Partial<Terminal> = { stdin: true, stdout: true, stderr: true, columns, rows: 200 };
  const host = testHost({ env, terminal });
  const code = await exitCodeOn({ ...host, stderr: host.stdout, sleep: untilAborted }, args);
  // A terminal starts each line at its first column.
  return { code, written: host.printed().replaceAll("\n", "\r\n") };
};

const untilAborted: Host["sleep"] = async (_, signal) => {
  await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
};

/** Does what `run` of the program does. */
export const exitCodeOn = async (host: Host, argv: readonly string[]): Promise<number> => {
  let screen = openScreen({ host, words: screenWordsOf(argv), argv });
  let context: Context | undefined;
  let code = 0;
  try {
    const answer = await obey(argv, (command) => {
      const typed: TypedOptions = command.optsWithGlobals();
      screen = openScreen({ host, words: screenWords(typed), argv });
      context = openContext({ host, screen, flags: globalFlags(typed) });
      return context;
    });
    if (answer !== undefined) await screen.print([answer(screen.width)], { kind: "verbatim" });
  } catch (thrown) {
    const failure = failureOf(thrown);
    code = exitCodeOf(failure);
    await printFailure(screen, { failure, exitCode: code });
  }
  await context?.close();
  return code;
};
