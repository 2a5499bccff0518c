/** The words of what reading models, catalogs and calls can end with. */
import type { CallUnfit, ReasonData, ReasonsOf } from "../../failure.ts";
import { didYouMean, listed, type Words } from "./sentences.ts";

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
  "calls-forbidden": (data) => ({
    message: unreadText(data),
    hint: othersText(data) + (data.advice ?? "another key may be allowed to read them"),
  }),
  "calls-refused": (data) => ({
    message: unreadText(data),
    hint: `${othersText(data)}rollcall call read <call-id> --debug looks at one alone`,
  }),
  "calls-unavailable": (data) => ({
    message: unreadText(data),
    hint: `${othersText(data)}run the same command again${data.stopped === undefined ? ", or only for these ids" : ""}`,
  }),
  "models-missing": ({ models, catalogs }) => ({
    message: `not in the ${catalogs.join(" and ")} ${catalogs.length === 1 ? "catalog" : "catalogs"}: ${listed(models.map(({ id }) => id))}`,
    ...didYouMean(
      models.find(({ near }) => near !== undefined)?.near,
      "a model is named by its whole id, or by a glob such as 'qwen*'",
    ),
  }),
  "usage-missing": () => ({
    message: "there is no usage to price",
    hint: "give it: --prompt-tokens 10k --completion-tokens 2k; or take it from --from-call <id>",
  }),
  "usage-unrecorded": ({ by }) => ({
    message: `${by} records no usage`,
    hint: "it stands in `usage` objects with prompt_tokens and completion_tokens; else give it with --prompt-tokens and --completion-tokens",
  }),
  "lock-missing": ({ file }) => ({
    message: `there is no lock file ${file}`,
    hint: "`rollcall catalog lock <model…>` writes one; --file names another",
  }),
  "lock-unreadable": ({ file, code }) => ({
    message: `can't read the lock file ${file} (${code})`,
    hint: "--file names the file that `rollcall catalog lock` wrote",
  }),
  "lock-broken": ({ file, wrong, field }) => ({
    message: `${file} can't be used: ${lockFaults[wrong](field ?? "")}`,
    // What has no mark of a lock file is never written over.
    hint: `${wrong === "no-json" || wrong === "no-lock" ? "once it is moved away, " : ""}\`rollcall catalog lock <model…>\` writes it anew; --file names another`,
  }),
  "lock-foreign": ({ file }) => ({
    message: `${file} is no lock file, and was left as it is`,
    hint: "--file names another file",
  }),
  "lock-unwritable": ({ file, code }) => ({
    message: `can't write the lock file ${file} (${code})`,
    hint: "--file names a file in a folder that can be written",
  }),
  "lock-differs": ({ file, count }) => ({
    message: `${count === 1 ? "one fact is" : `${count} facts are`} worse than ${file} records`,
    hint: "use the model that is named instead, or accept the change: `rollcall catalog lock` writes the file anew, --allow <rule> leaves a rule out",
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
    hint: "the list has them; without --exit-code the run ends with 0, whatever differs",
  }),
  "calls-unfit": ({ calls, asked, into }) => ({
    message: `${ofAsked(calls.length, asked)} can't become ${unfitInto[into]}: ${listed(
      calls.map(({ id, why }) => `${id} (${unfitWhy[why]})`),
    )}`,
    hint: calls.some(({ why }) => why === "no-reward" || why === "odd-reward")
      ? "give the reward with --reward <number>, or say where in the call it stands with --reward-from <path>"
      : "look at one with rollcall call read <call-id>",
  }),
  "call-path-missing": ({ ids, asked, at, near, there }) => ({
    message: `${
      asked === 1
        ? `the call ${ids[0] ?? ""} has no ${at}`
        : `${ids.length} of ${asked} calls have no ${at}: ${listed(ids)}`
    }${there.length === 0 ? "" : `; there is ${listed(there)}`}`,
    ...didYouMean(near, "--path begins at the call's own fields, such as inputs or output"),
  }),
  "calls-running": ({ ids, asked, waitedMs }) => ({
    message: `${
      asked === 1 ? `the call ${ids[0] ?? ""} is` : `${ids.length} of ${asked} calls are`
    } still running after ${seconds(waitedMs)}${asked === 1 ? "" : `: ${listed(ids)}`}`,
    hint: "run the same command again, or wait longer with --max-wait <duration>",
  }),
  "model-not-listed": ({ id, names, near }) => ({
    message: `${names.length > 1 ? "no catalog lists" : `the ${names[0] ?? ""} catalog does not list`} ${id}`,
    ...didYouMean(near, "a model is shown by its whole id: `rollcall catalog all <words>` finds it"),
  }),
  "call-ids-missing": ({ from }) => ({
    message: `${from} held no call id`,
    hint: "give one id a line, or the ids as arguments",
  }),
  "call-ids-unreadable": ({ from, code }) => ({
    message: `${from} can't be read (${code})`,
    hint: "give a file with one id a line, or the ids as arguments",
  }),
  "call-id-unreadable": ({ line, why }) => ({
    message: `line ${line} of standard input is no call id: it is ${why}`,
    hint: "give one id a line, as plain text, as the first of tab-separated fields, or as the id of a JSON object",
  }),
};

const lockFaults: Readonly<Record<"no-json" | "no-lock" | "newer" | "type", (field: string) => string>> = {
  "no-json": () => "it is not JSON",
  "no-lock": () => "it is no lock file",
  newer: () => "a newer rollcall wrote it",
  type: (field) => `${field} is not what a lock file has there`,
};

const unfitInto = { trajectory: "a trajectory", messages: "messages" } as const;

const unfitWhy: Readonly<Record<CallUnfit, string>> = {
  running: "it is still running",
  deleted: "it was deleted",
  failed: "it failed and has no output",
  "no-messages": "its inputs hold no messages",
  "no-answer": "it has no output",
  "odd-answer": "its output is no message",
  "several-choices": "its output has several choices",
  "odd-tools": "its tools are no list",
  "no-reward": "it has no reward",
  "odd-reward": "its reward is no number",
};

type CallsUnread = ReasonData<"calls-forbidden" | "calls-refused" | "calls-unavailable">;

const unreadText = ({ ids, why, asked, stopped }: CallsUnread): string =>
  [
    `${ids.length} of ${asked} calls can't be read: ${listed(ids)}`,
    `${ids.length === 1 ? "" : `of ${ids[0] ?? ""}: `}${why}`,
    ...(stopped === "in-a-row" ? ["so many in a row are no trouble of a call's own"] : []),
    ...(stopped === undefined ? [] : ["no further one was asked for"]),
  ].join("; ");

const othersText = ({ ids, asked, stopped }: CallsUnread): string =>
  ids.length >= asked ? "" : `the ${stopped === undefined ? "other" : "earlier"} calls were read; `;

const ofAsked = (count: number, asked: number): string => (asked === 1 ? "the call" : `${count} of ${asked} calls`);

const seconds = (ms: number): string => `${Math.round(ms / 1000)} s`;
