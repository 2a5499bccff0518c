/** The global options, and what they mean for the screen and for the settings. */
import type { GlobalFlags } from "../context.ts";
import { colorModes, formats, parseScreenOptions, type ScreenOptions } from "../output/index.ts";
import { choice, flag, text, type Values, withExtra } from "./kinds.ts";

/** The global options, in the order of the help. */
export const globalOptions = {
  ...withExtra(
    { group: "service" },
    {
      profile: text("the saved profile to use", "name"),
      local: flag("use the service inside this program: nothing leaves the machine"),
      project: text("the project that calls and usage belong to", "team/project"),
      "base-url": text("the service's main address", "url"),
      "inference-base-url": text("the address of the models", "url"),
      "log-base-url": text("the address that trajectories are logged to", "url"),
    },
  ),
  ...withExtra(
    { group: "results" },
    {
      json: flag("print one JSON document, and errors as JSON"),
      output: { ...choice("table, tsv, json, jsonl or csv", formats, "format"), short: "o" },
      fields: text("only these columns or keys, separated by commas", "names"),
      header: flag("a header line in tsv"),
      quiet: { ...flag("no notices and no progress"), short: "q" },
      color: choice("auto, always or never", colorModes, "when"),
      "no-color": flag("no colour"),
      "no-pager": flag("no pager"),
      debug: flag("show requests and replies, without bodies or secrets"),
    },
  ),
  ...withExtra(
    { group: "network" },
    {
      timeout: text("longest silence of the service, such as 30s", "duration"),
      "max-wait": text("bound of all retries together, such as 5m", "duration"),
      "insecure-http": flag("send credentials over plain http"),
    },
  ),
  ...withExtra(
    { group: "help" },
    {
      version: { ...flag("print the version"), short: "V" },
      help: { ...flag("print the help of a command: -h one screen, --help all of it"), short: "h" },
    },
  ),
};

export type GlobalValues = Values<typeof globalOptions>;

/** The words of options, by their names without dashes. */
interface OptionValues {
  readonly given: ReadonlyMap<string, readonly string[]>;
}

/** The global options that choose settings, under the settings' own names. */
export const toGlobalFlags = (typed: GlobalValues): GlobalFlags => ({
  local: typed.local,
  debug: typed.debug,
  profile: typed.profile,
  base_url: typed.baseUrl,
  inference_base_url: typed.inferenceBaseUrl,
  log_base_url: typed.logBaseUrl,
  project: typed.project,
  timeout: typed.timeout,
  max_wait: typed.maxWait,
  insecure_http: typed.insecureHttp ? true : undefined,
});

/** What the global options mean for the screen. @throws Failure `invalid-option-value`, `conflicting-options` */
export const toScreenOptions = (globals: GlobalValues, { given }: OptionValues): ScreenOptions => ({
  ...parseScreenOptions({
    ...globals,
    color: globals.noColor ? false : globals.color,
    pager: !globals.noPager,
  }),
  hasJsonEvents: isEventOutput(given),
});

/** The screen for words that may be wrong: a usage error with --json is JSON too. */
export const fallbackScreenOptions = ({ given }: OptionValues): ScreenOptions => {
  const requestedFormats = given.get("output") ?? [];
  const color = given.has("no-color") ? "never" : given.get("color")?.at(-1);
  return {
    ...parseScreenOptions({ quiet: given.has("quiet"), color }),
    format: given.has("json") ? "json" : formats.find((format) => requestedFormats.includes(format)),
    hasJsonEvents: isEventOutput(given),
  };
};

/** True if everything on standard error is to be an event, a usage error too. */
const isEventOutput = (given: OptionValues["given"]): boolean =>
  [given.get("progress"), given.get("log")].some((words) => words?.includes("json"));
