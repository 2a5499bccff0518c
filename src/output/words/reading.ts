/** The words of what reading models, catalogs and calls can end with. */
import type { ReasonsOf } from "../../failure.ts";
import type { Words } from "./sentences.ts";

/** Ids that are named in one sentence; the rest is counted. */
const namedIds = 10;

export const readingWords: Words<ReasonsOf["reading"]> = {
  "calls-missing": ({ ids, asked, project }, { http }) => ({
    message: [
      asked === 1
        ? `there is no call ${ids[0] ?? ""} in the project ${project}`
        : `${ids.length} of ${asked} calls are not in the project ${project}: ${listed(ids)}`,
      ...(http?.said === undefined ? [] : [`the service says: ${http.said}`]),
    ].join("; "),
    hint: "a call is found by its whole id and in its own project: --project <team/project> names another",
  }),
  "models-missing": ({ models, catalogs }) => ({
    message: `not in the ${catalogs.join(" and ")} ${catalogs.length === 1 ? "catalog" : "catalogs"}: ${listed(models.map(({ id }) => id))}`,
    hint: hintFor(models.find(({ near }) => near !== undefined)?.near),
  }),
  "usage-missing": () => ({
    message: "there is no usage to price",
    hint: "say it: --prompt-tokens 10k --completion-tokens 2k; or take it from --from-call <id> or --from-file <file>",
  }),
  "usage-unrecorded": ({ by }) => ({
    message: `${by} records no usage`,
    hint: "it stands in `usage` objects with prompt_tokens and completion_tokens; else say it with --prompt-tokens and --completion-tokens",
  }),
  "catalog-not-held": ({ catalog, address, provider }) => ({
    message: `there is no copy of the ${catalog} catalog of ${provider} at ${address}`,
    hint: "run the command once without --offline: every catalog that is read is kept in the data folder",
  }),
  "catalog-not-kept": ({ catalog, address, provider }) => ({
    message: `the history has no ${catalog} catalog of ${provider} at ${address}`,
    hint: "it begins when the catalog is read for the first time: run this once a day to have one",
  }),
  "catalog-file-unreadable": ({ file, code }) => ({
    message: `can't read ${file === "-" ? "standard input" : file} (${code})`,
    hint: "give a file that `rollcall catalog router --json` wrote, or - for standard input",
  }),
  "catalog-file-broken": ({ file, wrong }) => ({
    message: `${file === "-" ? "standard input" : file} is no catalog: ${wrong === "no-json" ? "it is not JSON" : "it holds no list of models"}`,
    hint: "give what `rollcall catalog router --json` prints",
  }),
  "catalogs-differ": ({ changes }) => ({
    message: changes === 1 ? "there is one difference" : `there are ${changes} differences`,
  }),
  "call-ids-missing": ({ from }) => ({
    message: `${from} held no call id`,
    hint: "give one id a line, or the ids as arguments: rollcall call read <call-id…>",
  }),
  "call-ids-unreadable": ({ from, code }) => ({
    message: `${from} can't be read (${code})`,
    hint: "give a file with one id a line, or the ids as arguments",
  }),
  "call-id-unreadable": ({ line, why }) => ({
    message: `line ${line} of standard input is no call id: it is ${why}`,
    hint: "give one id a line, as plain text",
  }),
};

const hintFor = (near: string | undefined): string =>
  near === undefined ? "a model is named by its whole id, or by a glob such as 'qwen*'" : `did you mean ${near}?`;

const listed = (ids: readonly string[]): string =>
  ids.length <= namedIds ? ids.join(", ") : `${ids.slice(0, namedIds).join(", ")} and ${ids.length - namedIds} more`;
