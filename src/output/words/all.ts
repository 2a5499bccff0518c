/** The words of every reason a run can end with: what happened, and what to do about it. */
import type { Failure, Reason } from "../../failure.ts";
import { clientWords } from "./client.ts";
import { programWords } from "./program.ts";
import { readingWords } from "./reading.ts";
import type { Sentences, Words } from "./sentences.ts";
import { serviceWords } from "./service.ts";
import { settingsWords } from "./settings.ts";
import { trajectoriesWords } from "./trajectories.ts";

const words: Words<Reason> = {
  ...programWords,
  ...settingsWords,
  ...clientWords,
  ...trajectoriesWords,
  ...readingWords,
  ...serviceWords,
};

/** What a failure says. Text from outside in it is not made safe yet. */
export const sentencesOf = <R extends Reason>(failure: Failure<R>): Sentences =>
  words[failure.reason](failure.data, failure.about);
