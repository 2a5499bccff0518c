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
  "catalog-not-held": ({ catalog, address, provider }) => ({
    message: `there is no copy of the ${catalog} catalog of ${provider} at ${address}`,
    hint: "run the command once without --offline: every catalog that is read is kept in the data folder",
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

const listed = (ids: readonly string[]): string =>
  ids.length <= namedIds ? ids.join(", ") : `${ids.slice(0, namedIds).join(", ")} and ${ids.length - namedIds} more`;
