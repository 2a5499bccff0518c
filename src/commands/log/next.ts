/** The command that a run of `log` says to run next: with every word that the run itself needed. */
import type { Context, GlobalFlags } from "../../context.ts";
import { type Failure, isFailure } from "../../failure.ts";
import type { Settings } from "../../settings/index.ts";
import { commandLine } from "../../shell-words.ts";
import type { LogResult } from "../../trajectories/index.ts";

/** What of a run's options its next command needs. */
interface Options {
  readonly groupBy: string | undefined;
  /** Undefined where nothing is kept. */
  readonly delivery: { readonly ledger: { readonly path: string } | undefined };
}

/** Says what to run next, where something is left to be done. */
export const withNext = (
  { host, flags }: Context,
  settings: Settings,
  { result, options, failure }: { readonly result: LogResult; readonly options: Options; readonly failure: Failure },
): Failure => {
  const { modelId, split = "", batch, rejectsFile, ledger } = result;
  const path = options.delivery.ledger?.path;
  const kept = path === undefined ? ["--no-ledger"] : path === settings.ledger ? [] : ["--ledger", path];
  if (isFailure(failure, "log-rejected") && rejectsFile !== null) {
    const words = ["rollcall", "log", modelId, rejectsFile, "--split", split];
    // Without them its groups would be other groups.
    const identity = [...option("--batch", batch ?? undefined), ...option("--group-by", options.groupBy)];
    return failure.also({ next: commandLine([...words, ...identity, ...kept, ...placeWords(flags)]) });
  }
  if (failure.code === "unknown_outcome") {
    return ledger === null ? failure : failure.also({ next: commandLine(["rollcall", "ledger", "status", ...kept]) });
  }
  return failure.retryable || failure.code === "interrupted"
    ? failure.also({ next: commandLine(["rollcall", ...host.words]) })
    : failure;
};

/** The command that reads the first call that was logged; none where there is none, or no project to find it in. */
export const readNext = ({ flags }: Context, settings: Settings, { firstCall }: LogResult): string | undefined =>
  firstCall === undefined || settings.get("project") === undefined
    ? undefined
    : commandLine(["rollcall", "call", "read", firstCall, ...option("--project", flags.project), ...placeWords(flags)]);

/** The options that said which service is meant, as they were typed. */
const placeWords = (flags: GlobalFlags): readonly string[] => [
  ...(flags.local ? ["--local"] : []),
  ...option("--profile", flags.profile),
  ...option("--base-url", flags.base_url),
  ...option("--log-base-url", flags.log_base_url),
  ...(flags.insecure_http === true ? ["--insecure-http"] : []),
];

const option = (name: string, value: string | boolean | undefined): readonly string[] =>
  typeof value === "string" ? [name, value] : [];
