/** Reasons why values of other tools have no place. */

/**
 * Reasons of a format, each with paths that blanks separate; positions are `[]`. A path includes all below it, except what a
 * longer path includes.
 */
export type Reasons = readonly (readonly [reason: string, paths: string])[];

/** Reasons that several formats have. */
export const why = {
  nested: "the trajectory's metadata holds no nested values",
  noUsage: "the interface has no place for usage",
  noDurations: "the interface has no place for durations",
  onlyNumbers: "metrics are numbers",
  onlyFunctions: "only function tools have a place",
};

/** The reasons for values in each element of a list. */
export const within = (list: string, reasons: Reasons): Reasons =>
  reasons.map(([reason, paths]) => [reason, paths.replaceAll(/\S+/g, `${list}.$&`)]);

/** The reason for a value: that of the longest path that includes it. */
export const reasonFor = (reasons: Reasons = [], path: string): string => {
  let found = { reason: "the interface has no place for it", length: 0 };
  for (const [reason, paths] of reasons) {
    for (const own of paths.split(" ")) {
      const includes = path.startsWith(own) && ["", ".", "["].includes(path.charAt(own.length));
      if (includes && own.length > found.length) found = { reason, length: own.length };
    }
  }
  return found.reason;
};
