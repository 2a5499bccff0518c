/** Runs a command line in the process of the test, which takes a tenth of the time of the built program. */

import { runCommandLine } from "../../src/run.ts";
import type { Host } from "../../src/system/host.ts";
import { testHost } from "./host.ts";
import type { RunResult } from "./run.ts";

/** The input of a run. */
export interface HereOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly stdin?: string;
}

/** Runs a command line that does not need its own working directory, signal or process. */
export const runHere = async (
  args: readonly string[],
  { env = {}, stdin = "" }: HereOptions = {},
): Promise<RunResult> => {
  const host = testHost({ env, stdin });
  return { code: await runCommandLine({ ...host, argv: args }), stdout: host.printed(), stderr: host.said() };
};

/** Runs a command line on a terminal with a stopped clock, so no spinner appears. Returns both streams, in order. */
export const runHereOnTerminal = async (
  args: readonly string[],
  { env = {}, columns }: { readonly env?: HereOptions["env"]; readonly columns: number },
): Promise<{ readonly code: number; readonly written: string }> => {
  const terminal: Partial<Host["terminal"]> = { stdin: true, stdout: true, stderr: true, columns };
  const host = testHost({ env, terminal });
  const code = await runCommandLine({ ...host, stderr: host.stdout, sleep: untilAborted, argv: args });
  // A terminal starts each line at its first column.
  return { code, written: host.printed().replaceAll("\n", "\r\n") };
};

const untilAborted: Host["sleep"] = async (_, signal) => {
  await new Promise((_resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
};
