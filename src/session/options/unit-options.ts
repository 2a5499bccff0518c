/** Defines options with sizes, durations, times and percentages. */
import * as cli from "../../cli/kinds.ts";
import { invalidOptionValue } from "../../system/failures.ts";
import * as units from "../../text/units.ts";

export const unitOption = <Value>(
  about: string,
  placeholder: string,
  parse: (text: string) => Value | units.InvalidText,
) =>
  cli.custom(about, placeholder, (word, option): Value => {
    const parsed = parse(word);
    if (units.isInvalid(parsed)) throw invalidOptionValue(option, word, parsed.wanted);
    return parsed;
  });

export const durationOption = (about: string) => unitOption(about, "duration", units.parseDuration);

export const timeOption = (about: string, placeholder = "time") =>
  unitOption(about, placeholder, (text) => units.parseTime(text));

export const countOption = (about: string, placeholder = "n") => unitOption(about, placeholder, units.parseCount);
