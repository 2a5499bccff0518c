/** Defines the global options. */

import { colorModes, type ScreenOptions } from "../output/screen.ts";
import { formats } from "../output/views.ts";
import type { GlobalFlags } from "../session/context.ts";
import { reject } from "../text/units.ts";
import { choice, custom, flag, inGroup, splitAtCommas, text, type Values } from "./kinds.ts";

const parseFields = (word: string) => {
  const fields = splitAtCommas(word);
  return fields.includes("") ? reject("names separated by commas, such as id,name") : fields;
};

export const globalOptions = {
  ...inGroup("service", {
    profile: text("saved profile to use", "name", { default: "default" }),
    local: flag("use the local service, so that nothing leaves the machine"),
    project: text("project: required for `call read`, optional for `models`, unused by `log`", "team/project"),
    "base-url": text("URL of the service", "url"),
    "inference-base-url": text("URL for `rollcall models`", "url"),
    "log-base-url": text("URL for `rollcall log`", "url", { default: "the base URL" }),
  }),
  ...inGroup("results", {
    json: flag("one JSON document (errors are JSON too)"),
    output: {
      ...choice("table, tsv or json", formats, "format"),
      short: "o",
      default: "table on a terminal, tsv in a pipe",
    },
    fields: custom("columns or JSON keys, separated by commas", "names", parseFields),
    header: flag("print a header line (with -o tsv)"),
    quiet: { ...flag("no notices, warnings or progress"), short: "q" },
    color: { ...choice("auto, always or never", colorModes, "when"), default: "auto" },
    "no-color": flag("no color"),
    debug: flag("show requests and answers, without bodies or secrets"),
  }),
  ...inGroup("network", {
    timeout: text("longest time without data from the service", "duration", { default: "30s, for log 5m" }),
    "max-wait": text("total time for all retries", "duration", {
      default: "5m to log; reads make at most 4 attempts in 15s",
    }),
    "insecure-http": flag("allow plain http for credentials"),
  }),
  ...inGroup("help", {
    version: { ...flag("print the version"), short: "V" },
    help: { ...flag("-h prints one screen of help, --help prints everything"), short: "h" },
  }),
};

export type GlobalValues = Values<typeof globalOptions>;

export const toGlobalFlags = (typed: GlobalValues): GlobalFlags => ({
  ...typed,
  base_url: typed.baseUrl,
  inference_base_url: typed.inferenceBaseUrl,
  log_base_url: typed.logBaseUrl,
  max_wait: typed.maxWait,
  insecure_http: typed.insecureHttp || undefined,
});

export const toScreenOptions = (globals: GlobalValues): ScreenOptions => ({
  ...globals,
  format: globals.json ? "json" : globals.output,
  color: globals.noColor ? "never" : globals.color,
});
