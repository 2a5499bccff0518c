/** The words of what the program itself can end with. */
import { counted } from "../../counted.ts";
import type { ReasonData, ReasonsOf } from "../../failure.ts";
import { didYouMean, rejectedWords, type Sentences, type Words } from "./sentences.ts";

const found = ({ checks }: ReasonData<"doctor-settings">): Sentences => ({
  message: `${checks.length === 1 ? "one thing is" : `${checks.length} things are`} wrong: ${[...new Set(checks)].join(", ")}`,
  hint: "each finding says how to fix it",
});

export const programWords: Words<ReasonsOf["program"]> = {
  defect: ({ text }) => ({
    message: `a defect of rollcall: ${text}`,
    hint: "please report it, with what `--debug` prints and the command that was run",
  }),
  "memory-refused": ({ text }) => ({
    message: `reading JSON needs more virtual memory than this process may have: ${text}`,
    hint: "raise the limit on virtual memory: ulimit -v unlimited",
  }),
  interrupted: ({ signal, broken }, { retryable = true, unsent }) => ({
    message: `interrupted by ${signal}${broken === true ? ": requests that took longer than 10 s from then on were broken off" : ""}`,
    // Only of what sends anything is it said whether something was sent.
    hint: broken
      ? "whoever sent them does not know what became of them: with an Idempotency-Key they may be sent again"
      : retryable
        ? `the same command again is safe${unsent === undefined ? "" : ": it sends what is not logged yet"}`
        : "without a ledger the same command logs again what is logged: send the other groups alone",
  }),
  "words-wrong": ({ text, suggestion, command }) => ({
    message: text,
    hint: suggestion?.replace(/^\((.*)\)$/, "$1") ?? `\`${command} --help\` lists what there is`,
  }),
  "verb-missing": ({ command, verbs }) => ({
    message: verbs.length === 1 ? `${command} needs ${verbs[0]}` : `${command} needs one of ${verbs.join(", ")}`,
    hint: `${command} ${verbs[0] ?? "--help"}`,
  }),
  "option-value-wrong": ({ option, value, wanted, suggestion }) => ({
    message: `${option} can't be "${value}": it takes ${wanted}`,
    ...didYouMean(suggestion),
  }),
  "output-failed": ({ code, groups }) => ({
    message: `standard output can't be written (${code})${groups === undefined ? "" : `; ${counted(groups.logged, "group")} logged, ${groups.already_logged} before, ${groups.not_sent} not sent`}`,
    hint: code === "ENOSPC" ? "the disk is full: make room, or write elsewhere" : "write to another file or device",
  }),
  "where-wrong": ({ text, wrong, place }) => ({
    message: `--where ${text} can't be ${place === undefined ? "read" : `evaluated at ${place}`}: ${wrong}`,
    hint:
      place === undefined
        ? "it is a CEL expression over reward, metrics, metadata, messages and group: --where 'reward > 0.5 && group.size >= 4'"
        : "ask first whether a key is there: --where 'has(metrics.score) && metrics.score > 1'",
  }),
  "out-exists": ({ file }) => ({
    message: `${file} is there already`,
    hint: "name another file, or take that one away",
  }),
  "out-unwritable": ({ file, code }) => ({
    message: `${file} can't be written (${code})`,
    hint: "name a file in a folder that can be written",
  }),
  "convert-rejected": ({ written, file, ...rest }) => ({
    message: `${rejectedWords(rest)}, ${written} written: ${file} holds what was rejected`,
    hint: `${file}.reasons says why: fix that in the input, and convert it again`,
  }),
  "conversion-inexact": ({ count, paths }) => ({
    message: `${counted(count, "value has", "values have")} no place in a trajectory: ${paths.slice(0, 5).join(", ")}${paths.length > 5 ? ` and ${paths.length - 5} more paths` : ""}`,
    hint: "leave --exact out where they may be left out; --receipt <file> lists them with their reasons",
  }),
  "report-exists": ({ file }) => ({
    message: `${file} is there already, and is no report that rollcall wrote`,
    hint: "name another file: --report junit=report.xml; or take that one away",
  }),
  "report-unwritable": ({ file, code }) => ({
    message: `the report can't be written to ${file} (${code})`,
    hint: "name another file: --report junit=report.xml",
  }),
  "page-exists": ({ file }) => ({
    message: `${file} is there already, and is no page that rollcall wrote`,
    hint: "name another file, or take that one away",
  }),
  "page-unwritable": ({ file, code }) => ({
    message: `the page can't be written to ${file} (${code})`,
    hint: "name a file in a folder that is there and can be written: --html page.html",
  }),
  "root-file-missing": ({ file }) => ({
    message: `there is no file ${file} below the root`,
    hint: "give a path from the folder that --root names; links that lead out of it are not followed",
  }),
  "doctor-settings": found,
  "doctor-files": found,
  "doctor-credentials": found,
  "doctor-addresses": found,
  "message-too-long": ({ limitBytes }) => ({
    message: `a message on standard input is longer than ${limitBytes} bytes`,
    hint: "write each message on a line of its own",
  }),
  "option-of-two-missing": ({ first, second, way = "give one of them" }) => ({
    message: `neither ${first} nor ${second} is given`,
    hint: way,
  }),
  "not-confirmed": ({ what, option, how }) => ({
    message: how === "declined" ? `not done: ${what}` : `nobody can be asked whether to ${what}: there is no terminal`,
    hint: `${option} confirms it`,
  }),
  "option-needs": ({ option, needs }) => ({ message: `${option} means nothing without ${needs}` }),
  "options-contradict": ({ first, second, why, way }) => ({
    message: `${first} and ${second} can't go together: ${why}`,
    ...(way === undefined ? {} : { hint: way }),
  }),
};
